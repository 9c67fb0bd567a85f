import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import pg from 'pg'

// The programs that come with PostgreSQL for whoever uses a server: pg_dump and pg_restore.

type Environment = Readonly<Record<string, string | undefined>>

export interface PostgresProgram {
  readonly file: string
  /** As it says itself, such as 15.18. */
  readonly version: string
  readonly major: number
}

/**
 * One of each major version on this machine, the newest first: where PG_BIN says; else what Debian
 * and its relatives installed, of which several versions stand side by side, and what the path has.
 */
export function findPrograms(name: string, environment: Environment): PostgresProgram[] {
  const installed = '/usr/lib/postgresql'
  const folders = environment.PG_BIN
    ? [environment.PG_BIN]
    : [
        ...(existsSync(installed)
          ? readdirSync(installed).map((version) => join(installed, version, 'bin'))
          : []),
        ...(environment.PATH ?? '').split(delimiter).filter(Boolean),
      ]
  return folders
    .map((folder) => join(folder, name))
    .filter((file) => existsSync(file))
    .flatMap(asProgram)
    .filter(({ major }, index, all) => all.findIndex((it) => it.major === major) === index)
    .sort((a, b) => b.major - a.major)
}

function asProgram(file: string): PostgresProgram[] {
  try {
    const said = execFileSync(file, ['--version'], {
      stdio: 'pipe',
      encoding: 'utf8',
      timeout: 10_000,
    })
    const [, version, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(said) ?? []
    return version === undefined ? [] : [{ file, version, major: Number(major) }]
  } catch {
    return []
  }
}

/**
 * What such a program has to know to reach the same database as we do. All of it goes by the
 * environment: arguments are there for everybody on the machine to read, and of an address in
 * DATABASE_URL the two understand different entities.
 */
export function programEnvironment(url: string, environment: Environment): NodeJS.ProcessEnv {
  const { host, port, user, database, password } = new pg.Client({ connectionString: url })
  const asked = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
  const given: Record<string, string | undefined> = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGDATABASE: database,
    // Without one, both look into the same environment and the same file.
    PGPASSWORD: password || undefined,
    PGSSLMODE: sslMode(asked),
    PGSSLROOTCERT: asked.get('sslrootcert') ?? undefined,
    PGSSLCERT: asked.get('sslcert') ?? undefined,
    PGSSLKEY: asked.get('sslkey') ?? undefined,
    PGCONNECT_TIMEOUT: '5',
    // What they say is read by us.
    LC_ALL: 'C',
  }
  // These would lead elsewhere; we know nothing of them.
  const { DATABASE_URL: _, PGSERVICE: __, PGHOSTADDR: ___, ...rest } = environment
  return {
    ...rest,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  }
}

/** The driver has words of its own for it. */
function sslMode(asked: URLSearchParams): string | undefined {
  const mode = asked.get('sslmode')
  if (mode === 'no-verify') return 'require'
  if (mode !== null) return mode
  const ssl = asked.get('ssl')
  return ssl === null ? undefined : ['1', 'true'].includes(ssl) ? 'require' : 'disable'
}
