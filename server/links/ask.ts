import type { SourceKind } from '@talkshelf/contract'
import type { GuardOptions } from '../platform/net/guard.ts'
import { probeOutbound } from '../platform/net/probe.ts'
import { type Pacing, readTime, takeTurn } from './paced-host.ts'
import type { Ask } from './probes/probes.ts'
import { findRobots, saveRobots } from './queries.ts'
import { isAllowedBy, maxRobotsBytes, type Robots, robotsOf } from './robots.ts'

// Sends the requests of a check: in the turn of their host, and as its robots.txt allows.

/** What checks need. */
export interface Checker extends Pacing {
  readonly signal: AbortSignal
  readonly youtubeKey: string | undefined
  readonly guard?: GuardOptions | undefined
  userAgent(): string
  /** Stops all checks of this process until a time. */
  stop(until: number): void
  isStopped(now: number): boolean
}

/** The robots.txt of a host disallows a request. */
export class Disallowed extends Error {}

const timeoutMs = 20_000
const robotsMaxAgeMs = 24 * 3_600_000

/** Interfaces that their hosts document for programs: robots.txt is about pages. */
const documented: Readonly<Record<string, RegExp>> = {
  youtube: /^https:\/\/www\.(youtube\.com\/oembed|googleapis\.com\/youtube\/v3\/)/,
  vimeo: /^https:\/\/vimeo\.com\/api\/oembed\.json/,
  peertube: /^https:\/\/[^/]+\/api\/v1\/videos\//,
  voctoweb: /^https:\/\/[^/]+\/public\/events\//,
  'archive.org': /^https:\/\/archive\.org\/(metadata|wayback\/available)/,
}

/**
 * Returns a function that sends the requests about a kind of source. Besides the errors of
 * `probeOutbound`, it throws `NotNow` and `Disallowed`.
 */
export function openAsk(checker: Checker, kind: SourceKind): Ask {
  const { pool, signal, guard } = checker
  const options = { ...guard, timeoutMs, userAgent: checker.userAgent(), signal }

  async function waitFor(url: URL): Promise<void> {
    const isDocumented = documented[kind]?.test(url.href) ?? false
    if (!isDocumented && !isAllowedBy(await robotsFor(url), url.pathname + url.search))
      throw new Disallowed(`robots.txt of ${url.hostname} disallows it`)
    await takeTurn(checker, url.hostname, signal)
  }

  /** Reads the rules of a host, at most once a day. */
  async function robotsFor(url: URL): Promise<Robots> {
    const now = await readTime(checker)
    const stored = await findRobots(pool, url.hostname)
    if (stored?.robots && stored.read !== null && now - stored.read < robotsMaxAgeMs)
      return stored.robots
    await takeTurn(checker, url.hostname, signal)
    const request = { url: new URL('/robots.txt', url).href }
    const answer = await probeOutbound(request, { ...options, maxBytes: maxRobotsBytes })
    const robots = robotsOf(answer)
    await saveRobots(pool, url.hostname, robots, now)
    return robots
  }

  return async (request) => {
    await waitFor(new URL(request.url))
    // A redirect is a request to its host as well.
    const mayFollow = async (url: URL) => {
      try {
        await waitFor(url)
        return true
      } catch (error) {
        if (error instanceof Disallowed) return false
        throw error
      }
    }
    return probeOutbound(request, { ...options, mayFollow })
  }
}
