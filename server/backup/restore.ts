import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Db } from '../platform/db/db.ts'
import { schemaVersion } from '../platform/db/migrate.ts'
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
  /** The folder of this release's migrations. */
  readonly migrations: string
  say(line: string): void
}

// The rows that say how far the database is come last, when all others were found to be as they
// were: until then 'talkshelf serve' refuses it.
const mark = 'schema_version'

const name = 'talkshelf restore'

/**
 * Into an empty database; all tables at once or none. Fails, and tells each difference, unless it
 * is what was saved.
 */
export async function restore(
  url: string,
  file: string,
  { environment, migrations, say }: RestoreOptions,
): Promise<void> {
  const begun = performance.now()
  const manifest = await readManifest(file)
  const server = await withConnection(url, name, async (db) => {
    const { is, wants } = await schemaVersion(url, migrations)
    if (manifest.schema > wants)
      throw new BackupError(
        `The backup is of schema ${manifest.schema}, made by Talkshelf ${manifest.talkshelf}; this release knows ${wants}.\nRestore it with that release, or a newer one.`,
      )
    const server = await describeServer(db)
    await expectEmpty(db, server.migrated && is === 0)
    await expectRights(db, manifest.extensions)
    return { ...server, wants }
  })
  const program = restoreProgram(manifest, server.major, environment)
  say(
    `Looking at ${file}, made ${manifest.made} by Talkshelf ${manifest.talkshelf} of PostgreSQL ${manifest.postgresql}`,
  )
  await expectWhole(file, manifest)

  const surroundings = programEnvironment(url, environment)
  say(
    `Restoring into PostgreSQL ${server.version}, with pg_restore ${program.version}: all tables or none`,
  )
  await restoreTables(program, file, surroundings)
  await withConnection(url, name, async (db) => {
    for (const table of await listTables(db)) {
      if (table.transactions !== '') await resetTransactionIds(db, table)
      await vacuumTable(db, table)
    }
  })
  say('Reading all of it again')
  const found = await withSnapshot(url, name, (db) =>
    checksumTables(db, { say, wanted: (table) => table !== mark }),
  )
  expectSame({ ...manifest.tables, [mark]: undefined }, found, program, file)
  await restoreMark(program, file, surroundings)
  const marked = await withSnapshot(url, name, (db) =>
    checksumTables(db, { say, wanted: (table) => table === mark }),
  )
  expectSame({ [mark]: manifest.tables[mark] }, marked, program, file)

  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  say(
    `All ${Object.keys(manifest.tables).length} tables are as they were when the backup was made, row for row. It took ${seconds} s.`,
  )
  say(
    `Everything since ${manifest.made} is undone: tokens that were revoked since work again, and records that were taken ` +
      'down and names that were hidden since are public again. Repeat this before you start the server: see "After a restore" ' +
      'in docs/operations.md.',
  )
  if (server.major !== Number.parseInt(manifest.postgresql, 10))
    say(
      'It came from another version of PostgreSQL, which may have other rules for accents: see "Start and upgrade" in docs/operations.md.',
    )
  if (manifest.schema < server.wants)
    say("It is of an earlier release: run 'talkshelf migrate' before 'talkshelf serve'.")
}

async function expectEmpty(db: Db, isUnfinished: boolean): Promise<void> {
  const there = (await listTables(db)).map((table) => table.name)
  if (there.length === 0) return
  const { role, database } = await readPrivileges(db)
  const more = there.length > 4 ? ` and ${there.length - 4} more tables` : ''
  throw new BackupError(
    `The database ${database} is not empty: it has ${there.slice(0, 4).join(', ')}${more}${isUnfinished ? ', from a restore that did not come to its end' : ''}.\n` +
      `Nothing is ever written over. Make an empty one ('createdb --owner=${role} NAME', as a superuser) and name it in DATABASE_URL.`,
  )
}

async function expectRights(db: Db, extensions: readonly string[]): Promise<void> {
  const { role, database, create } = await readPrivileges(db)
  const owner = `Let it own the database: 'alter database ${database} owner to ${role}', as a superuser`
  if (!create)
    throw new BackupError(
      `The role ${role} may not make tables in the database ${database}.\n${owner}.`,
    )
  const missing = await missingExtensions(db, extensions)
  const unknown = missing.filter(({ available }) => !available).map((it) => it.name)
  if (unknown.length > 0)
    throw new BackupError(
      `The server has no extension ${unknown.join(', ')}.\nInstall what comes with PostgreSQL beside the server itself: postgresql-contrib, in most systems.`,
    )
  const refused = missing.filter(({ allowed }) => !allowed).map((it) => it.name)
  if (refused.length > 0)
    throw new BackupError(
      `The role ${role} may not create the extension ${refused.join(', ')}.\n${owner}; or create it there as a superuser: '${refused
        .map((it) => `create extension ${it}`)
        .join('; ')}'.`,
    )
}

/** One that can read the dump; of those the one that is nearest to the server, and rather newer. */
function restoreProgram(
  manifest: BackupManifest,
  serverMajor: number,
  environment: RestoreOptions['environment'],
): PostgresProgram {
  const oldest = Number.parseInt(manifest.pg_dump, 10)
  const found = findPrograms('pg_restore', environment).filter(({ major }) => major >= oldest)
  const program = found.findLast(({ major }) => major >= serverMajor) ?? found[0]
  if (program) return program
  const where = environment.PG_BIN
    ? `in ${environment.PG_BIN}, where PG_BIN points`
    : 'on this machine'
  throw new BackupError(
    `There is no pg_restore ${oldest} or newer ${where}, and the dump was written by pg_dump ${manifest.pg_dump}.\n` +
      `Install postgresql-client-${Math.max(oldest, serverMajor)}, or name the folder of its programs in PG_BIN.`,
  )
}

async function expectWhole(file: string, { dump }: BackupManifest): Promise<void> {
  const another = 'Take another copy of it, or an earlier backup.'
  const { size } = await stat(file).catch((error: Error) => {
    throw new BackupError(`${file} cannot be read: ${error.message}.`)
  })
  if (size !== dump.bytes)
    throw new BackupError(
      `${file} has ${size} bytes, and ${manifestPath(file)} says ${dump.bytes}: it is not whole, or another one.\n${another}`,
    )
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }))
    hash.update(chunk as Buffer)
  if (hash.digest('hex') !== dump.sha256)
    throw new BackupError(
      `${file} is not what was written: its SHA-256 is another than in ${manifestPath(file)}.\n${another}`,
    )
}

// Roles and rights are those of another server perhaps, and who may not own an extension may not
// describe it either.
const plainly = [
  '--exit-on-error',
  '--single-transaction',
  '--no-owner',
  '--no-privileges',
  '--no-comments',
]

async function restoreTables(
  program: PostgresProgram,
  file: string,
  surroundings: NodeJS.ProcessEnv,
): Promise<void> {
  const list = await programOutput(program, ['--list', file], surroundings)
  const folder = await mkdtemp(join(tmpdir(), 'talkshelf-restore-'))
  try {
    const listFile = join(folder, 'list')
    await writeFile(
      listFile,
      list.replaceAll(new RegExp(`^(?=.* TABLE DATA \\S+ ${mark} )`, 'gm'), ';'),
    )
    await programOutput(
      program,
      [...plainly, `--use-list=${listFile}`, databaseOf(surroundings), file],
      surroundings,
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function restoreMark(
  program: PostgresProgram,
  file: string,
  surroundings: NodeJS.ProcessEnv,
): Promise<void> {
  await programOutput(
    program,
    [...plainly, ...onlyMark, databaseOf(surroundings), file],
    surroundings,
  )
}

const onlyMark = ['--data-only', `--table=${mark}`]

/** As a word of its own it could be taken for an address. */
function databaseOf({ PGDATABASE = '' }: NodeJS.ProcessEnv): string {
  return `--dbname=dbname='${PGDATABASE.replaceAll(/[\\']/g, '\\$&')}'`
}

function expectSame(
  then: Parameters<typeof tableDifferences>[0],
  now: Parameters<typeof tableDifferences>[1],
  program: PostgresProgram,
  file: string,
): void {
  const wrong = tableDifferences(then, now)
  if (wrong.length === 0) return
  throw new BackupError(
    `What was restored is not what was saved:\n${wrong.map((line) => `  ${line}`).join('\n')}\n` +
      `The database is there to be looked at, and 'talkshelf serve' refuses it. Restore another backup into another database.\n` +
      `If you have looked, and want this one all the same: ${program.file} ${onlyMark.join(' ')} --dbname=DATABASE_URL ${file}`,
  )
}
