import assert from 'node:assert/strict'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { call, runCommand } from '../support/harness.ts'
import { blackPng } from '../support/picture-archive.ts'
import { until } from '../support/until.ts'
import { assertAccessible } from './axe.ts'
import { linkTests } from './desk-links.ts'
import { type BrowserEnvironment, onPage, pathOf, type WatchedPage } from './environment.ts'
import { matchTests } from './matches.ts'
import { runScript } from './script.ts'
import { type DeskSteps, invitePerson, signInWithCode } from './sign-in.ts'
import { overflowing, widths } from './sizes.ts'

// The desk in a browser: people sign in with a virtual authenticator, by keyboard alone and without
// scripts, and administrators manage people, tokens and webhooks.

const pagesOfAdmins = [
  '/desk',
  '/desk/account',
  '/desk/people',
  '/desk/tokens',
  '/desk/webhooks',
  '/desk/audit',
  '/desk/talks',
  '/desk/edit?all=1&state=live',
  '/desk/talk/new',
  '/desk/import',
  '/desk/match',
  '/desk/followed-sources',
  '/desk/links',
  '/desk/quality',
  '/desk/quality/no-date',
  '/desk/speakers',
  '/desk/tags',
  '/desk/events',
  '/desk/event/example-days-2026',
]
const event = 'Example Days 2026'

/** Tests the pages for people who sign in. */
export async function deskTests(environment: BrowserEnvironment): Promise<void> {
  const { test } = environment
  const { url, databaseUrl, token } = await environment.archive.empty('desk')
  await fetch(`${url}/api/v2/category`, {
    method: 'POST',
    headers: { authorization: `Token ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ title: event }),
  })
  // Passkeys need a host name.
  const archive = { ...environment.archive, url: url.replace('127.0.0.1', 'localhost') }
  const settings = { DATABASE_URL: databaseUrl, PUBLIC_URL: archive.url }

  const site = { url: archive.url, databaseUrl }
  const invite = (name: string, role: string) => invitePerson(site, name, role)
  const inDesk = (run: (watched: WatchedPage) => Promise<void>, options?: BrowserContextOptions) =>
    onPage({ ...environment, archive }, run, options)
  const signIn = ({ page }: WatchedPage, name: string, role: string) =>
    signInWithCode(page, site, name, role)

  await test('desk: from the invitation to the desk with a passkey, by keyboard', async () => {
    await inDesk(async ({ page, open }) => {
      await addAuthenticator(page)
      const { path } = await invite('Ada Lovelace', 'admin')
      await open(path)
      await focusWithTab(page, 'Create a passkey and sign in')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/desk')
      await page.getByRole('heading', { name: 'Welcome, Ada Lovelace' }).waitFor()

      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('You are signed out.').waitFor()
      await focusWithTab(page, 'Sign in with a passkey')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/desk')

      await open('/desk/account')
      await page.getByText('This session').waitFor()
      await page.getByRole('button', { name: 'Remove: Passkey' }).click()
      await page.getByText('You have no passkey yet.').waitFor()
      await page.getByLabel('Name of the passkey').fill('My laptop')
      await page.getByRole('button', { name: 'Add a passkey' }).click()
      await page.getByText('My laptop').waitFor()
      // This device has one already.
      await page.getByRole('button', { name: 'Add a passkey' }).click()
      await page.getByText('already has a passkey').waitFor()
    })
  })

  for (const javaScriptEnabled of [true, false]) {
    const variant = javaScriptEnabled ? 'with' : 'without'
    await test(`desk: merges two speakers and takes it back, ${variant} scripts`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          const word = `Jane ${variant}`
          await makeSpellings(archive.url, token, word)
          await signIn(watched, `Mary ${variant}`, 'editor')
          await open('/desk/speakers')
          // The merge takes two actions, and so does its undo.
          await page.getByRole('button', { name: `Merge ${word} Doe, ${word}-Doe` }).click()
          await page.getByText('1 talk changes.').waitFor()
          await page.getByRole('button', { name: 'Merge and change 1 talk' }).click()
          await page.getByText('Merged.', { exact: true }).waitFor()
          await page.getByRole('link', { name: `Undo the merge of ${word}-Doe` }).click()
          await page.getByRole('button', { name: 'Undo and change 1 talk' }).click()
          await page.getByText('The merge was undone.').waitFor()
          await page.getByRole('heading', { name: `${word}-Doe` }).waitFor()

          await page.getByLabel('Name', { exact: true }).fill(`${word} Smith`)
          await page.getByRole('button', { name: 'Save names' }).click()
          await page.getByText(`By ${word}-Doe`).waitFor()
          await page.getByRole('button', { name: 'Rename and change 1 talk' }).click()
          await page.getByRole('heading', { name: `${word} Smith` }).waitFor()
          await page.getByLabel('Pronouns').fill('she')
          await page.getByRole('button', { name: 'Save profile' }).click()
          await page.getByText('Saved.').waitFor()
          assert.equal(await page.getByLabel('Pronouns').inputValue(), 'she')
        },
        { javaScriptEnabled },
      ))
  }

  await test('desk: merges two speakers by keyboard', () =>
    inDesk(async (watched) => {
      const { page, open } = watched
      await makeSpellings(archive.url, token, 'Keys')
      await signIn(watched, 'Karen Spärck Jones', 'editor')
      await open('/desk/speakers?groups=1')
      await page.getByRole('button', { name: 'Merge Keys Doe, Keys-Doe' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('1 talk changes.').waitFor()
      await page.getByRole('button', { name: 'Merge and change 1 talk' }).focus()
      await page.keyboard.press('Enter')
      await page.getByText('Merged.', { exact: true }).waitFor()
    }))

  await test('desk: a link tells when the browser has no passkey', async () => {
    await inDesk(async ({ page, open }) => {
      await addAuthenticator(page, { isUserVerified: false })
      const { path } = await invite('Alan Turing', 'editor')
      await open(path)
      await page.getByRole('button', { name: 'Create a passkey and sign in' }).click()
      await page.getByText('The passkey was not used. Try again.').waitFor()
      assert.equal(pathOf(page), path)
    })
  })

  for (const javaScriptEnabled of [true, false])
    await test(`desk: people, tokens and webhooks, ${javaScriptEnabled ? 'with' : 'without'} scripts`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          await signIn(watched, 'Grace Hopper', 'admin')
          await open('/desk/people')
          await page.getByLabel('Name', { exact: true }).fill('Edsger')
          await page.locator('[name=role][value=suggester]').check()
          await page.getByRole('button', { name: 'Invite' }).click()
          const link = page.getByLabel('New sign-in link')
          assert.match(await link.inputValue(), /^http:\/\/localhost:\d+\/desk\/link\/[\w-]{43}$/)
          await page.getByRole('link', { name: 'Edsger' }).click()
          await page.locator('[name=role][value=editor]').check()
          await page.getByRole('button', { name: 'Save' }).click()
          await page.getByText('Saved.').waitFor()
          await page.getByRole('button', { name: 'Disable' }).click()
          await page.getByText('This person can no longer sign in.').waitFor()

          await open('/desk/tokens')
          await page.getByLabel('Person or program').fill('Loader')
          await page.getByRole('button', { name: 'Create token' }).click()
          const token = page.getByLabel('New token')
          assert.match(await token.inputValue(), /^talkshelf_\w{49}$/)
          await page.getByRole('button', { name: 'Revoke: Loader' }).last().click()
          await page.getByText('The token was revoked.').waitFor()

          // A URL of the longest kind must not make the page wider.
          await open('/desk/webhooks')
          await page.getByLabel('URL').fill(`https://127.0.0.1/${'a'.repeat(500)}`)
          await page.getByRole('button', { name: 'Create webhook' }).click()
          assert.match(await page.getByLabel('Secret').inputValue(), /^whsec_/)
          await page.getByRole('link', { name: 'https://127.0.0.1/' }).last().click()
          await page.getByRole('button', { name: 'Send a ping' }).click()
          await page.getByText('The ping was not delivered').waitFor()
          await page.getByText('Address not allowed').waitFor()
          assert.deepEqual(await overflowing(page), [], 'a webhook')
          if (javaScriptEnabled) await assertAccessible(page, 'a webhook')
          await open('/desk/audit')
          await page.getByText('revoked a token').first().waitFor()
        },
        { javaScriptEnabled, reducedMotion: 'reduce' },
      ))

  /** Creates a talk with the form for new talks. Returns the path of its editor. */
  const createTalk = async ({ page, open }: WatchedPage, title: string) => {
    await open('/desk/talk/new')
    await page.locator('[name=title]').fill(title)
    await page.locator('[name=category]').fill(event)
    await page.locator('[name=language]').fill('English')
    await page.locator('[name=speakers]').fill('Ada Lovelace\nGrace Hopper')
    await page.locator('button[name=state][value="1"]').click()
    await page.waitForURL('**/desk/talk/*?done=created')
    return pathOf(page).split('?')[0] as string
  }

  await test('desk: corrects a title with two keys and typing', async () => {
    await inDesk(async (watched) => {
      const { page, open } = watched
      await signIn(watched, 'Edith', 'editor')
      await createTalk(watched, 'Queus and pools')
      await page.getByRole('link', { name: 'Page of the talk' }).click()
      await page.waitForURL('**/video/**')
      const talk = pathOf(page)
      await page.keyboard.press('e')
      await page.locator('[name=title]:focus').waitFor()
      await page.locator('[name=title]').fill('Queues and pools')
      await page.keyboard.press('Control+s')
      await page.getByText('Saved.').waitFor()
      await open(talk)
      await page.getByRole('heading', { name: 'Queues and pools' }).waitFor()
    })
  })

  await test('desk: the editor weighs at most 120 kB', () =>
    inDesk(async (watched) => {
      const { page, open } = watched
      await signIn(watched, 'Wanda Weight', 'editor')
      const path = await createTalk(watched, 'Weighed')
      const session = await page.context().newCDPSession(page)
      await session.send('Network.enable')
      await session.send('Network.setCacheDisabled', { cacheDisabled: true })
      let bytes = 0
      session.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength
      })
      await open(path)
      await page.waitForLoadState('networkidle')
      assert.ok(bytes > 5000, `${bytes} bytes`)
      assert.ok(bytes <= 120_000, `${bytes} bytes`)
    }))

  await test('desk: keeps what was typed, suggests names and shows errors', async () => {
    await inDesk(async (watched) => {
      const { page, open } = watched
      await signIn(watched, 'Edith', 'editor')
      const path = await createTalk(watched, 'Typed')
      await page.locator('[name=speakers]').press('Control+End')
      await page.locator('[name=speakers]').pressSequentially('\nGrac')
      await page.getByRole('button', { name: /^Grace Hopper/ }).click()
      assert.equal(
        await page.locator('[name=speakers]').inputValue(),
        'Ada Lovelace\nGrace Hopper\nGrace Hopper',
      )
      await page.locator('[name=speakers]').fill('Ada Lovelace\nA New Speaker')
      await page.locator('[name=duration]').fill('soon')
      await page.locator('[name=duration]').blur()
      await page.getByText('must be a duration such as').waitFor()
      await page.getByText('New in this archive: A New Speaker').waitFor()
      await page.getByText('Preview', { exact: true }).nth(1).click()
      await page.locator('[name=description]').fill('**bold** text')
      await page.locator('[data-preview=description] strong', { hasText: 'bold' }).waitFor()
      await open(path)
      await page.getByText('changes that you did not save').waitFor()
      assert.equal(await page.locator('[name=duration]').inputValue(), 'soon')
      await page.getByRole('button', { name: 'Discard them' }).click()
      await page.getByText('Your changes were discarded.').waitFor()
      assert.equal(await page.locator('[name=duration]').inputValue(), '')
    })
  })

  await test('desk: keys move in the inbox and in lists, open an item and show the keys', () =>
    inDesk(
      async (watched) => {
        const { page, open } = watched
        await signIn(watched, 'Kim Keys', 'editor')
        const editors: string[] = []
        for (const title of ['Inbox one', 'Inbox two']) {
          const path = await createTalk(watched, title)
          await page.locator('[name=summary]').fill('Typed')
          await page.locator('[name=summary]').blur()
          await page.locator('[data-saved]:not(:empty)').waitFor()
          editors.push(path)
        }
        await open('/desk')
        const items = page.locator('[data-item]')
        const hasFocus = (index: number) =>
          items.nth(index).evaluate((item) => item === document.activeElement)
        for (const [key, index] of [
          ['k', 0],
          ['j', 1],
          ['k', 0],
          ['k', 0],
          ['j', 1],
        ] as const) {
          await page.keyboard.press(key)
          assert.ok(await hasFocus(index), `${key} leads to item ${index}`)
        }
        const dialog = page.locator('dialog.keys')
        assert.equal(await dialog.isVisible(), false)
        await page.keyboard.press('?')
        await page.getByText('Open the item').waitFor()
        await assertAccessible(page, 'the keys of the inbox')
        await page.keyboard.press('j')
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'hidden' })
        assert.ok(await hasFocus(1), 'the focus returns')
        const href = await items.nth(1).getAttribute('href')
        await page.keyboard.press('Enter')
        await page.waitForURL(`**${href}`)
        assert.ok(editors.includes(pathOf(page)), pathOf(page))

        await open('/desk/talks?q=inbox')
        await page.locator('#field-q').press('j')
        assert.equal(await page.locator('#field-q').inputValue(), 'jinbox')
        await page.locator('#field-q').blur()
        await page.keyboard.press('j')
        assert.ok(await hasFocus(0))
        await page.keyboard.press('Enter')
        await page.waitForURL('**/desk/talk/*?list=*')
        const [opened] = pathOf(page).split('?')
        await page.keyboard.press('Alt+ArrowRight')
        await page.waitForURL(({ pathname }) => pathname !== opened)
        assert.ok(editors.includes(new URL(page.url()).pathname), page.url())
      },
      { reducedMotion: 'reduce' },
    ))

  await test('desk: asks only about fields that both changed, one key each', () =>
    inDesk(
      async (first) => {
        await signIn(first, 'Edith', 'editor')
        const path = await createTalk(first, 'Before')
        await first.open(path)
        await inDesk(async (second) => {
          await signIn(second, 'Grace', 'editor')
          await second.open(path)
          await second.page.locator('[name=title]').fill('By Grace')
          await second.page.locator('[name=summary]').fill('A summary by Grace')
          await second.page.keyboard.press('Control+s')
          await second.page.getByText('Saved.').waitFor()
        })
        const { page } = first
        await page.locator('[name=tags]').fill('queues')
        await page.locator('[name=title]').fill('By Edith')
        await page.keyboard.press('Control+s')
        await page.getByText('another person changed the same fields').waitFor()
        await assertAccessible(page, 'the question')
        assert.equal(await page.locator('[data-choices]').count(), 1)
        await page.keyboard.press('3')
        await page.keyboard.press('Enter')
        await page.getByText('Saved.').waitFor()
        assert.equal(await page.locator('[name=title]').inputValue(), 'By Edith')
        assert.equal(await page.locator('[name=summary]').inputValue(), 'A summary by Grace')
        assert.equal(await page.locator('[name=tags]').inputValue(), 'queues')
      },
      { reducedMotion: 'reduce' },
    ))

  await test('desk: edits and takes down a talk without scripts', () =>
    inDesk(
      async (watched) => {
        const { page, open } = watched
        await signIn(watched, 'Ada', 'admin')
        const path = await createTalk(watched, 'Without scripts')
        await page.locator('[name=title]').fill('')
        await page.locator('[name=duration]').fill('1:02:03')
        await page.locator('[name=title]').evaluate((input) => input.removeAttribute('required'))
        await page.getByRole('button', { name: 'Save', exact: true }).click()
        await page.getByText('Nothing was saved. Please correct:').waitFor()
        await page.locator('[name=title]').fill('Corrected')
        await page.getByRole('button', { name: 'Save as a draft' }).click()
        await page.getByText('Saved.').waitFor()
        assert.equal(await page.locator('[name=duration]').inputValue(), '1:02:03')
        await page.getByRole('link', { name: 'Take down' }).click()
        await page.getByLabel('Reason').fill('The speaker asked for it')
        await page.getByRole('button', { name: 'Take down' }).click()
        await page.getByText('The talk was taken down.').waitFor()
        assert.equal(await open(path), 410)
      },
      { javaScriptEnabled: false },
    ))
  for (const javaScriptEnabled of [true, false])
    await test(`desk: history, ${javaScriptEnabled ? 'with' : 'without'} scripts`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          const { id, read } = await talkWithHistory(archive.url, databaseUrl)
          await signIn(watched, 'Katherine Johnson', 'editor')
          await open(`/desk/talk/${id}`)
          await page.getByRole('link', { name: 'History' }).click()
          await page.getByRole('button', { name: 'Revert, Title, Revision 2' }).click()
          await page.getByText('Reverted.').waitFor()
          assert.deepEqual(await read(), { title: 'On queues', summary: 'Third', tags: ['b', 'c'] })
          await page.getByRole('button', { name: 'Revert this change, Revision 2' }).click()
          await page.getByRole('heading', { name: 'Not reverted' }).waitFor()
          await page.getByRole('button', { name: 'Revert the other fields' }).click()
          await page.getByText('Reverted.').waitFor()
          assert.deepEqual(await read(), { title: 'On queues', summary: 'Third', tags: ['a', 'c'] })
        },
        { javaScriptEnabled },
      ))
  for (const javaScriptEnabled of [true, false])
    await test(`desk: quality, ${javaScriptEnabled ? 'with' : 'without'} scripts`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          await signIn(watched, 'Radia Perlman', 'editor')
          const variant = javaScriptEnabled ? 'yes' : 'not'
          const source_url = `https://youtu.be/quality-${variant}`
          const create = (title: string) =>
            call(url, 'POST', '/api/v2/video', {
              token,
              body: { title, category: event, language: 'English', state: 1, source_url },
            })
          const talks = [await create(`First ${variant}`), await create('Second of two')]
          const [first, second] = talks.map(({ json }) => json.id as number)
          await open('/desk')
          // Two duplicates are merged with four actions.
          await page.getByRole('link', { name: 'Quality', exact: true }).click()
          await page.getByRole('link', { name: 'The same source in several records' }).click()
          await page.getByRole('link', { name: `Second of two (${second})` }).click()
          await page.getByRole('heading', { name: `Merge talks: First ${variant}` }).waitFor()
          if (javaScriptEnabled) await assertAccessible(page, 'merging talks')
          await page.getByRole('button', { name: 'Merge', exact: true }).click()
          await page.getByText('The talks were merged.').waitFor()
          const { headers } = await call(url, 'GET', `/api/v2/video/${second}`)
          assert.match(String(headers.location), new RegExp(`/api/v2/video/${first}$`))
          await open('/desk/quality/no-thumbnail')
          if (javaScriptEnabled) await assertAccessible(page, 'findings with fixes')
          await page.getByRole('button', { name: `Fix: First ${variant}` }).click()
          await page.getByText('Fixed.').waitFor()
          const { json } = await call(url, 'GET', `/api/v2/video/${first}`)
          assert.match(json.thumbnail_url, /^https:\/\/i\.ytimg\.com\/vi\/quality-/)
        },
        { javaScriptEnabled, reducedMotion: 'reduce' },
      ))
  await importTests({ test, inDesk, signIn })
  await matchTests({ test, inDesk, signIn })
  await linkTests({ test, inDesk, signIn }, { url, databaseUrl, token })
  await bulkEditTests({ test, inDesk, signIn }, archive.url, token)
  await pictureTests({ test, inDesk, signIn })

  await test('desk: no page takes more than twice as long as its JSON', () =>
    inDesk(async (watched) => {
      await signIn(watched, 'Tim Time', 'admin')
      const cookies = await watched.page.context().cookies()
      const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
      const command = ['token', 'create', '--name', 'Tim', '--role', 'admin']
      const { stdout } = await runCommand(command, settings)
      const session = ['--cookie', cookie, '--token', stdout.trim()]
      await runScript('../../bench/pages.ts', '--url', url, ...session)
    }))

  const variants: Record<string, BrowserContextOptions> = {
    'wide, light': {},
    'wide, dark, Spanish': { colorScheme: 'dark', locale: 'es-ES' },
    'phone, light': { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  }
  for (const [variant, options] of Object.entries(variants))
    await test(`desk: axe, ${variant}`, () =>
      inDesk(
        async ({ page, open }) => {
          const { path, code } = await invite('Barbara Liskov', 'admin')
          await open(path)
          await assertAccessible(page, 'the link')
          await page.locator('summary').click()
          await page.locator('[name=code]').fill('1')
          await page.locator('details button').click()
          await page.locator('.error:not(:empty)').first().waitFor()
          await assertAccessible(page, 'a wrong code')
          await open('/desk/sign-in')
          await assertAccessible(page, 'sign-in')
          await open(path)
          await page.locator('summary').click()
          await page.locator('[name=code]').fill(code)
          await page.locator('details button').click()
          await page.waitForURL('**/desk')
          for (const path of [...pagesOfAdmins, '/desk/confirm', '/desk/people/1']) {
            await open(path)
            await assertAccessible(page, path)
          }
          const editor = await createTalk({ page, open } as WatchedPage, 'Accessible')
          for (const path of [editor, `${editor}/takedown`]) {
            await open(path)
            for (const summary of await page.locator('summary').all()) await summary.click()
            await assertAccessible(page, path)
          }
          const [from, into] = await makeSpellings(archive.url, token, `Axe ${variant}`)
          for (const path of [
            '/desk/speakers',
            `/desk/speaker/${from}`,
            `/desk/speaker/${from}/split`,
            `/desk/speakers/merge?into=${into}&group=${from}`,
          ]) {
            await open(path)
            await assertAccessible(page, path)
          }
          await page.locator('main form button').click()
          await page.waitForURL('**/speaker/**')
          await assertAccessible(page, 'a merged speaker')
          await open(`/desk/speaker/${from}/unmerge`)
          await assertAccessible(page, 'the undo of a merge')
          const { id } = await talkWithHistory(archive.url, databaseUrl)
          await open(`/desk/talk/${id}/history`)
          await assertAccessible(page, 'history')
          await page.locator('.history > li').nth(1).locator('button').last().click()
          await page.locator('.notice[role=alert]').waitFor()
          await assertAccessible(page, 'a refused revert')
        },
        { reducedMotion: 'reduce', ...options },
      ))

  await test(`desk: does not overflow, from ${widths[0]} to ${widths.at(-1)} px`, async () => {
    await inDesk(async (watched) => {
      const { page, open } = watched
      const name = 'Wolfeschlegelsteinhausenbergerdorff'
      await signIn(watched, name, 'admin')
      const editor = await createTalk(watched, name.repeat(3))
      const { id } = await talkWithHistory(archive.url, databaseUrl)
      for (const width of widths) {
        await page.setViewportSize({ width, height: Math.round(width * 0.7) })
        for (const path of [...pagesOfAdmins, editor, `/desk/talk/${id}/history`]) {
          await open(path)
          assert.deepEqual(await overflowing(page), [], `${path} at ${width}`)
        }
      }
    })
  })
}

/** Creates two talks by speakers whose names differ in spelling only. Returns their slugs. */
async function makeSpellings(
  url: string,
  token: string,
  word: string,
): Promise<[from: string, into: string]> {
  const slugs: string[] = []
  for (const name of [`${word} Doe`, `${word}-Doe`]) {
    const talk = { category: event, language: 'English', state: 1 }
    const body = { ...talk, title: `By ${name}`, speakers: [name] }
    const { status } = await call(url, 'POST', '/api/v2/video', { token, body })
    assert.equal(status, 201)
    const found = await call(url, 'GET', '/api/v2/speaker?page_size=100', { token })
    slugs.push(found.json.results.find((speaker: { name: string }) => speaker.name === name).slug)
  }
  return slugs as [string, string]
}

/**
 * Creates a talk with three revisions: the second changes title, summary and tags, the third the
 * summary and tags again.
 */
async function talkWithHistory(url: string, databaseUrl: string) {
  const created = await runCommand(['token', 'create', '--name', 'Loader', '--role', 'editor'], {
    DATABASE_URL: databaseUrl,
  })
  const [token = ''] = /talkshelf_\w{49}/.exec(created.stdout) ?? []
  const send = async (method: string, path: string, body?: object) =>
    (await call(url, method, `/api/v2/${path}`, { token, ...(body && { body }) })).json
  await send('POST', 'category', { title: 'Example Days 2026' })
  const { id } = await send('POST', 'video', {
    title: 'On queues',
    summary: 'First',
    tags: ['a'],
    category: 'Example Days 2026',
    language: 'English',
  })
  await send('PATCH', `video/${id}`, { title: 'On stacks', summary: 'Second', tags: ['b'] })
  await send('PATCH', `video/${id}`, { summary: 'Third', tags: ['b', 'c'] })
  const read = async () => {
    const { title, summary, tags } = await send('GET', `video/${id}`)
    return { title, summary, tags }
  }
  return { id: Number(id), read }
}

/** Builds a table of 30 talks. */
function csvOf30(source: string, summary: string): string {
  const rows = Array.from(
    { length: 30 },
    (_, index) => `${source}-${index},${source} talk ${index},Ann Other,${summary}`,
  )
  return ['key,title,speakers,summary', ...rows].join('\n')
}

/** Uploads a table, and waits for its plan. */
async function uploadTable({ page, open }: WatchedPage, source: string, summary: string) {
  await open('/desk/import')
  const buffer = Buffer.from(csvOf30(source, summary))
  const file = { name: `${source}.csv`, mimeType: 'text/csv', buffer }
  await page.getByLabel('File', { exact: true }).setInputFiles(file)
  await page.getByLabel('Event (optional)').fill(source)
  await page.getByLabel('Language (optional)').fill('English')
  await page.getByRole('button', { name: 'Show the plan' }).click()
  await page.waitForURL(/\/desk\/import\/\d+$/)
  await page.getByText('Planned', { exact: true }).waitFor()
}

/** Tests imports: from the upload to the undo, and conflicts decided by keys. */
async function importTests({ test, inDesk, signIn }: DeskSteps): Promise<void> {
  for (const javaScriptEnabled of [true, false])
    await test(`desk: an import, ${javaScriptEnabled ? 'with' : 'without'} scripts`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          await signIn(watched, 'Edith Editor', 'editor')
          const source = javaScriptEnabled ? 'Scripted' : 'Plain'
          await uploadTable(watched, source, 'First')
          const plan = pathOf(page)
          assert.equal(await page.locator('tr[id^=talk-]').count(), 30)
          await page.getByRole('button', { name: 'Apply', exact: true }).click()
          await page.getByText('30 created').waitFor()
          await page.getByRole('button', { name: 'Undo', exact: true }).click()
          await page.getByText('30 undone').waitFor()
          await page.getByRole('button', { name: 'Apply again' }).click()
          await page.getByText('Applied', { exact: true }).waitFor()

          await open('/desk/import')
          await page.getByRole('link', { name: `${source}.csv` }).click()
          assert.equal(pathOf(page), plan)
          if (!javaScriptEnabled) return
          await assertAccessible(page, 'an applied import')
        },
        { javaScriptEnabled, reducedMotion: 'reduce' },
      ))

  await test('desk: decides conflicts of an import by keys', () =>
    inDesk(
      async (watched) => {
        const { page } = watched
        await signIn(watched, 'Kay Board', 'admin')
        await uploadTable(watched, 'Keys', 'First')
        await page.getByRole('button', { name: 'Apply', exact: true }).click()
        await page.getByText('30 created').waitFor()
        await editSummaries(watched)
        await uploadTable(watched, 'Keys', 'Second')
        await page.getByText('30 conflicts have no decision yet.').waitFor()
        await assertAccessible(page, 'a plan with conflicts')
        assert.deepEqual(await overflowing(page), [])
        await page.setViewportSize({ width: 320, height: 700 })
        assert.deepEqual(await overflowing(page), [])

        const isChecked = (talk: number, value: string) =>
          page
            .locator(`#talk-${talk} input[value=${value}][checked]`)
            .waitFor({ state: 'attached' })
        for (const key of ['j', '2', '1', 'k', 'k', '1', 'j', '2']) await page.keyboard.press(key)
        // The first was taken and then kept, the second kept, the third taken.
        await isChecked(1, 'mine')
        await isChecked(2, 'mine')
        await isChecked(3, 'theirs')
        await page.reload()
        await page.getByText('27 conflicts have no decision yet.').waitFor()
        await page.getByRole('button', { name: 'Apply', exact: true }).click()
        await page.getByText('1 changed, 29 kept as in the archive').waitFor()
      },
      { reducedMotion: 'reduce' },
    ))
}

/** Tests the upload of a logo: a file that is refused, one that is shown, and its removal. */
async function pictureTests({ test, inDesk, signIn }: DeskSteps): Promise<void> {
  for (const javaScriptEnabled of [true, false])
    await test(`desk: a logo, ${javaScriptEnabled ? 'with' : 'without'} scripts`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          await signIn(watched, 'Lotte Logo', 'editor')
          await open('/desk/event/example-days-2026')
          const file = page.getByLabel('Upload a logo')
          const save = page.getByRole('button', { name: 'Save profile' })
          const choose = (mimeType: string, buffer: Buffer) =>
            file.setInputFiles({ name: 'logo', mimeType, buffer })
          if (javaScriptEnabled) {
            await choose('image/png', Buffer.alloc(10_000_001))
            await page.getByText('This file has more than 10 MB').waitFor()
          }
          await page.getByLabel('City').fill('Lisbon')
          await choose('image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))
          await save.click()
          await page.getByText('Export the picture as PNG').waitFor()
          assert.equal(await page.getByLabel('City').inputValue(), 'Lisbon')
          if (javaScriptEnabled) await assertAccessible(page, 'a picture that was refused')

          await choose('image/png', blackPng(400))
          await save.click()
          await page.getByText('Saved.').waitFor()
          const logo = page.getByRole('img', { name: 'Current logo' })
          await logo.waitFor()
          // This browser loads no pictures.
          const source = new URL((await logo.getAttribute('src')) ?? '', page.url()).href
          await until('the logo', async () => {
            const { 'content-type': type } = (await page.request.get(source)).headers()
            return type === 'image/webp'
          })
          if (javaScriptEnabled) await assertAccessible(page, 'an event with a logo')
          await page.setViewportSize({ width: 320, height: 700 })
          assert.deepEqual(await overflowing(page), [])
          await page.getByLabel('Remove the logo').check()
          await save.click()
          await page.getByText('Saved.').waitFor()
          assert.equal(await logo.count(), 0)
        },
        { javaScriptEnabled, reducedMotion: 'reduce' },
      ))
}

/**
 * Tests a bulk edit: the licence on many talks, and back. An action is a click, or typing into one
 * field.
 */
async function bulkEditTests(
  { test, inDesk, signIn }: DeskSteps,
  url: string,
  token: string,
): Promise<void> {
  const send = async (method: string, path: string, body?: object) =>
    (await call(url, method, `/api/v2/${path}`, { token, ...(body && { body }) })).json
  const createTalks = async (word: string, count: number) => {
    const rows = Array.from({ length: count }, (_, index) => `${index},${word} ${index},CC BY 3.0`)
    const text = ['key,title,copyright_text', ...rows].join('\n')
    const table = { text, format: 'csv', name: `${word}.csv`, category: event, language: 'en' }
    const { id } = await send('POST', 'import', table)
    const reach = (state: string) =>
      until(`${word} to be ${state}`, async () => {
        const job = await send('GET', `import/${id}`)
        return job.state === state
      })
    await reach('planned')
    await send('POST', `import/${id}/apply`)
    await reach('applied')
  }
  const countTalks = async (word: string, licence: string) => {
    const { results } = await send('GET', `video?q=${word}&page_size=100`)
    return results.filter((talk: { copyright_text: string }) => talk.copyright_text === licence)
      .length
  }
  const sizes = [
    [true, 'Licensed', 412],
    [false, 'Plainlicensed', 12],
  ] as const
  for (const [javaScriptEnabled, word, count] of sizes)
    await test(`desk: licence on ${count} talks, and back${javaScriptEnabled ? '' : ', no scripts'}`, () =>
      inDesk(
        async (watched) => {
          const { page, open } = watched
          await createTalks(word, count)
          await signIn(watched, 'Edith Editor', 'editor')
          await open('/desk/talks')
          let actions = 0
          const act = async (action: Promise<void>) => {
            actions++
            await action
          }
          await act(page.getByLabel('Search talks').fill(word))
          await act(page.getByRole('button', { name: 'Search' }).click())
          await act(page.getByRole('button', { name: `Edit all ${count}` }).click())
          await page.getByText(`${count} talks are selected.`).waitFor()
          await act(page.getByLabel('Value').first().fill('CC BY 4.0'))
          await act(page.getByRole('button', { name: 'Show the plan' }).click())
          await page.getByText(`${count} talks: Licence: CC BY 3.0 → CC BY 4.0`).waitFor()
          assert.equal(await page.locator('tr[id^=talk-]').count(), Math.min(count, 50))
          if (javaScriptEnabled) await assertAccessible(page, 'the plan of a bulk edit')
          await act(page.getByRole('button', { name: 'Apply', exact: true }).click())
          await page.getByText(`${count} changed`).waitFor()
          assert.equal(await countTalks(word, 'CC BY 4.0'), Math.min(count, 100))
          assert.ok(actions <= 6, `${actions} actions to change the licence`)

          actions = 0
          await act(page.getByRole('button', { name: 'Undo', exact: true }).click())
          await page.getByText(`${count} undone`).waitFor()
          assert.equal(await countTalks(word, 'CC BY 3.0'), Math.min(count, 100))
          assert.ok(actions <= 2, `${actions} actions to undo it`)
        },
        { javaScriptEnabled, reducedMotion: 'reduce' },
      ))

  await test('desk: edits selected talks, without scripts', () =>
    inDesk(
      async (watched) => {
        const { page, open } = watched
        await signIn(watched, 'Edith Editor', 'editor')
        await open('/desk/talks?q=plainlicensed&column=licence')
        for (const number of [3, 7])
          await page.getByLabel(`Select Plainlicensed ${number}`, { exact: true }).check()
        await page.getByRole('button', { name: 'Edit these' }).click()
        await page.getByText('2 talks are selected.').waitFor()
        await page.locator('[name=operation-1]').selectOption('add tags')
        await page.locator('[name=value-1]').fill('chosen')
        await page.getByRole('button', { name: 'Show the plan' }).click()
        await page.getByText('2 talks: Tags: (empty) → chosen').waitFor()
        await page.getByRole('button', { name: 'Apply', exact: true }).click()
        await page.getByText('2 changed').waitFor()
      },
      { javaScriptEnabled: false },
    ))
}

/** Edits the summaries of all talks of the import on the page, with a token. */
async function editSummaries({ page, open }: WatchedPage): Promise<void> {
  const links = page.locator('tr[id^=talk-] a[href^="/video/"]')
  const hrefs = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
  await open('/desk/tokens')
  await page.getByLabel('Person or program').fill('Hand')
  await page.getByRole('button', { name: 'Create token' }).click()
  const token = await page.getByLabel('New token').inputValue()
  for (const href of hrefs) {
    const { status } = await fetch(`${new URL(page.url()).origin}/api/v2${href.slice(0, -2)}`, {
      method: 'PATCH',
      headers: { authorization: `Token ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ summary: 'By hand' }),
    })
    assert.equal(status, 200, href)
  }
}

/** Adds a virtual authenticator with a resident key to the browser. */
async function addAuthenticator(page: Page, { isUserVerified = true } = {}): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  })
}

/** Presses Tab until a button with this text has the focus. */
async function focusWithTab(page: Page, text: string): Promise<void> {
  for (let count = 0; count < 20; count++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(() => document.activeElement?.textContent ?? '')
    if (focused.trim() === text) return
  }
  assert.fail(`Tab does not reach "${text}"`)
}
