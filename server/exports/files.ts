import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { chmod, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { inChunks } from '../platform/streams.ts'

// Text that comes line by line, on its way to a file.

export interface WrittenFile {
  readonly bytes: number
  readonly sha256: string
}

export interface WriteOptions {
  readonly isPacked?: boolean | undefined
  /**
   * Whoever has an account on this machine may read it, a web server as well; or else its owner
   * alone.
   */
  readonly isPublic?: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Until all of it is on the disk it is called FILE.part: a FILE is a whole one. Who is killed
 * leaves that part, and nothing else.
 */
export async function writeFile(
  file: string,
  lines: AsyncIterable<string>,
  { isPacked = false, isPublic = false, signal }: WriteOptions = {},
): Promise<WrittenFile> {
  const part = `${file}.part`
  const sum = createHash('sha256')
  let bytes = 0
  async function* summed(pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      sum.update(piece)
      bytes += piece.length
      yield piece
    }
  }
  try {
    const target = createWriteStream(part, { flush: true, mode: 0o600 })
    const options = signal ? { signal } : {}
    if (isPacked) await pipeline(inChunks(lines), createGzip(), summed, target, options)
    else await pipeline(inChunks(lines), summed, target, options)
    // What the process may give away by itself (umask) is another matter.
    await chmod(part, isPublic ? 0o644 : 0o600)
    await rename(part, file)
    await syncFolder(dirname(file))
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  return { bytes, sha256: sum.digest('hex') }
}

/** That the file has its name is known to the folder only. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}
