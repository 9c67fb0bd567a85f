import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Source } from '../../web/data.ts'
import { until } from './chromium.ts'
import { standIn } from './hosts.ts'
import type { PlayerSite } from './player-site.ts'

// What tests of the player do on its page.

export interface Open {
  readonly page: Page
  /** Hosts that were asked for something, without ours. */
  hosts(): string[]
  readonly wrong: string[]
}

interface Asked {
  readonly options?: Parameters<PlayerSite['page']>[1]
  readonly browser?: BrowserContextOptions
  readonly t?: string
  /** Hosts that a network does not let through. */
  readonly without?: string[]
}

/**
 * Opens the page of a talk, runs, and looks whether the policy of the page was broken or a script
 * failed.
 */
export const pagesOf = (browser: Browser, site: PlayerSite) =>
  async function onPage(
    sources: Source[],
    run: (open: Open) => Promise<void>,
    asked: Asked = {},
  ): Promise<void> {
    const context = await browser.newContext({
      permissions: ['clipboard-read', 'clipboard-write'],
      viewport: { width: 1440, height: 900 },
      ...asked.browser,
    })
    try {
      await standIn(context, asked.without)
      const page = await context.newPage()
      const wrong: string[] = []
      const hosts = new Set<string>()
      page.on('request', (request) => hosts.add(new URL(request.url()).hostname))
      page.on('pageerror', (error) => wrong.push(error.message))
      page.on(
        'console',
        (message) => /Content.Security.Policy/i.test(message.text()) && wrong.push(message.text()),
      )
      await page.goto(
        site.page(sources, asked.options) + (asked.t === undefined ? '' : `&t=${asked.t}`),
      )
      await run({
        page,
        wrong,
        hosts: () => [...hosts].filter((host) => host !== '127.0.0.1').sort(),
      })
      assert.deepEqual(wrong, [])
    } finally {
      await context.close()
    }
  }

interface State {
  readonly time: number
  readonly paused: boolean
  readonly rate: number
  readonly muted: boolean
  readonly tag: string
  readonly duration: number
}

export const state = (page: Page): Promise<State> =>
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

export const when = async (page: Page, isRight: (it: State) => boolean, limitMs?: number) => {
  const it = await until(() => state(page), isRight, limitMs)
  assert.ok(isRight(it), `${isRight}: ${JSON.stringify(it)}`)
  return it
}

export const plays = (page: Page, from = 0.2) =>
  when(page, ({ paused, time }) => !paused && time > from)
export const statusOf = (page: Page) => page.locator('.player-status').textContent()
export const near = (time: number, wanted: number, by = 1.5) =>
  assert.ok(Math.abs(time - wanted) < by, `${time} is not near ${wanted}`)

/** To be looked at. */
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
          await page.click('media-playback-rate-menu-button')
          await page.waitForTimeout(500)
          await shot('menu')
        },
        { options: { theme }, browser: { viewport: { width, height: width === 390 ? 844 : 900 } } },
      )
}
