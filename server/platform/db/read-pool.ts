import { tracedQuery } from '../ops/trace.ts'
import type { Timeouts } from '../timeouts.ts'
import { openClients, sessionOptions } from './clients.ts'
import { type Db, statementName, translateError, Unavailable } from './db.ts'
import { driverUrl } from './driver-url.ts'

// A pool for read-only queries that may take a while. Its connections are separate, so that these
// queries delay neither writes nor lookups.

const maxWaitingPerConnection = 20

export interface ReadPool extends Db {
  /** Timeout for all statements of one search. */
  readonly longestMs: number
  /** After this time a search does not try another form of the query. */
  readonly patienceMs: number
  close(): Promise<void>
}

export interface ReadPoolOptions {
  url: string
  connections: number
  applicationName: string
  times: Timeouts
  /**
   * Lists have too many different statements to prepare, and PostgreSQL plans each for its values.
   * Searches have few statements over many partitions: planning would take longer than searching,
   * so it is done once per connection, for any values.
   */
  planned: 'each time' | 'once'
}

/** Opens a pool of connections whose transactions are read-only. */
export function openReadPool({
  url,
  connections,
  applicationName,
  times,
  planned,
}: ReadPoolOptions): ReadPool {
  const isPrepared = planned === 'once'
  const settings = ['default_transaction_read_only=on']
  if (isPrepared)
    settings.push(
      'plan_cache_mode=force_generic_plan',
      'enable_seqscan=off',
      // A short word with two letters exchanged has less than half of its trigrams left.
      'pg_trgm.word_similarity_threshold=0.4',
    )
  const { pool, with: withClient } = openClients({
    connectionString: driverUrl(url),
    max: connections,
    application_name: applicationName,
    connectionTimeoutMillis: times.waitMs,
    query_timeout: times.readMs + 600,
    statement_timeout: times.readMs,
    options: sessionOptions(settings),
  })
  return {
    longestMs: times.searchMs,
    patienceMs: times.patienceMs,
    async run({ text, values }) {
      // An immediate error is better than a timeout at the end of a long queue.
      if (pool.waitingCount >= maxWaitingPerConnection * connections)
        throw new Unavailable('not-applied', new Error('Too many lists and searches are queued'))
      return withClient(async (client) => {
        try {
          const { rows, rowCount } = await tracedQuery(text, () =>
            client.query({
              ...(isPrepared && { name: statementName(text) }),
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
