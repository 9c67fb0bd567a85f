import { isDeepStrictEqual } from 'node:util'
import { CategoryInput, mayAct, type Role, validationErrors } from '@talkshelf/contract'
import type { Db } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { type ImportItem, InputRefused, type ParsedItem } from '../item.ts'
import { itemKey, type PlannedItem, planItems, refusal } from './decide.ts'
import { type IncomingItem, sourceUrlOf } from './identity.ts'
import {
  changeImportState,
  findEarlierKeys,
  findSourceIdentities,
  type ImportJob,
  insertImportEntities,
  insertRows,
  type PlannedEntity,
  type PlannedRow,
  type RefusedItem,
  touchImport,
  type Verdict,
} from './queries.ts'

// Reads a file to its end and writes down what shall become of each talk. Nothing of the archive
// changes.

/** A batch of the plan ends with the row that reaches one of these limits. */
const maxBatchRows = 200
const maxBatchBytes = 8 << 20
const maxRows = 2_000_000
/** A row keeps so many notes. */
const maxNotes = 100

export type VerdictCounts = Record<Verdict, number>

/** Whoever gave it sees how far it is. */
export type OnPlanProgress = (counts: VerdictCounts) => void

export interface PlanOptions {
  /** Whose import it is: only an administrator may import takedowns. */
  readonly role: Role
  /** The file has to be read by then, on the clock of performance.now(). */
  readonly deadlineMs?: number | undefined
  readonly progress: OnPlanProgress
}

/** A piece of the file: a talk, an entity, or what could not be read. */
interface Item {
  readonly position: number
  readonly reading: ParsedItem
  /** The size of its JSON. */
  readonly bytes: number
}

/** Plans all that a file holds, batch by batch: memory has one batch, however large the file is. */
export async function planImport(
  pool: Pool,
  it: ImportJob,
  readings: AsyncIterable<ParsedItem>,
  { role, deadlineMs = Number.POSITIVE_INFINITY, progress }: PlanOptions,
): Promise<VerdictCounts> {
  const counts: VerdictCounts = { new: 0, changed: 0, unchanged: 0, conflict: 0, refused: 0 }
  let position = 0
  let batch: Item[] = []
  let batchBytes = 0
  let hasTakedowns = false
  const flush = async () => {
    const rows = await planBatch(pool, it, batch, role)
    for (const { verdict } of rows) counts[verdict]++
    hasTakedowns ||= rows.some(
      ({ draft }) => draft !== null && 'kept' in draft && draft.kept?.takenDown,
    )
    batch = []
    batchBytes = 0
    progress(counts)
  }
  for await (const given of readings) {
    position++
    if (position > maxRows)
      throw new InputRefused(
        `An import has at most ${maxRows.toLocaleString('en')} talks: split the file`,
      )
    if (performance.now() > deadlineMs)
      throw new InputRefused(
        'Reading it took too long. Split the file, or use the command: talkshelf import',
      )
    const item = { position, ...sized(given) }
    batch.push(item)
    batchBytes += item.bytes
    if (batch.length >= maxBatchRows || batchBytes >= maxBatchBytes) await flush()
  }
  await flush()
  const applyRole = hasTakedowns ? 'admin' : 'editor'
  if (
    !(await changeImportState(pool, it.id, ['reading'], 'planned', { rows: position, applyRole }))
  )
    throw new Error('The import was given up meanwhile')
  return counts
}

/**
 * Measures a reading, and refuses what no database can keep: a NUL, or half of a surrogate pair.
 */
function sized(reading: ParsedItem): Pick<Item, 'reading' | 'bytes'> {
  const json = JSON.stringify(reading)
  // JSON writes both as an escape, behind an even number of backslashes.
  const isStorable = !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(json)
  if (isStorable) return { reading, bytes: Buffer.byteLength(json) }
  const place = 'place' in reading ? reading.place.toWellFormed().replaceAll('\0', '') : 'category'
  return {
    reading: { place, unreadable: 'It has a character that is none: a NUL, or half of one' },
    bytes: 100,
  }
}

async function planBatch(
  db: Db,
  it: ImportJob,
  batch: readonly Item[],
  role: Role,
): Promise<PlannedRow[]> {
  const entities = batch.flatMap(entityOf)
  const valid = entities.filter(({ reason }) => reason === undefined).map(({ entity }) => entity)
  if (valid.length > 0) await insertImportEntities(db, it.id, valid)

  const unplannable = [
    ...entities.flatMap(({ entity: { position, place }, reason }) =>
      reason === undefined ? [] : [{ position, place, reason }],
    ),
    ...batch.flatMap(({ position, reading }) =>
      'unreadable' in reading
        ? [{ position, place: reading.place, reason: reading.unreadable }]
        : [],
    ),
  ]
  const asked = await withKeys(
    db,
    batch.flatMap(({ position, reading }) =>
      'fields' in reading ? [{ position, draft: reading }] : [],
    ),
  )
  const refusals = await refusalsOf(db, it.id, asked, role)
  const decided = [
    ...(await planItems(
      db,
      asked.filter(({ position }) => !refusals.has(position)),
      it,
    )),
    ...asked.flatMap((one) => {
      const reason = refusals.get(one.position)
      return reason === undefined ? [] : [refusal(one, reason)]
    }),
  ]
  const bytes = new Map(batch.map((item) => [item.position, item.bytes]))
  const rows = [
    ...unplannable.map(({ position, place, reason }) => refusedRow(position, place, reason)),
    ...decided.map((one) => plannedRow(one, bytes.get(one.asked.position) ?? 0)),
  ].sort((a, b) => a.position - b.position)
  if (rows.length > 0) await insertRows(db, it.id, rows)
  await touchImport(db, it.id)
  return rows
}

/** The speaker, tag or category that an item describes, with the reason if it can't be taken. */
function entityOf({
  position,
  reading,
  bytes,
}: Item): { entity: PlannedEntity; reason?: string | undefined }[] {
  if ('entity' in reading)
    return [{ entity: { position, place: reading.place, entity: reading.entity, bytes } }]
  if (!('category' in reading)) return []
  const { category } = reading
  const [error] = validationErrors(CategoryInput, category)
  const place = `category ${JSON.stringify(String(category.title).slice(0, 100))}`
  return [
    {
      entity: { position, place, entity: category, bytes },
      reason: error && `${error.pointer.slice(1)} ${error.detail}`,
    },
  ]
}

/** A row that says why a piece of the file can't be imported. */
export function refusedRow(position: number, place: string, reason: string): PlannedRow {
  const notes = [{ kind: 'refused' as const, field: '', detail: reason }]
  return {
    position,
    place,
    key: null,
    draft: null,
    bytes: 0,
    verdict: 'refused',
    video_id: null,
    changes: {},
    notes,
  }
}

function plannedRow(
  { asked: { position, place, key, draft }, ...decided }: PlannedItem,
  bytes: number,
): PlannedRow {
  const { verdict, videoId, changes, says, said, isTakenDown } = decided
  const notes = boundedNotes(decided.notes)
  const row = { position, place, key, draft, bytes, verdict, video_id: videoId, changes, notes }
  // What is refused has no key: the same one may stand elsewhere in the file.
  if (verdict === 'refused')
    return { ...row, key: null, draft: isTakenDown ? null : titleOf(draft), bytes: 0 }
  // Where the source says what it said before, nothing is left to be done, whatever people do
  // meanwhile.
  return verdict === 'unchanged' && isDeepStrictEqual(says, said)
    ? { ...row, draft: null, bytes: 0 }
    : row
}

function titleOf({ fields: { title } }: ImportItem): RefusedItem {
  return { fields: typeof title === 'string' ? { title: title.slice(0, 255).toWellFormed() } : {} }
}

/** The first notes of a row, and how many more there were. Reasons of a refusal always stay. */
function boundedNotes(notes: PlannedRow['notes']): PlannedRow['notes'] {
  if (notes.length <= maxNotes) return notes
  const reasons = notes.filter(({ kind }) => kind === 'refused').slice(0, maxNotes)
  const others = notes.filter(({ kind }) => kind !== 'refused').slice(0, maxNotes)
  const left = notes.length - reasons.length - others.length
  return [...others, { kind: 'dropped', field: '', detail: `and ${left} more` }, ...reasons]
}

async function withKeys(
  db: Db,
  all: readonly { position: number; draft: ImportItem }[],
): Promise<IncomingItem[]> {
  const addresses = all.map(({ draft: { key, fields } }) =>
    key === undefined ? sourceUrlOf(fields) : '',
  )
  const keys = new Map(
    (await findSourceIdentities(db, addresses)).map(({ place, key }) => [place, key]),
  )
  return all.map(({ position, draft }, index) => ({
    position,
    place: draft.place,
    key: itemKey(draft, keys.get(index) || undefined),
    draft,
    decision: null,
  }))
}

/**
 * Why talks are refused whatever the archive holds: the file has them twice, or they need another
 * role.
 */
async function refusalsOf(
  db: Db,
  importId: number,
  asked: readonly IncomingItem[],
  role: Role,
): Promise<Map<number, string>> {
  const earlier = await findEarlierKeys(
    db,
    importId,
    asked.map(({ key }) => key),
  )
  const seen = new Map(earlier.map(({ key, place }) => [key, place]))
  const refusals = new Map<number, string>()
  for (const { position, key, place, draft } of asked) {
    const before = seen.get(key)
    if (before !== undefined) refusals.set(position, `The same talk stands at ${before} already`)
    else if (draft.kept?.takenDown && !mayAct(role, 'admin'))
      refusals.set(position, 'Only administrators can import takedowns')
    else seen.set(key, place)
  }
  return refusals
}
