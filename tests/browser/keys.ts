import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
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

// Use with the keyboard alone: the launcher, the help dialog, and the order of focus on each page.

const launcher = 'dialog.launcher'
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? '')

/** Types into the launcher and waits until it shows the suggestions for the whole text. */
async function suggest(page: Page, text: string): Promise<void> {
  const answered = page.waitForResponse((response) => {
    const { pathname, searchParams } = new URL(response.url())
    return pathname.endsWith('/api/v2/suggest') && searchParams.get('q') === text.trim()
  })
  await page.keyboard.type(text, { delay: 15 })
  const { talks, speakers, categories, tags } = await (await answered).json()
  const nameOf = ({ name }: { name: string }) => name
  const expected = [
    ...[...speakers, ...categories].map(nameOf),
    ...talks.map(({ title }: { title: string }) => title),
    ...tags.map(nameOf),
  ]
  const names = page.locator(`${launcher} [role=option] span:first-child`)
  await until(`the suggestions for ${text}`, async () => {
    assert.deepEqual(await names.allTextContents(), expected)
    return true
  })
}

/** Types into the launcher, moves down to the first option of a group, and opens it. */
async function choose(page: Page, text: string, groupName: RegExp): Promise<void> {
  await suggest(page, text)
  for (let step = 0; step < 40; step++) {
    await page.keyboard.press('ArrowDown')
    const group = await page.evaluate(
      () => document.querySelector('[aria-selected=true]')?.parentElement?.ariaLabel ?? '',
    )
    if (!groupName.test(group)) continue
    const name = await page.locator('[role=option][aria-selected=true] span').first().textContent()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname !== '/about')
    assert.equal(await page.locator('h1').textContent(), name)
    return
  }
  assert.fail(`no suggestion in ${groupName} for ${text}`)
}

/** Tests that everything can be done with the keyboard. */
export async function keyTests(environment: BrowserEnvironment): Promise<void> {
  const { archive, test } = environment
  const example = await examples(archive)
  const record = await jsonResponse(`${archive.url}/api/v2/video/${example.talk.id}`)

  const targets: [string, string, RegExp, RegExp][] = [
    ['a talk', example.talk.title.slice(0, 30), new RegExp(en.talksLabel), /^\/video\/\d+\//],
    ['a person', record.speakers[0], new RegExp(en.speakers), /^\/speaker\/\d+\//],
    ['an event', record.category, new RegExp(en.events), /^\/category\/\d+\//],
  ]
  for (const [kind, text, group, path] of targets)
    await test(`the launcher opens ${kind} with the keyboard`, async () => {
      await onPage(environment, async ({ page, open }) => {
        await open('/about')
        await page.keyboard.press(kind === 'a talk' ? 'Control+k' : '/')
        await page.locator(`${launcher}[open] input`).waitFor()
        await choose(page, text, group)
        assert.match(pathOf(page), path)
      })
    })

  await test('the launcher searches if no suggestion is selected', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/about')
      await page.keyboard.press('/')
      await page.locator(`${launcher}[open] input`).waitFor()
      await page.keyboard.type('test driven')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/search\?q=test\+driven$/)
    })
  })

  await test('Escape closes the launcher and restores the focus', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/')
      await page.locator('.chips a').first().focus()
      const before = await focused(page)
      for (const key of ['/', 'Control+k']) {
        await page.keyboard.press(key)
        await page.locator(`${launcher}[open] input`).waitFor()
        assert.match(await focused(page), /combobox/)
        await page.keyboard.press('Escape')
        await page.locator(launcher).waitFor({ state: 'detached' })
        assert.equal(await focused(page), before)
      }
    })
  })

  await test('a button closes the launcher', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/about')
      await page.keyboard.press('/')
      await page.locator(`${launcher}[open] input`).waitFor()
      await page.getByRole('button', { name: en.close, exact: true }).click()
      await page.locator(launcher).waitFor({ state: 'detached' })
    })
  })

  await test('the arrow keys wrap around in the list of the launcher', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/about')
      await page.keyboard.press('/')
      await page.locator(`${launcher}[open] input`).waitFor()
      await suggest(page, 'p')
      const count = await page.locator(`${launcher} [role=option]`).count()
      assert.ok(count > 1)
      const chosen = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('[role=option]')].findIndex(
            (option) => option.ariaSelected === 'true',
          ),
        )
      const selected = []
      for (let step = 0; step <= count; step++) {
        await page.keyboard.press('ArrowDown')
        selected.push(await chosen())
      }
      assert.deepEqual(selected, [...Array.from({ length: count }, (_, index) => index), -1])
      await page.keyboard.press('ArrowUp')
      assert.equal(await chosen(), count - 1)
      assert.ok(
        await page.evaluate(() => document.activeElement?.getAttribute('aria-activedescendant')),
      )
    })
  })

  await test('? opens the help for keys, and Escape closes it', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open(example.path)
      await page.locator('.talk-who a').first().focus()
      const before = await focused(page)
      await page.keyboard.press('?')
      await page.locator('dialog.keys[open]').waitFor()
      assert.ok((await page.locator('dialog.keys dt').count()) >= 3)
      await page.keyboard.press('Escape')
      await page.locator('dialog.keys').waitFor({ state: 'detached' })
      assert.equal(await focused(page), before)
      await page.locator('[data-keys]').click()
      await page.locator('dialog.keys[open]').waitFor()
      await page.getByRole('button', { name: en.close, exact: true }).click()
      await page.locator('dialog.keys').waitFor({ state: 'detached' })
    })
  })

  await test('shortcuts are ignored in a text field', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/')
      await page.locator('#q').pressSequentially('what/ever?')
      assert.equal(await page.locator('#q').inputValue(), 'what/ever?')
      assert.equal(await page.locator('dialog').count(), 0)
    })
  })

  await test('the first Tab focuses the skip link', async () => {
    await onPage(environment, async ({ page, open }) => {
      for (const path of ['/about', example.path, '/category']) {
        await open(path)
        await page.keyboard.press('Tab')
        assert.match(await focused(page), /class="skip"/)
        const box = await page.locator('.skip').boundingBox()
        assert.ok(
          box && box.x >= 0 && box.y >= 0 && box.height > 10,
          'the skip link is visible while it has the focus',
        )
        await page.keyboard.press('Enter')
        assert.equal(await page.evaluate(() => document.activeElement?.id), 'content')
        await page.keyboard.press('Tab')
        assert.ok(
          await page.evaluate(() =>
            document.querySelector('main')?.contains(document.activeElement),
          ),
          'the next Tab focuses an element of the content',
        )
      }
    })
  })

  await test('a link skips the filters', async () => {
    await onPage(environment, async ({ page, open }) => {
      await open('/search?q=data')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Tab')
      assert.equal(await page.locator(':focus').textContent(), en.skipToResults)
      await page.keyboard.press('Enter')
      assert.equal(await page.evaluate(() => document.activeElement?.id), 'count')
      // The order and the feed come first.
      for (let step = 0; step < 3; step++) await page.keyboard.press('Tab')
      assert.match(await focused(page), /class="card-link"/)
    })
  })

  await test('the heading of the filters takes the focus on small screens only', async () => {
    for (const [width, isFocusable] of [
      [390, true],
      [1280, false],
    ] as const)
      await onPage(
        environment,
        async ({ page, open }) => {
          await open('/search?q=data')
          const heading = page.getByRole('heading', { name: en.filters, exact: true })
          assert.equal(await heading.count(), 1, `at ${width}`)
          const summary = page.locator('.facets > details > summary')
          await summary.evaluate((element) => element.focus())
          assert.equal(
            await summary.evaluate((element) => element === document.activeElement),
            isFocusable,
            `at ${width}`,
          )
          assert.equal(await page.locator('.facet a').first().isVisible(), !isFocusable)
        },
        { viewport: { width, height: 800 } },
      )
  })

  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`${name}: the focus is visible, and moves in the order of the page`, async () => {
      await onPage(environment, async ({ page, open }) => {
        await open(path)
        assert.deepEqual(await focusProblems(page), [])
      })
    })
}

/**
 * Presses Tab through the beginning of a page. Returns the elements without a focus ring, out of
 * view, or before the last one in the document.
 */
async function focusProblems(page: Page): Promise<string[]> {
  const problems: string[] = []
  await page.evaluate(() => {
    // The field that has the focus when the page opens is not the first element of the page.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  })
  for (let step = 0; step < 30; step++) {
    await page.keyboard.press('Tab')
    let problem = ''
    // Smooth scrolling takes time to bring the element into view.
    const isVisible = async () => {
      problem = await page.evaluate(focusProblem)
      return problem === '' || problem === 'end'
    }
    await until('a visible focus', isVisible, { limitMs: 2000 }).catch(() => problems.push(problem))
    if (problem === 'end') break
    await page.evaluate(() => document.activeElement?.setAttribute('data-walked', ''))
  }
  return problems
}

/**
 * Returns what is wrong with the focused element: empty if nothing is, `end` if there is none. Runs
 * inside the page.
 */
function focusProblem(): string {
  const focused = document.activeElement
  if (!focused || focused === document.body) return 'end'
  const name = focused.outerHTML.slice(0, 120)
  const last = [...document.querySelectorAll('[data-walked]')].at(-1)
  // A date has several parts with the focus in turn, which the browser marks itself.
  if (last === focused && focused.getAttribute('type') === 'date') return ''
  if (last && !(last.compareDocumentPosition(focused) & Node.DOCUMENT_POSITION_FOLLOWING))
    return `back: ${name}`
  // The ring of a field may belong to an element around it.
  let hasRing = false
  for (
    let element: Element | null = focused, steps = 0;
    element && steps < 5;
    element = element.parentElement, steps++
  ) {
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    if (outlineStyle !== 'none' && outlineWidth !== '0px') hasRing = true
  }
  if (!hasRing) return `no ring: ${name}`
  const { width, top, bottom, left, right } = focused.getBoundingClientRect()
  return width > 0 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth
    ? ''
    : `out of view: ${name}`
}
