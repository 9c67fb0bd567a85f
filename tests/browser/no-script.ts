import assert from 'node:assert/strict'
import { en } from '../../web/messages/en.ts'
import {
  type BrowserEnvironment,
  examples,
  onPage,
  pageKinds,
  pathOf,
  type WatchedPage,
} from './environment.ts'

// Everything but the player works without JavaScript.

/** Tests the pages with JavaScript disabled. */
export async function noScriptTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const example = await examples(archive)
  const withoutScripts = (run: (watched: WatchedPage) => Promise<void>) =>
    onPage(environment, run, { javaScriptEnabled: false })

  await test('without JavaScript: searches from the start page', async () => {
    await withoutScripts(async ({ page, open }) => {
      await open('/')
      await page.locator('#q').fill('python')
      await page.locator('.search-large button').click()
      await page.waitForURL(/\/search\?q=python$/)
      assert.ok((await page.locator('.card').count()) > 0)
    })
  })

  await test('without JavaScript: filters narrow the results and can be removed', async () => {
    await withoutScripts(async ({ page, open }) => {
      await open('/search?q=python')
      const links = page.locator('.facet a')
      assert.ok(await links.first().isVisible())
      const target = (await links.first().getAttribute('href')) ?? ''
      await links.first().click()
      await page.waitForURL((url) => url.pathname + url.search === target)
      await page.locator('.active a').first().click()
      await page.waitForURL(/\/search\?q=python$/)
      if (!archive.isReal) return
      // "Show more" works too.
      const more = page.locator('.facet details').first()
      await more.locator('summary').click()
      assert.ok(await more.locator('a').first().isVisible())
    })
  })

  await test('without JavaScript: a button changes the order', async () => {
    await withoutScripts(async ({ page, open }) => {
      await open('/search?q=python')
      await page.locator('.order select').selectOption('recorded,title')
      await page.locator('.order button').click()
      await page.waitForURL((url) => url.searchParams.get('ordering') === 'recorded,title')
      assert.equal(new URL(page.url()).searchParams.get('q'), 'python')
    })
  })

  if (archive.isReal)
    await test('without JavaScript: next and previous page', async () => {
      await withoutScripts(async ({ page, open }) => {
        await open('/search?q=python')
        await page.locator('.pager [rel=next]').click()
        await page.waitForURL(/page=2/)
        await page.locator('.pager [rel=prev]').click()
        await page.waitForURL(/\/search\?q=python$/)
      })
    })

  await test('without JavaScript: switches language and colours', async () => {
    await withoutScripts(async ({ page, open }) => {
      await open('/category')
      await page.getByRole('button', { name: 'Español' }).click()
      await page.waitForURL(/\/category(#footer)?$/)
      assert.equal(await page.locator('html').getAttribute('lang'), 'es')
      await page.locator('button[name=theme][value=dark]').click()
      await page.waitForURL(/\/category(#footer)?$/)
      assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
    })
  })

  await test('without JavaScript: all citation formats can be opened', async () => {
    await withoutScripts(async ({ page, open }) => {
      await open(example.path)
      for (const form of await page.locator('.cite details').all()) {
        if ((await form.getAttribute('open')) === null) await form.locator('summary').click()
        assert.ok(await form.locator('pre').isVisible())
        assert.ok(
          ((await form.locator('pre').textContent()) ?? '').length > 20,
          'the citation is empty',
        )
      }
    })
  })

  await test('without JavaScript: a talk links to its host', async () => {
    await withoutScripts(async ({ page, open }) => {
      await open(example.path)
      const addresses = await page
        .locator('main a')
        .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href))
      const record = (await (
        await fetch(`${archive.url}/api/v2/video/${example.talk.id}?format=json`)
      ).json()) as { source_url: string }
      assert.ok(
        addresses.some((address) =>
          address.includes(new URL(record.source_url).hostname.replace(/^www\./, '')),
        ),
        record.source_url,
      )
      assert.ok(await page.locator('.player a').first().isVisible())
    })
  })

  await test('without JavaScript: the tables of the plots open', async () => {
    await withoutScripts(async ({ page, open }) => {
      await open('/about')
      await page.locator('.plot summary').first().click()
      assert.ok(await page.locator('.plot table').first().isVisible())
    })
  })

  await test('without JavaScript: the menu of a phone opens', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        await open('/about')
        const link = page.getByRole('link', { name: en.events, exact: true })
        assert.equal(await link.isVisible(), false)
        await page.getByRole('button', { name: en.menu }).click()
        await link.click()
        await page.waitForURL(/\/category(#footer)?$/)
      },
      { javaScriptEnabled: false, viewport: { width: 375, height: 667 } },
    )
  })

  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`without JavaScript: ${name} shows no button that does nothing`, async () => {
      await withoutScripts(async ({ page, open }) => {
        await open(path)
        for (const button of await page.locator('button:visible').all()) {
          const type = await button.getAttribute('type')
          assert.equal(type, 'submit', await button.evaluate(({ outerHTML }) => outerHTML))
          assert.equal(await button.locator('xpath=ancestor::form').count(), 1)
        }
        assert.equal(await page.locator('[data-keys]:visible, [data-copy]:visible').count(), 0)
        if (path === '/')
          assert.ok(
            ((await page.locator('.search-large button').textContent()) ?? '').includes(en.search),
          )
        assert.equal(pathOf(page), path)
      })
    })
}
