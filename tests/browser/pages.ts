import assert from 'node:assert/strict'
import { en } from '../../web/messages/en.ts'
import { until } from '../support/until.ts'
import {
  type BrowserEnvironment,
  examples,
  jsonResponse,
  onPage,
  pageKinds,
  pathOf,
} from './environment.ts'

// The content of each page.

/** The kinds of pages with another status than 200. */
const statuses: Record<string, number> = { 'not found': 404, 'invalid search': 400 }

/** Tests what each kind of page shows. */
export async function pageTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const example = await examples(archive)

  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`${name}: opens with one main heading and no request to other hosts`, async () => {
      await onPage(environment, async ({ page, open }) => {
        assert.equal(await open(path), statuses[name] ?? 200)
        assert.equal(await page.locator('h1').count(), 1)
        assert.notEqual(await page.title(), '')
        assert.equal(await page.locator('html').getAttribute('lang'), 'en')
        assert.equal(await page.locator('main').count(), 1)
        const ids = await page.evaluate(() =>
          [...document.querySelectorAll('[id]')].map(({ id }) => id),
        )
        assert.deepEqual(ids, [...new Set(ids)], 'duplicate id')
      })
    })

  await test('all pictures of the main pages load', async () => {
    await onPage(environment, async ({ page, open, pictures }) => {
      for (const path of ['/', '/search?q=python', example.path, example.category]) {
        await open(path)
        await page.evaluate(() => {
          for (const image of document.images) image.loading = 'eager'
        })
        await page.waitForFunction(() => [...document.images].every((image) => image.complete))
        const empty = await page.evaluate(() =>
          [...document.images]
            .filter(({ naturalWidth }) => naturalWidth === 0)
            .map(({ currentSrc }) => currentSrc),
        )
        assert.deepEqual([...empty, ...pictures].slice(0, 3), [], path)
      }
    })
  })

  await test('home: shelves, totals, years and tags have links that work', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/')
      assert.ok((await page.locator('.totals li').count()) >= 4)
      assert.ok((await page.locator('.card').count()) >= 8)
      for (const selector of ['.shelf h2 a', '.year-bars a', '.chips a', '.card-link']) {
        await open('/')
        const name = (await page.locator(selector).first().textContent())?.trim() ?? ''
        await page.locator(selector).first().click()
        await page.waitForURL((url) => url.pathname !== '/')
        assert.equal(await page.locator('.problem').count(), 0, `${selector}: ${name}`)
      }
    })
  })

  await test('talk: shows the fields of its record', async () => {
    await onPage(environment, async ({ page, open }) => {
      const record = await jsonResponse(`${archive.url}/api/v2/video/${example.talk.id}`)
      await open(example.path)
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

  await test('talk: links to related talks', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open(example.path)
      assert.ok((await page.locator('.shelf').count()) >= 1)
      const others = await page
        .locator('.shelf .card-link')
        .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
      assert.ok(others.length > 0 && !others.includes(example.path))
      await page.locator('.shelf .card-link').first().click()
      await page.waitForURL((url) => url.pathname !== example.path)
      assert.match(pathOf(page), /^\/video\/\d+\/[^/]+$/)
    })
  })

  await test('talk: has citations in three formats, which can be copied', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        await open(example.path)
        assert.equal(await page.locator('.cite details').count(), 3)
        for (const index of [0, 1, 2]) {
          const citation = page.locator('.cite details').nth(index)
          if ((await citation.getAttribute('open')) === null)
            await citation.locator('summary').click()
          const text = (await citation.locator('pre').textContent()) ?? ''
          assert.ok(text.includes(example.talk.title.slice(0, 8)), `format ${index}: ${text}`)
          await citation.locator('button').click()
          await until(
            'the text to be copied',
            async () => (await citation.locator('button').textContent()) === en.copied,
          )
          assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text.trim())
        }
        const csl = JSON.parse((await page.locator('.cite pre').nth(2).textContent()) ?? '')
        assert.ok(JSON.stringify(csl).includes(example.talk.title.slice(0, 8)))
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  await test('talk: has JSON-LD of this talk', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open(example.path)
      const blocks = (
        await page.locator('script[type="application/ld+json"]').allTextContents()
      ).map((text) => JSON.parse(text))
      assert.ok(
        blocks.some(
          (block) => block['@type'] === 'VideoObject' && block.name === example.talk.title,
        ),
        JSON.stringify(blocks).slice(0, 200),
      )
    })
  })

  for (const kind of ['category', 'speaker', 'tag', 'language', 'year'] as const)
    await test(`${kind}: shows its talks and links to a search among them`, async () => {
      await onPage(environment, async ({ page, open }) => {
        await open(example[kind])
        assert.equal(await page.locator('.collection-head .kind').textContent(), en.kinds[kind])
        assert.ok((await page.locator('.card').count()) >= 1)
        const name = (await page.locator('h1').textContent()) ?? ''
        await page.getByRole('link', { name: en.searchThese }).click()
        await page.waitForURL(/\/search\?/)
        const chip = await page.locator('.active a').first().textContent()
        assert.ok(chip?.includes(name), `the filter is called ${chip}, and not ${name}`)
      })
    })

  await test('lists: letters and pages lead to the right names', async () => {
    await onPage(environment, async ({ page, open }) => {
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

  await test('events: the years at the top link to the years below', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/category')
      const years = page.locator('.jump a')
      const last = years.nth((await years.count()) - 1)
      const target = (await last.getAttribute('href')) ?? ''
      await last.click()
      assert.ok(await page.locator(target).isVisible())
      assert.ok((await page.locator('.event-list a').count()) >= 5)
    })
  })

  await test('home: arrows scroll a shelf to its end and back', async () => {
    await onPage(environment, async ({ page, open }) => {
      await page.setViewportSize({ width: 800, height: 800 })
      await open('/')
      const shelf = page.locator('.shelf').first()
      const position = () => shelf.locator('.cards-shelf').evaluate(({ scrollLeft }) => scrollLeft)
      const forward = shelf.getByRole('button', { name: en.scrollForward })
      const back = shelf.getByRole('button', { name: en.scrollBack })
      assert.ok(await back.isDisabled())
      await until('the end of the shelf', async () => {
        if (await forward.isDisabled()) return true
        await forward.click()
        return false
      })
      assert.ok((await position()) > 100)
      await until('the start of the shelf', async () => {
        if (await back.isDisabled()) return true
        await back.click()
        return false
      })
      assert.ok((await position()) < 2)
    })
  })

  await test('phone: lists have small pictures next to the text', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        for (const path of ['/search', example.category, example.year]) {
          await open(path)
          const card = page.locator('.card').first()
          const picture = await card.locator('.card-picture').boundingBox()
          const title = await card.locator('.card-title').boundingBox()
          assert.ok(picture && title && picture.width < 140, `${path}: ${picture?.width}`)
          assert.ok(title.x >= picture.x + picture.width && title.y < picture.y + 10, path)
        }
      },
      { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true },
    )
  })

  await test('follow: copies the address of a feed', async () => {
    await onPage(
      environment,
      async ({ page, open }) => {
        await open(example.category)
        await page.getByRole('link', { name: en.follow, exact: true }).click()
        await page.waitForURL(/\/follow$/)
        const address = await page.locator('#feed-atom').textContent()
        assert.equal(address, `${archive.url}${example.category}/atom`)
        await page.locator('[data-copy-text=feed-atom]').click()
        await page.getByText(en.copied, { exact: true }).waitFor()
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), address)
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    )
  })

  await test('about: each plot has a table of its numbers', async () => {
    await onPage(environment, async ({ page, open }) => {
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

  await test('embed: the title links to the talk, without header and footer', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open(`/embed/${example.talk.id}`)
      assert.equal(await page.locator('h1 a').getAttribute('href'), archive.url + example.path)
      assert.equal(await page.locator('.site-header, .site-footer').count(), 0)
    })
  })
}
