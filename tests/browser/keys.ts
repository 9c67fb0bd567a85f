import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { en } from '../../web/messages/en.ts'
import { until } from './chromium.ts'
import { at, type BrowserEnvironment, examples, jsonResponse, onPage, pageKinds } from './stage.ts'

// Everything with keys alone: the launcher, the help, the way through a page.

const launcher = 'dialog.launcher'
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200) ?? '')

/** Types into the launcher, goes down to the first of a group, and opens it. */
async function choose(page: Page, words: string, path: RegExp): Promise<void> {
  await page.keyboard.type(words, { delay: 15 })
  const options = page.locator(`${launcher} [role=option]`)
  await until(
    () => options.count(),
    (it) => it > 0,
  )
  // Typed on, the list changes once more.
  await page.waitForTimeout(300)
  for (let step = 0; step < 40; step++) {
    await page.keyboard.press('ArrowDown')
    const group = await page.evaluate(() => {
      const chosen = document.querySelector('[role=option][aria-selected=true]')
      let it = chosen?.parentElement ?? null
      while (it && !it.querySelector('.group')) it = it.previousElementSibling as HTMLElement | null
      return it?.querySelector('.group')?.textContent ?? ''
    })
    if (!path.test(group)) continue
    const name = await page.locator('[role=option][aria-selected=true] span').first().textContent()
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname !== '/about')
    assert.equal(await page.locator('h1').textContent(), name)
    return
  }
  assert.fail(`nothing of ${path} for ${words}`)
}

export async function keyTests(stage: BrowserEnvironment): Promise<void> {
  const { archive, test } = stage
  const found = await examples(archive)
  const record = await jsonResponse(`${archive.url}/api/v2/video/${found.talk.id}`)

  const places: [string, string, RegExp, RegExp][] = [
    ['a talk', found.talk.title.slice(0, 30), new RegExp(en.homeTitle), /^\/video\/\d+\//],
    ['a person', record.speakers[0], new RegExp(en.speakers), /^\/speaker\/\d+\//],
    ['an event', record.category, new RegExp(en.events), /^\/category\/\d+\//],
  ]
  for (const [what, words, group, path] of places)
    await test(`the launcher opens ${what} by keys alone`, async () => {
      await onPage(stage, async ({ page, open }) => {
        await open('/about')
        await page.keyboard.press(what === 'a talk' ? 'Control+k' : '/')
        await page.locator(`${launcher}[open] input`).waitFor()
        await choose(page, words, group)
        assert.match(at(page), path)
      })
    })

  await test('the launcher: Enter without a choice searches', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open('/about')
      await page.keyboard.press('/')
      await page.locator(`${launcher}[open] input`).waitFor()
      await page.keyboard.type('test driven')
      await page.keyboard.press('Enter')
      await page.waitForURL(/\/search\?q=test\+driven$/)
    })
  })

  await test('the launcher: Escape closes it, and the focus is where it was', async () => {
    await onPage(stage, async ({ page, open }) => {
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

  await test('the launcher: the list goes round, up and down', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open('/about')
      await page.locator('[data-launch]').click()
      await page.locator(`${launcher}[open] input`).waitFor()
      await page.keyboard.type('p')
      const options = page.locator(`${launcher} [role=option]`)
      const count = await until(
        () => options.count(),
        (it) => it > 1,
      )
      const chosen = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('[role=option]')].findIndex(
            (it) => it.ariaSelected === 'true',
          ),
        )
      const seen = []
      for (let step = 0; step <= count; step++) {
        await page.keyboard.press('ArrowDown')
        seen.push(await chosen())
      }
      assert.deepEqual(seen, [...Array.from({ length: count }, (_, it) => it), -1])
      await page.keyboard.press('ArrowUp')
      assert.equal(await chosen(), count - 1)
      assert.ok(
        await page.evaluate(() => document.activeElement?.getAttribute('aria-activedescendant')),
      )
    })
  })

  await test('?: the keys are told, and Escape closes them', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open(found.path)
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

  await test('letters that are typed into a field open nothing', async () => {
    await onPage(stage, async ({ page, open }) => {
      await open('/')
      await page.locator('#q').pressSequentially('what/ever?')
      assert.equal(await page.locator('#q').inputValue(), 'what/ever?')
      assert.equal(await page.locator('dialog').count(), 0)
    })
  })

  await test('the first Tab is the way past the menu', async () => {
    await onPage(stage, async ({ page, open }) => {
      for (const path of ['/about', found.path, '/category']) {
        await open(path)
        await page.keyboard.press('Tab')
        assert.match(await focused(page), /class="skip"/)
        const box = await page.locator('.skip').boundingBox()
        assert.ok(
          box && box.x >= 0 && box.y >= 0 && box.height > 10,
          'it can be seen while it has the focus',
        )
        await page.keyboard.press('Enter')
        assert.equal(await page.evaluate(() => document.activeElement?.id), 'content')
        await page.keyboard.press('Tab')
        assert.ok(
          await page.evaluate(() =>
            document.querySelector('main')?.contains(document.activeElement),
          ),
          'the next Tab is in the content',
        )
      }
    })
  })

  for (const [name, path] of Object.entries(await pageKinds(archive)))
    await test(`${name}: whatever has the focus shows it, in the order of the page`, async () => {
      await onPage(stage, async ({ page, open }) => {
        await open(path)
        const wrong = await walk(page)
        assert.deepEqual(wrong, [])
      })
    })
}

/**
 * Tabs through the beginning of a page. What is wrong: no ring, not in view, or before the last one
 * in the document.
 */
async function walk(page: Page): Promise<string[]> {
  const wrong: string[] = []
  await page.evaluate(() => {
    // The field that is focused at the beginning is not where the page begins.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
  })
  for (let step = 0; step < 30; step++) {
    await page.keyboard.press('Tab')
    // A page that scrolls smoothly takes a while.
    const said = await until(
      () => page.evaluate(focusIn),
      (it) => it === '' || it === 'end',
      2000,
    )
    if (said === 'end') break
    if (said !== '') wrong.push(said)
    await page.evaluate(() => document.activeElement?.setAttribute('data-walked', ''))
  }
  return wrong
}

/** Runs inside the page. */
function focusIn(): string {
  const it = document.activeElement
  if (!it || it === document.body) return 'end'
  const name = it.outerHTML.slice(0, 120)
  const last = [...document.querySelectorAll('[data-walked]')].at(-1)
  if (last && !(last.compareDocumentPosition(it) & Node.DOCUMENT_POSITION_FOLLOWING))
    return `back: ${name}`
  // The ring of a field may be drawn by what is around it.
  let isSeen = false
  for (
    let one: Element | null = it, steps = 0;
    one && steps < 5;
    one = one.parentElement, steps++
  ) {
    const { outlineStyle, outlineWidth } = getComputedStyle(one)
    if (outlineStyle !== 'none' && outlineWidth !== '0px') isSeen = true
  }
  if (!isSeen) return `no ring: ${name}`
  const { width, top, bottom, left, right } = it.getBoundingClientRect()
  return width > 0 && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth
    ? ''
    : `out of view: ${name}`
}
