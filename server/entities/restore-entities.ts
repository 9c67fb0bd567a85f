import type { Alias, ExportedEntity } from '@talkshelf/contract'
import { retryOnConflict, type WriteContext } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import {
  type EntityKind,
  findTaken,
  freeEntitySlug,
  insertRestored,
  nextEntityIds,
} from './queries.ts'

// Speakers, tags and categories out of an export of ours come back as they were: with their ids,
// slugs, aliases and old slugs.

/**
 * Creates the entities whose name is free; an entity whose name leads somewhere is what it is here
 * already. An id or a slug that is taken is replaced, and aliases and old slugs that are taken are
 * left out. Returns how many were created.
 */
export async function restoreEntities(
  tx: Db,
  entities: readonly ExportedEntity[],
  context: WriteContext,
): Promise<number> {
  let made = 0
  for (const kind of ['category', 'speaker', 'tag'] as const) {
    const all = entities.filter((it) => it.kind === kind)
    if (all.length === 0) continue
    const free = await withoutTaken(tx, kind, all)
    await insertRestored(tx, kind, free.map(rowOf), context.origin, context.hash)
    made += free.length
  }
  return made
}

/**
 * The entities that can be created, each with an id and names and slugs that neither the archive
 * nor another of these has.
 */
async function withoutTaken(
  tx: Db,
  kind: EntityKind,
  all: readonly ExportedEntity[],
): Promise<ExportedEntity[]> {
  const found = await findTaken(
    tx,
    kind,
    all.map(({ id }) => id),
    all.flatMap(namesOf),
    all.flatMap(slugsOf),
  )
  const [ids, names, slugs] = [new Set(found.ids), new Set(found.names), new Set(found.slugs)]
  // A name of one entity is no alias of another one in the same file.
  const own = new Set(all.map(({ name }) => name))
  const free: ExportedEntity[] = []
  for (const it of all) {
    if (names.has(it.name)) continue
    names.add(it.name)
    const aliases: Alias[] = it.aliases.filter(({ name }) => !own.has(name) && claim(names, name))
    const slug = claim(slugs, it.slug) ? it.slug : await unclaimedSlug(tx, kind, it.slug, slugs)
    const oldSlugs = it.old_slugs.filter((old) => claim(slugs, old))
    const retiredSlugs = (it.retired_slugs ?? []).filter((old) => claim(slugs, old))
    const id = claim(ids, it.id) ? it.id : 0
    free.push({ ...it, id, slug, aliases, old_slugs: oldSlugs, retired_slugs: retiredSlugs })
  }
  const next = await nextEntityIds(tx, kind, free.filter(({ id }) => id === 0).length, ids)
  return free.map((it) => (it.id === 0 ? { ...it, id: next.shift() as number } : it))
}

/** Adds a value to a set. Returns false if it is there already. */
function claim<T>(taken: Set<T>, value: T): boolean {
  return !taken.has(value) && Boolean(taken.add(value))
}

/**
 * A slug that neither the archive nor another entity of the file has. Each attempt chooses among
 * twice as many.
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

const namesOf = ({ name, aliases }: ExportedEntity) => [name, ...aliases.map((alias) => alias.name)]
const slugsOf = ({ slug, old_slugs, retired_slugs = [] }: ExportedEntity) => [
  slug,
  ...old_slugs,
  ...retired_slugs,
]

function rowOf(it: ExportedEntity) {
  const about =
    it.kind === 'category'
      ? {
          description: it.description,
          url: it.url,
          start_date: it.start_date,
          end_date: it.end_date,
        }
      : undefined
  const { id, name, slug, revision, retired_slugs: retired = [] } = it
  return {
    id,
    name,
    slug,
    revision,
    ...about,
    names: [{ name, shown: true }, ...it.aliases],
    slugs: slugsOf(it),
    retired,
    after: { id, [nameFields[it.kind]]: name, slug, ...about, aliases: it.aliases },
  }
}

const nameFields: Record<EntityKind, string> = { category: 'title', speaker: 'name', tag: 'name' }
