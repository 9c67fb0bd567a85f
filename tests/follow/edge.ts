import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createToken } from '../../server/auth/auth.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import {
  type Fault,
  type FaultEnvironment,
  startDatabase,
  startFaultService,
} from '../faults/environment.ts'
import { type BadNetwork, startBadNetwork } from '../faults/proxy.ts'
import { freePort } from '../support/free-port.ts'
import { call } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { edgeToken, startVarnish, type Varnish, varnishMissing } from '../support/varnish.ts'
import { percentile } from './percentile.ts'
import { createRecords } from './writers.ts'

// The archive behind a real Varnish: how old answers are while records change, what happens while
// purges do not arrive, and while the archive does not respond.

/** What the archive promises: no answer is older than this. */
const maxAgeMs = 6000

const missing = () => varnishMissing() || undefined

export const edgeStaleness: Fault = {
  name: 'edge: age of answers while records change',
  limitS: { quick: 180, full: 3600 },
  missing,
  async run(environment) {
    const { quick } = environment
    const edge = await startEdge(environment, quick ? 60 : 1000)
    const before = edge.figures()
    const writers = startEdits(edge)
    const readers = startReaders(edge, writers)
    await until('the reads', () => readers.ages.length >= (quick ? 20_000 : 1_000_000), {
      limitMs: 3_000_000,
      pauseMs: 100,
    })
    const written = await writers.stop()
    const { ages, failures } = await readers.stop()
    const after = edge.figures()
    assert.deepEqual(failures.slice(0, 3), [], `${failures.length} of ${ages.length} reads failed`)
    const sorted = ages.sort((a, b) => a - b)
    const [p999, oldest] = [percentile(sorted, 0.999), sorted.at(-1) ?? 0]
    const stale = sorted.filter((age) => age > 0).length
    const failed = await edge.failedPurges()
    assert.ok(
      oldest <= maxAgeMs,
      `an answer was ${oldest.toFixed()} ms old, p99.9 ${p999.toFixed()} ms, ${failed} purges failed`,
    )
    await edge.assertCurrent()
    const [hits, misses] = [after.hits - before.hits, after.misses - before.misses]
    return (
      `${ages.length} reads, ${written} changes: ${share(stale, ages.length)} were stale, ` +
      `p99.9 ${p999.toFixed()} ms, oldest ${oldest.toFixed()} ms; ` +
      `${share(hits, hits + misses)} hits, ${after.fetches - before.fetches} requests to the ` +
      `archive, ${(((after.cpuMs - before.cpuMs) * 1000) / ages.length).toFixed()} µs of ` +
      'varnishd per read'
    )
  },
}

export const edgePurgerCutOff: Fault = {
  name: 'edge: purges do not arrive for a time',
  limitS: { quick: 120, full: 600 },
  missing,
  async run(environment) {
    const { quick } = environment
    const edge = await startEdge(environment, 50)
    const writers = startEdits(edge)
    await sleep(2000)
    edge.network.silence(true)
    const cutOff = startReaders(edge, writers)
    await sleep(quick ? 5000 : 60_000)
    const { ages: old } = await cutOff.stop()
    // Otherwise, the ages would prove nothing.
    assert.ok(
      old.some((age) => age > 1000),
      'no answer was stale while purges did not arrive',
    )
    edge.network.silence(false)
    edge.network.cut()
    const restoredMs = performance.now()
    await until('the last old answer', () => edge.areAllAfter(writers, restoredMs))
    const recoveredMs = performance.now() - restoredMs
    const readers = startReaders(edge, writers)
    await sleep(3000)
    const written = await writers.stop()
    const { ages, failures } = await readers.stop()
    assert.deepEqual(failures, [])
    const oldest = maximum(ages)
    assert.ok(oldest <= maxAgeMs, `an answer was ${oldest.toFixed()} ms old afterwards`)
    await edge.assertCurrent()
    return (
      `${written} changes; the oldest answer while cut off was ` +
      `${(maximum(old) / 1000).toFixed(1)} s old; all were current ` +
      `${(recoveredMs / 1000).toFixed(1)} s after purges arrived again, then at most ` +
      `${oldest.toFixed()} ms old`
    )
  },
}

export const edgeOriginDead: Fault = {
  name: 'edge: the archive is dead, and talks are taken down',
  limitS: { quick: 180, full: 900 },
  missing,
  async run(environment) {
    const { quick } = environment
    const edge = await startEdge(environment, 50)
    // Another process of the archive, which Varnish does not know, can still purge.
    const other = await startFaultService(environment, edge.variables)
    const rounds = quick ? 2 : 6
    let [reads, slowestMs] = [0, 0]
    for (let round = 0; round < rounds; round++) {
      const gone = edge.ids.pop() as number
      await until('all records to be cached', () => edge.areCached())
      await until('it to be cached', async () => (await edge.read(gone)).cache === 'hit')
      const taken = await call(edge.origin.url, 'POST', `/api/v2/video/${gone}/takedown`, {
        token: edge.admin,
        body: { reason: 'Asked' },
      })
      assert.equal(taken.status, 200, taken.text)
      const takenMs = performance.now()
      await edge.origin.kill()
      // Half of the others change too, so Varnish has only expired versions of them.
      const changed = edge.ids.filter((_id, index) => index % 2 === 0)
      for (const id of changed) {
        const body = { summary: `Round ${round}` }
        const path = `/api/v2/video/${id}`
        const reply = await call(other.url, 'PATCH', path, { token: edge.token, body })
        assert.equal(reply.status, 200, reply.text)
      }
      const endMs = performance.now() + (quick ? 5000 : 60_000)
      let lastSeenMs = takenMs
      const readAll = async () => {
        while (performance.now() < Math.max(endMs, takenMs + maxAgeMs + 1000)) {
          const id = edge.ids[Math.floor(Math.random() * edge.ids.length)] as number
          const { status, text } = await edge.read(id)
          assert.equal(status, 200, `${id} while the archive is dead: ${text}`)
          reads++
          const startedMs = performance.now()
          const removed = await edge.read(gone)
          if (removed.status === 200) lastSeenMs = Math.max(lastSeenMs, startedMs)
          else assert.ok([410, 503].includes(removed.status), removed.text)
        }
      }
      await Promise.all(Array.from({ length: 8 }, readAll))
      slowestMs = Math.max(slowestMs, lastSeenMs - takenMs)
      assert.ok(lastSeenMs - takenMs <= maxAgeMs, `it was seen ${lastSeenMs - takenMs} ms later`)
      await edge.origin.start()
      await until('410 from the archive', async () => (await edge.read(gone)).status === 410)
    }
    await other.stop()
    return (
      `${rounds} times: ${reads} of ${reads} reads of other records answered, the one that was ` +
      `taken down was last seen ${slowestMs.toFixed()} ms after it`
    )
  },
}

interface EdgeRead {
  readonly status: number
  readonly revision: number
  readonly cache: string
  readonly text: string
}

type Edge = Awaited<ReturnType<typeof startEdge>>

/** Starts the archive and Varnish in front of it, with records. */
async function startEdge(environment: FaultEnvironment, recordCount: number) {
  const { token } = environment
  const database = await startDatabase(environment, { settings: { max_connections: '100' } })
  const port = await freePort()
  const network: BadNetwork = await startBadNetwork(port)
  environment.atEnd(() => network.close())
  const variables = {
    DATABASE_URL: database.serviceUrl,
    ANSWER_SECONDS: '30',
    EDGE: `varnish:http://127.0.0.1:${network.port}`,
    EDGE_TOKEN: edgeToken,
  }
  const origin = await startFaultService(environment, variables)
  const varnish: Varnish = await startVarnish(port, Number(new URL(origin.url).port))
  environment.atEnd(() => varnish.stop())
  const ids = await createRecords(origin.url, token, recordCount)
  const pool = openPool({ url: database.serviceUrl, connections: 1, applicationName: 'faults' })
  const { token: admin } = await createToken(pool, { name: 'Ada', role: 'admin', days: 1 })
  await pool.close()
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  environment.atEnd(() => agent.destroy())

  async function read(id: number): Promise<EdgeRead> {
    const { status, headers, text } = await call(
      varnish.url,
      'GET',
      `/api/v2/video/${id}`,
      {},
      agent,
    )
    const revision = Number(/^"\d+\.(\d+)\./.exec(String(headers.etag))?.[1] ?? 0)
    return { status, revision, cache: String(headers['x-cache']), text }
  }
  await until(
    'Varnish to see the archive',
    async () => (await read(ids[0] as number)).status === 200,
  )
  return {
    origin,
    variables,
    network,
    ids,
    token,
    admin,
    read,
    figures() {
      const counters = varnish.counters()
      return {
        hits: counters['MAIN.cache_hit'] ?? 0,
        misses: counters['MAIN.cache_miss'] ?? 0,
        fetches: counters['MAIN.backend_req'] ?? 0,
        cpuMs: processorMs(varnish.process.pid ?? 0),
      }
    },
    /** Returns how many purges have failed. */
    async failedPurges(): Promise<string> {
      const { text } = await call(origin.url, 'GET', '/metrics')
      return /^talkshelf_edge_purge_failures_total (\d+)$/m.exec(text)?.[1] ?? 'unknown'
    },
    async areCached(): Promise<boolean> {
      for (const id of ids) if ((await read(id)).cache !== 'hit') return false
      return true
    },
    /** Tells whether no answer has a version that was superseded before a time. */
    async areAllAfter(edits: Edits, timeMs: number): Promise<boolean> {
      for (const id of ids)
        if ((edits.supersededMs(id, (await read(id)).revision) ?? timeMs) < timeMs) return false
      return true
    },
    /** Waits until Varnish has the current version of each record. */
    async assertCurrent(): Promise<void> {
      for (const id of ids)
        await until(`the current version of ${id}`, async () => {
          const { headers } = await call(origin.url, 'GET', `/api/v2/video/${id}`)
          return String(headers.etag).startsWith(`"${id}.${(await read(id)).revision}.`)
        })
    },
  }
}

/** Returns the processor time of a process and its children. */
function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = (Number(fields[11]) + Number(fields[12])) * 10
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children
    .split(' ')
    .filter(Boolean)
    .reduce((sum, child) => sum + processorMs(Number(child)), own)
}

interface Edits {
  /** Returns when it was confirmed that a revision was superseded. */
  supersededMs(id: number, revision: number): number | undefined
  /** Stops all writers and returns how many changes were confirmed. */
  stop(): Promise<number>
}

/** Changes records, past Varnish. A third of them change most of the time. */
function startEdits({ origin, ids, token }: Edge): Edits {
  const confirmed = new Map<string, number>()
  let isStopped = false
  const write = async (writer: number) => {
    for (let count = 0; !isStopped; count++) {
      const id = ids[(writer + count * 7) % Math.ceil(ids.length / 3)] as number
      const body = { summary: `Change ${writer}.${count}` }
      const reply = await call(origin.url, 'PATCH', `/api/v2/video/${id}`, { token, body })
      assert.equal(reply.status, 200, reply.text)
      const revision = Number(/^"\d+\.(\d+)\./.exec(String(reply.headers.etag))?.[1])
      confirmed.set(`${id}.${revision - 1}`, performance.now())
      await sleep(100)
    }
  }
  const writers = Promise.all(Array.from({ length: 3 }, (_, writer) => write(writer)))
  // Reported by stop().
  writers.catch(() => {})
  return {
    supersededMs: (id, revision) => confirmed.get(`${id}.${revision}`),
    async stop() {
      isStopped = true
      await writers
      return confirmed.size
    },
  }
}

/** Reads records through Varnish, and how long ago each answer was superseded. */
function startReaders({ ids, read }: Edge, edits: Edits) {
  const ages: number[] = []
  const failures: string[] = []
  let isStopped = false
  const run = async () => {
    while (!isStopped) {
      const id = ids[Math.floor(Math.random() * ids.length)] as number
      const startedMs = performance.now()
      const { status, revision, text } = await read(id)
      if (status !== 200) failures.push(text)
      ages.push(Math.max(0, startedMs - (edits.supersededMs(id, revision) ?? startedMs)))
    }
  }
  const readers = Promise.all(Array.from({ length: 8 }, run))
  return {
    ages,
    async stop() {
      isStopped = true
      await readers
      return { ages, failures }
    },
  }
}

/** Math.max() takes no hundreds of thousands of arguments. */
const maximum = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0)

const share = (part: number, whole: number) => `${((part / whole) * 100).toFixed(2)} %`
