import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchEnvironment, BenchServer } from './environment.ts'
import { type BenchRequest, type LoadResult, runPgbench, runWrk } from './load.ts'
import { csvOf, makeNames, makeRecord, randomFrom } from './records.ts'
import { patchScript, readScript } from './statements.ts'

// The measures of the service, relative to the bare engines. Each round measures the engines and
// then the service, so that changes of the machine affect both.

export interface Measured {
  readonly name: string
  readonly against: string
  readonly unit: 'a second' | 'ms' | 'MB' | 'times'
  readonly rounds: readonly Round[]
  /** The median of the ratios, or of the figures if there is no reference. */
  readonly median: number
  /** The worst median that passes: the highest one for times, memory and `ratioAtMost`. */
  readonly floor?: number
  /** The intended median. */
  readonly goal?: number
  readonly verdict: 'goal reached' | 'above the floor' | 'under the floor' | 'for information'
}

interface Round {
  readonly ours: number
  readonly reference?: number
  readonly p99Ms?: number
  /**
   * CPU time per request, of the service and of the reference: steadier than rates on a shared
   * machine.
   */
  readonly cpuUs?: number
  readonly referenceCpuUs?: number
  /** The larger share of the two load tests. */
  readonly othersShare?: number
}

export interface MeasureOptions {
  readonly environment: BenchEnvironment
  readonly rounds: number
  readonly seconds: number
  say(line: string): void
}

const connections = 16
const maxOthers = 0.15

/** Measures reads of a record: through PostgreSQL, from memory, and conditional ones. */
export async function measureGet({
  environment,
  rounds,
  seconds,
  say,
}: MeasureOptions): Promise<Measured[]> {
  const live = (
    await environment.query(
      'select id from video_body where live order by hashint8(id) limit 20000',
    )
  )
    .split('\n')
    .map(Number)
  const requestsFor = (ids: readonly number[]): BenchRequest[] =>
    ids.map((id) => ({ path: `/api/v2/video/${id}` }))
  const hot = live.slice(0, 2000)
  const [id = 0] = hot

  const cached = await environment.serve({})
  const logging = await environment.serve({ LOG_LEVEL: 'info' })
  const uncached = await environment.serve({ CACHE_MB: '0' })
  for (const server of [cached, logging])
    for (const { path } of requestsFor(hot)) await get(server, path)
  const sample = await get(cached, `/api/v2/video/${id}`)
  const bare = await environment.bare({ status: 200, ...sample })
  const bare304 = await environment.bare({
    status: 304,
    headers: without(sample.headers, 'content-length'),
    body: '',
  })
  const unchanged = [
    { path: `/api/v2/video/${id}`, headers: { 'if-none-match': headerOf(sample.headers, 'etag') } },
  ]
  const script = join(environment.dir, 'read.sql')
  writeFileSync(script, await readScript(environment.records))

  const load = (server: BenchServer, requests: readonly BenchRequest[], pids = [server.pid]) =>
    withRetries(say, () =>
      runWrk(environment.dir, server.port, requests, seconds, connections, pids),
    )
  const found: Record<'database' | 'select' | 'memory' | 'many' | 'logged' | 'unchanged', Round[]> =
    {
      database: [],
      select: [],
      memory: [],
      many: [],
      logged: [],
      unchanged: [],
    }
  for (let round = 1; round <= rounds; round++) {
    const engine = await load(bare, requestsFor([id]))
    const engine304 = await load(bare304, unchanged)
    // The service reads with four connections. If more are faster on this machine, they are the
    // reference.
    const selects = [
      await pgbench(environment, script, seconds, 4, say),
      await pgbench(environment, script, seconds, connections, say),
    ] as const
    const select = selects[0].perSecond > selects[1].perSecond ? selects[0] : selects[1]
    const both = await load(uncached, requestsFor(live), [uncached.pid, environment.postgresPid])
    const composed = 1 / (1 / select.perSecond + 1 / engine.perSecond)
    found.database.push(
      compareLoads(both, {
        perSecond: composed,
        cpuUs: select.cpuUs + engine.cpuUs,
        p99Ms: Number.NaN,
        othersShare: Math.max(select.othersShare, engine.othersShare),
      }),
    )
    found.select.push(compareLoads(both, select))
    found.memory.push(compareLoads(await load(cached, requestsFor([id])), engine))
    found.many.push(compareLoads(await load(cached, requestsFor(hot)), engine))
    found.logged.push(compareLoads(await load(logging, requestsFor([id])), engine))
    found.unchanged.push(compareLoads(await load(cached, unchanged), engine304))
    say(
      `Reading, round ${round} of ${rounds}: ${Object.entries(found)
        .map(([name, all]) => `${name} ${share(all.at(-1))}`)
        .join(', ')}`,
    )
  }
  for (const server of [cached, logging, uncached, bare, bare304]) await server.stop()
  return [
    ratio('GET by id through PostgreSQL', 'composed limit', found.database, {
      floor: 0.65,
      goal: 0.9,
    }),
    ratio('GET by id through PostgreSQL', 'pgbench, the same select', found.select),
    ratio('GET by id from memory', 'bare node:http, the same bytes', found.memory, {
      floor: 0.65,
      goal: 0.9,
    }),
    ratio('the same, 2,000 records in turn', 'bare node:http, always one', found.many),
    ratio('the same, one log line each', 'bare node:http, no log', found.logged),
    ratio('304', 'bare node:http, the same 304', found.unchanged, { floor: 0.65, goal: 0.9 }),
  ]
}

/** Measures writes of a record. */
export async function measurePatch({
  environment,
  rounds,
  seconds,
  say,
}: MeasureOptions): Promise<Measured> {
  const script = join(environment.dir, 'patch.sql')
  writeFileSync(script, await patchScript(environment))
  const server = await environment.serve({ DATABASE_CONNECTIONS: String(connections) })
  const random = randomFrom(Date.now())
  const headers = {
    authorization: `Token ${environment.token}`,
    'content-type': 'application/json',
  }
  const found: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    const requests = Array.from({ length: 20_000 }, (_, index) => ({
      method: 'PATCH',
      path: `/api/v2/video/${1 + Math.floor(random() * environment.records)}`,
      headers,
      body: JSON.stringify({ summary: `Changed in round ${round} ${index} ${random()}` }),
    }))
    const engine = await pgbench(environment, script, seconds, connections, say)
    const before = await countChanges(environment)
    const ours = await withRetries(say, () =>
      runWrk(environment.dir, server.port, requests, seconds, connections, [
        server.pid,
        environment.postgresPid,
      ]),
    )
    const written = (await countChanges(environment)) - before
    // A PATCH without a change writes no rows, and would be too fast.
    if (written < ours.perSecond * seconds * 0.9)
      throw new Error(
        `Only ${written} changes for ${ours.perSecond} responses a second over ${seconds} s`,
      )
    found.push(compareLoads(ours, engine))
    say(`Writing, round ${round} of ${rounds}: ${share(found.at(-1))}`)
  }
  await server.stop()
  return ratio('PATCH', 'pgbench, the same statements', found, { floor: 0.35, goal: 0.5 })
}

/** Measures what the search index adds to the cost of writing a title. */
export async function measureIndexing({
  environment,
  rounds,
  seconds,
  say,
}: MeasureOptions): Promise<Measured> {
  const server = await environment.serve({ DATABASE_CONNECTIONS: String(connections) })
  const random = randomFrom(Date.now())
  const headers = {
    authorization: `Token ${environment.token}`,
    'content-type': 'application/json',
  }
  const titles = (await environment.query('select title from video order by id limit 5000')).split(
    '\n',
  )
  /** Sends titles of other records, so that most of the words are in the index. */
  const patch = () =>
    withRetries(say, () => {
      const requests = Array.from({ length: 20_000 }, (_, index) => ({
        method: 'PATCH',
        path: `/api/v2/video/${1 + Math.floor(random() * environment.records)}`,
        headers,
        body: JSON.stringify({ title: `${titles[index % titles.length]} ${random()}` }),
      }))
      const pids = [server.pid, environment.postgresPid]
      return runWrk(environment.dir, server.port, requests, seconds, connections, pids)
    })
  const found: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    await environment.query('alter table video disable trigger index_updated_video')
    const reference = await patch()
    await environment.query('alter table video enable trigger index_updated_video')
    found.push(compareLoads(await patch(), reference))
    say(`Writing titles, round ${round} of ${rounds}: ${share(found.at(-1))}`)
  }
  await server.stop()
  return ratio('PATCH of a title', 'the same without search index', found)
}

const importedTalks = 1000

/** Measures what keeping the sources of talks adds to an import. */
export async function measureSources({
  environment,
  rounds,
  say,
}: MeasureOptions): Promise<Measured> {
  const names = makeNames(environment.records)
  let imported = 0
  /** Imports new talks, each with a source of its own. */
  const importTalks = (): number => {
    const rows = Array.from({ length: importedTalks }, () => {
      const { video } = makeRecord(environment.records + ++imported, names)
      return [
        `key-${imported}`,
        video.title,
        video.category,
        `https://media.example/${imported}.mp4`,
      ]
    })
    const file = join(environment.dir, 'sources.csv')
    writeFileSync(file, csvOf(['key', 'title', 'event', 'source_url'], rows))
    const from = performance.now()
    environment.run({}, 'import', file, '--yes', '--source', 'sources')
    return importedTalks / ((performance.now() - from) / 1000)
  }
  const found: Round[] = []
  importTalks()
  for (let round = 1; round <= rounds; round++) {
    await environment.query('alter table video disable trigger refresh_inserted_sources')
    const reference = importTalks()
    await environment.query('alter table video enable trigger refresh_inserted_sources')
    found.push({ ours: importTalks(), reference })
    say(`Importing, round ${round} of ${rounds}: ${share(found.at(-1))}`)
  }
  return ratio('Import', 'the same without sources', found)
}

/**
 * Measures the time from the start of the process to its first response, and its memory when idle.
 */
export async function measureStart({
  environment,
  rounds,
  say,
}: MeasureOptions): Promise<Measured[]> {
  const found = { first: [] as Round[], starts: [] as Round[], memory: [] as Round[] }
  for (let round = 0; round < rounds + 2; round++) {
    // The compile cache of Node, which the container image and the systemd unit use too.
    const NODE_COMPILE_CACHE = join(environment.dir, `compiled-${round}`)
    for (const start of ['first', 'second', 'third']) {
      const server = await environment.serve({ NODE_COMPILE_CACHE })
      await sleep(1000)
      const [, kilobytes] =
        /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? []
      if (start === 'first') found.first.push({ ours: server.startMs })
      if (start === 'third') found.starts.push({ ours: server.startMs })
      if (start === 'third') found.memory.push({ ours: Number(kilobytes) / 1000 })
      await server.stop()
    }
  }
  say('Measured the start and the memory')
  return [
    {
      ...limit('Start to the first response, cold cache', 'ms', found.first, {
        floor: 400,
        goal: 250,
      }),
      verdict: 'for information',
    },
    limit('Start to the first response', 'ms', found.starts, { floor: 400, goal: 250 }),
    limit('Memory after start', 'MB', found.memory, { floor: 110, goal: 80 }),
  ]
}

const countChanges = async (environment: BenchEnvironment) =>
  Number(await environment.query('select count(*) from change'))

/** Runs a script with pgbench. */
export const pgbench = (
  environment: BenchEnvironment,
  script: string,
  seconds: number,
  count: number,
  say: MeasureOptions['say'],
  options = '',
) =>
  withRetries(say, () =>
    runPgbench(
      environment.bin,
      environment.url,
      script,
      seconds,
      count,
      [environment.postgresPid],
      options,
    ),
  )

/**
 * Repeats a load test, at most twice, if other processes used much of the CPU. Returns the result
 * with the lowest share of others.
 */
export async function withRetries(
  say: MeasureOptions['say'],
  measure: () => Promise<LoadResult>,
): Promise<LoadResult> {
  let best = await measure()
  for (let retry = 0; retry < 2 && best.othersShare > maxOthers; retry++) {
    say(`Other processes used ${Math.round(best.othersShare * 100)} % of the CPU: repeating`)
    const next = await measure()
    if (next.othersShare < best.othersShare) best = next
  }
  return best
}

/** Combines the load test of the service with that of the reference. */
export function compareLoads(ours: LoadResult, reference: LoadResult): Round {
  return {
    ours: ours.perSecond,
    reference: reference.perSecond,
    p99Ms: ours.p99Ms,
    cpuUs: ours.cpuUs,
    referenceCpuUs: reference.cpuUs,
    othersShare: Math.max(ours.othersShare, reference.othersShare),
  }
}

const ratioOf = ({ ours, reference = Number.NaN }: Round) => ours / reference
const share = (round: Round | undefined) => (round ? ratioOf(round).toFixed(2) : '')

/** Compares rates with those of a reference. */
export function ratio(
  name: string,
  against: string,
  rounds: readonly Round[],
  aim?: { floor: number; goal: number },
): Measured {
  const value = median(rounds.map(ratioOf))
  const verdict = aim ? verdictOf(value >= aim.goal, value >= aim.floor) : 'for information'
  return { name, against, unit: 'a second', rounds, median: value, ...aim, verdict }
}

function verdictOf(reachesGoal: boolean, reachesFloor: boolean): Measured['verdict'] {
  if (reachesGoal) return 'goal reached'
  return reachesFloor ? 'above the floor' : 'under the floor'
}

function limit(
  name: string,
  unit: 'ms' | 'MB' | 'times',
  rounds: readonly Round[],
  aim: { floor: number; goal: number },
): Measured {
  const value = median(rounds.map(({ ours }) => ours))
  const verdict = verdictOf(value <= aim.goal, value <= aim.floor)
  return { name, against: 'at most', unit, rounds, median: value, ...aim, verdict }
}

/** Compares factors with limits that they must not exceed. */
export function ratioAtMost(
  name: string,
  against: string,
  times: readonly number[],
  aim: { floor: number; goal: number },
): Measured {
  return {
    ...limit(
      name,
      'times',
      times.map((ours) => ({ ours })),
      aim,
    ),
    against,
  }
}

/** Returns the median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

/** Fetches a response, without the headers that every Node server adds. */
function get(server: BenchServer, path: string): Promise<{ headers: string[]; body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: server.port, path }, (response) => {
      let body = ''
      response.setEncoding('latin1').on('data', (text: string) => {
        body += text
      })
      response.on('end', () =>
        resolve({
          headers: without(response.rawHeaders, 'date', 'connection', 'keep-alive'),
          body,
        }),
      )
    })
      .on('error', reject)
      .end()
  })
}

function without(headers: readonly string[], ...names: readonly string[]): string[] {
  return headers.filter(
    (_, index) => !names.includes((headers[index - (index % 2)] as string).toLowerCase()),
  )
}

const headerOf = (headers: readonly string[], name: string) =>
  headers[headers.findIndex((header) => header.toLowerCase() === name) + 1] ?? ''
