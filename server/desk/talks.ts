import { states, type Video } from '@talkshelf/contract'
import {
  deskPages,
  deskPaths,
  type ListedTalk,
  type Neighbours,
  type TalkList,
  type TalksData,
  talkColumns,
  talkListQuery,
} from '@talkshelf/web'
import { listRecords, parseSearchParams } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { listDrafts } from '../videos/videos.ts'
import { type Desk, searchParamsOf } from './mount.ts'

// The list of talks for editors, and the talks before and after one of them in it.

const pageSize = 50
/** The pages of the public list reach that far. */
const maxPage = 10_000 / pageSize

/** Mounts the list of talks. */
export function talkListPage(desk: Desk, pool: Pool): void {
  const access = { role: 'editor', forEventEditors: true } as const
  desk.page(deskPaths.talks, access, async (request) => {
    const list = parseList(searchParamsOf(request))
    return desk.render(request, [deskPages.talks, { list, ...(await readList(pool, list)) }])
  })
}

/**
 * Finds the talks before and after one in a list, by the query of its page. Undefined if the talk
 * is no longer in it.
 */
export async function findNeighbours(
  pool: Pool,
  query: URLSearchParams,
  id: number,
): Promise<Neighbours | undefined> {
  const list = parseList(query)
  const { talks, hasMore } = await readList(pool, list)
  const index = talks.findIndex((talk) => talk.id === id)
  if (index === -1) return undefined
  const linkTo = (talk: ListedTalk | undefined, page: number) => {
    const query = talkListQuery({ ...list, page })
    return talk && `${deskPaths.talk(talk.id)}?list=${encodeURIComponent(query)}`
  }
  const readPage = async (page: number) => (await readList(pool, { ...list, page })).talks
  const { page } = list
  const isFirst = index === 0 && page > 1
  const isLast = index === talks.length - 1 && hasMore
  return {
    list: talkListQuery(list),
    listPath: `${deskPaths.talks}?${talkListQuery(list)}`,
    previous: isFirst
      ? linkTo((await readPage(page - 1)).at(-1), page - 1)
      : linkTo(talks[index - 1], page),
    next: isLast ? linkTo((await readPage(page + 1))[0], page + 1) : linkTo(talks[index + 1], page),
  }
}

function parseList(query: URLSearchParams): TalkList {
  const page = Number(query.get('page') ?? 1)
  const chosen = query.getAll('column')
  return {
    q: (query.get('q') ?? '').slice(0, 300),
    state: query.get('state') === 'draft' ? 'draft' : 'live',
    columns: talkColumns.filter((column) => chosen.includes(column)),
    page: Number.isInteger(page) && page >= 1 && page <= maxPage ? page : 1,
  }
}

/** Reads a page of a list. */
async function readList(
  pool: Pool,
  { q, state, page }: TalkList,
): Promise<Pick<TalksData, 'talks' | 'count' | 'hasMore' | 'isExact'>> {
  const isWithin = page < maxPage
  if (state === 'draft') {
    const drafts = await listDrafts(pool.lists, q, pageSize + 1, (page - 1) * pageSize)
    const talks = drafts.slice(0, pageSize).map(talkRow)
    const hasMore = isWithin && drafts.length > pageSize
    return { talks, count: undefined, hasMore, isExact: true }
  }
  // An editor who looks for a misspelled word wants to correct it.
  const query = { q, page: String(page), page_size: String(pageSize), spelling: 'exact' }
  const names = ['q', 'page', 'page_size', 'spelling'] as const
  const { entries, count, next, extra } = await listRecords(
    pool,
    parseSearchParams(query, names),
    // All talks of a list can be edited at once: none with only some of the words, if one has all.
    'if none',
  )
  const talks = entries.map((body) => talkRow(JSON.parse(body) as Video))
  const isExact = (extra.search?.all_words ?? count) === count
  return { talks, count, hasMore: isWithin && next !== undefined, isExact }
}

/** Licences can be long texts. */
const maxLicenceLength = 100

function talkRow({ state, copyright_text: text, ...video }: Video): ListedTalk {
  const { id, title, category, speakers, recorded } = video
  const licence =
    text.length > maxLicenceLength ? `${text.slice(0, maxLicenceLength).toWellFormed()}…` : text
  return { id, title, category, speakers, recorded, isLive: state === states.live, licence }
}
