import { constants, createGzip, type Gzip } from 'node:zlib'

// Helpers for text that is generated line by line and written to a file or a response.

/** A write for each line would cost more than generating the line. */
const chunkLength = 1 << 16

/** Joins lines into chunks of about 64 kB that end at a line break. */
export async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let chunk = ''
  for await (const line of lines) {
    chunk += line
    if (chunk.length < chunkLength) continue
    yield Buffer.from(chunk)
    chunk = ''
  }
  if (chunk !== '') yield Buffer.from(chunk)
}

/**
 * Creates a gzip stream that flushes after each chunk, so that an aborted download can be
 * decompressed up to the last chunk. The flush costs a few bytes per chunk.
 */
export function gzipStream(): Gzip {
  return createGzip({ flush: constants.Z_SYNC_FLUSH })
}
