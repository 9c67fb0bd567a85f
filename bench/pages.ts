// npm run pages -- --url http://... [--rounds 5]
//
// Compares the time of a page with that of the JSON responses with the same data: alternating, over
// one connection, uncompressed. Fails if the ratio of the medians is above two. `npm run browser`
// runs it on the real talks.

import { Agent, request } from 'node:http'
import { parseArgs } from 'node:util'

const maxRatio = 2
const queries = [
  'python',
  'django',
  'guido rossum',
  'asyncio',
  'machine learning',
  'testing',
  'type hints',
  'pandas',
  'web scraping',
  'flask',
]

const { values } = parseArgs({
  options: { url: { type: 'string' }, rounds: { type: 'string', default: '5' } },
})
if (values.url === undefined) {
  console.error('Usage: npm run pages -- --url http://127.0.0.1:8000 (a server with talks)')
  process.exit(2)
}
const { hostname, port, pathname } = new URL(values.url)
const base = pathname.replace(/\/$/, '')
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

interface TimedResponse {
  readonly ms: number
  readonly text: string
}

function get(path: string, accept: string): Promise<TimedResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<TimedResponse>()
  const startedMs = performance.now()
  request(
    { agent, hostname, port, path: base + path, headers: { accept }, timeout: 20_000 },
    (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (response.statusCode === 200) resolve({ ms: performance.now() - startedMs, text })
        else reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 200)}`))
      })
    },
  )
    .on('error', reject)
    .end()
  return promise
}

/** Returns the milliseconds of a page, and of all JSON responses with its data. */
async function measurePair(page: string, json: readonly string[]): Promise<[number, number]> {
  const { ms } = await get(page, 'text/html')
  let sum = 0
  for (const path of json) sum += (await get(path, 'application/json')).ms
  return [ms, sum]
}

const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

/** Measures all pairs in each round and prints the medians. Returns whether the pages are fast. */
async function measure(
  name: string,
  pairs: readonly (readonly [string, readonly string[]])[],
): Promise<boolean> {
  const pageMs: number[] = []
  const jsonMs: number[] = []
  // Warm-up: plans statements and compiles code.
  for (const [page, json] of pairs) await measurePair(page, json)
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [page, json] of pairs) {
      const [forPage, forJson] = await measurePair(page, json)
      pageMs.push(forPage)
      jsonMs.push(forJson)
    }
  const ratio = median(pageMs) / median(jsonMs)
  console.log(
    `${name}: ${median(pageMs).toFixed(1)} ms, as JSON ${median(jsonMs).toFixed(1)} ms: ` +
      `ratio ${ratio.toFixed(2)} (${pageMs.length} of each)`,
  )
  return ratio <= maxRatio
}

const { results } = JSON.parse(
  (await get('/api/v2/video?page_size=20&page=2', 'application/json')).text,
) as {
  results: { id: number; slug: string }[]
}
const talks = results.map(({ id, slug }) => {
  const record = `/api/v2/video/${id}`
  return [`/video/${id}/${slug}`, [record, `${record}/facts`, `${record}/related`]] as const
})
const searches = queries.map((q) => {
  const query = new URLSearchParams({ q })
  return [`/search?${query}`, [`/api/v2/video?${query}&include=facets,snippets`]] as const
})
const areFast = [await measure('talk page', talks), await measure('search page', searches)]
agent.destroy()
process.exitCode = areFast.every(Boolean) ? 0 : 1
