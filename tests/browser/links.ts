import assert from 'node:assert/strict'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { call } from '../support/harness.ts'
import { setSourceState } from '../support/source-states.ts'
import { fillAtRisk } from './at-risk-archive.ts'
import { assertAccessible } from './axe.ts'
import { type BrowserEnvironment, onPage, pathOf, type WatchedPage } from './environment.ts'
import { standIn } from './hosts.ts'
import { statusOf, when } from './player-page.ts'
import { overflowing, widths } from './sizes.ts'

// Recordings that are not there any more: the player skips them, and readers see which talks are at
// risk.

const event = 'Days of Sources'

/** Tests the pages of talks whose recordings are lost, and the page of what is at risk. */
export async function linkTests(environment: BrowserEnvironment): Promise<void> {
  const { browser, test } = environment
  const own = await environment.archive.empty('links')
  const { url, token, databaseUrl } = own
  const archive = { ...environment.archive, url }
  const send = async (method: string, path: string, body: object) => {
    const { status, text, json } = await call(url, method, `/api/v2/${path}`, { body, token })
    assert.ok(status < 300, text)
    return json
  }
  await send('POST', 'category', { title: event })
  const makeTalk = async (fields: object, copies: readonly string[] = []) => {
    const talk = { title: 'A talk', category: event, language: 'English', state: 1, ...fields }
    const { id, slug } = await send('POST', 'video', talk)
    const facts = copies.map((copy) => ({ kind: 'media', url: copy, type: '', size: null }))
    if (facts.length > 0) await send('PUT', `video/${id}/facts`, { facts })
    return { id, path: `/video/${id}/${slug}` }
  }
  const run = (work: (watched: WatchedPage) => Promise<void>, options?: BrowserContextOptions) =>
    onPage({ browser, archive }, work, { reducedMotion: 'reduce', ...options })

  const youtube = 'https://www.youtube.com/watch?v=A-u8XHAUac4'
  const vimeo = 'https://vimeo.com/170384418'
  const peertube = 'https://tube.example/w/kkGMgK9ZtnKfYAgnEtQxbv'
  const file = 'https://files.example/talk.webm'
  const skipped = await makeTalk({ title: 'Skipped', source_url: youtube }, [vimeo, peertube, file])
  const longName = `https://${'a-very-long-name.'.repeat(8)}example/lost.mp4`
  const lost = await makeTalk({
    title: 'Lost',
    source_url: 'https://www.youtube.com/watch?v=LOSTlost_-1',
    video_mp4_url: longName,
  })
  const elsewhere = await makeTalk({ title: 'Elsewhere', source_url: 'https://vimeo.com/77' })
  const found = { lastGood: '2026-02-12T00:00:00Z' }
  await setSourceState(databaseUrl, youtube, 'private', found)
  await setSourceState(databaseUrl, peertube, 'region', found)
  await setSourceState(databaseUrl, file, 'unreachable', found)
  await setSourceState(databaseUrl, 'https://www.youtube.com/watch?v=LOSTlost_-1', 'closed', found)
  await setSourceState(databaseUrl, longName, 'gone', found)
  await setSourceState(databaseUrl, 'https://vimeo.com/77', 'embed-off', found)
  await fillAtRisk(own)

  await test('links: a dead first source is skipped without a click or a request', async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
    try {
      await standIn(context, ['player.vimeo.com'])
      const page = await context.newPage()
      const hosts = new Set<string>()
      page.on('request', (request) => hosts.add(new URL(request.url()).hostname))
      await page.goto(url + skipped.path)
      await page.click('.player-facade')
      // The fallback of the player goes on with what is limited, and then with what is unreachable.
      await when(page, ({ tag, paused }) => tag === 'peertube-video' && !paused)
      assert.equal(await statusOf(page), 'Vimeo is not responding. Trying tube.example.')
      await page.locator('button[data-play]', { hasText: 'WEBM' }).click()
      await when(page, ({ tag, paused }) => tag === 'video' && !paused)
      assert.ok(!Array.from(hosts).some((host) => host.includes('youtube')), [...hosts].join())
      const lines = await page.locator('.player-sources li').allInnerTexts()
      assert.match(lines.at(-1) ?? '', /^YouTube\s+no longer public since about March 2026$/)
      assert.equal(await struckThrough(page, '.player-lost > s'), true)
    } finally {
      await context.close()
    }
  })

  for (const javaScriptEnabled of [true, false]) {
    const variant = javaScriptEnabled ? 'with' : 'without'
    await test(`links: if nothing is left, the page says what was where, ${variant} scripts`, () =>
      run(
        async ({ page, open }) => {
          await open(lost.path)
          const player = page.locator('.player')
          await player.getByText('This recording is not available any more').waitFor()
          const first = player.locator('.player-losses li').first()
          assert.match(
            (await first.textContent()) ?? '',
            /^YouTube account closed about March 2026\. We last saw it on February 12, 2026\./,
          )
          const link = first.getByRole('link', { name: 'Search the Wayback Machine' })
          assert.equal(
            await link.getAttribute('href'),
            'https://web.archive.org/web/2/https://www.youtube.com/watch?v=LOSTlost_-1',
          )
          assert.equal(await page.locator('.player-facade, [data-player], iframe').count(), 0)
          await player.getByRole('link', { name: 'Do you know another copy?' }).click()
          await page.waitForURL(`**${lost.path}/suggest?kind=dead-link`)
          await page.getByLabel('New address of the video').waitFor()
        },
        { javaScriptEnabled },
      ))
  }

  await test('links: the embedded player says that nothing is left, in frames of all sizes', () =>
    run(async ({ page, open }) => {
      for (const [width, height] of [
        [200, 113],
        [640, 360],
        [1920, 1080],
      ] as const) {
        await page.setViewportSize({ width, height })
        await open(`/embed/${lost.id}`)
        assert.ok(await page.getByText('This recording is not available any more').isVisible())
        const link = page.getByRole('link', { name: 'Do you know another copy?' })
        assert.equal(await link.getAttribute('target'), '_blank')
        const box = await link.boundingBox()
        assert.ok(box && box.width > 0 && box.y < height, `${width} × ${height}`)
        const overflow = await page.evaluate(() => {
          const { scrollWidth, scrollHeight } = document.documentElement
          return [scrollWidth - innerWidth, scrollHeight - innerHeight]
        })
        assert.deepEqual(overflow, [0, 0], `${width} × ${height}`)
      }
      await assertAccessible(page, 'the embedded player without a recording')
    }))

  await test('links: the pages of talks are accessible and fit on all screens', () =>
    run(async ({ page, open }) => {
      for (const { path } of [skipped, lost, elsewhere]) {
        await open(path)
        await assertAccessible(page, path)
        for (const width of widths) {
          await page.setViewportSize({ width, height: 800 })
          assert.deepEqual(await overflowing(page), [], `${path} at ${width}`)
        }
      }
    }))

  await test('links: a video that plays only at its host is a link', () =>
    run(async ({ page, open }) => {
      await open(elsewhere.path)
      const link = page.locator('.player-failure').getByRole('link', { name: 'Vimeo' })
      assert.equal(await link.getAttribute('href'), 'https://vimeo.com/77')
    }))

  for (const [screen, options] of Object.entries(screens))
    await test(`links: what is at risk is accessible, with open tables, ${screen}`, () =>
      run(async ({ page, open }) => {
        await open('/at-risk')
        assert.ok((await page.locator('.plot').count()) >= 4)
        await assertAccessible(page, 'what is at risk')
        for (const summary of await page.locator('.plot summary').all()) await summary.click()
        assert.equal(await page.locator('.plot table').filter({ visible: true }).count(), 3)
        await assertAccessible(page, 'the tables of what is at risk')
        for (const width of options.viewport.width > 1000 ? widths : [320, 390]) {
          await page.setViewportSize({ width, height: 800 })
          assert.deepEqual(await overflowing(page), [], `at ${width}`)
        }
      }, options))

  await test('links: the tables of what is at risk open without scripts, and lead to events', () =>
    run(
      async ({ page, open }) => {
        await open('/about')
        await page.locator('main').getByRole('link', { name: 'Recordings at risk' }).click()
        await page.waitForURL('**/at-risk')
        for (const summary of await page.locator('.plot summary').all()) await summary.click()
        const table = page.locator('.plot table').filter({ visible: true }).nth(1)
        assert.deepEqual(await table.locator('thead th').allInnerTexts(), [
          'Event',
          'Talks',
          'At most one operator',
          'Not available',
        ])
        await table.getByRole('link').first().click()
        await page.waitForURL('**/category/**')
        assert.match(pathOf(page), /^\/category\/\d+\//)
      },
      { javaScriptEnabled: false },
    ))
}

const screens = {
  wide: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
}

const struckThrough = (page: Page, selector: string) =>
  page
    .locator(selector)
    .first()
    .evaluate((element) => getComputedStyle(element).textDecorationLine === 'line-through')
