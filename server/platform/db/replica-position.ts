import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { getTypeParser } from './db.ts'
import { driverUrl } from './driver-url.ts'

// Asks servers how far they are in the write-ahead log.

/** How far the log of the primary went when it was asked. */
export interface PrimaryPosition {
  /** Bytes since the beginning of the log: the end of its last record, written or not. */
  readonly position: number
  readonly written: number
  readonly timeline: number
  /** Identifies the database: a restored or copied one differs. */
  readonly database: string
}

/** How far a replica has replayed. */
export interface ReplicaPosition {
  readonly position: number | null
  readonly timeline: number
  readonly database: string
  /** False for a server that was promoted, or that never was a replica. */
  readonly is_in_recovery: boolean
}

const database = `
  (select system_identifier || '.' || pg_database.oid
   from pg_control_system(), pg_database
   where datname = current_database()) as database`

/** Fails on a server in recovery: it is no primary. */
export const askPrimary = `
  select
    (pg_current_wal_insert_lsn() - '0/0')::bigint as position,
    (pg_current_wal_lsn() - '0/0')::bigint as written,
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer as timeline,
    ${database}`

/**
 * The timeline of the stream is visible to roles with pg_read_all_stats. Others see that of the last
 * restart point, which follows a failover after some minutes.
 */
export const askReplica = `
  select
    pg_is_in_recovery() as is_in_recovery,
    (pg_last_wal_replay_lsn() - '0/0')::bigint as position,
    coalesce(
      (select received_tli from pg_stat_wal_receiver),
      (select timeline_id from pg_control_checkpoint())
    ) as timeline,
    ${database}`

/** The size of a page of the log, and of the headers with which pages begin. */
const [pageBytes, headerBytes] = [8192, [24, 40]]

/** Returns the end of the last record if nothing follows the header of a page. */
export function withoutPageHeader(position: number): number {
  const inPage = position % pageBytes
  return headerBytes.includes(inPage) ? position - inPage : position
}

/**
 * Makes the primary write all of its log. Otherwise replicas get the log of a transaction that is
 * still open only with the next commit. An empty transaction with an id is such a commit. It waits
 * for neither the disk nor a standby.
 */
export const completeLog = 'select pg_current_xact_id()::text'

export interface AskOptions<Answer> {
  readonly url: string
  readonly applicationName: string
  readonly statement: string
  readonly intervalMs: number
  /** For connecting and for each answer. */
  readonly timeoutMs: number
  /** `askedMs` is the time before the question, on the clock of performance.now(). */
  onAnswer(answer: Answer, askedMs: number): void
  onError(error: Error): void
  /** Returns a statement to run after an answer, or undefined. */
  after?(): string | undefined
}

/** Asks a server again and again, over a connection of its own, until the signal aborts. */
export async function keepAsking<Answer>(
  options: AskOptions<Answer>,
  signal: AbortSignal,
): Promise<void> {
  const { url, applicationName, statement, intervalMs, timeoutMs, onAnswer, onError } = options
  let client: pg.Client | undefined
  // Not awaited: the end of a connection that is frozen never comes.
  const disconnect = () => {
    void client?.end().catch(() => {})
    client = undefined
  }
  while (!signal.aborted) {
    try {
      client ??= await connect(url, applicationName, timeoutMs)
      const askedMs = performance.now()
      const { rows } = await client.query(statement)
      if (signal.aborted) break
      onAnswer(rows[0], askedMs)
      const next = options.after?.()
      if (next !== undefined) await client.query(next)
    } catch (error) {
      disconnect()
      if (!signal.aborted) onError(error as Error)
    }
    await sleep(intervalMs, undefined, { ref: false, signal }).catch(() => {})
  }
  disconnect()
}

async function connect(url: string, name: string, timeoutMs: number): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: driverUrl(url),
    application_name: name,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    types: { getTypeParser },
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    void client.end().catch(() => {})
    throw error
  }
}
