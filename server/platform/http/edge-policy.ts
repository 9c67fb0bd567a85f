import type { FastifyReply, FastifyRequest } from 'fastify'

// What an edge cache (a CDN, or Varnish) may store, for how long, and by which keys it is purged.
// Browsers get other headers, because they cannot be purged.

export interface EdgePolicy {
  readonly seconds: number
  /** For how long it may be served after that while the archive does not respond. */
  readonly staleSeconds?: number
  readonly keys: readonly string[]
}

/** The policy of a response, computed only if there is an edge cache. */
export type LazyPolicy = () => EdgePolicy

export interface EdgeHeaders {
  /**
   * Returns the headers that an edge cache reads. Without a policy it must not store the response.
   * `isVaried` tells that the response depends on more than its URL.
   */
  headers(policy: EdgePolicy | undefined, isVaried: boolean): Readonly<Record<string, string>>
}

const prefixes = { video: 'v', category: 'c', speaker: 's', tag: 't', language: 'l-' } as const
type KeyKind = keyof typeof prefixes

/** Returns the key of everything that shows a record or an entity. A language has a code. */
export const edgeKey = (kind: KeyKind, id: number | string) => `${prefixes[kind]}${id}`

const hour = 3600
const day = 24 * hour

/** A record, or what was derived from it alone. */
export const recordPolicy = (...ids: number[]): EdgePolicy => ({
  seconds: day,
  staleSeconds: 7 * day,
  keys: ids.map((id) => edgeKey('video', id)),
})

/** An entity, and the list of its records. */
export const entityPolicy = (
  kind: KeyKind,
  id: number,
  shown: readonly number[] = [],
): EdgePolicy => ({
  seconds: day,
  staleSeconds: 7 * day,
  keys: [edgeKey(kind, id), ...shown.map((record) => edgeKey('video', record))],
})

/**
 * What changes with any record: searches, feeds and most lists. Without keys it cannot be purged,
 * so it is not served after its time: it may name what was removed.
 */
export const listPolicy = (shown: readonly number[] = []): EdgePolicy => ({
  seconds: 10,
  ...(shown.length > 0 && { staleSeconds: 7 * day }),
  keys: shown.map((id) => edgeKey('video', id)),
})

/**
 * A page has the keys of all talks and entities that it links to. Unless `isComplete`, it may name
 * more: facets link to searches, and statistics are a minute old. Then it is not served for long
 * after its time.
 */
export function pagePolicy(
  html: string,
  { seconds = 10, keys = [], isComplete = false }: PagePolicyOptions = {},
): EdgePolicy {
  const links = html.matchAll(/"[^"?]*\/(video|category|speaker|tag)\/([1-9]\d{0,15})[/"?]/g)
  const linked = Array.from(links, ([, kind, id]) => edgeKey(kind as KeyKind, id as string))
  const staleSeconds = isComplete ? 7 * day : hour
  return { seconds, staleSeconds, keys: [...new Set([...keys, ...linked])] }
}

interface PagePolicyOptions {
  readonly seconds?: number
  readonly keys?: readonly string[]
  readonly isComplete?: boolean
}

/** A page of the change feed that never changes. */
export const fixedPagePolicy: EdgePolicy = { seconds: hour, keys: ['changes'] }

/** A picture, which has its own lifetime. */
export const picturePolicy = (seconds: number, keys: readonly string[]): EdgePolicy => ({
  seconds,
  keys,
})

/** A file of the program: pages that are served while the archive does not respond need it. */
export const assetPolicy = (seconds: number): EdgePolicy => ({
  seconds,
  staleSeconds: 7 * day,
  keys: [],
})

/** The absence of what a path names. */
export function missingPolicy(path: string): EdgePolicy {
  const [, video] =
    /^(?:\/api\/v2)?\/(?:video|embed|picture)\/([1-9]\d{0,15})(?:\/|$)/.exec(path) ?? []
  const [, kind, id] =
    /^(?:\/picture)?\/(category|speaker|tag)\/([1-9]\d{0,15})(?:\/|$)/.exec(path) ?? []
  const keys = [
    ...(video === undefined ? [] : [edgeKey('video', video)]),
    ...(kind === undefined || id === undefined ? [] : [edgeKey(kind as KeyKind, id)]),
  ]
  return { seconds: 10, keys }
}

/** Tells whether a response may be for all readers: the request identifies none of them. */
export function isAnonymousRequest({
  method,
  headers,
}: Pick<FastifyRequest, 'headers'> & { method?: string | undefined }): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && headers.authorization === undefined && headers.cookie === undefined
}

/** Sets the headers for the edge cache, if there is one. */
export function setEdgeHeaders(
  edge: EdgeHeaders | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  policy: LazyPolicy | undefined,
): void {
  if (!edge) return
  const isCached = policy !== undefined && isAnonymousRequest(request)
  const { format } = (request.query ?? {}) as Record<string, string>
  const isApi = /\/api\/v2\//.test(request.url.split('?', 1)[0] ?? '')
  const varies = isApi && format === 'json' ? '' : String(reply.getHeader('vary') ?? '')
  reply.headers(edge.headers(isCached ? policy() : undefined, dependsOnHeaders(varies)))
  if (!isCached) return
  // They are about one client.
  for (const name of ['ratelimit', 'ratelimit-policy']) reply.removeHeader(name)
}

/** Tells whether a Vary header names more than encodings, with which every cache copes. */
export const dependsOnHeaders = (vary: string) => /\baccept(?!-encoding)|cookie/i.test(vary)
