// npm run soak -- [--minutes 10] [--rate 300] [--records 3000]
//
// Measures the memory of a server under constant load. Exits with 1 if it grows between the middle
// and the end of the run, or if a response is unexpected.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createToken } from '../server/auth/auth.ts'
import { openPool } from '../server/platform/db/pool.ts'
import { findPostgres } from '../server/platform/db/private-postgres.ts'
import { launch } from '../tests/faults/environment.ts'
import { freePort } from '../tests/support/free-port.ts'
import { type CallOptions, call } from '../tests/support/harness.ts'
import { migratedDatabase, startPostgres } from '../tests/support/postgres.ts'
import { until } from '../tests/support/until.ts'
import { pack } from './environment.ts'
import { median } from './measures.ts'
import { seed } from './seed.ts'

// Collects garbage on SIGUSR2. V8 rarely does so while memory is free, and garbage would look like
// growth.
const gcFlags = [
  '--expose-gc',
  '--import',
  'data:text/javascript,process.on("SIGUSR2", () => gc())',
]
const idleS = 10
const warmUpS = 15
/** The growth that is allowed between the halves: the larger of a number of bytes and a share. */
const maxGrowth = { bytes: 3e6, share: 0.03 }
/**
 * The limit of concurrent requests. If the server is too slow for the rate, requests are skipped.
 */
const maxPending = 200

const keepAlive = new Agent({ keepAlive: true, maxSockets: 50 })
const newConnection = new Agent({ keepAlive: false })
const metricNames = {
  rss: 'process_resident_memory_bytes',
  heap: 'nodejs_heap_size_used_bytes',
  external: 'nodejs_external_memory_bytes',
}

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      rate: { type: 'string', default: '300' },
      records: { type: 'string', default: '3000' },
    },
  })
  const [minutes, rate, records] = [values.minutes, values.rate, values.records].map(Number) as [
    number,
    number,
    number,
  ]
  if (!(minutes > 0 && rate >= 1 && records >= 1))
    throw new Error('--minutes, --rate and --records must be positive numbers')

  const postgres = await startPostgres({ version: 15 })
  const cleanups: (() => unknown)[] = []
  try {
    const databaseUrl = await migratedDatabase(postgres, 'talkshelf')
    await seed(findPostgres(process.env), postgres.url('talkshelf'), records, () => {})
    const pool = openPool({ url: databaseUrl, connections: 1, applicationName: 'soak' })
    const { token } = await createToken(pool, { name: 'Soak', role: 'editor', days: 1 })
    await pool.close()

    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    // Ends with this process. Logs as much as in production.
    const server = launch(
      { dir: postgres.dir, atEnd: (step) => cleanups.push(step) },
      [process.execPath, ...gcFlags, pack(postgres.dir), 'serve'],
      {
        log: 'server.log',
        variables: {
          ...process.env,
          DATABASE_URL: databaseUrl,
          PORT: String(port),
          HOST: '',
          PUBLIC_URL: '',
        },
      },
    )
    await until(
      'the server to be ready or to end',
      async () =>
        server.child.exitCode !== null || (await call(url, 'GET', '/readyz')).status === 200,
    )
    if (server.child.exitCode !== null)
      throw new Error(`The server ended:\n${readFileSync(`${postgres.dir}/server.log`, 'utf8')}`)
    await sleep(idleS * 1000)
    const [, idleKb = ''] =
      /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8')) ?? []
    console.log(`Node ${process.versions.node}, PostgreSQL ${postgres.version}, ${records} records`)
    console.log(`Idle, ${idleS} s after the start: ${megabytes(Number(idleKb) * 1024)} MB resident`)

    // Fills the caches before the memory is measured: reads every record once, then sends all kinds
    // of requests for a while.
    for (let id = 1; id <= records; id++)
      await call(url, 'GET', `/api/v2/video/${id}`, {}, keepAlive)
    const load = startLoad(requestKinds(url, token, records), rate)
    await sleep(warmUpS * 1000)
    const samples = await sampleMemory(url, load, minutes, () => server.child.kill('SIGUSR2'))
    await load.stop()
    return reportGrowth(samples, load, minutes)
  } finally {
    for (const step of cleanups.reverse()) await step()
    await postgres.stop()
  }
}

interface Load {
  /** The number of responses by kind and status. */
  readonly responses: Map<string, number>
  readonly unexpected: string[]
  skipped: number
  stop(): Promise<void>
}

interface RequestKind {
  readonly name: string
  /** The share of all requests. */
  readonly share: number
  readonly expected: readonly number[]
  send(): Promise<{ status: number }>
}

/** Returns the mix of requests. */
function requestKinds(url: string, token: string, records: number): readonly RequestKind[] {
  const etags = new Map<number, string>()
  // Zipf's law: record 2 is read half as often as record 1, record 3 a third as often.
  const randomId = () => Math.floor((records + 1) ** Math.random())
  const path = (id: number) => `/api/v2/video/${id}`
  async function read(
    agent: Agent,
    options: (id: number) => CallOptions = () => ({}),
  ): Promise<{ status: number }> {
    const id = randomId()
    const reply = await call(url, 'GET', path(id), options(id), agent)
    if (reply.headers.etag) etags.set(id, reply.headers.etag)
    return reply
  }
  const patch = (body: unknown, options: CallOptions = { token }) =>
    call(url, 'PATCH', path(randomId()), { body, ...options }, keepAlive)
  const found = [200, 404] // Drafts are not public.

  return [
    { name: 'GET', share: 0.58, expected: found, send: () => read(keepAlive) },
    {
      name: 'GET, conditional',
      share: 0.22,
      expected: [304, ...found],
      send: () =>
        read(keepAlive, (id) => ({ headers: { 'if-none-match': etags.get(id) ?? '"none"' } })),
    },
    { name: 'GET, new connection', share: 0.04, expected: found, send: () => read(newConnection) },
    {
      name: 'GET, editor',
      share: 0.02,
      expected: [200],
      send: () => read(keepAlive, () => ({ token })),
    },
    {
      name: 'GET, history',
      share: 0.01,
      expected: [200],
      send: () => call(url, 'GET', `${path(randomId())}/revisions`, { token }, keepAlive),
    },
    {
      name: 'GET, not found',
      share: 0.02,
      expected: [404],
      send: () => call(url, 'GET', path(records + randomId()), {}, keepAlive),
    },
    {
      name: 'GET, OpenAPI',
      share: 0.005,
      expected: [200],
      send: () => call(url, 'GET', '/api/v2/openapi.json', {}, keepAlive),
    },
    {
      name: 'GET, aborted',
      share: 0.005,
      expected: [0],
      send: () => sendAndAbort(url, `GET ${path(randomId())} HTTP/1.1\r\nHost: x\r\n\r\n`),
    },
    {
      name: 'PATCH',
      share: 0.05,
      expected: [200],
      send: () => patch({ summary: `Updated ${new Date().toISOString()}` }),
    },
    {
      name: 'PATCH, invalid',
      share: 0.03,
      expected: [400],
      send: () => patch({ duration: 'long', unknown: 1 }),
    },
    {
      name: 'PATCH, malformed JSON',
      share: 0.01,
      expected: [400],
      send: () => patch(undefined, { token, raw: '{"title": ' }),
    },
    {
      name: 'PATCH, no token',
      share: 0.01,
      expected: [401],
      send: () => patch({ title: 'No' }, {}),
    },
  ]
}

/** Sends requests of all kinds at a constant rate until it is stopped. */
function startLoad(kinds: readonly RequestKind[], rate: number): Load {
  const responses = new Map<string, number>()
  const unexpected: string[] = []
  const pending = new Set<Promise<void>>()
  async function send(kind: RequestKind): Promise<void> {
    const status = await kind.send().then(
      (reply) => reply.status,
      (error: Error) => error.message,
    )
    const outcome = `${kind.name}: ${status}`
    responses.set(outcome, (responses.get(outcome) ?? 0) + 1)
    if (!kind.expected.includes(Number(status)) && unexpected.length < 1000)
      unexpected.push(outcome)
  }
  function randomKind(): RequestKind {
    let rest = Math.random()
    for (const kind of kinds) {
      if (rest < kind.share) return kind
      rest -= kind.share
    }
    return kinds[0] as RequestKind
  }

  const load: Load = {
    responses,
    unexpected,
    skipped: 0,
    async stop() {
      clearInterval(timer)
      await Promise.all(pending)
      keepAlive.destroy()
    },
  }
  let [sent, startedMs] = [0, performance.now()]
  const timer = setInterval(() => {
    let due = Math.floor(((performance.now() - startedMs) / 1000) * rate)
    // Requests that were missed while the machine was suspended are not sent later.
    if (due - sent > rate) [sent, due, startedMs] = [0, 0, performance.now()]
    for (; sent < due; sent++) {
      if (pending.size >= maxPending) {
        load.skipped++
        continue
      }
      const request = send(randomKind())
      pending.add(request)
      request.finally(() => pending.delete(request))
    }
  }, 10)
  return load
}

/** Sends a request and resets the connection before the response. */
async function sendAndAbort(url: string, request: string): Promise<{ status: number }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(request, () => socket.resetAndDestroy())
  await once(socket, 'close')
  return { status: 0 }
}

type Metric = keyof typeof metricNames

interface Sample {
  readonly minute: number
  readonly rss: number
  readonly heap: number
  readonly external: number
  /** Taken right after a garbage collection. */
  readonly isAfterGc: boolean
}

/**
 * Takes 120 samples, every 5 s in a run of ten minutes. The last three of each half are taken after
 * a garbage collection.
 */
async function sampleMemory(
  url: string,
  load: Load,
  minutes: number,
  collectGarbage: () => void,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const startedMs = performance.now()
  const row = (...cells: (string | number)[]) =>
    console.log(cells.map((cell) => String(cell).padStart(9)).join(' '))
  row('minute', 'rss', 'heap', 'low', 'external', 'req/s')
  let reported = { samples: 0, sum: sum(load.responses), atMs: startedMs }
  for (let number = 1; number <= 120; number++) {
    await sleep(Math.max(0, startedMs + number * minutes * 500 - performance.now()))
    const isAfterGc = number % 60 === 0 || number % 60 > 57
    if (isAfterGc) collectGarbage()
    if (isAfterGc) await sleep(200)
    const { text } = await call(url, 'GET', '/metrics', {}, keepAlive)
    const read = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
    const [rss, heap, external] = [
      read(metricNames.rss),
      read(metricNames.heap),
      read(metricNames.external),
    ]
    samples.push({ minute: (number * minutes) / 120, rss, heap, external, isAfterGc })
    // Prints a line for each tenth of the run.
    if (number % 12 > 0) continue
    const part = samples.slice(reported.samples)
    const [nowMs, responses] = [performance.now(), sum(load.responses)]
    const medianOf = (metric: Metric) => megabytes(median(part.map((sample) => sample[metric])))
    const low = megabytes(Math.min(...part.map(({ heap }) => heap)))
    row(
      ((number * minutes) / 120).toFixed(1),
      medianOf('rss'),
      medianOf('heap'),
      low,
      medianOf('external'),
      ((responses - reported.sum) / ((nowMs - reported.atMs) / 1000)).toFixed(0),
    )
    reported = { samples: samples.length, sum: responses, atMs: nowMs }
  }
  return samples
}

/** Prints a report. Returns the exit code: 1 if memory grew or a response was unexpected. */
function reportGrowth(samples: readonly Sample[], load: Load, minutes: number): number {
  const halves = [samples.slice(0, 60), samples.slice(60)] as const
  console.log(
    `\nThe second half of ${minutes} minutes against the first: ` +
      'memory after garbage collection, and the peak of the resident memory',
  )
  // The resident memory of a short run has not reached its peak.
  const grown = (['rss', 'heap', 'external'] as const).filter(
    (metric) => isGrowing(metric, halves) && (metric !== 'rss' || minutes >= 8),
  )
  if (grown.length > 0) console.log(`GROWS ${grown.join(', ')}`)
  console.log(
    [...load.responses]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([outcome, count]) => `${outcome} x ${count}`)
      .join(', '),
  )
  if (load.skipped > 0)
    console.log(`The server was too slow for the rate: ${load.skipped} requests were not sent`)
  if (load.unexpected.length > 0)
    console.log(
      `WRONG ${load.unexpected.length} unexpected responses, for example ${load.unexpected[0]}`,
    )
  return grown.length > 0 || load.unexpected.length > 0 ? 1 : 0
}

/** Compares a metric between the halves of the run, and prints it. */
function isGrowing(
  metric: Metric,
  [first, second]: readonly [readonly Sample[], readonly Sample[]],
): boolean {
  // V8 returns memory to the system at any time, so that the resident memory varies by a hundred
  // megabytes: its peaks are compared.
  const peak = (half: readonly Sample[]) => Math.max(...half.map((sample) => sample[metric]))
  const lowestAfterGc = (half: readonly Sample[]) =>
    Math.min(...half.filter(({ isAfterGc }) => isAfterGc).map((sample) => sample[metric]))
  const measure = metric === 'rss' ? peak : lowestAfterGc
  const [before, after] = [measure(first), measure(second)]
  const limit = Math.max(maxGrowth.bytes, before * maxGrowth.share)
  const trend = slope(
    second.filter(({ isAfterGc }) => !isAfterGc).map((sample) => [sample.minute, sample[metric]]),
  )
  console.log(
    `${metric}: ${megabytes(before)} -> ${megabytes(after)} MB, ` +
      `allowed ${megabytes(limit)} more; ` +
      `without garbage collection, ${megabytes(trend)} MB a minute`,
  )
  // NaN, from a missing metric, counts as growth.
  return !(after - before <= limit)
}

/** Returns the slope of the linear regression. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  return (
    mean(points.map((point) => (point[0] - x) * (point[1] - y))) /
    mean(points.map((point) => (point[0] - x) ** 2))
  )
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, value) => sum + value, 0)
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
