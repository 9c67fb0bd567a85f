import { statfs } from 'node:fs/promises'
import { type Config, parseReplicaUrls } from '../config.ts'
import { countPausedHosts, oldestDueSeconds } from '../links/links.ts'
import type { Db } from '../platform/db/db.ts'
import { schemaStatus } from '../platform/db/migrate.ts'
import { openPool } from '../platform/db/pool.ts'
import { findPrograms } from '../platform/db/programs.ts'
import { checkReplica } from '../platform/db/replica-check.ts'
import { replicaName } from '../platform/db/replicas.ts'
import { findFolderProblem } from '../platform/files.ts'
import { resolveHost } from '../platform/net/dns.ts'
import { listStandbys, readDurability, readServer } from './queries.ts'

// Checks what an installation needs: `talkshelf doctor`.

/** What was found out about one part of an installation. */
export interface Finding {
  readonly check: string
  /** `warning`: something is missing that readers or editors will notice. `error`: it can't run. */
  readonly state: 'ok' | 'warning' | 'error'
  readonly detail: string
}

interface DoctorOptions {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly schemaFolder: string
}

const minMajor = 15
const extensions = ['pg_trgm', 'unaccent']
const maxClockSeconds = 5
const maxReplayMs = 2000
const minFreeBytes = 1 << 30
const maxArchiveSeconds = 600
const maxBehindBytes = 100e6
const maxDueSeconds = 3 * 86_400
/** A host of thumbnails. Only its address is looked up. */
const exampleHost = 'i.ytimg.com'
const maxLookupMs = 5000

const ok = (check: string, detail: string): Finding => ({ check, state: 'ok', detail })
const warning = (check: string, detail: string): Finding => ({ check, state: 'warning', detail })
const failure = (check: string, detail: string): Finding => ({ check, state: 'error', detail })

/** Checks an installation, one part after the other. */
export async function* examine(config: Config, options: DoctorOptions): AsyncGenerator<Finding> {
  yield ok('Node', process.version)
  yield config.PUBLIC_URL === ''
    ? warning('Public URL', 'PUBLIC_URL is not set: links start with the address of this machine')
    : ok('Public URL', config.PUBLIC_URL)
  yield* checkDatabase(config, options)
  for (const url of parseReplicaUrls(config.REPLICA_URLS))
    yield await checkOneReplica(config.DATABASE_URL, url)
  yield* checkPictures()
  for (const name of ['SNAPSHOT_DIR', 'PICTURE_DIR'] as const)
    if (config[name] !== '') yield await checkFolder(name, config[name])
  yield await checkNetwork()
}

async function* checkDatabase(
  config: Config,
  { environment, schemaFolder }: DoctorOptions,
): AsyncGenerator<Finding> {
  const url = config.DATABASE_URL
  const pool = openPool({
    ...{ url, connections: 1, lookupConnections: 1, searchConnections: 1 },
    applicationName: 'talkshelf doctor',
  })
  try {
    const sentMs = Date.now()
    const server = await readServer(pool, extensions)
    const receivedMs = Date.now()
    const { version, major, encoding, missing_extensions: missing } = server
    yield major < minMajor
      ? failure('PostgreSQL', `Version ${version} is too old: ${minMajor} or newer is needed`)
      : ok('PostgreSQL', version)
    yield encoding === 'UTF8'
      ? ok('Encoding', encoding)
      : failure('Encoding', `${encoding} cannot store all names: create a database with UTF8`)
    yield server.is_case_mapped
      ? ok('Locale', 'Maps upper and lower case')
      : warning('Locale', 'Finds no other case of é or Ж: create the database with C.UTF-8')
    yield missing.length === 0
      ? ok('Extensions', extensions.join(', '))
      : failure('Extensions', `Missing: ${missing.join(', ')}. Install postgresql-contrib`)
    yield checkClock(server.seconds, sentMs / 1000, receivedMs / 1000)
    const { current, expected, isPending } = await schemaStatus(url, schemaFolder)
    yield isPending
      ? failure('Schema', `${current} of ${expected}: run 'talkshelf migrate'`)
      : ok('Schema', `${current}`)
    yield* checkDurability(pool)
    yield checkPrograms(major, environment)
    if (!isPending) yield await checkLinks(pool, config)
  } catch (error) {
    yield failure('PostgreSQL', describeFailure(((error as Error).cause ?? error) as Error))
  } finally {
    await pool.close()
  }
}

/** Says why PostgreSQL was not reached, and what to do. */
function describeFailure({ message, code }: Error & { readonly code?: unknown }): string {
  // HAProxy does this while no server is ready.
  return /terminated unexpectedly/.test(message) || code === 'ECONNRESET'
    ? 'Something accepts connections at DATABASE_URL and closes them at once. In a cluster, no ' +
        'host leads now: run patronictl list there'
    : `Not reached: ${message}. Check DATABASE_URL`
}

/** Checks whether it is noticed that videos are gone. */
async function checkLinks(db: Db, { CHECK_LINKS, YOUTUBE_KEY }: Config): Promise<Finding> {
  if (CHECK_LINKS === 'off')
    return ok('Links', 'Not checked: set CHECK_LINKS=on to notice videos that are gone')
  const due = await oldestDueSeconds(db)
  if (due > maxDueSeconds)
    return warning(
      'Links',
      `Sources have been due for ${Math.floor(due / 86_400)} days: is 'talkshelf serve' running ` +
        `with CHECK_LINKS=on?${YOUTUBE_KEY === '' ? ' YOUTUBE_KEY makes it faster' : ''}`,
    )
  const paused = await countPausedHosts(db)
  return ok('Links', `Checked${paused > 0 ? `; hosts that refuse and are paused: ${paused}` : ''}`)
}

/** Checks that what is written survives a crash; in a cluster, also the loss of a machine. */
async function* checkDurability(db: Db): AsyncGenerator<Finding> {
  const { has_checksums, switched_off, ...server } = await readDurability(db)
  yield has_checksums
    ? ok('Checksums', 'Damaged pages are noticed')
    : warning(
        'Checksums',
        'Damaged pages are not noticed: stop PostgreSQL and run pg_checksums --enable',
      )
  yield switched_off.length === 0
    ? ok('Durability', 'A crash of PostgreSQL loses nothing')
    : warning('Durability', `A crash loses writes: switch on ${switched_off.join(', ')}`)
  if (server.archives)
    yield (server.archive_failing_seconds ?? 0) < maxArchiveSeconds
      ? ok('WAL archive', 'Archived')
      : warning(
          'WAL archive',
          'The log has not been archived for ' +
            `${Math.floor((server.archive_failing_seconds ?? 0) / 60)} minutes, and fills the disk`,
        )
  if (server.waits_for_standbys) yield await checkStandbys(db, server.sees_standbys)
}

/** Checks that there is a standby for which writes wait. */
async function checkStandbys(db: Db, isVisible: boolean): Promise<Finding> {
  if (!isVisible)
    return warning('Standbys', 'Not visible: grant pg_read_all_stats to the role of Talkshelf')
  const standbys = await listStandbys(db)
  const names = standbys.map(
    ({ name, is_synchronous, behind_bytes }) =>
      `${name}${is_synchronous ? ' (synchronous)' : ''}` +
      (behind_bytes > maxBehindBytes ? `, ${Math.round(behind_bytes / 1e6)} MB behind` : ''),
  )
  if (!standbys.some(({ is_synchronous }) => is_synchronous))
    return failure('Standbys', `No synchronous standby: writes wait. ${names.join('; ')}`)
  return standbys.some(({ behind_bytes }) => behind_bytes > maxBehindBytes)
    ? warning('Standbys', names.join('; '))
    : ok('Standbys', names.join(', '))
}

/** Checks that a replica can be used. The server works without it, so nothing is an error. */
async function checkOneReplica(primaryUrl: string, url: string): Promise<Finding> {
  const name = replicaName(url)
  const problem = (text: string) => warning('Replica', `${name} ${text}`)
  try {
    const found = await checkReplica(primaryUrl, url, maxReplayMs)
    if (!found.isInRecovery) return problem('is not a replica: it was promoted, or is the primary')
    if (!found.isSameDatabase) return problem('is a replica of another database')
    if (found.timeline !== found.primaryTimeline)
      return problem(
        `follows timeline ${found.timeline}, and the primary is on ${found.primaryTimeline}`,
      )
    if (found.replayedMs === undefined)
      return problem(`is more than ${maxReplayMs / 1000} s behind: lists are read from the primary`)
    if (!found.seesStatistics)
      return problem('is used late after a failover: grant pg_read_all_stats to its role')
    return ok('Replica', `${name}, ${Math.ceil(found.replayedMs)} ms behind`)
  } catch (error) {
    const { message } = ((error as Error).cause ?? error) as Error
    return problem(`is not reached: ${message}`)
  }
}

/** Compares the clock of the database with this machine, before and after the request. */
function checkClock(seconds: number, sent: number, received: number): Finding {
  const difference = Math.max(sent - seconds, seconds - received, 0)
  return difference > maxClockSeconds
    ? warning('Clock', `Differs from PostgreSQL by ${Math.round(difference)} s: synchronize both`)
    : ok('Clock', 'Same as PostgreSQL')
}

/** Backups need programs that are at least as new as the server. */
function checkPrograms(major: number, environment: DoctorOptions['environment']): Finding {
  const missing = ['pg_dump', 'pg_restore'].filter(
    (name) => !findPrograms(name, environment).some((program) => program.major >= major),
  )
  return missing.length === 0
    ? ok('Backup', 'pg_dump and pg_restore')
    : warning(
        'Backup',
        `No ${missing.join(' and ')} for version ${major}: install postgresql-client-${major}`,
      )
}

/** Loads the picture library. Returns the error if that fails. */
const loadSharp = async () => {
  try {
    return (await import('sharp')).default
  } catch (error) {
    return error as Error
  }
}

/** Draws two letters: without fonts, both are the same box. */
async function* checkPictures(): AsyncGenerator<Finding> {
  const sharp = await loadSharp()
  if (sharp instanceof Error) {
    yield warning('Pictures', 'sharp does not load: no thumbnails. Install it with npm')
    return
  }
  yield ok('Pictures', `sharp ${sharp.versions.sharp ?? ''}`)
  const draw = (letter: string) => {
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">' +
      `<text x="5" y="30" font-size="30" font-family="sans-serif">${letter}</text></svg>`
    return sharp(Buffer.from(svg)).raw().toBuffer()
  }
  yield (await draw('M')).equals(await draw('i'))
    ? warning('Fonts', 'None: link previews have no words. Install fonts-noto-core')
    : ok('Fonts', 'Letters are drawn')
}

async function checkFolder(name: string, folder: string): Promise<Finding> {
  const problem = await findFolderProblem(folder)
  if (problem !== undefined) return warning(name, problem)
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const gigabytes = (free / (1 << 30)).toFixed(1)
  return free < minFreeBytes
    ? warning(name, `${folder} has only ${gigabytes} GB left`)
    : ok(name, `${folder}, ${gigabytes} GB free`)
}

async function checkNetwork(): Promise<Finding> {
  const addresses = await resolveHost(exampleHost, AbortSignal.timeout(maxLookupMs)).catch(() => [])
  return addresses.length > 0
    ? ok('Network', 'Other hosts are found')
    : warning(
        'Network',
        `${exampleHost} is not found: thumbnails, imports by URL and webhooks fail`,
      )
}
