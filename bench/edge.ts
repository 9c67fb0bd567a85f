// npm run edge -- [--write] [--records n] [--exponent s] [--locations n] [--mb n] [--max-age s]
//   [--writes n] [--seed n]
//
// Simulates (edge-model.ts) how many of 10 to 1,000,000 requests a second reach the origin behind
// an edge cache that our changes purge. Prints Markdown tables; with --write also draws
// docs/scale.svg.
//
// The model: each request reads one record by id, chosen by Zipf's law, at one of the locations,
// all equally busy. A location caches the bodies that were used last (LRU). A change purges its
// record everywhere, and nothing is cached longer than s-maxage. Changes hit records in proportion
// to their reads: new talks are both read and corrected most. This is the worse case, because each
// purge removes copies; with a uniform distribution most would remove none. With a shield, all
// other locations fetch through location 0.
//
// Not modelled: uneven locations and time zones, changes of popularity, the sizes of bodies (all
// have the mean), compression, the browser's own cache and conditional requests (an expired copy is
// fetched completely), search and lists, crawlers. Fetches and purges take no time, which is close
// to a cache that coalesces simultaneous misses.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cheHitShare, type Popularity, simulate, zipf } from './edge-model.ts'
import { plot } from './edge-plot.ts'

const bodyBytes = 1866 // The mean of the 1,000,000 synthetic records of the benchmarks.
const headerBytes = 650
const requestRates = [10, 100, 1000, 10_000, 100_000, 1_000_000]
// The caches start approximately in their steady state. The warm-up lasts for s-maxage and the
// measurement for half of it, if both together need at most this many requests.
const maxReads = 15_000_000
// Otherwise, the warm-up and the measurement have this many requests each. Compared with a warm-up
// of 20 million, at 1,000 a second, the load of the origin is off by 0.1 % without a shield and by
// 1.3 % with one; at higher rates the effect of purges and expiry is small.
const fewReads = 1_000_000

const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    records: { type: 'string', default: '1000000' },
    exponent: { type: 'string', default: '1' },
    locations: { type: 'string', default: '20' },
    mb: { type: 'string', default: '256' },
    'max-age': { type: 'string', default: '86400' },
    writes: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
  },
})

interface Setting {
  readonly popularity: Popularity
  readonly mb: number
  readonly writesPerS: number
}

const records = number('records')
const exponent = number('exponent')
const defaults: Setting = {
  popularity: zipf(records, exponent),
  mb: number('mb'),
  writesPerS: number('writes'),
}

const startedMs = performance.now()
const main = requestRates.map((readsPerS) => ({ label: '', ...run(defaults, readsPerS) }))
const last = main.at(-1) as (typeof main)[0]
const che = cheHitShare(defaults.popularity, bodies(defaults.mb))
const others = [0.8, 1.2]
  .filter((value) => value !== exponent)
  .flatMap((value) =>
    compare(`exponent ${value}`, { ...defaults, popularity: zipf(records, value) }, 10, 1_000_000),
  )
others.push(...compare('no writes', { ...defaults, writesPerS: 0 }, 10))
others.push(
  ...compare(`${count(defaults.mb * 4)} MB`, { ...defaults, mb: defaults.mb * 4 }, 1_000_000),
)
const drift = Math.max(...[...main, ...others].map((row) => row.drift))

const world =
  `${count(records)} records, Zipf exponent ${exponent}; ` +
  `${values.locations} locations, each caches ${defaults.mb} MB`
const sizes =
  `LRU, ${count(bodies(defaults.mb))} bodies of ${count(bodyBytes)} bytes; ` +
  `a response also has ${headerBytes} bytes of headers`
const ends =
  `s-maxage ${count(number('max-age'))} s; ` +
  `changes a second: ${defaults.writesPerS}, in proportion to reads`
console.log(`Simulated, not measured. ${world}
(${sizes});
${ends}. With a shield, the other locations fetch through one of them.

${table('', main)}

Variations:

${table('Variation', others)}

The caches start approximately in their steady state; then s-maxage passes, or ${count(fewReads)}
requests if that is too long to simulate, before requests are counted. The load of the origin
differs between the halves of the counted time by at most ${percent(drift)}.
Che's approximation, without purges and expiry: a hit rate of ${percent(che)}.
Simulated at ${count(last.readsPerS)} requests a second:
${percent(1 - last.direct / last.readsPerS)}.
Not modelled: uneven locations, changes of popularity, compression, browser caches, conditional
requests, crawlers, search. Fetches take no time.
Took ${((performance.now() - startedMs) / 1000).toFixed(0)} s.`)

if (values.write)
  writeFileSync(
    fileURLToPath(new URL('../docs/scale.svg', import.meta.url)),
    plot(main, bodyBytes + headerBytes),
  )

function run({ popularity, mb, writesPerS }: Setting, readsPerS: number) {
  const maxAgeS = number('max-age')
  const fullReads = Math.ceil(maxAgeS * readsPerS)
  const isFull = 1.5 * fullReads <= maxReads
  const reads = isFull ? Math.ceil(fullReads / 2) : fewReads
  const { direct, shielded, firstHalf } = simulate({
    popularity,
    locations: number('locations'),
    capacity: bodies(mb),
    maxAgeS,
    readsPerS,
    writesPerS,
    start: 'steady',
    warmUpReads: isFull ? fullReads : fewReads,
    countedReads: reads,
    seed: number('seed'),
  })
  const drift = (half: number, all: number) => Math.abs(2 * half - all) / Math.max(all, 1)
  const countedS = reads / readsPerS
  return {
    readsPerS,
    direct: direct / countedS,
    shielded: shielded / countedS,
    drift: Math.max(drift(firstHalf.direct, direct), drift(firstHalf.shielded, shielded)),
    simulated: `${count(reads)} in ${count(countedS)} s`,
  }
}

type Row = ReturnType<typeof run> & { readonly label: string }

function compare(label: string, setting: Setting, ...rates: number[]): Row[] {
  return rates.map((readsPerS) => ({ label, ...run(setting, readsPerS) }))
}

function table(label: string, rows: readonly Row[]): string {
  const heads = [
    'Requests/s',
    'edge hits',
    'with shield',
    'origin, req/s',
    'with shield',
    'edge, B/s',
    'origin, B/s',
    'with shield',
    'counted',
  ]
  const cells = rows.map((row) => [
    count(row.readsPerS),
    ...[row.direct, row.shielded].map((rate) => percent(1 - rate / row.readsPerS)),
    ...[row.direct, row.shielded].map((rate) => (rate < 100 ? rate.toFixed(1) : count(rate))),
    ...[row.readsPerS, row.direct, row.shielded].map((rate) =>
      bytes(rate * (bodyBytes + headerBytes)),
    ),
    row.simulated,
  ])
  const all = [heads, ...cells].map((line, i) =>
    label === '' ? line : [i === 0 ? label : (rows[i - 1]?.label ?? ''), ...line],
  )
  const widths = heads
    .concat(label || [])
    .map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)))
  // Words are aligned to the left, numbers to the right.
  const isWord = (column: number) => column === widths.length - 1 || (label !== '' && column === 0)
  const pad = (text: string, column: number) =>
    isWord(column) ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0)
  const line = (texts: string[]) => `| ${texts.map(pad).join(' | ')} |`
  const dashes = widths.map((width, column) =>
    isWord(column) ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`,
  )
  const rule = `|${dashes.join('|')}|`
  return [line(all[0] as string[]), rule, ...all.slice(1).map(line)].join('\n')
}

function number(name: Exclude<keyof typeof values, 'write'>): number {
  const value = Number(values[name])
  if (!(value >= 0 && Number.isFinite(value)) || values[name].trim() === '')
    throw new Error(`--${name} must be a number`)
  if (value === 0 && name !== 'writes' && name !== 'seed' && name !== 'exponent')
    throw new Error(`--${name} must be more than 0`)
  if (!Number.isInteger(value) && (name === 'records' || name === 'locations'))
    throw new Error(`--${name} must be an integer`)
  return value
}

function bodies(mb: number): number {
  return Math.max(1, Math.floor((mb * 1e6) / bodyBytes))
}

function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 0 })
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

function bytes(perS: number): string {
  const units = [
    ['GB', 1e9],
    ['MB', 1e6],
  ] as const
  const [unit, size] = units.find(([, size]) => perS >= size) ?? ['kB', 1e3]
  return `${(perS / size).toPrecision(3)} ${unit}`
}
