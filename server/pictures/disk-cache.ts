import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

// A cache of pictures in a directory, which is shared by processes and survives restarts. Errors
// are reported to `onError` and never thrown.

export interface DiskCache {
  find(name: string): Promise<Buffer | undefined>
  /** Writes a file in the background. */
  keep(name: string, data: Buffer): void
  /** Resolves when all files are written. */
  settled(): Promise<void>
}

export interface DiskCacheOptions {
  readonly path: string
  readonly maxBytes: number
  onError(error: unknown): void
}

/** Bounds the memory if the disk hangs; further files are not written. */
const maxWrites = 8
const temporaryName = /^[.].*[.]part$/
/** Older temporary files belong to a process that was killed. */
const abandonedMs = 3_600_000

/** Opens a disk cache. The oldest files are deleted when it exceeds `maxBytes`. */
export function openDiskCache({ path, maxBytes, onError }: DiskCacheOptions): DiskCache {
  const writes = new Set<Promise<void>>()
  // The size of the directory is unknown at first, so the first write sweeps.
  let sinceSweepBytes = Number.POSITIVE_INFINITY
  let sweeping: Promise<void> | undefined

  async function write(name: string, data: Buffer): Promise<void> {
    const temporary = join(path, `.${randomUUID()}.part`)
    try {
      // Not recursive: where that is impossible (in /proc), Node retries forever in a thread.
      await mkdir(path).catch(() => {})
      await writeFile(temporary, data, { flag: 'wx' })
      // The rename is atomic, so that no reader sees a partial file.
      await rename(temporary, join(path, name))
      sinceSweepBytes += data.length
      if (sinceSweepBytes <= maxBytes / 20) return
      sweeping ??= sweep()
      await sweeping
    } catch (error) {
      onError(error)
      await rm(temporary, { force: true }).catch(() => {})
    }
  }

  /** Deletes abandoned files, and the oldest ones until a tenth is free if the cache is full. */
  async function sweep(): Promise<void> {
    try {
      sinceSweepBytes = 0
      const files = await listFiles(path)
      let totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0)
      const limit = totalBytes > maxBytes ? maxBytes * 0.9 : maxBytes
      for (const { file, bytes, modifiedMs } of files) {
        if (totalBytes <= limit && modifiedMs > 0) break
        await rm(file, { force: true })
        totalBytes -= bytes
      }
    } finally {
      sweeping = undefined
    }
  }

  return {
    find: async (name) => {
      try {
        return await readFile(join(path, name))
      } catch (error) {
        if ((error as { code?: string }).code !== 'ENOENT') onError(error)
        return undefined
      }
    },
    keep(name, data) {
      if (writes.size >= maxWrites || data.length > maxBytes) return
      const done = write(name, data).finally(() => writes.delete(done))
      writes.add(done)
    },
    settled: async () => {
      await Promise.all(writes)
    },
  }
}

interface CachedFile {
  readonly file: string
  readonly bytes: number
  /** 0 for an abandoned temporary file. */
  readonly modifiedMs: number
}

/** Lists the pictures and abandoned temporary files in the directory, the oldest first. */
async function listFiles(path: string): Promise<CachedFile[]> {
  const files: CachedFile[] = []
  for (const name of await readdir(path)) {
    const isTemporary = temporaryName.test(name)
    if (!isTemporary && !/^[0-9a-f]{64}$/.test(name)) continue
    const file = join(path, name)
    // Another process may have deleted the file.
    const stats = await stat(file).catch(() => undefined)
    if (!stats) continue
    if (isTemporary && stats.mtimeMs > Date.now() - abandonedMs) continue
    files.push({ file, bytes: stats.size, modifiedMs: isTemporary ? 0 : stats.mtimeMs })
  }
  return files.sort((a, b) => a.modifiedMs - b.modifiedMs)
}
