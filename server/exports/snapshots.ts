import { existsSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { version } from '../version.ts'
import { writeFile } from './files.ts'
import { exportNdjson } from './lines.ts'
import { holdSnapshots, momentOf } from './queries.ts'

// An export for everybody, written every night into a folder that any web server can serve: what is live, with the names that are shown. Beside it stands
// a manifest, which comes last: where it is, the night is done. So nobody has to remember anything, and whoever was off at that hour catches up.

export interface Snapshots {
  /** Of the database. */
  readonly url: string
  readonly folder: string
  /** How many stay. */
  readonly keep: number
  readonly signal?: AbortSignal | undefined
}

export interface Manifest {
  readonly file: string
  /** The moment that it shows, UTC. */
  readonly at: string
  readonly talkshelf: string
  readonly videos: number
  readonly bytes: number
  readonly sha256: string
}

/** Writes the one of this night, if nobody has or is at it. From this hour (UTC) on it is the next night. */
export async function nextSnapshot(it: Snapshots, hour: number, now: Date): Promise<Manifest | undefined> {
  const night = dayOf(new Date(now.getTime() - hour * 3_600_000))
  const isDone = () => existsSync(join(it.folder, `${nameOf(night)}.json`))
  return isDone() ? undefined : write(it, night, isDone)
}

/** Writes one now; undefined where another process is at it. */
export function writeSnapshot(it: Snapshots, now: Date): Promise<Manifest | undefined> {
  return write(it, dayOf(now), () => false)
}

function write({ url, folder, keep, signal }: Snapshots, day: string, isDone: () => boolean): Promise<Manifest | undefined> {
  return withSnapshot(url, 'talkshelf snapshot', async (db) => {
    // Held until the file has its name. Who waited for it to be free may find it done.
    if (!(await holdSnapshots(db)) || isDone()) return undefined
    await mkdir(folder, { recursive: true })
    await removeParts(folder)
    const file = `${nameOf(day)}.ndjson.gz`
    const at = await momentOf(db)
    let last = ''
    async function* watched() {
      for await (const line of exportNdjson(db, { drafts: false, takenDown: false })) {
        last = line
        yield line
      }
    }
    const written = await writeFile(join(folder, file), watched(), { isPacked: true, isPublic: true, signal })
    const { videos } = JSON.parse(last) as { videos: number }
    const manifest = { file, at: `${at}Z`, talkshelf: version, videos, ...written }
    await writeFile(join(folder, `${nameOf(day)}.json`), linesOf(manifest), { isPublic: true, signal })
    await removeOld(folder, keep)
    return manifest
  })
}

const nameOf = (day: string) => `talkshelf-${day}`
const dayOf = (moment: Date) => moment.toISOString().slice(0, 10)

async function* linesOf(manifest: Manifest): AsyncGenerator<string> {
  yield `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** What somebody left who was killed. Nobody else is writing. */
async function removeParts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (/^talkshelf-[\d-]{10}\..*\.part$/.test(name)) await rm(join(folder, name), { force: true })
}

async function removeOld(folder: string, keep: number): Promise<void> {
  const days = (await readdir(folder)).flatMap((name) => /^talkshelf-(\d{4}-\d\d-\d\d)\.ndjson\.gz$/.exec(name)?.[1] ?? [])
  for (const day of days.sort().slice(0, -keep))
    for (const ending of ['json', 'ndjson.gz']) await rm(join(folder, `${nameOf(day)}.${ending}`), { force: true })
}
