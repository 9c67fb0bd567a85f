import pg from 'pg'
import type { PoolFigures } from '../ops/metrics.ts'
import { getTypeParser, Unavailable } from './db.ts'

// A pg.Pool with the settings and the error handling that the main pool and the read pools share.

export interface Clients {
  readonly pool: pg.Pool
  /** Runs the work with a connection of its own and releases the connection afterwards. */
  with<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>
}

/**
 * Returns the settings of a connection, for the startup message. JIT compilation pays off for
 * queries of seconds; those of the service take milliseconds.
 */
export function sessionOptions(settings: readonly string[] = []): string {
  return ['jit=off', ...settings].map((setting) => `-c ${setting}`).join(' ')
}

/** Returns the connection counts of a pool. */
export function figuresOf(pool: pg.Pool): PoolFigures {
  const { totalCount: total, idleCount: idle, waitingCount: waiting, options } = pool
  return { total, idle, waiting, max: options.max }
}

/** Opens a pool of connections. `onIdleError` receives errors of connections that are idle. */
export function openClients(
  config: pg.PoolConfig,
  onIdleError: (error: Error) => void = () => {},
): Clients {
  const pool = new pg.Pool({
    keepAlive: true,
    // Connections are few and never closed when idle: the driver would set a timer per statement.
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: 300,
    types: { getTypeParser },
    options: sessionOptions(),
    ...config,
  })
  // Without a listener, the error of an idle connection would end the process.
  pool.on('error', onIdleError)
  // So would the error of a connection that is being checked out: the pool has already removed its
  // listener, and `with` has not yet added one.
  pool.on('connect', (client) => client.on('error', () => {}))

  return {
    pool,
    async with(work) {
      const client = await pool.connect().catch((error: unknown) => {
        throw new Unavailable('not-applied', error)
      })
      let broken = false
      try {
        return await work(client)
      } catch (error) {
        broken = isConnectionLost(error)
        throw error
      } finally {
        // After a timeout the driver leaves the connection unusable, so a broken one is closed.
        client.release(broken)
      }
    },
  }
}

/** Tells whether an error means that the connection can no longer be used. */
export function isConnectionLost(error: unknown): boolean {
  return error instanceof Unavailable && !error.connected
}
