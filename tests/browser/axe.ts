import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { type BrowserEnvironment, examples, onPage, pageKinds } from './environment.ts'

// Accessibility: all rules of axe-core, on every kind of page.

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const options: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
}

const appearances: Record<string, BrowserContextOptions> = {
  'light, wide': { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  'dark, wide': { colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  'light, phone': {
    colorScheme: 'light',
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
  },
  'dark, phone': {
    colorScheme: 'dark',
    viewport: { width: 390, height: 844 },
    isMobile: true,
    hasTouch: true,
  },
}

/** Tests every kind of page in light and dark, on a wide screen and on a phone. */
export async function axeTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const example = await examples(archive)
  const pages = Object.entries(await pageKinds(archive))

  for (const [appearance, context] of Object.entries(appearances)) {
    for (const [name, path] of pages)
      await test(`axe: ${name}, ${appearance}`, async () => {
        await onPage(
          environment,
          async ({ page, open }) => {
            await open(path)
            assert.deepEqual(await violations(page), [])
          },
          context,
        )
      })

    await test(`axe: launcher, help, filters and citations when open, ${appearance}`, async () => {
      await onPage(
        environment,
        async ({ page, open }) => {
          await open('/about')
          await page.keyboard.press('/')
          await page.locator('dialog.launcher[open] input').waitFor()
          assert.deepEqual(await violations(page), [], 'the empty launcher')
          await page.keyboard.type('py')
          await page.locator('dialog.launcher [role=option]').first().waitFor()
          await page.keyboard.press('ArrowDown')
          assert.deepEqual(await violations(page), [], 'the launcher')
          await page.keyboard.press('Escape')
          // Until the launcher is gone, it receives the keys.
          await page.locator('dialog.launcher').waitFor({ state: 'detached' })
          await page.keyboard.press('?')
          await page.locator('dialog.keys[open]').waitFor()
          assert.deepEqual(await violations(page), [], 'the keys')
          await open('/search?q=data')
          await openAll(page, 'details')
          assert.deepEqual(await violations(page), [], 'all filters')
          await open(example.path)
          await openAll(page, '.cite details:last-of-type')
          assert.deepEqual(await violations(page), [], 'the citation')
          await open('/about')
          await openAll(page, 'details')
          assert.deepEqual(await violations(page), [], 'the tables')
        },
        context,
      )
    })
  }
}

function openAll(page: Page, selector: string): Promise<void> {
  return page.evaluate((selector) => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>(selector))
      details.open = true
  }, selector)
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(source)
  const results = await page.evaluate(
    (options) =>
      (
        window as unknown as {
          axe: { run(context: Document, options: RunOptions): Promise<AxeResults> }
        }
      ).axe.run(document, options),
    options,
  )
  return results.violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(
        ({ target, failureSummary, html }) =>
          `${id}: ${target.join(' ')} ${html.slice(0, 150)} ${failureSummary?.split('\n')[1]}`,
      ),
  )
}
