import { listVideos } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { etag, isUnchanged } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { Links } from '../platform/http/server.ts'
import * as catalogue from './catalogue.ts'

export function catalogueRoutes(mount: Mount, pool: Pool, links: Links): void {
  mount(listVideos, async ({ query, headers, as, actor }) => {
    const { count, isExact, bodies, next, previous } = await catalogue.list(pool.searches, query)
    const { page: _page, cursor: _cursor, ...same } = query
    const address = (differs: object | undefined) => (differs ? `${links.to(listVideos, {})}?${parameters({ ...same, ...differs })}` : null)
    const places = { next: address(next), previous: address(previous) }
    const head = toJson({ count, ...(!isExact && { count_exact: false }), ...places })
    // The records are there as they are served one by one: they are only put together.
    const body = `${head.slice(0, -1)},"results":[${bodies.join(',')}]}`
    const tag = catalogue.tagOf(body)
    const link = Object.entries({ next: places.next, prev: places.previous }).flatMap(([name, to]) => (to ? `<${to}>; rel="${name}"` : []))
    return {
      status: headers['if-none-match'] !== undefined && isUnchanged(headers['if-none-match'], etag(tag, as)) ? 304 : 200,
      body,
      tag,
      headers: {
        'cache-control': actor.role === 'anyone' ? 'public, no-cache' : 'private, no-store',
        ...(link.length > 0 && { link: link.join(', ') }),
      },
    }
  })
}

function parameters(query: object): string {
  return new URLSearchParams(Object.entries(query) as [string, string][]).toString()
}
