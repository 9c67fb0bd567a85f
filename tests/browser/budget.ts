// What `npm run budget` runs: node tests/browser/budget.ts [--url http://...] [--talks file]
// [--sample 50] How many bytes a reader loads before anything is played: of the worst of many real
// talks, and of the worst of many real searches.

import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import { openBrowserArchive } from './archive.ts'
import { startChromium } from './chromium.ts'
import { jsonResponse } from './stage.ts'

const limits = { talk: 60_000, search: 80_000 }

const questions = [
  ...[
    'python',
    'data',
    'machine learning',
    'django',
    'asyncio',
    'testing',
    'web',
    'guido rosum',
    'pandas performance',
    'type hints',
  ],
  ...[
    '"keynote"',
    'science -data',
    'packaging',
    'docker kubernetes',
    'flask api',
    'numpy',
    'introducción',
    'security',
    'concurrency',
    '',
  ],
]

interface Loaded {
  readonly kind: string
  readonly path: string
  readonly bytes: number
}

interface Weighed {
  readonly path: string
  readonly total: number
  readonly loaded: Loaded[]
}

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    talks: { type: 'string' },
    sample: { type: 'string', default: '50' },
  },
})
const sample = Number(values.sample)
process.exitCode = await main()

async function main(): Promise<number> {
  const archive = openBrowserArchive(values)
  try {
    await archive.ready
    const browser = await startChromium()
    try {
      const talk = await worstOf(browser, archive.url, await someTalks(archive.url))
      const search = await worstOf(
        browser,
        archive.url,
        questions.map((q) => `/search${q && `?${new URLSearchParams({ q })}`}`),
      )
      show('talk', talk, limits.talk)
      show('search', search, limits.search)
      return talk.total <= limits.talk && search.total <= limits.search ? 0 : 1
    } finally {
      await browser.close()
    }
  } finally {
    await archive.stop()
  }
}

/**
 * Any, and the one that has the most to say. Numbers are drawn from a fixed row, so that two runs
 * weigh the same.
 */
async function someTalks(url: string): Promise<string[]> {
  const { count } = await jsonResponse(`${url}/api/v2/video?page_size=1`)
  const paths = new Set<string>()
  const pageSize = 50
  const pages = Math.max(1, Math.min(200, Math.floor(count / pageSize)))
  let [longest, length] = ['', -1]
  let seed = 20_120_905
  const draw = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (let round = 0; round < 25 && paths.size < sample; round++) {
    const { results } = await jsonResponse(
      `${url}/api/v2/video?page_size=${pageSize}&page=${1 + draw(pages)}`,
    )
    for (const it of results) {
      if (it.description.length <= length) continue
      length = it.description.length
      longest = `/video/${it.id}/${it.slug}`
    }
    for (let take = 0; take < 4; take++) {
      const it = results[draw(results.length)]
      if (it) paths.add(`/video/${it.id}/${it.slug}`)
    }
  }
  return [await longestOfAll(url, longest), ...paths].slice(0, sample + 1)
}

/** By the export, which has all of them: there is no order by length. */
async function longestOfAll(url: string, otherwise: string): Promise<string> {
  const response = await fetch(`${url}/api/v2/export.ndjson`)
  if (!response.ok || !response.body) return otherwise
  let [longest, length, rest] = [otherwise, -1, '']
  const look = (line: string) => {
    if (line.length <= length) return
    const it = JSON.parse(line)
    const record = it.video ?? it.record ?? it
    if (
      typeof record.description !== 'string' ||
      record.state !== 1 ||
      record.description.length <= length
    )
      return
    length = record.description.length
    longest = `/video/${record.id}/${record.slug}`
  }
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    lines.forEach(look)
  }
  return longest
}

async function worstOf(browser: Browser, url: string, paths: readonly string[]): Promise<Weighed> {
  let worst: Weighed | undefined
  for (const path of paths) {
    const weighed = await weigh(browser, url, path)
    if (!worst || weighed.total > worst.total) worst = weighed
  }
  if (!worst) throw new Error('There is nothing to weigh')
  return worst
}

/** Everything but pictures, as it comes over the wire, by somebody who was never here. */
async function weigh(browser: Browser, url: string, path: string): Promise<Weighed> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  try {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    const asked = new Map<string, { kind: string; path: string; coding: string }>()
    const loaded: Loaded[] = []
    session.on('Network.responseReceived', ({ requestId, type, response }) => {
      const headers = Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), value]),
      )
      asked.set(requestId, {
        kind: type,
        path: response.url.replace(url, ''),
        coding: headers['content-encoding'] ?? '',
      })
    })
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const it = asked.get(requestId)
      if (it && it.kind !== 'Image')
        loaded.push({ kind: it.kind, path: it.path, bytes: encodedDataLength })
    })
    await page.goto(url + path, { waitUntil: 'networkidle' })
    const page0 = [...asked.values()].find(({ kind }) => kind === 'Document')
    if (page0?.coding !== 'br')
      throw new Error(`${path} came as ${page0?.coding || 'it is'}, not packed with brotli`)
    return { path, total: loaded.reduce((sum, { bytes }) => sum + bytes, 0), loaded }
  } finally {
    await context.close()
  }
}

function show(name: string, { path, total, loaded }: Weighed, limit: number): void {
  console.log(`\n${name}: the worst is ${path}`)
  for (const it of loaded)
    console.log(`${String(it.bytes).padStart(8)}  ${it.kind.padEnd(12)} ${it.path.slice(0, 90)}`)
  console.log(
    `${String(total).padStart(8)}  of ${limit} bytes, with headers: ${total <= limit ? 'within the limit' : 'TOO MUCH'}`,
  )
}
