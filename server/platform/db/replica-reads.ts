import pg from 'pg'
import { type Db, Unavailable } from './db.ts'
import { currentReadContext, type ReadContext } from './read-context.ts'
import { isPastDeadline, type ReadPool } from './read-pool.ts'
import type { Replica } from './replicas.ts'

// Sends the reads of requests that may see a state of a second ago to replicas. A request keeps its
// replica, and goes on from there only to the primary: what it reads never becomes older.

export interface ReplicaReads {
  readonly lists: Db
  readonly searches: ReadPool
  /** Returns the servers for a long read of this request, in the order in which to try them. */
  snapshotUrls(): readonly string[]
  /** Statements that failed on a replica, or that it was too late for, and ran on the primary. */
  fallbacks(): number
}

export interface ReplicaReadsOptions {
  readonly primaryUrl: string
  readonly lists: ReadPool
  readonly searches: ReadPool
  readonly replicas: readonly Replica[]
  /** The statement timeout of the primary. */
  readonly readMs: number
}

/** Returns pools that read from replicas, if a request may and one is usable. */
export function openReplicaReads(options: ReplicaReadsOptions): ReplicaReads {
  const { primaryUrl, lists, searches, replicas, readMs } = options
  let fallbacks = 0

  /** Returns the replica of the request, or undefined if it reads from the primary. */
  function chooseReplica(context: ReadContext | undefined): Replica | undefined {
    if (!context || context.source === 'primary') return undefined
    const known = replicas.find((replica) => replica === context.source)
    const usable = known ? [known] : [...replicas]
    const [chosen] = usable
      .filter((replica) => replica.isUsable())
      .sort((a, b) => busyCount(a) - busyCount(b))
    if (known && !chosen) fallbacks++
    context.source = chosen ?? 'primary'
    return chosen
  }

  const route = (kind: 'lists' | 'searches', primary: ReadPool): Db['run'] => {
    return async (statement, ifLost) => {
      const context = currentReadContext()
      const replica = chooseReplica(context)
      if (!context || !replica) return primary.run(statement, ifLost)
      const sentMs = performance.now()
      try {
        // A replica that is frozen must not delay the answer until the timeout.
        return await replica.unlessOut(replica[kind].run(statement, ifLost))
      } catch (error) {
        if (isPastDeadline() || !isRepeatable(error, performance.now() - sentMs, readMs))
          throw error
        fallbacks++
        context.source = 'primary'
        if (isRefusal(error)) replica.leaveOut()
        return primary.run(statement, ifLost)
      }
    }
  }

  return {
    lists: { run: route('lists', lists) },
    searches: {
      ...searches,
      run: route('searches', searches),
      async admit(search) {
        const context = currentReadContext()
        const replica = chooseReplica(context)
        if (!context || !replica) return searches.admit(search)
        // One client fills half of a replica. Only if several do, the primary helps.
        if (!isBetter(searches, replica.searches)) return replica.searches.admit(search)
        context.source = 'primary'
        return searches.admit(search)
      },
      searchFigures() {
        const all = [searches, ...replicas.map((replica) => replica.searches)]
        const sum = (name: 'running' | 'waiting' | 'refused') =>
          all.reduce((total, pool) => total + pool.searchFigures()[name], 0)
        return { running: sum('running'), waiting: sum('waiting'), refused: sum('refused') }
      },
    },
    snapshotUrls() {
      const replica = chooseReplica(currentReadContext())
      return replica ? [replica.url, primaryUrl] : [primaryUrl]
    },
    fallbacks: () => fallbacks,
  }
}

function busyCount({ lists, searches }: Replica): number {
  const [a, b] = [lists.figures(), searches.figures()]
  return a.total - a.idle + a.waiting + b.total - b.idle + b.waiting
}

/** Tells whether a search is run sooner by the primary than by a replica that is full. */
function isBetter(primary: ReadPool, replica: ReadPool): boolean {
  if (!replica.isFull()) return false
  return !primary.isFull() || primary.searchFigures().waiting < replica.searchFigures().waiting
}

/**
 * Tells whether the primary may answer what a replica could not. A statement that took as long as it
 * may take anywhere is not repeated: expensive searches must not reach the primary by that way.
 */
function isRepeatable(error: unknown, tookMs: number, primaryMs: number): boolean {
  if (error instanceof pg.DatabaseError) return isCorruption(error)
  return error instanceof Unavailable && !(error.isTooSlow && tookMs >= 0.9 * primaryMs)
}

/** Tells whether the server itself refused a statement, for example because replay cancelled it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof Unavailable)
    return error.cause instanceof pg.DatabaseError && !error.isTooSlow
  return error instanceof pg.DatabaseError
}

const isCorruption = ({ code = '' }: pg.DatabaseError) => code.startsWith('XX')
