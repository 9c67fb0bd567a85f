import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { call } from '../support/harness.ts'
import { assertAccessible } from './axe.ts'
import { type BrowserEnvironment, onPage, type WatchedPage } from './environment.ts'
import { signInWithCode } from './sign-in.ts'
import { overflowing } from './sizes.ts'

// Speakers in a browser: an editor sends a link, the speaker confirms and corrects, and the editor
// changes a name permanently.

const event = 'Example Days 2026'
const narrow = { width: 320, height: 800 }

/** Tests the links of speakers and the changes of their names. */
export async function speakersTests(environment: BrowserEnvironment): Promise<void> {
  const { test } = environment
  const { url, databaseUrl, token } = await environment.archive.empty('speakers')
  const site = { url: url.replace('127.0.0.1', 'localhost'), databaseUrl }
  const archive = { ...environment.archive, url: site.url }
  const post = async (path: string, body: object) => {
    const { status, text, json } = await call(url, 'POST', path, { body, token })
    assert.ok(status < 300, text)
    return json
  }
  await post('/api/v2/category', { title: event })
  const readTalk = async (id: number) =>
    (await call(url, 'GET', `/api/v2/video/${id}`, { token })).json
  const check = async (page: Page, name: string) => {
    await assertAccessible(page, name)
    const size = page.viewportSize() ?? { width: 1440, height: 900 }
    await page.setViewportSize(narrow)
    assert.deepEqual(await overflowing(page), [], name)
    await page.setViewportSize(size)
  }
  const click = (page: Page, name: string) => page.getByRole('button', { name }).click()

  for (const javaScriptEnabled of [true, false]) {
    const variant = javaScriptEnabled ? 'with' : 'without'
    const checked = async ({ page }: WatchedPage, name: string) => {
      if (javaScriptEnabled) await check(page, name)
    }
    await test(`speakers: a link, a correction and a change of name, ${variant} scripts`, () =>
      onPage(
        { ...environment, archive },
        async (watched) => {
          const { page, open } = watched
          // The word of the variant keeps the two runs apart.
          const [former, current] = [`Zebulon ${variant}`, `Zoe ${variant}`]
          const talk = await post('/api/v2/video', {
            ...{ title: `Interview with ${former}`, category: event, language: 'English' },
            ...{ state: 1, speakers: [former], summary: `${former} is the guest.` },
          })
          await signInWithCode(page, site, `Edith ${variant}`, 'admin')

          // The editor creates a link.
          const slug = `zebulon-${variant}`
          await open(`/desk/speaker/${slug}`)
          await page.getByRole('link', { name: 'Link for the speaker' }).click()
          await click(page, 'Create a link')
          const link = (await page.locator('code.long').textContent()) ?? ''
          await checked(watched, 'the links of a speaker')

          // The speaker confirms, corrects and asks for another name.
          await open(new URL(link).pathname)
          await page.getByRole('heading', { name: `Your talks, ${former}` }).waitFor()
          await checked(watched, 'the page of a link')
          await click(page, 'The chosen talks are right')
          await page.getByText('You confirmed it on').first().waitFor()
          await page.getByRole('link', { name: `Correct ${talk.title}` }).click()
          await checked(watched, 'the correction of a speaker')
          await page.locator('[name=summary]').fill(`${former} is the guest of the evening.`)
          await page.getByRole('button', { name: 'Send' }).first().click()
          await page.getByText('An editor will look at it.').waitFor()
          await page.getByLabel('Former and new name').fill(`${former}, now ${current}`)
          const request = page.locator('form').filter({ has: page.locator('[name=name_comment]') })
          await request.getByRole('button', { name: 'Send' }).click()
          await page.getByText('An editor will look at it.').waitFor()

          // Both wait in the inbox.
          await open('/desk')
          await page.getByText('from the speaker').first().waitFor()
          await page.getByText(`${former}, now ${current}`).waitFor()
          await checked(watched, 'requests of speakers')

          // The name is changed permanently.
          await open(`/desk/speaker/${slug}`)
          await page.getByRole('link', { name: 'Change the name permanently' }).click()
          await page.locator('[name=name]').fill(current)
          await checked(watched, 'the form of a name change')
          await click(page, 'Find all occurrences')
          await waitForState(page, 'Preview')
          await checked(watched, 'the plan of a name change')
          await page.getByText(`Interview with ${former}`).first().waitFor()
          await click(page, `Permanently change the name of ${former}`)
          await waitForState(page, 'Changed')
          await checked(watched, 'a name change')
          const { title, speakers, summary } = await readTalk(talk.id)
          assert.deepEqual(
            { title, speakers, summary },
            {
              title: `Interview with ${current}`,
              speakers: [current],
              summary: `${current} is the guest.`,
            },
          )
          await open('/desk')
          assert.doesNotMatch(await page.content(), new RegExp(former))
          await page.getByText(`${current}, now ${current}`).waitFor()
          await click(page, `The request of ${current} is done`)
          await page.getByText(`${current}, now ${current}`).waitFor({ state: 'detached' })
        },
        { javaScriptEnabled, reducedMotion: 'reduce' },
      ))
  }
}

/** Waits for a state of the name change. The page reloads itself while it runs. */
async function waitForState(page: Page, state: string): Promise<void> {
  await page.locator('.mark', { hasText: state }).first().waitFor({ timeout: 120_000 })
}
