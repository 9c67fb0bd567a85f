import { hash } from 'node:crypto'
import {
  Acceptance,
  declineReasons,
  invalidFields,
  Problem,
  SuggestedFields,
  type Suggestion,
  type Video,
  validate,
  validationErrors,
} from '@talkshelf/contract'
import { auditOriginOf, recordEvent } from '../auth/auth.ts'
import { assertBeforeDeadline, type WriteContext } from '../changes/changes.ts'
import { type Db, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { revisionInEtag } from '../platform/http/conditional.ts'
import {
  changeInTransaction,
  findRevision,
  normalizeVideoInput,
  revertInTransaction,
  videoFieldErrors,
} from '../videos/videos.ts'
import { acceptFields, type FieldName } from './compare.ts'
import {
  type Decision,
  lockSuggestion,
  type StoredFields,
  type SuggestionRow,
  saveDecision,
  saveReopened,
} from './queries.ts'
import {
  assertMayDecide,
  assertNotTakenDown,
  type Compared,
  type ComparedSuggestion,
  compareOne,
  isDoneForAll,
  lockAndCompare,
  readRow,
  toSuggestion,
} from './read.ts'

// Decisions of editors. Each runs in one transaction on the locked suggestion, so that each
// suggestion is decided once. A request that is repeated after its response was lost has no effect.

/** A suggestion after a decision, and the record that was changed. */
export interface Decided {
  readonly suggestion: ComparedSuggestion
  readonly changed: number | undefined
}

/**
 * Accepts a suggestion: changes the record with all or some of its fields, edited if needed. Throws
 * `fields-changed` and writes nothing if one of these was changed since.
 */
export async function acceptSuggestion(
  pool: Pool,
  id: number,
  body: unknown,
  context: WriteContext,
): Promise<Decided> {
  const { fields, edits = {}, revision } = await readAcceptance(pool, body)
  return decide(pool, id, context, ['open'], async (tx, row, decisionHash) => {
    const compared = await compareOne(tx, row)
    const by = context.origin.actor.name
    const hasEdits = Object.keys(edits).length > 0
    if (!hasEdits && (await isDoneForAll(tx, compared))) {
      await assertStillDone(tx, row)
      await saveDecision(tx, id, { state: 'done', by, hash: decisionHash })
      return undefined
    }
    if (hasEdits && row.kind === 'missing')
      throw invalidFields([
        { pointer: '/edits', code: 'unknown-field', detail: 'is not possible: there is no record' },
      ])
    const taken = takenFields(compared, fields, edits)
    const names = [...new Set([...Object.keys(taken), ...Object.keys(edits)])]
    const changed =
      names.length === 0 || row.kind === 'missing'
        ? undefined
        : await writeAccepted(tx, compared, { taken, edits, revision }, context)
    await saveDecision(tx, id, { state: 'accepted', by, taken: names, changed, hash: decisionHash })
    await record(tx, 'suggestion-accepted', row, context, { fields: names.join(', ') })
    return changed?.video
  })
}

/** Validates an acceptance. Edits are normalised first, as those of a record are. */
async function readAcceptance(db: Db, body: unknown): Promise<Acceptance> {
  const { edits, ...rest } = body as { edits?: unknown }
  const isObject = typeof edits === 'object' && edits !== null && !Array.isArray(edits)
  if (!isObject) return validate(Acceptance, body)
  const normalized = normalizeVideoInput(edits)
  const errors = await videoFieldErrors(db, SuggestedFields, normalized)
  if (errors.length === 0) return validate(Acceptance, { ...rest, edits: normalized })
  throw invalidFields([
    ...validationErrors(Acceptance, rest),
    ...errors.map((error) => ({ ...error, pointer: `/edits${error.pointer}` })),
  ])
}

/**
 * Locks the record of a suggestion that has nothing left to do. Throws `fields-changed` if it was
 * changed before the lock: names must be locked before the record, so it is too late to write.
 */
async function assertStillDone(tx: Db, row: SuggestionRow): Promise<void> {
  const locked = await lockAndCompare(tx, row)
  if (await isDoneForAll(tx, locked)) return
  const fields = locked.fields
    .filter(({ state }) => state !== 'already-applied')
    .map(({ field }) => field)
  throw fieldsChanged(fields)
}

const fieldsChanged = (fields: readonly string[]) =>
  new Problem('fields-changed', `Changed since: ${fields.join(', ')}. Nothing was written`, {
    fields,
  })

/**
 * Returns the suggested fields to take: the named ones, or all without a conflict. Throws
 * `invalid-fields` if there is no such field, or none is taken although one could be, and
 * `fields-changed` if only fields in conflict are left.
 */
function takenFields(
  { row, suggested, fields: compared }: Compared,
  named: Acceptance['fields'],
  edits: Partial<Video>,
): StoredFields {
  const errors = (named ?? []).flatMap((field, index) =>
    field in suggested
      ? []
      : [
          {
            pointer: `/fields/${index}`,
            code: 'not-suggested',
            detail: 'is not a field of this suggestion',
          },
        ],
  )
  if (errors.length > 0) throw invalidFields(errors)
  const inState = (wanted: Suggestion['fields'][number]['state']) =>
    compared.filter(({ state }) => state === wanted).map(({ field }) => field)
  const [open, conflicts] = [inState('open'), inState('conflict')]
  const taken = (Object.keys(suggested) as FieldName[]).filter(
    (field) => (named?.includes(field) ?? !conflicts.includes(field)) && !(field in edits),
  )
  const hasEdits = Object.keys(edits).length > 0
  if (!named && !hasEdits && open.length === 0 && conflicts.length > 0)
    throw fieldsChanged(conflicts)
  const isLeft = open.length + conflicts.length > 0
  if (isLeft && taken.length === 0 && !hasEdits)
    throw invalidFields([
      { pointer: '/fields', code: 'required', detail: 'must have a field. Otherwise decline it' },
    ])
  if (row.kind === 'missing') return suggested
  return Object.fromEntries(taken.map((field) => [field, suggested[field]]))
}

/** Changes the record, and returns it with its new revision. Undefined if nothing changes. */
async function writeAccepted(
  tx: Db,
  { row, base }: Compared,
  accepted: { taken: StoredFields; edits: Partial<Video>; revision: number | undefined },
  context: WriteContext,
): Promise<Decision['changed']> {
  const { target_id: target } = row
  if (target === null) throw new Error('A suggestion without a record has no fields to write')
  if (!base) throw new Problem('not-found', 'The version that the author saw does not exist')
  const { taken, edits, revision } = accepted
  const seen = revision === undefined ? undefined : await readSeen(tx, target, revision)
  const origin = { ...context.origin, suggestion: row.id }
  let updatedBefore = ''
  const written = await changeInTransaction(tx, target, { ...context, origin }, (current) => {
    updatedBefore = current.updated
    const parts = { base, fields: taken, edits, seen }
    const { video, changedSince } = acceptFields(parts, current)
    if (changedSince.length > 0) throw fieldsChanged(changedSince)
    return video
  })
  const isChanged = (JSON.parse(written.body) as Video).updated !== updatedBefore
  const newRevision = isChanged ? revisionInEtag(written.etag, target) : undefined
  return newRevision === undefined ? undefined : { video: target, revision: newRevision }
}

/** Reads the version that the editor saw. */
async function readSeen(db: Db, id: number, revision: number): Promise<Video> {
  const found = await findRevision(db, id, revision)
  if (found) return found.record
  throw invalidFields([
    {
      pointer: '/revision',
      code: 'unknown-revision',
      detail: 'is not a revision of the record',
    },
  ])
}

/** Declines a suggestion. The author reads the reason. */
export function declineSuggestion(
  pool: Pool,
  id: number,
  reason: string,
  context: WriteContext,
): Promise<Decided> {
  return decide(pool, id, context, ['open'], async (tx, row, decisionHash) => {
    const by = context.origin.actor.name
    await saveDecision(tx, id, { state: 'declined', by, reason, hash: decisionHash })
    // The audit log outlives a takedown, which deletes what was written in words.
    const isCode = (declineReasons as readonly string[]).includes(reason)
    await record(tx, 'suggestion-declined', row, context, { reason: isCode ? reason : 'in words' })
    return undefined
  })
}

/**
 * Undoes a decision: the suggestion is open again, and the change of the record is reverted. Throws
 * `fields-changed` if its fields were changed since, and `taken-down` if the record was taken down.
 */
export async function reopenSuggestion(
  pool: Pool,
  id: number,
  context: WriteContext,
): Promise<Decided> {
  const states = ['accepted', 'declined'] as const
  return refuseSecondOpen(() =>
    decide(pool, id, context, states, async (tx, row, decisionHash) => {
      await assertNotTakenDown(tx, row)
      const { decided_video_id: video, revision } = row
      if (video !== null && revision !== null)
        await revertInTransaction(tx, video, revision, context)
      await saveReopened(tx, id, decisionHash)
      await record(tx, 'suggestion-reopened', row, context)
      return video ?? undefined
    }),
  )
}

/** Opens a suggestion again. Throws `wrong-state` if the same one was sent again and is open. */
export async function refuseSecondOpen<T>(reopen: () => Promise<T>): Promise<T> {
  try {
    return await reopen()
  } catch (error) {
    if (error instanceof UniqueViolation && error.index === 'suggestion_content')
      throw new Problem('wrong-state', 'The same suggestion is open again. Decide that one')
    throw error
  }
}

/**
 * Runs a decision on a locked suggestion in one of the states. Does nothing if it is repeated.
 * `work` returns the record that it changed.
 */
function decide(
  pool: Pool,
  id: number,
  context: WriteContext,
  states: readonly SuggestionRow['state'][],
  work: (tx: Db, row: SuggestionRow, decisionHash: Buffer) => Promise<number | undefined>,
): Promise<Decided> {
  const { origin } = context
  const { token, person = null } = origin.actor
  const decisionHash = hash(
    'sha256',
    `${context.hash.toString('hex')} ${token} ${person}`,
    'buffer',
  )
  return pool.transaction(async (tx) => {
    await lockSuggestion(tx, id)
    const row = await readRow(tx, id)
    await assertMayDecide(tx, origin.actor, row)
    if (!states.includes(row.state)) {
      if (!row.decision_hash?.equals(decisionHash))
        throw new Problem('wrong-state', describeState(row))
      return { suggestion: toSuggestion(await compareOne(tx, row)), changed: undefined }
    }
    assertBeforeDeadline(context)
    const changed = await work(tx, row, decisionHash)
    // Read before the commit: afterwards a lost connection would look as if nothing was applied.
    const decided = await compareOne(tx, await readRow(tx, id))
    return { suggestion: toSuggestion(decided), changed }
  })
}

function describeState({ state, closed_by: by }: SuggestionRow): string {
  const name = by === null ? '' : ` by ${by}`
  return `This suggestion is ${state}${name}. Nothing was changed`
}

function record(
  tx: Db,
  kind: 'suggestion-accepted' | 'suggestion-declined' | 'suggestion-reopened',
  { id }: SuggestionRow,
  { origin }: WriteContext,
  detail: object = {},
): Promise<void> {
  const { actor, person, request } = auditOriginOf(origin)
  const by = { actor, person: origin.actor.person ?? person, request }
  return recordEvent(tx, kind, by, null, { suggestion: id, ...detail })
}
