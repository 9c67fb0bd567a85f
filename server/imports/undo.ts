import { isDeepStrictEqual } from 'node:util'
import { type Fact, states, type Video } from '@talkshelf/contract'
import type { Request } from '../changes/changes.ts'
import { factsOf, writeFacts } from '../facts/facts.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, lockBodies, readRevision, writeLocked } from '../videos/videos.ts'
import { type Book, lookUpAndHold } from '../vocabulary/vocabulary.ts'
import { namesIn } from './decide.ts'
import type { DraftFields } from './draft.ts'
import type { Said } from './merge.ts'
import { advanceImport, findSaid, forgetSaid, type ImportRow, moveImport, type Row, rowsBefore, saveSaid, saveUndone } from './queries.ts'

// Takes an import back, the last talk first. What somebody has touched since stays as it is, and is listed. A record is never deleted: one that
// the import made becomes a draft, which nobody but editors sees; imported again, it comes back under its number.

const batchSize = 100

/** Tells which records changed. */
export async function undoBatch(tx: Db, it: ImportRow, request: Request): Promise<number[]> {
  const rows = await rowsBefore(tx, it.id, it.done, batchSize)
  const ids = rows.flatMap(({ video_id }) => video_id ?? [])
  const then = new Map<number, Partial<Video>>()
  for (const row of rows) {
    const before = await beforeOf(tx, row)
    if (before) then.set(row.position, before)
  }
  const book = await lookUpAndHold(tx, namesIn([...then.values()] as DraftFields[]))
  const bodies = await lockBodies(tx, ids)
  const facts = await factsOf(tx, ids)
  const changed: number[] = []
  const undone: { position: number; undone: 'undone' | 'touched' }[] = []
  for (const row of rows) {
    if (row.outcome !== 'created' && row.outcome !== 'changed') {
      await unsay(tx, it, row)
      continue
    }
    const id = row.video_id as number
    const body = bodies.get(id)
    const isTouched =
      !body ||
      body.taken_down ||
      body.revision !== row.revision ||
      (row.facts_revision !== null && facts.get(id)?.revision !== row.facts_revision)
    if (!isTouched) {
      await undo(tx, it, row, body, then.get(row.position), book, request)
      changed.push(id)
    }
    undone.push({ position: row.position, undone: isTouched ? 'touched' : 'undone' })
  }
  if (undone.length > 0) await saveUndone(tx, it.id, undone)
  const last = rows.at(-1)
  if (last && rows.length === batchSize) await advanceImport(tx, it.id, last.position - 1)
  else await moveImport(tx, it.id, ['undoing'], 'undone', { done: 0 })
  return changed
}

/** The fields as they were before the import; nothing where it did not change the record itself. */
async function beforeOf(tx: Db, { video_id, revision, before, outcome }: Row): Promise<Partial<Video> | undefined> {
  if (outcome === 'created') return { state: states.draft }
  if (video_id === null || before?.revision === null || before?.revision === undefined || before.revision === revision) return undefined
  const { id: _id, slug: _slug, added: _added, updated: _updated, ...fields } = (await readRevision(tx, video_id, before.revision)).record
  return fields
}

async function undo(
  tx: Db,
  it: ImportRow,
  row: Row,
  body: BodyRow,
  fields: Partial<Video> | undefined,
  book: Book,
  request: Request,
): Promise<void> {
  const key = row.key as string
  if (fields) await writeLocked(tx, body, fields, book, 'restored', request)
  if (row.outcome === 'created') {
    // What it said stands, but for the state: said once more, it makes the record live again.
    const [now] = await findSaid(tx, it.source, [key])
    if (now) await saveSaid(tx, it.source, [{ ...now, said: { ...now.said, fields: { ...now.said.fields, state: states.draft } } }])
    return
  }
  if (row.before?.facts) await writeFacts(tx, [{ id: body.id, facts: row.before.facts as Fact[] }], request)
  await sayAgain(tx, it, key, body.id, row.before?.said ?? null)
}

/** The record was left alone, and only what the source says was noted: unless it has said something else since, it has said nothing. */
async function unsay(tx: Db, it: ImportRow, { key, before }: Row): Promise<void> {
  const [now] = await findSaid(tx, it.source, [key as string])
  if (now && isDeepStrictEqual(now.said, before?.says)) await sayAgain(tx, it, now.key, now.video_id, before?.said ?? null)
}

async function sayAgain(tx: Db, { source }: ImportRow, key: string, videoId: number, said: Said | null): Promise<void> {
  if (said) await saveSaid(tx, source, [{ key, video_id: videoId, said }])
  else await forgetSaid(tx, source, [key])
}
