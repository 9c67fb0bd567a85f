import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertComplete, feedEnds, readAll, revisionsOf } from '../../follow/feed.ts'
import { filesOf } from '../../follow/mirror.ts'
import { digestOf } from '../../support/feed-replay.ts'
import { call } from '../../support/harness.ts'
import { until } from '../../support/until.ts'
import { type Fault, type FaultEnvironment, launch } from '../environment.ts'
import { startWorkload, type Workload } from '../workload.ts'
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts'
import { systemPath } from './machine.ts'

// Plays a fault in a cluster, under writers, readers through the edge, and a mirror; judges it; and
// collects the figures of all faults.

export interface Scene {
  readonly environment: FaultEnvironment
  readonly cluster: Cluster
  readonly workload: Workload
}

export interface ClusterFault {
  readonly name: string
  /** Also played in the quick run. */
  readonly isQuick?: boolean
  /** How long writes may stop, in seconds; undefined if the fault stops them on purpose. */
  readonly goalS?: number
  options?(environment: FaultEnvironment): ClusterOptions
  /** Breaks something, waits for what must happen, and mends it. */
  strike(scene: Scene): Promise<void>
}

const readGoal = 0.999

interface Result {
  readonly name: string
  readonly acknowledged: number
  readonly gapS: number
  readonly goalS: number | undefined
  readonly reads: number
  readonly answered: number
}

const results: Result[] = []

/** Makes a fault for the runner, which starts a cluster of its own. */
export function clusterFault(fault: ClusterFault): Fault {
  const { name, isQuick = false, options = () => ({}) } = fault
  return {
    name,
    limitS: { quick: 1200, full: 2400 },
    fullOnly: !isQuick,
    missing: () =>
      process.getuid?.() !== 0 || process.env.FAULTS_NAMESPACE === undefined
        ? 'only root can create the machines'
        : undefined,
    async run(environment) {
      const cluster = await startCluster(environment, options(environment))
      const workload = await startWorkload({
        url: cluster.url,
        token: cluster.token,
        workers: 8,
        // Through the edge, readers without a token may get old answers while purges wait.
        staleMs: 1e9,
        hasProxies: true,
      })
      const readers = startReaders(cluster)
      const mirror = startMirror(environment, cluster.serviceUrl)
      const writes = environment.quick ? 300 : 5000
      await workload.progress(writes / 3, 300_000)
      await fault.strike({ environment, cluster, workload })
      await workload.progress(100, 120_000)
      await cluster.untilHealthy()
      await workload.progress(Math.max(100, writes - workload.acknowledged()), 600_000)
      await workload.stop()
      const { reads, answered, missed, edges } = await readers.stop()
      const { acknowledged, gapMs, unknown, resolved } = await workload.verify(cluster.databaseUrl)
      const database = { serviceUrl: cluster.databaseUrl }
      await feedEnds(cluster.serviceUrl, database)
      const { entries } = await readAll(cluster.serviceUrl)
      assertComplete(entries, await revisionsOf(database))
      const files = await mirror.compare()
      // A Varnish that takes over while there is no leader has only what it was asked before.
      const moves = edges.length > 1 ? `, by ${edges.join(', ')}` : ''
      const { goalS } = fault
      const result: Result = { name, acknowledged, gapS: gapMs / 1000, goalS, reads, answered }
      results.push(result)
      return (
        `${acknowledged} acknowledged, 0 lost, 0 twice, 0 stale, ` +
        `${unknown} unknown of which ${resolved} resolved, write gap ${result.gapS.toFixed(1)} s, ` +
        `${percent(answered, reads)} of ${reads} reads answered${missed && ` (not ${missed})`}${moves}, feed of ${entries.length} entries ` +
        `exact, mirror of ${files} files equal`
      )
    },
  }
}

const percent = (part: number, all: number) => `${((100 * part) / Math.max(1, all)).toFixed(2)} %`

interface Readers {
  /**
   * Also returns which requests were not answered with 200, and how often; and the edge machines
   * that had the shared address, in turn.
   */
  stop(): Promise<{ reads: number; answered: number; missed: string; edges: string[] }>
}

/** What an edge keeps while the archive does not answer. */
const publicPaths = [
  '/',
  '/api/v2/video/1',
  '/api/v2/video/2',
  '/api/v2/video',
  '/api/v2/category/example-days-2026',
]

/** Reads public pages and records through the edge, all the time. */
function startReaders({ url, edges: machines }: Cluster): Readers {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const missed = new Map<string, number>()
  let [reads, answered, isStopped] = [0, 0, false]
  const read = async (path: string) => {
    const reply = call(url, 'GET', path, {}, agent).catch(() => undefined)
    const response = await Promise.race([reply, sleep(5000)])
    reads++
    if (response?.status === 200) return void answered++
    const failure = `${path} ${response?.status ?? 'lost'}`
    missed.set(failure, (missed.get(failure) ?? 0) + 1)
  }
  const work = async (worker: number) => {
    for (let count = worker; !isStopped; count++) {
      await read(publicPaths[count % publicPaths.length] as string)
      await sleep(25)
    }
  }
  const edges: string[] = []
  const watch = async () => {
    while (!isStopped) {
      const name = machines.find((edge) => edge.hasSharedAddress())?.name
      if (name !== undefined && name !== edges.at(-1)) edges.push(name)
      await sleep(500)
    }
  }
  const workers = [...[0, 1, 2, 3].map(work), watch()]
  return {
    async stop() {
      isStopped = true
      await Promise.all(workers)
      agent.destroy()
      const list = [...missed].map((entry) => entry.join(' x')).join(', ')
      return { reads, answered, missed: list, edges }
    },
  }
}

interface Mirror {
  /** Waits until it has all changes, and compares it with the archive. Returns how many files. */
  compare(): Promise<number>
}

/** Runs `talkshelf mirror`. */
export function startMirror(environment: FaultEnvironment, url: string): Mirror {
  const folder = join(environment.dir, 'mirror')
  const command = [process.execPath, 'server/main.ts', 'mirror', url, folder]
  const { child } = launch(environment, command, {
    log: 'mirror.log',
    variables: { PATH: systemPath },
  })
  return {
    async compare() {
      const stateFile = join(folder, 'mirror.json')
      const cursor = await until(
        'the mirror to have all changes',
        async () => {
          assert.equal(child.exitCode, null, 'the mirror ended by itself')
          const { json } = await call(url, 'GET', '/api/v2/changes?since=now')
          const state = existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, 'utf8')) : {}
          return state.cursor === json.cursor && (json.cursor as string)
        },
        { limitMs: 180_000, pauseMs: 300 },
      )
      const files = filesOf(folder)
      assert.equal(digestOf(files), cursor.split('.')[1], 'the digest of the mirror')
      return files.size
    },
  }
}

/** Returns a table of all faults, and the goals that were missed. */
export function clusterReport(): string[] {
  if (results.length === 0) return []
  const sum = (figure: (result: Result) => number) =>
    results.reduce((total, result) => total + figure(result), 0)
  const [reads, answered] = [sum((result) => result.reads), sum((result) => result.answered)]
  const lines = [...Map.groupBy(results, ({ name }) => name)].map(([name, plays]) => {
    const gaps = plays.map(({ gapS }) => gapS.toFixed(1)).join(', ')
    const acknowledged = plays.reduce((total, play) => total + play.acknowledged, 0)
    return `  ${name}: ${acknowledged} acknowledged, write gaps ${gaps} s`
  })
  const missed = [...Map.groupBy(results, ({ goalS }) => goalS)].flatMap(([goalS, plays]) => {
    if (goalS === undefined) return []
    const gaps = plays.map(({ gapS }) => gapS).sort((a, b) => a - b)
    const p95 = gaps[Math.ceil(gaps.length * 0.95) - 1] ?? 0
    return p95 > goalS ? [`goal missed: write gap p95 ${p95.toFixed(1)} s, above ${goalS} s`] : []
  })
  if (answered / reads < readGoal)
    missed.push(`goal missed: ${percent(answered, reads)} of reads answered, below 99.9 %`)
  return [
    ...lines,
    `${sum((result) => result.acknowledged)} writes acknowledged, 0 lost, 0 twice; ` +
      `${percent(answered, reads)} of ${reads} reads answered`,
    ...missed,
  ]
}
