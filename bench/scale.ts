// npm run scale -- [--records 1000000,2000000,3000000]
//
// Measures what grows with the archive: requests, an import, a backup and its restore, at several
// sizes. Compares the costs with those of the first size, and extrapolates them. Each size is loaded
// into a database of its own, one after the other.

import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  type BenchEnvironment,
  type BenchServer,
  openBenchEnvironment,
  openProgressLog,
  requireWrk,
} from './environment.ts'
import { type BenchRequest, runWrk } from './load.ts'
import { median, withRetries } from './measures.ts'
import { csvOf, makeNames, makeRecord, randomFrom, textOrigin } from './records.ts'
import { type Cost, saveScale } from './results.ts'
import { deepPage, searchesFor, suggestionsFor, withoutJobs, wordsByClass } from './search.ts'

const { values } = parseArgs({
  options: { records: { type: 'string', default: '1000000,2000000,3000000' } },
})
const sizes = values.records.split(',').map(Number)
if (sizes.some((size) => !Number.isSafeInteger(size) || size < 1000)) {
  console.error('--records takes numbers from 1000 on, separated by commas')
  process.exit(2)
}
requireWrk()

const rounds = 3
const seconds = 5
const importedTalks = 2000
const say = openProgressLog()

const measured: { records: number; costs: Cost[] }[] = []
for (const records of sizes) {
  say(`${records.toLocaleString('en')} records of ${textOrigin}`)
  const environment = await openBenchEnvironment(records, say)
  try {
    measured.push({ records, costs: await measureCosts(environment) })
    // After each size, so that the figures of the smaller ones are not lost.
    const { file, table } = saveScale(environment, measured)
    console.log(`\n${table}\n\nWrote ${file}\n`)
  } finally {
    await environment.close()
    rmSync(environment.dir, { recursive: true, force: true })
  }
}

async function measureCosts(environment: BenchEnvironment): Promise<Cost[]> {
  const costs: Cost[] = [
    { name: 'Loading, with the search index', unit: 's', value: environment.seedSeconds },
    await databaseSize(environment),
  ]
  const server = await environment.serve({ ...withoutJobs, CACHE_MB: '0' })
  for (const [name, requests] of Object.entries(await requestsOf(environment)))
    costs.push(await costOf(environment, server, name, requests))
  await server.stop()
  costs.push(importTalks(environment))
  costs.push(...(await backUpAndRestore(environment)))
  return costs
}

async function databaseSize(environment: BenchEnvironment): Promise<Cost> {
  const bytes = Number(await environment.query('select pg_database_size(current_database())'))
  return { name: 'Database', unit: 'MB', value: bytes / 1e6 }
}

async function requestsOf(environment: BenchEnvironment): Promise<Record<string, BenchRequest[]>> {
  const { records, token } = environment
  const random = randomFrom(7)
  const ids = Array.from({ length: 20_000 }, () => 1 + Math.floor(random() * records))
  const live = new Set(
    (
      await environment.query(
        `select id from video_body where live and id = any('{${ids.join(',')}}')`,
      )
    )
      .split('\n')
      .map(Number),
  )
  const words = (await wordsByClass(environment)).flat()
  return {
    'GET by id': ids.filter((id) => live.has(id)).map((id) => ({ path: `/api/v2/video/${id}` })),
    'First page of a list': [{ path: '/api/v2/video?cursor=' }],
    'Page after 90 % of the list': await deepPage(environment),
    'Talks of an event': Array.from({ length: 100 }, (_, index) => ({
      path: `/api/v2/video?category=category-${index * 7}`,
    })),
    Search: searchesFor(words),
    'Search with facets': searchesFor(words, '&include=facets'),
    Suggestions: suggestionsFor(words),
    'PATCH of a text': ids.map((id, index) => ({
      method: 'PATCH',
      path: `/api/v2/video/${id}`,
      headers: { authorization: `Token ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ summary: `Changed ${index} ${random()}` }),
    })),
  }
}

/** Measures the processor time of a request, and its latency with two at a time. */
async function costOf(
  environment: BenchEnvironment,
  server: BenchServer,
  name: string,
  requests: readonly BenchRequest[],
): Promise<Cost> {
  const pids = [server.pid, environment.postgresPid]
  const loads = []
  for (let round = 0; round <= rounds; round++) {
    const load = await withRetries(say, () =>
      runWrk(environment.dir, server.port, requests, seconds, 2, pids),
    )
    // The first round warms up.
    if (round > 0) loads.push(load)
  }
  const value = median(loads.map(({ cpuUs }) => cpuUs))
  const p99Ms = median(loads.map((load) => load.p99Ms))
  say(`${name}: ${value.toFixed(0)} us of processor time, p99 ${p99Ms.toFixed(1)} ms`)
  return { name, unit: 'us', value, p99Ms }
}

/** Imports new talks with the command, as an editor would. */
function importTalks(environment: BenchEnvironment): Cost {
  const names = makeNames(environment.records)
  const rows = Array.from({ length: importedTalks }, (_, index) => {
    const { video } = makeRecord(environment.records + 1 + index, names)
    const { title, category, speakers, summary } = video
    return [`new-${index}`, title, category, speakers.join('; '), summary]
  })
  const file = join(environment.dir, 'talks.csv')
  writeFileSync(file, csvOf(['key', 'title', 'event', 'speakers', 'summary'], rows))
  const value = timed(() => environment.run({}, 'import', file, '--yes', '--source', 'scale'))
  say(`Import of ${importedTalks} talks: ${value.toFixed(1)} s`)
  return { name: `Import of ${importedTalks.toLocaleString('en')} talks`, unit: 's', value }
}

async function backUpAndRestore(environment: BenchEnvironment): Promise<Cost[]> {
  const file = join(environment.dir, 'archive.backup')
  const backup = timed(() => environment.run({}, 'backup', file))
  const megabytes = statSync(file).size / 1e6
  say(`Backup of ${megabytes.toFixed(0)} MB: ${backup.toFixed(0)} s`)
  const url = await environment.createDatabase('restored')
  const restore = timed(() => environment.run({ DATABASE_URL: url }, 'restore', file))
  say(`Restore: ${restore.toFixed(0)} s`)
  rmSync(file)
  return [
    { name: 'Backup', unit: 's', value: backup },
    { name: 'Size of the backup', unit: 'MB', value: megabytes },
    { name: 'Restore', unit: 's', value: restore },
  ]
}

/** Returns how many seconds something takes. */
function timed(work: () => void): number {
  const from = performance.now()
  work()
  return (performance.now() - from) / 1000
}
