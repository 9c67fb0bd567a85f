// What `npm run pages` runs: node bench/pages.ts --url http://... [--rounds 5] How long the server
// takes for a page, against the JSON answers that carry the same data: in turn, over one
// connection, as it is (not packed). Fails above twice as long, at the median. `npm run browser`
// calls it on the real talks.

import { Agent, request } from 'node:http'
import { parseArgs } from 'node:util'

const limit = 2
const questions = [
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
  console.error('Name a server that has talks: npm run pages -- --url http://127.0.0.1:8000')
  process.exit(2)
}
const { hostname, port, pathname } = new URL(values.url)
const base = pathname.replace(/\/$/, '')
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

interface Got {
  readonly ms: number
  readonly text: string
}

function get(path: string, accept: string): Promise<Got> {
  const { promise, resolve, reject } = Promise.withResolvers<Got>()
  const began = performance.now()
  request(
    { agent, hostname, port, path: base + path, headers: { accept }, timeout: 20_000 },
    (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString()
        if (response.statusCode === 200) resolve({ ms: performance.now() - began, text })
        else reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 200)}`))
      })
    },
  )
    .on('error', reject)
    .end()
  return promise
}

/** The time of the page, and of all of the JSON. */
async function pair(page: string, json: readonly string[]): Promise<[number, number]> {
  const { ms } = await get(page, 'text/html')
  let sum = 0
  for (const path of json) sum += (await get(path, 'application/json')).ms
  return [ms, sum]
}

const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

async function measure(
  name: string,
  pairs: readonly (readonly [string, readonly string[]])[],
): Promise<boolean> {
  const pages: number[] = []
  const answers: number[] = []
  // Once for nothing: connections plan, pages are compiled.
  for (const [page, json] of pairs) await pair(page, json)
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [page, json] of pairs) {
      const [ofPage, ofJson] = await pair(page, json)
      pages.push(ofPage)
      answers.push(ofJson)
    }
  const ratio = median(pages) / median(answers)
  console.log(
    `${name}: ${median(pages).toFixed(1)} ms, as JSON ${median(answers).toFixed(1)} ms: ${ratio.toFixed(2)} to 1 (${pages.length} each)`,
  )
  return ratio <= limit
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
const searches = questions.map((q) => {
  const asked = new URLSearchParams({ q })
  return [`/search?${asked}`, [`/api/v2/video?${asked}&include=facets,snippets`]] as const
})
const held = [await measure('talk page', talks), await measure('search page', searches)]
agent.destroy()
process.exitCode = held.every(Boolean) ? 0 : 1
