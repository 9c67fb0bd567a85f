import type { ReadPool } from '../platform/db/read-pool.ts'
import { findNamesByPrefix, findTitles, findTitlesByPrefix } from './queries.ts'
import { search } from './ranked-search.ts'

// For whoever is still typing: talks, speakers, events and tags, a few of each.

const each = 5

export async function suggest(db: ReadPool, asked: string) {
  // The signs of LIKE mean nothing here.
  const begin = asked
    .normalize('NFC')
    .replaceAll(/[%_\\]/g, ' ')
    .trim()
  if (begin === '') return { talks: [], speakers: [], categories: [], tags: [] }
  const [names, titles] = await Promise.all([
    findNamesByPrefix(db, begin, each),
    findTitlesByPrefix(db, begin, each),
  ])
  // Where enough titles begin so, nobody has to search for more.
  const { hits } = titles.length < each ? await search(db, asked, {}, each) : { hits: [] }
  const rest = hits.map(({ id }) => id).filter((id) => !titles.some((it) => it.id === id))
  const more = rest.length > 0 ? await findTitles(db, rest) : []
  const inOrder = rest.flatMap((id) => more.find((it) => it.id === id) ?? [])
  const of = (kind: string) =>
    names.filter((it) => it.kind === kind).map(({ name, slug, talks }) => ({ name, slug, talks }))
  return {
    talks: [...titles, ...inOrder].slice(0, each),
    speakers: of('speaker'),
    categories: of('category'),
    tags: of('tag'),
  }
}
