import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Route } from 'playwright-core'

// Stand-ins for the hosts of videos: tests have no network. Each implements as much of the protocol
// of its host as the player needs, with a clock instead of a video.

/**
 * Answers requests to the hosts of videos. Requests to other hosts, and to those in `without`,
 * fail. Tests can observe them as requests of the page.
 */
export async function standIn(
  context: BrowserContext,
  without: readonly string[] = [],
): Promise<void> {
  await context.route(/^https:/, async (route) => {
    const url = new URL(route.request().url())
    const handler = without.includes(url.hostname) ? undefined : handlers[url.hostname]
    await (handler ? handler(route, url) : route.abort())
  })
}

type Handler = (route: Route, url: URL) => Promise<void>

const html = (script: string) => ({
  contentType: 'text/html',
  body: `<!doctype html>
    <style>body{margin:0;background:#234;color:#fff;font:5vw sans-serif}</style>
    <p>A video</p>
    <script>${clock}${script}</script>`,
})

const handlers: Record<string, Handler> = {
  'www.youtube.com': (route, { pathname }) =>
    pathname === '/iframe_api'
      ? route.fulfill({ contentType: 'text/javascript', body: youtubeLoader })
      : route.fulfill({ contentType: 'text/javascript', body: clock + youtubePlayer }),
  'www.youtube-nocookie.com': (route) => route.fulfill(html('')),
  'player.vimeo.com': (route) => route.fulfill(html(vimeo)),
  'tube.example': (route) => route.fulfill(html(peertube)),
  'silent.example': (route) => route.fulfill(html('')),
  'files.example': (route, { pathname }) => {
    if (pathname.startsWith('/hangs')) return new Promise(() => undefined)
    return pathname.startsWith('/missing')
      ? route.fulfill({ status: 404, body: '' })
      : file(route, pathname)
  },
}

const types: Record<string, string> = {
  webm: 'video/webm',
  mp4: 'video/mp4',
  m4s: 'video/iso.segment',
  m3u8: 'application/vnd.apple.mpegurl',
}

/** Sends a file, or a range of it: without ranges a browser cannot seek. */
async function file(route: Route, pathname: string): Promise<void> {
  const bytes = readFileSync(join(import.meta.dirname, 'fixtures', pathname.slice(1)))
  const [, from = '', to = ''] =
    /^bytes=(\d+)-(\d*)$/.exec(route.request().headers().range ?? '') ?? []
  const [start, end] = [
    Number(from),
    to === '' ? bytes.length - 1 : Math.min(Number(to), bytes.length - 1),
  ]
  await route.fulfill({
    status: from === '' ? 200 : 206,
    headers: {
      'content-type': types[pathname.split('.').pop() ?? ''] ?? '',
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      ...(from !== '' && { 'content-range': `bytes ${start}-${end}/${bytes.length}` }),
    },
    body: from === '' ? bytes : bytes.subarray(start, end + 1),
  })
}

const clock = `
  class Clock {
    at = 0; since = 0; isPlaying = false; rate = 1; duration = 600
    now() {
      const elapsed = this.isPlaying ? (performance.now() - this.since) / 1000 * this.rate : 0
      return this.at + elapsed
    }
    set(at) { this.at = at; this.since = performance.now() }
    play(is) { this.set(this.now()); this.isPlaying = is }
    speed(rate) { this.set(this.now()); this.rate = rate }
  }
`

// The script of YouTube loads another one, so the policy must allow that too.
const youtubeLoader = `
  const script = document.createElement('script')
  script.src = 'https://www.youtube.com/s/player/1/www-widgetapi.js'
  document.head.append(script)
`

const youtubePlayer = `
  window.YT = {
    PlayerState: { UNSTARTED: -1, ENDED: 0, PLAYING: 1, PAUSED: 2, BUFFERING: 3, CUED: 5 },
    Player: class {
      clock = new Clock(); heard = {}; volume = 100; silent = false; state = -1
      constructor(frame, { events }) {
        const { pathname, searchParams } = new URL(frame.src)
        this.clock.set(Number(searchParams.get('start') ?? 0))
        setTimeout(() => {
          events.onReady()
          if (pathname.endsWith('/GONE_GONE_X')) events.onError({ data: 100 })
        }, 50)
        setInterval(() => this.tell('onVideoProgress'), 100)
      }
      addEventListener(name, hear) { (this.heard[name] ??= []).push(hear) }
      tell(name, data) { for (const hear of this.heard[name] ?? []) hear({ data }) }
      turn(state) {
        this.state = state
        this.clock.play(state === 1)
        this.tell('onStateChange', state)
      }
      playVideo() { this.turn(1) }
      pauseVideo() { this.turn(2) }
      seekTo(at) { this.clock.set(at) }
      getPlayerState() { return this.state }
      getCurrentTime() { return this.clock.now() }
      getDuration() { return this.clock.duration }
      getVideoLoadedFraction() { return 0.5 }
      getOption() { return [] }
      setOption() {}
      mute() { this.silent = true; this.tell('onVolumeChange') }
      unMute() { this.silent = false; this.tell('onVolumeChange') }
      isMuted() { return this.silent }
      getVolume() { return this.volume }
      setVolume(volume) { this.volume = volume; this.tell('onVolumeChange') }
      getPlaybackRate() { return this.clock.rate }
      setPlaybackRate(rate) { this.clock.speed(rate); this.tell('onPlaybackRateChange') }
      destroy() {}
    },
  }
  window.onYouTubeIframeAPIReady()
`

const vimeo = `
  const clock = new Clock()
  let volume = 1
  let muted = false
  const tell = (message) => parent.postMessage(JSON.stringify(message), '*')
  const event = (name, data = {}) => {
    const { duration } = clock
    tell({ event: name, data: { seconds: clock.now(), duration, percent: 0, ...data } })
  }
  const methods = {
    play() { clock.play(true); event('play'); event('playing') },
    pause() { clock.play(false); event('pause') },
    getCurrentTime: () => clock.now(),
    getDuration: () => clock.duration,
    getVolume: () => volume,
    getMuted: () => muted,
    getPaused: () => !clock.isPlaying,
    getTextTracks: () => [],
    setCurrentTime(at) {
      clock.set(at)
      for (const name of ['seeking', 'seeked', 'timeupdate']) event(name)
      return at
    },
    setVolume(to) { volume = to; event('volumechange', { volume }); return to },
    setMuted(to) { muted = to; event('volumechange', { volume }); return to },
    setPlaybackRate(rate) {
      clock.speed(rate)
      event('ratechange', { playbackRate: rate })
      return rate
    },
  }
  addEventListener('message', ({ data }) => {
    const { method, value: values } = typeof data === 'string' ? JSON.parse(data) : data
    const value = [values].flat()[0]
    if (method === 'ping') tell({ event: 'ready', method: 'ping' })
    else if (method !== 'addEventListener') tell({ method, value: methods[method]?.(value) })
    else if (value === 'loaded') setTimeout(() => event('loaded', { id: 1 }), 50)
  })
  setInterval(() => clock.isPlaying && event('timeupdate'), 100)
  tell({ event: 'ready' })
`

const peertube = `
  const clock = new Clock()
  let volume = 1
  let isOpen = false
  const start = new URLSearchParams(location.search)
  clock.set(Number(start.get('start') ?? 0))
  const tell = (message) => parent.postMessage(JSON.stringify(message), '*')
  const methods = {
    isReady: () => true,
    play() { clock.play(true); status() },
    pause() { clock.play(false); status() },
    seek(at) { clock.set(at) },
    setVolume(to) { volume = to },
    setPlaybackRate(rate) { clock.speed(rate) },
  }
  function status() {
    if (!isOpen) return
    const playbackState = clock.isPlaying ? 'playing' : 'paused'
    const params = { position: clock.now(), duration: clock.duration, volume, playbackState }
    tell({ method: 'peertube::playbackStatusUpdate', params })
  }
  addEventListener('message', ({ data, source }) => {
    const { id, method, params } = JSON.parse(data)
    if (source !== parent || !method.startsWith('peertube::')) return
    const name = method.slice(10)
    if (name === '__ready') isOpen = params === 'pong'
    else if (isOpen && start.get('api') === '1') tell({ id, result: methods[name](params) })
  })
  setTimeout(() => tell({ method: 'peertube::__ready', params: 'ping' }), 30)
  setInterval(status, 200)
`
