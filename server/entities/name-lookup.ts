import { retryOnConflict } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { findEntitiesByName, findLanguages, lockEntitiesForShare } from './queries.ts'
import { canonicalLanguageCode, createMissingEntities, type NamedEntity } from './resolve-names.ts'

// Resolves the names of many records at once, for bulk reads and writes.

/** Names to look up, each once. */
export interface NamesToLookUp {
  readonly category: readonly string[]
  readonly language: readonly string[]
  readonly speaker: readonly string[]
  readonly tag: readonly string[]
}

/** The entity of each name. Names without an entity are missing. */
export type NameLookup = Readonly<Record<keyof NamesToLookUp, ReadonlyMap<string, NamedEntity>>>

/** Finds the entities of names. */
export async function lookUpNames(db: Db, names: NamesToLookUp): Promise<NameLookup> {
  return {
    category: await findEntitiesByName(db, 'category', names.category),
    language: await findLanguagesByName(db, names.language),
    speaker: await findEntitiesByName(db, 'speaker', names.speaker),
    tag: await findEntitiesByName(db, 'tag', names.tag),
  }
}

/**
 * Finds the entities of names, creates missing speakers and tags, and locks all of them against
 * renames and merges until the end of the transaction.
 */
export function lookUpAndLockNames(tx: Db, names: NamesToLookUp): Promise<NameLookup> {
  // Bulk writes have no deadline.
  return retryOnConflict({}, async () => {
    const found = await lookUpNames(tx, names)
    const lookup = {
      ...found,
      speaker: await createMissing(tx, 'speaker', names, found),
      tag: await createMissing(tx, 'tag', names, found),
    }
    // A rename or merge claims names first and locks the entity then. An entity that is locked here
    // and still has its name cannot be renamed before this transaction ends.
    let isUnchanged = true
    for (const kind of ['category', 'speaker', 'tag'] as const) {
      const nameById = new Map([...lookup[kind].values()].map(({ id, name }) => [id, name]))
      const locked = await lockEntitiesForShare(tx, kind, [...nameById.keys()])
      isUnchanged &&=
        locked.length === nameById.size && locked.every(({ id, name }) => nameById.get(id) === name)
    }
    return isUnchanged ? lookup : undefined
  })
}

async function createMissing(
  tx: Db,
  kind: 'speaker' | 'tag',
  requested: NamesToLookUp,
  found: NameLookup,
): Promise<Map<string, NamedEntity>> {
  const names = requested[kind]
  const entities = await createMissingEntities(
    tx,
    kind,
    names,
    names.map((name) => found[kind].get(name) ?? null),
  )
  return new Map(names.map((name, index) => [name, entities[index] as NamedEntity]))
}

async function findLanguagesByName(
  db: Db,
  names: readonly string[],
): Promise<Map<string, NamedEntity>> {
  const found = new Map<string, NamedEntity>()
  // British English (en-GB) is English, unless the archive has it as a language of its own: the
  // second pass overwrites the first.
  const baseLanguageCode = (name: string) => canonicalLanguageCode(name)?.split('-')[0]
  for (const codeOf of [baseLanguageCode, canonicalLanguageCode])
    for (const { given, id, name } of await findLanguages(db, names, names.map(codeOf)))
      found.set(given, { id, name })
  return found
}
