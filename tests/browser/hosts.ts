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
  'www.youtube-nocookie.com': (route) => route.fulfill(html(youtube)),
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

const youtube = `
  const clock = new Clock()
  const start = new URLSearchParams(location.search)
  clock.set(Number(start.get('start') ?? 0))
  let isHeard = false
  let [state, volume, muted] = [-1, 100, false]
  const tell = (event, info) =>
    parent.postMessage(JSON.stringify({ event, info, id: 1, channel: 'widget' }), '*')
  const info = () => ({
    currentTime: clock.now(),
    duration: clock.duration,
    playerState: state,
    playbackRate: clock.rate,
    volume,
    muted,
  })
  const turn = (to) => { state = to; clock.play(to === 1); tell('infoDelivery', info()) }
  const functions = {
    addEventListener(name) {
      if (name === 'onError' && location.pathname.endsWith('/GONE_GONE_X')) tell('onError', 100)
    },
    playVideo() { turn(1) },
    pauseVideo() { turn(2) },
    seekTo(at) { clock.set(at); tell('infoDelivery', { currentTime: at }) },
    mute() { muted = true; tell('infoDelivery', { muted, volume }) },
    unMute() { muted = false; tell('infoDelivery', { muted, volume }) },
    setVolume(to) { volume = to; tell('infoDelivery', { muted, volume }) },
    setPlaybackRate(to) { clock.speed(to); tell('infoDelivery', { playbackRate: to }) },
  }
  addEventListener('message', ({ data, source }) => {
    const { event, func, args } = JSON.parse(data)
    if (source !== parent || start.get('enablejsapi') !== '1') return
    if (event === 'listening' && !isHeard) {
      isHeard = true
      tell('initialDelivery', info())
      tell('onReady', null)
    } else if (event === 'command' && isHeard) functions[func](...args)
  })
  setInterval(() => isHeard && state === 1 && tell('infoDelivery', info()), 100)
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
