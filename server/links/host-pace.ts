// How a host is asked: with a gap between requests, a budget a day, and pauses after refusals. Pure
// functions; times are milliseconds since 1970.

export interface HostLook {
  readonly owner: string
  readonly isBad: boolean
}

export interface HostPace {
  readonly gapMs: number
  /** Requests a day (UTC), or units if the host counts them. */
  readonly budget: number
  /** The day of `used`, in days since 1970. */
  readonly day: number
  readonly used: number
  readonly nextRequest: number
  readonly pausedUntil: number
  /** How often the pause was doubled, plus one. Zero if the last answer was good. */
  readonly pauseStep: number
  /** The first refusal since the last answer. */
  readonly refusingSince: number | null
  readonly lastRefusal: number | null
  readonly lastAnswer: number | null
  /** The last 50 looks that count, the newest at the end. */
  readonly looks: readonly HostLook[]
}

/** Hosts with documented interfaces for programs. */
const fastHosts = new Set(['www.youtube.com', 'archive.org', 'www.googleapis.com'])

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const maxPauseMs = 7 * dayMs
/** From here on the pause is the longest one. */
const maxPauseStep = 9
const maxLooks = 50
const unwellLooks = maxLooks / 5
const unwellOwners = 5
export const silentAfterMs = dayMs
const offlineHosts = 3
const offlineWithinMs = 10 * minuteMs
const closedSources = 5
const closedShare = 0.9

/** How long everything stops if we are offline. */
export const offlineMs = 5 * minuteMs

export function newPace(host: string, budget = 10_000): HostPace {
  return {
    gapMs: fastHosts.has(host) ? 1000 : 5000,
    budget,
    day: 0,
    used: 0,
    nextRequest: 0,
    pausedUntil: 0,
    pauseStep: 0,
    refusingSince: null,
    lastRefusal: null,
    lastAnswer: null,
    looks: [],
  }
}

/** Tells whether a request that costs this number of units may be sent. */
export function mayAsk(pace: HostPace, now: number, units = 1): boolean {
  return nextTurn(pace, now, units) <= now
}

/** Returns the time of the next request, as far as it is known now. */
export function nextTurn(pace: HostPace, now: number, units = 1): number {
  const turn = Math.max(now, pace.nextRequest, pace.pausedUntil)
  const isSpent = dayOf(turn) === pace.day && pace.used + units > pace.budget
  return isSpent ? (pace.day + 1) * dayMs : turn
}

export function afterRequest(
  pace: HostPace,
  now: number,
  random: () => number,
  units = 1,
): HostPace {
  const day = dayOf(now)
  return {
    ...pace,
    day,
    used: units + (day === pace.day ? pace.used : 0),
    nextRequest: now + Math.ceil(pace.gapMs * (0.7 + 0.6 * random())),
  }
}

/** Pauses a host that refuses: for an hour, doubling to a week, and as long as it says. */
export function afterRefusal(
  pace: HostPace,
  now: number,
  retryAfterSeconds: number | undefined,
): HostPace {
  return {
    ...paused(pace, now, retryAfterSeconds),
    refusingSince: pace.refusingSince ?? now,
    lastRefusal: now,
  }
}

/**
 * Ends the pauses of a host that answered. Pass the look if it says something about the host
 * (`concernsHost`). A bad answer of a host that is unwell pauses it like a refusal.
 */
export function afterAnswer(pace: HostPace, now: number, look?: HostLook): HostPace {
  const looks = look ? [...pace.looks, look].slice(-maxLooks) : pace.looks
  const answered: HostPace = { ...pace, looks, refusingSince: null, lastAnswer: now }
  if (look?.isBad && isUnwell(answered)) return paused(answered, now, undefined)
  return { ...answered, pausedUntil: 0, pauseStep: 0 }
}

/**
 * Tells whether too many sources turned bad at once: ten of the last 50 looks, of five owners. It
 * is the host that changed then, so bad looks are void.
 */
export function isUnwell({ looks }: Pick<HostPace, 'looks'>): boolean {
  const bad = looks.filter(({ isBad }) => isBad)
  return bad.length >= unwellLooks && new Set(bad.map(({ owner }) => owner)).size >= unwellOwners
}

/**
 * Tells whether a host has refused everything for a day. Looks that are due while it is paused end
 * as `refused` then, without a request: otherwise only the sources that are asked between pauses
 * would ever become unreachable.
 */
export function isSilent({ refusingSince }: HostPace, now: number): boolean {
  return refusingSince !== null && now - refusingSince >= silentAfterMs
}

/**
 * Tells whether we are offline: three hosts refused within ten minutes, and none answered since the
 * first of these refusals.
 */
export function isOffline(
  pauses: readonly Pick<HostPace, 'lastRefusal' | 'lastAnswer'>[],
  now: number,
): boolean {
  const refusals = pauses
    .map(({ lastRefusal }) => lastRefusal)
    .filter((time) => time !== null)
    .filter((time) => now - time < offlineWithinMs)
  const first = Math.min(...refusals)
  const hasAnswered = pauses.some(({ lastAnswer }) => lastAnswer !== null && lastAnswer >= first)
  return refusals.length >= offlineHosts && !hasAnswered
}

/**
 * Takes back the refusal of a host while we are offline. It still counts for the next ten minutes,
 * so that a single request after the stop shows that we are still offline.
 */
export function afterOffline(pace: HostPace, now: number): HostPace {
  const { lastRefusal } = pace
  if (lastRefusal === null || now - lastRefusal >= offlineWithinMs) return pace
  return { ...pace, pausedUntil: 0, pauseStep: 0, refusingSince: null, lastRefusal: now }
}

/**
 * Tells whether the account of an owner is closed. `known` counts the sources that were looked at
 * since the first of them turned bad, `bad` those of them that were away.
 */
export function isOwnerClosed({ bad, known }: { bad: number; known: number }): boolean {
  return bad >= closedSources && bad >= known * closedShare
}

function paused(pace: HostPace, now: number, retryAfterSeconds: number | undefined): HostPace {
  const pauseStep = Math.min(pace.pauseStep + 1, maxPauseStep)
  const wantedMs = Math.max(hourMs * 2 ** (pauseStep - 1), (retryAfterSeconds || 0) * 1000)
  return { ...pace, pauseStep, pausedUntil: now + Math.min(wantedMs, maxPauseMs) }
}

const dayOf = (time: number) => Math.floor(time / dayMs)
