import { type Fact, invalidFields, mayAct, type Role } from '@talkshelf/contract'
import { assertBeforeDeadline, checkPrecondition, type WriteContext } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import { lockCurrent } from '../videos/videos.ts'
import { type FactsRow, findFacts, saveFacts } from './queries.ts'

// What is known about a talk and has no field in its record.

export interface RenderedFacts {
  readonly body: string
  readonly tag: string
}

export async function readFacts(db: Db, id: number, role: Role): Promise<RenderedFacts> {
  const row = await current(db, id)
  return sent(mayAct(role, 'editor') ? row : { ...row, facts: publicFacts(row.facts) })
}

/**
 * Returns the facts that readers get. Raw values of a source are for editors: any of them may hold
 * a name, and a rename does not reach them.
 */
export function publicFacts(facts: readonly Fact[]): Fact[] {
  return facts.filter(({ kind }) => kind !== 'said')
}

export async function replaceFacts(
  pool: Pool,
  id: number,
  facts: readonly Fact[],
  context: WriteContext,
): Promise<RenderedFacts> {
  if (JSON.stringify(facts).length > maxBytes)
    throw invalidFields([
      {
        pointer: '/facts',
        code: 'too-long',
        detail: `takes at most ${maxBytes} characters in all`,
      },
    ])
  return pool.transaction(async (tx) => {
    await lockCurrent(tx, id)
    const before = await current(tx, id)
    const { tag } = sent(before)
    if (
      (await checkPrecondition(tx, 'facts', { id, revision: before.revision, tag }, context)) !==
      'proceed'
    )
      return sent(before)
    assertBeforeDeadline(context)
    await writeFacts(tx, [{ id, facts }], context)
    return sent(await current(tx, id))
  })
}

/** Facts of one record, in characters of JSON. */
const maxBytes = 200_000

/** For records that are locked. Tells the revisions of those that changed. */
export async function writeFacts(
  tx: Db,
  rows: readonly { readonly id: number; readonly facts: readonly Fact[] }[],
  { origin, hash }: WriteContext,
): Promise<Map<number, number>> {
  const saved = await saveFacts(tx, rows, new Date().toISOString(), origin, hash)
  return new Map(saved.map(({ id, revision }) => [id, revision]))
}

/** Of those that have any. */
export async function findFactsById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, FactsRow>> {
  return new Map((await findFacts(db, ids)).map((row) => [row.id, row]))
}

async function current(db: Db, id: number): Promise<FactsRow> {
  return (await findFacts(db, [id]))[0] ?? { id, revision: 0, facts: [] }
}

function sent({ id, revision, facts }: FactsRow): RenderedFacts {
  const body = toJson({ facts })
  return { body, tag: versionEtag(id, revision, body) }
}
