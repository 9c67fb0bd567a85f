import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cheHitShare,
  makeRandom,
  openCache,
  sampler,
  simulate,
  type World,
  zipf,
} from './edge-model.ts'
import { plot } from './edge-plot.ts'

const never = 1e12
const small: World = {
  popularity: zipf(200, 0.8),
  locations: 4,
  capacity: 200,
  maxAgeS: never,
  readsPerS: 100,
  writesPerS: 0,
  start: 'empty',
  warmUpReads: 0,
  countedReads: 200_000,
  seed: 7,
}

test('draws records with the frequencies of Zipf’s law', () => {
  const draws = 300_000
  for (const exponent of [0.8, 1, 1.2]) {
    const popularity = zipf(50, exponent)
    const draw = sampler(popularity, makeRandom(1))
    const counts = new Map<number, number>()
    for (let i = 0; i < draws; i++) {
      const record = draw()
      counts.set(record, (counts.get(record) ?? 0) + 1)
    }
    const weights = Array.from({ length: 50 }, (_, k) => (k + 1) ** -exponent)
    const sum = weights.reduce((a, b) => a + b)
    const expected = weights.map((weight) => (draws * weight) / sum)
    // Chi-squared with 49 degrees of freedom: above 94 once in ten thousand.
    const chiSquared = expected.reduce(
      (total, draws, k) => total + ((counts.get(k) ?? 0) - draws) ** 2 / draws,
      0,
    )
    assert.ok(chiSquared < 94, `exponent ${exponent}: ${chiSquared}`)
  }
})

test('a cache evicts the least recently used record, and reuses purged slots first', () => {
  const random = makeRandom(2)
  const cache = openCache(40, 10)
  const expected = new Set<number>() // In the order of use.
  for (let i = 0; i < 20_000; i++) {
    const record = random() % 40
    if (random() % 5 === 0) {
      cache.drop(record)
      expected.delete(record)
      continue
    }
    const found = cache.use(record) !== 0
    assert.equal(found, expected.delete(record))
    if (!found) cache.add(record)
    expected.add(record)
    if (expected.size > 10) expected.delete(expected.values().next().value as number)
  }
})

test('without purges and expiry, each location or the shield fetches a record once', () => {
  const { direct, shielded } = simulate(small)
  assert.deepEqual({ direct, shielded }, { direct: 800, shielded: 200 })
  const later = simulate({ ...small, warmUpReads: 200_000 })
  assert.deepEqual([later.direct, later.shielded], [0, 0])
})

test('one location is its own shield', () => {
  const { direct, shielded } = simulate({
    ...small,
    locations: 1,
    capacity: 50,
    maxAgeS: 30,
    writesPerS: 3,
  })
  assert.equal(shielded, direct)
})

test('small caches have the hit rate of Che’s approximation', () => {
  const popularity = zipf(10_000, 1)
  for (const start of ['empty', 'steady'] as const) {
    const world: World = {
      ...small,
      popularity,
      capacity: 1000,
      start,
      warmUpReads: start === 'empty' ? 100_000 : 0,
      countedReads: 400_000,
    }
    const { direct } = simulate(world)
    near(1 - direct / world.countedReads, cheHitShare(popularity, 1000), 0.002)
  }
})

test('unlimited caches miss after a purge', () => {
  const { direct, shielded } = simulate({ ...small, writesPerS: 5, warmUpReads: 50_000 })
  near(direct / 200_000, 5 / (5 + 25), 0.02)
  near(shielded / 200_000, 5 / (5 + 100), 0.02)
})

test('unlimited caches fetch expired copies, and copies of the shield keep their age', () => {
  const maxAgeS = 20
  const { direct, shielded } = simulate({ ...small, maxAgeS, warmUpReads: 10_000 })
  const fetchRate = (rate: number) =>
    small.popularity.shares.reduce((sum, share) => sum + 1 / (maxAgeS + 1 / (share * rate)), 0)
  near(direct / 2000, 4 * fetchRate(25), 0.01)
  near(shielded / 2000, fetchRate(100), 0.01)
})

test('caches start in the state that empty ones reach later', () => {
  const popularity = zipf(10_000, 1)
  const worlds = {
    evicted: { ...small, popularity, capacity: 1000 },
    purged: { ...small, popularity, capacity: 1000, writesPerS: 5 },
    expired: { ...small, popularity, capacity: 10_000, maxAgeS: 1000 },
  }
  for (const [why, world] of Object.entries(worlds)) {
    // The first copies expire at the same time, and so do the next; the warm-up evens this out.
    const warmedUp = simulate({ ...world, warmUpReads: 400_000, countedReads: 100_000 })
    // Many short runs: in a long one, the caches would reach the state by themselves.
    const runs = Array.from({ length: 20 }, (_, seed) =>
      simulate({ ...world, start: 'steady', countedReads: 5000, seed }),
    )
    const sum = { direct: 0, shielded: 0 }
    for (const { direct, shielded } of runs) {
      sum.direct += direct
      sum.shielded += shielded
    }
    near(sum.direct, warmedUp.direct, 0.02, why)
    near(sum.shielded, warmedUp.shielded, 0.04, why)
  }
})

test('the plot has all lines and valid numbers', () => {
  const svg = plot(
    [
      { readsPerS: 10, direct: 5, shielded: 0 },
      { readsPerS: 1000, direct: 70, shielded: 0.3 },
    ],
    2516,
  )
  assert.equal(svg.match(/<polyline/g)?.length, 6)
  assert.doesNotMatch(svg, /NaN|Infinity|undefined/)
})

function near(actual: number, expected: number, tolerance: number, what = ''): void {
  assert.ok(
    Math.abs(actual / expected - 1) <= tolerance,
    `${what} ${actual} is not within ${100 * tolerance} % of ${expected}`,
  )
}
