import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import type { PoolFigures } from '../ops/metrics.ts'
import { tracedQuery } from '../ops/trace.ts'
import { defaultTimeouts, type Timeouts } from '../timeouts.ts'
import { figuresOf, isConnectionLost, openClients } from './clients.ts'
import { type Db, statementName, translateError, Unavailable } from './db.ts'
import { driverUrl } from './driver-url.ts'
import { noteCommit } from './durability.ts'
import { openPipelinedPool, type PipelinedPool } from './pipelined-pool.ts'
import { openReadPool, type ReadPool, type ReadPoolOptions } from './read-pool.ts'
import { openReplicaReads } from './replica-reads.ts'
import { openReplicas, type Replicas } from './replicas.ts'

// The database connections of a process: the main pool for everything that writes, a pipelined pool
// for lookups, and two read pools for lists and searches. With replicas, these two read from them
// within requests that may see a state of a second ago (read-context.ts).

export interface Pool extends Db {
  /** For short lookups by key, pipelined over a few separate connections. */
  readonly lookups: PipelinedPool
  /** For lists: many different statements. */
  readonly lists: Db
  /** For searches: few different statements, over all partitions of the index. */
  readonly searches: ReadPool
  /** Connection counts of each pool, for metrics. */
  figures(): Record<'main' | 'lookups' | 'lists' | 'searches', PoolFigures> &
    Record<string, PoolFigures>
  /** Undefined if there are no replicas. */
  readonly replicas: PoolReplicas | undefined
  /**
   * Runs the work in a transaction. Runs it a second time after a deadlock, so the work must have
   * no effects outside of the database.
   */
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface PoolReplicas extends Pick<Replicas, 'figures' | 'watch'> {
  /** Statements that ran on the primary because a replica could not run them. */
  fallbacks(): number
  /** Returns the servers for a long read of this request, in the order in which to try them. */
  snapshotUrls(): readonly string[]
}

export interface PoolOptions {
  url: string
  /** Replicas of the server at `url`, each with an address of its own. */
  replicaUrls?: readonly string[]
  connections: number
  lookupConnections?: number
  searchConnections?: number
  applicationName: string
  times?: Timeouts
  /** Receives errors of idle connections, for the log. */
  onIdleError?: (error: Error) => void
}

/** Opens all connections of a process. */
export function openPool(options: PoolOptions): Pool {
  const {
    url,
    replicaUrls = [],
    connections,
    lookupConnections = 4,
    searchConnections = 4,
    applicationName,
    times = defaultTimeouts,
    onIdleError = () => {},
  } = options
  const lookups = openPipelinedPool({
    url,
    connections: lookupConnections,
    applicationName: `${applicationName} lookups`,
    times,
  })
  const listSettings: ReadPoolOptions = {
    url,
    connections: searchConnections,
    applicationName: `${applicationName} lists`,
    times,
    planned: 'each time',
  }
  const searchSettings: ReadPoolOptions = {
    url,
    connections: Math.ceil(searchConnections / 2),
    applicationName: `${applicationName} searches`,
    times,
    planned: 'once',
  }
  const lists = openReadPool(listSettings)
  const searches = openReadPool(searchSettings)
  const replicas =
    replicaUrls.length === 0
      ? undefined
      : openReplicas({
          primaryUrl: url,
          urls: replicaUrls,
          applicationName,
          lists: listSettings,
          searches: searchSettings,
        })
  const reads =
    replicas &&
    openReplicaReads({
      primaryUrl: url,
      lists,
      searches,
      replicas: replicas.all,
      readMs: times.readMs,
    })
  const { pool, with: withClient } = openClients(
    {
      connectionString: driverUrl(url),
      max: connections,
      application_name: applicationName,
      // The timeout of the driver is longer: it is for a server that no longer responds at all.
      query_timeout: times.writeMs + 1000,
      statement_timeout: times.writeMs,
      lock_timeout: times.waitMs,
      connectionTimeoutMillis: times.waitMs,
      idle_in_transaction_session_timeout: 10_000,
    },
    onIdleError,
  )

  return {
    async run(statement, ifLost = 'unknown') {
      const result = await repeatAfterDeadlock(() =>
        withClient((client) => send(client, statement, ifLost)),
      )
      if (ifLost === 'unknown' && result.count > 0) noteCommit()
      return result
    },
    transaction: (work) =>
      repeatAfterDeadlock(() => withClient((client) => runTransaction(client, work))),
    lookups,
    lists: reads?.lists ?? lists,
    searches: reads?.searches ?? searches,
    replicas: replicas &&
      reads && {
        figures: replicas.figures,
        watch: replicas.watch,
        fallbacks: reads.fallbacks,
        snapshotUrls: reads.snapshotUrls,
      },
    figures: () => ({
      main: figuresOf(pool),
      lookups: lookups.figures(),
      lists: lists.figures(),
      searches: searches.figures(),
      ...(replicas && prefixed('replica_', replicas.poolFigures())),
    }),
    close: async () => {
      await Promise.all([
        ...[lookups.close(), lists.close(), searches.close(), pool.end()],
        replicas?.close(),
      ])
    },
  }
}

function prefixed<T>(prefix: string, values: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]))
}

async function runTransaction<T>(client: pg.PoolClient, work: (tx: Db) => Promise<T>): Promise<T> {
  await send(client, begin, 'not-applied')
  let result: T
  let hasChanged = false
  const run: Db['run'] = async (statement, ifLost = 'unknown') => {
    // Until COMMIT is sent nothing can have been applied, whatever happens to the connection.
    const rows = await send(client, statement, 'not-applied')
    hasChanged ||= ifLost === 'unknown' && rows.count > 0
    return rows
  }
  try {
    result = await work({ run })
  } catch (error) {
    if (!isConnectionLost(error)) await send(client, rollback, 'not-applied')
    throw error
  }
  await send(client, commit, 'unknown')
  if (hasChanged) noteCommit()
  return result
}

/** Runs the work, and a second time if PostgreSQL rolled it back because of a deadlock. */
async function repeatAfterDeadlock<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Unavailable && isDeadlock(error.cause)) return work()
    throw error
  }
}

/** Tells whether PostgreSQL rolled a transaction back because of a concurrent one. */
function isDeadlock(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40P01' || error.code === '40001')
}

type Statement = Pick<Sql, 'text' | 'values'>
const begin: Statement = { text: 'begin', values: [] }
const commit: Statement = { text: 'commit', values: [] }
const rollback: Statement = { text: 'rollback', values: [] }

async function send(
  client: pg.PoolClient,
  { text, values }: Statement,
  ifLost: Unavailable['outcome'],
): Promise<{ rows: unknown[]; count: number }> {
  let unconfirmed: Error | undefined
  // If the wait for a synchronous standby is cancelled, PostgreSQL reports the commit as successful
  // and adds a warning. It is recognized by its code, because the text may be translated.
  const onNotice = (notice: { code?: string | undefined; message?: string | undefined }) => {
    if (notice.code === '01000' || notice.code === '57P01') unconfirmed = new Error(notice.message)
  }
  client.on('notice', onNotice)
  try {
    const { rows, rowCount } = await tracedQuery(text, () =>
      client.query({ name: statementName(text), text, values: values as unknown[] }),
    )
    if (unconfirmed) throw new Unavailable('unknown', unconfirmed)
    return { rows, count: rowCount ?? 0 }
  } catch (error) {
    throw translateError(error, ifLost)
  } finally {
    client.off('notice', onNotice)
  }
}
