import {
  mayAct,
  Problem,
  type Suggestion,
  type SuggestionState,
  type Video,
} from '@talkshelf/contract'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { assertMayChange, findBodiesById, findRevision, lockCurrent } from '../videos/videos.ts'
import { type ComparedField, compareFields } from './compare.ts'
import { isPublicVersion, withCurrentNames, withKeptNames } from './create.ts'
import {
  countRows,
  findSuggestion,
  listRows,
  lockSuggestion,
  type StoredFields,
  type SuggestionRow,
  saveDecision,
} from './queries.ts'

// Reads suggestions. Those that are open are compared with their records each time, and closed if
// others have made the same change.

/** A suggestion with its fields compared with the record. */
export interface ComparedSuggestion extends Suggestion {
  readonly fields: ComparedField[]
}

/** A suggestion and the record that it is about. */
export interface Compared {
  readonly row: SuggestionRow
  readonly base: Video | undefined
  readonly current: Video | undefined
  readonly currentRevision: number | null
  /** Whether readers see the record. */
  readonly isLive: boolean
  /** The suggested fields, with the current names of entities. */
  readonly suggested: StoredFields
  readonly fields: ComparedField[]
}

/** Compares suggestions with their records. */
async function compareRows(db: Db, rows: readonly SuggestionRow[]): Promise<Compared[]> {
  const ids = rows.flatMap(({ target_id }) => target_id ?? [])
  const bodies = await findBodiesById(db, ids)
  return Promise.all(
    rows.map(async (row) => {
      const body = bodies.get(row.target_id ?? 0)
      const suggested = await withCurrentNames(db, row.fields)
      const current = body && !body.taken_down ? (JSON.parse(body.body) as Video) : undefined
      const isUnchanged = row.video_id === row.target_id && row.base_revision === body?.revision
      const base = isUnchanged || !current ? current : await findBase(db, row)
      return {
        row,
        base,
        current,
        currentRevision: current ? (body?.revision ?? null) : null,
        isLive: current !== undefined && body?.live === true,
        suggested,
        fields: fieldsOf(row, suggested, base, current),
      }
    }),
  )
}

async function findBase(db: Db, row: SuggestionRow): Promise<Video | undefined> {
  const { video_id: id, base_revision: revision } = row
  if (id === null || revision === null) return undefined
  return (await findRevision(db, id, revision))?.record
}

/** A missing talk is compared with nothing: all of its fields are open. */
function fieldsOf(
  { kind }: SuggestionRow,
  suggested: StoredFields,
  base: Video | undefined,
  current: Video | undefined,
): ComparedField[] {
  if (kind !== 'missing') return base && current ? compareFields(base, suggested, current) : []
  return Object.entries(suggested).map(([field, value]) => ({
    field: field as ComparedField['field'],
    state: 'open',
    suggested: value,
    base: null,
    current: null,
  }))
}

/**
 * Compares what the author typed with the record. Other than for editors, names stay as they were
 * typed unless the record had them and readers see them there: otherwise the result would tell
 * which hidden aliases exist, and the names of drafts. For the same reason a version with names
 * that are not public is not compared.
 */
export async function compareForAuthor(db: Db, compared: Compared): Promise<Compared> {
  const { row, base, current, isLive } = compared
  const suggested = await withKeptNames(db, row.fields, row.kept_ids, isLive ? current : undefined)
  const isSeen = base && (base === current || (await isPublicVersion(db, base)))
  const fields = fieldsOf(row, suggested, isSeen ? base : current, current)
  return { ...compared, suggested, fields }
}

/**
 * Tells whether an open suggestion has nothing left to do. The author learns that it is done, so a
 * draft is compared only for requests for removal: readers see that a talk is gone.
 */
function isDone({ row, fields, isLive }: Compared): boolean {
  if (row.kind === 'duplicate') return row.target_id === row.duplicate_target_id
  if (!isLive && row.kind !== 'removal') return false
  const isAlreadyApplied =
    fields.length > 0 && fields.every(({ state }) => state === 'already-applied')
  // What the comment asks for may not be done yet, except for the reason of a removal.
  return isAlreadyApplied && (row.kind === 'removal' || row.comment === '')
}

/** Tells whether a suggestion has nothing left to do, for editors and for its author. */
export async function isDoneForAll(db: Db, compared: Compared): Promise<boolean> {
  return isDone(compared) && isDone(await compareForAuthor(db, compared))
}

/** Closes suggestions that have nothing left to do, and returns the current rows. */
async function closeDone(pool: Pool, compared: readonly Compared[]): Promise<Compared[]> {
  const result: Compared[] = []
  for (const each of compared) {
    const isToClose = each.row.state === 'open' && (await isDoneForAll(pool, each))
    result.push(isToClose ? await closeIfDone(pool, each.row.id) : each)
  }
  return result
}

/** Closes a suggestion if it has nothing left to do, on the locked record. */
function closeIfDone(pool: Pool, id: number): Promise<Compared> {
  return pool.transaction(async (tx) => {
    await lockSuggestion(tx, id)
    const compared = await lockAndCompare(tx, await readRow(tx, id))
    if (compared.row.state !== 'open' || !(await isDoneForAll(tx, compared))) return compared
    await saveDecision(tx, id, { state: 'done', by: null })
    return compareOne(tx, await readRow(tx, id))
  })
}

/** Locks the record of a locked suggestion, and compares it with what the record is then. */
export async function lockAndCompare(tx: Db, row: SuggestionRow): Promise<Compared> {
  if (row.target_id !== null) await lockCurrent(tx, row.target_id)
  return compareOne(tx, await readRow(tx, row.id))
}

/** Reads the row of a suggestion. Throws `not-found` if there is none. */
export async function readRow(db: Db, id: number): Promise<SuggestionRow> {
  const row = await findSuggestion(db, id)
  if (!row) throw new Problem('not-found', 'This suggestion does not exist')
  return row
}

/** Compares one suggestion with its record. */
export async function compareOne(db: Db, row: SuggestionRow): Promise<Compared> {
  const [compared] = await compareRows(db, [row])
  if (!compared) throw new Error('A suggestion was not compared')
  return compared
}

/** Compares one suggestion with its record, and closes it if it has nothing left to do. */
export async function compareAndClose(pool: Pool, row: SuggestionRow): Promise<Compared> {
  const [compared] = await closeDone(pool, [await compareOne(pool, row)])
  if (!compared) throw new Error('A suggestion was not compared')
  return compared
}

/**
 * Throws `taken-down` if a record of a locked suggestion was taken down. A takedown waits for the
 * lock of the suggestion first, so the records need none.
 */
export async function assertNotTakenDown(tx: Db, row: SuggestionRow): Promise<void> {
  const { video_id, target_id, duplicate_of, duplicate_target_id } = row
  const ids = [video_id, target_id, duplicate_of, duplicate_target_id].filter((id) => id !== null)
  for (const { taken_down } of (await findBodiesById(tx, [...new Set(ids)])).values())
    if (taken_down) throw new Problem('taken-down', 'This record was taken down', taken_down)
}

/** Throws `forbidden` unless the actor may decide about a record. */
export async function assertMayDecide(
  db: Db,
  actor: Actor,
  { target_id: target }: SuggestionRow,
): Promise<void> {
  const isForbidden = !mayAct(actor.role, 'editor') || (actor.events && target === null)
  if (isForbidden) throw new Problem('forbidden', 'You may decide about your own events only')
  if (target !== null) await assertMayChange(db, actor, target)
}

/** Reads a suggestion for an editor. Throws `not-found` or `forbidden`. */
export async function readSuggestion(
  pool: Pool,
  actor: Actor,
  id: number,
): Promise<ComparedSuggestion> {
  const row = await readRow(pool, id)
  await assertMayDecide(pool, actor, row)
  return toSuggestion(await compareAndClose(pool, row))
}

/**
 * Lists suggestions in the order of the queue, with the number of all and the age of the oldest.
 * `next` is the last one of the page if there are more.
 */
export async function listSuggestions(
  pool: Pool,
  actor: Actor,
  {
    state = 'open',
    after = null,
    size,
  }: { state?: SuggestionState | undefined; after?: number | null | undefined; size: number },
): Promise<{
  count: number
  oldest: string | null
  results: ComparedSuggestion[]
  next: number | undefined
}> {
  const filter = { state, events: actor.events }
  const rows = await listRows(pool.lists, { ...filter, after, limit: size + 1 })
  const page = rows.slice(0, size)
  const compared = await closeDone(pool, await compareRows(pool.lists, page))
  const results = compared.filter(({ row }) => row.state === state).map(toSuggestion)
  const queue = await countRows(pool.lists, filter)
  return { ...queue, results, next: rows.length > size ? page.at(-1)?.id : undefined }
}

/** Returns a suggestion as the API does. */
export function toSuggestion({
  row,
  current,
  currentRevision,
  fields,
}: Compared): ComparedSuggestion {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    created: row.created,
    low_priority: row.low_priority,
    video: row.target_id,
    title: current?.title ?? null,
    base_revision: row.base_revision,
    current_revision: currentRevision,
    fields,
    duplicate_of: row.duplicate_target_id,
    comment: row.comment,
    name: row.name,
    show_name: row.show_name,
    reply: row.reply,
    reason: row.reason,
    taken: (row.taken ?? []) as Suggestion['taken'],
    revision: row.revision,
    closed: row.closed,
    closed_by: row.closed_by,
  }
}
