import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { findPrograms, type PostgresProgram, programEnvironment } from '../platform/db/programs.ts'
import { type Snapshot, withSnapshot } from '../platform/db/snapshot.ts'
import { describeWriteError, syncFolder } from '../platform/files.ts'
import { version } from '../version.ts'
import {
  BackupError,
  type BackupManifest,
  checksumTables,
  emptiedTables,
  manifestPath,
} from './manifest.ts'
import { type RunningProgram, runProgram } from './program.ts'
import { describeServer, readSchemaVersion } from './queries.ts'

// `talkshelf backup` and `talkshelf restore`: a dump of the whole database, with a manifest of the
// number of rows and the checksum of each table. A restore verifies both.

export { BackupError } from './manifest.ts'
export { restore } from './restore.ts'

export interface BackupContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  say(line: string): void
}

/**
 * Writes a dump and its manifest, both from one consistent snapshot. The dump is called FILE.part
 * until it is complete and its manifest is written. A killed process can leave FILE.part and a
 * manifest behind, but no incomplete FILE. Throws `BackupError` with a message for the user.
 */
export async function backup(
  url: string,
  file: string,
  { environment, say }: BackupContext,
): Promise<BackupManifest> {
  if (existsSync(file))
    throw new BackupError(
      `${file} already exists. Backups never overwrite a file: choose another name.`,
    )
  const startMs = performance.now()
  return withSnapshot(url, 'talkshelf backup', async (db) => {
    const server = await describeServer(db)
    const schema = server.migrated ? await readSchemaVersion(db) : 0
    if (schema === 0) throw new BackupError('This database has no archive. Check DATABASE_URL.')
    const program = dumpProgram(server.major, environment)
    const part = await openPart(`${file}.part`)
    try {
      say(`Backing up PostgreSQL ${server.version} to ${file} with pg_dump ${program.version}`)
      const programEnv = programEnvironment(url, environment)
      const { dump, tables } = await writeDump(db, program, programEnv, part, say)
      await part.sync()
      const manifest: BackupManifest = {
        format: 1,
        made: server.now,
        talkshelf: version,
        schema,
        postgresql: server.version,
        pg_dump: program.version,
        extensions: server.extensions,
        dump,
        tables,
      }
      await writeManifest(manifestPath(file), manifest)
      await rename(`${file}.part`, file)
      await syncFolder(dirname(file))
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
      say(
        `Wrote ${megabytes(dump.bytes)} to ${file} in ${seconds} s. ` +
          `Keep ${manifestPath(file)} with it: restore needs both files.`,
      )
      return manifest
    } catch (error) {
      await rm(`${file}.part`, { force: true })
      throw toBackupError(error, file)
    } finally {
      await part.close()
    }
  })
}

/**
 * Finds a pg_dump of the major version of the server, or of the next newer one, so that the
 * programs of the server can read its dump.
 */
function dumpProgram(
  serverMajor: number,
  environment: BackupContext['environment'],
): PostgresProgram {
  const programs = findPrograms('pg_dump', environment)
  const program = programs.findLast(({ major }) => major >= serverMajor)
  if (program) return program
  const where = environment.PG_BIN ? ` in ${environment.PG_BIN} (PG_BIN)` : ' on this machine'
  const problem = programs[0]
    ? `The server is PostgreSQL ${serverMajor}, ` +
      `and the newest pg_dump${where} is ${programs[0].version}.`
    : `There is no pg_dump${where}.`
  throw new BackupError(
    `${problem}\n` +
      `Install postgresql-client-${serverMajor}, or set PG_BIN to the folder of its programs.`,
  )
}

/** Writes the dump and computes the checksums at the same time. If one fails, stops the other. */
async function writeDump(
  db: Snapshot,
  program: PostgresProgram,
  environment: NodeJS.ProcessEnv,
  part: FileHandle,
  say: BackupContext['say'],
): Promise<Pick<BackupManifest, 'dump' | 'tables'>> {
  const stop = new AbortController()
  // Compression level 1 takes a quarter of the time of the default, 6, for a file that is a sixth
  // larger.
  const args = [
    '--format=custom',
    '--compress=1',
    `--snapshot=${db.id}`,
    '--lock-wait-timeout=60s',
    ...emptiedTables.map((table) => `--exclude-table-data=*.${table}`),
  ]
  const running = runProgram(program, args, environment, stop.signal)
  try {
    const [dump, tables] = await Promise.all([
      writeOutput(running, part, say),
      checksumTables(db, { say, signal: stop.signal, emptied: emptiedTables }),
    ])
    return { dump, tables }
  } catch (error) {
    stop.abort()
    throw error
  }
}

/** Writes the output of a program to a file, and computes its size and checksum. */
async function writeOutput(
  { stdout, ended }: RunningProgram,
  part: FileHandle,
  say: BackupContext['say'],
): Promise<BackupManifest['dump']> {
  const hash = createHash('sha256')
  let bytes = 0
  let nextReportMs = performance.now() + 10_000
  for await (const chunk of stdout) {
    hash.update(chunk)
    await part.appendFile(chunk)
    bytes += chunk.length
    if (performance.now() < nextReportMs) continue
    nextReportMs += 10_000
    say(`- ${megabytes(bytes)} written`)
  }
  await ended
  return { bytes, sha256: hash.digest('hex') }
}

async function openPart(part: string): Promise<FileHandle> {
  return open(part, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new BackupError(
        `${part} exists: another backup is running or was interrupted. ` +
          'Remove the file if no backup is running.',
      )
    throw toBackupError(error, part)
  })
}

async function writeManifest(file: string, manifest: BackupManifest): Promise<void> {
  const handle = await open(`${file}.part`, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(manifest, undefined, 2)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.part`, file)
}

/** Turns an expected error into one with a hint; returns any other unchanged. */
function toBackupError(error: unknown, file: string): unknown {
  const message = describeWriteError(error, file)
  return message === undefined ? error : new BackupError(message)
}

const megabytes = (bytes: number) =>
  `${(bytes / 1_000_000).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
