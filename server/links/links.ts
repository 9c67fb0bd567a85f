import { createHash } from 'node:crypto'
import {
  type AtRiskReport,
  type ListedSource,
  type listSourcesEndpoint,
  mayAct,
  Problem,
  type QueryOf,
  type Role,
  type Source,
  type SourceChange,
  type SourcePin,
} from '@talkshelf/contract'
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
import { readAtRisk } from './at-risk.ts'
import * as queries from './queries.ts'
import { pin, publicState, unpin } from './source-health.ts'

// Entry point of links: the sources of talks, and whether they are still there.

export { type CheckOptions, startLinkChecks } from './check-due.ts'

/** How old the report of what is at risk may be. */
const maxReportAgeMs = 10 * 60_000
const maxChanges = 100

const readerOf = (role: Role): queries.Reader => ({ isEditor: mayAct(role, 'editor') })

/** Opens the report of what is at risk, which is computed when it is read. */
export function openAtRiskReport(
  pool: Pool,
  onError: (error: unknown) => void,
  maxAgeMs = maxReportAgeMs,
): RefreshedValue<AtRiskReport> {
  return openRefreshedValue(() => readAtRisk(pool.lists), { maxAgeMs, onError })
}

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
export async function readSource(db: Db, id: number, role: Role): Promise<Source> {
  const source = await queries.findSource(db, id, readerOf(role))
  if (!source) throw notFound()
  return source
}

/** Lists the changes of the state of a source. Throws `not-found` if there is none. */
export async function listSourceHistory(db: Db, id: number, role: Role): Promise<SourceChange[]> {
  await readSource(db, id, role)
  return queries.listSourceChanges(db, id, maxChanges)
}

/** Lets the host of a source be asked as soon as its pace allows. */
export async function requestCheck(db: Db, id: number): Promise<Source> {
  if (!(await queries.makeDue(db, id))) throw notFound()
  return readSource(db, id, 'editor')
}

/** Keeps a source in a state until the end of a day, or ends that. */
export function pinSource(
  pool: Pool,
  id: number,
  wanted: SourcePin | null,
  origin: Origin,
): Promise<Source> {
  return pool.transaction(async (tx) => {
    const source = await queries.lockSource(tx, id)
    if (!source) throw notFound()
    const now = await queries.readTime(tx)
    const health = wanted
      ? pin(source.health, wanted.state, endOfDay(wanted.until), now)
      : unpin(source.health, now)
    const from = publicState(source.health)
    const to = publicState(health)
    await queries.saveSource(
      tx,
      {
        id,
        health,
        owner: source.owner,
        evidence: wanted ? null : source.evidence,
        checked: null,
        at: now,
        change: from === to ? undefined : { from, to },
      },
      origin,
      createHash('sha256')
        .update(JSON.stringify([id, wanted]))
        .digest(),
    )
    return readSource(tx, id, 'editor')
  })
}

const notFound = () => new Problem('not-found', 'There is no such source')

/** Returns the end of a day (UTC) in milliseconds since 1970. */
const endOfDay = (day: string) => Date.parse(`${day}T23:59:59.999Z`)
