// A video on a PeerTube, with the surface of a media element. PeerTube's own library has a licence
// that ours can't have: this is written from what the frame says and hears. Messages are JSON
// texts: {id, method, params} asks, {id, result} or {id, error} answers, {method, params} tells.
// Methods have their scope before them. The frame says __ready "ping" when it listens, and waits
// for a "pong".

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

class PeerTubeVideo extends HTMLElement {
  #frame: HTMLIFrameElement | undefined
  #origin = ''
  #isReady = false
  #lastId = 0
  readonly #asked = new Map<number, (result: unknown) => void>()
  #state: Status['playbackState'] = 'unstarted'
  #time = 0
  #duration = Number.NaN
  #volume = 1
  #isMuted = false
  #rate = 1
  #isSeeking = false

  readonly #hear = (event: MessageEvent) => {
    // Any window can send us anything: only this frame counts, and only while it shows what we put
    // into it.
    if (
      event.source !== this.#frame?.contentWindow ||
      event.origin !== this.#origin ||
      typeof event.data !== 'string'
    )
      return
    const message = parse(event.data)
    if (message.method?.startsWith(scope))
      this.#told(message.method.slice(scope.length), message.params)
    else if (message.method === undefined && typeof message.id === 'number') {
      this.#asked.get(message.id)?.(message.result)
      this.#asked.delete(message.id)
    }
  }

  connectedCallback(): void {
    if (this.#frame || !this.src) return
    const address = new URL(this.src)
    this.#origin = address.origin
    // Ours are the controls, and readers watch without handing their address to all others who do.
    const wanted = {
      api: 1,
      autoplay: 1,
      controls: 0,
      controlBar: 0,
      peertubeLink: 0,
      title: 0,
      warningTitle: 0,
      p2p: 0,
    }
    for (const [name, value] of Object.entries(wanted))
      address.searchParams.set(name, String(value))
    const frame = document.createElement('iframe')
    frame.src = address.href
    frame.allow = 'autoplay; fullscreen; picture-in-picture; encrypted-media'
    frame.sandbox.add('allow-scripts', 'allow-same-origin', 'allow-popups')
    frame.referrerPolicy = 'strict-origin-when-cross-origin'
    Object.assign(frame.style, { width: '100%', height: '100%', border: '0' })
    this.#frame = frame
    addEventListener('message', this.#hear)
    const inside = this.shadowRoot ?? this.attachShadow({ mode: 'open' })
    inside.replaceChildren(frame)
    this.#say('loadstart')
  }

  disconnectedCallback(): void {
    removeEventListener('message', this.#hear)
    this.#frame?.remove()
    this.#frame = undefined
    this.#isReady = false
    this.#asked.clear()
  }

  #told(method: string, params: unknown): void {
    if (method === '__ready') {
      if (params === 'ping') this.#post({ method: `${scope}__ready`, params: 'pong' })
      this.#askReady()
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

  #askReady(): void {
    if (this.#isReady || !this.#frame) return
    this.#ask('isReady', undefined, (isReady) => {
      if (isReady === true) this.#ready()
      else setTimeout(() => this.#askReady(), 250)
    })
  }

  #ready(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.#say('loadedmetadata', 'durationchange', 'volumechange')
  }

  #update({ position, duration, volume, playbackState }: Status): void {
    this.#ready()
    if (typeof duration === 'number' && duration > 0 && duration !== this.#duration) {
      this.#duration = duration
      this.#say('durationchange')
    }
    if (typeof volume === 'number' && volume !== (this.#isMuted ? 0 : this.#volume)) {
      this.#isMuted = volume === 0
      if (volume > 0) this.#volume = volume
      this.#say('volumechange')
    }
    if (typeof position === 'number' && position !== this.#time) {
      this.#time = position
      this.#say('timeupdate')
    }
    if (this.#isSeeking && position !== undefined) {
      this.#isSeeking = false
      this.#say('seeked')
    }
    if (playbackState !== undefined && playbackState !== this.#state) {
      this.#state = playbackState
      if (playbackState === 'playing') this.#say('play', 'playing')
      else if (playbackState === 'paused') this.#say('pause')
      else if (playbackState === 'ended') this.#say('pause', 'ended')
    }
  }

  #ask(method: string, params?: unknown, then?: (result: unknown) => void): void {
    const id = ++this.#lastId
    if (then) this.#asked.set(id, then)
    this.#post({ id, method: scope + method, params })
  }

  #post(message: Message): void {
    this.#frame?.contentWindow?.postMessage(JSON.stringify(message), this.#origin)
  }

  #say(...events: string[]): void {
    for (const name of events) this.dispatchEvent(new Event(name))
  }

  async play(): Promise<void> {
    this.#ask('play')
  }

  pause(): void {
    this.#ask('pause')
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
    return this.#isReady ? (this.#state === 'playing' ? 4 : 3) : 0
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
    this.#say('seeking', 'timeupdate')
    this.#ask('seek', seconds)
  }

  get volume(): number {
    return this.#volume
  }

  set volume(volume: number) {
    this.#volume = volume
    this.#isMuted = false
    this.#say('volumechange')
    this.#ask('setVolume', volume)
  }

  get muted(): boolean {
    return this.#isMuted
  }

  set muted(isMuted: boolean) {
    this.#isMuted = isMuted
    this.#say('volumechange')
    this.#ask('setVolume', isMuted ? 0 : this.#volume)
  }

  get playbackRate(): number {
    return this.#rate
  }

  set playbackRate(rate: number) {
    this.#rate = rate
    this.#say('ratechange')
    this.#ask('setPlaybackRate', rate)
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
