import { AsyncLocalStorage } from 'node:async_hooks'
import { type AdmissionFigures, NotAdmitted, openAdmission } from '../ops/admission.ts'
import type { PoolFigures } from '../ops/metrics.ts'
import { tracedQuery } from '../ops/trace.ts'
import type { Timeouts } from '../timeouts.ts'
import { figuresOf, openClients, sessionOptions } from './clients.ts'
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
  /**
   * Runs all statements of one search, most of them one after another. As many searches run at once
   * as there are connections; the others wait. Throws Unavailable if that would take too long.
   */
  admit<T>(search: () => Promise<T>): Promise<T>
  /** Tells whether as many searches run as may run at once. */
  isFull(): boolean
  /** Connection counts, for metrics. */
  figures(): PoolFigures
  /** The searches that run and wait, for metrics. */
  searchFigures(): AdmissionFigures
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
  /** Called before each statement, when it has its connection. Throws if it must not run. */
  beforeStatement?: (() => void) | undefined
}

const deadlines = new AsyncLocalStorage<number>()

/** Runs work whose statements on read pools all begin before a moment; later ones fail. */
export function withStatementsUntil<T>(untilMs: number, work: () => Promise<T>): Promise<T> {
  return deadlines.run(untilMs, work)
}

/** Tells whether no statement of this work may begin any more. */
export function isPastDeadline(): boolean {
  return performance.now() > (deadlines.getStore() ?? Number.POSITIVE_INFINITY)
}

/** Opens a pool of connections whose transactions are read-only. */
export function openReadPool({
  url,
  connections,
  applicationName,
  times,
  planned,
  beforeStatement,
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
  const admission = openAdmission({
    maxRunning: connections,
    // A search keeps a processor busy: one client must not take all.
    maxRunningPerClient: Math.ceil(connections / 2),
    maxWaiting: maxWaitingPerConnection * connections,
    // Then there is still time to run most searches.
    maxWaitMs: times.waitMs / 2,
  })
  return {
    longestMs: times.searchMs,
    patienceMs: times.patienceMs,
    async admit(search) {
      try {
        return await admission.run(search)
      } catch (error) {
        throw error instanceof NotAdmitted ? new Unavailable('not-applied', error) : error
      }
    },
    isFull: () => admission.figures().running >= connections,
    figures: () => figuresOf(pool),
    searchFigures: admission.figures,
    async run({ text, values }) {
      if (isPastDeadline())
        throw new Unavailable('not-applied', new Error('The deadline has passed'))
      // An immediate error is better than a timeout at the end of a long queue.
      if (pool.waitingCount >= maxWaitingPerConnection * connections)
        throw new Unavailable('not-applied', new Error('Too many lists and searches are queued'))
      return withClient(async (client) => {
        beforeStatement?.()
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
