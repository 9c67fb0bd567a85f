import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Source } from '../../web/data.ts'
import { until } from '../support/until.ts'
import { standIn } from './hosts.ts'
import type { PlayerSite } from './player-site.ts'

// Opens the page of the player and reads its state.

export interface PlayerPage {
  readonly page: Page
  /** The other hosts that received requests. */
  hosts(): string[]
  readonly errors: string[]
}

interface PageOptions {
  readonly options?: Parameters<PlayerSite['page']>[1]
  readonly browser?: BrowserContextOptions
  readonly t?: string
  /** Hosts that the network blocks. */
  readonly without?: string[]
}

/**
 * Returns a function that opens the page of a talk, runs a test on it, and fails if a script failed
 * or the content security policy was violated.
 */
export const pagesOf = (browser: Browser, site: PlayerSite) =>
  async function onPage(
    sources: Source[],
    run: (page: PlayerPage) => Promise<void>,
    options: PageOptions = {},
  ): Promise<void> {
    const context = await browser.newContext({
      permissions: ['clipboard-read', 'clipboard-write'],
      viewport: { width: 1440, height: 900 },
      ...options.browser,
    })
    try {
      await standIn(context, options.without)
      const page = await context.newPage()
      const errors: string[] = []
      const hosts = new Set<string>()
      page.on('request', (request) => hosts.add(new URL(request.url()).hostname))
      page.on('pageerror', (error) => errors.push(error.message))
      page.on(
        'console',
        (message) => /Content.Security.Policy/i.test(message.text()) && errors.push(message.text()),
      )
      await page.goto(
        site.page(sources, options.options) + (options.t === undefined ? '' : `&t=${options.t}`),
      )
      await run({
        page,
        errors,
        hosts: () => [...hosts].filter((host) => host !== '127.0.0.1').sort(),
      })
      assert.deepEqual(errors, [])
    } finally {
      await context.close()
    }
  }

interface PlayerState {
  readonly time: number
  readonly paused: boolean
  readonly rate: number
  readonly muted: boolean
  readonly tag: string
  readonly duration: number
}

/** Reads the state of the media element; `paused` with an empty tag if there is none. */
export const state = (page: Page): Promise<PlayerState> =>
  page.evaluate(() => {
    const media = document.querySelector<HTMLVideoElement>('media-controller > [slot=media]')
    const {
      currentTime: time = -1,
      paused = true,
      playbackRate: rate = 0,
      muted = false,
      localName: tag = '',
      duration = 0,
    } = media ?? {}
    return { time, paused, rate, muted, tag, duration }
  })

/** Waits until the player is in a state, and returns it. */
export const when = (page: Page, isExpected: (current: PlayerState) => boolean) =>
  until(`the player (${isExpected})`, async () => {
    const current = await state(page)
    assert.ok(isExpected(current), JSON.stringify(current))
    return current
  })

/** Waits until the recording plays, later than `from` seconds. */
export const plays = (page: Page, from = 0.2) =>
  when(page, ({ paused, time }) => !paused && time > from)

/** Reads what the player tells readers, for example that a source does not answer. */
export const statusOf = (page: Page) => page.locator('.player-status').textContent()

/** Waits until the player tells readers something, and returns it. */
export const whenStatus = (page: Page) =>
  until('a message of the player', async () => (await statusOf(page)) || undefined)

/** Asserts that a time in seconds is about the expected one. */
export const near = (time: number, expected: number, tolerance = 1.5) =>
  assert.ok(Math.abs(time - expected) < tolerance, `${time} is not near ${expected}`)

/** Takes screenshots of the player in its states, for review by eye. */
export async function takeShots(
  onPage: ReturnType<typeof pagesOf>,
  sources: Source[],
  folder: string,
): Promise<void> {
  for (const width of [390, 1440])
    for (const theme of ['light', 'dark'] as const)
      await onPage(
        sources,
        async ({ page }) => {
          const shot = (name: string) =>
            page.screenshot({ path: join(folder, `player-${width}-${theme}-${name}.png`) })
          await shot('before')
          await page.keyboard.press('Tab')
          await shot('focus')
          await page.click('.player-facade')
          await plays(page, 1)
          await page.keyboard.press('c')
          await page.keyboard.press('k')
          await page.waitForTimeout(500)
          await shot('playing')
          const menu = page.locator('media-playback-rate-menu-button')
          if (!(await menu.isVisible())) return
          await menu.click()
          await page.waitForTimeout(500)
          await shot('menu')
        },
        { options: { theme }, browser: { viewport: { width, height: width === 390 ? 844 : 900 } } },
      )
}
