import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { childrenOf } from '../tests/support/cluster.ts'
import { until } from '../tests/support/until.ts'
import type { BenchEnvironment, BenchServer } from './environment.ts'
import { openAttack } from './hostile.ts'
import { type Measured, type MeasureOptions, ratio, ratioAtMost } from './measures.ts'

// Measures what a read replica adds: how many more searches are answered, and how much less hostile
// searches slow down reads of records. Primary and replica share one machine here, so each gets the
// same fixed share of a processor, in a control group of its own; the service has what is left.

/** Of one processor, for each PostgreSQL. */
const share = 0.35
const periodUs = 20_000
const clients = 12

/** Measures searches and reads with and without a replica. */
export async function measureReplica(options: MeasureOptions): Promise<Measured[]> {
  const { environment, rounds, seconds, say } = options
  const replica = await environment.startReplica()
  const groups = [
    limitProcessor('primary', environment.postgresPid),
    limitProcessor('replica', replica.pid),
  ]
  say(`Each PostgreSQL has ${share * 100} % of one processor`)
  const settings = { PROXIES: '1', CACHE_MB: '0', MAINTENANCE_HOURS: '0' }
  const alone = await environment.serve(settings)
  const both = await environment.serve({
    ...settings,
    REPLICA_URLS: replica.url('talkshelf', 'talkshelf'),
  })
  const words = await frequentWords(environment)
  const found = {
    searches: [] as { ours: number; reference: number }[],
    withReplica: [] as number[],
    without: [] as number[],
  }
  try {
    await waitForReplica(both)
    for (let round = 1; round <= rounds; round++) {
      const reference = await countSearches(alone, words, seconds)
      const ours = await countSearches(both, words, seconds)
      found.searches.push({ ours, reference })
      const without = await slowdown(alone, environment.records, seconds)
      const withReplica = await slowdown(both, environment.records, seconds)
      found.without.push(without.factor)
      found.withReplica.push(withReplica.factor)
      say(
        `Replica, round ${round} of ${rounds}: ${reference.toFixed(1)} searches a second alone, ` +
          `${ours.toFixed(1)} with it; GET p99 during hostile queries ${without.text} without it, ` +
          `${withReplica.text} with it, ${await readFallbacks(both)} reads moved to the primary so far`,
      )
    }
  } finally {
    await alone.stop()
    await both.stop()
    await replica.kill()
    for (const { release } of groups) await release()
  }
  return [
    ratio('Searches with a replica', 'searches without one', found.searches, {
      floor: 1.5,
      goal: 1.8,
    }),
    ratioAtMost(
      'GET during hostile queries, replica',
      'p99, against GET alone',
      found.withReplica,
      {
        floor: 2,
        goal: 1.5,
      },
    ),
    ratioAtMost('the same without a replica', 'p99, against GET alone', found.without, {
      floor: Number.POSITIVE_INFINITY,
      goal: Number.POSITIVE_INFINITY,
    }),
  ]
}

/** Puts a process and its children into a control group with a share of a processor. */
function limitProcessor(name: string, pid: number): { release(): Promise<void> } {
  const folder = `/sys/fs/cgroup/cpu/talkshelf-bench-${name}-${process.pid}`
  mkdirSync(folder)
  writeFileSync(`${folder}/cpu.cfs_period_us`, String(periodUs))
  writeFileSync(`${folder}/cpu.cfs_quota_us`, String(Math.round(share * periodUs)))
  const move = (to: string) => {
    for (const each of [pid, ...childrenOf(pid)])
      try {
        writeFileSync(`${to}/cgroup.procs`, String(each))
      } catch {
        // The process has ended.
      }
  }
  move(folder)
  return {
    async release() {
      await until('the control group to be empty', () => {
        move('/sys/fs/cgroup/cpu')
        rmdirSync(folder)
        return true
      })
    },
  }
}

async function waitForReplica({ port }: BenchServer): Promise<void> {
  await until('the replica to be used', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    return /^talkshelf_replica_in_use\{[^}]*\} 1$/m.test(await response.text())
  })
}

async function readFallbacks({ port }: BenchServer): Promise<string> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return /^talkshelf_replica_fallbacks_total (\d+)$/m.exec(text)?.[1] ?? 'no'
}

/** Words that many talks have, so that PostgreSQL and not the service is the bottleneck. */
async function frequentWords({ query }: BenchEnvironment): Promise<string[]> {
  const output = await query(
    `select lexeme from search_lexeme group by lexeme
     having lexeme ~ '^[a-z]{4,12}$' order by sum(talks) desc limit 40`,
  )
  return output.split('\n').filter(Boolean)
}

/** Counts the searches that several clients get answered in a second. */
async function countSearches(
  { port }: BenchServer,
  words: readonly string[],
  seconds: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const untilMs = performance.now() + seconds * 1000
  let answered = 0
  const search = (path: string, client: number) =>
    new Promise<number>((resolve, reject) => {
      // Each client has an address of its own: one may take half of the turns only.
      const headers = { 'x-forwarded-for': `192.0.2.${client}` }
      request({ agent, host: '127.0.0.1', port, path, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 500))
      })
        .on('error', reject)
        .end()
    })
  const run = async (client: number) => {
    for (let index = client * 7; performance.now() < untilMs; index++) {
      const [first, second] = [words[index % words.length], words[(index * 3 + 1) % words.length]]
      const status = await search(`/api/v2/video?include=facets&q=${first}+or+${second}`, client)
      if (status === 200 && performance.now() < untilMs) answered++
      else if (status !== 200 && status !== 503 && status !== 400)
        throw new Error(`A search was answered with ${status}`)
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => run(client + 1)))
  agent.destroy()
  return answered / seconds
}

/** Measures by what factor hostile searches of one client slow down reads. */
async function slowdown({ port }: BenchServer, records: number, seconds: number) {
  const { readP99, readP99DuringAttack, close } = openAttack(port, records, seconds)
  const aloneMs = await readP99()
  const { p99Ms } = await readP99DuringAttack()
  close()
  return { factor: p99Ms / aloneMs, text: `${aloneMs.toFixed(1)} to ${p99Ms.toFixed(1)} ms` }
}
