import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { driverUrl } from './driver-url.ts'

// Finds and configures the PostgreSQL client programs, such as pg_dump and pg_restore.

type Environment = Readonly<Record<string, string | undefined>>

export interface PostgresProgram {
  readonly file: string
  /** As printed by --version, such as 15.18. */
  readonly version: string
  readonly major: number
}

/**
 * Finds a program in each installed major version, the newest first. Searches PG_BIN alone if it is
 * set; otherwise the directories of the Debian packages, then PATH.
 */
export function findPrograms(name: string, environment: Environment): PostgresProgram[] {
  return programFolders(environment)
    .map((folder) => join(folder, name))
    .filter((file) => existsSync(file))
    .flatMap(asProgram)
    .filter(({ major }, index, all) => all.findIndex((other) => other.major === major) === index)
    .sort((a, b) => b.major - a.major)
}

function programFolders(environment: Environment): string[] {
  if (environment.PG_BIN) return [environment.PG_BIN]
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian) : []
  return [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(environment.PATH ?? '').split(delimiter).filter(Boolean),
  ]
}

function asProgram(file: string): PostgresProgram[] {
  try {
    const output = execFileSync(file, ['--version'], {
      stdio: 'pipe',
      encoding: 'utf8',
      timeout: 10_000,
    })
    const [, version, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(output) ?? []
    return version === undefined ? [] : [{ file, version, major: Number(major) }]
  } catch {
    return []
  }
}

/**
 * Returns the environment in which such a program connects to the same database as the server.
 * Nothing is passed in arguments, because every user of the machine can read those, and the URL is
 * not passed either, because libpq and the driver interpret its parameters differently.
 */
export function programEnvironment(url: string, environment: Environment): NodeJS.ProcessEnv {
  const { host, port, user, database, password } = new pg.Client({
    connectionString: driverUrl(url),
  })
  const urlParams = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
  const variables: Record<string, string | undefined> = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGDATABASE: database,
    // Without a password, both read the same environment variable and the same password file.
    PGPASSWORD: password || undefined,
    PGSSLMODE: sslMode(urlParams),
    PGSSLROOTCERT: urlParams.get('sslrootcert') ?? undefined,
    PGSSLCERT: urlParams.get('sslcert') ?? undefined,
    PGSSLKEY: urlParams.get('sslkey') ?? undefined,
    PGCONNECT_TIMEOUT: '5',
    // The output is parsed, so it must be in English.
    LC_ALL: 'C',
  }
  // libpq would use these to connect elsewhere; the driver ignores them.
  const { DATABASE_URL: _, PGSERVICE: __, PGHOSTADDR: ___, ...rest } = environment
  return {
    ...rest,
    ...Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined)),
  }
}

/** Converts the SSL parameters of the driver to an sslmode of libpq. */
function sslMode(urlParams: URLSearchParams): string | undefined {
  const mode = urlParams.get('sslmode')
  if (mode === 'no-verify') return 'require'
  if (mode !== null) return mode
  const ssl = urlParams.get('ssl')
  if (ssl === null) return undefined
  return ['1', 'true'].includes(ssl) ? 'require' : 'disable'
}
