import { isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

// A bucket for each caller that fills by itself: as many points as the limit has, a minute to fill.
// Reading costs 1, a list or a search 5, writing 10, and an answer that nothing has changed (304)
// is free. Per process: several processes allow as many times more.

export const requestCosts = { read: 1, list: 5, write: 10 }
const windowSeconds = 60

export interface RateLimit {
  /** Takes the points, or tells for how many seconds they will be missing. */
  take(caller: string, cost: number): { left: number; waitSeconds: number }
  giveBack(caller: string, cost: number): void
  headers(left: number): Record<string, string>
}

export function createRateLimit(perMinute: number): RateLimit {
  const perMs = perMinute / (windowSeconds * 1000)
  // Whoever is forgotten has a full bucket again; a flood of callers must not take all memory.
  const buckets = new LRUCache<string, { points: number; atMs: number }>({ max: 100_000 })

  function bucketOf(caller: string) {
    const nowMs = performance.now()
    const bucket = buckets.get(caller) ?? { points: perMinute, atMs: nowMs }
    bucket.points = Math.min(perMinute, bucket.points + (nowMs - bucket.atMs) * perMs)
    bucket.atMs = nowMs
    buckets.set(caller, bucket)
    return bucket
  }

  return {
    take(caller, cost) {
      const bucket = bucketOf(caller)
      if (bucket.points < cost)
        return {
          left: Math.floor(bucket.points),
          waitSeconds: Math.ceil((cost - bucket.points) / perMs / 1000),
        }
      bucket.points -= cost
      return { left: Math.floor(bucket.points), waitSeconds: 0 }
    },
    giveBack(caller, cost) {
      const bucket = bucketOf(caller)
      bucket.points = Math.min(perMinute, bucket.points + cost)
    },
    headers: (left) => ({
      'ratelimit-policy': `"default";q=${perMinute};w=${windowSeconds}`,
      ratelimit: `"default";r=${left};t=${Math.ceil((perMinute - left) / perMs / 1000)}`,
    }),
  }
}

/** A token, or an address; of IPv6 the network, because one household has 2^64 addresses. */
export function rateLimitKey(token: number | null, ip: string): string {
  if (token !== null) return `token ${token}`
  if (!isIPv6(ip) || ip.startsWith('::ffff:')) return ip
  const [head = '', tail] = ip.split('::')
  const groups = head.split(':').filter(Boolean)
  const filled =
    tail === undefined
      ? groups
      : [
          ...groups,
          ...Array(8 - groups.length - tail.split(':').filter(Boolean).length).fill('0'),
          ...tail.split(':').filter(Boolean),
        ]
  return `${filled.slice(0, 4).join(':')}::/64`
}
