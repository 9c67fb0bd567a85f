import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import { tracedQuery } from '../ops/trace.ts'
import { defaultTimeouts, type Timeouts } from '../timeouts.ts'
import { isConnectionLost, openClients } from './clients.ts'
import { type Db, statementName, translateError, Unavailable } from './db.ts'
import { openPipelinedPool, type PipelinedPool } from './pipelined-pool.ts'
import { openReadPool, type ReadPool } from './read-pool.ts'

// The connections of a process: a pool for everything that writes, the lookups, and the searches.

export interface Pool extends Db {
  /** For short lookups by key: they go side by side over a few connections of their own. */
  readonly lookups: PipelinedPool
  /** For lists: statements of many shapes. */
  readonly lists: Db
  /** For searches: statements of few shapes, over all slices of the words. */
  readonly searches: ReadPool
  figures(): { total: number; idle: number; waiting: number }
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export interface PoolOptions {
  url: string
  connections: number
  lookupConnections?: number
  searchConnections?: number
  applicationName: string
  times?: Timeouts
  /**
   * Told about connections that broke while idle: nobody waits for them, but the log should say so.
   */
  onIdleError?: (error: Error) => void
}

export function openPool(options: PoolOptions): Pool {
  const {
    url,
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
  const lists = openReadPool({
    url,
    connections: searchConnections,
    applicationName: `${applicationName} lists`,
    times,
    planned: 'each time',
  })
  // Half as many: a hard question keeps a processor busy for a second, and those who read a record
  // need one too.
  const searches = openReadPool({
    url,
    connections: Math.ceil(searchConnections / 2),
    applicationName: `${applicationName} searches`,
    times,
    planned: 'once',
  })
  const { pool, with: withClient } = openClients(
    {
      connectionString: url,
      max: connections,
      application_name: applicationName,
      // The driver's limit stands behind the server's, for a server that no longer answers at all.
      query_timeout: times.writeMs + 1000,
      statement_timeout: times.writeMs,
      lock_timeout: times.waitMs,
      connectionTimeoutMillis: times.waitMs,
      idle_in_transaction_session_timeout: 10_000,
    },
    onIdleError,
  )

  async function transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
    return withClient(async (client) => {
      await send(client, begin, 'not-applied')
      let result: T
      try {
        // Until COMMIT is sent nothing can have been applied, whatever happens to the connection.
        result = await work({ run: (statement) => send(client, statement, 'not-applied') })
      } catch (error) {
        if (!isConnectionLost(error)) await send(client, rollback, 'not-applied')
        throw error
      }
      await send(client, commit, 'unknown')
      return result
    })
  }

  return {
    run: (statement, ifLost = 'unknown') => withClient((client) => send(client, statement, ifLost)),
    // PostgreSQL ends one of two transactions that wait for each other. It did nothing, and may try
    // once more.
    transaction: (work) =>
      transaction(work).catch((error: unknown) => {
        if (error instanceof Unavailable && isDeadlock(error.cause)) return transaction(work)
        throw error
      }),
    lookups,
    lists,
    searches,
    figures: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: async () => {
      await Promise.all([lookups.close(), lists.close(), searches.close(), pool.end()])
    },
  }
}

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
  // A commit whose wait for the synchronous standby was cancelled is reported as done, with this
  // warning beside it. By its code: the words are in the language of the server.
  const listen = (notice: { code?: string | undefined; message?: string | undefined }) => {
    if (notice.code === '01000' || notice.code === '57P01') unconfirmed = new Error(notice.message)
  }
  client.on('notice', listen)
  try {
    const { rows, rowCount } = await tracedQuery(text, () =>
      client.query({ name: statementName(text), text, values: values as unknown[] }),
    )
    if (unconfirmed) throw new Unavailable('unknown', unconfirmed)
    return { rows, count: rowCount ?? 0 }
  } catch (error) {
    throw translateError(error, ifLost)
  } finally {
    client.off('notice', listen)
  }
}
