import { type Fact, invalidFields, mayAct, type Role } from '@talkshelf/contract'
import {
  assertBeforeDeadline,
  checkPrecondition,
  deleteChanges,
  type WriteContext,
} from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import { assertMayChange, lockCurrent } from '../videos/videos.ts'
import { deleteFacts, type FactsRow, findFacts, saveFacts } from './queries.ts'

// Entry point of facts: data about a talk that has no field in its record.

/** The body of the facts of a record and its etag. */
export interface RenderedFacts {
  readonly body: string
  readonly etag: string
}

/** Reads the facts of a record that a role may see. The caller checks access to the record. */
export async function readFacts(db: Db, id: number, role: Role): Promise<RenderedFacts> {
  const row = await readCurrentFacts(db, id)
  return renderFacts(mayAct(role, 'editor') ? row : { ...row, facts: publicFacts(row.facts) })
}

/**
 * Returns the public facts. Raw values of a source are for editors only, because they may contain
 * names that a rename does not update.
 */
export function publicFacts(facts: readonly Fact[]): Fact[] {
  return facts.filter(({ kind }) => kind !== 'said')
}

/** Replaces all facts of a record. */
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
        detail: `must have at most ${maxBytes} characters in total`,
      },
    ])
  const wrongEnds = facts.flatMap((fact, index) =>
    fact.kind === 'part' && fact.end !== null && fact.end <= fact.start
      ? [
          {
            pointer: `/facts/${index}/end`,
            code: 'out-of-range',
            detail: 'must be after the start',
          },
        ]
      : [],
  )
  if (wrongEnds.length > 0) throw invalidFields(wrongEnds)
  return pool.transaction(async (tx) => {
    await lockCurrent(tx, id)
    await assertMayChange(tx, context.origin.actor, id)
    const before = await readCurrentFacts(tx, id)
    const rendered = renderFacts(before)
    const version = { id, revision: before.revision, etag: rendered.etag }
    if ((await checkPrecondition(tx, 'facts', version, context)) !== 'proceed') return rendered
    assertBeforeDeadline(context)
    await writeFacts(tx, [{ id, facts }], context)
    return renderFacts(await readCurrentFacts(tx, id))
  })
}

/** The maximum of a record, in characters of JSON. */
const maxBytes = 200_000

/** More than a request can send: imports and merges add the values of several sources. */
export const maxFacts = 1000
const maxStoredBytes = 1 << 20

/** Returns whether a record cannot have these facts. */
export function hasTooManyFacts(facts: readonly unknown[]): boolean {
  return facts.length > maxFacts || Buffer.byteLength(JSON.stringify(facts)) > maxStoredBytes
}

/** Writes the facts of locked records. Returns the new revisions of those that changed. */
export async function writeFacts(
  tx: Db,
  rows: readonly { readonly id: number; readonly facts: readonly Fact[] }[],
  { origin, hash }: WriteContext,
): Promise<Map<number, number>> {
  const saved = await saveFacts(tx, rows, new Date().toISOString(), origin, hash)
  return new Map(saved.map(({ id, revision }) => [id, revision]))
}

/** Writes the facts of records of another archive, and keeps nothing of earlier versions. */
export async function copyFacts(
  tx: Db,
  rows: readonly { readonly id: number; readonly facts: readonly Fact[] }[],
  context: WriteContext,
): Promise<void> {
  const ids = rows.map(({ id }) => id)
  await deleteChanges(tx, 'facts', ids)
  await deleteFacts(tx, ids)
  await writeFacts(tx, rows, context)
}

/** Finds the facts of records. Records without facts are missing. */
export async function findFactsById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, FactsRow>> {
  return new Map((await findFacts(db, ids)).map((row) => [row.id, row]))
}

async function readCurrentFacts(db: Db, id: number): Promise<FactsRow> {
  return (await findFacts(db, [id]))[0] ?? { id, revision: 0, facts: [] }
}

function renderFacts({ id, revision, facts }: FactsRow): RenderedFacts {
  const body = toJson({ facts })
  return { body, etag: versionEtag(id, revision, body) }
}
