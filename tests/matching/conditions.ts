import type { GoldEvent } from './gold.ts'

// The same event under harder conditions: talks and recordings are missing, and the playlist has
// other years of the series.

export interface MeasuredEvent extends GoldEvent {
  /** Talks and recordings whose partner was removed: to pair them is wrong. */
  readonly widowed: ReadonlySet<string>
}

export const conditionNames = ['plain', 'holes', 'crowded', 'both'] as const
export type Condition = (typeof conditionNames)[number]

/** The share of the pairs that lose their talk, and as many their recording. */
const removedShare = 0.2

/** Returns the event under a condition, once for each seed if it depends on one. */
export function underCondition(
  condition: Condition,
  event: GoldEvent,
  index: number,
  library: readonly GoldEvent[],
  seeds: readonly number[],
): MeasuredEvent[] {
  const whole = { ...event, widowed: new Set<string>() }
  const withHoles = () => seeds.map((seed) => removePairs(event, 1000 * seed + index))
  if (condition === 'plain') return [whole]
  if (condition === 'holes') return withHoles()
  const events = condition === 'crowded' ? [whole] : withHoles()
  const others = otherYears(event, library)
  return events.map((measured) => ({
    ...measured,
    recordings: [...measured.recordings, ...others],
    recordings_without_talk: [
      ...(measured.recordings_without_talk ?? []),
      ...others.map(({ id }) => id),
    ],
  }))
}

function removePairs(event: GoldEvent, seed: number): MeasuredEvent {
  const next = randomNumbers(seed)
  const removed = new Set<string>()
  const widowed = new Set<string>()
  for (const { talk, recording } of event.pairs) {
    const value = next()
    if (value >= 2 * removedShare) continue
    const isTalk = value < removedShare
    removed.add(isTalk ? talk : recording)
    widowed.add(isTalk ? recording : talk)
  }
  return {
    ...event,
    widowed,
    talks: event.talks.filter(({ id }) => !removed.has(id)),
    recordings: event.recordings.filter(({ id }) => !removed.has(id)),
    pairs: event.pairs.filter(
      ({ talk, recording }) => !removed.has(talk) && !removed.has(recording),
    ),
  }
}

function otherYears(event: GoldEvent, library: readonly GoldEvent[]) {
  const own = new Set(event.recordings.map(({ id }) => id))
  return library
    .filter((other) => other.event !== event.event && seriesOf(other) === seriesOf(event))
    .flatMap(({ recordings }) => recordings)
    .filter(({ id }) => !own.has(id))
}

/** The slug of an event without its year. */
export const seriesOf = ({ event }: GoldEvent) => event.replace(/-?(19|20)\d\d$/, '')

/** Returns a generator of random numbers (mulberry32) from 0 to 1. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
