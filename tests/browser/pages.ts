import assert from 'node:assert/strict'
import { en } from '../../web/messages/en.ts'
import { until } from './chromium.ts'
import { at, type BrowserEnvironment, examples, jsonResponse, onPage, pageKinds } from './stage.ts'

// What each page shows, and whether nothing goes wrong on it.

export async function pageTests(stage: BrowserEnvironment): Promise<void> {
  const { archive, test } = stage
  const found = await examples(archive)

  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`${name}: it opens, with one heading above all others, and asks nobody else`, async () => {
      await onPage(stage, async ({ page, open }) => {
        const status = await open(path)
        assert.equal(status, name === 'not found' ? 404 : name === 'wrong question' ? 400 : 200)
        assert.equal(await page.locator('h1').count(), 1)
        assert.notEqual(await page.title(), '')
        assert.equal(await page.locator('html').getAttribute('lang'), 'en')
        assert.equal(await page.locator('main').count(), 1)
        const ids = await page.evaluate(() =>
          [...document.querySelectorAll('[id]')].map(({ id }) => id),
        )
        assert.deepEqual(ids, [...new Set(ids)], 'an id is there twice')
      })
    })

  await test('all pictures of the main pages come', async () => {
    await onPage(stage, async ({ page, open, pictures }) => {
      for (const path of ['/', '/search?q=python', found.path, found.category]) {
        await open(path)
        await page.evaluate(() => {
          for (const it of document.images) it.loading = 'eager'
        })
        await page.waitForFunction(() => [...document.images].every((it) => it.complete))
        const empty = await page.evaluate(() =>
          [...document.images].filter((it) => it.naturalWidth === 0).map((it) => it.currentSrc),
        )
        assert.deepEqual([...empty, ...pictures].slice(0, 3), [], path)
      }
    })
  })

  await test('home: shelves of events, numbers, years and tags lead on', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open('/')
      assert.ok((await page.locator('.totals li').count()) >= 4)
      assert.ok((await page.locator('.card').count()) >= 8)
      for (const place of ['.shelf h2 a', '.year-bars a', '.chips a', '.card-link']) {
        await open('/')
        const name = (await page.locator(place).first().textContent())?.trim() ?? ''
        await page.locator(place).first().click()
        await page.waitForURL((url) => url.pathname !== '/')
        assert.equal(await page.locator('.problem').count(), 0, `${place}: ${name}`)
      }
    })
  })

  await test('talk: speakers, event, day, language, licence, text, tags, record', async () => {
    await onPage(stage, async ({ page, open }) => {
      const record = await jsonResponse(`${archive.url}/api/v2/video/${found.talk.id}`)
      await open(found.path)
      assert.equal((await page.locator('h1').textContent())?.trim(), record.title)
      assert.deepEqual(await page.locator('.talk-who a').allTextContents(), record.speakers)
      assert.equal(await page.locator('.talk-where a').textContent(), record.category)
      assert.equal(await page.locator('.talk-where time').getAttribute('datetime'), record.recorded)
      const details = await page.locator('.details').textContent()
      for (const word of [en.event, en.recorded, en.language, en.licence, record.language])
        assert.ok(details?.includes(word), word)
      assert.deepEqual(
        (await page.locator('.talk-main > .chips a').allTextContents()).sort(),
        [...record.tags].sort(),
      )
      const first = /[\p{L}\d ]{12,}/u.exec(record.description)?.[0].trim() ?? ''
      assert.ok((await page.locator('.talk .prose').textContent())?.includes(first), first)
      await page.getByRole('link', { name: en.asJson }).click()
      await page.waitForURL(/\/api\/v2\/video\/\d+\?format=json$/)
      assert.equal(JSON.parse((await page.locator('body').textContent()) ?? '').id, record.id)
    })
  })

  await test('talk: where to go on is there, and leads to talks', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open(found.path)
      assert.ok((await page.locator('.shelf').count()) >= 1)
      const others = await page
        .locator('.shelf .card-link')
        .evaluateAll((all) => all.map((it) => it.getAttribute('href')))
      assert.ok(others.length > 0 && !others.includes(found.path))
      await page.locator('.shelf .card-link').first().click()
      await page.waitForURL((url) => url.pathname !== found.path)
      assert.match(at(page), /^\/video\/\d+\/[^/]+$/)
    })
  })

  await test('talk: how to cite it, in three forms, and each is copied as it stands', async () => {
    await onPage(
      stage,
      async ({ page, open }) => {
        await open(found.path)
        assert.equal(await page.locator('.cite details').count(), 3)
        for (const place of [0, 1, 2]) {
          const form = page.locator('.cite details').nth(place)
          if ((await form.getAttribute('open')) === null) await form.locator('summary').click()
          const text = (await form.locator('pre').textContent()) ?? ''
          assert.ok(text.includes(found.talk.title.slice(0, 8)), `form ${place}: ${text}`)
          await form.locator('button').click()
          assert.equal(
            await until(
              () => form.locator('button').textContent(),
              (it) => it === en.copied,
            ),
            en.copied,
          )
          assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text.trim())
        }
        const csl = JSON.parse((await page.locator('.cite pre').nth(2).textContent()) ?? '')
        assert.ok(JSON.stringify(csl).includes(found.talk.title.slice(0, 8)))
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  await test('talk: machines find its JSON-LD, and it is about this talk', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open(found.path)
      const blocks = (
        await page.locator('script[type="application/ld+json"]').allTextContents()
      ).map((text) => JSON.parse(text))
      assert.ok(
        blocks.some((it) => it['@type'] === 'VideoObject' && it.name === found.talk.title),
        JSON.stringify(blocks).slice(0, 200),
      )
    })
  })

  for (const kind of ['category', 'speaker', 'tag', 'language', 'year'] as const)
    await test(`${kind}: its talks, what they have in common, and a search among them`, async () => {
      await onPage(stage, async ({ page, open }) => {
        await open(found[kind])
        assert.equal(await page.locator('.collection-head .kind').textContent(), en.kinds[kind])
        assert.ok((await page.locator('.card').count()) >= 1)
        const name = (await page.locator('h1').textContent()) ?? ''
        await page.getByRole('link', { name: en.searchThese }).click()
        await page.waitForURL(/\/search\?/)
        const chip = await page.locator('.active a').first().textContent()
        assert.ok(chip?.includes(name), `the filter is called ${chip}, and not ${name}`)
      })
    })

  await test('lists: letters lead to names that begin so, and pages to the last', async () => {
    await onPage(stage, async ({ page, open }) => {
      for (const list of ['/speaker', '/tag']) {
        await open(list)
        assert.ok((await page.locator('.chips a').count()) > 1)
        await page.locator('.jump a', { hasText: /^M$/ }).click()
        await page.waitForURL(/character=m/)
        assert.equal(await page.locator('.jump [aria-current]').textContent(), 'M')
        if (!archive.isReal) continue
        const names = await page.locator('.chips a').allTextContents()
        assert.match(names[0]?.normalize('NFD') ?? '', /^["'#.\s]*m/i)
        await open(list)
        await page.locator('.pager a').last().click()
        await page.waitForURL(/page=2/)
        const last = page.locator('.pager a:not([rel])').last()
        const number = (await last.textContent())?.replaceAll(/\D/g, '') ?? ''
        await last.click()
        await page.waitForURL((url) => url.searchParams.get('page') === number)
        assert.ok((await page.locator('.chips a').count()) >= 1, 'the last page is empty')
        assert.equal(await page.locator('.pager [rel=next]').count(), 0)
      }
    })
  })

  await test('events: years on top lead to the years below', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open('/category')
      const years = page.locator('.jump a')
      const last = years.nth((await years.count()) - 1)
      const target = (await last.getAttribute('href')) ?? ''
      await last.click()
      assert.ok(await page.locator(target).isVisible())
      assert.ok((await page.locator('.event-list a').count()) >= 5)
    })
  })

  await test('about: each plot has its numbers as a table', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open('/about')
      const plots = page.locator('figure.plot')
      assert.ok((await plots.count()) >= 1)
      for (const plot of await plots.all()) {
        await plot.locator('summary').click()
        assert.ok(await plot.locator('table').isVisible())
        assert.ok((await plot.locator('tbody tr').count()) >= 1)
        const bars = await plot.locator('rect.bar').count()
        if (bars > 0) assert.equal(await plot.locator('tbody tr').count(), bars)
      }
      assert.ok((await page.locator('.shares li').count()) > 10)
      assert.ok(((await page.locator('figure.plot svg').first().boundingBox())?.height ?? 0) > 50)
    })
  })

  await test('embed: the title leads to the talk, and nothing else is around it', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open(`/embed/${found.talk.id}`)
      assert.equal(await page.locator('h1 a').getAttribute('href'), archive.url + found.path)
      assert.equal(await page.locator('.site-header, .site-footer').count(), 0)
    })
  })
}
