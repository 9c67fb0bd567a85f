import { isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

// A token bucket for each client, by default refilled within a minute. A read costs 1 point, a list
// or search 5, a write 10, a 304 nothing. Buckets are per process, so several processes multiply
// the limit.

export const requestCosts = { read: 1, list: 5, write: 10 }

export interface RateLimit {
  /** Takes points, or returns the seconds until enough are available. */
  take(client: string, cost: number): { left: number; waitSeconds: number }
  /** Refunds points. */
  giveBack(client: string, cost: number): void
  /** Returns the RateLimit headers. */
  headers(left: number): Record<string, string>
}

/** Creates a rate limit of `points` for each client in each window. */
export function createRateLimit(points: number, windowSeconds = 60): RateLimit {
  const perMs = points / (windowSeconds * 1000)
  // Bounds the memory for many clients. An evicted client starts again with a full bucket.
  const buckets = new LRUCache<string, { points: number; atMs: number }>({ max: 100_000 })

  function currentBucket(client: string) {
    const nowMs = performance.now()
    const bucket = buckets.get(client) ?? { points, atMs: nowMs }
    bucket.points = Math.min(points, bucket.points + (nowMs - bucket.atMs) * perMs)
    bucket.atMs = nowMs
    buckets.set(client, bucket)
    return bucket
  }

  return {
    take(client, cost) {
      const bucket = currentBucket(client)
      if (bucket.points < cost)
        return {
          left: Math.floor(bucket.points),
          waitSeconds: Math.ceil((cost - bucket.points) / perMs / 1000),
        }
      bucket.points -= cost
      return { left: Math.floor(bucket.points), waitSeconds: 0 }
    },
    giveBack(client, cost) {
      const bucket = currentBucket(client)
      bucket.points = Math.min(points, bucket.points + cost)
    },
    headers: (left) => ({
      'ratelimit-policy': `"default";q=${points};w=${windowSeconds}`,
      ratelimit: `"default";r=${left};t=${Math.ceil((points - left) / perMs / 1000)}`,
    }),
  }
}

/** Returns the key of a client: its token, IPv4 address or IPv6 /64 network. */
export function rateLimitKey(token: number | null, ip: string): string {
  if (token !== null) return `token ${token}`
  if (!isIPv6(ip) || ip.startsWith('::ffff:')) return ip
  return `${expandIPv6(ip).slice(0, 4).join(':')}::/64`
}

/** Returns the 8 groups of an IPv6 address. */
function expandIPv6(ip: string): string[] {
  const [head = [], tail] = ip.split('::').map((half) => half.split(':').filter(Boolean))
  if (tail === undefined) return head
  return [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail]
}
