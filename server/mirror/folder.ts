import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type FeedEntry, feedKinds } from '@talkshelf/contract'
import { syncFolder } from '../platform/files.ts'
import {
  type ArchiveCopy,
  type CopiedSubject,
  CopyError,
  digestText,
  hashOf,
  keyOf,
  newestOf,
  thinCursors,
} from './copy.ts'

// A copy of an archive as files: DIR/video/17.json, DIR/speaker/9.json and so on, and
// DIR/mirror.json with the cursor. The cursor is written last, so that a copy that is interrupted
// repeats a page, and never leaves one out.

type Stored = Pick<
  FeedEntry,
  'kind' | 'id' | 'seq' | 'state' | 'version' | 'merged_into' | 'record'
>

/** What is known of a file: its part of the digest, and the number of its entry. */
interface KnownFile {
  readonly hash: bigint
  readonly seq: number
}

const stateFile = 'mirror.json'

/** Opens the folder of a mirror, or creates it. Reads all files, to know the digest. */
export async function openMirrorFolder(path: string, source: string): Promise<ArchiveCopy> {
  for (const kind of feedKinds) await mkdir(join(path, kind), { recursive: true })
  const state = await readState(path)
  if (state && state.source !== source)
    throw new CopyError(
      `${path} is a copy of ${state.source}. Choose another folder for ${source}.`,
    )
  let cursor = state?.cursor
  let earlier = state?.earlier_cursors ?? []
  const files = await readFiles(path)

  async function write(entries: readonly FeedEntry[]): Promise<void> {
    // Only the last entry of each counts; they must not be written at the same time.
    const newest = newestOf(entries)
    await Promise.all(newest.map((entry) => store(path, entry)))
    for (const entry of newest)
      if (entry.state === 'hidden') files.delete(keyOf(entry))
      else files.set(keyOf(entry), { hash: hashOf(entry), seq: entry.seq })
  }

  async function setCursor(next: string, before: readonly string[]): Promise<void> {
    for (const kind of feedKinds) await syncFolder(join(path, kind))
    await writeDurably(join(path, stateFile), { source, cursor: next, earlier_cursors: before })
    await syncFolder(path)
    cursor = next
    earlier = before
  }

  return {
    get cursor() {
      return cursor
    },
    get earlierCursors() {
      return earlier
    },
    async apply(page) {
      await write(page.results)
      await setCursor(page.cursor, thinCursors([...earlier, ...(cursor ? [cursor] : [])]))
    },
    write,
    setPosition: (to) => setCursor(to, earlier.slice(0, Math.max(0, earlier.indexOf(to)))),
    async removeOthers(kept) {
      for (const key of files.keys()) {
        if (kept.has(key)) continue
        const { kind, id } = subjectOf(key)
        await rm(join(path, kind, `${id}.json`), { force: true })
        files.delete(key)
      }
    },
    listAfter: async (after) =>
      [...files].filter(([, { seq }]) => seq > after).map(([key]) => subjectOf(key)),
    isExact() {
      let digest = 0n
      for (const { hash } of files.values()) digest ^= hash
      return cursor?.split('.')[1] === digestText(digest)
    },
    size: () => files.size,
    async close() {
      await syncFolder(path)
    },
  }
}

function subjectOf(key: string): CopiedSubject {
  const [kind = '', id = ''] = key.split(':')
  return { kind: kind as CopiedSubject['kind'], id: Number(id) }
}

async function store(path: string, entry: FeedEntry): Promise<void> {
  const { kind, id, seq, state, version, merged_into, record } = entry
  const file = join(path, kind, `${id}.json`)
  if (state === 'hidden') return rm(file, { force: true })
  const stored: Stored = {
    kind,
    id,
    seq,
    state,
    ...(version !== undefined && { version }),
    ...(merged_into !== undefined && { merged_into }),
    // Text that was removed must not stay in the copy.
    ...(state === 'live' && { record: record ?? null }),
  }
  await writeDurably(file, stored)
}

/** Writes a file under another name, and renames it when it is on the disk. */
async function writeDurably(file: string, content: object): Promise<void> {
  const part = `${file}.part`
  const handle = await open(part, 'w')
  try {
    await handle.writeFile(`${JSON.stringify(content)}\n`)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  await rename(part, file)
}

interface MirrorState {
  readonly source: string
  readonly cursor: string
  readonly earlier_cursors?: readonly string[]
}

async function readState(path: string): Promise<MirrorState | undefined> {
  try {
    return JSON.parse(await readFile(join(path, stateFile), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CopyError(
      `${join(path, stateFile)} cannot be read. Remove it to copy the archive again.`,
    )
  }
}

/** Reads what is known of each file. A file that is damaged is removed: the digest then differs. */
async function readFiles(path: string): Promise<Map<string, KnownFile>> {
  const files = new Map<string, KnownFile>()
  for (const kind of feedKinds)
    for (const name of await readdir(join(path, kind))) {
      const file = join(path, kind, name)
      const [, id] = /^(\d{1,16})\.json$/.exec(name) ?? []
      if (id === undefined) {
        if (name.endsWith('.part')) await rm(file, { force: true })
        continue
      }
      try {
        const stored = JSON.parse(await readFile(file, 'utf8')) as Stored
        // One of an earlier release has no number: it is read again after a restore.
        const { seq = Number.MAX_SAFE_INTEGER } = stored
        const hash = hashOf({ ...stored, kind, id: Number(id) })
        files.set(`${kind}:${id}`, { hash, seq })
      } catch {
        await rm(file, { force: true })
      }
    }
  return files
}
