import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  type AtRiskReport,
  invalidFields,
  type ListedSource,
  type listSourcesEndpoint,
  mayAct,
  Problem,
  type QueryOf,
  type Role,
  type Source,
  type SourceChange,
  type SourcePin,
  sourceStates,
  type UnavailableState,
} from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  buildPage,
  type ListPage,
  maxExactCount,
  pagePosition,
} from '../platform/http/pagination.ts'
import { openRefreshedValue, type RefreshedValue } from '../platform/ops/refreshed-value.ts'
import { readAtRisk, withCategories } from './at-risk.ts'
import * as queries from './queries.ts'
import { pin, publicState, type SourceHealth, type StateChange, unpin } from './source-health.ts'

// Entry point of links: the sources of talks, whether they are still there, and the copies that may
// replace them (replacements/).

export { startLinkChecks } from './check-due.ts'
export {
  type ExaminedPage,
  readExaminedSources,
  readUnhealthyHosts,
  unhealthyStates,
} from './overview/overview.ts'
export { countPausedHosts, oldestDueSeconds } from './queries.ts'
export {
  acceptReplacement,
  type DecidedReplacement,
  listReplacements,
  proposeReplacement,
  refuseReplacement,
} from './replacements/replacements.ts'

/** How old the report of what is at risk may be. */
const maxReportAgeMs = 10 * 60_000
const maxStaleReportMs = 50 * 60_000
const maxChanges = 100

export type { TalkRisk } from './queries.ts'

const readerOf = (role: Role): queries.Reader => ({ isEditor: mayAct(role, 'editor') })

/**
 * Opens the report of what is at risk, which is computed when it is read. The names of events are
 * those that they have now. The same object is returned until something changes.
 */
export function openAtRiskReport(
  pool: Pool,
  onError: (error: unknown) => void,
  maxAgeMs = maxReportAgeMs,
): RefreshedValue<AtRiskReport> {
  const figures = openRefreshedValue(() => readAtRisk(pool.lists), {
    ...{ maxAgeMs, maxStaleMs: maxStaleReportMs, onError },
  })
  let last: { readonly figures: AtRiskReport; readonly report: AtRiskReport } | undefined

  return {
    async read() {
      const current = await figures.read()
      const risks = current.events.map(({ category, ...risk }) => [category.id, risk] as const)
      const events = await withCategories(pool.lookups, risks)
      if (last?.figures !== current || !isDeepStrictEqual(last.report.events, events))
        last = { figures: current, report: { ...current, events } }
      return last.report
    },
  }
}

/** Talks that one statement lists: far from the statement timeout. */
const riskBatchSize = 1000

/** Walks over all live talks, in batches by id, with the operators that have and had them. */
export async function* listTalkRisks(
  db: Db,
  batchSize = riskBatchSize,
): AsyncGenerator<queries.TalkRisk[]> {
  let after = 0
  for (let count = batchSize; count === batchSize; ) {
    const batch = await queries.listTalkRisks(db, after, batchSize)
    after = batch.at(-1)?.id ?? after
    count = batch.length
    if (count > 0) yield batch
  }
}

/** What readers see of a source that cannot simply be watched. */
interface SourceStatus {
  readonly state: UnavailableState
  /** Since when it has the state, YYYY-MM-DD. */
  readonly since: string
  /** When it was there last, YYYY-MM-DD. */
  readonly lastGood: string | null
}

export interface SourceStates {
  /** By URL, as the record has it. Sources that can be watched are missing. */
  readonly byUrl: ReadonlyMap<string, SourceStatus>
  /** Whether the record has sources, and all of them are away. */
  readonly isLost: boolean
  /** When a source that cannot be watched changed last. */
  readonly changed?: Date
}

/** A record whose sources can all be watched, as far as is known. */
export const noSourceStates: SourceStates = { byUrl: new Map(), isLost: false }

/**
 * Finds the states of the sources of records, as readers see them. Records whose sources can all be
 * watched are missing. The caller checks access to the records.
 */
export async function findSourceStates(
  db: Db,
  videoIds: readonly number[],
): Promise<Map<number, SourceStates>> {
  const rows = await queries.listUnavailableUrls(db, videoIds)
  return new Map(
    Array.from(
      Map.groupBy(rows, (row) => row.video_id),
      ([id, ofVideo]) => [id, toSourceStates(ofVideo)],
    ),
  )
}

function toSourceStates(rows: readonly queries.UnavailableUrl[]): SourceStates {
  const statuses = rows.map(({ url, state, since, last_good }) => {
    const status = { state, since: dayOf(since), lastGood: last_good && dayOf(last_good) }
    return [url, status] as const
  })
  return {
    byUrl: new Map(statuses),
    isLost: rows.some(({ is_lost }) => is_lost),
    changed: new Date(Math.max(...rows.map(({ since }) => Date.parse(`${since}Z`)))),
  }
}

const dayOf = (time: string) => time.slice(0, 10)

/** Lists the sources of a record. The caller checks access to the record. */
export function listVideoSources(db: Db, videoId: number, role: Role): Promise<Source[]> {
  return queries.listVideoSources(db, videoId, readerOf(role))
}

/** Lists sources of live talks. */
export async function listSources(
  db: Db,
  query: QueryOf<typeof listSourcesEndpoint>,
  role: Role,
): Promise<ListPage<ListedSource>> {
  const { state, host, category } = query
  const filter = { state, host: host?.toLowerCase(), category }
  const position = pagePosition(query, 'source', [{ field: 'id' }], 20)
  const slice = {
    way: position.way,
    after: position.after?.[0],
    offset: position.offset,
    limit: position.size + 1,
  }
  const reader = readerOf(role)
  const rows = await queries.listSources(db, filter, slice, reader)
  const count = await queries.countSources(db, filter, maxExactCount + 1, reader)
  const total = { count: Math.min(count, maxExactCount), isExact: count <= maxExactCount }
  return buildPage(position, rows, total, ({ source }) => source)
}

/** Reads a source. Throws `not-found` if there is none. */
async function readSource(db: Db, id: number, role: Role): Promise<Source> {
  const source = await queries.findSource(db, id, readerOf(role))
  if (!source) throw notFound()
  return source
}

/** Lists the changes of the state of a source. Throws `not-found` if there is none. */
export async function listSourceHistory(db: Db, id: number, role: Role): Promise<SourceChange[]> {
  await readSource(db, id, role)
  return queries.listSourceChanges(db, id, maxChanges, readerOf(role))
}

/** Lets the host of a source be asked as soon as its rate limit allows. */
export async function requestCheck(db: Db, id: number): Promise<Source> {
  if (!(await queries.makeDue(db, id))) throw notFound()
  return readSource(db, id, 'editor')
}

/** Keeps a source in a state until the end of a day, or ends that. */
export async function pinSource(
  pool: Pool,
  id: number,
  wanted: SourcePin | null,
  origin: Origin,
): Promise<Source> {
  assertNotOver(wanted)
  return pool.transaction(async (tx) => {
    const source = await queries.lockSource(tx, id)
    if (!source) throw notFound()
    const now = await queries.readTime(tx)
    const { health, change } = withPin(source.health, wanted, now)
    await queries.saveSource(
      tx,
      {
        id,
        health,
        owner: source.owner,
        evidence: wanted ? null : source.evidence,
        checked: null,
        at: now,
        change,
      },
      origin,
      hashOf([id, wanted]),
    )
    return readSource(tx, id, 'editor')
  })
}

/** Sources of a host that one call pins. */
export const maxPinnedAtOnce = 1000
const pinsPerTransaction = 100
/** More are not counted. */
const maxCounted = 100_000

/** How many sources of a host were pinned, and how many are left. */
export interface PinnedHost {
  readonly pinned: number
  readonly left: number
}

/**
 * Keeps all sources of a host in a state, or ends that: at most 1,000 with one call, fewer if the
 * deadline comes first. Call it again for those that are left.
 */
export async function pinHost(
  pool: Pool,
  host: string,
  wanted: SourcePin | null,
  { origin, untilMs = Number.POSITIVE_INFINITY }: Pick<WriteContext, 'origin' | 'untilMs'>,
): Promise<PinnedHost> {
  assertNotOver(wanted)
  const pin = wanted ? { state: wanted.state, until: endOfDay(wanted.until) } : undefined
  let pinned = 0
  while (pinned < maxPinnedAtOnce && performance.now() < untilMs) {
    const count = await pool.transaction(async (tx) => {
      const sources = await queries.lockPinnedOtherwise(tx, host, pin, pinsPerTransaction)
      const now = await queries.readTime(tx)
      const changed = sources.map(({ id, health }) => ({ id, ...withPin(health, wanted, now) }))
      const saved = { at: now, hasPin: wanted !== null }
      await queries.savePins(tx, changed, saved, origin, hashOf([host, wanted]))
      return sources.length
    })
    pinned += count
    if (count < pinsPerTransaction) break
  }
  return { pinned, left: await queries.countPinnedOtherwise(pool, host, pin, maxCounted) }
}

function withPin(
  before: SourceHealth,
  wanted: SourcePin | null,
  now: number,
): { health: SourceHealth; change: StateChange | undefined } {
  const health = wanted
    ? pin(before, wanted.state, endOfDay(wanted.until), now)
    : unpin(before, now)
  const [from, to] = [publicState(before), publicState(health)]
  return { health, change: from === to ? undefined : { from, to } }
}

/** Throws `invalid-fields` if a pin has ended already. */
function assertNotOver(wanted: SourcePin | null): void {
  if (wanted && endOfDay(wanted.until) <= Date.now())
    throw invalidFields([
      { pointer: '/pin/until', code: 'out-of-range', detail: 'must not be in the past' },
    ])
}

const hashOf = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest()

const notFound = () => new Problem('not-found', 'There is no such source')

/** Returns the end of a day (UTC) in milliseconds since 1970. */
const endOfDay = (day: string) => Date.parse(`${day}T23:59:59.999Z`)

/** Counts the sources that talks have, by each state. Goes through all of them. */
export async function countSourcesByState(db: Db): Promise<ReadonlyMap<string, number>> {
  const counts = await queries.countByState(db)
  return new Map([
    ...sourceStates.map((state) => [state, 0] as const),
    ...counts.map(({ state, count }) => [state, count] as const),
  ])
}
