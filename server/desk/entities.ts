import { Problem } from '@talkshelf/contract'
import {
  deskEntityPaths,
  deskPages,
  deskPaths,
  type EntityList,
  type EntityPageKind,
} from '@talkshelf/web'
import { findEntitiesLike, mergeEntity, previewRecords } from '../directory/directory.ts'
import { resolveEntity } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { PageResponse } from '../platform/http/pages.ts'
import { readFindings } from '../quality/quality.ts'
import { entityPages } from './entity.ts'
import {
  type EditedEntity,
  type EntityDesk,
  entityAccess,
  isTooLarge,
  previewSize,
  readEdited,
  readPreview,
} from './entity-data.ts'
import { type DeskRequest, writeContextOf } from './mount.ts'

// Lists of speakers, tags and events, and their merges. entity.ts has the page of each.

const pageSize = 50
const maxPage = 1000
const groupsPerPage = 10
/** The maximum number of names in one merge. */
const maxGroup = 20

/** Mounts the pages of speakers, tags and events. */
export function entityDeskPages(entityDesk: EntityDesk): void {
  for (const kind of ['speaker', 'tag', 'category'] as const) {
    listPage(entityDesk, kind)
    mergePages(entityDesk, kind)
    entityPages(entityDesk, kind)
  }
}

function listPage({ desk, pool }: EntityDesk, kind: EntityPageKind): void {
  desk.page(deskEntityPaths[kind].list, entityAccess, async (request) => {
    const list = parseList(request.query)
    const groupPage = pageNumber(request.query.groups)
    const found = await findEntitiesLike(pool.lists, kind, list.q, {
      sort: list.sort,
      limit: pageSize + 1,
      offset: (list.page - 1) * pageSize,
    })
    const hasGroups = list.q === '' && list.page === 1
    const groups = hasGroups ? await findGroups(pool, kind, groupPage) : noGroups
    const data = {
      kind,
      list,
      entities: found.slice(0, pageSize),
      hasMore: list.page < maxPage && found.length > pageSize,
      groupPage,
      ...groups,
    }
    return desk.render(request, [deskPages.entities, data])
  })
}

function parseList(query: Readonly<Record<string, string>>): EntityList {
  return {
    q: (query.q ?? '').trim().slice(0, 255),
    sort: query.sort === 'use' ? 'use' : 'name',
    page: pageNumber(query.page),
  }
}

function pageNumber(text = '1'): number {
  const page = Number(text)
  return Number.isInteger(page) && page >= 1 && page <= maxPage ? page : 1
}

const noGroups = { groups: [], hasMoreGroups: false }

/** Finds names that differ in spelling only. There is no such rule for events. */
async function findGroups(pool: Pool, kind: EntityPageKind, page: number) {
  if (kind === 'category') return noGroups
  const query = { page, page_size: groupsPerPage }
  try {
    const found = await readFindings(pool.lists, `${kind}-spellings`, query, String)
    return {
      groups: found.entries.map(({ names }) => names),
      hasMoreGroups: found.next !== undefined,
    }
  } catch (error) {
    // The groups of the last page may have been merged.
    if (error instanceof Problem && error.problem === 'not-found') return noGroups
    throw error
  }
}

function mergePages({ desk, pool, forget, jobRunner }: EntityDesk, kind: EntityPageKind): void {
  const { list, merge: path, page } = deskEntityPaths[kind]

  const show = async (
    request: DeskRequest,
    { into, group }: MergeRequest,
    isStale = false,
  ): Promise<PageResponse> => {
    const data = await readMergePreview(pool, kind, into, group)
    const isLarge = isTooLarge(request, data.count)
    const shown = { kind, ...data, isStale, isLarge }
    return desk.render(request, [deskPages.mergeEntities, shown], isStale ? 409 : 200)
  }

  desk.page(path, entityAccess, async (request) => {
    const { group } = parseMerge(request.query.into, request.query.group)
    const into = await findSlug(pool, kind, request.query.into ?? '')
    if (group.length === 0) return desk.redirect(request, list)
    if (into === undefined) return desk.redirect(request, `${page(group[0] ?? '')}?error=unknown`)
    if (group.length === 1 && group[0] === into)
      return desk.redirect(request, `${page(into)}?error=same`)
    return show(request, { into, group })
  })

  desk.form(path, { ...entityAccess, page: list }, async (request) => {
    const { form } = request
    const merge = parseMerge(form.get('into'), form.get('group'))
    const { into, merged, count } = await readMergePreview(pool, kind, merge.into, merge.group)
    if (isTooLarge(request, count)) {
      const query = new URLSearchParams({ into: into.slug, group: merge.group.join(',') })
      return desk.redirect(
        request,
        `${deskPaths.confirm}?to=${encodeURIComponent(`${path}?${query}`)}`,
      )
    }
    const etagOf = (slug: string) => form.get(`etag_${slug}`) ?? ''
    if (etagOf(into.slug) !== into.etag) return show(request, merge, true)
    try {
      for (const { slug } of merged) {
        const context = { ...writeContextOf(request), ifMatch: `"${etagOf(slug)}"` }
        const { changed, left } = await mergeEntity(pool, kind, slug, into.slug, context)
        forget(changed)
        if (left > 0) jobRunner.wake()
      }
    } catch (error) {
      if (!(error instanceof Problem) || error.problem !== 'stale-revision') throw error
      return show(request, merge, true)
    }
    return desk.redirect(request, `${page(into.slug)}?done=merged`)
  })
}

interface MergeRequest {
  /** The slug of the entity to keep. */
  readonly into: string
  /** The slugs of those to be merged; may contain `into`. */
  readonly group: readonly string[]
}

function parseMerge(into: string | null | undefined, group: string | null | undefined) {
  const slugs = (group ?? '').split(',', maxGroup).filter((slug) => /^[\w-]{1,100}$/.test(slug))
  return { into: (into ?? '').slice(0, 255), group: [...new Set(slugs)] }
}

/** Returns the slug of the entity with this slug or name. */
async function findSlug(
  pool: Pool,
  kind: EntityPageKind,
  text: string,
): Promise<string | undefined> {
  return (await resolveEntity(pool.lists, kind, text))?.slug
}

async function readMergePreview(
  pool: Pool,
  kind: EntityPageKind,
  intoSlug: string,
  group: readonly string[],
) {
  const into = await readEdited(pool, kind, intoSlug)
  const found = await Promise.all(group.map((slug) => readEdited(pool, kind, slug)))
  const isOther = ({ id }: EditedEntity, index: number) =>
    id !== into.id && found.findIndex((entity) => entity.id === id) === index
  const merged = found.filter(isOther)
  const previews = []
  for (const { id } of merged) previews.push(await previewRecords(pool, kind, id, previewSize))
  const ids = previews.flatMap((preview) => preview.ids).slice(0, previewSize)
  const count = previews.reduce((sum, preview) => sum + preview.count, 0)
  return { into, merged, ...(await readPreview(pool, { ids, count })) }
}
