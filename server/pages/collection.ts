import { check, Problem, Slug } from '@talkshelf/contract'
import { type CollectionData, paths, type SearchState, searchKeys, type ThingKind } from '@talkshelf/web'
import { type KeptAlmanac, listRecords, readSearch } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { idIn } from '../platform/http/pages.ts'
import { findThingById, readThing } from '../vocabulary/vocabulary.ts'
import { cardsOf, recordsOf } from './cards.ts'
import { codedFacets } from './facets.ts'
import { pagerOf } from './pager.ts'

const pageSize = 24

type Head = Pick<CollectionData, 'kind' | 'name' | 'path' | 'state' | 'aliases'> & Pick<Partial<CollectionData>, 'about' | 'code' | 'thing'>

/** The page of a thing; or where it is, if it is elsewhere. */
export async function thingPage(
  pool: Pool,
  almanac: KeptAlmanac,
  kind: ThingKind,
  at: { id: string; slug: string },
  page: string | undefined,
): Promise<CollectionData | { moved: string }> {
  // Whoever knows only the slug says - in the place of the id.
  const id = at.id === '-' ? await idOfSlug(pool, kind, at.slug) : idIn(at.id)
  const thing = id === undefined ? undefined : await findThingById(pool.lookups, kind, id)
  if (!thing) throw new Problem('not-found', 'There is no such page')
  const path = paths.thing(kind, thing)
  if (String(thing.id) !== at.id || thing.slug !== at.slug) return { moved: path }
  const { events } = await almanac.read()
  const known = kind === 'category' ? events.find(({ id }) => id === thing.id) : undefined
  const about = thing.about && {
    description: thing.about.description,
    url: thing.about.url,
    first: thing.about.start_date ?? known?.first ?? null,
    last: thing.about.end_date ?? known?.last ?? null,
  }
  const head = {
    kind,
    name: thing.name,
    thing: { id: thing.id, slug: thing.slug },
    path,
    state: { [kind]: thing.slug },
    aliases: thing.aliases,
    ...(about && { about }),
  }
  return collection(pool, almanac, head, page)
}

async function idOfSlug(pool: Pool, kind: ThingKind, slug: string): Promise<number | undefined> {
  if (check(Slug, slug).length > 0) return undefined
  const found = await readThing(pool.lookups, kind, slug, 'anyone')
  // A slug of before is told the one of today.
  return 'moved' in found ? idOfSlug(pool, kind, found.moved) : (JSON.parse(found.body) as { id: number }).id
}

export async function languagePage(pool: Pool, almanac: KeptAlmanac, slug: string, page: string | undefined): Promise<CollectionData> {
  const { statistics } = await almanac.read()
  const language = statistics.byLanguage.find((it) => it.slug === slug)
  if (!language) throw new Problem('not-found', 'There are no talks in this language')
  const { name, code } = language
  return collection(
    pool,
    almanac,
    { kind: 'language', name, code, path: paths.language(slug), state: { language: slug }, aliases: [] },
    page,
  )
}

export async function yearPage(pool: Pool, almanac: KeptAlmanac, year: string, page: string | undefined): Promise<CollectionData> {
  if (!/^[1-9]\d{0,3}$/.test(year)) throw new Problem('not-found', 'There is no such year')
  return collection(pool, almanac, { kind: 'year', name: year, path: paths.year(year), state: { year }, aliases: [] }, page)
}

async function collection(pool: Pool, almanac: KeptAlmanac, head: Head, page: string | undefined): Promise<CollectionData> {
  const state: SearchState = { ...head.state, ...(page && { page }) }
  const asked = readSearch(state, searchKeys)
  const list = await listRecords(pool, { ...asked, page: asked.page ?? 1, page_size: pageSize, include: 'facets' })
  if (list.count === 0 && head.kind === 'year') throw new Problem('not-found', 'There are no talks of this year')
  const records = recordsOf(list.entries)
  const cards = await cardsOf(pool.lookups, records)
  const { facets } = list.extra
  return {
    ...head,
    count: list.count,
    isExact: list.isExact,
    cards: records.flatMap(({ id }) => cards.get(id) ?? []),
    pager: pagerOf(asked.page ?? 1, list, pageSize),
    facets: facets ? await codedFacets(facets, almanac) : {},
  }
}
