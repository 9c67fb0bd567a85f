import { type Fact, invalidFields } from '@talkshelf/contract'
import { precondition, type Request, stillWanted } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionTag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import { lockCurrent } from '../videos/videos.ts'
import { type FactsRow, findFacts, saveFacts } from './queries.ts'

// What is known about a talk and has no field in its record.

export interface SentFacts {
  readonly body: string
  readonly tag: string
}

export async function readFacts(db: Db, id: number): Promise<SentFacts> {
  return sent(await current(db, id))
}

export async function replaceFacts(pool: Pool, id: number, facts: readonly Fact[], request: Request): Promise<SentFacts> {
  if (JSON.stringify(facts).length > mostBytes)
    throw invalidFields([{ pointer: '/facts', code: 'too-long', detail: `takes at most ${mostBytes} characters in all` }])
  return pool.transaction(async (tx) => {
    await lockCurrent(tx, id)
    const before = await current(tx, id)
    const { tag } = sent(before)
    if ((await precondition(tx, 'facts', { id, revision: before.revision, tag }, request)) !== 'proceed') return sent(before)
    stillWanted(request)
    await writeFacts(tx, [{ id, facts }], request)
    return sent(await current(tx, id))
  })
}

/** Facts of one record, in characters of JSON. */
const mostBytes = 200_000

/** For records that are locked. Tells the revisions of those that changed. */
export async function writeFacts(
  tx: Db,
  rows: readonly { readonly id: number; readonly facts: readonly Fact[] }[],
  { origin, hash }: Request,
): Promise<Map<number, number>> {
  if (rows.length === 0) return new Map()
  const saved = await saveFacts(tx, rows, new Date().toISOString(), origin, hash)
  return new Map(saved.map(({ id, revision }) => [id, revision]))
}

/** Of those that have any. */
export async function factsOf(db: Db, ids: readonly number[]): Promise<Map<number, FactsRow>> {
  return new Map((await findFacts(db, ids)).map((row) => [row.id, row]))
}

async function current(db: Db, id: number): Promise<FactsRow> {
  return (await findFacts(db, [id]))[0] ?? { id, revision: 0, facts: [] }
}

function sent({ id, revision, facts }: FactsRow): SentFacts {
  const body = toJson({ facts })
  return { body, tag: versionTag(id, revision, body) }
}
