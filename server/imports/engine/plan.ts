import { isDeepStrictEqual } from 'node:util'
import { CategoryInput, mayAct, type Role, validationErrors } from '@talkshelf/contract'
import { dateErrors } from '../../entities/entities.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { fieldCells } from '../formats/csv-write.ts'
import { fieldsOfNewRecord, InputRefused, type ParsedItem } from '../item.ts'
import { type PlannedItem, planItems, refusal } from './decide.ts'
import type { IncomingItem } from './identity.ts'
import { type PreparedItem, prepareBatch } from './prepare-batch.ts'
import {
  changeImportState,
  findEarlierKeys,
  type ImportJob,
  insertImportEntities,
  insertRows,
  type PlannedEntity,
  type PlannedRow,
  type RefusedItem,
  touchImport,
  type Verdict,
} from './queries.ts'
import { openPlanReview, type PlanReview } from './review.ts'

// Reads a file to its end and stores what is to become of each talk. No record changes.

/** A batch of the plan ends with the row that reaches one of these limits. */
const maxBatchRows = 200
const maxBatchBytes = 8 << 20
const defaultMaxRows = 2_000_000
/** The most notes that are stored with a row. */
const maxNotes = 100

export type VerdictCounts = Record<Verdict, number>

/** Called after each batch of the plan. */
export type OnPlanProgress = (counts: VerdictCounts) => void

export interface PlanOptions {
  /** The role of the importing user: only administrators may import takedowns. */
  readonly role: Role
  /** When reading must be finished, on the clock of performance.now(). */
  readonly deadlineMs?: number | undefined
  /** The most talks of a plan; default: 2,000,000. */
  readonly maxRows?: number | undefined
  /** Aborts the plan between two batches. */
  readonly signal?: AbortSignal | undefined
  /**
   * Ends the plan instead of `finish`, which it may call in a transaction of its own: until then
   * the import cannot be applied.
   */
  readonly onRead?: ((plan: ReadPlan) => Promise<void>) | undefined
  readonly progress: OnPlanProgress
}

/** A plan whose file was read to its end. */
export interface ReadPlan {
  readonly id: number
  readonly counts: VerdictCounts
  /** Moves the import to the state `planned`. */
  finish(db: Db): Promise<void>
}

/** A talk, an entity or an unreadable piece of the file, with its position. */
interface PositionedItem {
  readonly position: number
  readonly parsed: ParsedItem
  /** The size of its JSON. */
  readonly bytes: number
}

/** Plans all talks of a file. Only one batch is in memory, whatever the size of the file. */
export async function planImport(
  pool: Pool,
  job: ImportJob,
  items: AsyncIterable<ParsedItem>,
  options: PlanOptions,
): Promise<VerdictCounts> {
  const { role, progress, signal, onRead = ({ finish }) => finish(pool) } = options
  const { deadlineMs = Number.POSITIVE_INFINITY, maxRows = defaultMaxRows } = options
  const review = openPlanReview(new Date())
  const counts: VerdictCounts = { new: 0, changed: 0, unchanged: 0, conflict: 0, refused: 0 }
  let position = 0
  let batch: PositionedItem[] = []
  let batchBytes = 0
  let hasTakedowns = false
  const flush = async () => {
    signal?.throwIfAborted()
    const prepared = await prepareBatch(pool, job.source, batch)
    const rows = await planBatch(pool, job, prepared, { role, review })
    for (const { verdict } of rows) counts[verdict]++
    hasTakedowns ||= rows.some(isTakedown)
    batch = []
    batchBytes = 0
    progress(counts)
  }
  for await (const parsed of items) {
    position++
    if (position > maxRows)
      throw new InputRefused(
        `An import can have at most ${maxRows.toLocaleString('en')} talks. Split the file`,
      )
    if (performance.now() > deadlineMs)
      throw new InputRefused(
        'Reading the file took too long. Split it, or use the command: talkshelf import',
      )
    const item = { position, ...measure(parsed) }
    batch.push(item)
    batchBytes += item.bytes
    if (batch.length >= maxBatchRows || batchBytes >= maxBatchBytes) await flush()
  }
  await flush()
  const finish = async (db: Db) => {
    const isPlanned = await changeImportState(db, job.id, ['reading'], 'planned', {
      rows: position,
      applyRole: hasTakedowns ? 'admin' : 'editor',
      summary: review.summary(),
    })
    if (!isPlanned) throw new Error('The import was marked as abandoned while it was read')
  }
  await onRead({ id: job.id, counts, finish })
  return counts
}

/** Marks the import as failed if it can't be planned. */
export async function orFail<T>(pool: Pool, { id }: ImportJob, planned: Promise<T>): Promise<T> {
  try {
    return await planned
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const problem = message.slice(0, 2000)
    await changeImportState(pool, id, ['reading'], 'failed', { problem })
    throw error
  }
}

function isTakedown({ item }: PlannedRow): boolean {
  return item !== null && 'kept' in item && item.kept?.takenDown !== undefined
}

/**
 * Measures an item. One that PostgreSQL cannot store, because it has a NUL or an unpaired
 * surrogate, becomes unreadable.
 */
export function measure(parsed: ParsedItem): Pick<PositionedItem, 'parsed' | 'bytes'> {
  const json = JSON.stringify(parsed)
  // JSON escapes both, after an even number of backslashes.
  const isStorable = !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(json)
  if (isStorable) return { parsed, bytes: Buffer.byteLength(json) }
  const place = 'place' in parsed ? parsed.place.toWellFormed().replaceAll('\0', '') : 'category'
  return {
    parsed: { place, unreadable: 'Has an invalid character: a NUL or an unpaired surrogate' },
    bytes: 100,
  }
}

async function planBatch(
  db: Db,
  job: ImportJob,
  batch: readonly PreparedItem<PositionedItem>[],
  { role, review }: { role: Role; review: PlanReview },
): Promise<PlannedRow[]> {
  const entities = batch.flatMap(entityOf)
  const valid = entities.filter(({ reason }) => reason === undefined).map(({ entity }) => entity)
  if (valid.length > 0) await insertImportEntities(db, job.id, valid)

  const invalidEntities = entities.flatMap(({ entity: { position, place }, reason }) =>
    reason === undefined ? [] : [refusedRow(position, place, reason)],
  )
  const unreadable = batch.flatMap(({ position, parsed }) =>
    'unreadable' in parsed ? [refusedRow(position, parsed.place, parsed.unreadable)] : [],
  )
  const bytes = new Map(batch.map((item) => [item.position, item.bytes]))
  const talks = await review.addWarnings(db, await planTalks(db, job, batch, role))
  const planned = talks.map((item) => plannedRow(item, bytes.get(item.incoming.position) ?? 0))
  const rows = [...invalidEntities, ...unreadable, ...planned].sort(
    (a, b) => a.position - b.position,
  )
  if (rows.length > 0) await insertRows(db, job.id, rows)
  await touchImport(db, job.id)
  return rows
}

async function planTalks(
  db: Db,
  job: ImportJob,
  batch: readonly PreparedItem<PositionedItem>[],
  role: Role,
): Promise<PlannedItem[]> {
  const incoming = batch.flatMap(({ position, parsed, key }): IncomingItem[] =>
    'fields' in parsed && key !== undefined
      ? [{ position, place: parsed.place, key, item: parsed, decision: null }]
      : [],
  )
  const reasons = await refusalReasons(db, job.id, incoming, role)
  const accepted = incoming.filter(({ position }) => !reasons.has(position))
  const refused = incoming.flatMap((talk) => {
    const reason = reasons.get(talk.position)
    return reason === undefined ? [] : [{ ...refusal(talk, reason), isFinal: true }]
  })
  return [...(await planItems(db, accepted, job)), ...refused]
}

/** Returns the speaker, tag or category of an item, with the reason if it is invalid. */
function entityOf({
  position,
  parsed,
  bytes,
}: PositionedItem): { entity: PlannedEntity; reason?: string | undefined }[] {
  if ('entity' in parsed)
    return [{ entity: { position, place: parsed.place, entity: parsed.entity, bytes } }]
  if (!('category' in parsed)) return []
  const { category } = parsed
  const [error] = [...validationErrors(CategoryInput, category), ...dateErrors(category)]
  const place = `category ${JSON.stringify(String(category.title).slice(0, 100))}`
  return [
    {
      entity: { position, place, entity: category, bytes },
      reason: error && `${error.pointer.slice(1)} ${error.detail}`,
    },
  ]
}

/** Builds a row with the reason why a piece of the file can't be imported. */
export function refusedRow(position: number, place: string, reason: string): PlannedRow {
  const notes = [{ kind: 'refused' as const, field: '', detail: reason }]
  return {
    position,
    place,
    key: null,
    item: null,
    bytes: 0,
    verdict: 'refused',
    video_id: null,
    changes: {},
    notes,
  }
}

function plannedRow(planned: PlannedItem, bytes: number): PlannedRow {
  const { incoming, verdict, videoId, changes, isTakenDown } = planned
  const { position, place, key, item } = incoming
  // The row of a table is needed only to correct it.
  const { cells: _, ...stored } = item
  const notes = limitNotes(planned.notes)
  const row = {
    position,
    place,
    key,
    item: stored,
    bytes,
    verdict,
    video_id: videoId,
    changes,
    notes,
  }
  // A refused row has no key, so that a later row of the file may have it.
  if (verdict === 'refused')
    return { ...row, key: null, item: isTakenDown ? null : refusedItem(planned), bytes: 0 }
  // If the source repeats what it said before, nothing is left to do, whatever is edited meanwhile.
  return verdict === 'unchanged' && hasSameStates(planned) ? { ...row, item: null, bytes: 0 } : row
}

function hasSameStates({ sourceState, previousState, otherStates = [] }: PlannedItem): boolean {
  return [{ sourceState, previousState }, ...otherStates].every((state) =>
    isDeepStrictEqual(state.sourceState, state.previousState),
  )
}

/** The size of a row that is stored for correction. */
const maxCellsBytes = 100_000

/** Keeps the title of a refused talk, and the row of a table for correction. */
function refusedItem({ incoming: { item }, isFinal }: PlannedItem): RefusedItem {
  const { title } = item.fields
  const cells = isFinal ? [] : (item.cells ?? fieldCells(fieldsOfNewRecord(item)))
  const isStored = cells.length > 0 && Buffer.byteLength(JSON.stringify(cells)) <= maxCellsBytes
  return {
    fields: typeof title === 'string' ? { title: title.slice(0, 255).toWellFormed() } : {},
    ...(isStored && { cells }),
  }
}

/** Returns the first notes of a row, the number of the others, the reasons and the warnings. */
function limitNotes(notes: PlannedRow['notes']): PlannedRow['notes'] {
  if (notes.length <= maxNotes) return notes
  const isReason = ({ kind }: { kind: string }) => kind === 'refused' || kind === 'warning'
  const reasons = notes.filter(isReason).slice(0, maxNotes)
  const others = notes.filter((note) => !isReason(note)).slice(0, maxNotes)
  const omitted = notes.length - reasons.length - others.length
  return [...others, { kind: 'dropped', field: '', detail: `and ${omitted} more` }, ...reasons]
}

/** Finds the talks to refuse regardless of the archive: duplicates in the file, and takedowns. */
async function refusalReasons(
  db: Db,
  importId: number,
  talks: readonly IncomingItem[],
  role: Role,
): Promise<Map<number, string>> {
  const keys = talks.map(({ key }) => key)
  const earlier = await findEarlierKeys(db, importId, keys)
  const placeByKey = new Map(earlier.map(({ key, place }) => [key, place]))
  const reasons = new Map<number, string>()
  for (const { position, key, place, item } of talks) {
    const earlierPlace = placeByKey.get(key)
    if (earlierPlace !== undefined) reasons.set(position, `Duplicate of ${earlierPlace}`)
    else if (item.kept?.takenDown && !mayAct(role, 'admin'))
      reasons.set(position, 'Only administrators can import takedowns')
    else placeByKey.set(key, place)
  }
  return reasons
}
