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
import { freePort, launch } from '../tests/faults/environment.ts'
import { type CallOptions, call } from '../tests/support/harness.ts'
import { migratedDatabase, startPostgres } from '../tests/support/postgres.ts'
import { until } from '../tests/support/until.ts'
import { pack } from './environment.ts'
import { median } from './measures.ts'
import { seed } from './seed.ts'

// Collects garbage on a signal. V8 does so seldom while there is memory, and garbage would look
// like growth.
const tidy = ['--expose-gc', '--import', 'data:text/javascript,process.on("SIGUSR2", () => gc())']
const restS = 10
const warmUpS = 15
/**
 * More memory in the end than in the middle, in bytes and as a part of what it was then: the larger
 * of the two is allowed.
 */
const allowed = { bytes: 3e6, part: 0.03 }
/**
 * Requests that wait for an answer. A server that is too slow for the rate is asked less, and we
 * say so.
 */
const maxWaiting = 200

const kept = new Agent({ keepAlive: true, maxSockets: 50 })
const fresh = new Agent({ keepAlive: false })
const figures = {
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
    throw new Error('--minutes, --rate and --records take a number')

  const postgres = await startPostgres({ version: 15 })
  const undo: (() => unknown)[] = []
  try {
    const databaseUrl = await migratedDatabase(postgres, 'talkshelf')
    await seed(findPostgres(process.env), postgres.url('talkshelf'), records, () => {})
    const pool = openPool({ url: databaseUrl, connections: 1, applicationName: 'soak' })
    const { token } = await createToken(pool, { name: 'Soak', role: 'editor', days: 1 })
    await pool.close()

    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    // It dies with us, whatever ends us; the log is as long as an operator's would be.
    const server = launch(
      { dir: postgres.dir, atEnd: (step) => undo.push(step) },
      [process.execPath, ...tidy, pack(postgres.dir), 'serve'],
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
    await sleep(restS * 1000)
    const [, idleKb = ''] =
      /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8')) ?? []
    console.log(`Node ${process.versions.node}, PostgreSQL ${postgres.version}, ${records} records`)
    console.log(`Idle, ${restS} s after the start: ${megabytes(Number(idleKb) * 1024)} MB resident`)

    // What the server keeps on purpose shall be there before we look: every record once, then a
    // while of everything.
    for (let id = 1; id <= records; id++) await call(url, 'GET', `/api/v2/video/${id}`, {}, kept)
    const load = startLoad(url, token, records, rate)
    await sleep(warmUpS * 1000)
    const samples = await watch(url, load, minutes, () => server.child.kill('SIGUSR2'))
    await load.stop()
    return verdict(samples, load, minutes)
  } finally {
    for (const step of undo.reverse()) await step()
    await postgres.stop()
  }
}

// --- the load

interface Load {
  readonly answered: Map<string, number>
  readonly surprises: string[]
  skipped: number
  stop(): Promise<void>
}

interface Kind {
  readonly name: string
  /** Of all requests. */
  readonly share: number
  readonly expected: readonly number[]
  send(): Promise<{ status: number }>
}

function startLoad(url: string, token: string, records: number, rate: number): Load {
  const tags = new Map<number, string>()
  // The first is wanted most, the second half as often, the third a third as often.
  const wanted = () => Math.floor((records + 1) ** Math.random())
  const path = (id: number) => `/api/v2/video/${id}`
  async function read(
    agent: Agent,
    options: (id: number) => CallOptions = () => ({}),
  ): Promise<{ status: number }> {
    const id = wanted()
    const reply = await call(url, 'GET', path(id), options(id), agent)
    if (reply.headers.etag) tags.set(id, reply.headers.etag)
    return reply
  }
  const patch = (body: unknown, options: CallOptions = { token }) =>
    call(url, 'PATCH', path(wanted()), { body, ...options }, kept)
  const found = [200, 404] // A draft is not there for everybody.

  const kinds: Kind[] = [
    { name: 'GET', share: 0.58, expected: found, send: () => read(kept) },
    {
      name: 'GET, known',
      share: 0.22,
      expected: [304, ...found],
      send: () => read(kept, (id) => ({ headers: { 'if-none-match': tags.get(id) ?? '"none"' } })),
    },
    { name: 'GET, new connection', share: 0.04, expected: found, send: () => read(fresh) },
    {
      name: 'GET, editor',
      share: 0.02,
      expected: [200],
      send: () => read(kept, () => ({ token })),
    },
    {
      name: 'GET, history',
      share: 0.01,
      expected: [200],
      send: () => call(url, 'GET', `${path(wanted())}/revisions`, { token }, kept),
    },
    {
      name: 'GET, none',
      share: 0.02,
      expected: [404],
      send: () => call(url, 'GET', path(records + wanted()), {}, kept),
    },
    {
      name: 'GET, other',
      share: 0.005,
      expected: [200],
      send: () => call(url, 'GET', '/api/v2/openapi.json', {}, kept),
    },
    {
      name: 'GET, gone',
      share: 0.005,
      expected: [0],
      send: () => goAway(url, `GET ${path(wanted())} HTTP/1.1\r\nHost: x\r\n\r\n`),
    },
    {
      name: 'PATCH',
      share: 0.05,
      expected: [200],
      send: () => patch({ summary: `Seen ${new Date().toISOString()}` }),
    },
    {
      name: 'PATCH, wrong',
      share: 0.03,
      expected: [400],
      send: () => patch({ duration: 'long', nothing: 1 }),
    },
    {
      name: 'PATCH, no JSON',
      share: 0.01,
      expected: [400],
      send: () => patch(undefined, { token, raw: '{"title": ' }),
    },
    { name: 'PATCH, nobody', share: 0.01, expected: [401], send: () => patch({ title: 'No' }, {}) },
  ]

  const answered = new Map<string, number>()
  const surprises: string[] = []
  const waiting = new Set<Promise<void>>()
  async function ask(kind: Kind): Promise<void> {
    const status = await kind.send().then(
      (reply) => reply.status,
      (error: Error) => error.message,
    )
    const what = `${kind.name}: ${status}`
    answered.set(what, (answered.get(what) ?? 0) + 1)
    if (!kind.expected.includes(Number(status)) && surprises.length < 1000) surprises.push(what)
  }
  function one(): Kind {
    let place = Math.random()
    for (const kind of kinds) {
      if (place < kind.share) return kind
      place -= kind.share
    }
    return kinds[0] as Kind
  }

  const load: Load = {
    answered,
    surprises,
    skipped: 0,
    async stop() {
      clearInterval(timer)
      await Promise.all(waiting)
      kept.destroy()
    },
  }
  let [sent, begin] = [0, performance.now()]
  const timer = setInterval(() => {
    let due = Math.floor(((performance.now() - begin) / 1000) * rate)
    // After a stop of this machine nothing is made up for.
    if (due - sent > rate) [sent, due, begin] = [0, 0, performance.now()]
    for (; sent < due; sent++) {
      if (waiting.size >= maxWaiting) {
        load.skipped++
        continue
      }
      const asked = ask(one())
      waiting.add(asked)
      asked.finally(() => waiting.delete(asked))
    }
  }, 10)
  return load
}

/** A caller who asks, and is not there any more when the answer comes. */
async function goAway(url: string, request: string): Promise<{ status: number }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(request, () => socket.resetAndDestroy())
  await once(socket, 'close')
  return { status: 0 }
}

// --- the memory

interface Sample {
  readonly minute: number
  readonly rss: number
  readonly heap: number
  readonly external: number
  /** Taken right after the server had thrown away what nobody uses any more. */
  readonly isTidy: boolean
}

/**
 * Every 5 s in ten minutes, and 120 times in any other time. In the middle and at the end, three
 * times each, after tidying up.
 */
async function watch(
  url: string,
  load: Load,
  minutes: number,
  tidyUp: () => void,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const begin = performance.now()
  const row = (...cells: (string | number)[]) =>
    console.log(cells.map((cell) => String(cell).padStart(9)).join(' '))
  row('minute', 'rss', 'heap', 'low', 'external', 'req/s')
  let reported = { samples: 0, sum: sum(load.answered), at: begin }
  for (let number = 1; number <= 120; number++) {
    await sleep(Math.max(0, begin + number * minutes * 500 - performance.now()))
    const isTidy = number % 60 === 0 || number % 60 > 57
    if (isTidy) tidyUp()
    if (isTidy) await sleep(200)
    const { text } = await call(url, 'GET', '/metrics', {}, kept)
    const read = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
    const [rss, heap, external] = [read(figures.rss), read(figures.heap), read(figures.external)]
    samples.push({ minute: (number * minutes) / 120, rss, heap, external, isTidy })
    // A line for each tenth: a minute in the usual run.
    if (number % 12 > 0) continue
    const part = samples.slice(reported.samples)
    const [now, all] = [performance.now(), sum(load.answered)]
    const middle = (of: 'rss' | 'heap' | 'external') => megabytes(median(part.map((it) => it[of])))
    const low = megabytes(Math.min(...part.map(({ heap }) => heap)))
    row(
      ((number * minutes) / 120).toFixed(1),
      middle('rss'),
      middle('heap'),
      low,
      middle('external'),
      ((all - reported.sum) / ((now - reported.at) / 1000)).toFixed(0),
    )
    reported = { samples: samples.length, sum: all, at: now }
  }
  return samples
}

function verdict(samples: readonly Sample[], load: Load, minutes: number): number {
  const [middle, end] = [samples.slice(0, 60), samples.slice(60)]
  let isGrowing = false
  console.log(
    `\nThe second half of ${minutes} minutes against the first: ` +
      'memory after garbage collection, and the peak of the resident memory',
  )
  for (const what of ['rss', 'heap', 'external'] as const) {
    // The system gets memory back when V8 likes: the resident memory goes up and down by a hundred
    // megabytes, so its height is compared.
    const tidied = (part: readonly Sample[]) =>
      Math.min(...part.filter(({ isTidy }) => isTidy).map((it) => it[what]))
    const height = (part: readonly Sample[]) => Math.max(...part.map((it) => it[what]))
    const [before, after] =
      what === 'rss' ? [height(middle), height(end)] : [tidied(middle), tidied(end)]
    const max = Math.max(allowed.bytes, before * allowed.part)
    // Not a number is no memory that stays what it is.
    // A short run is over before the resident memory has been up once.
    const isTooMuch = !(after - before <= max) && (what !== 'rss' || minutes >= 8)
    isGrowing ||= isTooMuch
    const line = slope(end.filter(({ isTidy }) => !isTidy).map((it) => [it.minute, it[what]]))
    console.log(
      `${isTooMuch ? 'GROWS' : 'ok   '} ${what}: ${megabytes(before)} -> ${megabytes(after)} MB, ` +
        `allowed ${megabytes(max)} more; ` +
        `without garbage collection, ${megabytes(line)} MB a minute`,
    )
  }
  console.log(
    [...load.answered]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, count]) => `${what} x ${count}`)
      .join(', '),
  )
  if (load.skipped > 0)
    console.log(`The server was too slow for the rate: ${load.skipped} requests were not sent`)
  if (load.surprises.length > 0)
    console.log(
      `WRONG ${load.surprises.length} unexpected answers, for example ${load.surprises[0]}`,
    )
  return isGrowing || load.surprises.length > 0 ? 1 : 0
}

/** Of the straight line with the least squares. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (values: number[]) => values.reduce((all, it) => all + it, 0) / values.length
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  return (
    mean(points.map((point) => (point[0] - x) * (point[1] - y))) /
    mean(points.map((point) => (point[0] - x) ** 2))
  )
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, it) => all + it, 0)
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
