import assert from 'node:assert/strict'
import { until } from '../support/until.ts'
import { assertAccessible } from './axe.ts'
import { type BrowserEnvironment, onPage } from './environment.ts'
import { overflowing } from './sizes.ts'

// The API reference at /api, and the pages of problems.

const referencePages = ['/api', '/api/problems/stale-revision']

/** Tests the reference of the API. */
export async function referenceTests(environment: BrowserEnvironment): Promise<void> {
  const { test } = environment

  await test('reference: is accessible and does not overflow on phones and desktops', async () => {
    await onPage(environment, async ({ page, open }) => {
      for (const width of [320, 1280])
        for (const path of referencePages) {
          await page.setViewportSize({ width, height: 800 })
          await open(path)
          assert.ok((await page.locator('figcaption button').count()) > 0, 'has buttons to copy')
          assert.deepEqual(await overflowing(page), [], `${path} at ${width}`)
          await assertAccessible(page, `${path} at ${width}`)
        }
    })
  })

  await test('reference: examples can be copied', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        await open('/api')
        for (const index of [0, 1]) {
          const figure = page.locator('#readVideo figure').nth(index)
          const button = figure.locator('button')
          assert.equal(await button.textContent(), 'Copy')
          await button.click()
          await until(
            'the text to be copied',
            async () => (await button.textContent()) === 'Copied',
          )
          const text = await figure.locator('pre').textContent()
          assert.ok(text)
          assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text)
        }
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  await test('reference: has all content without scripts, and no buttons', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        await open('/api')
        assert.equal(await page.locator('button').count(), 0)
        for (const id of ['pages', 'limits', 'clients'])
          assert.ok(await page.locator(`#${id} pre`).isVisible(), id)
        assert.ok(await page.locator('#readVideo pre.sample').isVisible())
      },
      { javaScriptEnabled: false },
    )
  })
}
