import { type FrameCommand, FramedVideo, type FrameStatus, finite } from './framed-video.ts'

// A media element for PeerTube videos. The licence of PeerTube's own library is not compatible with
// ours, so this implements the messages of its frame. {id, method, params} is a request,
// {id, result} or {id, error} a response, {method, params} an event. Methods are prefixed with a
// scope. The frame sends __ready "ping" when it is listening, and expects "pong".

const scope = 'peertube::'

const methods = {
  play: 'play',
  pause: 'pause',
  seek: 'seek',
  volume: 'setVolume',
  rate: 'setPlaybackRate',
} as const

const playbackStates = ['unstarted', 'playing', 'paused', 'ended'] as const

/** <peertube-video src="..."> starts to play when it is connected. It has no error event. */
class PeerTubeVideo extends FramedVideo {
  #lastId = 0
  readonly #pending = new Map<unknown, (result: unknown) => void>()

  protected prepare({ searchParams }: URL, frame: HTMLIFrameElement): void {
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
    for (const [name, value] of Object.entries(params)) searchParams.set(name, String(value))
    frame.sandbox.add('allow-scripts', 'allow-same-origin', 'allow-popups')
    // The page has controls for it.
    frame.tabIndex = -1
  }

  protected receive({ id, method, params, result }: Readonly<Record<string, unknown>>): void {
    if (typeof method === 'string' && method.startsWith(scope))
      this.#onEvent(method.slice(scope.length), params)
    else if (method === undefined) {
      this.#pending.get(id)?.(result)
      this.#pending.delete(id)
    }
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#pending.clear()
  }

  #onEvent(method: string, params: unknown): void {
    if (method === '__ready') {
      if (params === 'ping') this.post({ method: `${scope}__ready`, params: 'pong' })
      this.#pollReady()
    } else if (method === 'ready') this.markReady()
    else if (method === 'playbackStatusUpdate' && typeof params === 'object' && params)
      this.update(statusOf(params as Record<string, unknown>))
    else if (method === 'playbackStatusChange') this.update(statusOf({ playbackState: params }))
    else if (method === 'volumeChange') this.update(statusOf({ volume: params }))
    else if (method === 'play') this.update({ playbackState: 'playing' })
    else if (method === 'pause') this.update({ playbackState: 'paused' })
  }

  #pollReady(): void {
    if (this.isReady || !this.isOpen) return
    this.#request('isReady', undefined, (isReady) => {
      if (isReady === true) this.markReady()
      else setTimeout(() => this.#pollReady(), 250)
    })
  }

  #request(method: string, params?: unknown, callback?: (result: unknown) => void): void {
    const id = ++this.#lastId
    if (callback) this.#pending.set(id, callback)
    this.post({ id, method: scope + method, params })
  }

  protected command(name: FrameCommand, value?: number): void {
    // PeerTube has no mute: a volume of 0 stands for it.
    if (name === 'mute') this.#request('setVolume', 0)
    else if (name === 'unmute') this.#request('setVolume', this.volume)
    else this.#request(methods[name], value)
  }
}

function statusOf(params: Readonly<Record<string, unknown>>): FrameStatus {
  const volume = finite(params.volume)
  return {
    position: finite(params.position),
    duration: finite(params.duration),
    volume: volume === 0 ? undefined : volume,
    isMuted: volume === undefined ? undefined : volume === 0,
    playbackState: playbackStates.find((state) => state === params.playbackState),
  }
}

if (!customElements.get('peertube-video')) customElements.define('peertube-video', PeerTubeVideo)
