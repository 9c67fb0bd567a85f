import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { tryLock } from '../platform/db/advisory-lock.ts'
import type { Db } from '../platform/db/db.ts'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { makeFolder } from '../platform/files.ts'
import { version } from '../version.ts'
import { writeFileAtomically } from './files.ts'
import { exportNdjson } from './lines.ts'
import { findLastWithdrawal, readSnapshotTime } from './queries.ts'

// A nightly export of the public data, written to a folder that any web server can serve. The
// manifest beside it is written last and marks it as complete. No other state is stored: a server
// that was down at the hour of the snapshot catches up.

export interface SnapshotOptions {
  /** The URL of the database. */
  readonly url: string
  readonly folder: string
  /** The number of snapshots that are retained. */
  readonly keep: number
  /** SPDX identifier or URL of the licence of the data. */
  readonly license?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export interface SnapshotManifest {
  readonly file: string
  /** The time of the data, UTC. */
  readonly at: string
  readonly talkshelf: string
  readonly videos: number
  readonly bytes: number
  readonly sha256: string
  readonly license?: string
}

/**
 * Writes the snapshot of a night, which starts at `hour` (UTC), unless it exists or another process
 * is writing it. Writes it again if public data was withdrawn since, at most once an hour.
 */
export async function writeDueSnapshot(
  db: Db,
  options: SnapshotOptions,
  hour: number,
  now: Date,
): Promise<SnapshotManifest | undefined> {
  const { folder } = options
  const night = dayOf(new Date(now.getTime() - hour * hourMs))
  const exists = () => existsSync(join(folder, `${baseName(night)}.json`))
  if (!exists()) return writeUnlessDone(options, night, exists)
  const isDue = async () => {
    const [snapshots, withdrawn] = [await listSnapshots(folder), await findLastWithdrawal(db)]
    const newestMs = Math.max(...snapshots.map(({ atMs }) => atMs))
    return (
      now.getTime() - newestMs > hourMs &&
      snapshots.some((snapshot) => isOutdated(snapshot, withdrawn))
    )
  }
  return (await isDue()) ? writeUnlessDone(options, night, async () => !(await isDue())) : undefined
}

const hourMs = 3_600_000

/** Allows for clocks of several machines, and for changes that were committed late. */
const marginMs = 5 * 60_000

interface StoredSnapshot {
  readonly day: string
  /** The time of the data; 0 if the manifest is missing or unreadable. */
  readonly atMs: number
}

/** Tells whether a snapshot may contain data that has been withdrawn. */
function isOutdated({ atMs }: StoredSnapshot, withdrawn: Date | undefined): boolean {
  return withdrawn !== undefined && atMs < withdrawn.getTime() + marginMs
}

async function listSnapshots(folder: string): Promise<StoredSnapshot[]> {
  const days = (await readdir(folder)).flatMap(
    (name) => /^talkshelf-(\d{4}-\d\d-\d\d)\.ndjson\.gz$/.exec(name)?.[1] ?? [],
  )
  return Promise.all(
    days.sort().map(async (day) => ({
      day,
      atMs: await manifestTime(join(folder, `${baseName(day)}.json`)),
    })),
  )
}

/** Returns the time of the data of the newest snapshot, in seconds since 1970; 0 without one. */
export async function newestSnapshotSeconds(folder: string): Promise<number> {
  return Math.max(0, ...(await listSnapshots(folder)).map(({ atMs }) => atMs)) / 1000
}

async function manifestTime(file: string): Promise<number> {
  try {
    return Date.parse((JSON.parse(await readFile(file, 'utf8')) as SnapshotManifest).at) || 0
  } catch {
    return 0
  }
}

/** Writes a snapshot now. Returns undefined if another process is writing one. */
export function writeSnapshot(
  options: SnapshotOptions,
  now: Date,
): Promise<SnapshotManifest | undefined> {
  return writeUnlessDone(options, dayOf(now), () => false)
}

async function writeUnlessDone(
  { url, folder, keep, license, signal }: SnapshotOptions,
  day: string,
  isDone: () => boolean | Promise<boolean>,
): Promise<SnapshotManifest | undefined> {
  // Before the transaction, which must not wait for a slow disk.
  await makeFolder(folder)
  return withSnapshot(url, 'talkshelf snapshot', async (db) => {
    // The lock lasts until the file has its name. Between the check of the caller and the lock
    // another process may have written the snapshot.
    if (!(await tryLock(db, 'snapshots')) || (await isDone())) return undefined
    await removePartialFiles(folder)
    const file = `${baseName(day)}.ndjson.gz`
    const at = await readSnapshotTime(db)
    let lastLine = ''
    async function* lines() {
      for await (const line of exportNdjson(db, { drafts: false, takenDown: false, license })) {
        lastLine = line
        yield line
      }
    }
    const written = await writeFileAtomically(join(folder, file), lines(), {
      isGzipped: true,
      isPublic: true,
      signal,
    })
    const { videos } = JSON.parse(lastLine) as { videos: number }
    const manifest = {
      file,
      at: `${at}Z`,
      talkshelf: version,
      videos,
      ...written,
      ...(license !== undefined && { license }),
    }
    await writeFileAtomically(join(folder, `${baseName(day)}.json`), manifestLines(manifest), {
      isPublic: true,
      signal,
    })
    await removeOldSnapshots(folder, keep, day, await findLastWithdrawal(db))
    return manifest
  })
}

const baseName = (day: string) => `talkshelf-${day}`
const dayOf = (time: Date) => time.toISOString().slice(0, 10)

async function* manifestLines(manifest: SnapshotManifest): AsyncGenerator<string> {
  yield `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** Removes the files of killed processes. The caller has the lock: no process is writing. */
async function removePartialFiles(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (/^talkshelf-[\d-]{10}\..*\.part$/.test(name)) await rm(join(folder, name), { force: true })
}

/**
 * Removes the oldest snapshots above the number to keep, and outdated ones. The one of `writtenDay`
 * is never outdated: it was just written.
 */
async function removeOldSnapshots(
  folder: string,
  keep: number,
  writtenDay: string,
  withdrawn: Date | undefined,
): Promise<void> {
  const snapshots = await listSnapshots(folder)
  const removable = snapshots.filter(
    (snapshot, index) =>
      index < snapshots.length - keep ||
      (snapshot.day !== writtenDay && isOutdated(snapshot, withdrawn)),
  )
  for (const { day } of removable)
    for (const extension of ['json', 'ndjson.gz'])
      await rm(join(folder, `${baseName(day)}.${extension}`), { force: true })
}
