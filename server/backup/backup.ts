import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { findPrograms, type PostgresProgram, programEnvironment } from '../platform/db/programs.ts'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { version } from '../version.ts'
import { BackupError, type BackupManifest, checksumTables, manifestPath } from './manifest.ts'
import { type RunningProgram, runProgram } from './program.ts'
import { describeServer, readSchema } from './queries.ts'

// `talkshelf backup` and `talkshelf restore`: a dump of the whole database, and beside it how many
// rows each table had and what they added up to. Whoever restores it counts again.

export { BackupError } from './manifest.ts'
export { restore } from './restore.ts'

export interface BackupContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  say(line: string): void
}

/**
 * Dump and sums are of one moment, whoever writes meanwhile. Until all of it is on the disk it is
 * called FILE.part: a FILE is a whole one. Who is killed leaves that part, and nothing else.
 */
export async function backup(
  url: string,
  file: string,
  { environment, say }: BackupContext,
): Promise<BackupManifest> {
  if (existsSync(file))
    throw new BackupError(
      `${file} is there already, and a backup is never written over another one. Name another file.`,
    )
  const begun = performance.now()
  return withSnapshot(url, 'talkshelf backup', async (db) => {
    const server = await describeServer(db)
    const schema = server.migrated ? await readSchema(db) : 0
    if (schema === 0)
      throw new BackupError('There is no archive in this database. Is DATABASE_URL right?')
    const program = dumpProgram(server.major, environment)
    const part = await openPart(`${file}.part`)
    try {
      say(`Writing ${file}, with pg_dump ${program.version} of PostgreSQL ${server.version}`)
      const stop = new AbortController()
      // Of the levels of compression, 1 takes a quarter of the time of 6, the usual one, for a file
      // that is a sixth larger.
      const args = [
        '--format=custom',
        '--compress=1',
        `--snapshot=${db.id}`,
        '--lock-wait-timeout=60s',
      ]
      const dumping = runProgram(program, args, programEnvironment(url, environment), stop.signal)
      const parts = Promise.all([
        keep(dumping, part, say),
        checksumTables(db, { say, signal: stop.signal }),
      ])
      // If one of them cannot go on, the other need not.
      const [written, tables] = await parts.catch((error: unknown) => {
        stop.abort()
        throw error
      })
      await part.sync()
      const made = {
        made: server.now,
        talkshelf: version,
        schema,
        postgresql: server.version,
        pg_dump: program.version,
      }
      const manifest: BackupManifest = {
        format: 1,
        ...made,
        extensions: server.extensions,
        dump: written,
        tables,
      }
      await writeBeside(manifestPath(file), `${JSON.stringify(manifest, undefined, 2)}\n`)
      await rename(`${file}.part`, file)
      await syncFolder(dirname(file))
      say(
        `${file} has ${megabytes(written.bytes)}; it took ${((performance.now() - begun) / 1000).toFixed(1)} s. Keep ${manifestPath(file)} with it.`,
      )
      return manifest
    } catch (error) {
      await rm(`${file}.part`, { force: true })
      throw explained(error, file)
    } finally {
      await part.close()
    }
  })
}

/**
 * Of the same version as the server, or the next newer one: what it writes can then be read by the
 * programs of that server.
 */
function dumpProgram(
  serverMajor: number,
  environment: BackupContext['environment'],
): PostgresProgram {
  const found = findPrograms('pg_dump', environment)
  const program = found.findLast(({ major }) => major >= serverMajor)
  if (program) return program
  const where = environment.PG_BIN
    ? ` in ${environment.PG_BIN}, where PG_BIN points`
    : ' on this machine'
  const lacking = found[0]
    ? `The server is PostgreSQL ${serverMajor}, and the newest pg_dump${where} is ${found[0].version}.`
    : `There is no pg_dump${where}.`
  throw new BackupError(
    `${lacking}\nInstall postgresql-client-${serverMajor}, or name the folder of its programs in PG_BIN.`,
  )
}

/** Through our hands to the disk: the sum is of what was written. */
async function keep(
  { stdout, ended }: RunningProgram,
  part: FileHandle,
  say: BackupContext['say'],
): Promise<BackupManifest['dump']> {
  const hash = createHash('sha256')
  let bytes = 0
  let nextMs = performance.now() + 10_000
  for await (const chunk of stdout) {
    hash.update(chunk)
    await part.appendFile(chunk)
    bytes += chunk.length
    if (performance.now() < nextMs) continue
    nextMs += 10_000
    say(`- ${megabytes(bytes)} written`)
  }
  await ended
  return { bytes, sha256: hash.digest('hex') }
}

async function openPart(part: string): Promise<FileHandle> {
  return open(part, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new BackupError(
        `${part} is there: another backup is writing it, or one was killed. If none is running, remove it.`,
      )
    throw explained(error, part)
  })
}

async function writeBeside(file: string, text: string): Promise<void> {
  const handle = await open(`${file}.part`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.part`, file)
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}

const advice: Record<string, string> = {
  ENOSPC: 'The disk is full: nothing was kept. Name a file on a disk with more room.',
  EDQUOT: 'The disk is full for this user: nothing was kept. Name a file on a disk with more room.',
  ENOENT: 'Its folder is not there. Make it first.',
  EACCES: 'This user may not write there.',
  EPERM: 'This user may not write there.',
  EROFS: 'Nobody can write there.',
}

function explained(error: unknown, file: string): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  return advice[code] === undefined
    ? error
    : new BackupError(`${file} cannot be written: ${message}.\n${advice[code]}`)
}

const megabytes = (bytes: number) =>
  `${(bytes / 1_000_000).toLocaleString('en', { maximumFractionDigits: 1 })} MB`
