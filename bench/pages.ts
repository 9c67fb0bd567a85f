// npm run pages -- --url http://... [--rounds 5] [--cookie '...' --token ...]
//
// Compares the time of a page with that of the JSON responses with the same data: alternating, over
// one connection, uncompressed. Fails if the ratio of the medians is above two. `npm run browser`
// runs it on the real talks. With the cookie of a session and a token of an administrator, it
// measures the pages of the desk.

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
  options: {
    url: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    cookie: { type: 'string' },
    token: { type: 'string' },
  },
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
  const headers = {
    accept,
    host: values.cookie === undefined ? `${hostname}:${port}` : `localhost:${port}`,
    ...(accept === 'text/html' && values.cookie !== undefined && { cookie: values.cookie }),
    ...(accept !== 'text/html' && values.token && { authorization: `Token ${values.token}` }),
  }
  request({ agent, hostname, port, path: base + path, headers, timeout: 20_000 }, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      if (response.statusCode === 200) resolve({ ms: performance.now() - startedMs, text })
      else reject(new Error(`${path}: ${response.statusCode} ${text.slice(0, 200)}`))
    })
  })
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

/** Measurements of which one has to be within the limit: the machine may be busy. */
const maxMeasurements = 3

/** Measures pages until they are fast enough. Returns whether they were. */
async function measure(...[name, pairs]: Parameters<typeof measureOnce>): Promise<boolean> {
  for (let count = 0; count < maxMeasurements; count++)
    if (await measureOnce(name, pairs)) return true
  return false
}

/** Measures all pairs in each round and prints the medians. Returns whether the pages are fast. */
async function measureOnce(
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

interface Listed {
  readonly results: readonly { readonly id: number; readonly slug: string }[]
}

const readJson = async (path: string) =>
  JSON.parse((await get(path, 'application/json')).text) as Listed

/** Measures the pages of readers. */
async function measurePages(): Promise<boolean[]> {
  const { results } = await readJson('/api/v2/video?page_size=20&page=2')
  const talks = results.map(({ id, slug }) => {
    const record = `/api/v2/video/${id}`
    return [`/video/${id}/${slug}`, [record, `${record}/facts`, `${record}/related`]] as const
  })
  const searches = queries.map((q) => {
    const query = new URLSearchParams({ q })
    return [`/search?${query}`, [`/api/v2/video?${query}&include=facets,snippets`]] as const
  })
  return [
    await measure('talk page', talks),
    await measure('search page', searches),
    await measure('what is at risk', tenTimes('/at-risk', '/api/v2/source/report')),
  ]
}

/** Measures the pages of the desk. */
async function measureDesk(): Promise<boolean[]> {
  const { results } = await readJson('/api/v2/video?page_size=20')
  const ids = results.map(({ id }) => id)
  const api = '/api/v2'
  const searches = queries.map((q) => {
    const query = new URLSearchParams({ q })
    return [`/desk/talks?${query}`, [`${api}/video?${query}&page_size=50`]] as const
  })
  const editors = ids.map((id) => {
    const record = `${api}/video/${id}`
    return [`/desk/talk/${id}`, [record, `${record}/publication`]] as const
  })
  const histories = ids.map((id) => {
    const record = `${api}/video/${id}`
    return [`/desk/talk/${id}/history`, [record, `${record}/revisions`]] as const
  })
  return [
    await measure('list of the desk', searches),
    await measure('editor', editors),
    await measure('history', histories),
    await measure('people', tenTimes('/desk/people', `${api}/person`)),
    await measure('audit log', tenTimes('/desk/audit', `${api}/audit`)),
    await measure('imports', tenTimes('/desk/import', `${api}/import`)),
  ]
}

const tenTimes = (page: string, json: string) =>
  Array.from({ length: 10 }, () => [page, [json]] as const)

const areFast = await (values.cookie === undefined ? measurePages() : measureDesk())
agent.destroy()
process.exitCode = areFast.every(Boolean) ? 0 : 1
