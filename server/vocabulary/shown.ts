import type { Db } from '../platform/db/db.ts'
import { findThingNow, type Kind, type ThingRow, thingsShown } from './queries.ts'

// What readers are shown of speakers, tags, categories and languages: for pages, which know them by their ids, and by the names in records.

/** A thing as it is today, without the names that are told no reader. */
export interface ShownThing {
  readonly id: number
  readonly slug: string
  readonly name: string
  /** Of a category only. */
  readonly about: ThingRow['about']
  readonly aliases: readonly string[]
  readonly talks: number
}

/** A speaker or tag that no live talk has is not there for readers; what was merged is what it was merged into. */
export async function findThingById(db: Db, kind: Kind, id: number): Promise<ShownThing | undefined> {
  const it = Number.isSafeInteger(id) ? await findThingNow(db, kind, id) : undefined
  if (!it || (kind !== 'category' && it.talks === 0)) return undefined
  const { slug, name, about, talks } = it
  return { id: it.id, slug, name, about, aliases: it.aliases.flatMap((alias) => (alias.shown ? alias.name : [])), talks }
}

export interface NamedThing {
  readonly id: number
  readonly slug: string
  readonly name: string
}

export interface NamedLanguage {
  /** BCP 47. */
  readonly code: string
  readonly slug: string
  readonly name: string
}

/** By the names that were given; what is not there is not in the map. */
export interface FoundThings extends Readonly<Record<Kind, ReadonlyMap<string, NamedThing>>> {
  readonly language: ReadonlyMap<string, NamedLanguage>
}

/** The things behind the names that records show. A record may show a name of yesterday while a rename is on its way: it leads to the thing all the same. */
export async function findThings(db: Db, names: Readonly<Record<Kind | 'language', readonly string[]>>): Promise<FoundThings> {
  const once = (list: readonly string[]) => [...new Set(list)]
  const { category, speaker, tag, language } = names
  const rows = await thingsShown(db, { category: once(category), speaker: once(speaker), tag: once(tag), language: once(language) })
  const found = {
    category: new Map<string, NamedThing>(),
    speaker: new Map<string, NamedThing>(),
    tag: new Map<string, NamedThing>(),
    language: new Map<string, NamedLanguage>(),
  }
  for (const { kind, given, id, slug, name, code } of rows)
    if (kind === 'language') found.language.set(given, { code, slug, name })
    else found[kind].set(given, { id, slug, name })
  return found
}
