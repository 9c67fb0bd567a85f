import { hash } from 'node:crypto'
import type { Endpoint } from '@talkshelf/contract'
import { conditionalStatus } from './conditional.ts'
import { type LazyPolicy, listPolicy } from './edge-policy.ts'
import { toJson } from './json.ts'
import type { Call, RouteResponse } from './mount.ts'
import type { ListPage } from './pagination.ts'

/**
 * Builds the response of a list: one page, with the URLs of its neighbours in the body and in the
 * `Link` header. `path` is the URL of the list, `extra` has its additional fields. Entries that are
 * texts are JSON already: a record has the same bytes as on its own URL.
 */
export function collectionResponse(
  call: Call<Endpoint>,
  { count, isExact, entries, next, previous, currentSlugs }: ListPage<string | object>,
  path: string,
  extra: object = {},
  edge: LazyPolicy = listPolicy,
): RouteResponse {
  const {
    page: _page,
    cursor: _cursor,
    ...commonParams
  } = { ...(call.query as Record<string, string>), ...currentSlugs }
  const format = call.format && { format: call.format }
  const pageUrl = (pageParams: object | undefined) => {
    if (!pageParams) return null
    const params = Object.entries({ ...commonParams, ...pageParams, ...format })
    return `${path}?${new URLSearchParams(params)}`
  }
  const urls = { next: pageUrl(next), previous: pageUrl(previous) }
  const head = toJson({ count, ...(!isExact && { count_exact: false }), ...urls })
  const link = Object.entries({ next: urls.next, prev: urls.previous }).flatMap(([rel, url]) =>
    url ? `<${url}>; rel="${rel}"` : [],
  )
  const results = entries.map((entry) => (typeof entry === 'string' ? entry : toJson(entry)))
  const tail = Object.keys(extra).length > 0 ? `,${toJson(extra).slice(1)}` : '}'
  return versionedResponse(
    call,
    `${head.slice(0, -1)},"results":[${results.join(',')}]${tail}`,
    link.length > 0 ? { link: link.join(', ') } : {},
    edge,
  )
}

/** Builds a JSON response whose ETag is a hash of its body. */
export function versionedResponse(
  { headers, as, actor }: Call<Endpoint>,
  body: string,
  extraHeaders: Record<string, string> = {},
  edge: LazyPolicy = listPolicy,
): RouteResponse {
  const etag = hash('sha256', body, 'base64url').slice(0, 22)
  return {
    status: conditionalStatus(headers['if-none-match'], etag, as),
    body,
    etag,
    headers: {
      'cache-control': actor.role === 'anyone' ? 'public, no-cache' : 'private, no-store',
      ...extraHeaders,
    },
    edge,
  }
}
