import type { SourceKind } from '@talkshelf/contract'
import type { GuardOptions } from '../platform/net/guard.ts'
import { OutboundError } from '../platform/net/outbound.ts'
import { type ProbeAnswer, type ProbeRequest, probeOutbound } from '../platform/net/probe.ts'
import { afterAnswer, afterRefusal } from './host-pace.ts'
import { changePace, type Pacing, readTime, takeTurn } from './paced-host.ts'
import { type Ask, HostRefused, isRefusal, type ProbeResult, waitOf } from './probes/probes.ts'
import { findRobots, saveRobots } from './queries.ts'
import { isAllowedBy, maxRobotsBytes, type Robots, robotsOf } from './robots.ts'

// Sends the requests of a check: in the turn of their host, and as its robots.txt allows.

/** What checks need. */
export interface Checker extends Pacing {
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
 * `probeOutbound`, it throws `NotNow` and `Disallowed`. Other hosts than `own` are paused when they
 * refuse. The caller records answers and refusals of `own`: it knows what they mean.
 */
export function openAsk(checker: Checker, kind: SourceKind, own: string | undefined): Ask {
  const { signal, guard } = checker
  const options = { ...guard, timeoutMs, userAgent: checker.userAgent(), signal }

  async function waitFor(url: URL): Promise<void> {
    const isDocumented = documented[kind]?.test(url.href) ?? false
    if (!isDocumented && !isAllowedBy(await robotsFor(url), url.pathname + url.search))
      throw new Disallowed(`robots.txt of ${url.hostname} disallows it`)
    await takeTurn(checker, url.hostname)
  }

  /** Reads the rules of a host, at most once a day. */
  async function robotsFor(url: URL): Promise<Robots> {
    const now = await readTime(checker)
    const stored = await findRobots(checker.pool, url.hostname)
    if (stored?.robots && stored.read !== null && now - stored.read < robotsMaxAgeMs)
      return stored.robots
    await takeTurn(checker, url.hostname)
    const request = { url: new URL('/robots.txt', url).href }
    const answer = await send(request, {
      waitFor: ({ hostname }) => takeTurn(checker, hostname),
      maxBytes: maxRobotsBytes,
    })
    const { stopped } = answer
    const isFailing = stopped?.code === 'unreachable' || stopped?.code === 'too-slow'
    const robots = isFailing ? undefined : robotsOf(answer)
    if (!robots)
      throw new HostRefused(
        `robots.txt of ${url.hostname} answers ${answer.status}`,
        waitOf(answer).retryAfterSeconds,
      )
    await saveRobots(checker.pool, url.hostname, robots, now)
    return robots
  }

  /**
   * Sends a request, and records in the pace of other hosts whether the last one refused. `waitFor`
   * waits until a redirect may be followed: it is a request to its host as well.
   */
  async function send(
    request: ProbeRequest,
    { waitFor, maxBytes }: { waitFor(url: URL): Promise<void>; readonly maxBytes?: number },
  ): Promise<ProbeAnswer> {
    let asked = new URL(request.url).hostname
    const mayFollow = async (url: URL) => {
      await waitFor(url)
      asked = url.hostname
      return true
    }
    try {
      const answer = await probeOutbound(request, {
        ...options,
        mayFollow,
        ...(maxBytes !== undefined && { maxBytes }),
      })
      const refusal = isRefusal(answer) ? waitOf(answer) : undefined
      if (asked !== own) await noteRefusal(checker, asked, refusal)
      return answer
    } catch (error) {
      if (error instanceof OutboundError && asked !== own) await noteRefusal(checker, asked, {})
      throw error
    }
  }

  return async (request) => {
    await waitFor(new URL(request.url))
    return send(request, { waitFor })
  }
}

/** Pauses a host that refused; ends its pauses if it answered. */
function noteRefusal(
  checker: Checker,
  host: string,
  refusal: Pick<ProbeResult, 'retryAfterSeconds'> | undefined,
): Promise<void> {
  return changePace(checker, host, (before, now) => ({
    pace: refusal ? afterRefusal(before, now, refusal.retryAfterSeconds) : afterAnswer(before, now),
    result: undefined,
  }))
}
