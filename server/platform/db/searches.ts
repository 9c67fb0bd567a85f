import { tracedQuery } from '../ops/trace.ts'
import { openClients } from './clients.ts'
import { type Db, explained, Unavailable } from './db.ts'

// Questions of many shapes, which may take a while: they have connections of their own, so that they keep neither writers nor lookups waiting.
// Their statements are not prepared: there are too many different ones to keep, and PostgreSQL plans each for the very values that are asked for.

/** For each connection. */
const mostWaiting = 10

export interface Searches extends Db {
  close(): Promise<void>
}

export function openSearches({
  url,
  connections,
  applicationName,
}: {
  url: string
  connections: number
  applicationName: string
}): Searches {
  const { pool, with: withClient } = openClients({
    connectionString: url,
    max: connections,
    application_name: applicationName,
    query_timeout: 2600,
    statement_timeout: 2000,
    // A just-in-time compiler helps questions of seconds; ours take milliseconds.
    options: '-c jit=off -c default_transaction_read_only=on',
  })
  return {
    async run({ text, values }) {
      // Better a refusal at once than a place in a long queue, which others would then miss.
      if (pool.waitingCount >= mostWaiting * connections)
        throw new Unavailable('not-applied', new Error('Too many lists and searches are waiting'))
      return withClient(async (client) => {
        try {
          const { rows, rowCount } = await tracedQuery(text, () => client.query({ text, values: values as unknown[] }))
          return { rows, count: rowCount ?? 0 }
        } catch (error) {
          throw explained(error, 'not-applied')
        }
      })
    },
    close: () => pool.end(),
  }
}
