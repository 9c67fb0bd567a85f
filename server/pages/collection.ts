import { Problem, Slug, validationErrors } from '@talkshelf/contract'
import {
  type CollectionData,
  type EntityPageKind,
  maxCommonFacets,
  paths,
  type SearchState,
  searchKeys,
} from '@talkshelf/web'
import {
  listEventSpeakers,
  listRecords,
  parseSearchParams,
  programmeOrdering,
  type StatisticsCache,
} from '../catalogue/catalogue.ts'
import { findPublicEntity, readEntity } from '../entities/entities.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import { hasSchedule } from '../schedules/schedules.ts'
import { buildCards, parseRecords } from './cards.ts'
import { addLanguageCodes } from './facets.ts'
import { buildPager } from './pager.ts'
import { entityProfile } from './profile.ts'

const pageSize = 24

type Head = Pick<CollectionData, 'kind' | 'name' | 'path' | 'state' | 'aliases'> &
  Pick<Partial<CollectionData>, 'about' | 'code' | 'entity' | 'profile'>

export type EntityPage = CollectionData & {
  readonly entity: NonNullable<CollectionData['entity']>
  /** Whether it shows dates that come from the statistics of the archive. */
  readonly hasStatistics: boolean
  /** Whether it lists other events of a series. */
  readonly hasSeries: boolean
}

/** Loads the page of an entity, or returns the path to redirect to if id or slug are outdated. */
export async function entityPage(
  pool: Pool,
  markdown: Markdown,
  statisticsCache: StatisticsCache,
  kind: EntityPageKind,
  params: { id: string; slug: string },
  page: string | undefined,
): Promise<EntityPage | { moved: string }> {
  const id = await findId(pool, kind, params)
  const entity = id === undefined ? undefined : await findPublicEntity(pool.lookups, kind, id)
  if (!entity) throw new Problem('not-found', 'This page does not exist')
  const path = paths.entity(kind, entity)
  if (String(entity.id) !== params.id || entity.slug !== params.slug) return { moved: path }
  const { events } = await statisticsCache.read()
  const event = kind === 'category' ? events.find(({ id }) => id === entity.id) : undefined
  const description = entity.about?.description ?? entity.profile.description ?? ''
  const about = kind !== 'tag' && {
    description,
    html: await markdown.render(description),
    url: entity.about?.url ?? null,
    first: entity.about?.start_date ?? event?.first ?? null,
    last: entity.about?.end_date ?? event?.last ?? null,
  }
  const profile = await entityProfile(pool.lookups, kind, entity)
  const head = {
    kind,
    name: entity.name,
    entity: { id: entity.id, slug: entity.slug },
    path,
    state: { [kind]: entity.slug },
    aliases: entity.aliases,
    ...(about && { about }),
    ...(profile && { profile }),
  }
  const data = {
    ...(await collection(pool, statisticsCache, head, page)),
    entity: head.entity,
    hasStatistics: kind === 'category' && !(entity.about?.start_date && entity.about.end_date),
    hasSeries: kind === 'category' && Boolean(entity.profile.series),
    hasSchedule: kind === 'category' && (await hasSchedule(pool.lists, entity.id)),
  }
  // Facets have only the speakers with the most talks.
  const hasMore = kind === 'category' && (data.facets.speaker?.length ?? 0) > maxCommonFacets
  return hasMore ? { ...data, speakers: await listEventSpeakers(pool.lists, entity.id) } : data
}

/** Finds the id in a URL. A URL with only the slug is /speaker/-/<slug> or /speaker/<slug>. */
async function findId(
  pool: Pool,
  kind: EntityPageKind,
  { id, slug }: { id: string; slug: string },
): Promise<number | undefined> {
  if (id === '-') return idOfSlug(pool, kind, slug)
  return parseId(id) ?? (slug === '' ? idOfSlug(pool, kind, id) : undefined)
}

async function idOfSlug(
  pool: Pool,
  kind: EntityPageKind,
  slug: string,
): Promise<number | undefined> {
  if (validationErrors(Slug, slug).length > 0) return undefined
  const entity = await readEntity(pool.lookups, kind, slug, 'anyone')
  return 'moved' in entity
    ? idOfSlug(pool, kind, entity.moved)
    : (JSON.parse(entity.body) as { id: number }).id
}

/** Loads the page of a language, or returns its path if `slug` is the code of the language. */
export async function languagePage(
  pool: Pool,
  statisticsCache: StatisticsCache,
  slug: string,
  page: string | undefined,
): Promise<CollectionData | { moved: string }> {
  const { byLanguage } = (await statisticsCache.read()).statistics
  const language = byLanguage.find((language) => language.slug === slug)
  const withCode = byLanguage.find(({ code }) => code.toLowerCase() === slug.toLowerCase())
  if (!language && withCode) return { moved: paths.language(withCode.slug) }
  if (!language) throw new Problem('not-found', 'There are no talks in this language')
  const { name, code } = language
  return collection(
    pool,
    statisticsCache,
    {
      kind: 'language',
      name,
      code,
      path: paths.language(slug),
      state: { language: slug },
      aliases: [],
    },
    page,
  )
}

/** Loads the page of a year. */
export async function yearPage(
  pool: Pool,
  statisticsCache: StatisticsCache,
  year: string,
  page: string | undefined,
): Promise<CollectionData> {
  if (!/^[1-9]\d{0,3}$/.test(year)) throw new Problem('not-found', 'This is not a valid year')
  return collection(
    pool,
    statisticsCache,
    { kind: 'year', name: year, path: paths.year(year), state: { year }, aliases: [] },
    page,
  )
}

async function collection(
  pool: Pool,
  statisticsCache: StatisticsCache,
  head: Head,
  page: string | undefined,
): Promise<CollectionData> {
  const state: SearchState = { ...head.state, ...(page && { page }) }
  const searchParams = parseSearchParams(state, searchKeys)
  const list = await listRecords(pool, {
    ...searchParams,
    page: searchParams.page ?? 1,
    page_size: pageSize,
    include: 'facets',
    ...(head.kind === 'category' && { ordering: programmeOrdering }),
  })
  if (list.count === 0 && head.kind === 'year')
    throw new Problem('not-found', 'There are no talks from this year')
  const records = parseRecords(list.entries)
  const cards = await buildCards(pool.lookups, records)
  const { facets } = list.extra
  return {
    ...head,
    count: list.count,
    isExact: list.isExact,
    cards: records.flatMap(({ id }) => cards.get(id) ?? []),
    pager: buildPager(searchParams.page ?? 1, list, pageSize),
    facets: facets ? await addLanguageCodes(facets, statisticsCache) : {},
    estimatedFacets: facets?.estimated ?? [],
  }
}
