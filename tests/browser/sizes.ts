import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { type BrowserEnvironment, onPage, pageKinds } from './stage.ts'

// Screens from a small phone to a wall, and letters of twice the size.

const widths = [320, 390, 768, 1440, 2560, 3840]

export async function sizeTests(stage: BrowserEnvironment): Promise<void> {
  const { archive, test } = stage
  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`${name}: nothing sticks out at the side, from ${widths[0]} to ${widths.at(-1)} pixels`, async () => {
      await onPage(stage, async ({ page, open }) => {
        for (const width of widths) {
          await page.setViewportSize({ width, height: Math.round(width * 0.7) })
          await open(path)
          assert.deepEqual(await sticksOut(page), [], `at ${width}`)
        }
      })
    })

  await test('letters of twice the size: nothing sticks out, nothing lies on something else', async () => {
    await onPage(stage, async ({ page, open }) => {
      const wrong: string[] = []
      for (const width of [390, 1280])
        for (const [name, path] of Object.entries(await pageKinds(archive))) {
          await page.setViewportSize({ width, height: 800 })
          await open(path)
          // As a browser does whose reader chose letters of 32 pixels.
          const session = await page.context().newCDPSession(page)
          await session.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } })
          await open(path)
          assert.equal(
            (await page.evaluate(() =>
              Number.parseFloat(getComputedStyle(document.documentElement).fontSize),
            )) >= 28,
            true,
            name,
          )
          for (const it of [...(await sticksOut(page)), ...(await cutOff(page))])
            wrong.push(`${name} at ${width}: ${it}`)
          await session.send('Page.setFontSizes', { fontSizes: { standard: 16, fixed: 13 } })
          await session.detach()
        }
      assert.deepEqual(wrong, [])
    })
  })

  await test('what is pressed is large enough for a finger', async () => {
    await onPage(
      stage,
      async ({ page, open }) => {
        for (const [name, path] of Object.entries(await pageKinds(archive))) {
          await open(path)
          const small = await page.evaluate(() =>
            [
              ...document.querySelectorAll(
                'button, input:not([type=hidden]), select, summary, .chips a, .pager a, nav a',
              ),
            ].flatMap((it) => {
              const { width, height } = it.getBoundingClientRect()
              return width > 0 && (width < 24 || height < 24)
                ? [`${Math.round(width)} x ${Math.round(height)} ${it.outerHTML.slice(0, 80)}`]
                : []
            }),
          )
          assert.deepEqual(small.slice(0, 3), [], name)
        }
      },
      { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    )
  })
}

/** What makes a page wider than its window. */
async function sticksOut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    const wide = [...document.querySelectorAll('body *')].filter(
      (it) => it.getBoundingClientRect().right > clientWidth + 1,
    )
    return [
      `${scrollWidth} of ${clientWidth}`,
      ...wide.slice(0, 3).map((it) => it.outerHTML.slice(0, 120)),
    ]
  })
}

/** Texts that their boxes cut off. */
async function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [
      ...document.querySelectorAll<HTMLElement>('h1, h2, h3, p, button, nav a, dt, dd, label'),
    ].flatMap((it) => {
      const { overflow, overflowX } = getComputedStyle(it)
      const hides = overflow === 'hidden' || overflowX === 'hidden' || overflowX === 'clip'
      const isUnseen = it.closest('.unseen') !== null || it.clientWidth < 4
      return hides && !isUnseen && it.scrollWidth > it.clientWidth + 2
        ? [it.outerHTML.slice(0, 120)]
        : []
    }),
  )
}
