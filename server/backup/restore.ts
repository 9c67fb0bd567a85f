import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Db } from '../platform/db/db.ts'
import { schemaStatus } from '../platform/db/migrate.ts'
import { findPrograms, type PostgresProgram, programEnvironment } from '../platform/db/programs.ts'
import { withConnection, withSnapshot } from '../platform/db/snapshot.ts'
import {
  BackupError,
  type BackupManifest,
  checksumTables,
  manifestPath,
  readManifest,
  tableDifferences,
} from './manifest.ts'
import { programOutput } from './program.ts'
import {
  describeServer,
  listTables,
  missingExtensions,
  readPrivileges,
  resetTransactionIds,
  vacuumTable,
} from './queries.ts'

export interface RestoreOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The folder with the migrations and triggers of this release. */
  readonly schemaFolder: string
  say(line: string): void
}

// The rows of this table are restored last, when all others have been verified: until then
// 'talkshelf serve' refuses the database.
const versionTable = 'schema_version'

const applicationName = 'talkshelf restore'

/**
 * Restores a dump into an empty database, either all tables or none, and verifies the checksum of
 * each table. Returns the manifest. Throws a BackupError that lists the differences.
 */
export async function restore(
  url: string,
  file: string,
  { environment, schemaFolder, say }: RestoreOptions,
): Promise<BackupManifest> {
  const startMs = performance.now()
  const manifest = await readManifest(file)
  const server = await withConnection(url, applicationName, async (db) => {
    const { current, expected: supported } = await schemaStatus(url, schemaFolder)
    if (manifest.schema > supported)
      throw new BackupError(
        `The backup is of schema ${manifest.schema}, made by Talkshelf ${manifest.talkshelf}; ` +
          `this release supports up to ${supported}.\nRestore it with that release or a newer one.`,
      )
    const server = await describeServer(db)
    await assertEmpty(db, server.migrated && current === 0)
    await assertPrivileges(db, manifest.extensions)
    return { ...server, supported }
  })
  const program = findRestoreProgram(manifest, server.major, environment)
  say(
    `Verifying ${file}, made ${manifest.made} by Talkshelf ${manifest.talkshelf} ` +
      `from PostgreSQL ${manifest.postgresql}`,
  )
  await assertUnchanged(file, manifest)

  const programEnv = programEnvironment(url, environment)
  say(
    `Restoring into PostgreSQL ${server.version} with pg_restore ${program.version}, ` +
      'in one transaction',
  )
  await restoreTables(program, file, programEnv)
  await finishTables(url)
  say('Verifying the restored tables')
  const { [versionTable]: versionChecksum, ...checksums } = manifest.tables
  const checksumsOf = (isIncluded: (table: string) => boolean) =>
    withSnapshot(url, applicationName, (db) => checksumTables(db, { say, isIncluded }))
  assertEqual(checksums, await checksumsOf((table) => table !== versionTable), program, file)
  await restoreVersion(program, file, programEnv)
  assertEqual(
    { [versionTable]: versionChecksum },
    await checksumsOf((table) => table === versionTable),
    program,
    file,
  )

  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  const tableCount = Object.keys(manifest.tables).length
  say(
    `Restored ${tableCount} tables in ${seconds} s. ` +
      'All rows are identical to those of the backup.',
  )
  reportNextSteps(manifest, server, say)
  return manifest
}

function reportNextSteps(
  manifest: BackupManifest,
  server: { readonly major: number; readonly supported: number },
  say: RestoreOptions['say'],
): void {
  say(
    `All changes since ${manifest.made} are undone: tokens that were revoked since then work ` +
      'again, and records that were taken down and names that were hidden are public again. ' +
      "Before you start the server, run 'talkshelf access restrict FILE' and repeat the others: " +
      'see "After a restore" in docs/operations.md.',
  )
  if (server.major !== Number.parseInt(manifest.postgresql, 10))
    say(
      'The backup is from another version of PostgreSQL, which may treat accents differently: ' +
        'see "Start and upgrade" in docs/operations.md.',
    )
  if (manifest.schema < server.supported)
    say("The backup is from an earlier release: run 'talkshelf migrate' before 'talkshelf serve'.")
}

/** Resets the transaction ids of the old server, and vacuums all tables. */
async function finishTables(url: string): Promise<void> {
  await withConnection(url, applicationName, async (db) => {
    for (const table of await listTables(db)) {
      if (table.transactions !== '') await resetTransactionIds(db, table)
      await vacuumTable(db, table)
    }
  })
}

async function assertEmpty(db: Db, isUnfinished: boolean): Promise<void> {
  const tables = (await listTables(db)).map((table) => table.name)
  if (tables.length === 0) return
  const { role, database } = await readPrivileges(db)
  const names = tables.slice(0, 4).join(', ')
  const origin = isUnfinished ? ', from an interrupted restore' : ''
  const more = tables.length > 4 ? ` and ${tables.length - 4} more tables` : ''
  throw new BackupError(
    `The database ${database} is not empty: it has ${names}${more}${origin}.\n` +
      `A restore never overwrites data. Create an empty database ` +
      `('createdb --owner=${role} NAME', as a superuser) and set DATABASE_URL to it.`,
  )
}

async function assertPrivileges(db: Db, extensions: readonly string[]): Promise<void> {
  const { role, database, create } = await readPrivileges(db)
  const alter = `'alter database ${database} owner to ${role}'`
  const owner = `Make it the owner of the database: ${alter}, as a superuser`
  if (!create)
    throw new BackupError(
      `The role ${role} cannot create tables in the database ${database}.\n${owner}.`,
    )
  const missing = await missingExtensions(db, extensions)
  const unavailable = missing.filter(({ available }) => !available).map(({ name }) => name)
  if (unavailable.length > 0)
    throw new BackupError(
      `The server does not have the extension ${unavailable.join(', ')}.\n` +
        'Install the additional modules of PostgreSQL, postgresql-contrib on most systems.',
    )
  const forbidden = missing.filter(({ allowed }) => !allowed).map(({ name }) => name)
  if (forbidden.length === 0) return
  const statements = forbidden.map((extension) => `create extension ${extension}`).join('; ')
  throw new BackupError(
    `The role ${role} cannot create the extension ${forbidden.join(', ')}.\n` +
      `${owner}; or create it there as a superuser: '${statements}'.`,
  )
}

/** Finds a pg_restore that can read the dump: the closest to the server, preferably not older. */
function findRestoreProgram(
  manifest: BackupManifest,
  serverMajor: number,
  environment: RestoreOptions['environment'],
): PostgresProgram {
  const oldest = Number.parseInt(manifest.pg_dump, 10)
  const programs = findPrograms('pg_restore', environment).filter(({ major }) => major >= oldest)
  const program = programs.findLast(({ major }) => major >= serverMajor) ?? programs[0]
  if (program) return program
  const where = environment.PG_BIN ? `in ${environment.PG_BIN} (PG_BIN)` : 'on this machine'
  throw new BackupError(
    `There is no pg_restore ${oldest} or newer ${where}, ` +
      `and the dump was written by pg_dump ${manifest.pg_dump}.\n` +
      `Install postgresql-client-${Math.max(oldest, serverMajor)}, ` +
      'or set PG_BIN to the folder of its programs.',
  )
}

/** Checks the size and the checksum of the dump. */
async function assertUnchanged(file: string, { dump }: BackupManifest): Promise<void> {
  const hint = 'Use another copy, or an earlier backup.'
  const { size } = await stat(file).catch((error: Error) => {
    throw new BackupError(`Cannot read ${file}: ${error.message}.`)
  })
  if (size !== dump.bytes)
    throw new BackupError(
      `${file} has ${size} bytes, but ${manifestPath(file)} expects ${dump.bytes}: ` +
        `it is incomplete, or from another backup.\n${hint}`,
    )
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }))
    hash.update(chunk as Buffer)
  if (hash.digest('hex') !== dump.sha256)
    throw new BackupError(
      `${file} is corrupt: ` + `its SHA-256 does not match ${manifestPath(file)}.\n${hint}`,
    )
}

// The roles of the dump may not exist here, and only the owner of an extension can comment on it.
const commonArgs = [
  '--exit-on-error',
  '--single-transaction',
  '--no-owner',
  '--no-privileges',
  '--no-comments',
]

/** Restores everything but the rows of the version table. */
async function restoreTables(
  program: PostgresProgram,
  file: string,
  programEnv: NodeJS.ProcessEnv,
): Promise<void> {
  const list = await programOutput(program, ['--list', file], programEnv)
  const folder = await mkdtemp(join(tmpdir(), 'talkshelf-restore-'))
  try {
    const listFile = join(folder, 'list')
    await writeFile(
      listFile,
      list.replaceAll(new RegExp(`^(?=.* TABLE DATA \\S+ ${versionTable} )`, 'gm'), ';'),
    )
    await programOutput(
      program,
      [...commonArgs, `--use-list=${listFile}`, databaseArg(programEnv), file],
      programEnv,
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function restoreVersion(
  program: PostgresProgram,
  file: string,
  programEnv: NodeJS.ProcessEnv,
): Promise<void> {
  await programOutput(
    program,
    [...commonArgs, ...versionArgs, databaseArg(programEnv), file],
    programEnv,
  )
}

const versionArgs = ['--data-only', `--table=${versionTable}`]

/** Quotes the name of the database, because pg_restore takes one that looks like a URL as such. */
function databaseArg({ PGDATABASE = '' }: NodeJS.ProcessEnv): string {
  return `--dbname=dbname='${PGDATABASE.replaceAll(/[\\']/g, '\\$&')}'`
}

function assertEqual(
  expected: Parameters<typeof tableDifferences>[0],
  actual: Parameters<typeof tableDifferences>[1],
  program: PostgresProgram,
  file: string,
): void {
  const differences = tableDifferences(expected, actual)
  if (differences.length === 0) return
  const list = differences.map((line) => `  ${line}`).join('\n')
  throw new BackupError(
    `The restored data differs from the backup:\n${list}\n` +
      "The database is left for inspection; 'talkshelf serve' refuses it. " +
      'Restore another backup into another database.\n' +
      'To use this one despite the differences, run: ' +
      `${program.file} ${versionArgs.join(' ')} --dbname=DATABASE_URL ${file}`,
  )
}
