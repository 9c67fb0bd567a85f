// npm run budget -- [--url http://...] [--talks file] [--sample 50]
//
// Measures how many bytes a page loads before anything is played: of the heaviest of many real
// talks, of the heaviest of many real searches, and of what is at risk.

import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import { openBrowserArchive } from './archive.ts'
import { startChromium } from './chromium.ts'
import { jsonResponse } from './environment.ts'

const limits = { talk: 60_000, search: 80_000, atRisk: 40_000 }

const queries = [
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

interface LoadedFile {
  readonly kind: string
  readonly path: string
  readonly bytes: number
}

interface PageWeight {
  readonly path: string
  readonly total: number
  readonly files: LoadedFile[]
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
      const talk = await heaviestOf(browser, archive.url, await sampleTalks(archive.url))
      const search = await heaviestOf(
        browser,
        archive.url,
        queries.map((q) => `/search${q && `?${new URLSearchParams({ q })}`}`),
      )
      const atRisk = await weigh(browser, archive.url, '/at-risk')
      print('talk', talk, limits.talk)
      print('search', search, limits.search)
      print('at risk', atRisk, limits.atRisk)
      const areLight =
        talk.total <= limits.talk && search.total <= limits.search && atRisk.total <= limits.atRisk
      return areLight ? 0 : 1
    } finally {
      await browser.close()
    }
  } finally {
    await archive.stop()
  }
}

/**
 * Returns the talk with the longest description and a random sample. The seed is fixed, so that two
 * runs measure the same pages.
 */
async function sampleTalks(url: string): Promise<string[]> {
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
    for (const video of results) {
      if (video.description.length <= length) continue
      length = video.description.length
      longest = `/video/${video.id}/${video.slug}`
    }
    for (let drawn = 0; drawn < 4; drawn++) {
      const video = results[draw(results.length)]
      if (video) paths.add(`/video/${video.id}/${video.slug}`)
    }
  }
  return [await longestOfAll(url, longest), ...paths].slice(0, sample + 1)
}

/**
 * Finds the talk with the longest description. Reads the export, because the API cannot sort by
 * length.
 */
async function longestOfAll(url: string, fallback: string): Promise<string> {
  const response = await fetch(`${url}/api/v2/export.ndjson`)
  if (!response.ok || !response.body) return fallback
  let [longest, length, rest] = [fallback, -1, '']
  const compare = (line: string) => {
    if (line.length <= length) return
    const value = JSON.parse(line)
    const record = value.video ?? value.record ?? value
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
    lines.forEach(compare)
  }
  return longest
}

async function heaviestOf(
  browser: Browser,
  url: string,
  paths: readonly string[],
): Promise<PageWeight> {
  let heaviest: PageWeight | undefined
  for (const path of paths) {
    const weight = await weigh(browser, url, path)
    if (!heaviest || weight.total > heaviest.total) heaviest = weight
  }
  if (!heaviest) throw new Error('There are no pages to measure')
  return heaviest
}

/** Measures everything but pictures, compressed, with an empty cache. */
async function weigh(browser: Browser, url: string, path: string): Promise<PageWeight> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  try {
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    const responses = new Map<string, { kind: string; path: string; coding: string }>()
    const files: LoadedFile[] = []
    session.on('Network.responseReceived', ({ requestId, type, response }) => {
      const headers = Object.fromEntries(
        Object.entries(response.headers).map(([name, value]) => [name.toLowerCase(), value]),
      )
      responses.set(requestId, {
        kind: type,
        path: response.url.replace(url, ''),
        coding: headers['content-encoding'] ?? '',
      })
    })
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const response = responses.get(requestId)
      if (response && response.kind !== 'Image')
        files.push({ kind: response.kind, path: response.path, bytes: encodedDataLength })
    })
    await page.goto(url + path, { waitUntil: 'networkidle' })
    const html = [...responses.values()].find(({ kind }) => kind === 'Document')
    if (html?.coding !== 'br')
      throw new Error(`${path} is compressed with ${html?.coding || 'nothing'}, not with brotli`)
    return { path, total: files.reduce((sum, { bytes }) => sum + bytes, 0), files }
  } finally {
    await context.close()
  }
}

function print(name: string, { path, total, files }: PageWeight, limit: number): void {
  console.log(`\n${name}: the heaviest is ${path}`)
  for (const { kind, path, bytes } of files)
    console.log(`${String(bytes).padStart(8)}  ${kind.padEnd(12)} ${path.slice(0, 90)}`)
  const verdict = total <= limit ? 'within the limit' : 'TOO MUCH'
  console.log(`${String(total).padStart(8)}  of ${limit} bytes, with headers: ${verdict}`)
}
