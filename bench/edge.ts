// npm run edge -- [--write] [--records n] [--exponent s] [--locations n] [--mb n] [--max-age s] [--writes n] [--seed n]
// What arrives at the origin when 10 to 1,000,000 readers' requests a second meet an edge cache that is purged by our changes.
// Prints tables, which are Markdown; with --write also draws docs/scale.svg. Simulated (edge-model.ts), not measured.
//
// The model: each request asks for one record by id, chosen by Zipf's law, at one of the locations,
// all equally busy. A location keeps the bodies that were used last (LRU). A change purges its
// record everywhere, and nothing lives longer than s-maxage. Changes hit records in proportion to
// their readers: new talks are both read and corrected most, and it is the worse case, since each
// purge finds copies to throw away; spread evenly, most would find none. With a shield, all other
// locations fetch through location 0.
//
// Left out: uneven locations and time zones, fashions (popularity does not move), the sizes of
// bodies (all have the mean), compression, the browser's own cache and conditional requests (an
// expired copy is fetched whole), search and lists, robots that read everything. Fetches and purges
// take no time, which is what a cache comes close to that joins simultaneous misses.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { cheHitShare, type Popularity, simulate, zipf } from './edge-model.ts'
import { plot } from './edge-plot.ts'

const bodyBytes = 1866 // The mean of the 1,000,000 synthetic records that we measure with.
const headerBytes = 650
const requestRates = [10, 100, 1000, 10_000, 100_000, 1_000_000]
// The caches begin as an endless past would have left them, as far as that can be drawn. Then
// s-maxage passes and half of it is counted, if that takes no more requests than this;
const maxReads = 15_000_000
// otherwise so many pass, and as many are counted. Against a warm-up of 20 million, at 1,000 a
// second, what reaches the origin is off by 0.1 % without a shield and by 1.3 % with it; at higher
// rates purges and expiry, which make the difference, hardly matter.
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
const usual: Setting = {
  popularity: zipf(records, exponent),
  mb: number('mb'),
  writesPerS: number('writes'),
}

const begin = performance.now()
const main = requestRates.map((readsPerS) => ({ what: '', ...play(usual, readsPerS) }))
const last = main.at(-1) as (typeof main)[0]
const che = cheHitShare(usual.popularity, bodies(usual.mb))
const others = [0.8, 1.2]
  .filter((it) => it !== exponent)
  .flatMap((it) =>
    compare(`exponent ${it}`, { ...usual, popularity: zipf(records, it) }, 10, 1_000_000),
  )
others.push(...compare('no writes', { ...usual, writesPerS: 0 }, 10))
others.push(...compare(`${count(usual.mb * 4)} MB`, { ...usual, mb: usual.mb * 4 }, 1_000_000))
const drift = Math.max(...[...main, ...others].map((it) => it.drift))

const world = `${count(records)} records, Zipf exponent ${exponent}; ${values.locations} locations, each keeps ${usual.mb} MB`
const sizes = `LRU, ${count(bodies(usual.mb))} bodies of ${count(bodyBytes)} bytes; an answer has ${headerBytes} bytes of headers too`
const ends = `s-maxage ${count(number('max-age'))} s; changes a second: ${usual.writesPerS}, in proportion to readers`
console.log(`Simulated, not measured. ${world}
(${sizes});
${ends}. With a shield, the other locations fetch through one of them.

${table('', main)}

What if:

${table('Instead', others)}

Before what is counted s-maxage has passed, or ${count(fewReads)} requests where that is too long to play, and before that an endless
past, as far as it can be drawn. What reaches the origin differs between the halves of the counted time by at most ${percent(drift)}.
Che's approximation, which knows no purges and no expiry: the edge answers ${percent(che)}.
Simulated at ${count(last.readsPerS)} requests a second: ${percent(1 - last.direct / last.readsPerS)}.
Left out: uneven locations, changing fashions, compression, browsers' caches, conditional requests, robots, search. Fetches take no time.
Took ${((performance.now() - begin) / 1000).toFixed(0)} s.`)

if (values.write)
  writeFileSync(
    fileURLToPath(new URL('../docs/scale.svg', import.meta.url)),
    plot(main, bodyBytes + headerBytes),
  )

function play({ popularity, mb, writesPerS }: Setting, readsPerS: number) {
  const maxAgeS = number('max-age')
  const wholeReads = Math.ceil(maxAgeS * readsPerS)
  const isWhole = 1.5 * wholeReads <= maxReads
  const reads = isWhole ? Math.ceil(wholeReads / 2) : fewReads
  const { direct, shielded, firstHalf } = simulate({
    popularity,
    locations: number('locations'),
    capacity: bodies(mb),
    maxAgeS,
    readsPerS,
    writesPerS,
    start: 'past',
    warmUpReads: isWhole ? wholeReads : fewReads,
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

type Row = ReturnType<typeof play> & { readonly what: string }

function compare(what: string, setting: Setting, ...rates: number[]): Row[] {
  return rates.map((readsPerS) => ({ what, ...play(setting, readsPerS) }))
}

function table(what: string, rows: readonly Row[]): string {
  const heads = [
    'Requests/s',
    'edge answers',
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
    ...[row.direct, row.shielded].map((it) => percent(1 - it / row.readsPerS)),
    ...[row.direct, row.shielded].map((it) => (it < 100 ? it.toFixed(1) : count(it))),
    ...[row.readsPerS, row.direct, row.shielded].map((it) => bytes(it * (bodyBytes + headerBytes))),
    row.simulated,
  ])
  const all = [heads, ...cells].map((line, i) =>
    what === '' ? line : [i === 0 ? what : (rows[i - 1]?.what ?? ''), ...line],
  )
  const widths = heads
    .concat(what || [])
    .map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)))
  // Words to the left, numbers to the right.
  const isWord = (column: number) => column === widths.length - 1 || (what !== '' && column === 0)
  const line = (texts: string[]) =>
    `| ${texts.map((it, i) => (isWord(i) ? it.padEnd(widths[i] ?? 0) : it.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (isWord(i) ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(all[0] as string[]), rule, ...all.slice(1).map(line)].join('\n')
}

function number(name: Exclude<keyof typeof values, 'write'>): number {
  const value = Number(values[name])
  if (!(value >= 0 && Number.isFinite(value)) || values[name].trim() === '')
    throw new Error(`--${name} takes a number`)
  if (value === 0 && name !== 'writes' && name !== 'seed' && name !== 'exponent')
    throw new Error(`--${name} must be more than 0`)
  if (!Number.isInteger(value) && (name === 'records' || name === 'locations'))
    throw new Error(`--${name} takes a whole number`)
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
  const [unit, size] = perS >= 1e9 ? ['GB', 1e9] : perS >= 1e6 ? ['MB', 1e6] : ['kB', 1e3]
  return `${(perS / (size as number)).toPrecision(3)} ${unit}`
}
