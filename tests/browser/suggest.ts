import assert from 'node:assert/strict'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { call } from '../support/harness.ts'
import { assertAccessible } from './axe.ts'
import { type BrowserEnvironment, onPage, pathOf, type WatchedPage } from './environment.ts'
import { signInWithCode } from './sign-in.ts'
import { overflowing } from './sizes.ts'

// Suggestions in a browser: readers correct a talk in two clicks, with and without scripts, and
// editors decide with one key.

const event = 'Example Days 2026'
const narrow = { width: 320, height: 800 }

/** Tests the suggestions of readers and the decisions of editors. */
export async function suggestTests(environment: BrowserEnvironment): Promise<void> {
  const { test } = environment
  const { url, databaseUrl, token } = await environment.archive.empty('suggest')
  const site = { url: url.replace('127.0.0.1', 'localhost'), databaseUrl }
  const archive = { ...environment.archive, url: site.url }
  const post = async (path: string, body: object) => {
    const { status, text, json } = await call(url, 'POST', path, { body, token })
    assert.ok(status < 300, text)
    return json
  }
  await post('/api/v2/category', { title: event })
  const makeTalk = async (title: string, more: object = {}) => {
    const talk = { title, category: event, language: 'English', state: 1, ...more }
    const { id, slug } = await post('/api/v2/video', talk)
    return { id, slug, path: `/video/${id}/${slug}` }
  }
  const suggest = async (video: number, fields: object, more: object = {}) =>
    (await post('/api/v2/suggestion', { kind: 'correction', video, fields, ...more })).id as number
  const titleOf = async (id: number) =>
    (await call(url, 'GET', `/api/v2/video/${id}`, { token })).json.title
  const run = (work: (watched: WatchedPage) => Promise<void>, options?: BrowserContextOptions) =>
    onPage({ ...environment, archive }, work, { reducedMotion: 'reduce', ...options })

  for (const javaScriptEnabled of [true, false]) {
    const variant = javaScriptEnabled ? 'with' : 'without'
    await test(`suggest: a reader corrects a title in two clicks, ${variant} scripts`, () =>
      run(
        async ({ page, open }) => {
          const talk = await makeTalk(`Wrogn ${variant}`)
          await open(talk.path)
          await page.getByRole('link', { name: 'Suggest a correction' }).click()
          await page.locator('[name=title]').fill(`Right ${variant}`)
          if (!javaScriptEnabled) await formIsOldEnough(page)
          await page.getByRole('button', { name: 'Send' }).click()
          await page.getByRole('heading', { name: 'Thank you!' }).waitFor()
          const link = pathOf(page).split('?')[0] as string
          assert.match(link, /^\/suggestion\/\d+\/[\w-]{43}$/)
          const [, , id] = link.split('/')
          const decline = { reason: 'not-verified' }
          await post(`/api/v2/suggestion/${id}/decline`, decline)
          await open(link)
          await page.getByText('We could not verify this').waitFor()
          await page.getByLabel('Reply to the editors').fill('It is on the first slide')
          await page.getByRole('button', { name: 'Send the reply' }).click()
          await page.getByText('An editor has not decided yet.').waitFor()
          await page.getByText('It is on the first slide').waitFor()
          await page.getByRole('button', { name: 'Withdraw' }).click()
          await page.getByText('You have withdrawn this suggestion.').waitFor()
        },
        { javaScriptEnabled },
      ))
  }

  await test('suggest: a reader corrects a title by keyboard', () =>
    run(async ({ page, open }) => {
      const talk = await makeTalk('Wrogn keys')
      await open(talk.path)
      await page.getByRole('link', { name: 'Suggest a correction' }).focus()
      await page.keyboard.press('Enter')
      await page.waitForURL('**/suggest')
      await page.locator('[name=title]').focus()
      await page.keyboard.press('Control+a')
      await page.keyboard.type('Right keys')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Thank you!' }).waitFor()
      const [, , id] = pathOf(page).split('/')
      await post(`/api/v2/suggestion/${id}/accept`, {})
      assert.equal(await titleOf(talk.id), 'Right keys')
    }))

  await test('suggest: forms and outcome are accessible, and fit on small screens', () =>
    run(async ({ page, open }) => {
      const talk = await makeTalk('Accessible', { description: 'A '.repeat(300) })
      const id = await suggest(talk.id, { title: `${'Unbreakable'.repeat(20)}` })
      const paths = [
        `${talk.path}/suggest`,
        `${talk.path}/suggest?kind=dead-link`,
        `${talk.path}/suggest?kind=duplicate`,
        `${talk.path}/suggest?kind=removal`,
        '/suggest',
      ]
      const check = async (name: string) => {
        await assertAccessible(page, name)
        await page.setViewportSize(narrow)
        assert.deepEqual(await overflowing(page), [], name)
        await page.setViewportSize({ width: 1440, height: 900 })
      }
      for (const path of paths) {
        assert.equal(await open(path), 200)
        await check(path)
      }
      const fields = { title: `Long ${'words'.repeat(40)}` }
      const created = await post('/api/v2/suggestion', {
        kind: 'correction',
        video: talk.id,
        fields,
      })
      await open(new URL(created.url).pathname)
      await check('the outcome')
      for (const number of [id, created.id])
        await post(`/api/v2/suggestion/${number}/decline`, { reason: 'abuse' })
    }))

  await test('suggest: an editor decides with one key, and undoes it', () =>
    run(async ({ page }) => {
      const talk = await makeTalk('Keyed')
      const ids = [
        await suggest(talk.id, { title: 'Keyed 1' }),
        await suggest(talk.id, { summary: 'A summary', recorded: '2020-01-01' }),
        await suggest(talk.id, { tags: ['third'] }),
      ]
      const stateOf = async (id = 0) =>
        (await call(url, 'GET', `/api/v2/suggestion/${id}`, { token })).json
      await signInWithCode(page, site, 'Edith', 'editor')
      await page.getByText('3 open suggestions').waitFor()
      await page.keyboard.press('?')
      await page.getByText('Decline, then a digit for the reason').waitFor()
      await page.keyboard.press('Escape')
      await page.keyboard.press('j')
      await page.locator('[data-item]:focus').waitFor()
      await page.keyboard.press('a')
      await page.getByText('Accepted. The talk was changed.').waitFor()
      assert.equal(await titleOf(talk.id), 'Keyed 1')
      await page.keyboard.press('u')
      await page.getByText('The suggestion is open again.').waitFor()
      assert.equal(await titleOf(talk.id), 'Keyed')
      await page.keyboard.press('a')
      await page.getByText('Accepted. The talk was changed.').waitFor()
      // The next suggestion has the focus.
      await page.keyboard.press('x')
      await page.keyboard.press('a')
      await page.getByText('1 open suggestion').waitFor()
      assert.deepEqual((await stateOf(ids[1])).taken.length, 1)
      await page.keyboard.press('d')
      await page.keyboard.press('3')
      await page.getByText('Declined.', { exact: true }).waitFor()
      assert.equal((await stateOf(ids[2])).reason, 'unclear')
    }))

  await test('suggest: an editor edits first, and hides a talk with two keys', () =>
    run(async ({ page, open }) => {
      const talk = await makeTalk('Edited')
      await suggest(talk.id, { title: 'Edited by a reader' })
      await signInWithCode(page, site, 'Eve', 'editor')
      await page.keyboard.press('j')
      await page.keyboard.press('e')
      await page.waitForURL('**/desk/suggestion/*')
      await page.keyboard.press('e')
      await page.locator('textarea[name=title]:focus').fill('Edited by both')
      await page.getByRole('button', { name: 'Accept with these values' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('Accepted. The talk was changed.').waitFor()
      assert.equal(await titleOf(talk.id), 'Edited by both')
      await post('/api/v2/suggestion', { kind: 'removal', video: talk.id, comment: 'Please' })
      await open('/desk')
      await page.keyboard.press('j')
      await page.keyboard.press('a')
      await page.locator('button:focus').waitFor()
      assert.equal((await call(url, 'GET', `/api/v2/video/${talk.id}`)).status, 200)
      await page.keyboard.press('a')
      await page.getByText('The talk is a draft now').waitFor()
      assert.equal((await call(url, 'GET', `/api/v2/video/${talk.id}`)).status, 404)
    }))

  await test('suggest: the inbox works without scripts', () =>
    run(
      async ({ page }) => {
        const talk = await makeTalk('No scripts')
        await suggest(talk.id, { title: 'No scripts at all' })
        await suggest(talk.id, { summary: 'Spam' })
        await signInWithCode(page, site, 'Nora', 'editor')
        await page.getByRole('button', { name: 'Accept' }).first().click()
        await page.getByText('Accepted. The talk was changed.').waitFor()
        await page.getByRole('button', { name: 'Undo' }).waitFor()
        await page.getByText('Decline', { exact: true }).click()
        await page.getByLabel('Another reason').fill('Because')
        await page.getByRole('button', { name: 'Decline with this reason' }).click()
        await page.getByText('Declined.', { exact: true }).waitFor()
        await page.getByRole('button', { name: 'Undo' }).click()
        await page.getByText('The suggestion is open again.').waitFor()
        await page.getByText('Decline', { exact: true }).click()
        await page.getByRole('button', { name: 'Unclear' }).click()
        await page.getByText('Declined.', { exact: true }).waitFor()
      },
      { javaScriptEnabled: false },
    ))

  await test('suggest: the inbox is accessible, and fits on small screens', () =>
    run(async ({ page, open }) => {
      const talk = await makeTalk('Accessible inbox', { summary: 'Before' })
      const more = { comment: `See ${'longword'.repeat(40)}`, name: 'Zoë', show_name: true }
      const id = await suggest(talk.id, { title: 'New', summary: 'After', tags: ['x'] }, more)
      await call(url, 'PATCH', `/api/v2/video/${talk.id}`, { token, body: { summary: 'Third' } })
      await signInWithCode(page, site, 'Alix', 'editor')
      for (const path of ['/desk', `/desk/suggestion/${id}`]) {
        await open(path)
        await page.getByText('Decline', { exact: true }).click()
        await assertAccessible(page, path)
        await page.setViewportSize(narrow)
        assert.deepEqual(await overflowing(page), [], path)
        await page.setViewportSize({ width: 1440, height: 900 })
      }
      await post(`/api/v2/suggestion/${id}/accept`, { fields: ['title'] })
      await open(`/desk/suggestion/${id}`)
      await assertAccessible(page, 'a decided suggestion')
    }))
}

/** Waits until the form is as old as the server wants it to be. Scripts wait by themselves. */
async function formIsOldEnough(page: Page): Promise<void> {
  const token = await page.locator('[name=form]').inputValue()
  const openedMs = Number(token.split('.')[1])
  for (let waited = 0; Date.now() < openedMs + 3500 && waited < 100; waited++)
    await page.waitForTimeout(100)
}
