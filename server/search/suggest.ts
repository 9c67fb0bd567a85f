import type { ReadPool } from '../platform/db/read-pool.ts'
import { findCountriesByPrefix } from './countries.ts'
import {
  findEventsByProfile,
  findNamesByPrefix,
  findTitles,
  findTitlesByPrefix,
} from './queries.ts'
import { search } from './ranked-search.ts'

// Autocomplete.

const maxPerKind = 5

/** Suggests a few talks, speakers, categories and tags for a partial input. */
export async function suggest(db: ReadPool, input: string) {
  // The wildcards of LIKE have no meaning here.
  const prefix = input
    .normalize('NFC')
    .replaceAll(/[%_\\]/g, ' ')
    .trim()
  if (prefix === '') return { talks: [], speakers: [], categories: [], tags: [] }
  const [names, events, titles] = await Promise.all([
    findNamesByPrefix(db, prefix, maxPerKind),
    findEventsByProfile(db, prefix, findCountriesByPrefix(prefix), maxPerKind),
    findTitlesByPrefix(db, prefix, maxPerKind),
  ])
  // The search, which costs more, only fills up what titles with this prefix leave free.
  const { hits } =
    titles.length < maxPerKind ? await search(db, input, {}, maxPerKind) : { hits: [] }
  const otherIds = hits.map(({ id }) => id).filter((id) => !titles.some((talk) => talk.id === id))
  const otherTitles = otherIds.length > 0 ? await findTitles(db, otherIds) : []
  const otherTalks = otherIds.flatMap((id) => otherTitles.find((talk) => talk.id === id) ?? [])
  const namesOf = (kind: string) =>
    names.filter((row) => row.kind === kind).map(({ name, slug, talks }) => ({ name, slug, talks }))
  return {
    talks: [...titles, ...otherTalks].slice(0, maxPerKind),
    speakers: namesOf('speaker'),
    // Those with a matching title come first.
    categories: [...namesOf('category'), ...events].slice(0, maxPerKind),
    tags: namesOf('tag'),
  }
}
