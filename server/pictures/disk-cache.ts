import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

// Pictures as files, for several processes and for the time after a restart. It is a cache:
// whatever goes wrong here, nobody else notices.

export interface DiskCache {
  find(name: string): Promise<Buffer | undefined>
  /** Never fails, and nobody has to wait for it. */
  keep(name: string, data: Buffer): void
  /** When all that was kept is written. */
  settled(): Promise<void>
}

export interface DiskCacheOptions {
  readonly path: string
  readonly maxBytes: number
  onError(error: unknown): void
}

/** On a disk that hangs they would pile up. */
const maxWriting = 8
const unfinished = /^[.].*[.]part$/
/** Whoever began to write it an hour ago was killed. */
const abandonedMs = 3_600_000

export function openDiskCache({ path, maxBytes, onError }: DiskCacheOptions): DiskCache {
  const writing = new Set<Promise<void>>()
  // Nothing is known of a folder at first, so the first file makes us look.
  let sinceSweepBytes = Number.POSITIVE_INFINITY
  let sweeping: Promise<void> | undefined

  async function write(name: string, data: Buffer): Promise<void> {
    const part = join(path, `.${randomUUID()}.part`)
    try {
      // Not with all above it: Node tries for ever where that can't be done (in /proc, say), and
      // holds a thread for it.
      await mkdir(path).catch(() => {})
      await writeFile(part, data, { flag: 'wx' })
      // Nobody ever sees half a file.
      await rename(part, join(path, name))
      sinceSweepBytes += data.length
      if (sinceSweepBytes <= maxBytes / 20) return
      sweeping ??= sweep()
      await sweeping
    } catch (error) {
      onError(error)
      await rm(part, { force: true }).catch(() => {})
    }
  }

  /**
   * The oldest go until a tenth is free. Others may do the same now: what is gone already is no
   * mistake.
   */
  async function sweep(): Promise<void> {
    try {
      sinceSweepBytes = 0
      const files: { file: string; bytes: number; atMs: number }[] = []
      let bytes = 0
      for (const name of await readdir(path)) {
        const isPart = unfinished.test(name)
        if (!isPart && !/^[0-9a-f]{64}$/.test(name)) continue
        const file = join(path, name)
        const it = await stat(file).catch(() => undefined)
        if (!it) continue
        if (isPart && it.mtimeMs > Date.now() - abandonedMs) continue
        files.push({ file, bytes: it.size, atMs: isPart ? 0 : it.mtimeMs })
        bytes += it.size
      }
      files.sort((a, b) => a.atMs - b.atMs)
      const limit = bytes > maxBytes ? maxBytes * 0.9 : maxBytes
      for (const { file, bytes: size, atMs } of files) {
        if (bytes <= limit && atMs > 0) break
        await rm(file, { force: true })
        bytes -= size
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
      if (writing.size >= maxWriting || data.length > maxBytes) return
      const one = write(name, data).finally(() => writing.delete(one))
      writing.add(one)
    },
    settled: async () => {
      await Promise.all(writing)
    },
  }
}
