import pg from 'pg'
import { getTypeParser, Unavailable } from './db.ts'

// Connections that are handed out one at a time. The pool and the searches are made of these.

export interface Clients {
  readonly pool: pg.Pool
  /** A connection for as long as the work takes. */
  with<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T>
}

export function openClients(
  config: pg.PoolConfig,
  onIdleError: (error: Error) => void = () => {},
): Clients {
  const pool = new pg.Pool({
    keepAlive: true,
    // They are few, and a timer for each would be set at every statement.
    idleTimeoutMillis: 0,
    maxLifetimeSeconds: 300,
    types: { getTypeParser },
    ...config,
  })
  // Unheard, the error of an idle connection would end the process.
  pool.on('error', onIdleError)
  // And the error of a connection that is just being handed out, when the pool has stopped
  // listening and we have not begun to.
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
        // After a time-out the driver leaves the connection wedged: only one that is known to be
        // well goes back.
        client.release(broken)
      }
    },
  }
}

export function isConnectionLost(error: unknown): boolean {
  return error instanceof Unavailable && !error.connected
}
