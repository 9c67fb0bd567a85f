import { hash } from 'node:crypto'
import { type listVideos, Problem, type QueryOf } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { type Cursor, readCursor, writeCursor } from './cursor.ts'
import { readOrdering, reversed, usualOrdering } from './ordering.ts'
import { countUpTo, estimate, type Filter, findFilterIds, type Listed, listBodies, type Named } from './queries.ts'

// A page of the collection. What it costs follows from the page, not from the archive: indexes have every order, a place is found by its
// keys, and counting ends at 10,000.

export type Asked = QueryOf<typeof listVideos>

export interface ListedPage {
  readonly count: number
  readonly isExact: boolean
  /** JSON texts of records. */
  readonly bodies: readonly string[]
  /** What has to be different in the address of the page after this, and the one before; undefined where there is none. */
  readonly next: Asked | undefined
  readonly previous: Asked | undefined
}

const mostCounted = 10_000
/** `page` counts from the beginning: so far, and then a cursor goes on. */
const deepest = 10_000

export async function list(db: Db, asked: Asked): Promise<ListedPage> {
  const { page = 1, page_size: size = 20, ordering = usualOrdering } = asked
  const order = readOrdering(ordering)
  const byCursor = asked.cursor !== undefined
  const cursor = asked.cursor ? (readCursor(asked.cursor, ordering, order) ?? refuse('cursor', 'is not a place in this list')) : undefined
  if (byCursor && asked.page !== undefined) refuse('page', 'does not go together with cursor')
  const offset = (page - 1) * size
  if (offset >= deepest) refuse('page', `goes to the first ${deepest} records; follow next from there`)
  const filter = await filterOf(db, asked)
  if (!filter) return page === 1 && !cursor ? nothing : pastTheEnd()

  const isBack = cursor?.way === 'previous'
  const [rows, counted] = await Promise.all([
    listBodies(db, filter, isBack ? reversed(order) : order, { after: cursor?.keys, offset, limit: size + 1 }),
    count(db, filter),
  ])
  const shown = rows.slice(0, size)
  if (shown.length === 0 && (page > 1 || cursor)) pastTheEnd()
  const isMore = rows.length > size
  if (isBack) shown.reverse()
  const place = (way: Cursor['way'], row: Listed | undefined): Asked | undefined =>
    row && { cursor: writeCursor({ ordering, way, keys: row.keys }) }
  const hasNext = isBack || isMore
  const hasPrevious = cursor ? !isBack || isMore : page > 1
  return {
    ...counted,
    bodies: shown.map(({ body }) => body),
    next: !hasNext ? undefined : byCursor || offset + size >= deepest ? place('next', shown.at(-1)) : { page: page + 1 },
    previous: !hasPrevious ? undefined : byCursor ? place('previous', shown[0]) : { page: page - 1 },
  }
}

/** The version of a page: what it says. */
export function tagOf(body: string): string {
  return hash('sha256', body, 'base64url').slice(0, 22)
}

const nothing: ListedPage = { count: 0, isExact: true, bodies: [], next: undefined, previous: undefined }

async function count(db: Db, filter: Filter): Promise<{ count: number; isExact: boolean }> {
  const expected = await estimate(db, filter)
  // Far above what is counted anyway, nobody has to walk there to find out.
  if (expected > 3 * mostCounted) return { count: expected, isExact: false }
  const counted = await countUpTo(db, filter, mostCounted + 1)
  return counted <= mostCounted ? { count: counted, isExact: true } : { count: Math.max(expected, counted), isExact: false }
}

/** Undefined where something is asked for that there is none of. */
async function filterOf(db: Db, asked: Asked): Promise<Filter | undefined> {
  const { category, speaker, tag, language } = asked
  const named: Named = { category, speaker, tag, language }
  const isNamed = Object.values(named).some((it) => it !== undefined)
  const ids = isNamed ? await findFilterIds(db, named) : undefined
  for (const [name, given] of Object.entries(named)) if (given !== undefined && ids?.[name as keyof Named] === null) return undefined
  return {
    category: ids?.category ?? undefined,
    speaker: ids?.speaker ?? undefined,
    tag: ids?.tag ?? undefined,
    language: ids?.language ?? undefined,
    recordedAfter: asked.recorded_after,
    recordedBefore: asked.recorded_before,
    updatedSince: asked.updated_since === undefined ? undefined : momentOf(asked.updated_since),
    sourceUrl: asked.source_url,
  }
}

function momentOf(text: string): string {
  const moment = text.endsWith('Z') ? text : `${text}Z`
  return Number.isNaN(Date.parse(moment)) ? refuse('updated_since', 'is no moment') : moment
}

function refuse(name: string, detail: string): never {
  throw new Problem('invalid-query', `The parameter ${name} is wrong`, { errors: [{ pointer: `/${name}`, code: 'invalid', detail }] })
}

function pastTheEnd(): never {
  throw new Problem('not-found', 'There is no such page')
}
