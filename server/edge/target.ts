import type { EdgeHeaders } from '../platform/http/edge-policy.ts'

// The kinds of edge caches: what EDGE names, and the headers that each of them reads.

export type EdgeTarget =
  | { readonly kind: 'varnish'; readonly urls: readonly string[] }
  | { readonly kind: 'fastly'; readonly service: string }
  | { readonly kind: 'cloudflare'; readonly zone: string }
  | { readonly kind: 'post'; readonly url: string }

/** Parses EDGE. Returns undefined if it is not valid. */
export function parseEdgeTarget(text: string): EdgeTarget | undefined {
  const [, kind, value = ''] = /^([a-z]+):(.+)$/.exec(text) ?? []
  const isId = /^[A-Za-z0-9]{1,100}$/.test(value)
  if (kind === 'fastly' && isId) return { kind, service: value }
  if (kind === 'cloudflare' && isId) return { kind, zone: value }
  if (kind === 'post' && isHttpUrl(value)) return { kind, url: value }
  const urls = value.split(',')
  if (kind === 'varnish' && urls.length <= 20 && urls.every(isHttpUrl)) return { kind, urls }
  return undefined
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.hash
}

/** More keys than this would exceed the limits of headers; Varnish has 8 kB. */
const maxKeyBytes = 4096

/**
 * Returns what writes the headers of responses. All have the key `all` and one of the release that
 * rendered them.
 */
export function createEdgeHeaders({ kind }: EdgeTarget, release: string): EdgeHeaders {
  const control = kind === 'fastly' ? 'surrogate-control' : 'cdn-cache-control'
  const keyHeader = {
    varnish: 'xkey',
    post: 'xkey',
    fastly: 'surrogate-key',
    cloudflare: 'cache-tag',
  }
  const separator = kind === 'cloudflare' ? ',' : ' '
  const common = ['all', `r-${release}`]
  // Fastly does not know no-store here.
  const noStore =
    kind === 'fastly'
      ? { [control]: 'max-age=0', [keyHeader[kind]]: common.join(separator) }
      : { [control]: 'no-store' }
  return {
    headers(policy, isVaried) {
      // Cloudflare ignores Vary.
      if (!policy || (isVaried && kind === 'cloudflare')) return noStore
      const keys = [...common, ...policy.keys].join(separator)
      const isTooLong = keys.length > maxKeyBytes
      // What cannot be purged must not be kept.
      const seconds = isTooLong ? Math.min(policy.seconds, 10) : policy.seconds
      const stale = isTooLong ? undefined : policy.staleSeconds
      return {
        [control]: `max-age=${seconds}${stale === undefined ? '' : `, stale-if-error=${stale}`}`,
        [keyHeader[kind]]: isTooLong ? common.join(separator) : keys,
      }
    },
  }
}
