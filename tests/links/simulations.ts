import assert from 'node:assert/strict'
import type { Fault } from '../faults/environment.ts'
import { lives } from './lives.ts'
import { playLife } from './play-life.ts'
import { brokenLimits, simulateSweep, simulateYear, type YearResult } from './year.ts'

// What is played without a database and without a network.

const sources = 23_267
const goals = { noise: 0.02, wrong: 5, medianDays: 21 }
/** Sources of a million talks. */
const manySources = 1_070_000
/** The default budget is too small for a million talks. */
const largeBudget = 60_000

const table: string[] = []

export const livesPure: Fault = {
  name: 'lives (pure)',
  limitS: { quick: 600, full: 3600 },
  async run({ quick }) {
    const seeds = quick ? 20 : 500
    for (const life of lives)
      for (let seed = 1; seed <= (life.subjects > 1 ? seeds / 10 : seeds); seed++)
        playLife(life, seed)
    return `${lives.length} lives, up to ${seeds} times`
  },
}

export const simulatedYears: Fault = {
  name: 'year',
  limitS: { quick: 600, full: 3600 },
  async run({ quick }) {
    const seeds = 10
    for (const noise of quick ? [goals.noise] : [0.005, goals.noise, 0.05]) {
      const years = Array.from({ length: seeds }, (_, index) =>
        simulateYear({ sources, days: 365, noise, seed: index + 1 }),
      )
      table.push(rowOf(`${100 * noise} %`, years))
      assert.deepEqual(years.flatMap(brokenLimits), [])
      if (noise !== goals.noise) continue
      const wrong = Math.max(...years.map(countWrong))
      assert.ok(wrong <= goals.wrong, `${wrong} wrong marks in a year`)
      const median = quantile(years, 0.5)
      assert.ok(median <= goals.medianDays, `losses are marked after ${median.toFixed(1)} days`)
    }
    return `${seeds} years with each noise`
  },
}

export const manyTalks: Fault = {
  name: 'year: a million talks',
  limitS: { quick: 1200, full: 3600 },
  fullOnly: true,
  async run() {
    const days = 40
    const options = { sources: manySources, days, noise: goals.noise, seed: 1 }
    const result = simulateYear({ ...options, budget: largeBudget })
    table.push(rowOf('a million', [result]))
    assert.deepEqual(brokenLimits(result), [])
    const sweepDays = simulateSweep(manySources, 1)
    assert.ok(sweepDays < 11.5, `the first sweep took ${sweepDays} days`)
    const looks = result.looksPerDay.toFixed(0)
    return `${looks} looks a day, the first sweep takes ${sweepDays.toFixed(1)} days`
  },
}

const columns = [
  'Noise',
  'Wrong a year: away, limited, unreachable',
  'Worst year',
  'Suspected',
  'Days to mark: median',
  '90 %',
  'Looks a day',
  'Requests a day',
  'Busiest day of a host',
  'Shortest gap',
]

/** Returns the table of the years that were simulated. */
export function yearTable(): string[] {
  if (table.length === 0) return []
  return [`| ${columns.join(' | ')} |`, `|${'---|'.repeat(columns.length)}`, ...table]
}

function rowOf(name: string, years: readonly YearResult[]): string {
  const mean = (value: (year: YearResult) => number) =>
    years.reduce((sum, year) => sum + value(year), 0) / years.length
  const wrong = (['away', 'limited', 'unreachable'] as const)
    .map((kind) => mean((year) => year.wrong[kind]).toFixed(1))
    .join(', ')
  const [largest] = years.flatMap(({ hosts }) => hosts).sort((a, b) => b.busiestDay - a.busiestDay)
  const gap = Math.min(...years.flatMap(({ hosts }) => hosts.map((host) => host.shortestGapMs)))
  const cells = [
    name,
    wrong,
    Math.max(...years.map(countWrong)).toFixed(0),
    mean(({ suspected }) => suspected).toFixed(0),
    ...[0.5, 0.9].map((share) => formatDays(quantile(years, share))),
    mean(({ looksPerDay }) => looksPerDay).toFixed(0),
    mean(({ requestsPerDay }) => requestsPerDay).toFixed(0),
    `${largest?.busiestDay} of ${largest?.budget}`,
    `${gap} ms`,
  ]
  return `| ${cells.join(' | ')} |`
}

/** Formats days; there are none if the simulation was too short to judge losses. */
const formatDays = (days: number) => (Number.isNaN(days) ? '-' : days.toFixed(1))
const countWrong = ({ wrong }: YearResult) => wrong.away + wrong.limited + wrong.unreachable

function quantile(years: readonly YearResult[], share: number): number {
  const days = years.flatMap(({ daysToMark }) => daysToMark).sort((a, b) => a - b)
  return days[Math.floor(share * days.length)] ?? Number.NaN
}
