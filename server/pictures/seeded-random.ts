import { createHash } from 'node:crypto'

// Chance that is always the same for the same words: no cover looks different tomorrow.

export interface SeededRandom {
  /** From 0 up to and without 1. */
  next(): number
  between(least: number, limit: number): number
  pick<T>(from: readonly T[]): T
  shuffled<T>(from: readonly T[]): T[]
}

export function seededRandom(...words: readonly string[]): SeededRandom {
  // mulberry32: four lines, and good enough for what only eyes will test.
  let state = createHash('sha256').update(JSON.stringify(words)).digest().readUInt32LE()
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let it = Math.imul(state ^ (state >>> 15), 1 | state)
    it = (it + Math.imul(it ^ (it >>> 7), 61 | it)) ^ it
    return ((it ^ (it >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, limit: number) => least + next() * (limit - least)
  return {
    next,
    between,
    pick: (from) => from[Math.floor(next() * from.length)] as (typeof from)[number],
    shuffled: (from) =>
      from
        .map((it) => ({ it, place: next() }))
        .sort((a, b) => a.place - b.place)
        .map(({ it }) => it),
  }
}
