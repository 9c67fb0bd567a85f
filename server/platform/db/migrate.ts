import pg from 'pg'
import Postgrator from 'postgrator'

// Migrations are plain SQL, forward only. All that are missing run in one transaction, together with the table that says which
// ran: after a crash in the middle nothing has happened. A lock lets one process do it while others wait.

const lock = 7_351_902_644

export interface Migration {
  version: number
  name: string
}

export async function migrate(url: string, folder: string): Promise<Migration[]> {
  return withClient(
    url,
    async (client, postgrator) => {
      await client.query('begin')
      await client.query('select pg_advisory_xact_lock($1)', [lock])
      const done = await postgrator.migrate()
      await client.query('commit')
      return done.map(({ version, name }) => ({ version, name }))
    },
    folder,
  )
}

/** How far the database is, and how far this release wants it to be. */
export async function schemaVersion(url: string, folder: string): Promise<{ is: number; wants: number }> {
  return withClient(
    url,
    async (_, postgrator) => {
      const is = await postgrator.getDatabaseVersion().catch((error: { code?: string }) => {
        // No table yet: nothing has been applied.
        if (error.code === '42P01') return 0
        throw error
      })
      return { is, wants: await postgrator.getMaxVersion() }
    },
    folder,
  )
}

async function withClient<T>(url: string, work: (client: pg.Client, postgrator: Postgrator) => Promise<T>, folder: string): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000, application_name: 'talkshelf migrate' })
  client.on('error', () => {})
  await client.connect()
  try {
    const postgrator = new Postgrator({
      driver: 'pg',
      migrationPattern: `${folder}/*.sql`,
      schemaTable: 'schema_version',
      execQuery: (query) => client.query(query),
    })
    return await work(client, postgrator)
  } finally {
    await client.end()
  }
}
