import { tracedQuery } from '../ops/trace.ts'
import type { Timeouts } from '../timeouts.ts'
import { openClients } from './clients.ts'
import { type Db, statementName, translateError, Unavailable } from './db.ts'

// Questions that only read and may take a while: they have connections of their own, so that they
// keep neither writers nor lookups waiting.

/** For each connection. */
const maxWaiting = 20

export interface ReadPool extends Db {
  /** How long all statements of one question may take. */
  readonly longestMs: number
  readonly patienceMs: number
  close(): Promise<void>
}

export interface ReadPoolOptions {
  url: string
  connections: number
  applicationName: string
  times: Timeouts
  /**
   * Lists are of many shapes: there are too many statements to keep, and PostgreSQL plans each for
   * the very values that are asked for. Searches are of few shapes over many slices: planning would
   * take longer than searching, so it is done once a connection, for any words.
   */
  planned: 'each time' | 'once'
}

export function openReadPool({
  url,
  connections,
  applicationName,
  times,
  planned,
}: ReadPoolOptions): ReadPool {
  const { pool, with: withClient } = openClients({
    connectionString: url,
    max: connections,
    application_name: applicationName,
    connectionTimeoutMillis: times.waitMs,
    query_timeout: times.readMs + 600,
    statement_timeout: times.readMs,
    // A just-in-time compiler helps questions of seconds; ours take milliseconds.
    options: `-c jit=off -c default_transaction_read_only=on${planned === 'once' ? ' -c plan_cache_mode=force_generic_plan -c enable_seqscan=off' : ''}`,
  })
  return {
    longestMs: times.searchMs,
    patienceMs: times.patienceMs,
    async run({ text, values }) {
      // Better a refusal at once than a place in a long queue, which others would then miss.
      if (pool.waitingCount >= maxWaiting * connections)
        throw new Unavailable('not-applied', new Error('Too many lists and searches are waiting'))
      return withClient(async (client) => {
        try {
          const { rows, rowCount } = await tracedQuery(text, () =>
            client.query({
              ...(planned === 'once' && { name: statementName(text) }),
              text,
              values: values as unknown[],
            }),
          )
          return { rows, count: rowCount ?? 0 }
        } catch (error) {
          throw translateError(error, 'not-applied')
        }
      })
    },
    close: () => pool.end(),
  }
}
