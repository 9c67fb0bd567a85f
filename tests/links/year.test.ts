import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DueQueue } from './due-queue.ts'
import { brokenLimits, simulateSweep, simulateYear } from './year.ts'

const year = { sources: 4000, days: 365, noise: 0.02, seed: 1, losses: 0.1 } as const

test('in a simulated year, almost nothing is marked wrongly, and losses after three weeks', () => {
  const result = simulateYear(year)
  const { away, limited, unreachable } = result.wrong
  assert.ok(away + limited + unreachable <= 1, JSON.stringify(result.wrong))
  const { daysToMark } = result
  const daysOf = (share: number) => daysToMark[Math.floor(share * daysToMark.length)] ?? 0
  assert.ok(daysToMark.length > 250)
  assert.ok(daysOf(0.5) <= 21, `${daysOf(0.5)} days`)
  assert.ok(daysOf(0.9) <= 38, `${daysOf(0.9)} days`)
  assert.ok(daysOf(0.98) < Number.POSITIVE_INFINITY)
  assert.deepEqual(brokenLimits(result), [])
  // The noise was there: it made sources suspect, and control sources were asked.
  const perSource = (365 * result.looksPerDay) / year.sources
  assert.ok(perSource > 14 && perSource < 18, `${perSource} looks a year`)
  assert.ok(result.suspected > 0.2 * year.sources, `${result.suspected} suspected`)
  assert.ok(result.requestsPerDay > 1.02 * result.looksPerDay)
})

test('a budget that is too small is never exceeded', () => {
  const result = simulateYear({ ...year, sources: 1000, days: 90, budget: 20 })
  assert.deepEqual(brokenLimits(result), [])
  assert.equal(result.hosts.find(({ name }) => name === 'www.youtube.com')?.busiestDay, 20)
})

test('the simulation notices gaps that are too short and budgets that are exceeded', () => {
  const result = simulateYear({ ...year, sources: 100, days: 30 })
  const [host = assert.fail()] = result.hosts
  const broken = { ...host, shortestGapMs: 699, busiestDay: host.budget + 1 }
  assert.equal(brokenLimits({ ...result, hosts: [broken] }).length, 2)
})

test('the first sweep takes a second for each source of the largest host', () => {
  const days = simulateSweep(5000, 1)
  assert.ok(Math.abs(days * 86_400 - 0.886 * 5000) < 300, `${days} days`)
})

test('a queue returns its entries in the order of their times', () => {
  const queue = new DueQueue()
  const times = Array.from({ length: 1000 }, (_, index) => (index * 7919) % 1009)
  for (const [id, time] of times.entries()) queue.push(time, id)
  const popped: number[] = []
  for (; queue.size > 0; queue.pop()) {
    assert.equal(times[queue.id], queue.time)
    popped.push(queue.time)
  }
  assert.deepEqual(
    popped,
    times.toSorted((a, b) => a - b),
  )
  assert.equal(queue.time, Number.POSITIVE_INFINITY)
})
