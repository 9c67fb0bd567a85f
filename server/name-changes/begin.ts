import { invalidFields, Problem } from '@talkshelf/contract'
import { type AuditOrigin, recordEvent } from '../auth/auth.ts'
import {
  countLetters,
  deleteFormerName,
  findByFormerName,
  findEntityById,
  findSpeakerNames,
  formerNameDigest,
  insertFormerName,
  nameKey,
  nameWords,
  normalizeName,
} from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  chooseRows,
  countPlaces,
  endNameChange,
  findNameChange,
  insertNameChange,
  isMerged,
  listPlaces,
  lockNameChange,
  type NameChange,
  type ReplacedName,
  startState,
} from './queries.ts'
import { replacerFor } from './replace.ts'

// Starts a name change, and what an editor decides about its plan.

const maxOldNames = 20
const maxNameLength = 255
/** Shorter names are parts of too many texts. */
const minLetters = 3

export interface NameChangeInput {
  /** The id of the speaker. */
  readonly speaker: number
  readonly name: string
  /** The old names: each alone, or with a replacement of its own as `old => new`. */
  readonly oldNames: readonly string[]
  /** Whether the name is also replaced in links to other sites, which may stop working. */
  readonly inLinks: boolean
}

/**
 * Starts to plan a name change and returns its id. Throws `invalid-fields` if a name is too short,
 * is not one of the speaker, or another speaker has it.
 */
export async function beginNameChange(
  pool: Pool,
  input: NameChangeInput,
  origin: AuditOrigin,
): Promise<number> {
  const name = normalizeName(input.name)
  const names = parseNames(name, input.oldNames)
  await assertOwnNames(pool, input.speaker, name, names)
  await assertFree(pool, input.speaker, [name], 'name')
  await assertFree(
    pool,
    input.speaker,
    names.map(({ old }) => old),
    'old_names',
  )
  return pool.transaction(async (tx) => {
    const id = await insertNameChange(tx, {
      speaker_id: input.speaker,
      names,
      in_links: input.inLinks,
      actor: origin.actor,
      person_id: origin.person,
      request_id: origin.request,
    })
    await recordEvent(tx, 'name-change-planned', origin, null, { speaker: input.speaker })
    return id
  })
}

function parseNames(name: string, lines: readonly string[]): ReplacedName[] {
  if (name === '' || name.length > maxNameLength || nameKey(name) === '')
    throw invalid('name', 'required', 'must be a name of at most 255 characters')
  const pairs = lines.map((line) => {
    const [old = '', own] = line.split('=>', 2).map(normalizeName)
    return { old, new: own || name }
  })
  if (pairs.length === 0 || pairs.length > maxOldNames)
    throw invalid('old_names', 'required', `must have 1 to ${maxOldNames} names`)
  for (const pair of pairs) {
    const letters = countLetters(pair.old)
    if (letters < minLetters || pair.old.length > maxNameLength)
      throw invalid('old_names', 'too-short', `each must have ${minLetters} to 255 letters`)
    if (nameKey(pair.old) === nameKey(pair.new))
      throw invalid(
        'old_names',
        'same',
        'differ from the new name only in accents or capitals; rename the speaker instead',
      )
    if (pairs.some((other) => nameKey(other.old) === nameKey(pair.new)))
      throw invalid('old_names', 'same', 'contain a new name')
  }
  return pairs
}

/**
 * Throws if an old name is none of the speaker, or its replacement has other words than the new
 * name: otherwise any words of the archive could be replaced by any others.
 */
async function assertOwnNames(
  db: Db,
  speaker: number,
  name: string,
  names: readonly ReplacedName[],
): Promise<void> {
  const entity = await findEntityById(db, 'speaker', speaker)
  const own = [entity?.name ?? '', ...(entity?.aliases ?? []).map((alias) => alias.name)]
  const formerNames = await findByFormerName(
    db,
    names.map(({ old }) => old),
  )
  const oldKeys = new Set(names.map(({ old }) => nameKey(old)))
  // An alias may be replaced by another alias, such as a name in another script.
  const remaining = own.filter((alias) => !oldKeys.has(nameKey(alias)))
  for (const { old, new: replacement } of names) {
    const isOwn = own.some((full) => isPartOf(old, full)) || formerNames.get(old)?.id === speaker
    if (!isOwn)
      throw invalid('old_names', 'unknown', `contain ${old}, which is no name of the speaker`)
    const isAlias = own.some((full) => nameKey(full) === nameKey(old))
    const allowed = isAlias ? [name, ...remaining] : [name]
    if (!allowed.some((full) => isPartOf(replacement, full)))
      throw invalid('old_names', 'unknown', `replace ${old} by other words than the new name has`)
  }
}

/** Tells whether a name has only words of another one, in any order, separate or joined. */
function isPartOf(part: string, full: string): boolean {
  const words = nameWords(full)
  const isJoined = [words, words.toReversed()].some(
    (order) => order.length > 0 && order.join('') === nameWords(part).join(''),
  )
  return isJoined || nameWords(part).every((word) => words.includes(word))
}

/**
 * Throws if another speaker has one of the names, in any spelling: then it is not clear whom a text
 * is about.
 */
async function assertFree(
  db: Db,
  speaker: number,
  names: readonly string[],
  field: 'name' | 'old_names',
): Promise<void> {
  for (const name of names) {
    const found = await findSpeakerNames(db, nameWords(name))
    const other = found.find((row) => row.id !== speaker && nameKey(row.name) === nameKey(name))
    if (other)
      throw invalid(
        field,
        'taken',
        `belong to the speaker ${other.slug}; merge the two first if that is the same person`,
      )
  }
}

function invalid(field: string, code: string, detail: string): Problem {
  return invalidFields([{ pointer: `/${field}`, code, detail }])
}

/** Reads a name change with a page of its places. */
export async function readNameChange(db: Db, id: number, after: number, limit: number) {
  const change = await findNameChange(db, id)
  if (!change) throw new Problem('not-found', 'This name change does not exist')
  const speaker = await findEntityById(db, 'speaker', change.speaker_id)
  const places = await listPlaces(db, id, after, limit + 1)
  return {
    change,
    speaker: { name: speaker?.name ?? '', slug: speaker?.slug ?? '' },
    counts: await countPlaces(db, id),
    places: places.slice(0, limit),
    next: places.length > limit ? places[limit - 1]?.position : undefined,
  }
}

/** Keeps the places between two positions that were not chosen. */
export function choosePlaces(
  pool: Pool,
  id: number,
  choice: { from: number; to: number; taken: readonly number[] },
): Promise<void> {
  return pool.transaction(async (tx) => {
    await lockInState(tx, id, ['planned'])
    await chooseRows(tx, id, choice)
  })
}

/**
 * Starts to apply a name change. From now on, imports that bring an old name get the new one. A
 * given name alone is not replaced in imports, because other people have it too.
 */
export function applyNameChange(pool: Pool, id: number, origin: AuditOrigin): Promise<void> {
  return pool.transaction(async (tx) => {
    const change = await lockInState(tx, id, ['planned'])
    const speaker = await findEntityById(tx, 'speaker', change.speaker_id)
    if (!speaker || (await isMerged(tx, change.speaker_id)))
      throw new Problem(
        'wrong-state',
        'The speaker was merged meanwhile. Discard this name change.',
      )
    // Others may have got one of the names since the change was planned.
    const newName = replacerFor(change, '').text(speaker.name)
    await assertFree(tx, change.speaker_id, [newName], 'name')
    const oldNames = (change.names ?? []).map(({ old }) => old)
    await assertFree(tx, change.speaker_id, oldNames, 'old_names')
    // A speaker may take a former name again.
    await deleteFormerName(tx, formerNameDigest(nameKey(newName)))
    const ownKeys = [speaker.name, ...speaker.aliases.map((alias) => alias.name)]
    for (const name of change.names ?? []) {
      const key = nameKey(name.old)
      const words = nameWords(name.old).length
      if (words > 1 || ownKeys.some((own) => nameKey(own) === key))
        await insertFormerName(tx, change.speaker_id, {
          digest: formerNameDigest(key),
          words,
          replacement: name.new,
          in_links: change.in_links,
        })
    }
    await startState(tx, id, 'applying')
    await recordEvent(tx, 'name-changed', origin, null, { speaker: change.speaker_id })
  })
}

/** Discards a plan, and deletes the names. */
export function discardNameChange(pool: Pool, id: number, origin: AuditOrigin): Promise<void> {
  return pool.transaction(async (tx) => {
    const { speaker_id: speaker } = await lockInState(tx, id, ['planning', 'planned'])
    await endNameChange(tx, id, 'discarded')
    await recordEvent(tx, 'name-change-discarded', origin, null, { speaker })
  })
}

async function lockInState(
  tx: Db,
  id: number,
  states: readonly NameChange['state'][],
): Promise<NameChange> {
  const change = await lockNameChange(tx, id)
  if (!change) throw new Problem('not-found', 'This name change does not exist')
  if (!states.includes(change.state))
    throw new Problem(
      'wrong-state',
      'This name change is in another state by now. Reload the page.',
    )
  return change
}
