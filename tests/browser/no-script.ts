import assert from 'node:assert/strict'
import { en } from '../../web/messages/en.ts'
import { at, type BrowserEnvironment, examples, onPage, pageKinds, type Watched } from './stage.ts'

// Everything but the player works for whoever runs no scripts.

export async function noScriptTests(stage: BrowserEnvironment): Promise<void> {
  const { archive, test } = stage
  const found = await examples(archive)
  const without = (run: (watched: Watched) => Promise<void>) =>
    onPage(stage, run, { javaScriptEnabled: false })

  await test('without scripts: a search from the start page', async () => {
    await without(async ({ page, open }) => {
      await open('/')
      await page.locator('#q').fill('python')
      await page.locator('.search-large button').click()
      await page.waitForURL(/\/search\?q=python$/)
      assert.ok((await page.locator('.card').count()) > 0)
    })
  })

  await test('without scripts: filters are open, narrow, and go again', async () => {
    await without(async ({ page, open }) => {
      await open('/search?q=python')
      const links = page.locator('.facet a')
      assert.ok(await links.first().isVisible())
      const target = (await links.first().getAttribute('href')) ?? ''
      await links.first().click()
      await page.waitForURL((url) => url.pathname + url.search === target)
      await page.locator('.active a').first().click()
      await page.waitForURL(/\/search\?q=python$/)
      if (!archive.isReal) return
      // What is behind "show more" opens by itself, too.
      const more = page.locator('.facet details').first()
      await more.locator('summary').click()
      assert.ok(await more.locator('a').first().isVisible())
    })
  })

  await test('without scripts: another order by a button', async () => {
    await without(async ({ page, open }) => {
      await open('/search?q=python')
      await page.locator('.order select').selectOption('recorded,title')
      await page.locator('.order button').click()
      await page.waitForURL((url) => url.searchParams.get('ordering') === 'recorded,title')
      assert.equal(new URL(page.url()).searchParams.get('q'), 'python')
    })
  })

  if (archive.isReal)
    await test('without scripts: pages on and back', async () => {
      await without(async ({ page, open }) => {
        await open('/search?q=python')
        await page.locator('.pager [rel=next]').click()
        await page.waitForURL(/page=2/)
        await page.locator('.pager [rel=prev]').click()
        await page.waitForURL(/\/search\?q=python$/)
      })
    })

  await test('without scripts: language and colours', async () => {
    await without(async ({ page, open }) => {
      await open('/category')
      await page.getByRole('button', { name: 'Español' }).click()
      await page.waitForURL(/\/category$/)
      assert.equal(await page.locator('html').getAttribute('lang'), 'es')
      await page.locator('button[name=theme][value=dark]').click()
      await page.waitForURL(/\/category$/)
      assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
    })
  })

  await test('without scripts: all forms of citation can be read', async () => {
    await without(async ({ page, open }) => {
      await open(found.path)
      for (const form of await page.locator('.cite details').all()) {
        if ((await form.getAttribute('open')) === null) await form.locator('summary').click()
        assert.ok(await form.locator('pre').isVisible())
        assert.ok(((await form.locator('pre').textContent()) ?? '').length > 20, 'it is empty')
      }
    })
  })

  await test('without scripts: a talk leads to the page of its host', async () => {
    await without(async ({ page, open }) => {
      await open(found.path)
      const addresses = await page
        .locator('main a')
        .evaluateAll((all) => all.map((it) => (it as HTMLAnchorElement).href))
      const record = (await (
        await fetch(`${archive.url}/api/v2/video/${found.talk.id}?format=json`)
      ).json()) as { source_url: string }
      assert.ok(
        addresses.some((it) =>
          it.includes(new URL(record.source_url).hostname.replace(/^www\./, '')),
        ),
        record.source_url,
      )
      assert.ok(await page.locator('.player a').first().isVisible())
    })
  })

  await test('without scripts: tables of the plots open', async () => {
    await without(async ({ page, open }) => {
      await open('/about')
      await page.locator('.plot summary').first().click()
      assert.ok(await page.locator('.plot table').first().isVisible())
    })
  })

  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`without scripts: ${name} shows no button that does nothing`, async () => {
      await without(async ({ page, open }) => {
        await open(path)
        for (const button of await page.locator('button:visible').all()) {
          const type = await button.getAttribute('type')
          assert.equal(type, 'submit', await button.evaluate((it) => it.outerHTML))
          assert.equal(await button.locator('xpath=ancestor::form').count(), 1)
        }
        assert.equal(
          await page
            .locator('[data-launch]:visible, [data-keys]:visible, [data-copy]:visible')
            .count(),
          0,
        )
        if (path === '/')
          assert.ok(
            ((await page.locator('.search-large button').textContent()) ?? '').includes(en.search),
          )
        assert.equal(at(page), path)
      })
    })
}
