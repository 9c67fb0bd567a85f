import pg from 'pg'

// Restores a database to an earlier state in about 30 ms; cloning or truncating one takes half a
// second. Triggers are disabled meanwhile, which requires a superuser.

/** Neither saved nor restored: filled by migrations, or cached by a running app. */
const excludedTables = ['schema_version', 'trigger_file', 'language', 'token']

export interface SavedStates {
  /** Saves all rows under this name. */
  save(name: string): Promise<void>
  restore(name: string): Promise<void>
  close(): Promise<void>
}

/** Opens a connection that saves and restores the rows of a database. */
export async function openSavedStates(databaseUrl: string): Promise<SavedStates> {
  const url = new URL(process.env.TEST_DATABASE_URL ?? '')
  url.pathname = new URL(databaseUrl).pathname
  const client = new pg.Client({ connectionString: url.href })
  client.on('error', () => {})
  await client.connect()
  await client.query('set session_replication_role = replica')
  const { rows: tables } = await client.query<{
    name: string
    columns: string
    sequence: string | null
  }>(
    `select relname as name,
            string_agg(quote_ident(attname), ', ') as columns,
            max(pg_get_serial_sequence(relname, attname)) as sequence
     from pg_class
     join pg_attribute on attrelid = pg_class.oid
     where relnamespace = 'public'::regnamespace
       and relkind in ('r', 'p')
       and not relispartition
       and attnum > 0
       and not attisdropped
       and attgenerated = ''
       and relname <> all ($1)
     group by relname`,
    [excludedTables],
  )
  /**
   * Runs statements in one transaction, which waits for running import batches. Repeats it after a
   * deadlock with another background task of the app, such as the change feed.
   */
  async function run(statements: readonly string[], attemptsLeft = 10): Promise<void> {
    try {
      await client.query(`begin; lock table import; ${statements.join('; ')}; commit`)
    } catch (error) {
      await client.query('rollback')
      const isDeadlock = error instanceof pg.DatabaseError && error.code === '40P01'
      if (!isDeadlock || attemptsLeft === 0) throw error
      await run(statements, attemptsLeft - 1)
    }
  }
  return {
    async save(name) {
      await run([
        `create schema ${name}`,
        ...tables.map(
          (table) => `
            create table ${name}.${table.name} as
            select ${table.columns}
            from ${table.name}`,
        ),
        ...tables.flatMap(({ name: table, sequence }) =>
          sequence
            ? [
                `create table ${name}.${table}_sequence as
                 select last_value, is_called
                 from ${sequence}`,
              ]
            : [],
        ),
      ])
    },
    async restore(name) {
      await run(
        tables.flatMap(({ name: table, columns, sequence }) => [
          `delete from ${table}`,
          `insert into ${table} (${columns}) overriding system value
           select ${columns}
           from ${name}.${table}`,
          ...(sequence
            ? [`select setval('${sequence}', last_value, is_called) from ${name}.${table}_sequence`]
            : []),
        ]),
      )
    },
    close: () => client.end(),
  }
}
