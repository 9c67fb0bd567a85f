import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db } from '../platform/db/db.ts'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { version } from '../version.ts'
import { writeFile } from './files.ts'
import { exportNdjson } from './lines.ts'
import { findLastWithdrawal, lockSnapshots, readSnapshotTime } from './queries.ts'

// An export for everybody, written every night into a folder that any web server can serve: what is
// live, with the names that are shown. Beside it stands a manifest, which comes last: where it is,
// the night is done. So nobody has to remember anything, and whoever was off at that hour catches
// up.

export interface SnapshotOptions {
  /** Of the database. */
  readonly url: string
  readonly folder: string
  /** How many stay. */
  readonly keep: number
  readonly signal?: AbortSignal | undefined
}

export interface SnapshotManifest {
  readonly file: string
  /** The moment that it shows, UTC. */
  readonly at: string
  readonly talkshelf: string
  readonly videos: number
  readonly bytes: number
  readonly sha256: string
}

/**
 * Writes the snapshot of this night, unless a process has written it or is writing it. From this
 * hour (UTC) on it is the next night. Where something was withdrawn since, writes it again, at most
 * once an hour.
 */
export async function writeDueSnapshot(
  db: Db,
  it: SnapshotOptions,
  hour: number,
  now: Date,
): Promise<SnapshotManifest | undefined> {
  const night = dayOf(new Date(now.getTime() - hour * 3_600_000))
  const isThere = () => existsSync(join(it.folder, `${nameOf(night)}.json`))
  if (!isThere()) return write(it, night, isThere)
  const isDue = async () => {
    const [snapshots, withdrawn] = [await snapshotsIn(it.folder), await findLastWithdrawal(db)]
    const newest = Math.max(...snapshots.map(({ atMs }) => atMs))
    return now.getTime() - newest > hourMs && snapshots.some((one) => isOutdated(one, withdrawn))
  }
  return (await isDue()) ? write(it, night, async () => !(await isDue())) : undefined
}

const hourMs = 3_600_000

/** Allows for clocks of several machines, and for changes that were committed late. */
const marginMs = 5 * 60_000

interface StoredSnapshot {
  readonly day: string
  /** The moment that it shows; 0 where no manifest tells. */
  readonly atMs: number
}

/** Whether it may still have what was taken down, or a name that is no longer shown. */
function isOutdated({ atMs }: StoredSnapshot, withdrawn: Date | undefined): boolean {
  return withdrawn !== undefined && atMs < withdrawn.getTime() + marginMs
}

async function snapshotsIn(folder: string): Promise<StoredSnapshot[]> {
  const days = (await readdir(folder)).flatMap(
    (name) => /^talkshelf-(\d{4}-\d\d-\d\d)\.ndjson\.gz$/.exec(name)?.[1] ?? [],
  )
  return Promise.all(
    days
      .sort()
      .map(async (day) => ({ day, atMs: await momentIn(join(folder, `${nameOf(day)}.json`)) })),
  )
}

async function momentIn(manifest: string): Promise<number> {
  try {
    return Date.parse((JSON.parse(await readFile(manifest, 'utf8')) as SnapshotManifest).at) || 0
  } catch {
    return 0
  }
}

/** Writes one now; undefined where another process is at it. */
export function writeSnapshot(
  it: SnapshotOptions,
  now: Date,
): Promise<SnapshotManifest | undefined> {
  return write(it, dayOf(now), () => false)
}

function write(
  { url, folder, keep, signal }: SnapshotOptions,
  day: string,
  isDone: () => boolean | Promise<boolean>,
): Promise<SnapshotManifest | undefined> {
  return withSnapshot(url, 'talkshelf snapshot', async (db) => {
    // Held until the file has its name. Who waited for it to be free may find it done.
    if (!(await lockSnapshots(db)) || (await isDone())) return undefined
    await mkdir(folder, { recursive: true })
    await removeParts(folder)
    const file = `${nameOf(day)}.ndjson.gz`
    const at = await readSnapshotTime(db)
    let last = ''
    async function* watched() {
      for await (const line of exportNdjson(db, { drafts: false, takenDown: false })) {
        last = line
        yield line
      }
    }
    const written = await writeFile(join(folder, file), watched(), {
      isPacked: true,
      isPublic: true,
      signal,
    })
    const { videos } = JSON.parse(last) as { videos: number }
    const manifest = { file, at: `${at}Z`, talkshelf: version, videos, ...written }
    await writeFile(join(folder, `${nameOf(day)}.json`), linesOf(manifest), {
      isPublic: true,
      signal,
    })
    await removeOld(folder, keep, day, await findLastWithdrawal(db))
    return manifest
  })
}

const nameOf = (day: string) => `talkshelf-${day}`
const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)

async function* linesOf(manifest: SnapshotManifest): AsyncGenerator<string> {
  yield `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** What somebody left who was killed. Nobody else is writing. */
async function removeParts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (/^talkshelf-[\d-]{10}\..*\.part$/.test(name)) await rm(join(folder, name), { force: true })
}

/**
 * Removes those that are too many or outdated. The one that was just written shows all withdrawals.
 */
async function removeOld(
  folder: string,
  keep: number,
  written: string,
  withdrawn: Date | undefined,
): Promise<void> {
  const snapshots = await snapshotsIn(folder)
  const old = snapshots.filter(
    (it, index) =>
      index < snapshots.length - keep || (it.day !== written && isOutdated(it, withdrawn)),
  )
  for (const { day } of old)
    for (const ending of ['json', 'ndjson.gz'])
      await rm(join(folder, `${nameOf(day)}.${ending}`), { force: true })
}
