import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { type BrowserEnvironment, examples, onPage, pageKinds } from './environment.ts'

// Accessibility: the rules of axe-core for WCAG 2.2 A and AA, and its best practices, on every kind
// of page.

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const requiredRules: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
}
// Dark mode changes colours only.
const colourRules: RunOptions = {
  runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
  resultTypes: ['violations'],
}

const screens: Record<string, BrowserContextOptions> = {
  wide: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
}

/** Tests every kind of page on a wide screen, in light and dark mode, and on a phone. */
export async function axeTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const example = await examples(archive)
  const pages = Object.entries(await pageKinds(archive))

  for (const [screen, viewport] of Object.entries(screens)) {
    // Colours change at once, without a transition.
    const context: BrowserContextOptions = { ...viewport, reducedMotion: 'reduce' }
    for (const [name, path] of pages)
      await test(`axe: ${name}, ${screen}`, () =>
        onPage(
          environment,
          async ({ page, open }) => {
            await open(path)
            await assertAccessible(page, name)
          },
          context,
        ))

    await test(`axe: launcher, help, filters and citations when open, ${screen}`, () =>
      onPage(
        environment,
        async ({ page, open }) => {
          await open('/about')
          await page.keyboard.press('/')
          await page.locator('dialog.launcher[open] input').waitFor()
          await assertAccessible(page, 'the empty launcher')
          await page.keyboard.type('py')
          await page.locator('dialog.launcher [role=option]').first().waitFor()
          await page.keyboard.press('ArrowDown')
          await assertAccessible(page, 'the launcher')
          await page.keyboard.press('Escape')
          // Until the launcher is gone, it receives the keys.
          await page.locator('dialog.launcher').waitFor({ state: 'detached' })
          await page.keyboard.press('?')
          await page.locator('dialog.keys[open]').waitFor()
          await assertAccessible(page, 'the keys')
          await open('/')
          await page.locator('#q').pressSequentially('py')
          await page.locator('.suggestions [role=option]').first().waitFor()
          await page.keyboard.press('ArrowDown')
          await assertAccessible(page, 'the suggestions')
          if (screen === 'phone') {
            await open('/about')
            await page.locator('.menu-button').click()
            await assertAccessible(page, 'the menu')
          }
          await open('/search?q=data')
          await openAll(page, 'details')
          await assertAccessible(page, 'all filters')
          await open(example.path)
          await openAll(page, '.cite details:last-of-type')
          await assertAccessible(page, 'the citation')
          await open('/about')
          await openAll(page, 'details')
          await assertAccessible(page, 'the tables')
        },
        context,
      ))
  }
}

function openAll(page: Page, selector: string): Promise<void> {
  return page.evaluate((selector) => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>(selector))
      details.open = true
  }, selector)
}

/**
 * Fails on every violation of a rule, and on violations of the rules on colours in dark mode. The
 * colours are the same on every screen, so that dark mode is tested on the wide one only.
 */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  await page.evaluate(source)
  await page.emulateMedia({ colorScheme: 'light' })
  assert.deepEqual(await violations(page, requiredRules), [], `${name}, light`)
  if ((page.viewportSize()?.width ?? 0) < 1000) return
  await page.emulateMedia({ colorScheme: 'dark' })
  assert.deepEqual(await violations(page, colourRules), [], `${name}, dark`)
}

async function violations(page: Page, options: RunOptions): Promise<string[]> {
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
