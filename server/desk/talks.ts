import { states, type Video } from '@talkshelf/contract'
import { deskPages, deskPaths, type ListedTalk, type TalkList } from '@talkshelf/web'
import { listRecords, parseSearchParams } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { listDrafts } from '../videos/videos.ts'
import type { Desk } from './mount.ts'

// The list of talks for editors, and the talks before and after one of them in it.

const pageSize = 50
/** The pages of the public list reach that far. */
const maxPage = 10_000 / pageSize

/** Mounts the list of talks. */
export function talkListPage(desk: Desk, pool: Pool): void {
  const access = { role: 'editor', forEventEditors: true } as const
  desk.page(deskPaths.talks, access, async (request) => {
    const list = parseList(request.query)
    const { talks, count } = await readList(pool, list)
    const hasMore = talks.length > pageSize && list.page < maxPage
    const data = { list, talks: talks.slice(0, pageSize), count, hasMore }
    return desk.render(request, [deskPages.talks, data])
  })
}

export interface Neighbours {
  readonly list: string
  readonly previous: string | undefined
  readonly next: string | undefined
}

/**
 * Finds the talks before and after one in a list, which is the query of its page. Undefined if the
 * talk is no longer in it.
 */
export async function findNeighbours(
  pool: Pool,
  query: string,
  id: number,
): Promise<Neighbours | undefined> {
  const list = parseList(Object.fromEntries(new URLSearchParams(query.slice(0, 2000))))
  const { talks } = await readList(pool, list)
  const index = talks.findIndex((talk) => talk.id === id)
  if (index === -1) return undefined
  const linkTo = (talk: ListedTalk | undefined, page: number) =>
    talk && `${deskPaths.talk(talk.id)}?list=${encodeURIComponent(listQuery({ ...list, page }))}`
  const before = index === 0 && list.page > 1
  const previousPage = before ? await readList(pool, { ...list, page: list.page - 1 }) : undefined
  return {
    list: listQuery(list),
    previous: before
      ? linkTo(previousPage?.talks[pageSize - 1], list.page - 1)
      : linkTo(talks[index - 1], list.page),
    // One more than a page was read.
    next: linkTo(talks[index + 1], index + 1 === pageSize ? list.page + 1 : list.page),
  }
}

function parseList(query: Readonly<Record<string, string>>): TalkList {
  const page = Number(query.page ?? 1)
  return {
    q: (query.q ?? '').slice(0, 300),
    state: query.state === 'draft' ? 'draft' : 'live',
    page: Number.isInteger(page) && page >= 1 && page <= maxPage ? page : 1,
  }
}

function listQuery({ q, state, page }: TalkList): string {
  return new URLSearchParams({
    ...(q !== '' && { q }),
    ...(state === 'draft' && { state }),
    ...(page > 1 && { page: String(page) }),
  }).toString()
}

/** Reads a page of a list, and the first talk of the next page. */
async function readList(
  pool: Pool,
  { q, state, page }: TalkList,
): Promise<{ talks: ListedTalk[]; count: number | undefined }> {
  const from = (page - 1) * pageSize
  if (state === 'draft') {
    const drafts = await listDrafts(pool.lists, q, pageSize + 1, from)
    return { talks: drafts.map(talkRow), count: undefined }
  }
  const read = async (number: number) => {
    const query = parseSearchParams({ q, page: String(number), page_size: '50' }, [
      'q',
      'page',
      'page_size',
    ])
    return listRecords(pool, query)
  }
  const current = await read(page)
  const first = current.next && page < maxPage ? await read(page + 1) : undefined
  const bodies = [...current.entries, ...(first?.entries.slice(0, 1) ?? [])]
  return { talks: bodies.map((body) => talkRow(JSON.parse(body) as Video)), count: current.count }
}

function talkRow({ id, title, category, speakers, recorded, state }: Video): ListedTalk {
  return { id, title, category, speakers, recorded, isLive: state === states.live }
}
