import { createHash } from 'node:crypto'

// A pseudo-random generator with a text as seed, so that a cover always looks the same.

export interface SeededRandom {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number
  between(min: number, max: number): number
  pick<T>(items: readonly T[]): T
  shuffled<T>(items: readonly T[]): T[]
}

/** Creates a generator (mulberry32) that is seeded with texts. */
export function seededRandom(...seed: readonly string[]): SeededRandom {
  let state = createHash('sha256').update(JSON.stringify(seed)).digest().readUInt32LE()
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (min: number, max: number) => min + next() * (max - min)
  return {
    next,
    between,
    pick: (items) => items[Math.floor(next() * items.length)] as (typeof items)[number],
    shuffled: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ item }) => item),
  }
}
