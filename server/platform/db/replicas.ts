import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolFigures } from '../ops/metrics.ts'
import { Unavailable } from './db.ts'
import { openReadPool, type ReadPool, type ReadPoolOptions } from './read-pool.ts'
import {
  askPrimary,
  askReplica,
  completeLog,
  keepAsking,
  type PrimaryPosition,
  type ReplicaPosition,
  withoutPageHeader,
} from './replica-position.ts'

// The read replicas of a process. A replica is used while it has replayed a position that the
// primary had at most a second ago. Only this process measures time: clocks of servers are never
// compared, and the rule holds without any writes.

/** The oldest state that a replica may answer from. */
export const maxLagMs = 1000
const intervalMs = 100
/** A server that does not say how far it is within this time is frozen, or out of reach. */
const timeoutMs = 1000
/** How long a replica is left out after it failed to run a statement. */
const penaltyMs = 1000
/** The log is completed if its end was not written for this time and a replica waits for it. */
const incompleteMs = 300
/** Positions are remembered for this long, to tell how far a replica is behind. */
const rememberedMs = 5 * 60_000

/** A statement on a replica ends after this time. */
const statementMs = 2000

export interface Replica {
  /** Host and port, for messages and metrics. */
  readonly name: string
  readonly url: string
  /** Tells whether its state is at most `maxLagMs` old, if it is read now. */
  isUsable(): boolean
  /** Leaves it out for a moment, after it failed to run a statement. */
  leaveOut(): void
  /** Waits for a result of this replica. Rejects when the replica stops answering. */
  unlessOut<T>(result: Promise<T>): Promise<T>
  readonly lists: ReadPool
  readonly searches: ReadPool
}

export interface ReplicaFigures {
  /** Upper bound of the age of its state. */
  readonly lagSeconds: number
  readonly isUsed: boolean
}

/** Receives that a replica is used, or the reason why it is left out. */
export type ReplicaListener = (name: string, reason: string | undefined) => void

export interface Replicas {
  readonly all: readonly Replica[]
  /** By the name of the replica. */
  figures(): ReadonlyMap<string, ReplicaFigures>
  /** Calls the listener now and after each change of a replica that has been asked. */
  watch(listener: ReplicaListener): void
  /** Connection counts of all replicas. */
  poolFigures(): { readonly lists: PoolFigures; readonly searches: PoolFigures }
  close(): Promise<void>
}

export interface ReplicasOptions {
  readonly primaryUrl: string
  readonly urls: readonly string[]
  readonly applicationName: string
  /** The settings of the read pools of the primary. */
  readonly lists: ReadPoolOptions
  readonly searches: ReadPoolOptions
}

/** Returns the host and port of a connection URL. */
export function replicaName(url: string): string {
  const { host, hostname, port, searchParams } = new URL(url)
  return host === '' ? (searchParams.get('host') ?? '') : `${hostname}:${port || 5432}`
}

/** Opens the connections to all replicas, and keeps asking how far they are. */
export function openReplicas(options: ReplicasOptions): Replicas {
  const stopping = new AbortController()
  const startMs = performance.now()
  /** The newest position is the last one. */
  let noted: { readonly ms: number; readonly at: PrimaryPosition }[] = []
  let completeMs = startMs
  let listener: ReplicaListener = () => {}
  /** Why each replica is left out. */
  const reasons = new Map<string, string | undefined>()

  function note(answer: PrimaryPosition, askedMs: number): void {
    const at = { ...answer, position: withoutPageHeader(answer.position) }
    const oldestMs = askedMs - rememberedMs
    if ((noted[0]?.ms ?? askedMs) < oldestMs) noted = noted.filter(({ ms }) => ms >= oldestMs)
    const last = noted.at(-1)?.at
    if (at.written >= at.position || at.position !== last?.position) completeMs = askedMs
    noted.push({ ms: askedMs, at })
  }

  /** Finds when the primary was where this replica is now, or behind. */
  function findTime({ position, timeline, database }: ReplicaPosition): number | undefined {
    if (position === null) return undefined
    return noted.findLast(
      ({ at }) => at.position <= position && at.timeline === timeline && at.database === database,
    )?.ms
  }

  /** Tells why a server must not be used, whatever it has replayed. */
  function findObjection(answer: ReplicaPosition): string | undefined {
    const { at } = noted.at(-1) ?? {}
    if (!answer.is_in_recovery) return 'it is not a replica: it was promoted, or is the primary'
    if (!at) return undefined
    if (answer.database !== at.database) return 'it is a replica of another database'
    if (answer.timeline !== at.timeline)
      return `it follows timeline ${answer.timeline}, and the primary is on ${at.timeline}`
    return undefined
  }

  const members = options.urls.map((url) => {
    const name = replicaName(url)
    let pools = openPools(url, options, () => assertUsable())
    const waiting = new Set<(error: Error) => void>()
    let asOfMs: number | undefined
    let lastKnownMs = startMs
    let penaltyUntilMs = 0
    let objection: string | undefined = 'it has not answered yet'
    let isOut = false

    const lagMs = () => performance.now() - (asOfMs ?? Number.NEGATIVE_INFINITY)
    const isUsable = () =>
      objection === undefined && lagMs() <= maxLagMs && performance.now() >= penaltyUntilMs
    function assertUsable(): void {
      if (!isUsable())
        throw new Unavailable('not-applied', new Error(`The replica ${name} is behind`), true)
    }

    function rejectWaiting(error: Error): void {
      for (const reject of waiting) reject(new Unavailable('not-applied', error))
    }

    /** Gives up all statements, which may never end, and opens new connections. */
    function abandon(error: Error): void {
      if (isOut) return
      isOut = true
      rejectWaiting(error)
      void pools.close()
      pools = openPools(url, options, assertUsable)
    }

    function report(): void {
      const lag = asOfMs === undefined ? 'its position is unknown' : 'it is behind'
      const reason = isUsable() ? undefined : (objection ?? lag)
      const isKnown = reasons.has(name) && reasons.get(name) === reason
      if (isKnown || performance.now() < penaltyUntilMs) return
      reasons.set(name, reason)
      listener(name, reason)
    }

    const asking = keepAsking<ReplicaPosition>(
      {
        ...{ url, intervalMs, timeoutMs, statement: askReplica },
        applicationName: `${options.applicationName} replica position`,
        onAnswer(answer) {
          isOut = false
          objection = findObjection(answer)
          asOfMs = objection === undefined ? findTime(answer) : undefined
          lastKnownMs = asOfMs ?? lastKnownMs
          report()
        },
        onError(error) {
          objection = `it does not answer: ${error.message}`
          asOfMs = undefined
          abandon(error)
          report()
        },
      },
      stopping.signal,
    )
    const replica: Replica = {
      name,
      url,
      isUsable,
      leaveOut() {
        penaltyUntilMs = performance.now() + penaltyMs
      },
      async unlessOut(result) {
        const { promise, reject } = Promise.withResolvers<never>()
        waiting.add(reject)
        try {
          return await Promise.race([result, promise])
        } finally {
          waiting.delete(reject)
        }
      },
      get lists() {
        return pools.lists
      },
      get searches() {
        return pools.searches
      },
    }
    return {
      replica,
      figures: (): ReplicaFigures => ({
        lagSeconds: (performance.now() - lastKnownMs) / 1000,
        isUsed: isUsable(),
      }),
      isWaiting: () => objection === undefined && lagMs() > maxLagMs / 2,
      async close() {
        // Wakes up requests that wait for a statement that may never end.
        rejectWaiting(new Error('The server is stopping'))
        await Promise.race([pools.close(), sleep(statementMs, undefined, { ref: false })])
        await asking
      },
    }
  })

  const asking = keepAsking<PrimaryPosition>(
    {
      ...{ url: options.primaryUrl, intervalMs, timeoutMs, statement: askPrimary },
      applicationName: `${options.applicationName} position`,
      onAnswer: note,
      // Without positions of the primary no replica is used after a second.
      onError: () => {},
      after() {
        const isIncomplete = performance.now() - completeMs > incompleteMs
        if (!isIncomplete || !members.some(({ isWaiting }) => isWaiting())) return undefined
        completeMs = performance.now()
        return completeLog
      },
    },
    stopping.signal,
  )

  return {
    all: members.map(({ replica }) => replica),
    figures: () => new Map(members.map(({ replica, figures }) => [replica.name, figures()])),
    watch(newListener) {
      listener = newListener
      for (const [name, reason] of reasons) listener(name, reason)
    },
    poolFigures: () => ({
      lists: sumOf(members.map(({ replica }) => replica.lists.figures())),
      searches: sumOf(members.map(({ replica }) => replica.searches.figures())),
    }),
    async close() {
      stopping.abort()
      await Promise.all([asking, ...members.map((member) => member.close())])
    },
  }
}

interface Pools {
  readonly lists: ReadPool
  readonly searches: ReadPool
  close(): Promise<void>
}

function openPools(
  url: string,
  { lists, searches }: ReplicasOptions,
  assertUsable: () => void,
): Pools {
  const open = (settings: ReadPoolOptions) =>
    openReadPool({
      ...settings,
      url,
      times: { ...settings.times, readMs: Math.min(settings.times.readMs, statementMs) },
      beforeStatement: assertUsable,
    })
  const pools = { lists: open(lists), searches: open(searches) }
  return {
    ...pools,
    close: async () => {
      await Promise.all([pools.lists.close(), pools.searches.close()])
    },
  }
}

function sumOf(all: readonly PoolFigures[]): PoolFigures {
  const sum = (name: keyof PoolFigures) => all.reduce((total, figures) => total + figures[name], 0)
  return { total: sum('total'), idle: sum('idle'), max: sum('max'), waiting: sum('waiting') }
}
