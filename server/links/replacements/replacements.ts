import {
  type Fact,
  type listReplacementsEndpoint,
  Problem,
  type QueryOf,
  type Replacement,
  VideoPatch,
  validationErrors,
} from '@talkshelf/contract'
import { assertBeforeDeadline, type WriteContext } from '../../changes/changes.ts'
import { findFactsById, hasTooManyFacts, writeFacts } from '../../facts/facts.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import {
  buildPage,
  type ListPage,
  maxExactCount,
  pagePosition,
} from '../../platform/http/pagination.ts'
import { assertMayChange, changeInTransaction, lockCurrent } from '../../videos/videos.ts'
import * as queries from './queries.ts'

// Replacements: copies that programs found. Nothing is taken without an editor, who accepts a copy
// as an ordinary change of the record or of its facts.

const maxEvidence = 500

/**
 * Proposes a copy for the records of a source. Returns for how many: not for those that have it, or
 * for which it was proposed before, and for none if a record cannot have the URL.
 */
export async function proposeReplacement(db: Db, copy: queries.FoundCopy): Promise<number> {
  const { url, evidence } = copy
  const isValid = url !== '' && validationErrors(VideoPatch, { source_url: url }).length === 0
  if (!isValid) return 0
  return queries.insertReplacements(db, {
    ...copy,
    evidence: evidence?.slice(0, maxEvidence).toWellFormed() ?? null,
  })
}

/** Lists replacements that an actor may decide. */
export async function listReplacements(
  db: Db,
  query: QueryOf<typeof listReplacementsEndpoint>,
  { events }: Actor,
): Promise<ListPage<Replacement>> {
  const { state = 'open', video } = query
  const filter = { state, video, events }
  const position = pagePosition(query, 'replacement', [{ field: 'id' }], 20)
  const rows = await queries.listReplacements(db, filter, {
    way: position.way,
    after: position.after?.[0],
    offset: position.offset,
    limit: position.size + 1,
  })
  const count = await queries.countReplacements(db, filter, maxExactCount + 1)
  const total = { count: Math.min(count, maxExactCount), isExact: count <= maxExactCount }
  return buildPage(position, rows, total, ({ keys: _, ...replacement }) => replacement)
}

/** A replacement after a decision, and the record that was changed. */
export interface DecidedReplacement {
  readonly replacement: Replacement
  readonly changed: number | undefined
}

/**
 * Accepts a replacement: the copy takes the place of a source that is gone, or is added beside the
 * others. Does nothing if it is accepted already.
 */
export function acceptReplacement(
  pool: Pool,
  id: number,
  context: WriteContext,
): Promise<DecidedReplacement> {
  return pool.transaction(async (tx) => {
    const { video } = await readReplacement(tx, id, context.origin.actor)
    // Throws if the record was taken down or merged meanwhile.
    await lockCurrent(tx, video)
    const replacement = await readReplacement(tx, id, context.origin.actor)
    if (replacement.state === 'accepted') return { replacement, changed: undefined }
    assertBeforeDeadline(context)
    // Before the record is changed: open replacements of a source that it loses are deleted.
    await decide(tx, replacement, 'accepted', context)
    const { effect, url } = replacement
    if (effect === 'replaces')
      await changeInTransaction(tx, video, context, (before) => ({ ...before, source_url: url }))
    else if (effect === 'adds') await addCopy(tx, video, url, context)
    return {
      replacement: await readReplacement(tx, id, context.origin.actor),
      changed: effect === 'nothing' ? undefined : video,
    }
  })
}

/** Refuses a replacement: it is not proposed again. Does nothing if it is refused already. */
export function refuseReplacement(
  pool: Pool,
  id: number,
  context: WriteContext,
): Promise<DecidedReplacement> {
  return pool.transaction(async (tx) => {
    const replacement = await readReplacement(tx, id, context.origin.actor)
    if (replacement.state !== 'refused') await decide(tx, replacement, 'refused', context)
    return {
      replacement: await readReplacement(tx, id, context.origin.actor),
      changed: undefined,
    }
  })
}

/** Saves a decision. Throws `wrong-state` if there is another one. */
async function decide(
  tx: Db,
  { id }: Replacement,
  state: 'accepted' | 'refused',
  { origin }: WriteContext,
): Promise<void> {
  if (await queries.saveDecision(tx, id, state, origin.actor.name)) return
  const { state: current, decided_by: by } = await readReplacement(tx, id, origin.actor)
  if (current === state) return
  throw new Problem('wrong-state', `${by} has ${current} this replacement. Nothing was changed`)
}

/** Adds a copy to the facts of a locked record. */
async function addCopy(tx: Db, id: number, url: string, context: WriteContext): Promise<void> {
  const before = (await findFactsById(tx, [id])).get(id)?.facts ?? []
  const copy: Fact = { kind: 'media', url, type: new URL(url).hostname.slice(0, 100), size: null }
  const facts = [...before, copy]
  if (hasTooManyFacts(facts))
    throw new Problem('wrong-state', 'The record has too many facts. Remove some of them first')
  await writeFacts(tx, [{ id, facts }], context)
}

/** Reads a replacement. Throws `not-found`, or `forbidden` if the actor may not decide about it. */
async function readReplacement(db: Db, id: number, actor: Actor): Promise<Replacement> {
  const replacement = await queries.findReplacement(db, id)
  if (!replacement) throw new Problem('not-found', 'There is no such replacement')
  await assertMayChange(db, actor, replacement.video)
  return replacement
}
