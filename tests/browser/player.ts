// node tests/browser/player.ts [--shots folder] [--only word]
//
// The player in a real browser, with the content security policy of our pages. The hosts of videos
// are replaced by stand-ins (hosts.ts).

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import type { Source } from '../../web/data.ts'
import { en } from '../../web/messages/en.ts'
import { until } from '../support/until.ts'
import { startChromium, startTally } from './chromium.ts'
import {
  near,
  pagesOf,
  plays,
  state,
  statusOf,
  takeShots,
  when,
  whenStatus,
} from './player-page.ts'
import { startSite } from './player-site.ts'

const { values } = parseArgs({
  options: { shots: { type: 'string' }, only: { type: 'string', default: '' } },
})
const { test: runTest, end } = startTally()
const test: typeof runTest = async (title, run) => {
  if (title.includes(values.only)) await runTest(title, run)
}
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

await test('sends no request to a host before a reader plays the talk', () =>
  onPage([youtube, vimeo, peertube, hls, file], async ({ page, hosts }) => {
    await page.waitForLoadState('networkidle')
    assert.deepEqual(hosts(), [])
    assert.equal(await page.locator('media-controller').count(), 0)
  }))

const each: [string, Source, string, string[]][] = [
  ['a file', file, 'video', ['files.example']],
  ['a stream', hls, 'hls-video', ['files.example']],
  ['a video on YouTube', youtube, 'youtube-video', ['www.youtube-nocookie.com']],
  ['a video on Vimeo', vimeo, 'vimeo-video', ['player.vimeo.com']],
  ['a video on a PeerTube', peertube, 'peertube-video', ['tube.example']],
]

for (const [name, played, tag, expectedHosts] of each) {
  const others = each.map(([, other]) => other).filter((other) => other !== played)
  await test(`${name} plays after a click, with requests to its host only`, () =>
    onPage([played, ...others], async ({ page, hosts }) => {
      await page.click('.player-facade')
      assert.equal((await plays(page)).tag, tag)
      assert.deepEqual(hosts(), expectedHosts)
    }))

  await test(`${name} starts at the time of the URL and obeys the keys`, () =>
    onPage(
      [played],
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
  await test(`starts at the time of the URL: ${t}`, () =>
    onPage(
      [file],
      async ({ page }) => {
        await page.click('.player-facade')
        near((await plays(page, seconds)).time, seconds, 2)
      },
      { t },
    ))

await test('every control can be reached with the keyboard', () =>
  onPage([file, peertube], async ({ page }) => {
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement?.className), 'player-facade')
    await page.keyboard.press('Enter')
    await plays(page)
    assert.equal(await page.evaluate(() => document.activeElement?.localName), 'media-play-button')
    // The button has the focus and handles the key itself: it must not count twice.
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

await test('ignores keys pressed outside of the player', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    await page.focus('.player-copy')
    await page.keyboard.press('k')
    await page.keyboard.press('m')
    const { time } = await state(page)
    const { muted } = await plays(page, time + 0.2)
    assert.equal(muted, false)
  }))

await test('arrow keys move the time slider by seconds and the volume slider by steps', () =>
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
    await until('a lower volume', () =>
      page.evaluate(() => (document.querySelector('video')?.volume ?? 1) < 1),
    )
  }))

await test('offers the speeds in a menu', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    await page.click('media-playback-rate-menu-button')
    const items = page.locator('media-playback-rate-menu [role=menuitemradio]')
    assert.deepEqual(
      (await items.allTextContents()).map((text) => text.trim()),
      ['0.5x', '0.75x', '1x', '1.25x', '1.5x', '1.75x', '2x'],
    )
    await items.nth(4).click()
    await when(page, ({ rate }) => rate === 1.5)
  }))

await test('enters and leaves full screen by a key', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    const fullscreenElement = () =>
      page.evaluate(() => document.fullscreenElement?.localName ?? 'none')
    await page.keyboard.press('f')
    await until('full screen', async () => (await fullscreenElement()) === 'media-controller')
    // The controls are notified later; until then, the key would request full screen once more.
    await page.locator('media-fullscreen-button[mediaisfullscreen]').waitFor({ state: 'attached' })
    await page.keyboard.press('f')
    await until('the end of full screen', async () => (await fullscreenElement()) === 'none')
  }))

await test('copies the link to the current time, by button and by key', () =>
  onPage(
    [file],
    async ({ page }) => {
      const copied = () => page.evaluate(() => navigator.clipboard.readText())
      await page.click('.player-copy')
      await whenStatus(page)
      assert.match(await copied(), /^http:\/\/127\.0\.0\.1:\d+\/video\/7\/a-talk\?t=12$/)
      assert.equal(await statusOf(page), 'Copied: 0:12')
      await page.click('.player-facade')
      await plays(page, 12)
      await page.keyboard.press('k')
      await page.keyboard.press('5')
      await when(page, ({ time }) => time > 9 && time < 11)
      await page.keyboard.press('c')
      await until('the link to be copied', async () => /\?t=10$/.test(await copied()))
    },
    { t: '12' },
  ))

await test('switching the source keeps the time and the speed', () =>
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
      const { time } = await when(
        page,
        (now) => now.tag === tag && now.time > 11 && !now.paused && now.rate === 1.25,
      )
      near(time, 14, 6)
      assert.equal(await page.locator('button[aria-pressed=true]').count(), 1)
    }
  }))

await test('a source that is missing is replaced by the next one, with a message', () =>
  onPage([missing, file], async ({ page }) => {
    await page.click('.player-facade')
    assert.equal((await plays(page)).tag, 'video')
    assert.equal(await statusOf(page), 'MP4 is not responding. Trying WEBM.')
    assert.equal(await page.locator('.player-status').getAttribute('role'), 'status')
  }))

await test('a video that YouTube has removed is played from the next source', () =>
  onPage([goneYoutube, peertube], async ({ page }) => {
    await page.click('.player-facade')
    await when(page, ({ tag, paused }) => tag === 'peertube-video' && !paused)
    assert.equal(await statusOf(page), 'YouTube is not responding. Trying tube.example.')
  }))

await test('the next source plays within seconds if YouTube is blocked', () =>
  onPage(
    [youtube, file],
    async ({ page }) => {
      const startedMs = Date.now()
      await page.click('.player-facade')
      await when(page, ({ tag, paused }) => tag === 'video' && !paused)
      assert.ok(Date.now() - startedMs < 10_000)
    },
    { without: ['www.youtube-nocookie.com'] },
  ))

await test('the next source plays at once if a stream is missing', () =>
  onPage([source('hls', 'https://files.example/missing.m3u8', 'HLS'), file], async ({ page }) => {
    await page.click('.player-facade')
    await when(page, ({ tag, paused }) => tag === 'video' && !paused)
  }))

await test('a source that does not respond is replaced after ten seconds', () =>
  onPage(
    [silent, source('file', 'https://files.example/hangs.mp4', 'MP4'), file],
    async ({ page }) => {
      const startedMs = Date.now()
      await page.click('.player-facade')
      await when(page, ({ tag, paused, time }) => tag === 'video' && !paused && time > 0)
      near((Date.now() - startedMs) / 1000, 20, 4)
    },
  ))

await test('shows a message, the links and a button to retry if all sources are missing', () =>
  onPage([missing, goneYoutube], async ({ page }) => {
    await page.click('.player-facade')
    const panel = page.locator('.player-frame .player-failure')
    await panel.waitFor()
    assert.equal(
      await panel.locator('[role=alert]').textContent(),
      'This recording cannot be played here. Try one of the links.',
    )
    assert.equal(await page.locator('media-controller').count(), 0)
    assert.deepEqual(
      await panel.locator('a').evaluateAll((links) => links.map((link) => link.textContent)),
      ['Watch on files.example (MP4)', 'Watch on YouTube'],
    )
    const retry = panel.getByRole('button', { name: 'Try again' })
    assert.ok(await retry.evaluate((button) => button === document.activeElement))
    await retry.click()
    await panel.waitFor({ state: 'detached' })
    await panel.waitFor()
  }))

for (const played of [file, youtube, vimeo, peertube])
  await test(`no key of the player scrolls the page: ${played.label}`, () =>
    onPage(
      [played],
      async ({ page }) => {
        await page.evaluate(() => document.body.style.setProperty('padding-bottom', '3000px'))
        await page.focus('.player-facade')
        await page.keyboard.press(' ')
        await plays(page)
        const scrolled = () => page.evaluate(() => scrollY)
        assert.equal(await scrolled(), 0)
        for (const target of ['media-play-button', 'media-mute-button', 'media-time-range']) {
          await page.evaluate((name) => {
            const control = document.querySelector<HTMLElement>(name)
            const focusable = control?.shadowRoot?.querySelector('input') ?? control
            focusable?.focus({ preventScroll: true })
          }, target)
          for (const key of [
            ' ',
            'k',
            'j',
            'l',
            'm',
            'm',
            'ArrowLeft',
            'ArrowRight',
            '5',
            '>',
            '<',
          ])
            await page.keyboard.press(key)
          // A scroll starts with the next frame.
          await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)))
          assert.equal(await scrolled(), 0, target)
        }
      },
      { browser: { viewport: { width: 1000, height: 500 } } },
    ))

for (const played of [youtube, vimeo])
  await test(`draws nothing over the frame of ${played.label}, whose own controls are on`, () =>
    onPage([played, file], async ({ page }) => {
      await page.click('.player-facade')
      await plays(page)
      const frame = page.locator('media-controller > [slot=media] iframe')
      assert.doesNotMatch((await frame.getAttribute('src')) ?? '', /[?&]controls=0/)
      const box = await frame.boundingBox()
      assert.ok(box && box.width > 300 && box.height > 150)
      await page.hover('media-time-range')
      const covered = await page.evaluate(({ x, y, width, height }) => {
        const places = Array.from({ length: 21 }, (_, index) => index / 20)
        return places.flatMap((right) =>
          places.flatMap((down) => {
            const [left, top] = [x + 1 + right * (width - 2), y + 1 + down * (height - 2)]
            const found = document.elementFromPoint(left, top)
            return found?.slot === 'media'
              ? []
              : [`${left} ${top} ${found?.outerHTML.slice(0, 80)}`]
          }),
        )
      }, box)
      assert.deepEqual(covered, [])
      const bar = await page.locator('media-control-bar').first().boundingBox()
      assert.ok(bar && bar.y >= box.y + box.height - 1, 'the controls are below the frame')
      await page.click('button[data-play="1"]')
      await when(page, ({ tag, paused }) => tag === 'video' && !paused)
      assert.equal(await page.locator('media-controller[data-below]').count(), 0)
    }))

await test('resumes where the reader stopped, or starts from the beginning', () =>
  onPage([file], async ({ page }) => {
    const remembered = () =>
      page.evaluate(() => JSON.parse(localStorage.getItem('talkshelf:talks') ?? '[]'))
    await page.click('.player-facade')
    await plays(page)
    await page.keyboard.press('6')
    await until('the position to be stored', async () => (await remembered())[0]?.position >= 10)
    await page.keyboard.press('k')
    await page.reload()
    assert.match(
      (await page.locator('.player-resume').textContent()) ?? '',
      /^You stopped at 0:1\d\. Start from the beginning$/,
    )
    await page.click('.player-facade')
    near((await plays(page, 10)).time, 12, 3)
    await page.reload()
    await page.click('.player-resume button')
    assert.ok((await plays(page)).time < 5)
    await page.keyboard.press('9')
    await page.keyboard.press('l')
    await until('the talk to be watched', async () => (await remembered())[0]?.isWatched)
    assert.equal((await remembered()).length, 1)
    await page.reload()
    assert.equal(await page.locator('.player-resume').isVisible(), false)
  }))

const withPart = (it: Source, start: number, end: number): Source => ({
  ...it,
  part: { recording: it.address, start, end },
})

for (const [name, played] of each)
  await test(`${name} plays a part: from its start to its end, and on if the reader wants`, () =>
    onPage([withPart(played, 6, 9)], async ({ page }) => {
      assert.match(
        (await page.locator('.player-note').textContent()) ?? '',
        /This talk is 0:06 to 0:09 of the recording\./,
      )
      await page.click('.player-facade')
      near((await plays(page, 5)).time, 7, 2)
      near((await when(page, ({ paused, time }) => paused && time >= 9)).time, 10, 2)
      const remembered = await page.evaluate(() => localStorage.getItem('talkshelf:talks'))
      assert.match(remembered ?? '', /"isWatched":true/)
      await page.keyboard.press('k')
      await when(page, ({ time }) => time >= 11)
      assert.equal((await state(page)).paused, false)
    }))

await test('another copy that is cut starts at the same time of the talk', () =>
  onPage([withPart(hls, 10, 19), file], async ({ page }) => {
    await page.click('.player-facade')
    near((await plays(page, 9)).time, 11, 3)
    await page.click('button[data-play="1"]')
    const { time } = await when(page, ({ tag, paused }) => tag === 'video' && !paused)
    assert.ok(time < 9, `${time} is in the talk`)
    await page.click('[data-copy]')
    const copied = await until('the link', () =>
      page.evaluate(() => navigator.clipboard.readText()),
    )
    const seconds = Number(/\?t=(\d+)$/.exec(copied)?.[1])
    assert.ok(seconds >= 10 && seconds < 19, `${copied} is a time of the first source`)
  }))

await test('a link with a time starts there, wherever the reader stopped', () =>
  onPage(
    [file],
    async ({ page }) => {
      const talk = { id: 7, title: 'A', event: 'B', path: '/video/7/a-talk', position: 15 }
      await page.evaluate(
        (talks) => localStorage.setItem('talkshelf:talks', talks),
        JSON.stringify([talk]),
      )
      await page.reload()
      assert.equal(await page.locator('.player-resume').isVisible(), false)
      await page.click('.player-facade')
      near((await plays(page, 3)).time, 4, 3)
    },
    { t: '3' },
  ))

await test('the browser remembers a talk to watch later; other values in it do no harm', () =>
  onPage([youtube], async ({ page, hosts }) => {
    const stored = () => page.evaluate(() => localStorage.getItem('talkshelf:talks'))
    const button = page.getByRole('button', { name: 'Watch later' })
    await button.click()
    assert.equal(await button.getAttribute('aria-pressed'), 'true')
    const [{ id, isLater, path }] = JSON.parse((await stored()) ?? '')
    assert.deepEqual([id, isLater, path], [7, true, '/video/7/a-talk'])
    await page.reload()
    assert.equal(await button.getAttribute('aria-pressed'), 'true')
    await button.click()
    assert.equal(await stored(), null)
    for (const value of ['{', '7', '[7, null, {"id": 7}, {"id": 7, "position": "x"}]']) {
      await page.evaluate((text) => localStorage.setItem('talkshelf:talks', text), value)
      await page.reload()
      assert.equal(await button.getAttribute('aria-pressed'), 'false')
    }
    assert.deepEqual(hosts(), [])
  }))

await test('shares the link, the link at the current time and the embed code', () =>
  onPage([file], async ({ page }) => {
    await page.getByText('Share', { exact: true }).click()
    assert.equal(await page.locator('#share-time').isVisible(), false)
    const link = (await page.locator('#share-link').textContent()) ?? ''
    assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/video\/7\/a-talk$/)
    assert.match(
      (await page.locator('#share-embed').textContent()) ?? '',
      /^<iframe src="http:\/\/[^"]+\/embed\/7" width="640" height="360" title="A talk about &quot;/,
    )
    await page.click('.player-facade')
    await plays(page)
    await page.keyboard.press('5')
    await until('the link at the current time', async () =>
      /\?t=1\d$/.test((await page.locator('#share-time').textContent()) ?? ''),
    )
    assert.ok(await page.locator('#share-time').isVisible())
  }))

await test('the Share button stays in place', () =>
  onPage([file], async ({ page }) => {
    const share = page.getByText('Share', { exact: true })
    const before = await share.boundingBox()
    await share.click()
    assert.ok(await page.locator('#share-link').isVisible())
    assert.deepEqual(await share.boundingBox(), before)
  }))

await test('k starts the talk, unless the reader types elsewhere', () =>
  onPage([file], async ({ page }) => {
    await page.evaluate(() => document.body.append(document.createElement('textarea')))
    await page.locator('textarea').press('k')
    assert.equal(await page.locator('.player-facade').count(), 1)
    await page.locator('textarea').blur()
    await page.keyboard.press('k')
    await plays(page)
    await page.keyboard.press('k')
    await when(page, ({ paused }) => paused)
  }))

await test('ignores PeerTube messages that do not come from the frame', () =>
  onPage([peertube], async ({ page }) => {
    await page.click('.player-facade')
    await plays(page)
    // Resolves when the message was delivered, after the listener of the player.
    await page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          addEventListener('message', ({ source }) => source === window && resolve())
          const params = { position: 500, duration: 9, volume: 0, playbackState: 'ended' }
          postMessage(JSON.stringify({ method: 'peertube::playbackStatusUpdate', params }), '*')
        }),
    )
    const { time, muted, paused, duration } = await state(page)
    assert.ok(time < 100 && !muted && !paused && duration === 600)
  }))

await test('labels and messages are in the language of the page', () =>
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
        'Barra de progreso',
      )
      assert.equal(await statusOf(page), 'MP4 no responde. Probando con WEBM.')
    },
    { options: { locale: 'es' } },
  ))

await test('without JavaScript, the picture links to the host and no button is visible', () =>
  onPage(
    [youtube, file, missing],
    async ({ page }) => {
      assert.equal(await page.locator('.player-facade').getAttribute('href'), youtube.address)
      assert.deepEqual(await page.locator('.player-link:visible').allTextContents(), [
        'Watch on YouTube',
        'Watch on files.example (WEBM)',
        'Watch on files.example (MP4)',
      ])
      assert.equal(await page.locator('button:visible').count(), 0)
      await page.getByText('Share', { exact: true }).click()
      assert.ok(await page.locator('#share-embed').isVisible())
    },
    { browser: { javaScriptEnabled: false } },
  ))

await test('a talk without a recording has a note, and no link or button', () =>
  onPage([], async ({ page }) => {
    assert.equal(await page.locator('.player-frame p').textContent(), en.noVideo)
    assert.equal(await page.locator('.player :is(a, button):visible').count(), 0)
  }))

await test('a click with Control does not start the player', () =>
  onPage([file], async ({ page }) => {
    await page.click('.player-facade', { modifiers: ['Control'] })
    await page.waitForTimeout(300)
    assert.equal(await page.locator('media-controller').count(), 0)
  }))

for (const played of [file, youtube, peertube])
  await test(`has no violation of axe before and after it plays: ${played.label}`, () =>
    onPage([played, vimeo], async ({ page }) => {
      const axe = readFileSync(
        createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
        'utf8',
      )
      // `preload` would load copies of our styles, which the content security policy blocks.
      const violationsOf = async () => {
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
      assert.deepEqual(await violationsOf(), [])
      await page.click('.player-facade')
      await plays(page)
      await page.keyboard.press('k')
      await page.waitForTimeout(500)
      assert.deepEqual(await violationsOf(), [])
    }))

await test('shows a word instead of an animation if the reader prefers reduced motion', () =>
  onPage(
    [source('file', 'https://files.example/hangs.mp4', 'MP4')],
    async ({ page }) => {
      await page.click('.player-facade')
      assert.equal(await page.locator('.player-waiting').textContent(), 'Loading')
    },
    { browser: { reducedMotion: 'reduce' } },
  ))

await test('nothing is wider than the screen, from 320 px to 4K', async () => {
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
              (element) => element.getBoundingClientRect().right,
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
  await test('takes screenshots', () => takeShots(onPage, [youtube, file, vimeo, peertube], shots))
await browser.close()
await site.stop()
process.exitCode = end() ? 0 : 1
