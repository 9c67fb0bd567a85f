import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { chmod, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { syncFolder } from '../platform/files.ts'
import { inChunks } from '../platform/streams.ts'

// Writes streams of lines to files.

export interface WrittenFile {
  readonly bytes: number
  readonly sha256: string
}

export interface WriteOptions {
  readonly isGzipped?: boolean | undefined
  /** Readable by all users of the machine, such as a web server; otherwise by the owner only. */
  readonly isPublic?: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Writes a file as FILE.part, and renames it when all of it is on the disk: FILE is always
 * complete. A killed process leaves FILE.part behind.
 */
export async function writeFileAtomically(
  file: string,
  lines: AsyncIterable<string>,
  { isGzipped = false, isPublic = false, signal }: WriteOptions = {},
): Promise<WrittenFile> {
  const part = `${file}.part`
  const checksum = createHash('sha256')
  let bytes = 0
  async function* measure(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      checksum.update(chunk)
      bytes += chunk.length
      yield chunk
    }
  }
  try {
    const target = createWriteStream(part, { flush: true, mode: 0o600 })
    const options = signal ? { signal } : {}
    if (isGzipped) await pipeline(inChunks(lines), createGzip(), measure, target, options)
    else await pipeline(inChunks(lines), measure, target, options)
    // The umask reduces the mode of a new file, so it is set here.
    await chmod(part, isPublic ? 0o644 : 0o600)
    await rename(part, file)
    await syncFolder(dirname(file))
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  return { bytes, sha256: checksum.digest('hex') }
}
