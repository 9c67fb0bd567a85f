import { constants, createGzip, type Gzip } from 'node:zlib'

// Text that comes line by line, on its way to a file or to somebody who waits for it.

/** So much goes on at a time: a write for each line would take longer than the line. */
const pieceLength = 1 << 16

/** Whole lines, together. */
export async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let piece = ''
  for await (const line of lines) {
    piece += line
    if (piece.length < pieceLength) continue
    yield Buffer.from(piece)
    piece = ''
  }
  if (piece !== '') yield Buffer.from(piece)
}

/**
 * Each piece goes on at once: whoever is cut off has what was sent until then. It costs a few bytes
 * for each.
 */
export function gzipStream(): Gzip {
  return createGzip({ flush: constants.Z_SYNC_FLUSH })
}
