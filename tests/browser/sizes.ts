import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { type BrowserEnvironment, onPage, pageKinds } from './environment.ts'

// Screens from a small phone to 4K, and fonts of twice the size.

export const widths = [320, 390, 768, 1440, 2560, 3840]

/** Tests the layout of every kind of page at many sizes. */
export async function sizeTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`${name}: does not overflow, from ${widths[0]} to ${widths.at(-1)} px`, async () => {
      await onPage(environment, async ({ page, open }) => {
        for (const width of widths) {
          await page.setViewportSize({ width, height: Math.round(width * 0.7) })
          await open(path)
          assert.deepEqual(await overflowing(page), [], `at ${width}`)
        }
      })
    })

  await test('fonts of twice the size neither overflow nor are cut off', async () => {
    await onPage(environment, async ({ page, open }) => {
      const problems: string[] = []
      for (const width of [390, 1280])
        for (const [name, path] of Object.entries(await pageKinds(archive))) {
          await page.setViewportSize({ width, height: 800 })
          await open(path)
          // The same as the font size in the settings of the browser.
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
          for (const problem of [...(await overflowing(page)), ...(await cutOff(page))])
            problems.push(`${name} at ${width}: ${problem}`)
          await session.send('Page.setFontSizes', { fontSizes: { standard: 16, fixed: 13 } })
          await session.detach()
        }
      assert.deepEqual(problems, [])
    })
  })

  await test('labels of plots are readable on phones', async () => {
    await onPage(environment, async ({ page, open }) => {
      for (const width of [320, 375, 600, 1280]) {
        await page.setViewportSize({ width, height: 700 })
        await open('/about')
        const heights = await page
          .locator('.plot .label')
          .evaluateAll((labels) =>
            labels.map((label) => label.getBoundingClientRect().height).filter(Boolean),
          )
        assert.ok(heights.length > 3 && Math.min(...heights) > 10, `${width}: ${heights}`)
      }
    })
  })

  await test('touch targets are at least 24 px', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        for (const [name, path] of Object.entries(await pageKinds(archive))) {
          await open(path)
          const small = await page.evaluate(() =>
            [
              ...document.querySelectorAll(
                'button, input:not([type=hidden]), select, summary, .chips a, .pager a, nav a',
              ),
            ].flatMap((target) => {
              const { width, height } = target.getBoundingClientRect()
              return width > 0 && (width < 24 || height < 24)
                ? [`${Math.round(width)} x ${Math.round(height)} ${target.outerHTML.slice(0, 80)}`]
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

/** Returns elements that make a page wider than its window. */
export async function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    const wide = [...document.querySelectorAll('body *')].filter(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    )
    return [
      `${scrollWidth} of ${clientWidth}`,
      ...wide.slice(0, 3).map(({ outerHTML }) => outerHTML.slice(0, 120)),
    ]
  })
}

/** Returns elements whose text is cut off. */
async function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [
      ...document.querySelectorAll<HTMLElement>('h1, h2, h3, p, button, nav a, dt, dd, label'),
    ].flatMap((element) => {
      const { overflow, overflowX } = getComputedStyle(element)
      const hides = overflow === 'hidden' || overflowX === 'hidden' || overflowX === 'clip'
      const isHidden = element.closest('.unseen') !== null || element.clientWidth < 4
      return hides && !isHidden && element.scrollWidth > element.clientWidth + 2
        ? [element.outerHTML.slice(0, 120)]
        : []
    }),
  )
}
