import { type FeedEntry, type FeedPage, maxFeedEntries, Problem } from '@talkshelf/contract'
import { readExported } from '../exports/exports.ts'
import type { Db } from '../platform/db/db.ts'
import {
  type EntryRow,
  type FeedKind,
  findPosition,
  findPositionAt,
  listEntries,
  listNewestEntries,
  type Position,
  readHead,
} from './queries.ts'

// Reads pages of the feed. A cursor names an entry and the digest of all that was public after it,
// so that a cursor of another history is recognized.

export interface FeedFilter {
  readonly kind?: string | undefined
  readonly category?: number | undefined
  readonly speaker?: number | undefined
  readonly tag?: number | undefined
}

export interface FeedRequest extends FeedFilter {
  readonly limit?: number | undefined
  readonly include?: 'record' | undefined
  readonly compact?: 'true' | undefined
}

/** Entries that one request reads at most; a filter may match none of them. */
const maxScanned = 10_000
const chunkSize = 1000
const defaultLimit = 100
const maxRecords = 100
const recordsAtOnce = 20
/** Of a page with records. */
const maxRecordBytes = 4 << 20

const beginning: Position = { seq: 0, digest: '0'.repeat(16) }

export const formatCursor = ({ seq, digest }: Position) => `${seq}.${digest}`

/**
 * Finds the position that `since` means: a cursor, `0`, `now` or a time. Throws `other-history` if
 * the cursor is not part of the history, and `unavailable` while the feed is being built.
 */
export async function findSince(db: Db, since: string): Promise<Position> {
  const { isReady, seq, digest } = await readHead(db)
  if (!isReady)
    throw new Problem('unavailable', 'The change feed is being built; try again later', {
      retry_after: 5,
    })
  if (since === '0') return beginning
  if (since === 'now') return { seq, digest }
  const [, number, hash] = /^(\d+)\.([0-9a-f]{16})$/.exec(since) ?? []
  if (number === undefined || hash === undefined) return findTime(db, since)
  const position = { seq: Number(number), digest: hash }
  const known = position.seq === 0 ? beginning : await findPosition(db, position.seq)
  if (known?.digest === hash) return position
  throw new Problem(
    'other-history',
    'The archive has no such entry: it was restored from a backup since you got this cursor',
  )
}

async function findTime(db: Db, text: string): Promise<Position> {
  const time = new Date(/Z$|^.{10}$/.test(text) ? text : `${text}Z`)
  if (Number.isNaN(time.getTime()))
    throw invalidQuery('since', 'must be a time such as 2026-11-15T10:00:00Z')
  return (await findPositionAt(db, time.toISOString())) ?? beginning
}

function invalidQuery(name: string, detail: string): Problem {
  return new Problem('invalid-query', `Invalid query parameter: ${name}`, {
    errors: [{ pointer: `/${name}`, code: 'invalid', detail }],
  })
}

export interface PageWithPosition {
  readonly page: FeedPage
  readonly position: Position
}

/** Reads a page of entries after a position. */
export async function readPage(
  db: Db,
  since: Position,
  request: FeedRequest,
): Promise<PageWithPosition> {
  const isOfOwner = [request.category, request.speaker, request.tag].some((id) => id !== undefined)
  // A later entry that does not match would hide that a record has left.
  if (isOfOwner && request.compact !== undefined)
    throw invalidQuery('compact', 'cannot be combined with category, speaker or tag')
  const withRecords = request.include === 'record'
  const limit = Math.min(request.limit ?? defaultLimit, withRecords ? maxRecords : maxFeedEntries)
  let position = since
  let more = true
  const rows: EntryRow[] = []
  const isWanted = matches(request)
  for (let scanned = 0; more && rows.length < limit && scanned < maxScanned; ) {
    // Without a filter, exactly as many as are missing.
    const wanted = isFiltered(request) ? chunkSize : limit - rows.length
    const chunk = await listEntries(db, position.seq, wanted)
    scanned += chunk.length
    more = chunk.length === wanted
    for (const row of chunk) {
      if (rows.length === limit) {
        more = true
        break
      }
      position = row
      if (isWanted(row)) rows.push(row)
    }
  }
  if (!withRecords) return finish(rows.map(toEntry), position, more)
  return addRecords(db, rows, position, more)
}

/** Reads the newest entry of each of the ids in the request, and the end of the feed. */
export async function readNewest(
  db: Db,
  { kind, id, include }: FeedRequest & { readonly id: string },
): Promise<PageWithPosition> {
  if (kind === undefined) throw invalidQuery('id', 'needs kind')
  // Read first: entries that are added meanwhile are after the cursor.
  const end = await findSince(db, 'now')
  const ids = [...new Set(id.split(',').map(Number))]
  const rows = await listNewestEntries(db, kind as FeedKind, ids)
  if (include !== 'record') return finish(rows.map(toEntry), end, false)
  return addRecords(db, rows, end, false)
}

function finish(results: FeedEntry[], { seq, digest }: Position, more: boolean): PageWithPosition {
  const position = { seq, digest }
  return { page: { results, cursor: formatCursor(position), more }, position }
}

/** Adds the records as they are now. The page ends earlier if they are very large. */
async function addRecords(
  db: Db,
  rows: readonly EntryRow[],
  end: Position,
  more: boolean,
): Promise<PageWithPosition> {
  const results: FeedEntry[] = []
  let bytes = 0
  for (let from = 0; from < rows.length; from += recordsAtOnce) {
    const chunk = rows.slice(from, from + recordsAtOnce)
    const records = await readRecords(db, chunk)
    for (const row of chunk) {
      const record = records.get(`${row.kind}:${row.id}`) ?? null
      results.push({ ...toEntry(row), record })
      bytes += JSON.stringify(record).length
      if (bytes > maxRecordBytes) return finish(results, row, more || row !== rows.at(-1))
    }
  }
  return finish(results, end, more)
}

/** Reads the records and entities of entries, by `kind:id`, as far as they are public now. */
async function readRecords(db: Db, rows: readonly EntryRow[]) {
  const records = new Map<string, NonNullable<FeedEntry['record']>>()
  for (const kind of new Set(rows.map((row) => row.kind))) {
    const ids = new Set(rows.filter((row) => row.kind === kind).map(({ id }) => id))
    for (const record of await readExported(db, kind, [...ids]))
      records.set(`${kind}:${record.kind === 'video' ? record.record.id : record.id}`, record)
  }
  return records
}

/** Returns the entry as the API shows it. */
export function toEntry(row: EntryRow): FeedEntry {
  const { seq, at, kind, id, state, version, merged_into, belongs_to, belonged_to } = row
  return {
    seq,
    at,
    kind,
    id,
    state,
    ...(version !== null && { version }),
    ...(merged_into !== null && { merged_into }),
    ...(belongs_to.length > 0 && { belongs_to }),
    ...(belonged_to.length > 0 && { belonged_to }),
  }
}

function isFiltered({ kind, category, speaker, tag, compact }: FeedRequest): boolean {
  return [kind, category, speaker, tag, compact].some((value) => value !== undefined)
}

/** Returns a function that tells whether an entry matches all filters. */
export function matches(filter: FeedRequest): (row: EntryRow) => boolean {
  const owners = (['category', 'speaker', 'tag'] as const).flatMap((kind) =>
    filter[kind] === undefined ? [] : `${kind}:${filter[kind]}`,
  )
  return ({ kind, belongs_to, belonged_to, isLatest }) =>
    (filter.kind === undefined || kind === filter.kind) &&
    owners.every((owner) => belongs_to.includes(owner) || belonged_to.includes(owner)) &&
    (filter.compact === undefined || isLatest)
}
