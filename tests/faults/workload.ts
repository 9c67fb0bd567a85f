import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { maxStaleMs as documentedStaleMs } from '../../server/videos/record-cache.ts'
import { call, category, type Reply } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import {
  contradictions,
  type Figures,
  figures,
  type Operation,
  type RecordedChange,
} from './history.ts'

// Readers and writers over HTTP, all the time while a fault is active. All requests and responses
// are recorded for history.ts.

export interface WorkloadOptions {
  url: string
  token: string
  workers: number
  records?: number
  /** The share of writes among the operations. */
  writes?: number
  /** How old an anonymous read may be. */
  staleMs?: number
  /** How long each worker pauses after an operation. */
  pauseMs?: number
  /** Whether proxies are between the workers and the service, which have errors of their own. */
  hasProxies?: boolean
}

/** One request and its response. */
export interface Attempt {
  readonly request: string
  readonly start: number
  readonly ms: number
  /** 0: the connection was refused, nothing was sent. -1: the connection was lost. */
  readonly status: number
  /** The message of a server error. */
  readonly detail?: string
}

export interface Workload {
  readonly attempts: Attempt[]
  acknowledged(): number
  /** Waits until this many more writes are acknowledged. */
  progress(writes: number, limitMs?: number): Promise<void>
  /** Ends the workers, once every unknown outcome has been settled. */
  stop(): Promise<void>
  /**
   * Compares the history with the database and with the responses of the service; throws if they
   * contradict each other. Must be called after stop(). Checks all invariants of the database,
   * or what `check` does.
   */
  verify(databaseUrl: string, check?: (databaseUrl: string) => Promise<void>): Promise<Figures>
}

type Outcome = Reply | 'refused' | 'lost'

const comparedField = 'summary'
// Repeating a blind write has no further effect as long as each field has one writer.
const ownFields = ['description', 'quality_notes', 'copyright_text', 'whiteboard']

/** Creates records and starts workers that read and write them. */
export async function startWorkload(options: WorkloadOptions): Promise<Workload> {
  const workload = new RunningWorkload(options)
  await workload.createRecords()
  workload.start()
  return workload
}

class RunningWorkload implements Workload {
  readonly attempts: Attempt[] = []
  private readonly options: Required<WorkloadOptions>
  private readonly agent: Agent
  private readonly history: Operation[] = []
  private readonly etags = new Map<number, string>()
  private readonly startedAt = performance.now()
  private readonly runId = Math.random().toString(36).slice(2, 8)
  private ids: number[] = []
  private counter = 0
  private acknowledgedWrites = 0
  private endedAt = 0
  private isStopping = false
  private settleBy = Number.POSITIVE_INFINITY
  private workers: Promise<unknown> = Promise.resolve()

  constructor(options: WorkloadOptions) {
    this.options = {
      records: 8,
      writes: 0.7,
      staleMs: documentedStaleMs,
      pauseMs: 0,
      hasProxies: false,
      ...options,
    }
    this.agent = new Agent({ keepAlive: true, maxSockets: options.workers * 2 })
    if (options.workers > ownFields.length * this.options.records)
      throw new Error('Every worker needs a field of its own')
  }

  acknowledged(): number {
    return this.acknowledgedWrites
  }

  async createRecords(): Promise<void> {
    const { records, token } = this.options
    await this.send('POST', '/api/v2/category', { body: { title: category }, token })
    // On a busy machine, some may be refused at first.
    for (let round = 0; round < 20 && this.ids.length < records; round++) {
      await Promise.all(Array.from({ length: records - this.ids.length }, () => this.create()))
      this.ids = this.history.flatMap(({ id }) => id ?? [])
    }
    if (this.ids.length < records)
      throw new Error(
        `Only ${this.ids.length} of ${records} records could be created: ` +
          JSON.stringify(countByStatus(this.attempts)),
      )
  }

  start(): void {
    const { workers } = this.options
    this.workers = Promise.all(Array.from({ length: workers }, (_, worker) => this.work(worker)))
  }

  private async work(worker: number): Promise<void> {
    const { records, writes, pauseMs } = this.options
    const ownRecord = Math.floor(worker / ownFields.length) % records
    while (!this.isStopping) {
      const id = this.ids[Math.floor(Math.random() * records)] as number
      const kind = Math.random()
      if (kind > writes) await this.read(id, Math.random() < 0.5)
      else if (kind < writes * 0.6) await this.compareAndSet(id)
      else if (kind < writes * 0.9)
        await this.writeBlind(
          this.ids[ownRecord] as number,
          ownFields[worker % ownFields.length] as string,
        )
      else await this.create()
      if (pauseMs > 0) await sleep(pauseMs)
    }
  }

  private async send(
    method: string,
    path: string,
    request: Parameters<typeof call>[3] = {},
  ): Promise<Outcome> {
    const start = performance.now()
    const outcome: Outcome = await call(this.options.url, method, path, request, this.agent).catch(
      (error: { code?: string }) => (error.code === 'ECONNREFUSED' ? 'refused' : 'lost'),
    )
    this.attempts.push({
      request: `${method} ${path}`,
      start,
      ms: performance.now() - start,
      ...statusOf(outcome),
    })
    return outcome
  }

  private async read(id: number, withToken: boolean): Promise<void> {
    const start = performance.now()
    const { token } = this.options
    const reply = await this.send('GET', `/api/v2/video/${id}`, withToken ? { token } : {})
    const isOk = typeof reply === 'object' && reply.status === 200
    if (isOk) this.rememberEtag(id, reply)
    const revision = isOk ? revisionOf(reply) : undefined
    this.history.push({
      kind: withToken ? 'read' : 'anonymous',
      id,
      field: comparedField,
      value: isOk ? reply.json[comparedField] : '',
      start,
      end: performance.now(),
      outcome: isOk ? 'ok' : 'fail',
      ...(revision !== undefined && { revision }),
      repeated: false,
      settled: true,
    })
    if (!isOk) await sleep(20)
  }

  /** Sends a write, again and again as long as its outcome is unknown. */
  private async write(operation: Operation, request: () => Promise<Outcome>): Promise<void> {
    this.history.push(operation)
    for (;;) {
      const reply = await request()
      const outcome = outcomeOf(reply)
      operation.end = performance.now()
      if (outcome === 'ok' && typeof reply === 'object') return this.acknowledge(operation, reply)
      if (typeof reply === 'object' && reply.status === 412) {
        this.etags.set(operation.id ?? 0, reply.json.current.etag)
        if (operation.outcome === 'unknown') operation.refusedAt = reply.json.current.revision
        operation.settled = true
        return
      }
      if (outcome === 'unknown') operation.outcome = 'unknown'
      // Once it may have been written, a later refusal does not tell the outcome of the first
      // attempt.
      if (operation.outcome === 'fail') {
        await sleep(20 + Math.random() * 30)
        return
      }
      if (performance.now() > this.settleBy) return
      operation.repeated = true
      await sleep(20 + Math.random() * 80)
    }
  }

  private acknowledge(operation: Operation, reply: Reply): void {
    operation.id ??= reply.json.id
    operation.outcome = 'ok'
    const revision = revisionOf(reply)
    if (revision !== undefined) operation.revision = revision
    operation.settled = true
    this.rememberEtag(operation.id ?? 0, reply)
    this.acknowledgedWrites++
  }

  private operation(
    kind: Operation['kind'],
    field: string,
    fields: Partial<Operation> = {},
  ): Operation {
    const start = performance.now()
    return {
      kind,
      field,
      value: `${kind} ${this.runId} ${++this.counter}`,
      start,
      end: start,
      outcome: 'fail',
      repeated: false,
      settled: false,
      ...fields,
    }
  }

  private compareAndSet(id: number): Promise<void> {
    const etag = this.etags.get(id)
    const from = revisionIn(etag)
    if (etag === undefined || from === undefined) return this.read(id, true)
    const operation = this.operation('compare-and-set', comparedField, { id, from })
    const request = {
      token: this.options.token,
      body: { [comparedField]: operation.value },
      headers: { 'if-match': etag },
    }
    return this.write(operation, () => this.send('PATCH', `/api/v2/video/${id}`, request))
  }

  private writeBlind(id: number, field: string): Promise<void> {
    const operation = this.operation('blind', field, { id })
    const request = { token: this.options.token, body: { [field]: operation.value } }
    return this.write(operation, () => this.send('PATCH', `/api/v2/video/${id}`, request))
  }

  private create(): Promise<void> {
    const operation = this.operation('create', 'title')
    const request = {
      token: this.options.token,
      body: { title: operation.value, category, language: 'English', state: 1 },
      headers: { 'idempotency-key': crypto.randomUUID() },
    }
    return this.write(operation, () => this.send('POST', '/api/v2/video', request))
  }

  private rememberEtag(id: number, reply: Reply): void {
    const { etag } = reply.headers
    if (etag !== undefined && (revisionIn(etag) ?? 0) > (revisionIn(this.etags.get(id)) ?? 0))
      this.etags.set(id, etag)
  }

  async progress(writes: number, limitMs = 30_000): Promise<void> {
    const goal = this.acknowledgedWrites + writes
    await until(`${writes} more acknowledged writes`, () => this.acknowledgedWrites >= goal, {
      limitMs,
      pauseMs: 10,
    })
  }

  async stop(): Promise<void> {
    this.isStopping = true
    this.settleBy = performance.now() + 20_000
    this.endedAt ||= performance.now()
    await this.workers
  }

  async verify(databaseUrl: string, check = checkInvariants): Promise<Figures> {
    const { url, token, staleMs } = this.options
    const changes = await readChanges(databaseUrl, Math.min(...this.ids))
    const problems = contradictions(this.history, changes, { staleMs })
    for (const id of this.ids) {
      const newest = changes.filter((change) => change.id === id).length
      const reply = await call(url, 'GET', `/api/v2/video/${id}`, { token }, this.agent)
      if (revisionOf(reply) !== newest)
        problems.push(
          `the service shows ${reply.headers.etag} of ${id}, the newest revision is ${newest}`,
        )
    }
    this.agent.destroy()
    const expected = [-1, 0, 200, 201, 412, 503, ...(this.options.hasProxies ? [502, 504] : [])]
    const unexpected = this.attempts.filter(({ status }) => !expected.includes(status))
    if (unexpected.length > 0)
      problems.push(`unexpected responses: ${JSON.stringify(countByStatus(unexpected))}`)
    if (problems.length > 0)
      throw new Error(`${problems.length} contradictions:\n${problems.slice(0, 20).join('\n')}`)
    await check(databaseUrl)
    return figures(this.history, changes, this.startedAt, this.endedAt)
  }
}

function statusOf(outcome: Outcome): Pick<Attempt, 'status' | 'detail'> {
  if (outcome === 'refused') return { status: 0 }
  if (outcome === 'lost') return { status: -1 }
  const { status, json, text } = outcome
  if (status < 500) return { status }
  return { status, detail: String(json?.detail ?? text).slice(0, 200) }
}

/** Counts attempts by the status of their response. */
export function countByStatus(attempts: readonly Attempt[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(attempts, ({ status }) => status)].map(([status, all]) => [status, all.length]),
  )
}

export interface AnswerStatistics {
  readonly slowestMs: number
  readonly statuses: Record<string, number>
  readonly summary: string
}

/** Returns the requests that were in flight between two times. */
export const attemptsDuring = (attempts: readonly Attempt[], from: number, to: number) =>
  attempts.filter(({ start, ms }) => start < to && start + ms > from)

/** Summarizes the responses to requests that were in flight between two times. */
export function responsesDuring(
  { attempts }: Workload,
  from: number,
  to: number,
  method = '',
): AnswerStatistics {
  const during = attemptsDuring(attempts, from, to).filter(({ request }) =>
    request.startsWith(method),
  )
  const slowestMs = Math.max(0, ...during.map(({ ms }) => ms))
  const statuses = countByStatus(during)
  const list = Object.entries(statuses).map(
    ([status, count]) => `${count} x ${statusNames[status] ?? status}`,
  )
  return {
    slowestMs,
    statuses,
    summary: `${list.join(', ')}, slowest ${(slowestMs / 1000).toFixed(1)} s`,
  }
}

const statusNames: Record<string, string> = { '-1': 'lost', 0: 'refused' }

function outcomeOf(reply: Outcome): Operation['outcome'] {
  if (reply === 'refused') return 'fail'
  if (reply === 'lost') return 'unknown'
  if (reply.status === 200 || reply.status === 201) return 'ok'
  if (reply.status < 500) return 'fail'
  return reply.status === 503 && reply.json?.outcome === 'not-applied' ? 'fail' : 'unknown'
}

function revisionOf(reply: Reply): number | undefined {
  return revisionIn(reply.headers.etag)
}

function revisionIn(etag: string | undefined): number | undefined {
  const [, revision] = /^"\d+\.(\d+)\./.exec(etag ?? '') ?? []
  return revision === undefined ? undefined : Number(revision)
}

/** Reads the changes of the records from this one on: those before were not made by a workload. */
async function readChanges(databaseUrl: string, firstId: number): Promise<RecordedChange[]> {
  const rows = await withDatabase(databaseUrl, (query) =>
    query(
      `select subject_id::int as id,
              revision,
              to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as at,
              after
       from change
       where subject = 'video' and subject_id >= $1`,
      [firstId],
    ),
  )
  return rows as unknown as RecordedChange[]
}
