import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type FeedEntry, type FeedPage, feedKinds } from '@talkshelf/contract'
import { syncFolder } from '../platform/files.ts'

// A copy of an archive as files: DIR/video/17.json, DIR/speaker/9.json and so on, and
// DIR/mirror.json with the cursor. The cursor is written last, so that a copy that is interrupted
// repeats a page, and never leaves one out.

export interface MirrorFolder {
  /** The position in the feed that the folder has; undefined if it is not complete. */
  readonly cursor: string | undefined
  /** Stores a page with its cursor. */
  apply(page: FeedPage): Promise<void>
  /** Stores entries without a cursor. */
  write(entries: readonly FeedEntry[]): Promise<void>
  /** Removes all but these, given as `kind:id`. */
  removeOthers(kept: ReadonlySet<string>): Promise<void>
  /** Tells whether the digest of the files is that of the cursor. */
  isExact(): boolean
  size(): number
  close(): Promise<void>
}

/** The folder belongs to another archive, or cannot be used. */
export class MirrorFolderError extends Error {
  override readonly name = 'MirrorFolderError'
}

type Stored = Pick<FeedEntry, 'kind' | 'id' | 'state' | 'version' | 'merged_into' | 'record'>

const stateFile = 'mirror.json'

/** Opens the folder of a mirror, or creates it. Reads all files, to know the digest. */
export async function openMirrorFolder(path: string, source: string): Promise<MirrorFolder> {
  for (const kind of feedKinds) await mkdir(join(path, kind), { recursive: true })
  const state = await readState(path)
  if (state && state.source !== source)
    throw new MirrorFolderError(
      `${path} is a copy of ${state.source}. Choose another folder for ${source}.`,
    )
  let cursor = state?.cursor
  const hashes = await readHashes(path)

  async function write(entries: readonly FeedEntry[]): Promise<void> {
    // Only the last entry of each counts; they must not be written at the same time.
    const newest = new Map(entries.map((entry) => [keyOf(entry), entry]))
    await Promise.all([...newest.values()].map((entry) => store(path, entry)))
    for (const [key, entry] of newest)
      if (entry.state === 'hidden') hashes.delete(key)
      else hashes.set(key, hashOf(entry))
  }

  async function setCursor(next: string): Promise<void> {
    for (const kind of feedKinds) await syncFolder(join(path, kind))
    await writeDurably(join(path, stateFile), { source, cursor: next })
    await syncFolder(path)
    cursor = next
  }

  return {
    get cursor() {
      return cursor
    },
    async apply(page) {
      await write(page.results)
      await setCursor(page.cursor)
    },
    write,
    async removeOthers(kept) {
      for (const key of hashes.keys()) {
        if (kept.has(key)) continue
        const [kind = '', id = ''] = key.split(':')
        await rm(join(path, kind, `${id}.json`), { force: true })
        hashes.delete(key)
      }
    },
    isExact() {
      let digest = 0n
      for (const hash of hashes.values()) digest ^= hash
      return cursor?.split('.')[1] === digest.toString(16).padStart(16, '0')
    },
    size: () => hashes.size,
    async close() {
      await syncFolder(path)
    },
  }
}

const keyOf = ({ kind, id }: Pick<FeedEntry, 'kind' | 'id'>) => `${kind}:${id}`

async function store(path: string, entry: FeedEntry): Promise<void> {
  const { kind, id, state, version, merged_into, record } = entry
  const file = join(path, kind, `${id}.json`)
  if (state === 'hidden') return rm(file, { force: true })
  const stored: Stored = {
    kind,
    id,
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
}

async function readState(path: string): Promise<MirrorState | undefined> {
  try {
    return JSON.parse(await readFile(join(path, stateFile), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new MirrorFolderError(
      `${join(path, stateFile)} cannot be read. Remove it to copy the archive again.`,
    )
  }
}

/** Reads the hash of each file. A file that is damaged is removed: the digest then differs. */
async function readHashes(path: string): Promise<Map<string, bigint>> {
  const hashes = new Map<string, bigint>()
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
        hashes.set(`${kind}:${id}`, hashOf({ ...stored, kind, id: Number(id) }))
      } catch {
        await rm(file, { force: true })
      }
    }
  return hashes
}

/** Returns the part of the digest that an entry has, as docs/follow.md describes. */
function hashOf({ kind, id, state, version, merged_into }: Stored): bigint {
  const detail = version ?? merged_into
  const text = [kind, id, state, ...(detail === undefined ? [] : [detail])].join(':')
  return BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 16)}`)
}
