import { type FrameCommand, FramedVideo, finite, type PlaybackState } from './framed-video.ts'

// A media element for YouTube videos. It exchanges the messages of YouTube's frame itself, so that
// no script of YouTube runs in our pages and no host but youtube-nocookie.com is contacted.
//
// We send {event: 'listening'} until the frame answers, then {event: 'command', func, args}. The
// frame sends {event: 'onReady'}, {event: 'onError', info: code}, and {event: 'initialDelivery'}
// and {event: 'infoDelivery'} with those fields of its state that have changed.

const states: Readonly<Record<number, PlaybackState>> = {
  [-1]: 'unstarted',
  0: 'ended',
  1: 'playing',
  2: 'paused',
}

const functions = {
  play: 'playVideo',
  pause: 'pauseVideo',
  mute: 'mute',
  unmute: 'unMute',
} as const

/** Each of them shows that the frame takes commands. */
const answers = ['onReady', 'alreadyInitialized', 'initialDelivery', 'infoDelivery']

/** How long a frame that has loaded may take for its first message. */
const silenceMs = 5000

/** <youtube-video src="https://www.youtube-nocookie.com/embed/..."> */
class YouTubeVideo extends FramedVideo {
  #knocking: ReturnType<typeof setInterval> | undefined
  #silence: ReturnType<typeof setTimeout> | undefined

  protected prepare({ searchParams }: URL, frame: HTMLIFrameElement): void {
    searchParams.set('enablejsapi', '1')
    searchParams.set('origin', location.origin)
    searchParams.set('autoplay', '1')
    searchParams.set('playsinline', '1')
    searchParams.set('rel', '0')
    searchParams.set('hl', document.documentElement.lang)
    frame.addEventListener('load', () => {
      this.#stopWaiting()
      this.#knocking = setInterval(() => this.#send({ event: 'listening' }), 250)
      // The error page of a blocked or missing frame is loaded, too, but never sends a message.
      this.#silence = setTimeout(() => this.emit('error'), silenceMs)
    })
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#stopWaiting()
  }

  #stopWaiting(): void {
    clearInterval(this.#knocking)
    clearTimeout(this.#silence)
  }

  protected receive({ event, info }: Readonly<Record<string, unknown>>): void {
    if (event === 'onError') this.emit('error')
    if (typeof event !== 'string' || !answers.includes(event)) return
    this.#stopWaiting()
    if (!this.isReady) this.#call('addEventListener', 'onError')
    this.markReady()
    if (typeof info === 'object' && info !== null) this.#onInfo(info as Record<string, unknown>)
  }

  #onInfo(info: Readonly<Record<string, unknown>>): void {
    const volume = finite(info.volume)
    this.update({
      position: finite(info.currentTime),
      duration: finite(info.duration),
      volume: volume === undefined ? undefined : volume / 100,
      isMuted: typeof info.muted === 'boolean' ? info.muted : undefined,
      rate: finite(info.playbackRate),
      // While it buffers (3), it is still playing or paused.
      playbackState: states[finite(info.playerState) ?? 3],
    })
  }

  protected command(name: FrameCommand, value = 0): void {
    if (name === 'volume') {
      this.#call('unMute')
      this.#call('setVolume', Math.round(value * 100))
    } else if (name === 'seek') this.#call('seekTo', value, true)
    else if (name === 'rate') this.#call('setPlaybackRate', value)
    else this.#call(functions[name])
  }

  #call(func: string, ...args: unknown[]): void {
    this.#send({ event: 'command', func, args })
  }

  #send(message: object): void {
    this.post({ ...message, id: 1, channel: 'widget' })
  }
}

if (!customElements.get('youtube-video')) customElements.define('youtube-video', YouTubeVideo)
