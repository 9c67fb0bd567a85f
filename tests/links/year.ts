import { awayStates, limitedStates, type SourceState, type Verdict } from '@talkshelf/contract'
import { newPace } from '../../server/links/host-pace.ts'
import { newHealth, type SourceHealth } from '../../server/links/source-health.ts'
import { type SeededRandom, seededRandom } from '../../server/pictures/seeded-random.ts'
import { ModelChecker, type ModelSource, type Question } from './model-checker.ts'

// A simulated year: sources of a real mix of hosts, of which some are lost, while answers are wrong
// at random and hosts have troubles that look like removals.

export interface YearOptions {
  readonly sources: number
  readonly days: number
  /** The share of answers that are wrong. */
  readonly noise: number
  readonly seed: number
  /** The share of sources that are lost in a year. */
  readonly losses?: number
  /** Troubles a year that last for 1 to 4 days. */
  readonly troubles?: number
  /** Requests a day to each host. */
  readonly budget?: number
  /** What wrong answers say of a source that is there. */
  readonly wrongVerdicts?: readonly Verdict[]
}

export interface YearResult {
  /** Sources that were marked although they were there, per year. */
  readonly wrong: { readonly away: number; readonly limited: number; readonly unreachable: number }
  /** Lost sources that were shown as `ok` again, per year. */
  readonly wronglyBack: number
  /**
   * How long it took until losses were marked, in order, infinite for those that were not. Without
   * those of the last 60 days.
   */
  readonly daysToMark: readonly number[]
  /** How often a source became suspect, per year. */
  readonly suspected: number
  readonly looksPerDay: number
  readonly requestsPerDay: number
  readonly hosts: readonly HostFigures[]
}

export interface HostFigures {
  readonly name: string
  readonly requests: number
  readonly gapMs: number
  readonly shortestGapMs: number
  readonly budget: number
  readonly busiestDay: number
}

interface YearSource extends ModelSource {
  /** A random number from 0 to 1: decides to which half of a host it belongs. */
  readonly draw: number
  lostAt: number
  lostAs: Verdict
}

interface Trouble {
  readonly host: string
  readonly from: number
  readonly to: number
  readonly verdict: Verdict
  /** All, or a half that stays the same for the whole trouble. */
  isAffected(source: YearSource): boolean
}

const start = Date.UTC(2026, 0, 1)
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const yearDays = 365
const youtube = 'www.youtube.com'
const archive = 'archive.org'
const shares = { youtube: 0.886, archive: 0.068 }
const otherHosts = 60
/** The time between two looks at a source that is well. */
const checkDays = 24
/** Losses that are not old enough to be marked do not count. */
const marginDays = 60
/** Times a year that a host refuses everything, for up to a day. */
const refusalsPerYear = 4
/** The share of losses that are closed accounts. */
const closedShare = 0.25

const away = new Set<string>(awayStates)
const limited = new Set<string>(limitedStates)

/** Simulates days of an archive whose sources have been looked at for a long time. */
export function simulateYear(options: YearOptions): YearResult {
  const random = seededRandom('year', String(options.seed))
  const { days, noise, budget = 10_000 } = options
  const years = days / yearDays
  const end = start + days * dayMs
  const sources = makeSources(options.sources, random, () => knownHealth(random))
  loseSources(sources, random, days, options.losses ?? 0.02)
  const troubles = [
    ...makeTroubles(random, days, options.troubles ?? 3, makeRemoval),
    ...makeTroubles(random, days, refusalsPerYear, makeRefusal),
  ]
  const wrongVerdicts = options.wrongVerdicts ?? ['gone', 'private', 'embed-off']

  function ask(source: YearSource, at: number, _: Question): Verdict {
    const verdict = truth(source, at)
    if (random.next() >= noise) return verdict
    return verdict === 'ok' ? random.pick(wrongVerdicts) : 'ok'
  }
  function truth(source: YearSource, at: number): Verdict {
    const { lostAt, lostAs, host } = source
    for (const trouble of troubles)
      if (trouble.host === host && trouble.from <= at && at < trouble.to)
        if (trouble.isAffected(source)) return trouble.verdict
    return at >= lostAt ? lostAs : 'ok'
  }

  const wrong = { away: 0, limited: 0, unreachable: 0 }
  let looks = 0
  let wronglyBack = 0
  let suspected = 0
  const markedAt = new Map<YearSource, number>()
  const requests = new RequestLog()
  const checker = new ModelChecker<YearSource>({
    sources,
    random: random.next,
    budgets: Object.fromEntries([youtube, archive].map((host) => [host, budget])),
    ask,
    onRequest: (host, at) => requests.add(host, at),
    onLook: (source, { at }, change) => {
      looks++
      if (source.health.state === 'suspect' && source.health.since === at) suspected++
      if (!change) return
      const kind = kindOf(change.to)
      if (at < source.lostAt) {
        if (kind) wrong[kind]++
      } else if (kind === 'away') {
        if (!markedAt.has(source)) markedAt.set(source, at)
      } else if (change.to === 'ok') wronglyBack++
    },
  })
  checker.runUntil(end)

  const hosts = requests.figures((host) => checker.paceOf(host).budget)
  const judged = sources.filter(({ lostAt }) => lostAt < end - marginDays * dayMs)
  const daysToMark = judged
    .map((source) => (markedAt.get(source) ?? Number.POSITIVE_INFINITY) - source.lostAt)
    .map((ms) => ms / dayMs)
    .sort((a, b) => a - b)
  return {
    wrong: {
      away: wrong.away / years,
      limited: wrong.limited / years,
      unreachable: wrong.unreachable / years,
    },
    wronglyBack: wronglyBack / years,
    daysToMark,
    suspected: suspected / years,
    looksPerDay: looks / days,
    requestsPerDay: hosts.reduce((sum, { requests }) => sum + requests, 0) / days,
    hosts,
  }
}

/** Returns how many days the first look at each of the sources takes if no budget limits it. */
export function simulateSweep(count: number, seed: number): number {
  const random = seededRandom('sweep', String(seed))
  const sources = makeSources(count, random, () => newHealth(start, random.next))
  let left = count
  let last = start
  const checker = new ModelChecker<YearSource>({
    sources,
    random: random.next,
    budgets: Object.fromEntries([youtube, archive].map((host) => [host, 10_000_000])),
    ask: () => 'ok',
    onLook: ({ health }, { at }) => {
      if (health.looks.length > 1) return
      left--
      last = at
    },
  })
  for (let day = 1; left > 0; day++) checker.runUntil(start + day * dayMs)
  return (last - start) / dayMs
}

/** Returns what the simulation must not show: gaps that were too short, and budgets exceeded. */
export function brokenLimits({ hosts }: YearResult): string[] {
  return hosts.flatMap(({ name, gapMs, shortestGapMs, budget, busiestDay }) => [
    ...(shortestGapMs < 0.7 * gapMs ? [`${name}: a gap of ${shortestGapMs} ms`] : []),
    ...(busiestDay > budget ? [`${name}: ${busiestDay} requests on a day`] : []),
  ])
}

/** Records requests on its own, to check the paces of the hosts. */
class RequestLog {
  readonly #hosts = new Map<string, { requests: number; last: number; gap: number; max: number }>()
  readonly #today = new Map<string, { day: number; requests: number }>()

  add(name: string, at: number): void {
    const host = this.#hosts.get(name) ?? { requests: 0, last: 0, gap: dayMs, max: 0 }
    host.requests++
    host.gap = Math.min(host.gap, at - host.last)
    host.last = at
    const day = Math.floor(at / dayMs)
    const known = this.#today.get(name)
    const today = known?.day === day ? known : { day, requests: 0 }
    today.requests++
    host.max = Math.max(host.max, today.requests)
    this.#today.set(name, today)
    this.#hosts.set(name, host)
  }

  figures(budgetOf: (host: string) => number): HostFigures[] {
    return [...this.#hosts]
      .map(([name, { requests, gap, max }]) => ({
        name,
        requests,
        gapMs: newPace(name).gapMs,
        shortestGapMs: gap,
        budget: budgetOf(name),
        busiestDay: max,
      }))
      .sort((a, b) => b.requests - a.requests)
  }
}

/** Makes sources of all hosts. A few owners have most of them, as in real archives. */
function makeSources(
  count: number,
  random: SeededRandom,
  health: () => SourceHealth,
): YearSource[] {
  const ofYoutube = Math.round(count * shares.youtube)
  const ofArchive = Math.round(count * shares.archive)
  const ownerOf = skewed(Math.max(20, Math.round(Math.sqrt(count) * 2)), random)
  const archiveOwnerOf = skewed(40, random)
  const hostOf = skewed(otherHosts, random)
  return Array.from({ length: count }, (_, index) => {
    const lost = {
      lostAt: Number.POSITIVE_INFINITY,
      lostAs: 'gone' as const,
      draw: random.next(),
    }
    if (index < ofYoutube)
      return { host: youtube, owner: `y${ownerOf()}`, health: health(), ...lost }
    if (index < ofYoutube + ofArchive)
      return { host: archive, owner: `a${archiveOwnerOf()}`, health: health(), ...lost }
    const host = hostOf()
    // Every second host has one owner.
    const owner = host % 2 === 0 ? 0 : Math.floor(random.next() * 8)
    return { host: `${host}.example.org`, owner: `${host}-${owner}`, health: health(), ...lost }
  })
}

/** Returns a function that draws a number below `count`; number n is drawn in proportion to 1/n. */
function skewed(count: number, random: SeededRandom): () => number {
  const sums: number[] = []
  for (let rank = 1; rank <= count; rank++) sums.push((sums.at(-1) ?? 0) + 1 / rank)
  const total = sums.at(-1) ?? 0
  return () => {
    const drawn = random.next() * total
    return sums.findIndex((sum) => drawn < sum)
  }
}

/** Returns the health of a source that was looked at regularly, the last time with success. */
function knownHealth(random: SeededRandom): SourceHealth {
  const nextCheck = start + Math.ceil(random.between(0, checkDays * dayMs))
  const lastGood = nextCheck - checkDays * dayMs
  return {
    ...newHealth(start, random.next),
    state: 'ok',
    since: start - 2 * yearDays * dayMs,
    lastGood,
    looks: [{ at: lastGood, verdict: 'ok' }],
    nextCheck,
  }
}

/** Decides which sources are lost, when, and how: single ones, and all of small owners. */
function loseSources(
  sources: readonly YearSource[],
  random: SeededRandom,
  days: number,
  share: number,
): void {
  const lose = (source: YearSource, at: number, as: Verdict) => {
    source.lostAt = at
    source.lostAs = as
  }
  const anyTime = () => start + random.between(0, days * dayMs)
  const wanted = sources.length * share * (days / yearDays)
  const owners = Map.groupBy(sources, ({ owner }) => owner)
  const small = [...owners.values()].filter(({ length }) => length > 1 && length <= wanted / 8)
  let lost = 0
  for (const group of random.shuffled(small)) {
    if (lost + group.length > wanted * closedShare) break
    const at = anyTime()
    for (const source of group) lose(source, at, 'gone')
    lost += group.length
  }
  while (lost < Math.round(wanted)) {
    const source = random.pick(sources)
    if (source.lostAt !== Number.POSITIVE_INFINITY) continue
    lose(source, anyTime(), random.pick(['gone', 'gone', 'private', 'private', 'removed']))
    lost++
  }
}

/** Spreads troubles over time, and over the large hosts and the others. */
function makeTroubles(
  random: SeededRandom,
  days: number,
  perYear: number,
  make: (random: SeededRandom) => Omit<Trouble, 'host' | 'from' | 'to'> & { hours: number },
): Trouble[] {
  return Array.from({ length: Math.round((perYear * days) / yearDays) }, () => {
    const { hours, ...trouble } = make(random)
    const from = start + random.between(0, days * dayMs)
    const host = random.pick([youtube, archive, `${Math.floor(random.next() * 10)}.example.org`])
    return { ...trouble, host, from, to: from + hours * hourMs }
  })
}

/** Makes a trouble that looks like removals, of everything or of a half. */
function makeRemoval(random: SeededRandom) {
  const isHalf = random.next() < 0.5
  const split = random.next()
  return {
    hours: random.between(24, 96),
    verdict: random.pick<Verdict>(['gone', 'embed-off']),
    isAffected: ({ draw }: YearSource) => !isHalf || (draw + split) % 1 < 0.5,
  }
}

function makeRefusal(random: SeededRandom) {
  return { hours: random.between(1, 24), verdict: 'refused' as const, isAffected: () => true }
}

function kindOf(state: SourceState): 'away' | 'limited' | 'unreachable' | undefined {
  if (away.has(state)) return 'away'
  if (limited.has(state)) return 'limited'
  return state === 'unreachable' ? 'unreachable' : undefined
}
