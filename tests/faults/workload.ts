import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { maxStaleMs as documentedStaleMs } from '../../server/videos/record-cache.ts'
import { call, category, type Reply } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import {
  contradictions,
  type Figures,
  figures,
  type Operation,
  type RecordedChange,
} from './history.ts'

// Readers and writers over HTTP, all the time while entities break. Everything that they ask and
// hear is kept, for history.ts.

export interface WorkloadOptions {
  url: string
  token: string
  workers: number
  records?: number
  /** The part of the operations that are writes. */
  writes?: number
  /** How old an anonymous read may be. */
  staleMs?: number
}

/** One request and its answer. */
export interface Try {
  readonly what: string
  readonly start: number
  readonly ms: number
  /** 0: refused, nothing was sent. -1: lost on the way. */
  readonly status: number
  /** Of a failure of the service: what it said. */
  readonly said?: string
}

export interface Workload {
  readonly tries: Try[]
  acknowledged(): number
  /** Waits until this many more writes are acknowledged. */
  progress(writes: number, limitMs?: number): Promise<void>
  /** Ends the workers, once every unknown outcome has been settled. */
  stop(): Promise<void>
  /**
   * Compares the history with the database and with what is served; throws where they contradict.
   * After stop().
   */
  verify(databaseUrl: string): Promise<Figures>
}

const compared = 'summary'
// A blind write that is repeated has one effect as long as nobody else writes the field.
const ownFields = ['description', 'quality_notes', 'copyright_text', 'whiteboard']

export async function startWorkload(options: WorkloadOptions): Promise<Workload> {
  const { url, token, workers, records = 8, writes = 0.7, staleMs = documentedStaleMs } = options
  const agent = new Agent({ keepAlive: true, maxSockets: workers * 2 })
  const history: Operation[] = []
  const tries: Try[] = []
  const tags = new Map<number, string>()
  const begin = performance.now()
  const run = Math.random().toString(36).slice(2, 8)
  let [number, acknowledged, ended] = [0, 0, 0]
  let isStopping = false
  let settleBy = Number.POSITIVE_INFINITY

  async function send(
    method: string,
    path: string,
    request: Parameters<typeof call>[3] = {},
  ): Promise<Reply | 'refused' | 'lost'> {
    const start = performance.now()
    const reply = await call(url, method, path, request, agent).catch((error: { code?: string }) =>
      error.code === 'ECONNREFUSED' ? 'refused' : 'lost',
    )
    const status = typeof reply === 'object' ? reply.status : reply === 'refused' ? 0 : -1
    const said =
      typeof reply === 'object' && status >= 500
        ? { said: String(reply.json?.detail ?? reply.text).slice(0, 200) }
        : {}
    tries.push({ what: `${method} ${path}`, start, ms: performance.now() - start, status, ...said })
    return reply as Reply | 'refused' | 'lost'
  }

  async function read(id: number, withToken: boolean): Promise<void> {
    const start = performance.now()
    const reply = await send('GET', `/api/v2/video/${id}`, withToken ? { token } : {})
    const isOk = typeof reply === 'object' && reply.status === 200
    if (isOk) remember(id, reply)
    const revision = isOk ? revisionOf(reply) : undefined
    history.push({
      kind: withToken ? 'read' : 'anonymous',
      id,
      field: compared,
      value: isOk ? reply.json[compared] : '',
      start,
      end: performance.now(),
      outcome: isOk ? 'ok' : 'fail',
      ...(revision !== undefined && { revision }),
      repeated: false,
      settled: true,
    })
    if (!isOk) await sleep(20)
  }

  async function write(
    operation: Operation,
    request: () => ReturnType<typeof send>,
  ): Promise<void> {
    history.push(operation)
    for (;;) {
      const reply = await request()
      const outcome = outcomeOf(reply)
      operation.end = performance.now()
      if (outcome === 'ok' && typeof reply === 'object') {
        operation.id ??= reply.json.id
        operation.outcome = 'ok'
        const revision = revisionOf(reply)
        if (revision !== undefined) operation.revision = revision
        operation.settled = true
        remember(operation.id ?? 0, reply)
        acknowledged++
        return
      }
      if (typeof reply === 'object' && reply.status === 412) {
        tags.set(operation.id ?? 0, reply.json.current.etag)
        if (operation.outcome === 'unknown') operation.refusedAt = reply.json.current.revision
        operation.settled = true
        return
      }
      if (outcome === 'unknown') operation.outcome = 'unknown'
      // Once it may have been written, a refusal for now says nothing about the first time.
      if (operation.outcome === 'fail') {
        await sleep(20 + Math.random() * 30)
        return
      }
      if (performance.now() > settleBy) return
      operation.repeated = true
      await sleep(20 + Math.random() * 80)
    }
  }

  function operation(
    kind: Operation['kind'],
    field: string,
    more: Partial<Operation> = {},
  ): Operation {
    const start = performance.now()
    return {
      kind,
      field,
      value: `${kind} ${run} ${++number}`,
      start,
      end: start,
      outcome: 'fail',
      repeated: false,
      settled: false,
      ...more,
    }
  }

  function compareAndSet(id: number): Promise<void> {
    const tag = tags.get(id)
    const from = revisionIn(tag)
    if (tag === undefined || from === undefined) return read(id, true)
    const it = operation('compare-and-set', compared, { id, from })
    const request = { token, body: { [compared]: it.value }, headers: { 'if-match': tag } }
    return write(it, () => send('PATCH', `/api/v2/video/${id}`, request))
  }

  function blind(id: number, field: string): Promise<void> {
    const it = operation('blind', field, { id })
    return write(it, () =>
      send('PATCH', `/api/v2/video/${id}`, { token, body: { [field]: it.value } }),
    )
  }

  function create(): Promise<void> {
    const it = operation('create', 'title')
    const request = {
      token,
      body: { title: it.value, category, language: 'English', state: 1 },
      headers: { 'idempotency-key': crypto.randomUUID() },
    }
    return write(it, () => send('POST', '/api/v2/video', request))
  }

  function remember(id: number, reply: Reply): void {
    const tag = reply.headers.etag
    if (tag !== undefined && (revisionIn(tag) ?? 0) > (revisionIn(tags.get(id)) ?? 0))
      tags.set(id, tag)
  }

  await send('POST', '/api/v2/category', { body: { title: category }, token })
  await Promise.all(Array.from({ length: records }, create))
  const ids = history.flatMap(({ id }) => (id === undefined ? [] : [id]))
  if (ids.length < records)
    throw new Error(
      `Only ${ids.length} of ${records} records could be made: ${JSON.stringify(countedWrites(tries))}`,
    )

  async function work(worker: number): Promise<void> {
    const group = Math.floor(worker / ownFields.length) % records
    while (!isStopping) {
      const id = ids[Math.floor(Math.random() * records)] as number
      const kind = Math.random()
      if (kind > writes) await read(id, Math.random() < 0.5)
      else if (kind < writes * 0.6) await compareAndSet(id)
      else if (kind < writes * 0.9)
        await blind(ids[group] as number, ownFields[worker % ownFields.length] as string)
      else await create()
    }
  }
  if (workers > ownFields.length * records) throw new Error('Every worker needs a field of its own')
  const all = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))

  return {
    tries,
    acknowledged: () => acknowledged,
    async progress(writes, limitMs = 30_000) {
      const [goal, deadline] = [acknowledged + writes, performance.now() + limitMs]
      while (acknowledged < goal) {
        if (performance.now() > deadline)
          throw new Error(
            `Within ${limitMs} ms, ${goal - acknowledged} of ${writes} writes were not acknowledged`,
          )
        await sleep(10)
      }
    },
    async stop() {
      isStopping = true
      settleBy = performance.now() + 20_000
      ended ||= performance.now()
      await all
    },
    async verify(databaseUrl) {
      const changes = await readChanges(databaseUrl)
      const wrong = contradictions(history, changes, { staleMs })
      for (const id of ids) {
        const newest = changes.filter((change) => change.id === id).length
        const reply = await call(url, 'GET', `/api/v2/video/${id}`, { token }, agent)
        if (revisionOf(reply) !== newest)
          wrong.push(
            `the service shows ${reply.headers.etag} of ${id}, the newest revision is ${newest}`,
          )
      }
      agent.destroy()
      const strange = tries.filter(({ status }) => ![-1, 0, 200, 201, 412, 503].includes(status))
      if (strange.length > 0)
        wrong.push(`answers that nobody expects: ${JSON.stringify(countedWrites(strange))}`)
      if (wrong.length > 0)
        throw new Error(`${wrong.length} contradictions:\n${wrong.slice(0, 20).join('\n')}`)
      await checkInvariants(databaseUrl)
      return figures(history, changes, begin, ended)
    },
  }
}

/** How often each status came. */
export function countedWrites(tries: readonly Try[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(tries, ({ status }) => status)].map(([status, all]) => [status, all.length]),
  )
}

export interface Answers {
  readonly slowestMs: number
  readonly statuses: Record<string, number>
  readonly told: string
}

/** What was answered to the requests that were under way between these moments. */
export function answersDuring({ tries }: Workload, from: number, to: number, method = ''): Answers {
  const during = tries.filter(
    ({ what, start, ms }) => what.startsWith(method) && start < to && start + ms > from,
  )
  const slowestMs = Math.max(0, ...during.map(({ ms }) => ms))
  const statuses = countedWrites(during)
  const list = Object.entries(statuses).map(
    ([status, count]) => `${count} x ${names[status] ?? status}`,
  )
  return {
    slowestMs,
    statuses,
    told: `${list.join(', ')}, slowest ${(slowestMs / 1000).toFixed(1)} s`,
  }
}

const names: Record<string, string> = { '-1': 'lost', 0: 'refused' }

function outcomeOf(reply: Reply | 'refused' | 'lost'): Operation['outcome'] {
  if (reply === 'refused') return 'fail'
  if (reply === 'lost') return 'unknown'
  if (reply.status === 200 || reply.status === 201) return 'ok'
  if (reply.status < 500) return 'fail'
  return reply.status === 503 && reply.json?.outcome === 'not-applied' ? 'fail' : 'unknown'
}

function revisionOf(reply: Reply): number | undefined {
  return revisionIn(reply.headers.etag)
}

function revisionIn(tag: string | undefined): number | undefined {
  const [, revision] = /^"\d+\.(\d+)\./.exec(tag ?? '') ?? []
  return revision === undefined ? undefined : Number(revision)
}

async function readChanges(databaseUrl: string): Promise<RecordedChange[]> {
  const rows = await withDatabase(databaseUrl, (query) =>
    query(`select subject_id::int as id, revision, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as at, after
           from change where subject = 'video'`),
  )
  return rows as unknown as RecordedChange[]
}
