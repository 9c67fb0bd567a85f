// The player in a real browser, with the policy of our pages and stand-ins for the hosts: node
// tests/browser/player.ts [--shots folder]

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import type { Source } from '../../web/data.ts'
import { startChromium, startTally, until } from './chromium.ts'
import { near, pagesOf, plays, state, statusOf, takeShots, when } from './player-page.ts'
import { startSite } from './player-site.ts'

const { values } = parseArgs({ options: { shots: { type: 'string' } } })
const { test, end } = startTally()
const site = await startSite()
const browser = await startChromium()
const onPage = pagesOf(browser, site)

interface Axe {
  run(
    selector: string,
    options: { preload: boolean },
  ): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>
}

const source = (host: Source['host'], src: string, label: string): Source => ({
  host,
  src,
  label,
  address: src,
})
const file = source('file', 'https://files.example/talk.webm', 'WEBM')
const hls = source('hls', 'https://files.example/talk.m3u8', 'HLS')
const youtube = source('youtube', 'https://www.youtube-nocookie.com/embed/A-u8XHAUac4', 'YouTube')
const goneYoutube = source(
  'youtube',
  'https://www.youtube-nocookie.com/embed/GONE_GONE_X',
  'YouTube',
)
const vimeo = source('vimeo', 'https://player.vimeo.com/video/170384418?h=0a1b2c3d', 'Vimeo')
const peertube = source(
  'peertube',
  'https://tube.example/videos/embed/kkGMgK9ZtnKfYAgnEtQxbv',
  'tube.example',
)
const missing = source('file', 'https://files.example/missing.mp4', 'MP4')
const silent = source(
  'peertube',
  'https://silent.example/videos/embed/kkGMgK9ZtnKfYAgnEtQxbv',
  'silent.example',
)

await test('nothing is asked of a host before a reader plays the talk', () =>
  onPage([youtube, vimeo, peertube, hls, file], async ({ page, hosts }) => {
    await page.waitForTimeout(500)
    assert.deepEqual(hosts(), [])
    assert.equal(await page.locator('media-controller').count(), 0)
  }))

const each: [string, Source, string, string[]][] = [
  ['a file', file, 'video', ['files.example']],
  ['a stream', hls, 'hls-video', ['files.example']],
  ['a video on YouTube', youtube, 'youtube-video', ['www.youtube-nocookie.com', 'www.youtube.com']],
  ['a video on Vimeo', vimeo, 'vimeo-video', ['player.vimeo.com']],
  ['a video on a PeerTube', peertube, 'peertube-video', ['tube.example']],
]

for (const [name, one, tag, wanted] of each) {
  const others = each.map(([, other]) => other).filter((other) => other !== one)
  await test(`${name} plays after a click, and only its host is asked`, () =>
    onPage([one, ...others], async ({ page, hosts }) => {
      await page.click('.player-facade')
      const it = await plays(page)
      assert.equal(it.tag, tag)
      assert.deepEqual(hosts(), wanted)
    }))

  await test(`${name} starts where the address says, pauses, jumps, and changes its speed by keys`, () =>
    onPage(
      [one],
      async ({ page }) => {
        await page.click('.player-facade')
        near((await plays(page, 5)).time, 7, 3)
        await page.keyboard.press('k')
        const { time } = await when(page, ({ paused }) => paused)
        await page.keyboard.press('ArrowRight')
        near((await when(page, (it) => it.time > time + 3)).time, time + 5)
        await page.keyboard.press('j')
        near((await when(page, (it) => it.time < time)).time, Math.max(0, time - 5))
        await page.keyboard.press('5')
        const { duration } = await state(page)
        near((await when(page, (it) => it.time > it.duration / 2 - 1)).time, duration / 2)
        await page.keyboard.press('>')
        await when(page, ({ rate }) => rate === 1.25)
        await page.keyboard.press('<')
        await page.keyboard.press('<')
        await when(page, ({ rate }) => rate === 0.75)
        await page.keyboard.press('m')
        await when(page, ({ muted }) => muted)
        await page.keyboard.press('m')
        await when(page, ({ muted }) => !muted)
        await page.keyboard.press(' ')
        await when(page, ({ paused }) => !paused)
      },
      { t: '6' },
    ))
}

for (const [t, seconds] of [
  ['7', 7],
  ['7s', 7],
  ['0m9s', 9],
  ['nonsense', 0],
] as const)
  await test(`the address can say where to start: ${t}`, () =>
    onPage(
      [file],
      async ({ page }) => {
        await page.click('.player-facade')
        near((await plays(page, seconds)).time, seconds, 2)
      },
      { t },
    ))

await test('everything can be done with the keyboard alone', () =>
  onPage([file, peertube], async ({ page }) => {
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.className), 'player-facade')
    await page.keyboard.press('Enter')
    await plays(page)
    assert.equal(await page.evaluate(() => document.activeElement?.localName), 'media-play-button')
    // The button has the focus: the key is its own, and must not count twice.
    await page.keyboard.press(' ')
    await when(page, ({ paused }) => paused)
    const seen: string[] = []
    for (let step = 0; step < 14; step++) {
      await page.keyboard.press('Tab')
      seen.push(await page.evaluate(() => document.activeElement?.localName ?? ''))
    }
    for (const part of [
      'media-mute-button',
      'media-volume-range',
      'media-playback-rate-menu-button',
      'media-fullscreen-button',
      'button',
      'a',
    ])
      assert.ok(seen.includes(part), `${part} is not in ${seen}`)
  }))

await test('letters outside of the player do nothing to it', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    await page.focus('.player-copy')
    await page.keyboard.press('k')
    await page.keyboard.press('m')
    await page.waitForTimeout(200)
    const { paused, muted } = await state(page)
    assert.deepEqual([paused, muted], [false, false])
  }))

await test('arrows on the line of time go by seconds, and on the volume by steps', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    await page.keyboard.press('k')
    const { time } = await when(page, ({ paused }) => paused)
    await page.evaluate(() =>
      document.querySelector('media-time-range')?.shadowRoot?.querySelector('input')?.focus(),
    )
    await page.keyboard.press('ArrowRight')
    near((await when(page, (it) => it.time > time + 3)).time, time + 5, 0.5)
    await page.evaluate(() =>
      document.querySelector('media-volume-range')?.shadowRoot?.querySelector('input')?.focus(),
    )
    await page.keyboard.press('ArrowDown')
    const volume = await until(
      () => page.evaluate(() => document.querySelector('video')?.volume ?? 1),
      (it) => it < 1,
    )
    assert.ok(volume < 1)
  }))

await test('the speed is chosen from a menu', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    await page.click('media-playback-rate-menu-button')
    const items = page.locator('media-playback-rate-menu [role=menuitemradio]')
    assert.deepEqual(
      (await items.allTextContents()).map((it) => it.trim()),
      ['0.5x', '0.75x', '1x', '1.25x', '1.5x', '1.75x', '2x'],
    )
    await items.nth(4).click()
    await when(page, ({ rate }) => rate === 1.5)
  }))

await test('full screen by a key, and back', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    const inFull = () => page.evaluate(() => document.fullscreenElement?.localName)
    await page.keyboard.press('f')
    assert.equal(await until(inFull, (it) => it !== undefined), 'media-controller')
    // The controls learn of it a moment later; a key that comes before asks for the same once more.
    await page.waitForTimeout(1000)
    await page.keyboard.press('f')
    assert.equal(await until(inFull, (it) => it === undefined), undefined)
  }))

await test('the link at this moment is copied, by button and by key', () =>
  onPage(
    [file],
    async ({ page }) => {
      const copied = () => page.evaluate(() => navigator.clipboard.readText())
      await page.click('.player-copy')
      await until(
        () => statusOf(page),
        (it) => it !== '',
      )
      assert.match(await copied(), /^http:\/\/127\.0\.0\.1:\d+\/video\/7\/a-talk\?t=12$/)
      assert.equal(await statusOf(page), 'Copied: 0:12')
      await page.click('.player-facade')
      await plays(page, 12)
      await page.keyboard.press('k')
      await page.keyboard.press('5')
      await when(page, ({ time }) => time > 9 && time < 11)
      await page.keyboard.press('c')
      assert.match(await until(copied, (it) => it.endsWith('10')), /\?t=10$/)
    },
    { t: '12' },
  ))

await test('another source goes on at the same time, as fast as before', () =>
  onPage([file, peertube, vimeo, youtube], async ({ page }) => {
    assert.equal(await page.locator('button[data-play]:visible').count(), 4)
    await page.click('.player-facade')
    await plays(page)
    await page.keyboard.press('6')
    await page.keyboard.press('>')
    await when(page, ({ time }) => time > 11)
    for (const [index, tag] of [
      'peertube-video',
      'vimeo-video',
      'youtube-video',
      'video',
    ].entries()) {
      await page.click(`button[data-play="${(index + 1) % 4}"]`)
      const it = await when(
        page,
        (now) => now.tag === tag && now.time > 11 && !now.paused && now.rate === 1.25,
      )
      near(it.time, 14, 6)
      assert.equal(await page.locator('button[aria-pressed=true]').count(), 1)
    }
  }))

await test('a source that is away is left for the next one, and the reader is told', () =>
  onPage([missing, file], async ({ page }) => {
    await page.click('.player-facade')
    assert.equal((await plays(page)).tag, 'video')
    assert.equal(await statusOf(page), 'MP4 does not answer. Now trying WEBM.')
    assert.equal(await page.locator('.player-status').getAttribute('role'), 'status')
  }))

await test('a video that YouTube has no more is looked for elsewhere', () =>
  onPage([goneYoutube, peertube], async ({ page }) => {
    await page.click('.player-facade')
    await when(page, ({ tag, paused }) => tag === 'peertube-video' && !paused)
    assert.equal(await statusOf(page), 'YouTube does not answer. Now trying tube.example.')
  }))

await test('where nothing of YouTube is let through, the next source is taken at once', () =>
  onPage(
    [youtube, file],
    async ({ page }) => {
      const began = Date.now()
      await page.click('.player-facade')
      await when(page, ({ tag, paused }) => tag === 'video' && !paused)
      assert.ok(Date.now() - began < 5000)
    },
    { without: ['www.youtube.com', 'www.youtube-nocookie.com'] },
  ))

await test('a stream that is away is left at once', () =>
  onPage([source('hls', 'https://files.example/missing.m3u8', 'HLS'), file], async ({ page }) => {
    await page.click('.player-facade')
    await when(page, ({ tag, paused }) => tag === 'video' && !paused)
  }))

await test('a source that says nothing is left after ten seconds', () =>
  onPage(
    [silent, source('file', 'https://files.example/hangs.mp4', 'MP4'), file],
    async ({ page }) => {
      const began = Date.now()
      await page.click('.player-facade')
      await when(page, ({ tag, paused, time }) => tag === 'video' && !paused && time > 0, 30_000)
      near((Date.now() - began) / 1000, 20, 4)
    },
  ))

await test('when all sources are away the picture comes back, and it is said', () =>
  onPage([missing], async ({ page }) => {
    await page.click('.player-facade')
    await until(
      () => statusOf(page),
      (it) => it !== '',
    )
    assert.equal(await statusOf(page), 'The recording cannot be played here.')
    assert.equal(await page.evaluate(() => document.activeElement?.className), 'player-facade')
    assert.equal(await page.locator('media-controller').count(), 0)
  }))

await test('nobody but the frame can speak for a PeerTube', () =>
  onPage([peertube], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    await page.evaluate(() => {
      const params = { position: 500, duration: 9, volume: 0, playbackState: 'ended' }
      postMessage(JSON.stringify({ method: 'peertube::playbackStatusUpdate', params }), '*')
    })
    await page.waitForTimeout(300)
    const { time, muted, paused, duration } = await state(page)
    assert.ok(time < 100 && !muted && !paused && duration === 600)
  }))

await test('the player speaks the language of the page', () =>
  onPage(
    [missing, file],
    async ({ page }) => {
      await page.click('.player-facade')
      await plays(page)
      const label = (name: string) => page.locator(name).getAttribute('aria-label')
      assert.equal(await label('media-play-button'), 'Pausar')
      assert.equal(await label('media-controller'), 'Reproductor de vídeo')
      assert.equal(await label('media-fullscreen-button'), 'Pantalla completa')
      assert.equal(
        await page.locator('media-time-range input').getAttribute('aria-label'),
        'Ir a un momento',
      )
      assert.equal(await statusOf(page), 'MP4 no responde. Probando con WEBM.')
    },
    { options: { locale: 'es' } },
  ))

await test('without scripts the picture leads to the host, and nothing is offered that would not work', () =>
  onPage(
    [youtube, file],
    async ({ page }) => {
      assert.equal(await page.locator('.player-facade').getAttribute('href'), youtube.address)
      assert.equal(await page.locator('.player-link:visible').count(), 2)
      assert.equal(await page.locator('button:visible').count(), 0)
    },
    { browser: { javaScriptEnabled: false } },
  ))

await test('a talk without a recording says so, and has nothing to press', () =>
  onPage([], async ({ page }) => {
    assert.equal(
      await page.locator('.player-note').textContent(),
      'No recording is known of this talk.',
    )
    assert.equal(await page.locator('.player :is(a, button)').count(), 0)
  }))

await test('a reader who wants the link in another tab gets it', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade', { modifiers: ['Control'] })
    await page.waitForTimeout(300)
    assert.equal(await page.locator('media-controller').count(), 0)
  }))

for (const one of [file, youtube, peertube])
  await test(`those who hear the page can use it, before and while it plays: ${one.label}`, () =>
    onPage([one, vimeo], async ({ page }) => {
      const axe = readFileSync(
        createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
        'utf8',
      )
      // What it would load beforehand are copies of our styles, which the policy does not let in.
      const faults = async () => {
        await page.evaluate(axe)
        return page.evaluate(async () => {
          const { violations } = await (window as unknown as { axe: Axe }).axe.run('.player', {
            preload: false,
          })
          return violations.map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200))}`,
          )
        })
      }
      assert.deepEqual(await faults(), [])
      await page.click('.player-facade')
      await plays(page)
      await page.keyboard.press('k')
      await page.waitForTimeout(500)
      assert.deepEqual(await faults(), [])
    }))

await test('who wants less motion sees a word that stands still', () =>
  onPage(
    [source('file', 'https://files.example/hangs.mp4', 'MP4')],
    async ({ page }) => {
      await page.click('.player-facade')
      assert.equal(await page.locator('.player-waiting').textContent(), 'Loading')
    },
    { browser: { reducedMotion: 'reduce' } },
  ))

await test('from 320 px to 4K nothing is wider than the screen', async () => {
  for (const width of [320, 390, 768, 1440, 3840])
    await onPage(
      [file, youtube, vimeo, peertube, hls],
      async ({ page }) => {
        await page.click('.player-facade')
        await plays(page)
        const [wide, bar] = await page.evaluate(() => [
          document.documentElement.scrollWidth,
          Math.max(
            ...[...document.querySelectorAll('media-control-bar > *')].map(
              (it) => it.getBoundingClientRect().right,
            ),
          ),
        ])
        assert.ok(Number(wide) <= width && Number(bar) <= width, `${width}: ${wide} ${bar}`)
      },
      { browser: { viewport: { width, height: Math.max(568, Math.round(width / 1.8)) } } },
    )
})

const { shots } = values
if (shots !== undefined)
  await test('pictures are taken', () => takeShots(onPage, [file, youtube, vimeo, peertube], shots))
await browser.close()
await site.stop()
process.exitCode = end() ? 0 : 1
