// npm run bench -- [--quick] [--records N] [--only hostile|search|write|replica|sources]
//
// Measures the service relative to the bare engines below it, in one run: only ratios count,
// because machines differ and are shared. Measures the packed service, started with `talkshelf
// serve`. Exits with 1 if a floor is missed.

import { rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { openBenchEnvironment, openProgressLog, requireWrk } from './environment.ts'
import { measureHostile } from './hostile.ts'
import {
  type Measured,
  type MeasureOptions,
  measureGet,
  measureIndexing,
  measurePatch,
  measureSources,
  measureStart,
} from './measures.ts'
import { textOrigin } from './records.ts'
import { measureReplica } from './replica.ts'
import { resultsTable, saveResults } from './results.ts'
import { measureSearch } from './search.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    records: { type: 'string' },
    only: { type: 'string' },
  },
})
const records = Number(values.records ?? (values.quick ? 100_000 : 1_000_000))
if (!Number.isSafeInteger(records) || records < 1000) {
  console.error('--records must be an integer of at least 1000')
  process.exit(2)
}
const parts: Record<string, (options: MeasureOptions) => Promise<Measured[]>> = {
  hostile: async (options) => [await measureHostile(options)],
  search: measureSearches,
  replica: measureReplica,
  sources: async (options) => [await measureSources(options)],
  write: async (options) => [await measurePatch(options), await measureIndexing(options)],
}
const measure = values.only === undefined ? measureAll : parts[values.only]
if (measure === undefined) {
  console.error(`--only takes ${Object.keys(parts).join(', ')}`)
  process.exit(2)
}
const rounds = values.quick ? 3 : 5
const seconds = values.quick ? 4 : 10

requireWrk()
const startedMs = performance.now()
const say = openProgressLog()
say(
  `${records.toLocaleString('en')} records of ${textOrigin}, ` +
    `${rounds} rounds of ${seconds} s for each measure, ${availableParallelism()} processors`,
)
const environment = await openBenchEnvironment(records, say)
let measured: Measured[]
try {
  measured = await measure({ environment, rounds, seconds, say })
} finally {
  await environment.close()
  rmSync(environment.dir, { recursive: true, force: true })
}
console.log(`\n${resultsTable(measured)}`)
const elapsedS = ((performance.now() - startedMs) / 1000).toFixed(0)
if (values.only === undefined) {
  const file = saveResults(environment, measured, { quick: values.quick, rounds, seconds })
  console.log(`\nWrote ${file} after ${elapsedS} s`)
}
const missed = measured.filter(({ verdict }) => verdict === 'under the floor')
if (missed.length > 0) {
  console.log(`Under the floor: ${missed.map(({ name }) => name).join('; ')}`)
  process.exitCode = 1
}

async function measureAll(options: MeasureOptions): Promise<Measured[]> {
  // Searches are measured first, because writes change the search index.
  const searches = await measureSearches(options)
  searches.push(await measureHostile({ ...options, rounds: 3 }))
  return [
    ...(await measureGet(options)),
    await measurePatch(options),
    await measureIndexing({ ...options, rounds: 3 }),
    ...(await measureStart(options)),
    ...searches,
  ]
}

async function measureSearches(options: MeasureOptions): Promise<Measured[]> {
  const small = await openBenchEnvironment(Math.round(records / 10), say)
  try {
    const seconds = Math.min(options.seconds, 6)
    return await measureSearch({ ...options, rounds: 3, seconds, small })
  } finally {
    await small.close()
    rmSync(small.dir, { recursive: true, force: true })
  }
}
