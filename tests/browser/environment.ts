import assert from 'node:assert/strict'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { indexedPaths } from '../../web/paths.ts'
import type { BrowserArchive } from './archive.ts'
import type { Tally } from './chromium.ts'

// The environment of the browser tests, and a page on which every error, violation of the content
// security policy and request to another host fails the test.

export interface BrowserEnvironment {
  readonly archive: BrowserArchive
  readonly browser: Browser
  readonly test: Tally['test']
  /** Only every n-th payload is tried. */
  readonly everyPayload: number
}

export interface WatchedPage {
  readonly page: Page
  /** Opens a path of the archive, and returns its status. */
  open(path: string): Promise<number>
  /**
   * Errors of the console and of scripts, violations of the content security policy, and requests
   * to other hosts.
   */
  readonly errors: string[]
  /** Pictures that failed to load. They have a test of their own. */
  readonly pictures: string[]
}

/** Opens a page in a fresh browser context, runs a test on it, and fails if there were errors. */
export async function onPage(
  { archive, browser }: Pick<BrowserEnvironment, 'archive' | 'browser'>,
  run: (watched: WatchedPage) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    ...options,
  })
  try {
    const errors: string[] = []
    const pictures: string[] = []
    await context.exposeBinding(
      'reportViolation',
      (_, violation: string) => void errors.push(`violates the policy: ${violation}`),
    )
    await context.addInitScript(() => {
      const { reportViolation } = window as unknown as { reportViolation(violation: string): void }
      addEventListener('securitypolicyviolation', (event) => {
        const { violatedDirective, blockedURI, sourceFile, lineNumber } = event
        reportViolation(`${violatedDirective} ${blockedURI} ${sourceFile}:${lineNumber}`)
      })
    })
    context.on('request', (request) => {
      const url = new URL(request.url())
      if (url.origin !== new URL(archive.url).origin && !['data:', 'blob:'].includes(url.protocol))
        errors.push(`request to ${url.href}`)
    })
    const page = await context.newPage()
    page.on('pageerror', ({ message }) => {
      // The browser skips the animation between two pages if the machine is slow.
      if (!message.startsWith('Transition was aborted')) errors.push(message)
    })
    page.on('console', (message) => {
      if (!['error', 'warning'].includes(message.type())) return
      const { url } = message.location()
      if (/\/picture\/\d+\//.test(url)) pictures.push(url)
      // The browser logs the status of a page that is a 404 on purpose.
      else if (url !== page.url()) errors.push(`${message.text()} ${url}`)
    })
    const open = async (path: string) => {
      const response = await page.goto(archive.url + path)
      return response?.status() ?? 0
    }
    await run({ page, open, errors, pictures })
    assert.deepEqual(errors, [])
  } finally {
    await context.close()
  }
}

/** Returns the path and query of the URL of a page. */
export function pathOf(page: Page): string {
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

const cache = new Map<string, Promise<Examples>>()

/** Finds one page of each kind in an archive. */
export function examples({ url }: BrowserArchive): Promise<Examples> {
  const found = cache.get(url) ?? findExamples(url)
  cache.set(url, found)
  return found
}

async function findExamples(url: string): Promise<Examples> {
  const list = async (query: string) =>
    (await jsonResponse(`${url}/api/v2/video?${query}page_size=100`)).results
  // The newest and best talks on Python, or in a small archive all.
  const newest = await list('q=python&ordering=-recorded&')
  const all = [...newest, ...(await list('q=python&')), ...(await list(''))]
  type Talk = Examples['talk'] & {
    description: string
    recorded: string | null
    source_url: string | null
  }
  const isComplete = ({ speakers, tags, description, recorded, source_url }: Talk) =>
    speakers.length > 0 &&
    tags.length > 0 &&
    description.length > 200 &&
    recorded !== null &&
    source_url
  const talk = all.find(isComplete) ?? all[0]
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

/** Requests JSON; fails unless the status is 2xx. */
// biome-ignore lint/suspicious/noExplicitAny: a test fails if the value is not what it expects
export async function jsonResponse(url: string): Promise<any> {
  const response = await fetch(url, { headers: { accept: 'application/json' } })
  if (!response.ok) throw new Error(`${response.status} ${url}`)
  return response.json()
}

/** Returns a path of every kind of page, by name. */
export async function pageKinds(archive: BrowserArchive): Promise<Record<string, string>> {
  const { path, talk, category, speaker, tag, language, year } = await examples(archive)
  const kinds = {
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
    'my talks': '/my-talks',
    follow: `${category}/follow`,
    suggest: `${path}/suggest`,
    'suggest a missing talk': '/suggest',
    'not found': '/nowhere',
    'invalid search': '/search?year=next',
  }
  const others = indexedPaths.filter((path) => !Object.values(kinds).includes(path))
  return { ...kinds, ...Object.fromEntries(others.map((path) => [path.slice(1), path])) }
}
