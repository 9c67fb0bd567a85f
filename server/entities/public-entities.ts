import type { Db } from '../platform/db/db.ts'
import {
  type EntityKind,
  type EntityRow,
  findCurrentEntity,
  selectPublicEntities,
} from './queries.ts'

// What readers are shown of speakers, tags, categories and languages: for pages, which know them by
// their ids, and by the names in records.

/** A entity as it is today, without the names that are told no reader. */
export interface PublicEntity {
  readonly id: number
  readonly slug: string
  readonly name: string
  /** Of a category only. */
  readonly about: EntityRow['about']
  readonly aliases: readonly string[]
  readonly talks: number
}

/**
 * A speaker or tag that no live talk has is not there for readers; what was merged is what it was
 * merged into.
 */
export async function findPublicEntity(
  db: Db,
  kind: EntityKind,
  id: number,
): Promise<PublicEntity | undefined> {
  const it = Number.isSafeInteger(id) ? await findCurrentEntity(db, kind, id) : undefined
  if (!it || (kind !== 'category' && it.talks === 0)) return undefined
  const { slug, name, about, talks } = it
  return {
    id: it.id,
    slug,
    name,
    about,
    aliases: it.aliases.flatMap((alias) => (alias.shown ? alias.name : [])),
    talks,
  }
}

export interface EntityReference {
  readonly id: number
  readonly slug: string
  readonly name: string
}

export interface LanguageReference {
  /** BCP 47. */
  readonly code: string
  readonly slug: string
  readonly name: string
}

/** By the names that were given; what is not there is not in the map. */
export interface PublicEntities
  extends Readonly<Record<EntityKind, ReadonlyMap<string, EntityReference>>> {
  readonly language: ReadonlyMap<string, LanguageReference>
}

/**
 * The entities behind the names that records show. A record may show a name of yesterday while a
 * rename is on its way: it leads to the entity all the same.
 */
export async function findPublicEntities(
  db: Db,
  names: Readonly<Record<EntityKind | 'language', readonly string[]>>,
): Promise<PublicEntities> {
  const once = (list: readonly string[]) => [...new Set(list)]
  const { category, speaker, tag, language } = names
  const rows = await selectPublicEntities(db, {
    category: once(category),
    speaker: once(speaker),
    tag: once(tag),
    language: once(language),
  })
  const found = {
    category: new Map<string, EntityReference>(),
    speaker: new Map<string, EntityReference>(),
    tag: new Map<string, EntityReference>(),
    language: new Map<string, LanguageReference>(),
  }
  for (const { kind, given, id, slug, name, code } of rows)
    if (kind === 'language') found.language.set(given, { code, slug, name })
    else found[kind].set(given, { id, slug, name })
  return found
}
