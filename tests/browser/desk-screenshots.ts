import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { exampleTalks } from '../../server/demo/talks.ts'
import { call } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { type BrowserArchive, writeExamples } from './archive.ts'
import { type DeskArchive, signInWithCode } from './sign-in.ts'

// Screenshots of the desk. They show the example talks of the demo, in an archive of their own,
// with changes that are made for them.

/** Saves a screenshot of the page as it is. */
type SaveScreenshot = (page: Page, name: string) => Promise<void>

const desktop = { width: 1200, height: 800 }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

interface Desk extends DeskArchive {
  /** Sends a request with the token of an editor. Throws if it is refused. */
  // biome-ignore lint/suspicious/noExplicitAny: a wrong value breaks a later step
  send(method: string, path: string, body?: object): Promise<any>
  /** Opens a page for a person who is signed in. */
  signIn(name: string, options?: BrowserContextOptions): Promise<Page>
  /** The ids of the example talks, by key. */
  readonly ids: ReadonlyMap<string, number>
}

/** Prepares an archive and takes screenshots of the pages of the desk, in light and dark. */
export async function takeDeskScreenshots(
  archive: BrowserArchive,
  browser: Browser,
  save: SaveScreenshot,
): Promise<void> {
  const { url, token, databaseUrl } = await archive.empty('screenshots')
  const ids = await writeExamples(url, token)
  const site = { url: url.replace('127.0.0.1', 'localhost'), databaseUrl }
  const desk: Desk = {
    ...site,
    ids,
    async send(method, path, body) {
      const { status, text, json } = await call(url, method, `/api/v2/${path}`, {
        token,
        ...(body && { body }),
      })
      if (status >= 300) throw new Error(text)
      return json
    },
    async signIn(name, options) {
      const context = await browser.newContext({
        viewport: desktop,
        locale: 'en-GB',
        reducedMotion: 'reduce',
        ...options,
      })
      const page = await context.newPage()
      await signInWithCode(page, site, name, 'editor')
      return page
    },
  }
  const both: SaveScreenshot = async (page, name) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await save(page, `${name}-desktop-${colorScheme}`)
    }
  }
  const page = await desk.signIn('Ines Calder')
  const other = await desk.signIn('Tomas Aldane')
  await showQuestion(desk, page, other, both)
  await showHistory(desk, page, other, both)
  await showTalks(desk, page, both)
  await showBulkEdit(desk, page, both)
  await showEditor(desk, page, both, save)
  await showMerge(desk, page, both)
  await showImport(desk, page, both)
  await showInbox(desk, page, both)
}

const editorOf = ({ url, ids }: Desk, key: string) => `${url}/desk/talk/${ids.get(key)}`

async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(values))
    await page.locator(`form[data-editor] [name=${name}]`).fill(value)
}

/** Changes fields of a talk in the editor. */
async function edit(page: Page, editor: string, values: Readonly<Record<string, string>>) {
  await page.goto(editor)
  await fill(page, values)
  await page.keyboard.press('Control+s')
  await page.getByText('Saved.').waitFor()
}

/** Two people change the title of the same talk. */
async function showQuestion(desk: Desk, page: Page, other: Page, save: SaveScreenshot) {
  const editor = editorOf(desk, 'tiny-queues')
  await page.goto(editor)
  await edit(other, editor, {
    title: 'Ten years of very small queues',
    summary: 'What a decade with a queue of four hundred lines taught one team.',
  })
  await fill(page, {
    title: 'Ten Years of Tiny Queues',
    tags: 'queues\noperations\ndatabases\njobs',
  })
  await page.keyboard.press('Control+s')
  await page.getByText('another person changed the same fields').waitFor()
  await save(page, 'desk-question')
  await page.keyboard.press('3')
  await page.keyboard.press('Enter')
  await page.getByText('Saved.').waitFor()
}

async function showHistory(desk: Desk, page: Page, other: Page, save: SaveScreenshot) {
  const editor = editorOf(desk, 'restore')
  await edit(page, editor, {
    summary:
      'A year of weekly restores: 52 attempts, 3 failures, and why those three were the ' +
      'cheapest of our lives.',
  })
  await edit(other, editor, {
    description:
      'Includes the checklist, the script of sixty lines behind it, and the graph that convinced ' +
      'the people who pay for it.',
    tags: 'backups\ndatabases\nPostgreSQL',
  })
  await page.goto(`${editor}/history`)
  await save(page, 'desk-history')
}

async function showTalks({ url }: Desk, page: Page, save: SaveScreenshot) {
  await page.goto(`${url}/desk/talks?q=lantern&column=speakers&column=date&column=licence`)
  for (const index of [0, 1, 3]) await page.locator('tbody [type=checkbox]').nth(index).check()
  await page.evaluate(() => scrollTo(0, 0))
  await save(page, 'desk-talks')
}

async function showBulkEdit({ url }: Desk, page: Page, save: SaveScreenshot) {
  await page.goto(`${url}/desk/edit?all=1&state=live&q=lantern`)
  await page.getByLabel('Value').first().fill('CC BY 4.0')
  await page.getByRole('button', { name: 'Show the plan' }).click()
  await page.getByText('Planned', { exact: true }).waitFor()
  await save(page, 'desk-bulk-edit')
}

async function showEditor(desk: Desk, page: Page, save: SaveScreenshot, savePhone: SaveScreenshot) {
  const path = `${editorOf(desk, 'rename')}?list=${encodeURIComponent('q=lantern')}`
  await page.goto(path)
  await save(page, 'desk-editor')
  const onPhone = await desk.signIn('Ines Calder', phone)
  for (const colorScheme of ['light', 'dark'] as const) {
    await onPhone.emulateMedia({ colorScheme })
    await onPhone.goto(path)
    await savePhone(onPhone, `desk-editor-phone-${colorScheme}`)
  }
  await onPhone.context().close()
}

/** Merges two spellings of one speaker. */
async function showMerge({ url, send }: Desk, page: Page, save: SaveScreenshot) {
  const talk = exampleTalks.find(({ key }) => key === 'german-compiler')
  await send('POST', 'video', {
    title: `${talk?.title}, Teil 2`,
    category: talk?.category,
    language: talk?.language,
    speakers: ['Friedhelm Osterwieck Lund'],
    state: 1,
  })
  await page.goto(`${url}/desk/speakers`)
  await save(page, 'desk-speakers')
  await page.getByRole('button', { name: /^Merge Friedhelm/ }).click()
  await page.getByText('1 talk changes.').waitFor()
  await save(page, 'desk-merge')
}

/** Plans an import of talks that are in the archive with other values, and of a new one. */
async function showImport({ url }: Desk, page: Page, save: SaveScreenshot) {
  const cell = (value: unknown) => `"${String(value ?? '').replaceAll('"', '""')}"`
  const columns = ['key', 'title', 'summary', 'duration', 'source_url', 'recorded'] as const
  const talks = exampleTalks.filter(({ category }) => category === 'Quiet Systems Meetup')
  const changes = {
    logs: { title: 'Logs for people who are asleep (extended)', duration: 2160 },
    restore: { summary: 'Fifty-two restores in one year, and the three that failed.' },
  }
  const rows = talks.map((talk) => ({ ...talk, ...changes[talk.key as keyof typeof changes] }))
  const added = { key: 'letters', title: 'Letters to the next operator', recorded: '2025-03-18' }
  const lines = [...rows, added].map((row) =>
    columns.map((column) => cell((row as Record<string, unknown>)[column])).join(','),
  )
  const buffer = Buffer.from([columns.join(','), ...lines].join('\n'))
  await page.goto(`${url}/desk/import`)
  const file = { name: 'quiet-systems.csv', mimeType: 'text/csv', buffer }
  await page.getByLabel('File', { exact: true }).setInputFiles(file)
  await page.getByLabel('Event (optional)').fill('Quiet Systems Meetup')
  await page.getByLabel('Language (optional)').fill('English')
  await page.getByRole('button', { name: 'Show the plan' }).click()
  await page.waitForURL(/\/desk\/import\/\d+$/)
  await page.getByText('Planned', { exact: true }).waitFor()
  await page.locator('nav.views').evaluate((views) => views.scrollIntoView())
  await save(page, 'desk-import')
}

/** Leaves a talk with unsaved changes and schedules a draft. The planned imports wait as well. */
async function showInbox(desk: Desk, page: Page, save: SaveScreenshot) {
  const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
  await desk.send('PUT', `video/${desk.ids.get('draft')}/publication`, {
    publish_at: `${day}T09:00:00Z`,
  })
  await page.goto(editorOf(desk, 'clocks'))
  await fill(page, { description: 'Leap seconds, time zones and a clock on a church.' })
  await page.locator('[name=description]').blur()
  await until('the unsaved changes', async () => {
    await page.goto(`${desk.url}/desk`)
    return page.getByText('not saved').isVisible()
  })
  await page.keyboard.press('j')
  await save(page, 'desk-inbox')
}
