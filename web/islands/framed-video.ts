// The base of media elements whose video plays in a frame of another site, which exchanges messages
// with this page. Messages are JSON texts.

/** What a frame reports about its video. Fields that are not known are missing. */
export interface FrameStatus {
  readonly position?: number | undefined
  readonly duration?: number | undefined
  /** From 0 to 1. */
  readonly volume?: number | undefined
  readonly isMuted?: boolean | undefined
  readonly rate?: number | undefined
  readonly playbackState?: PlaybackState | undefined
}

export type PlaybackState = 'unstarted' | 'playing' | 'paused' | 'ended'

/** A change that the player asks for. `seek`, `volume` and `rate` have a value. */
export type FrameCommand = 'play' | 'pause' | 'seek' | 'volume' | 'rate' | 'mute' | 'unmute'

/**
 * For this time after a change of the position, the rate or the volume, the frame may still report
 * the old one.
 */
const maxReportDelayMs = 2000

/**
 * An element with the part of the interface of HTMLMediaElement that the player uses. `src` is the
 * URL of the embedded page, read when the element is connected. A frame that does not load stays at
 * HAVE_NOTHING.
 */
export abstract class FramedVideo extends HTMLElement {
  #frame: HTMLIFrameElement | undefined
  #origin = ''
  #isReady = false
  #state: PlaybackState = 'unstarted'
  #time = 0
  #duration = Number.NaN
  #volume = 1
  #isMuted = false
  #rate = 1
  #rateRequestedMs = Number.NEGATIVE_INFINITY
  #volumeRequestedMs = Number.NEGATIVE_INFINITY
  #isSeeking = false
  #seek = { seconds: 0, requestedMs: Number.NEGATIVE_INFINITY }

  readonly #onMessage = (event: MessageEvent) => {
    // Any window can send messages: accept only those of this frame, from its original page.
    if (
      event.source === this.#frame?.contentWindow &&
      event.origin === this.#origin &&
      typeof event.data === 'string'
    )
      this.receive(parse(event.data))
  }

  /** Sets the parameters of the embedded page and the attributes of its frame. */
  protected abstract prepare(url: URL, frame: HTMLIFrameElement): void

  /** Handles a message of the frame, which can be anything. */
  protected abstract receive(message: Readonly<Record<string, unknown>>): void

  /** Sends a command to the frame. */
  protected abstract command(name: FrameCommand, value?: number): void

  connectedCallback(): void {
    if (this.#frame || !this.src) return
    const url = new URL(this.src)
    this.#origin = url.origin
    const frame = document.createElement('iframe')
    frame.allow = 'autoplay; fullscreen; picture-in-picture; encrypted-media'
    frame.referrerPolicy = 'strict-origin-when-cross-origin'
    Object.assign(frame.style, { width: '100%', height: '100%', border: '0' })
    this.prepare(url, frame)
    frame.src = url.href
    this.#frame = frame
    addEventListener('message', this.#onMessage)
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    shadow.replaceChildren(frame)
    this.emit('loadstart')
  }

  disconnectedCallback(): void {
    removeEventListener('message', this.#onMessage)
    this.#frame?.remove()
    this.#frame = undefined
    this.#isReady = false
  }

  protected get isReady(): boolean {
    return this.#isReady
  }

  /** Whether the element still has its frame. */
  protected get isOpen(): boolean {
    return this.#frame !== undefined
  }

  protected post(message: object): void {
    this.#frame?.contentWindow?.postMessage(JSON.stringify(message), this.#origin)
  }

  protected emit(...events: string[]): void {
    for (const name of events) this.dispatchEvent(new Event(name))
  }

  /** Reports the video as loaded. */
  protected markReady(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.emit('loadedmetadata', 'durationchange', 'volumechange')
  }

  /** Takes over what the frame reports, and dispatches the events that follow from it. */
  protected update({ position, duration, volume, isMuted, rate, playbackState }: FrameStatus) {
    this.markReady()
    if (duration !== undefined && duration > 0 && duration !== this.#duration) {
      this.#duration = duration
      this.emit('durationchange')
    }
    // Not what the frame may have reported before it received the last command.
    if (!isRecent(this.#volumeRequestedMs))
      this.#updateVolume(volume ?? this.#volume, isMuted ?? this.#isMuted)
    if (rate !== undefined && rate > 0 && !isRecent(this.#rateRequestedMs)) this.#updateRate(rate)
    if (position !== undefined && position !== this.#time && this.#isCurrent(position)) {
      this.#time = position
      this.emit('timeupdate')
    }
    if (this.#isSeeking && position !== undefined) {
      this.#isSeeking = false
      this.emit('seeked')
    }
    if (playbackState !== undefined && playbackState !== this.#state) {
      this.#state = playbackState
      if (playbackState === 'playing') this.emit('play', 'playing')
      else if (playbackState === 'paused') this.emit('pause')
      else if (playbackState === 'ended') this.emit('pause', 'ended')
    }
  }

  /** Tells whether a position is not one that the frame reported before the last seek. */
  #isCurrent(position: number): boolean {
    const { seconds, requestedMs } = this.#seek
    if (!isRecent(requestedMs)) return true
    const played = ((performance.now() - requestedMs) / 1000) * this.#rate
    return position > seconds - 1 && position < seconds + played + 1
  }

  #updateVolume(volume: number, isMuted: boolean): void {
    if (volume === this.#volume && isMuted === this.#isMuted) return
    this.#volume = volume
    this.#isMuted = isMuted
    this.emit('volumechange')
  }

  async play(): Promise<void> {
    this.command('play')
  }

  pause(): void {
    this.command('pause')
  }

  get src(): string {
    return this.getAttribute('src') ?? ''
  }

  set src(src: string) {
    this.setAttribute('src', src)
  }

  get paused(): boolean {
    return this.#state !== 'playing'
  }

  get ended(): boolean {
    return this.#state === 'ended'
  }

  get seeking(): boolean {
    return this.#isSeeking
  }

  get readyState(): number {
    if (!this.#isReady) return HTMLMediaElement.HAVE_NOTHING
    return this.#state === 'playing'
      ? HTMLMediaElement.HAVE_ENOUGH_DATA
      : HTMLMediaElement.HAVE_FUTURE_DATA
  }

  get duration(): number {
    return this.#duration
  }

  get currentTime(): number {
    return this.#time
  }

  set currentTime(seconds: number) {
    this.#time = seconds
    this.#isSeeking = true
    this.#seek = { seconds, requestedMs: performance.now() }
    this.emit('seeking', 'timeupdate')
    this.command('seek', seconds)
  }

  get volume(): number {
    return this.#volume
  }

  set volume(volume: number) {
    this.#volumeRequestedMs = performance.now()
    this.#updateVolume(volume, false)
    this.command('volume', volume)
  }

  get muted(): boolean {
    return this.#isMuted
  }

  set muted(isMuted: boolean) {
    this.#volumeRequestedMs = performance.now()
    this.#updateVolume(this.#volume, isMuted)
    this.command(isMuted ? 'mute' : 'unmute')
  }

  get playbackRate(): number {
    return this.#rate
  }

  set playbackRate(rate: number) {
    this.#rateRequestedMs = performance.now()
    this.#updateRate(rate)
    this.command('rate', rate)
  }

  #updateRate(rate: number): void {
    if (rate === this.#rate) return
    this.#rate = rate
    this.emit('ratechange')
  }
}

const isRecent = (requestedMs: number) => performance.now() - requestedMs < maxReportDelayMs

/** Returns a value that is a finite number, else undefined. */
export const finite = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
