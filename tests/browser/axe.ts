import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { type BrowserEnvironment, examples, onPage, pageKinds } from './stage.ts'

// What a machine can find that keeps somebody out: all rules of axe-core, on every kind of page.

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const options: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
}

const looks: Record<string, BrowserContextOptions> = {
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

export async function axeTests(stage: BrowserEnvironment): Promise<void> {
  const { archive, test } = stage
  const found = await examples(archive)
  const pages = Object.entries(await pageKinds(archive))

  for (const [look, context] of Object.entries(looks)) {
    for (const [name, path] of pages)
      await test(`axe: ${name}, ${look}`, async () => {
        await onPage(
          stage,
          async ({ page, open }) => {
            await open(path)
            assert.deepEqual(await violations(page), [])
          },
          context,
        )
      })

    await test(`axe: launcher, keys, filters and forms of citation open, ${look}`, async () => {
      await onPage(
        stage,
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
          // It goes in a moment, and until then what is typed is for it.
          await page.locator('dialog.launcher').waitFor({ state: 'detached' })
          await page.keyboard.press('?')
          await page.locator('dialog.keys[open]').waitFor()
          assert.deepEqual(await violations(page), [], 'the keys')
          await open('/search?q=data')
          await openAll(page, 'details')
          assert.deepEqual(await violations(page), [], 'all filters')
          await open(found.path)
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

function openAll(page: Page, places: string): Promise<void> {
  return page.evaluate((places) => {
    for (const it of document.querySelectorAll<HTMLDetailsElement>(places)) it.open = true
  }, places)
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(source)
  const found = await page.evaluate(
    (options) =>
      (
        window as unknown as {
          axe: { run(at: Document, options: RunOptions): Promise<AxeResults> }
        }
      ).axe.run(document, options),
    options,
  )
  return found.violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(
        ({ target, failureSummary, html }) =>
          `${id}: ${target.join(' ')} ${html.slice(0, 150)} ${failureSummary?.split('\n')[1]}`,
      ),
  )
}
