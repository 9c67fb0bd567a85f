import type { Profile } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { fullProfile } from './profile.ts'
import {
  type EntityKind,
  type EntityRow,
  findCurrentEntity,
  listSeriesEvents,
  selectPublicEntities,
} from './queries.ts'

// The public view of speakers, tags, categories and languages: for pages, which look them up by id
// or by the names in records.

/** The current state of an entity, without its hidden aliases. */
export interface PublicEntity {
  readonly id: number
  readonly slug: string
  readonly name: string
  /** Null unless it is a category. */
  readonly about: EntityRow['about']
  readonly profile: Profile
  readonly aliases: readonly string[]
  readonly talks: number
}

/**
 * Finds an entity by id. A merged entity is replaced by its target. A speaker or tag without live
 * talks is not public.
 */
export async function findPublicEntity(
  db: Db,
  kind: EntityKind,
  id: number,
): Promise<PublicEntity | undefined> {
  const entity = Number.isSafeInteger(id) ? await findCurrentEntity(db, kind, id) : undefined
  if (!entity || (kind !== 'category' && entity.talks === 0)) return undefined
  const { slug, name, about, profile, talks } = entity
  return {
    id: entity.id,
    slug,
    name,
    about,
    profile: fullProfile(kind, profile),
    aliases: entity.aliases.flatMap((alias) => (alias.shown ? alias.name : [])),
    talks,
  }
}

/** Highest number of events that the page of an event lists. */
const maxSeriesEvents = 60

/** Finds the events of a series, newest first. */
export function findSeriesEvents(db: Db, series: string): Promise<EntityReference[]> {
  return listSeriesEvents(db, series, maxSeriesEvents)
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

/** The entities of the requested names. Names without an entity are missing. */
export interface PublicEntities
  extends Readonly<Record<EntityKind, ReadonlyMap<string, EntityReference>>> {
  readonly language: ReadonlyMap<string, LanguageReference>
}

/**
 * Finds the entities of the names in records that the caller shows. Does not check that an entity
 * has live talks. A former name resolves too, because a record may still contain it while a rename
 * is being applied; the maps have the names as given.
 */
export async function findPublicEntities(
  db: Db,
  names: Readonly<Record<EntityKind | 'language', readonly string[]>>,
): Promise<PublicEntities> {
  const unique = (list: readonly string[]) => [...new Set(list)]
  const { category, speaker, tag, language } = names
  const rows = await selectPublicEntities(db, {
    category: unique(category),
    speaker: unique(speaker),
    tag: unique(tag),
    language: unique(language),
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
