import type { Alias, ExportedEntity } from '@talkshelf/contract'
import { retryOnConflict, type WriteContext } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { pickProfile, storedProfile } from './profile.ts'
import {
  type EntityKind,
  findTaken,
  freeEntitySlug,
  insertRestored,
  nextEntityIds,
} from './queries.ts'

// Restores speakers, tags and categories from an export, with their ids, slugs, aliases and old
// slugs.

/**
 * Creates the entities whose name is free and returns how many were created; an entity whose name
 * exists stays as it is. An id or slug that is taken is replaced; aliases and old slugs that are
 * taken are omitted.
 */
export async function restoreEntities(
  tx: Db,
  entities: readonly ExportedEntity[],
  context: WriteContext,
): Promise<number> {
  let created = 0
  for (const kind of ['category', 'speaker', 'tag'] as const) {
    const exported = entities.filter((entity) => entity.kind === kind)
    if (exported.length === 0) continue
    const free = await withoutTaken(tx, kind, exported)
    await insertRestored(tx, kind, free.map(rowOf), context.origin, context.hash)
    created += free.length
  }
  return created
}

/**
 * Returns the entities that can be created, with ids, names and slugs that are unique in the
 * archive and among these entities.
 */
async function withoutTaken(
  tx: Db,
  kind: EntityKind,
  entities: readonly ExportedEntity[],
): Promise<ExportedEntity[]> {
  const taken = await findTaken(
    tx,
    kind,
    entities.map(({ id }) => id),
    entities.flatMap(namesOf),
    entities.flatMap(slugsOf),
  )
  const [ids, names, slugs] = [new Set(taken.ids), new Set(taken.names), new Set(taken.slugs)]
  // The name of an entity takes precedence over an alias of another one in the same file.
  const ownNames = new Set(entities.map(({ name }) => name))
  const free: ExportedEntity[] = []
  for (const entity of entities) {
    if (names.has(entity.name)) continue
    names.add(entity.name)
    const aliases: Alias[] = entity.aliases.filter(
      ({ name }) => !ownNames.has(name) && claim(names, name),
    )
    const slug = claim(slugs, entity.slug)
      ? entity.slug
      : await unclaimedSlug(tx, kind, entity.slug, slugs)
    const oldSlugs = entity.old_slugs.filter((old) => claim(slugs, old))
    const retiredSlugs = (entity.retired_slugs ?? []).filter((old) => claim(slugs, old))
    // 0 is replaced by a new id below.
    const id = claim(ids, entity.id) ? entity.id : 0
    free.push({ ...entity, id, slug, aliases, old_slugs: oldSlugs, retired_slugs: retiredSlugs })
  }
  const newIds = await nextEntityIds(tx, kind, free.filter(({ id }) => id === 0).length, ids)
  return free.map((entity) =>
    entity.id === 0 ? { ...entity, id: newIds.shift() as number } : entity,
  )
}

/** Adds a value to a set. Returns false if the set already has it. */
function claim<T>(taken: Set<T>, value: T): boolean {
  return !taken.has(value) && Boolean(taken.add(value))
}

/**
 * Claims a slug that neither the archive nor another entity of the file has. Each attempt draws
 * from a range twice as large.
 */
function unclaimedSlug(
  tx: Db,
  kind: EntityKind,
  base: string,
  slugs: Set<string>,
): Promise<string> {
  return retryOnConflict({}, async (attempt) => {
    const slug = await freeEntitySlug(tx, kind, base, attempt)
    return claim(slugs, slug) ? slug : undefined
  })
}

export const namesOf = ({ name, aliases }: ExportedEntity) => [
  name,
  ...aliases.map((alias) => alias.name),
]
export const slugsOf = ({ slug, old_slugs, retired_slugs = [] }: ExportedEntity) => [
  slug,
  ...old_slugs,
  ...retired_slugs,
]

/** Returns the row of an exported entity, with its names and slugs. */
export function rowOf(entity: ExportedEntity) {
  const about =
    entity.kind === 'category'
      ? {
          description: entity.description,
          url: entity.url,
          start_date: entity.start_date,
          end_date: entity.end_date,
        }
      : undefined
  const { id, name, slug, revision, retired_slugs: retired = [] } = entity
  const profile = storedProfile(pickProfile(entity.kind, entity))
  return {
    id,
    name,
    slug,
    revision,
    ...about,
    profile,
    names: [{ name, shown: true }, ...entity.aliases],
    slugs: slugsOf(entity),
    retired,
    after: {
      id,
      [nameFields[entity.kind]]: name,
      slug,
      ...about,
      ...profile,
      aliases: entity.aliases,
    },
  }
}

const nameFields: Record<EntityKind, string> = { category: 'title', speaker: 'name', tag: 'name' }
