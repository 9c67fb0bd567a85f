import { retryOnConflict } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { findEntitiesByName, findLanguages, lockEntitiesForShare } from './queries.ts'
import { canonicalLanguageCode, createMissingEntities, type NamedEntity } from './resolve-names.ts'

// The names of many records at once, for whoever reads or writes hundreds of them.

/** Names to look up, each once. */
export interface NamesToLookUp {
  readonly category: readonly string[]
  readonly language: readonly string[]
  readonly speaker: readonly string[]
  readonly tag: readonly string[]
}

/** What each name leads to; nothing where there is no such entity yet. */
export type NameLookup = Readonly<Record<keyof NamesToLookUp, ReadonlyMap<string, NamedEntity>>>

export async function lookUpNames(db: Db, wanted: NamesToLookUp): Promise<NameLookup> {
  return {
    category: await findEntitiesByName(db, 'category', wanted.category),
    language: await languagesNamed(db, wanted.language),
    speaker: await findEntitiesByName(db, 'speaker', wanted.speaker),
    tag: await findEntitiesByName(db, 'tag', wanted.tag),
  }
}

/**
 * Makes the speakers and tags that are not there yet, and holds everything: until the end of the
 * transaction all of it is called so.
 */
export function lookUpAndLockNames(tx: Db, wanted: NamesToLookUp): Promise<NameLookup> {
  return retryOnConflict({}, async () => {
    const found = await lookUpNames(tx, wanted)
    const book = {
      ...found,
      speaker: await complete(tx, 'speaker', wanted, found),
      tag: await complete(tx, 'tag', wanted, found),
    }
    // Whoever renames or merges something holds it first, and claims its names before: after this
    // nobody can.
    let isHeld = true
    for (const kind of ['category', 'speaker', 'tag'] as const) {
      const entities = new Map([...book[kind].values()].map(({ id, name }) => [id, name]))
      const held = await lockEntitiesForShare(tx, kind, [...entities.keys()])
      isHeld &&=
        held.length === entities.size && held.every(({ id, name }) => entities.get(id) === name)
    }
    return isHeld ? book : undefined
  })
}

async function complete(
  tx: Db,
  kind: 'speaker' | 'tag',
  wanted: NamesToLookUp,
  found: NameLookup,
): Promise<Map<string, NamedEntity>> {
  const names = wanted[kind]
  const entities = await createMissingEntities(
    tx,
    kind,
    names,
    names.map((name) => found[kind].get(name) ?? null),
  )
  return new Map(names.map((name, index) => [name, entities[index] as NamedEntity]))
}

async function languagesNamed(db: Db, names: readonly string[]): Promise<Map<string, NamedEntity>> {
  const found = new Map<string, NamedEntity>()
  // British English is English to whoever looks for a talk, unless it is a language of its own
  // here.
  for (const codeOf of [
    (name: string) => canonicalLanguageCode(name)?.split('-')[0],
    canonicalLanguageCode,
  ])
    for (const { given, id, name } of await findLanguages(db, names, names.map(codeOf)))
      found.set(given, { id, name })
  return found
}
