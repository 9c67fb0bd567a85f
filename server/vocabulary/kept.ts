import type { ExportedThing } from '@talkshelf/contract'
import type { Request } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { insertKept, type Kind, takenOf } from './queries.ts'

// Speakers, tags and categories out of an export of ours come back as they were: with their numbers, slugs, other names and old slugs.

/** Makes those of which the number, all names and all slugs are free; the others are what they are here already. Tells how many it made. */
export async function keepThings(tx: Db, things: readonly ExportedThing[], request: Request): Promise<number> {
  let made = 0
  for (const kind of ['category', 'speaker', 'tag'] as const) {
    const all = things.filter((it) => it.kind === kind)
    if (all.length === 0) continue
    const taken = await takenOf(
      tx,
      kind,
      all.map(({ id }) => id),
      all.flatMap(namesOf),
      all.flatMap(slugsOf),
    )
    const [ids, names, slugs] = [new Set(taken.ids), new Set(taken.names), new Set(taken.slugs)]
    const free = all.filter(
      (it) => !ids.has(it.id) && !namesOf(it).some((name) => names.has(name)) && !slugsOf(it).some((slug) => slugs.has(slug)),
    )
    if (free.length > 0) await insertKept(tx, kind, free.map(rowOf), request.origin, request.hash)
    made += free.length
  }
  return made
}

const namesOf = ({ name, aliases }: ExportedThing) => [name, ...aliases.map((alias) => alias.name)]
const slugsOf = ({ slug, old_slugs }: ExportedThing) => [slug, ...old_slugs]

function rowOf(it: ExportedThing) {
  const about =
    it.kind === 'category' ? { description: it.description, url: it.url, start_date: it.start_date, end_date: it.end_date } : undefined
  const { id, name, slug, revision } = it
  return {
    id,
    name,
    slug,
    revision,
    ...about,
    names: [{ name, shown: true }, ...it.aliases],
    slugs: slugsOf(it),
    after: { id, [nameFields[it.kind]]: name, slug, ...about, aliases: it.aliases },
  }
}

const nameFields: Record<Kind, string> = { category: 'title', speaker: 'name', tag: 'name' }
