import assert from 'node:assert/strict'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { BrowserArchive } from './archive.ts'
import type { Tally } from './chromium.ts'

// What every part of the browser tests is given, and a page that is watched: whatever goes wrong on
// it fails the test.

export interface BrowserEnvironment {
  readonly archive: BrowserArchive
  readonly browser: Browser
  readonly test: Tally['test']
  /** One of how many payloads is tried. */
  readonly everyPayload: number
}

export interface Watched {
  readonly page: Page
  /** Opens a path of the archive; its status. */
  open(path: string): Promise<number>
  /**
   * What went wrong so far: errors on the console, scripts that failed, the policy broken, others
   * asked for something.
   */
  readonly wrong: string[]
  /** Pictures that did not come. They have a test of their own. */
  readonly pictures: string[]
}

/** Opens a fresh browser window, runs, and looks whether anything went wrong on the way. */
export async function onPage(
  { archive, browser }: Pick<BrowserEnvironment, 'archive' | 'browser'>,
  run: (watched: Watched) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    ...options,
  })
  try {
    const wrong: string[] = []
    const pictures: string[] = []
    await context.exposeBinding(
      'broken',
      (_, what: string) => void wrong.push(`the policy was broken: ${what}`),
    )
    await context.addInitScript(() => {
      const { broken } = window as unknown as { broken(what: string): void }
      addEventListener('securitypolicyviolation', (it) =>
        broken(`${it.violatedDirective} ${it.blockedURI} ${it.sourceFile}:${it.lineNumber}`),
      )
    })
    context.on('request', (request) => {
      const url = new URL(request.url())
      if (url.origin !== new URL(archive.url).origin && !['data:', 'blob:'].includes(url.protocol))
        wrong.push(`asked ${url.href}`)
    })
    const page = await context.newPage()
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => {
      if (!['error', 'warning'].includes(message.type())) return
      const { url } = message.location()
      if (/\/picture\/\d+\//.test(url)) pictures.push(url)
      // A page that says 404 is a page that loaded.
      else if (url !== page.url()) wrong.push(`${message.text()} ${url}`)
    })
    const open = async (path: string) => {
      const response = await page.goto(archive.url + path)
      return response?.status() ?? 0
    }
    await run({ page, open, wrong, pictures })
    assert.deepEqual(wrong, [])
  } finally {
    await context.close()
  }
}

/** The path and query that the page is at. */
export function at(page: Page): string {
  const { pathname, search } = new URL(page.url())
  return pathname + search
}

export interface Examples {
  /** A talk with speakers, tags and a description. */
  readonly talk: {
    readonly id: number
    readonly slug: string
    readonly title: string
    readonly speakers: string[]
    readonly tags: string[]
  }
  readonly path: string
  readonly category: string
  readonly speaker: string
  readonly tag: string
  readonly language: string
  readonly year: string
}

const kept = new Map<string, Promise<Examples>>()

/** One of each kind, of this archive. */
export function examples({ url }: BrowserArchive): Promise<Examples> {
  const found = kept.get(url) ?? findExamples(url)
  kept.set(url, found)
  return found
}

async function findExamples(url: string): Promise<Examples> {
  const { results } = await jsonResponse(`${url}/api/v2/video?q=python&page_size=50`)
  const all =
    results.length > 0 ? results : (await jsonResponse(`${url}/api/v2/video?page_size=50`)).results
  const rich = (it: Examples['talk'] & { description: string; recorded: string | null }) =>
    it.speakers.length > 0 &&
    it.tags.length > 0 &&
    it.description.length > 200 &&
    it.recorded !== null
  const talk = all.find(rich) ?? all[0]
  const path = `/video/${talk.id}/${talk.slug}`
  const html = await (await fetch(url + path, { headers: { accept: 'text/html' } })).text()
  const link = (kind: string) => new RegExp(`href="(/${kind}/[^"]+)"`).exec(html)?.[1] ?? ''
  const year = `/year/${talk.recorded?.slice(0, 4)}`
  return {
    talk,
    path,
    category: link('category'),
    speaker: link('speaker'),
    tag: link('tag'),
    language: link('language'),
    year,
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at what came, and fail where it is something else
export async function jsonResponse(address: string): Promise<any> {
  const response = await fetch(address, { headers: { accept: 'application/json' } })
  if (!response.ok) throw new Error(`${response.status} ${address}`)
  return response.json()
}

/** Every kind of page, by name. */
export async function pageKinds(archive: BrowserArchive): Promise<Record<string, string>> {
  const { path, talk, category, speaker, tag, language, year } = await examples(archive)
  return {
    home: '/',
    search: '/search?q=python',
    'all talks': '/search',
    'search without results': '/search?q=xqzvkjwpq&year=1999',
    talk: path,
    embed: `/embed/${talk.id}`,
    events: '/category',
    event: category,
    speakers: '/speaker',
    'speakers with b': '/speaker?character=b',
    speaker,
    tags: '/tag',
    tag,
    language,
    year,
    about: '/about',
    'not found': '/nowhere',
    'wrong question': '/search?year=next',
  }
}
