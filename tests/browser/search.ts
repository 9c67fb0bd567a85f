import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { en } from '../../web/messages/en.ts'
import { until } from '../support/until.ts'
import { type BrowserEnvironment, onPage, pathOf } from './environment.ts'

// The search page: typing, filters, orders and pages.

const countOf = async (page: Page) =>
  Number(((await page.locator('#count').textContent()) ?? '').replaceAll(/\D/g, '') || 0)
const resultsOf = async (page: Page) => (await page.locator('#results').textContent()) ?? ''

/** Tests the search page. */
export async function searchTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const word = archive.isReal ? 'python' : 'queues'

  await test('search: starts from the start page with Enter', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/')
      await page.locator('#q').fill(word)
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/search\?q=/)
      assert.ok((await page.locator('.card').count()) > 0)
      assert.equal(await page.locator('#q').inputValue(), word)
      await page.goBack()
      assert.equal(pathOf(page), '/')
    })
  })

  for (const [name, path, box] of [
    ['home', '/', '#q'],
    ['header', '/about', '.site-header [name=q]'],
    ['search page', '/search', '#q'],
  ] as const) {
    await test(`suggestions: the box of the ${name} suggests while typing`, async () => {
      await onPage(environment, async ({ page, open }) => {
        await open(path)
        const input = page.locator(box)
        const list = page.locator('.suggestions')
        await input.pressSequentially(word.slice(0, 4), { delay: 20 })
        await list.locator('[role=option]').first().waitFor()
        assert.equal(await input.getAttribute('aria-expanded'), 'true')
        await page.keyboard.press('Escape')
        await list.waitFor({ state: 'hidden' })
        assert.equal(await input.inputValue(), word.slice(0, 4), 'Escape only closes the list')
        await input.pressSequentially(word.slice(4))
        await list.locator('[role=option]').first().waitFor()
        await page.keyboard.press('ArrowDown')
        const chosen = list.locator('[aria-selected=true]')
        assert.equal(
          await input.getAttribute('aria-activedescendant'),
          await chosen.getAttribute('id'),
        )
        const title = await chosen.locator('span').first().textContent()
        await page.keyboard.press('Enter')
        await page.waitForURL(/\/(video|speaker|category|tag)\/\d+\//)
        assert.equal(await page.locator('h1').textContent(), title)
      })
    })
  }

  await test('suggestions: a click opens one, Enter without a choice searches', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/')
      await page.locator('#q').pressSequentially(word)
      const option = page.locator('.suggestions [role=option]').last()
      await option.waitFor()
      await option.click()
      await page.waitForURL(/\/(video|speaker|category|tag)\/\d+\//)
      const input = page.locator('.site-header [name=q]')
      await input.pressSequentially(word)
      await page.locator('.suggestions [role=option]').first().waitFor()
      await page.keyboard.press('Enter')
      await page.waitForURL((url) => url.search === `?q=${word}`)
    })
  })

  await test('suggestions: leaving the box closes the list', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/search')
      await page.locator('#q').pressSequentially(word)
      await page.locator('.suggestions [role=option]').first().waitFor()
      await page.keyboard.press('Tab')
      await page.locator('.suggestions').waitFor({ state: 'hidden' })
    })
  })

  await test('search: results and URL follow the typed text', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/search')
      const before = await resultsOf(page)
      await page.locator('#q').pressSequentially(word, { delay: 20 })
      await page.waitForURL((url) => url.searchParams.get('q') === word)
      await until('other results', async () => (await resultsOf(page)) !== before)
      assert.ok((await page.title()).includes(word))
      assert.ok((await page.locator('h1').textContent())?.includes(word))
      const list = await page.locator('.suggestions').boundingBox()
      const count = await page.locator('#results').boundingBox()
      if (list && count) assert.ok(list.y + list.height <= count.y, 'covers no results')
      assert.ok((await page.locator('mark').count()) > 0)
      const after = await resultsOf(page)
      await page.reload()
      assert.equal(await resultsOf(page), after, 'the same URL has the same results')
    })
  })

  await test('search: each search is one entry of the history, each letter is not', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/search?q=test')
      const first = await resultsOf(page)
      await page.locator('#q').fill('')
      await page.locator('#q').pressSequentially('data', { delay: 20 })
      await page.keyboard.press('Enter')
      await page.waitForURL(/q=data/)
      await until('other results', async () => (await resultsOf(page)) !== first)
      await page.goBack()
      await page.waitForURL(/q=test/)
      await until('the first results', async () => (await resultsOf(page)) === first)
      assert.equal(await page.locator('#q').inputValue(), 'test')
    })
  })

  await test('search: each kind of filter narrows the results and can be removed', async () => {
    await onPage(environment, async ({ page, open }) => {
      const start = `/search?q=${archive.isReal ? 'data' : ''}`
      await open(start)
      const all = await countOf(page)
      const groups = await page.locator('.facet h3').allTextContents()
      assert.ok(groups.length >= (archive.isReal ? 6 : 3), groups.join())
      for (const [index, name] of groups.entries()) {
        await open(start)
        const link = page.locator('.facet').nth(index).locator('a').first()
        const talks = Number((await link.locator('.count').textContent())?.replaceAll(/\D/g, ''))
        const value = (await link.locator('span').first().textContent()) ?? ''
        await link.click()
        await page.waitForURL(/&|\?(category|speaker|tag|language|year|duration)=/)
        const narrowed = await countOf(page)
        assert.ok(narrowed > 0 && narrowed <= all, `${name}: ${narrowed} of ${all}`)
        // Facets count the best matches only, so there may be more.
        assert.ok(
          narrowed >= Math.min(talks, 1000),
          `${name}: the facet ${value} has ${talks} talks, the search ${narrowed}`,
        )
        const chip = page.locator('.active a').first()
        assert.ok(
          (await chip.textContent())?.includes(value),
          `${name}: the filter is called ${await chip.textContent()}, not ${value}`,
        )
        await chip.click()
        await page.waitForURL(
          (url) => !/(category|speaker|tag|language|year|duration)=/.test(url.search),
        )
        assert.equal(await countOf(page), all)
      }
    })
  })

  await test('search: several years can be chosen, and the others stay visible', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/search')
      const all = await countOf(page)
      const links = page.locator('.facet').first().locator('a')
      const years = async () =>
        (await links.locator('span:first-child').allTextContents()).map(Number)
      const before = await years()
      assert.deepEqual(
        before,
        before.toSorted((a, b) => b - a),
        'from the newest on',
      )
      const [first = 0, second = 0] = before
      await links.first().click()
      await page.waitForURL((url) => url.searchParams.get('year') === String(first))
      const ofOne = await countOf(page)
      assert.deepEqual(await years(), before)
      await links.nth(1).click()
      await page.waitForURL((url) => url.searchParams.get('year') === `${second},${first}`)
      const ofTwo = await countOf(page)
      assert.ok(ofOne < ofTwo && ofTwo <= all, `${ofOne}, ${ofTwo}, ${all}`)
      assert.equal(await page.locator('.facet [aria-current=true]').count(), 2)
      await links.first().click()
      await page.waitForURL((url) => url.searchParams.get('year') === String(second))
      assert.equal(await countOf(page), ofTwo - ofOne)
    })
  })

  await test('search: filters stay when the text changes, until they are cleared', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/search?q=web&language=english&duration=10-to-30')
      await page.locator('#q').fill('test')
      await page.waitForURL(/q=test/)
      assert.match(pathOf(page), /language=english/)
      assert.match(pathOf(page), /duration=10-to-30/)
      // Closes the suggestions.
      await page.locator('#q').blur()
      await page.getByRole('link', { name: en.clearFilters }).click()
      await page.waitForURL((url) => url.search === '?q=test')
    })
  })

  if (archive.isReal)
    await test('search: corrects the spelling, and says so', async () => {
      await onPage(environment, async ({ page, open }) => {
        await open('/search?q=guido+rosum')
        assert.match(
          (await page.locator('.note').textContent()) ?? '',
          /Showing results for guido rossum\. Search instead for guido rosum\./,
        )
        assert.ok(
          (await page.locator('.card').allTextContents()).some((text) => text.includes('Guido')),
        )
        assert.ok((await page.locator('mark').count()) > 0)
      })
    })

  await test('search: marks the words in titles and excerpts', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open(`/search?q=${word}`)
      const marked = await page.locator('mark').allTextContents()
      assert.ok(marked.length > 0)
      for (const text of marked) assert.ok(text.toLowerCase().includes(word.slice(0, 4)), text)
      assert.ok((await page.locator('.card-excerpt').count()) > 0)
    })
  })

  await test('search: changes the order', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open(`/search?q=${word}`)
      const best = await page.locator('.card-title').allTextContents()
      for (const [order, text] of Object.entries(en.orders)) {
        if (order === 'best') continue
        await open(`/search?q=${word}`)
        await page.locator('.order select').selectOption(order)
        await page.waitForURL((url) => url.searchParams.get('ordering') === order)
        assert.equal(await page.locator('.order select').inputValue(), order, text)
        const days = await page
          .locator('.card-where time')
          .evaluateAll((times) => times.map((time) => time.getAttribute('datetime') ?? ''))
        if (order.startsWith('-recorded')) assert.deepEqual(days, days.toSorted().reverse())
        if (order.startsWith('recorded')) assert.deepEqual(days, days.toSorted())
        if (order.startsWith('recorded'))
          assert.notDeepEqual(await page.locator('.card-title').allTextContents(), best)
      }
    })
  })

  if (archive.isReal)
    await test('search: has every match on exactly one page', async () => {
      await onPage(environment, async ({ page, open }) => {
        await open('/search?q=asyncio')
        const total = await countOf(page)
        let seen = await page.locator('.card').count()
        const paths = new Set(
          await page
            .locator('.card-link')
            .evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
        )
        while ((await page.locator('.pager [rel=next]').count()) > 0 && seen < 2000) {
          const next = (await page.locator('.pager [rel=next]').getAttribute('href')) ?? ''
          await page.locator('.pager [rel=next]').click()
          await page.waitForURL((url) => url.pathname + url.search === next)
          const cards = await page
            .locator('.card-link')
            .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
          assert.ok(cards.length > 0, `${next} is empty`)
          seen += cards.length
          for (const path of cards) paths.add(path)
        }
        assert.equal(seen, total)
        assert.equal(paths.size, total, 'a talk is on two pages')
      })
    })

  await test('search: the last page that the pager links to has talks', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/search')
      const pages = page.locator('.pager a:not([rel])')
      if ((await pages.count()) === 0) return
      await pages.last().click()
      await page.waitForURL(/page=/)
      assert.ok((await page.locator('.card').count()) > 0)
    })
  })

  await test('search: without results, shows a message with advice', async () => {
    await onPage(environment, async ({ page, open }) => {
      assert.equal(await open('/search?q=xqzvkjwpq&year=1999'), 200)
      assert.ok((await resultsOf(page)).includes(en.noResults))
      assert.ok((await resultsOf(page)).includes(en.noResultsHelp.both))
      assert.equal(await page.locator('.card').count(), 0)
      await open('/search?language=xx')
      const head = await page.locator('.found-head').boundingBox()
      assert.ok((head?.width ?? 0) > 1000, 'has the width of the page')
    })
  })

  await test('search: answers invalid parameters with a page of status 400', async () => {
    await onPage(environment, async ({ page, open }) => {
      const invalid = [
        'year=next',
        'page=0',
        'page=-1',
        'page=99999999',
        'ordering=random',
        'duration=long',
        `q=${'x'.repeat(301)}`,
        'year=1e3',
      ]
      for (const query of invalid) {
        assert.equal(await open(`/search?${query}`), 400, query)
        const [name = ''] = query.split('=')
        const titles: Record<string, string> = {
          page: en.missingPage.title,
          q: en.problemTitles[400],
        }
        const title = titles[name] ?? en.invalidFilters.title
        assert.equal(await page.locator('h1').textContent(), title, query)
      }
    })
  })

  await test('search: answers hostile queries like any other', async () => {
    await onPage(environment, async ({ page, open }) => {
      const hostile = [
        '"',
        "'",
        '((',
        '& | !',
        ':*',
        '%',
        '\\',
        '-',
        '--',
        '""',
        '*',
        '<->',
        'a OR',
        '"unclosed',
        '😀',
        '\u202e',
        '../..',
        '{{7*7}}',
      ]
      for (const q of hostile) {
        const status = await open(`/search?q=${encodeURIComponent(q)}`)
        assert.ok(status === 200 || status === 400, `${q}: ${status}`)
        assert.ok(!(await page.content()).includes('49 talks'))
      }
    })
  })
}
