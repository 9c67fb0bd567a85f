import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { database, http, type Sent, type Window } from './load.ts'
import { randomFrom } from './records.ts'
import type { BenchEnvironment, BenchServer } from './stage.ts'
import { patchScript, readScript } from './statements.ts'

// What is measured, and against what. In each round the bare engines come first and the service
// after them: what changes on the machine from minute to minute changes for all.

export interface Measured {
  readonly name: string
  readonly against: string
  readonly unit: 'a second' | 'ms' | 'MB' | 'times'
  readonly rounds: readonly Round[]
  /** Of the ratios; of the figures themselves where there is nothing to compare with. */
  readonly median: number
  readonly floor?: number
  readonly goal?: number
  readonly verdict: 'goal reached' | 'above the floor' | 'under the floor' | 'for information'
}

interface Round {
  readonly ours: number
  readonly reference?: number
  readonly p99Ms?: number
  /**
   * Processor time for one request, ours and the reference's: steadier than rates on a machine that
   * is shared.
   */
  readonly cpuUs?: number
  readonly referenceCpuUs?: number
  /** The worse of the two windows. */
  readonly othersShare?: number
}

export interface MeasureOptions {
  readonly stage: BenchEnvironment
  readonly rounds: number
  readonly seconds: number
  say(line: string): void
}

const connections = 16
const maxOthers = 0.15

export async function measureGet({
  stage,
  rounds,
  seconds,
  say,
}: MeasureOptions): Promise<Measured[]> {
  const live = (
    await stage.ask('select id from video_body where live order by hashint8(id) limit 20000')
  )
    .split('\n')
    .map(Number)
  const reading = (ids: readonly number[]): Sent[] =>
    ids.map((id) => ({ path: `/api/v2/video/${id}` }))
  const hot = live.slice(0, 2000)
  const [id = 0] = hot

  const cached = await stage.serve({})
  const logging = await stage.serve({ LOG_LEVEL: 'info' })
  const uncached = await stage.serve({ CACHE_MB: '0' })
  for (const server of [cached, logging])
    for (const { path } of reading(hot)) await get(server, path)
  const sample = await get(cached, `/api/v2/video/${id}`)
  const bare = await stage.bare({ status: 200, ...sample })
  const bare304 = await stage.bare({
    status: 304,
    headers: without(sample.headers, 'content-length'),
    body: '',
  })
  const unchanged = [
    { path: `/api/v2/video/${id}`, headers: { 'if-none-match': headerOf(sample.headers, 'etag') } },
  ]
  const script = join(stage.dir, 'read.sql')
  writeFileSync(script, await readScript(stage.records))

  const over = (server: BenchServer, requests: readonly Sent[], pids = [server.pid]) =>
    quiet(say, () => http(stage.dir, server.port, requests, seconds, connections, pids))
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
    const engine = await over(bare, reading([id]))
    const engine304 = await over(bare304, unchanged)
    // Four connections are what the service reads with; more of them are faster on some machines,
    // and then that is the limit.
    const selects = [
      await pgbench(stage, script, seconds, 4, say),
      await pgbench(stage, script, seconds, connections, say),
    ] as const
    const select = selects[0].perSecond > selects[1].perSecond ? selects[0] : selects[1]
    const both = await over(uncached, reading(live), [uncached.pid, stage.postgresPid])
    const composed = 1 / (1 / select.perSecond + 1 / engine.perSecond)
    found.database.push(
      compared(both, {
        perSecond: composed,
        cpuUs: select.cpuUs + engine.cpuUs,
        p99Ms: Number.NaN,
        othersShare: Math.max(select.othersShare, engine.othersShare),
      }),
    )
    found.select.push(compared(both, select))
    found.memory.push(compared(await over(cached, reading([id])), engine))
    found.many.push(compared(await over(cached, reading(hot)), engine))
    found.logged.push(compared(await over(logging, reading([id])), engine))
    found.unchanged.push(compared(await over(cached, unchanged), engine304))
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
    ratio('the same, a line of log each', 'bare node:http, no log', found.logged),
    ratio('304', 'bare node:http, the same 304', found.unchanged, { floor: 0.65, goal: 0.9 }),
  ]
}

export async function measurePatch({
  stage,
  rounds,
  seconds,
  say,
}: MeasureOptions): Promise<Measured> {
  const script = join(stage.dir, 'patch.sql')
  writeFileSync(script, await patchScript(stage))
  const server = await stage.serve({ DATABASE_CONNECTIONS: String(connections) })
  const random = randomFrom(Date.now())
  const headers = { authorization: `Token ${stage.token}`, 'content-type': 'application/json' }
  const found: Round[] = []
  for (let round = 1; round <= rounds; round++) {
    const requests = Array.from({ length: 20_000 }, (_, index) => ({
      method: 'PATCH',
      path: `/api/v2/video/${1 + Math.floor(random() * stage.records)}`,
      headers,
      body: JSON.stringify({ summary: `What changed ${round} ${index} ${random()}` }),
    }))
    const engine = await pgbench(stage, script, seconds, connections, say)
    const before = await changes(stage)
    const ours = await quiet(say, () =>
      http(stage.dir, server.port, requests, seconds, connections, [server.pid, stage.postgresPid]),
    )
    const made = (await changes(stage)) - before
    // What changes nothing writes nothing, and would be fast.
    if (made < ours.perSecond * seconds * 0.9)
      throw new Error(
        `${made} changes were made, and ${ours.perSecond} a second answered for ${seconds} s`,
      )
    found.push(compared(ours, engine))
    say(`Writing, round ${round} of ${rounds}: ${share(found.at(-1))}`)
  }
  await server.stop()
  return ratio('PATCH', 'pgbench, the same statements', found, { floor: 0.35, goal: 0.5 })
}

/**
 * From the start of the process to its first answer, and how much memory it has when it has come to
 * rest.
 */
export async function measureStart({ stage, rounds, say }: MeasureOptions): Promise<Measured[]> {
  const found = { first: [] as Round[], starts: [] as Round[], memory: [] as Round[] }
  for (let round = 0; round < rounds + 2; round++) {
    // Node keeps what it compiled there, as it does in our image and under our systemd unit.
    const NODE_COMPILE_CACHE = join(stage.dir, `compiled-${round}`)
    for (const time of ['first', 'second', 'third']) {
      const server = await stage.serve({ NODE_COMPILE_CACHE })
      await sleep(1000)
      const [, kilobytes] =
        /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8')) ?? []
      if (time === 'first') found.first.push({ ours: server.startMs })
      if (time === 'third') found.starts.push({ ours: server.startMs })
      if (time === 'third') found.memory.push({ ours: Number(kilobytes) / 1000 })
      await server.stop()
    }
  }
  say('Started and stopped')
  return [
    {
      ...limit('Start to the first answer, for the first time', 'ms', found.first, {
        floor: 400,
        goal: 250,
      }),
      verdict: 'for information',
    },
    limit('Start to the first answer', 'ms', found.starts, { floor: 400, goal: 250 }),
    limit('Memory after start', 'MB', found.memory, { floor: 110, goal: 80 }),
  ]
}

const changes = async (stage: BenchEnvironment) =>
  Number(await stage.ask('select count(*) from change'))

export const pgbench = (
  stage: BenchEnvironment,
  script: string,
  seconds: number,
  count: number,
  say: MeasureOptions['say'],
  options = '',
) =>
  quiet(say, () =>
    database(stage.bin, stage.url, script, seconds, count, [stage.postgresPid], options),
  )

/**
 * A window in which others took much of the machine is measured again, twice at most; the best of
 * them counts.
 */
export async function quiet(
  say: MeasureOptions['say'],
  measure: () => Promise<Window>,
): Promise<Window> {
  let best = await measure()
  for (let again = 0; again < 2 && best.othersShare > maxOthers; again++) {
    say(`Others took ${Math.round(best.othersShare * 100)} % of the machine: once more`)
    const next = await measure()
    if (next.othersShare < best.othersShare) best = next
  }
  return best
}

export function compared(ours: Window, reference: Window): Round {
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

export function ratio(
  name: string,
  against: string,
  rounds: readonly Round[],
  aim?: { floor: number; goal: number },
): Measured {
  const it = median(rounds.map(ratioOf))
  const verdict = !aim
    ? 'for information'
    : it >= aim.goal
      ? 'goal reached'
      : it >= aim.floor
        ? 'above the floor'
        : 'under the floor'
  return { name, against, unit: 'a second', rounds, median: it, ...aim, verdict }
}

function limit(
  name: string,
  unit: 'ms' | 'MB' | 'times',
  rounds: readonly Round[],
  aim: { floor: number; goal: number },
): Measured {
  const it = median(rounds.map(({ ours }) => ours))
  const verdict =
    it <= aim.goal ? 'goal reached' : it <= aim.floor ? 'above the floor' : 'under the floor'
  return { name, against: 'at most', unit, rounds, median: it, ...aim, verdict }
}

/** So many times as much, which is to be little. */
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

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

/** The answer as it came, without the headers that every Node server adds by itself. */
function get(server: BenchServer, path: string): Promise<{ headers: string[]; body: string }> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port: server.port, path }, (answer) => {
      let body = ''
      answer.setEncoding('latin1').on('data', (text: string) => {
        body += text
      })
      answer.on('end', () =>
        resolve({ headers: without(answer.rawHeaders, 'date', 'connection', 'keep-alive'), body }),
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
  headers[headers.findIndex((it) => it.toLowerCase() === name) + 1] ?? ''
