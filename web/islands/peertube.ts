// A media element for PeerTube videos. The licence of PeerTube's own library is not compatible with
// ours, so this implements the messages of its frame. They are JSON texts: {id, method, params} is
// a request, {id, result} or {id, error} a response, {method, params} an event. Methods are
// prefixed with a scope. The frame sends __ready "ping" when it is listening, and expects "pong".

const scope = 'peertube::'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: unknown
  readonly result?: unknown
}

interface Status {
  readonly position?: number
  readonly duration?: number
  readonly volume?: number
  readonly playbackState?: 'unstarted' | 'playing' | 'paused' | 'ended'
}

/**
 * <peertube-video src="..."> with the part of the interface of HTMLMediaElement that the player
 * uses. `src` is the URL of the embedded page, read when the element is connected; then the video
 * starts to play. There is no error event: a frame that does not load stays at HAVE_NOTHING.
 */
class PeerTubeVideo extends HTMLElement {
  #frame: HTMLIFrameElement | undefined
  #origin = ''
  #isReady = false
  #lastId = 0
  readonly #pending = new Map<number, (result: unknown) => void>()
  #state: Status['playbackState'] = 'unstarted'
  #time = 0
  #duration = Number.NaN
  #volume = 1
  #isMuted = false
  #rate = 1
  #isSeeking = false

  readonly #onMessage = (event: MessageEvent) => {
    // Any window can send messages: accept only those of this frame, from its original page.
    if (
      event.source !== this.#frame?.contentWindow ||
      event.origin !== this.#origin ||
      typeof event.data !== 'string'
    )
      return
    const message = parse(event.data)
    if (message.method?.startsWith(scope))
      this.#onEvent(message.method.slice(scope.length), message.params)
    else if (message.method === undefined && typeof message.id === 'number') {
      this.#pending.get(message.id)?.(message.result)
      this.#pending.delete(message.id)
    }
  }

  connectedCallback(): void {
    if (this.#frame || !this.src) return
    const url = new URL(this.src)
    this.#origin = url.origin
    // The page has its own controls. P2P would reveal the IP addresses of readers to each other.
    const params = {
      api: 1,
      autoplay: 1,
      controls: 0,
      controlBar: 0,
      peertubeLink: 0,
      title: 0,
      warningTitle: 0,
      p2p: 0,
    }
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, String(value))
    const frame = document.createElement('iframe')
    frame.src = url.href
    frame.allow = 'autoplay; fullscreen; picture-in-picture; encrypted-media'
    frame.sandbox.add('allow-scripts', 'allow-same-origin', 'allow-popups')
    frame.referrerPolicy = 'strict-origin-when-cross-origin'
    Object.assign(frame.style, { width: '100%', height: '100%', border: '0' })
    this.#frame = frame
    addEventListener('message', this.#onMessage)
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    shadow.replaceChildren(frame)
    this.#emit('loadstart')
  }

  disconnectedCallback(): void {
    removeEventListener('message', this.#onMessage)
    this.#frame?.remove()
    this.#frame = undefined
    this.#isReady = false
    this.#pending.clear()
  }

  #onEvent(method: string, params: unknown): void {
    if (method === '__ready') {
      if (params === 'ping') this.#post({ method: `${scope}__ready`, params: 'pong' })
      this.#pollReady()
    } else if (method === 'ready') this.#ready()
    else if (method === 'playbackStatusUpdate' && typeof params === 'object' && params)
      this.#update(params)
    else if (method === 'playbackStatusChange' && typeof params === 'string')
      this.#update({ playbackState: params as 'playing' })
    else if (method === 'volumeChange' && typeof params === 'number')
      this.#update({ volume: params })
    else if (method === 'play') this.#update({ playbackState: 'playing' })
    else if (method === 'pause') this.#update({ playbackState: 'paused' })
  }

  #pollReady(): void {
    if (this.#isReady || !this.#frame) return
    this.#request('isReady', undefined, (isReady) => {
      if (isReady === true) this.#ready()
      else setTimeout(() => this.#pollReady(), 250)
    })
  }

  #ready(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.#emit('loadedmetadata', 'durationchange', 'volumechange')
  }

  #update({ position, duration, volume, playbackState }: Status): void {
    this.#ready()
    if (typeof duration === 'number' && duration > 0 && duration !== this.#duration) {
      this.#duration = duration
      this.#emit('durationchange')
    }
    if (typeof volume === 'number' && volume !== (this.#isMuted ? 0 : this.#volume)) {
      this.#isMuted = volume === 0
      if (volume > 0) this.#volume = volume
      this.#emit('volumechange')
    }
    if (typeof position === 'number' && position !== this.#time) {
      this.#time = position
      this.#emit('timeupdate')
    }
    if (this.#isSeeking && position !== undefined) {
      this.#isSeeking = false
      this.#emit('seeked')
    }
    if (playbackState !== undefined && playbackState !== this.#state) {
      this.#state = playbackState
      if (playbackState === 'playing') this.#emit('play', 'playing')
      else if (playbackState === 'paused') this.#emit('pause')
      else if (playbackState === 'ended') this.#emit('pause', 'ended')
    }
  }

  #request(method: string, params?: unknown, callback?: (result: unknown) => void): void {
    const id = ++this.#lastId
    if (callback) this.#pending.set(id, callback)
    this.#post({ id, method: scope + method, params })
  }

  #post(message: Message): void {
    this.#frame?.contentWindow?.postMessage(JSON.stringify(message), this.#origin)
  }

  #emit(...events: string[]): void {
    for (const name of events) this.dispatchEvent(new Event(name))
  }

  async play(): Promise<void> {
    this.#request('play')
  }

  pause(): void {
    this.#request('pause')
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
    this.#emit('seeking', 'timeupdate')
    this.#request('seek', seconds)
  }

  get volume(): number {
    return this.#volume
  }

  set volume(volume: number) {
    this.#volume = volume
    this.#isMuted = false
    this.#emit('volumechange')
    this.#request('setVolume', volume)
  }

  get muted(): boolean {
    return this.#isMuted
  }

  set muted(isMuted: boolean) {
    this.#isMuted = isMuted
    this.#emit('volumechange')
    this.#request('setVolume', isMuted ? 0 : this.#volume)
  }

  get playbackRate(): number {
    return this.#rate
  }

  set playbackRate(rate: number) {
    this.#rate = rate
    this.#emit('ratechange')
    this.#request('setPlaybackRate', rate)
  }
}

function parse(text: string): Message {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Message) : {}
  } catch {
    return {}
  }
}

if (!customElements.get('peertube-video')) customElements.define('peertube-video', PeerTubeVideo)
