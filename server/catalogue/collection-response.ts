import { hash } from 'node:crypto'
import type { Endpoint } from '@talkshelf/contract'
import { matchesIfNoneMatch, representationEtag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import type { Call, RouteResponse } from '../platform/http/mount.ts'
import type { ListPage } from './page.ts'

/**
 * A page as every list sends it. `path` is the address of the list, `extra` what it has besides.
 */
export function collectionResponse(
  call: Call<Endpoint>,
  { count, isExact, entries, next, previous, today }: ListPage,
  path: string,
  extra: object = {},
): RouteResponse {
  const {
    page: _page,
    cursor: _cursor,
    ...same
  } = { ...(call.query as Record<string, string>), ...today }
  const format = call.format && { format: call.format }
  const address = (differs: object | undefined) =>
    differs
      ? `${path}?${new URLSearchParams(Object.entries({ ...same, ...differs, ...format }))}`
      : null
  const places = { next: address(next), previous: address(previous) }
  const head = toJson({ count, ...(!isExact && { count_exact: false }), ...places })
  const link = Object.entries({ next: places.next, prev: places.previous }).flatMap(([name, to]) =>
    to ? `<${to}>; rel="${name}"` : [],
  )
  // The entries are JSON already; records are there as they are served one by one.
  const more = Object.keys(extra).length > 0 ? `,${toJson(extra).slice(1)}` : '}'
  return versionedResponse(
    call,
    `${head.slice(0, -1)},"results":[${entries.join(',')}]${more}`,
    link.length > 0 ? { link: link.join(', ') } : {},
  )
}

/** What it says is its version. */
export function versionedResponse(
  { headers, as, actor }: Call<Endpoint>,
  body: string,
  more: Record<string, string> = {},
): RouteResponse {
  const tag = hash('sha256', body, 'base64url').slice(0, 22)
  return {
    status: matchesIfNoneMatch(headers['if-none-match'], representationEtag(tag, as)) ? 304 : 200,
    body,
    tag,
    headers: {
      'cache-control': actor.role === 'anyone' ? 'public, no-cache' : 'private, no-store',
      ...more,
    },
  }
}
