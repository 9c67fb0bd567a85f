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
  restoreEntities,
} from '../../entities/entities.ts'
import { writeFacts } from '../../facts/facts.ts'
import type { Db } from '../../platform/db/db.ts'
import {
  advanceVideoIds,
  createVideos,
  lockAndReadBodies,
  writeLockedVersion,
} from '../../videos/videos.ts'
import type { ImportNote, ItemFields } from '../item.ts'
import { namesOfItems, type PlannedItem, planItems } from './decide.ts'
import type { IncomingItem } from './identity.ts'
import { refusedRow } from './plan.ts'
import {
  advanceImport,
  changeImportState,
  findBatchEnd,
  findHighestId,
  findImportEntities,
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

// One batch of an import that is being applied, in one transaction.

/**
 * So many talks in one transaction: a rename of one of their speakers waits for it, and so does the
 * feed of changes.
 */
export const maxBatchRows = 100
/**
 * Writing a text costs time in proportion to its length: a batch of long ones must not reach the
 * time limit of a statement.
 */
const maxBatchBytes = 512 << 10

/** Applies the next `batch_size` rows. Returns the ids of the records that changed. */
export async function applyBatch(tx: Db, it: ImportJob, context: WriteContext): Promise<number[]> {
  if (it.done === 0) {
    // Talks without a number come before some that bring one: theirs must not be given out
    // meanwhile.
    const { highest } = await findHighestId(tx, it.id, maxImportedId)
    if (highest !== null) await advanceVideoIds(tx, highest)
  }
  const { end: upTo } = await findBatchEnd(tx, it, it.batch_size, maxBatchBytes)
  await makeEntities(tx, await findImportEntities(tx, it.id, it.done, upTo), context)
  const changed = await writeRows(tx, it, await lockRows(tx, it.id, it.done, upTo), context)
  await finishBatch(tx, it, upTo)
  return changed
}

/** Refuses the row that comes next, because writing it failed, and goes on behind it. */
export async function refuseNext(tx: Db, it: ImportJob, reason: string): Promise<void> {
  const { end: upTo } = await findBatchEnd(tx, it, 1, maxBatchBytes)
  const [row] = await lockRows(tx, it.id, it.done, upTo)
  const [entity] = await findImportEntities(tx, it.id, it.done, upTo)
  if (row) await saveOutcomes(tx, it.id, [refusedOutcome(row, reason)])
  else if (entity) {
    const refusal = refusedRow(entity.position, entity.place, reason)
    await insertRows(tx, it.id, [refusal])
    await saveOutcomes(tx, it.id, [refusedOutcome(refusal, reason)])
  }
  await finishBatch(tx, it, upTo)
}

function refusedOutcome(
  { position, video_id, notes }: Pick<ImportRow, 'position' | 'video_id' | 'notes'>,
  reason: string,
): RowOutcome {
  const all = [
    ...notes.filter(({ kind }) => kind !== 'refused'),
    { kind: 'refused' as const, field: '', detail: reason },
  ]
  return { position, outcome: 'refused', video_id, before: null, notes: all }
}

async function finishBatch(tx: Db, it: ImportJob, upTo: number): Promise<void> {
  if (upTo < it.rows) await advanceImport(tx, it.id, upTo, maxBatchRows)
  else await changeImportState(tx, it.id, ['applying'], 'applied', { done: upTo })
}

async function makeEntities(
  tx: Db,
  entities: readonly { entity: object }[],
  context: WriteContext,
): Promise<void> {
  const kept = entities.flatMap(({ entity }) =>
    'kind' in entity ? [entity as ExportedEntity] : [],
  )
  await restoreEntities(tx, kept, context)
  for (const { entity } of entities)
    if (!('kind' in entity)) await makeCategory(tx, entity as CategoryInput, context)
}

async function makeCategory(tx: Db, category: CategoryInput, context: WriteContext): Promise<void> {
  const { title } = category
  const found = await lookUpNames(tx, { category: [title], language: [], speaker: [], tag: [] })
  if (!found.category.has(title)) await createCategory(tx, category, context)
}

async function writeRows(
  tx: Db,
  it: ImportJob,
  rows: readonly ImportRow[],
  context: WriteContext,
): Promise<number[]> {
  // What was refused has no key; where nothing is left to be done, there is no draft.
  const asked = rows.flatMap(({ position, place, key, draft, decision }): IncomingItem[] =>
    key === null || draft === null ? [] : [{ position, place, key, draft, decision }],
  )
  // Twice: first to see what will be written, and then, with the names held and the records locked,
  // to know.
  const names = (await planItems(tx, asked, it)).flatMap(writtenFields)
  for (const title of namesOfItems(names).category) await makeCategory(tx, { title }, context)
  const book = await lookUpAndLockNames(tx, namesOfItems(names))
  const decided = await planItems(tx, asked, { ...it, bodies: (ids) => lockAndReadBodies(tx, ids) })

  const creating = decided.flatMap(({ asked: { position }, create }) =>
    create ? [{ position, create }] : [],
  )
  const created = await createVideos(
    tx,
    creating.map(({ create }) => create),
    book,
    context,
  )
  const written = new Map<number, { id: number; revision: number; slug?: string }>()
  for (const [index, { position }] of creating.entries())
    written.set(position, created[index] as (typeof created)[number])
  for (const { asked: one, change } of decided)
    if (change)
      written.set(
        one.position,
        await writeLockedVersion(
          tx,
          change.row,
          change.patch as Partial<Video>,
          book,
          'updated',
          context,
        ),
      )

  const idOf = ({ asked: one, videoId }: PlannedItem) => written.get(one.position)?.id ?? videoId
  const facts = decided.flatMap((one) =>
    one.facts ? [{ id: idOf(one) as number, facts: one.facts }] : [],
  )
  const factRevisions = await writeFacts(tx, facts, context)
  await saveSourceStates(
    tx,
    it.source,
    decided.flatMap((one) =>
      one.says ? [{ key: one.asked.key, video_id: idOf(one) as number, said: one.says }] : [],
    ),
  )

  const outcomes = new Map(
    decided.map((one): [number, RowOutcome] => {
      const id = idOf(one)
      const now = written.get(one.asked.position)
      return [
        one.asked.position,
        {
          position: one.asked.position,
          outcome: outcomeOf(one),
          video_id: id,
          revision: now?.revision,
          facts_revision: factRevisions.get(id as number),
          before: beforeOf(one),
          notes: [...one.notes, ...slugNotes(one, now?.slug)],
        },
      ]
    }),
  )
  await saveOutcomes(
    tx,
    it.id,
    rows.map(
      (row) =>
        outcomes.get(row.position) ?? { ...row, outcome: isRefused(row) ? 'refused' : 'unchanged' },
    ),
  )
  for (const { position, create } of creating)
    if (create.kept?.takenDown) await redactRows(tx, written.get(position)?.id as number)
  return [...written.values()].map(({ id }) => id)
}

/** Whether it was refused when the plan was made, or the record was taken down since. */
function isRefused({ notes }: ImportRow): boolean {
  return notes.some(({ kind }) => kind === 'refused')
}

/** Says that a record did not get the slug that it has in the file. */
function slugNotes({ create }: PlannedItem, slug: string | undefined): ImportNote[] {
  const wanted = create?.kept?.slug
  if (wanted === undefined || wanted === slug) return []
  return [
    {
      kind: 'repaired',
      field: 'slug',
      detail: `is ${wanted} in the file, which another record has: it is ${slug} here`,
    },
  ]
}

/**
 * Also where the record stayed as it was: what the source says now is what the next import is
 * compared with.
 */
function beforeOf({ create, change, says, said, factsBefore }: PlannedItem): StateBefore | null {
  if (create || change) return { said, revision: change?.row.revision, facts: factsBefore }
  return says ? { said, says } : null
}

function outcomeOf({ create, change, verdict }: PlannedItem): RowOutcome['outcome'] {
  if (create) return 'created'
  if (change) return 'changed'
  return verdict === 'refused' ? 'refused' : verdict === 'conflict' ? 'kept' : 'unchanged'
}

function writtenFields({ create, change }: PlannedItem): ItemFields[] {
  return create ? [create.record as ItemFields] : change ? [change.patch as ItemFields] : []
}
