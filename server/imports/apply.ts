import { isDeepStrictEqual } from 'node:util'
import type { CategoryInput, ExportedThing, Video } from '@talkshelf/contract'
import type { Request } from '../changes/changes.ts'
import { writeFacts } from '../facts/facts.ts'
import type { Db } from '../platform/db/db.ts'
import { createVideos, lockBodies, moveVideoIds, writeLocked } from '../videos/videos.ts'
import { createCategory, keepThings, lookUp, lookUpAndHold } from '../vocabulary/vocabulary.ts'
import { type Decided, decide, namesIn } from './decide.ts'
import type { DraftFields } from './draft.ts'
import { type Asked, mostNumber } from './identity.ts'
import {
  advanceImport,
  type Before,
  findThings,
  highestNumber,
  type ImportRow,
  moveImport,
  type Outcome,
  type Row,
  rowsAfter,
  saveOutcomes,
  saveSaid,
} from './queries.ts'

// One batch of an import that is being applied, in one transaction.

/** So many talks in one transaction: whoever renames one of their speakers waits for it, and so does the feed of changes. */
export const batchSize = 100

/** Tells which records changed. */
export async function applyBatch(tx: Db, it: ImportRow, request: Request): Promise<number[]> {
  const upTo = Math.min(it.done + batchSize, it.rows)
  if (it.done === 0) {
    // Talks without a number come before some that bring one: theirs must not be given out meanwhile.
    const { highest } = await highestNumber(tx, it.id, mostNumber)
    if (highest > 0) await moveVideoIds(tx, highest)
  }
  await makeThings(tx, await findThings(tx, it.id, it.done, upTo), request)
  const rows = (await rowsAfter(tx, it.id, it.done, batchSize)).filter(({ position }) => position <= upTo)
  const changed = await writeRows(tx, it, rows, request)
  if (upTo < it.rows) await advanceImport(tx, it.id, upTo)
  else await moveImport(tx, it.id, ['applying'], 'applied', { done: upTo })
  return changed
}

async function makeThings(tx: Db, things: readonly { thing: object }[], request: Request): Promise<void> {
  const kept = things.flatMap(({ thing }) => ('kind' in thing ? [thing as ExportedThing] : []))
  await keepThings(tx, kept, request)
  for (const { thing } of things) if (!('kind' in thing)) await makeCategory(tx, thing as CategoryInput, request)
}

async function makeCategory(tx: Db, category: CategoryInput, request: Request): Promise<void> {
  const { title } = category
  const found = await lookUp(tx, { category: [title], language: [], speaker: [], tag: [] })
  if (!found.category.has(title)) await createCategory(tx, category, request)
}

async function writeRows(tx: Db, it: ImportRow, rows: readonly Row[], request: Request): Promise<number[]> {
  const asked = rows.flatMap(({ position, place, key, draft, decision, verdict }): Asked[] =>
    key === null || draft === null || verdict === 'refused' ? [] : [{ position, place, key, draft, decision }],
  )
  // Twice: first to see what will be written, and then, with the names held and the records locked, to know.
  const names = (await decide(tx, asked, it)).flatMap(writtenFields)
  for (const title of namesIn(names).category) await makeCategory(tx, { title }, request)
  const book = await lookUpAndHold(tx, namesIn(names))
  const decided = await decide(tx, asked, { ...it, bodies: (ids) => lockBodies(tx, ids) })

  const creating = decided.filter(({ create }) => create)
  const created = await createVideos(
    tx,
    creating.flatMap(({ create }) => create ?? []),
    book,
    request,
  )
  const written = new Map(creating.map(({ asked: { position } }, place) => [position, created[place] as { id: number; revision: number }]))
  for (const { asked: one, change } of decided)
    if (change) written.set(one.position, await writeLocked(tx, change.row, change.patch as Partial<Video>, book, 'updated', request))

  const idOf = ({ asked: one, videoId }: Decided) => written.get(one.position)?.id ?? videoId
  const facts = decided.flatMap((one) => (one.facts ? [{ id: idOf(one) as number, facts: one.facts }] : []))
  const factRevisions = await writeFacts(tx, facts, request)
  await saveSaid(
    tx,
    it.source,
    decided.flatMap((one) => {
      const id = idOf(one)
      return one.says && id !== null ? [{ key: one.asked.key, video_id: id, said: one.says }] : []
    }),
  )

  const outcomes = new Map(
    decided.map((one): [number, Outcome] => {
      const id = idOf(one)
      const now = written.get(one.asked.position)
      const factsRevision = id === null ? null : (factRevisions.get(id) ?? null)
      return [
        one.asked.position,
        {
          position: one.asked.position,
          outcome: outcomeOf(one),
          video_id: id,
          revision: now?.revision ?? null,
          facts_revision: factsRevision,
          before: beforeOf(one),
          notes: one.notes,
        },
      ]
    }),
  )
  await saveOutcomes(
    tx,
    it.id,
    rows.map((row) => outcomes.get(row.position) ?? { ...row, outcome: row.verdict === 'unchanged' ? 'unchanged' : 'refused' }),
  )
  return [...written.values()].map(({ id }) => id)
}

/** Also where the record stayed as it was: what the source says now is what the next import is compared with. */
function beforeOf({ create, change, says, said, factsBefore }: Decided): Before | null {
  if (create || change) return { said: said ?? null, revision: change?.row.revision ?? null, facts: factsBefore ?? null }
  return says && !isDeepStrictEqual(says, said) ? { said: said ?? null, says, revision: null, facts: null } : null
}

function outcomeOf({ create, change, verdict }: Decided): Outcome['outcome'] {
  if (create) return 'created'
  if (change) return 'changed'
  return verdict === 'refused' ? 'refused' : verdict === 'conflict' ? 'kept' : 'unchanged'
}

function writtenFields({ create, change }: Decided): DraftFields[] {
  return create ? [create.record as DraftFields] : change ? [change.patch as DraftFields] : []
}
