import {
  type CategoryInput,
  type ExportedEntity,
  maxImportedId,
  type Video,
} from '@talkshelf/contract'
import type { WriteContext } from '../../changes/changes.ts'
import {
  createCategory,
  lookUpAndLockNames,
  lookUpNames,
  type NameLookup,
  restoreEntities,
} from '../../entities/entities.ts'
import { writeFacts } from '../../facts/facts.ts'
import { proposeReplacement } from '../../links/links.ts'
import type { Db } from '../../platform/db/db.ts'
import {
  advanceVideoIds,
  createVideos,
  findBodiesById,
  lockAndReadBodies,
  writeLockedVersion,
} from '../../videos/videos.ts'
import { writeEdits } from '../edit/apply-edit.ts'
import type { ImportNote } from '../item.ts'
import { namesOfItems, type PlannedItem, planItems, writtenFields } from './decide.ts'
import { type IncomingItem, sourceUrlOf } from './identity.ts'
import { refusedRow } from './plan.ts'
import {
  advanceImport,
  changeImportState,
  findBatchEnd,
  findHighestId,
  findImportEntities,
  findWrittenVersions,
  type ImportJob,
  type ImportRow,
  insertRows,
  lockRows,
  type RowOutcome,
  redactRows,
  type StateBefore,
  saveOutcomes,
  saveSourceStates,
} from './queries.ts'

// Applies one batch of an import, in one transaction.

/** Small, because renames of the speakers and the change feed wait for the transaction. */
export const maxBatchRows = 100
/** Writing takes time in proportion to the text, and must end before the statement timeout. */
const maxBatchBytes = 512 << 10

/** Applies the next `batch_size` rows. Returns the ids of the records that changed. */
export async function applyBatch(tx: Db, job: ImportJob, context: WriteContext): Promise<number[]> {
  if (job.done === 0) {
    // Reserves the ids that talks bring: earlier talks without one must not get them.
    const { highest } = await findHighestId(tx, job.id, maxImportedId)
    if (highest !== null) await advanceVideoIds(tx, highest)
  }
  const { end: upTo } = await findBatchEnd(tx, job, job.batch_size, maxBatchBytes)
  await writeEntities(tx, await findImportEntities(tx, job.id, job.done, upTo), context)
  const rows = await lockRows(tx, job.id, job.done, upTo)
  const left = await leftByRedo(tx, rows)
  const write = job.options.operations ? writeEdits : writeRows
  const changed = await write(tx, job, rows, left, context)
  await finishBatch(tx, job, upTo)
  return changed
}

/** Refuses the next row because writing it failed, and moves past it. */
export async function refuseNext(tx: Db, job: ImportJob, reason: string): Promise<void> {
  const { end: upTo } = await findBatchEnd(tx, job, 1, maxBatchBytes)
  const [row] = await lockRows(tx, job.id, job.done, upTo)
  const [entity] = await findImportEntities(tx, job.id, job.done, upTo)
  if (row) await saveOutcomes(tx, job.id, [refusedOutcome(row, reason)])
  else if (entity) {
    const refused = refusedRow(entity.position, entity.place, reason)
    await insertRows(tx, job.id, [refused])
    await saveOutcomes(tx, job.id, [refusedOutcome(refused, reason)])
  }
  await finishBatch(tx, job, upTo)
}

function refusedOutcome(
  { position, video_id, notes }: Pick<ImportRow, 'position' | 'video_id' | 'notes'>,
  reason: string,
): RowOutcome {
  const others = notes.filter(({ kind }) => kind !== 'refused')
  const refusal = { kind: 'refused' as const, field: '', detail: reason }
  return { position, outcome: 'refused', video_id, before: null, notes: [...others, refusal] }
}

async function finishBatch(tx: Db, job: ImportJob, upTo: number): Promise<void> {
  if (upTo < job.rows) await advanceImport(tx, job.id, upTo, maxBatchRows)
  else await changeImportState(tx, job.id, ['applying'], 'applied', { done: upTo })
}

async function writeEntities(
  tx: Db,
  entities: readonly { entity: object }[],
  context: WriteContext,
): Promise<void> {
  const exported = entities.flatMap(({ entity }) =>
    'kind' in entity ? [entity as ExportedEntity] : [],
  )
  await restoreEntities(tx, exported, context)
  for (const { entity } of entities)
    if (!('kind' in entity)) await ensureCategory(tx, entity as CategoryInput, context)
}

async function ensureCategory(
  tx: Db,
  category: CategoryInput,
  context: WriteContext,
): Promise<void> {
  const { title } = category
  const lookup = await lookUpNames(tx, { category: [title], language: [], speaker: [], tag: [] })
  if (!lookup.category.has(title)) await createCategory(tx, category, context)
}

async function writeRows(
  tx: Db,
  job: ImportJob,
  rows: readonly ImportRow[],
  left: ReadonlyMap<number, RowOutcome>,
  context: WriteContext,
): Promise<number[]> {
  // A refused row has no key, and a row with nothing left to do has no item.
  const items = rows.flatMap(({ position, place, key, item, decision }): IncomingItem[] =>
    key === null || item === null || left.has(position)
      ? []
      : [{ position, place, key, item, decision }],
  )
  // Planned twice: first to learn which names to lock, then with names and records locked.
  const fields = (await planItems(tx, items, job)).flatMap(writtenFields)
  for (const title of namesOfItems(fields).category) await ensureCategory(tx, { title }, context)
  const lookup = await lookUpAndLockNames(tx, namesOfItems(fields))
  const bodies = (ids: readonly number[]) => lockAndReadBodies(tx, ids)
  const planned = await planItems(tx, items, { ...job, bodies })

  const written = await writeRecords(tx, planned, lookup, context)
  const factRevisions = await writeFacts(
    tx,
    planned.flatMap((item) =>
      item.facts ? [{ id: idOf(item, written) as number, facts: item.facts }] : [],
    ),
    context,
  )
  await saveSourceStates(
    tx,
    job.source,
    planned.flatMap((item) => {
      const { incoming, sourceState } = item
      if (!sourceState) return []
      return [{ key: incoming.key, video_id: idOf(item, written) as number, state: sourceState }]
    }),
  )
  const others = planned.flatMap((item) =>
    (item.otherStates ?? []).map(({ source, key, sourceState: state }) => ({
      source,
      row: { key, video_id: idOf(item, written) as number, state },
    })),
  )
  for (const [source, ofSource] of Map.groupBy(others, (other) => other.source))
    await saveSourceStates(
      tx,
      source,
      ofSource.map(({ row }) => row),
    )
  const outcomes = new Map(
    planned.map((item) => [item.incoming.position, outcomeOf(item, written, factRevisions)]),
  )
  for (const item of planned) await proposeCopy(tx, job, item)
  await saveOutcomes(
    tx,
    job.id,
    rows.map((row) => {
      const outcome = outcomes.get(row.position)
      return outcome
        ? withWarnings(outcome, row)
        : (left.get(row.position) ?? unplannedOutcome(row))
    }),
  )
  for (const item of planned)
    if (item.create?.kept?.takenDown) await redactRows(tx, idOf(item, written) as number)
  return [...written.values()].map(({ id }) => id)
}

/** Proposes the video of a talk that may be a copy of a lost one, if that was not decided. */
async function proposeCopy(
  tx: Db,
  { id }: ImportJob,
  { lost, incoming: { item } }: PlannedItem,
): Promise<void> {
  if (!lost) return
  const { title } = item.fields
  await proposeReplacement(tx, {
    source: lost.source_id,
    video: lost.id,
    url: sourceUrlOf(item.fields),
    finder: 'import',
    evidence: `Import ${id} has “${title}” with the same length at this URL`,
  })
}

/**
 * Finds the rows that a redo leaves alone: the undo did, or what it restored has changed since.
 * Returns their outcomes by position.
 */
async function leftByRedo(
  tx: Db,
  rows: readonly ImportRow[],
): Promise<ReadonlyMap<number, RowOutcome>> {
  const undone = rows.filter((row) => row.undone !== null)
  if (undone.length === 0) return new Map()
  const ids = undone.flatMap(({ video_id }) => video_id ?? [])
  const bodies = await findBodiesById(tx, ids)
  const restored = await findWrittenVersions(
    tx,
    'video',
    undone.flatMap(({ position, video_id: id, revision }) =>
      id === null || revision === null ? [] : [{ position, id, revision }],
    ),
  )
  const versions = new Map(restored.map((version) => [version.position, version]))
  return new Map(
    undone.flatMap((row): [number, RowOutcome][] => {
      // What it wrote is still there, and can still be undone.
      if (row.undone === 'touched') return [[row.position, keptOutcome(row, keptByUndo)]]
      const body = bodies.get(row.video_id as number)
      const isOverwritten = versions.get(row.position)?.is_overwritten !== false
      const isPresent = body && !body.taken_down && body.merged_into === null
      if (isPresent && !isOverwritten) return []
      return [[row.position, { ...keptOutcome(row, changedSinceUndo), before: null }]]
    }),
  )
}

function keptOutcome(row: ImportRow, detail: string): RowOutcome {
  const others = row.notes.filter((note) => note.detail !== detail)
  return { ...row, outcome: 'kept', notes: [...others, { kind: 'dropped', field: 'talk', detail }] }
}

const keptByUndo = 'was not applied again: the undo had kept it'
const changedSinceUndo = 'was not applied again: its record has changed since the undo'

/** The records that were written, by the position of their rows. */
type WrittenRecords = ReadonlyMap<
  number,
  { readonly id: number; readonly revision: number; readonly slug?: string }
>

/** Creates and changes records. All names must be locked, and the records to change as well. */
async function writeRecords(
  tx: Db,
  planned: readonly PlannedItem[],
  lookup: NameLookup,
  context: WriteContext,
): Promise<WrittenRecords> {
  const written = new Map<number, { id: number; revision: number; slug?: string }>()
  const creations = planned.flatMap(({ incoming: { position }, create }) =>
    create ? [{ position, create }] : [],
  )
  const records = creations.map(({ create }) => create)
  const created = await createVideos(tx, records, lookup, context)
  for (const [index, { position }] of creations.entries())
    written.set(position, created[index] as (typeof created)[number])
  for (const { incoming, change } of planned) {
    if (!change) continue
    const patch = change.patch as Partial<Video>
    const version = await writeLockedVersion(tx, change.row, patch, lookup, 'updated', context)
    written.set(incoming.position, version)
  }
  return written
}

/** Returns the id of the record of a talk. Null if the talk was refused or is undecided. */
function idOf({ incoming, videoId }: PlannedItem, written: WrittenRecords): number | null {
  return written.get(incoming.position)?.id ?? videoId
}

function outcomeOf(
  item: PlannedItem,
  written: WrittenRecords,
  factRevisions: ReadonlyMap<number, number>,
): RowOutcome {
  const { position } = item.incoming
  const id = idOf(item, written)
  const version = written.get(position)
  return {
    position,
    outcome: outcomeKind(item),
    video_id: id,
    revision: version?.revision,
    facts_revision: factRevisions.get(id as number),
    before: stateBefore(item),
    notes: [...item.notes, ...slugNotes(item, version?.slug)],
  }
}

/** Keeps the warnings of the plan, which applying does not repeat. */
function withWarnings(outcome: RowOutcome, row: ImportRow): RowOutcome {
  const warnings = row.notes.filter(({ kind }) => kind === 'warning')
  const others = outcome.notes.filter(({ kind }) => kind !== 'warning')
  return { ...outcome, notes: [...others, ...warnings] }
}

/** Returns the outcome of a row that was refused by the plan, redacted since, or has no change. */
function unplannedOutcome(row: ImportRow): RowOutcome {
  const isRefused = row.notes.some(({ kind }) => kind === 'refused')
  return { ...row, outcome: isRefused ? 'refused' : 'unchanged' }
}

/** Notes that a record could not have the slug of the file. */
function slugNotes({ create }: PlannedItem, slug: string | undefined): ImportNote[] {
  const requested = create?.kept?.slug
  if (requested === undefined || requested === slug) return []
  const detail = `was ${requested} in the file, which another record has: changed to ${slug}`
  return [{ kind: 'repaired', field: 'slug', detail }]
}

/**
 * Returns what undoing needs. Also for a record that did not change: the source state of this
 * import replaces the one before.
 */
function stateBefore(item: PlannedItem): StateBefore | null {
  const { create, change, sourceState, previousState, factsBefore } = item
  const others = item.otherStates?.length ? { otherStates: item.otherStates } : {}
  if (create) return { previousState, ...others }
  const states = { previousState, sourceState, ...others }
  if (change) return { ...states, revision: change.row.revision, facts: factsBefore }
  return sourceState ? states : null
}

function outcomeKind({ create, change, verdict }: PlannedItem): RowOutcome['outcome'] {
  if (create) return 'created'
  if (change) return 'changed'
  if (verdict === 'refused') return 'refused'
  return verdict === 'conflict' ? 'kept' : 'unchanged'
}
