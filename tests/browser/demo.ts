// node tests/browser/demo.ts
//
// Watching the talks of `talkshelf demo`, which serves a clip of its own: playing, all talks of an
// event, the talks that the browser remembers, the embedded player, and pages on paper.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Page } from 'playwright-core'
import { buildPages } from '../../scripts/build.ts'
import { root } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { startChromium, startTally } from './chromium.ts'
import { onPage as onArchivePage, type WatchedPage } from './environment.ts'
import { plays, state, when } from './player-page.ts'

await buildPages()
const demo = await startDemo()
const browser = await startChromium()
const { test, end } = startTally()
const archive = { url: demo.url, isReal: false, empty: () => assert.fail(), stop: demo.stop }
const onPage = (run: (watched: WatchedPage) => Promise<void>, options = {}) =>
  onArchivePage({ archive, browser }, run, options)

async function startDemo(): Promise<{ url: string; stop(): Promise<void> }> {
  const { DATABASE_URL: _, ...environment } = process.env
  const child = spawn(process.execPath, ['server/main.ts', 'demo'], {
    cwd: root,
    env: { ...environment, PORT: '0' },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const url = await until('the demo to start', () => {
    if (child.exitCode !== null) throw new Error(output)
    return /Pages +(\S+)\n/.exec(output)?.[1]
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'close')
    },
  }
}

const remembered = () => localStorage.getItem('talkshelf:talks')

const seekToEnd = (page: Page) =>
  page.evaluate(() => {
    const video = document.querySelector('video')
    if (video) video.currentTime = video.duration - 0.5
  })

await test('every talk of the demo plays, without a request to another host', () =>
  onPage(async ({ page, open }) => {
    for (const id of [1, 2, 7, 24]) {
      await open(`/video/${id}`)
      assert.doesNotMatch((await page.locator('.player').textContent()) ?? '', /We do not contact/)
      await page.click('.player-facade')
      assert.equal((await plays(page)).tag, 'video')
      await page.keyboard.press('5')
      await when(page, ({ time, duration }) => time > duration / 2 - 1)
    }
  }))

await test('the file of a recording plays on its own', () =>
  onPage(async ({ page, open }) => {
    await open('/demo/clip.webm')
    await until('the recording to load', () =>
      page.evaluate(() => (document.querySelector('video')?.duration ?? 0) > 0),
    )
  }))

await test('copying keeps the focus, and Escape closes Share', () =>
  onPage(
    async ({ page, open }) => {
      await open('/video/1')
      const share = page.locator('[data-share]')
      await share.locator('summary').focus()
      await page.keyboard.press('Enter')
      const copy = share.locator('button').first()
      await copy.focus()
      await page.keyboard.press('Enter')
      await until('the text to be copied', async () => (await copy.textContent()) === 'Copied')
      assert.ok(await copy.evaluate((button) => button === document.activeElement))
      await page.keyboard.press('Escape')
      assert.equal(await share.getAttribute('open'), null)
      assert.ok(await share.locator('summary').evaluate((it) => it === document.activeElement))
    },
    { permissions: ['clipboard-read', 'clipboard-write'] },
  ))

await test('plays all talks of an event in the order of its page, until the reader stops it', () =>
  onPage(async ({ page, open }) => {
    await open('/category')
    await page.getByRole('link', { name: 'Lantern Conf 2025' }).first().click()
    await page.locator('[data-play-all]').waitFor()
    const paths = await page
      .locator('.card-link')
      .evaluateAll((links) =>
        links.map((link) => new URL((link as HTMLAnchorElement).href).pathname),
      )
    assert.ok(paths.length > 3)
    await page.click('[data-play-all]')
    for (const [index, path] of paths.slice(0, 3).entries()) {
      await page.waitForURL((url) => url.pathname === path)
      await plays(page)
      const next = page.locator('.player-next a')
      await until(
        'the next talk',
        async () => (await next.getAttribute('href')) === paths[index + 1],
      )
      if (index < 2) await seekToEnd(page)
    }
    await page.click('.player-next button')
    await seekToEnd(page)
    await when(page, ({ paused }) => paused)
    assert.equal(new URL(page.url()).pathname, paths[2])
    // A link with the same address starts nothing.
    await open(paths[1] ?? '')
    assert.equal((await state(page)).tag, '')
  }))

await test('lists what the browser remembers, and forgets it', () =>
  onPage(async ({ page, open }) => {
    await open('/my-talks')
    assert.ok(await page.locator('[data-empty]').isVisible())
    await open('/video/1')
    await page.click('[data-later]')
    await page.click('.player-facade')
    await plays(page)
    await page.keyboard.press('7')
    await until('the position to be stored', () =>
      page.evaluate(() => localStorage.getItem('talkshelf:talks')?.includes('"position":1')),
    )
    await open('/')
    assert.ok((await page.locator('.card-progress').count()) > 0, 'a bar on the picture')
    await page.locator('.site-footer').getByRole('link', { name: 'My talks' }).click()
    const listed = (list: string) => page.locator(`[data-list=${list}] li a`).allTextContents()
    await until('the list', async () => (await listed('continue')).length === 1)
    assert.deepEqual(await listed('later'), ['Ten years of tiny queues'])
    assert.deepEqual(await listed('watched'), [])
    await page.click('[data-list=later] li button')
    assert.deepEqual(await listed('later'), [])
    const focused = page.locator('[data-list=continue] li button')
    assert.ok(await focused.evaluate((button) => button === document.activeElement))
    assert.equal((await listed('continue')).length, 1)
    page.once('dialog', (dialog) => dialog.dismiss())
    await page.click('[data-forget]')
    assert.equal((await listed('continue')).length, 1)
    page.once('dialog', (dialog) => dialog.accept())
    await page.click('[data-forget]')
    assert.ok(await page.locator('[data-empty]').isVisible())
    assert.equal(await page.evaluate(remembered), null)
  }))

const sizes = [
  [200, 113],
  [640, 360],
  [400, 400],
  [1920, 1080],
] as const
for (const [width, height] of sizes)
  await test(`the embedded player fills a frame of ${width} by ${height}`, () =>
    onPage(
      async ({ page, open }) => {
        const fills = async (selector: string) =>
          assert.deepEqual(await page.locator(selector).boundingBox(), {
            x: 0,
            y: 0,
            width,
            height,
          })
        const overflow = () =>
          page.evaluate(() => {
            const { scrollWidth, scrollHeight } = document.documentElement
            return [scrollWidth - innerWidth, scrollHeight - innerHeight]
          })
        await open('/embed/1')
        await fills('.player-picture')
        const fit = await page
          .locator('.player-picture')
          .evaluate((picture) => getComputedStyle(picture).objectFit)
        assert.equal(fit, 'contain')
        assert.deepEqual(await overflow(), [0, 0])
        const title = await page.locator('h1 a').boundingBox()
        assert.ok(title && title.y >= 0 && title.y + title.height < height / 2)
        const talkUrl = await page.locator('h1 a').getAttribute('href')
        await page.click('.player-facade', { position: { x: width / 2, y: height / 2 } })
        await plays(page)
        await fills('media-controller')
        assert.equal(await page.locator('.player-home').getAttribute('href'), talkUrl)
        assert.deepEqual(await overflow(), [0, 0])
        assert.equal(await page.evaluate(remembered), null)
      },
      { viewport: { width, height } },
    ))

await test('paper has the light colours, also if the reader chose dark ones', () =>
  onPage(async ({ page, open }) => {
    await open('/prefer?theme=dark&to=/video/1')
    const colour = () => page.evaluate(() => getComputedStyle(document.body).color)
    assert.equal(await colour(), 'rgb(240, 236, 226)')
    await page.emulateMedia({ media: 'print' })
    assert.equal(await colour(), 'rgb(29, 27, 22)')
  }))

await test('the separator is between event and date in both directions', () =>
  onPage(async ({ page, open }) => {
    for (const [query, direction] of [
      ['?language=arabic', 'rtl'],
      ['?language=english', 'ltr'],
    ]) {
      await open(`/search${query}`)
      await page.locator('.card-title').first().click()
      const header = page.locator('.talk-main > header')
      await header.waitFor()
      assert.equal(await header.evaluate((it) => getComputedStyle(it).direction), direction)
      const event = await page.locator('.talk-where > span').boundingBox()
      const link = await page.locator('.talk-where a').boundingBox()
      const date = await page.locator('.talk-where time').boundingBox()
      assert.ok(event && link && date)
      // The span has the link and the separator, which is at the side of the date.
      const isAfter = event.x + event.width > link.x + link.width + 4
      assert.equal(isAfter, date.x > link.x)
    }
  }))

await test('cards have their event, date and language in order, with separators between', () =>
  onPage(async ({ page, open }) => {
    const sides = (items: Element[]) =>
      items.map((item) => {
        const text = document.createRange()
        text.selectNodeContents(item)
        const { left, right, top } = text.getBoundingClientRect()
        return {
          left,
          right,
          top,
          direction: getComputedStyle(item.parentElement ?? item).direction,
        }
      })
    await open('/search?language=arabic')
    const event = (await page.locator('.card-where a').getAttribute('href')) ?? ''
    for (const path of ['/', event, '/search?language=arabic', '/search?language=english']) {
      await open(path)
      let neighbours = 0
      for (const line of await page.locator('.card-where').all()) {
        const items = await line.locator(':scope > *').evaluateAll(sides)
        for (const [index, item] of items.entries()) {
          const next = items[index + 1]
          if (!next || next.top > item.top + 4) continue
          const gap = item.direction === 'rtl' ? item.left - next.right : next.left - item.right
          assert.ok(gap > 4 && gap < 30, `${path}: ${gap} px in ${await line.textContent()}`)
          neighbours++
        }
      }
      assert.ok(neighbours > 0, path)
    }
  }))

await test('a talk on paper has its address and text, without menu, player and shelves', () =>
  onPage(async ({ page, open }) => {
    await open('/video/1')
    assert.equal(await page.locator('.print-only').isVisible(), false)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.locator('.print-only').textContent(), page.url())
    assert.ok(await page.locator('.print-only').isVisible())
    assert.ok(await page.locator('.prose').isVisible())
    for (const part of ['.site-header', '.site-footer', '.player', '.shelf', 'button'])
      assert.equal(await page.locator(part).filter({ visible: true }).count(), 0, part)
    const pages = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type *\/Page\b/g)
    assert.equal(pages?.length, 1)
  }))

await test('search results on paper have the query, legible lengths and the whole width', () =>
  onPage(async ({ page, open }) => {
    // As wide as a sheet of A4 in landscape.
    await page.setViewportSize({ width: 1123, height: 794 })
    await open('/search?q=queues&language=english')
    await page.emulateMedia({ media: 'print' })
    const heading = page.locator('h1')
    assert.equal(await heading.textContent(), '“queues”, Language: English – Search')
    assert.ok(((await heading.boundingBox())?.height ?? 0) > 10, 'the heading is visible')
    assert.equal(await page.locator('.active').isVisible(), false, 'repeats the heading')
    const results = await page.locator('.found > section').boundingBox()
    assert.ok((results?.width ?? 0) > 900, `${results?.width} px`)
    const length = await page
      .locator('.card-length')
      .first()
      .evaluate((it) => {
        const { backgroundColor, color, printColorAdjust } = getComputedStyle(it)
        return { backgroundColor, color, printColorAdjust }
      })
    assert.deepEqual(length, {
      backgroundColor: 'rgb(255, 255, 255)',
      color: 'rgb(0, 0, 0)',
      printColorAdjust: 'exact',
    })
  }))

await browser.close()
await demo.stop()
process.exitCode = end() ? 0 : 1
