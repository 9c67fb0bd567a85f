import { hash } from 'node:crypto'
import { type Endpoint, listCategories, listLanguages, listSpeakers, listTags, listVideos } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { etag, isUnchanged } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import type { Answer, Asked, Mount } from '../platform/http/mount.ts'
import type { Links } from '../platform/http/server.ts'
import * as catalogue from './catalogue.ts'

export function catalogueRoutes(mount: Mount, pool: Pool, links: Links): void {
  const db = pool.searches

  mount(listVideos, async (asked) => sent(asked, await catalogue.listRecords(db, asked.query), links.to(listVideos, {})))

  const kinds: [typeof listTags | typeof listCategories | typeof listSpeakers | typeof listLanguages, catalogue.Kind][] = [
    [listCategories, 'category'],
    [listSpeakers, 'speaker'],
    [listTags, 'tag'],
    [listLanguages, 'language'],
  ]
  for (const [list, kind] of kinds)
    mount(list, async (asked) => sent(asked, await catalogue.listThingsOf(db, kind, asked.query), links.to(list, {})))
}

function sent(asked: Asked<Endpoint>, { count, isExact, entries, next, previous, today }: catalogue.Page, path: string): Answer {
  const { page: _page, cursor: _cursor, ...same } = { ...(asked.query as Record<string, string>), ...today }
  const format = asked.format && { format: asked.format }
  const address = (differs: object | undefined) =>
    differs ? `${path}?${new URLSearchParams(Object.entries({ ...same, ...differs, ...format }))}` : null
  const places = { next: address(next), previous: address(previous) }
  const head = toJson({ count, ...(!isExact && { count_exact: false }), ...places })
  const link = Object.entries({ next: places.next, prev: places.previous }).flatMap(([name, to]) => (to ? `<${to}>; rel="${name}"` : []))
  // The entries are JSON already; records are there as they are served one by one.
  return version(asked, `${head.slice(0, -1)},"results":[${entries.join(',')}]}`, link.length > 0 ? { link: link.join(', ') } : {})
}

/** What it says is its version. */
function version({ headers, as, actor }: Asked<Endpoint>, body: string, more: Record<string, string> = {}): Answer {
  const tag = hash('sha256', body, 'base64url').slice(0, 22)
  return {
    status: isUnchanged(headers['if-none-match'], etag(tag, as)) ? 304 : 200,
    body,
    tag,
    headers: { 'cache-control': actor.role === 'anyone' ? 'public, no-cache' : 'private, no-store', ...more },
  }
}
