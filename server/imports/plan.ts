import { isDeepStrictEqual } from 'node:util'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type Decided, decide, keyOf, refused } from './decide.ts'
import { type Draft, type Reading, Refused, type Unreadable } from './draft.ts'
import type { Asked } from './identity.ts'
import {
  findKeys,
  type ImportRow,
  insertRows,
  insertThings,
  keysOfSources,
  moveImport,
  type PlannedRow,
  touchImport,
  type Verdict,
} from './queries.ts'

// Reads a file to its end and writes down what shall become of each talk. Nothing of the archive changes.

const batchSize = 200
const mostRows = 2_000_000

export type Counts = Record<Verdict, number>

/** Whoever gave it sees how far it is. */
export type Progress = (counts: Counts) => void

export async function plan(pool: Pool, it: ImportRow, readings: AsyncIterable<Reading>, progress: Progress): Promise<Counts> {
  const counts: Counts = { new: 0, changed: 0, unchanged: 0, conflict: 0, refused: 0 }
  let position = 0
  let batch: { position: number; reading: Reading }[] = []
  const flush = async () => {
    for (const verdict of await planBatch(pool, it, batch)) counts[verdict]++
    batch = []
    progress(counts)
  }
  for await (const reading of readings) {
    position++
    if (position > mostRows) throw new Refused(`An import has at most ${mostRows.toLocaleString('en')} talks: split the file`)
    batch.push({ position, reading })
    if (batch.length >= batchSize) await flush()
  }
  await flush()
  if (!(await moveImport(pool, it.id, ['reading'], 'planned', { rows: position }))) throw new Error('The import was given up meanwhile')
  return counts
}

async function planBatch(db: Db, it: ImportRow, batch: readonly { position: number; reading: Reading }[]): Promise<Verdict[]> {
  const things = batch.flatMap(({ position, reading }): { position: number; thing: object }[] =>
    'thing' in reading ? [{ position, thing: reading.thing }] : 'category' in reading ? [{ position, thing: reading.category }] : [],
  )
  if (things.length > 0) await insertThings(db, it.id, things)

  const talks = batch.map(({ position, reading }) => ({ position, reading: 'fields' in reading ? storable(reading) : reading }))
  const unreadable = talks.flatMap(({ position, reading }) =>
    'unreadable' in reading
      ? [{ ...nothing, position, place: reading.place, notes: [{ kind: 'refused' as const, field: '', detail: reading.unreadable }] }]
      : [],
  )
  const asked = await withKeys(
    db,
    talks.flatMap(({ position, reading }) => ('fields' in reading ? [{ position, draft: reading }] : [])),
  )
  const twice = await placesOf(db, it.id, asked)
  const once = asked.filter(({ position }) => !twice.has(position))
  const decided = [
    ...(await decide(db, once, it)),
    ...asked.flatMap((one) => {
      const place = twice.get(one.position)
      return place === undefined ? [] : [refused(one, `The same talk stands at ${place} already`)]
    }),
  ]
  const rows: PlannedRow[] = [...unreadable, ...decided.map(planned)].sort((a, b) => a.position - b.position)
  if (rows.length > 0) await insertRows(db, it.id, rows)
  await touchImport(db, it.id)
  return rows.map(({ verdict }) => verdict)
}

/** No database keeps a NUL or half a character. JSON writes both as an escape, behind an even number of backslashes. */
function storable(draft: Draft): Draft | Unreadable {
  const isBroken = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(JSON.stringify(draft))
  return isBroken
    ? { place: draft.place.toWellFormed().replaceAll('\0', ''), unreadable: 'It has a character that is none: a NUL, or half of one' }
    : draft
}

const nothing = { key: null, draft: null, verdict: 'refused', video_id: null, changes: {} } as const

function planned({ asked: { position, place, key, draft }, verdict, videoId, changes, notes, says, said }: Decided): PlannedRow {
  const row = { position, place, key, draft, verdict, video_id: videoId, changes, notes }
  // What is refused has no key: the same one may stand elsewhere in the file.
  if (verdict === 'refused') return { ...row, key: null }
  // Where the source says what it said before, nothing is left to be done, whatever people do meanwhile.
  return verdict === 'unchanged' && isDeepStrictEqual(says, said) ? { ...row, draft: null } : row
}

async function withKeys(db: Db, all: readonly { position: number; draft: Draft }[]): Promise<Asked[]> {
  const addresses = all.map(({ draft: { key, fields } }) => (key === undefined && fields.source_url ? String(fields.source_url) : ''))
  const keys = new Map((await keysOfSources(db, addresses)).map(({ place, key }) => [place, key]))
  return all.map(({ position, draft }, place) => ({
    position,
    place: draft.place,
    key: keyOf(draft, keys.get(place) || undefined),
    draft,
    decision: null,
  }))
}

/** Where the same key stood before, in this batch or in an earlier one. */
async function placesOf(db: Db, importId: number, asked: readonly Asked[]): Promise<Map<number, string>> {
  const earlier = await findKeys(
    db,
    importId,
    asked.map(({ key }) => key),
  )
  const seen = new Map(earlier.map(({ key, place }) => [key, place]))
  const twice = new Map<number, string>()
  for (const { position, key, place } of asked) {
    const before = seen.get(key)
    if (before === undefined) seen.set(key, place)
    else twice.set(position, before)
  }
  return twice
}
