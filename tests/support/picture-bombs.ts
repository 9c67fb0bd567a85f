import { createDeflate } from 'node:zlib'
import { photo, pngChunk } from './picture-archive.ts'

// Decompression bombs: small image files with a large declared size.

interface PngOptions {
  readonly bits: 8 | 16
  readonly isInterlaced: boolean
}

/**
 * Creates a transparent black square with four channels: a complete file of a thousandth of its
 * decompressed size.
 */
export async function pngOf(side: number, { bits, isInterlaced }: PngOptions): Promise<Buffer> {
  const rowBytes = (width: number) => 1 + (width * 4 * bits) / 8
  // The passes of the Adam7 interlacing: the first column and row, and the steps between them.
  const passes = [
    [0, 0, 8, 8],
    [4, 0, 8, 8],
    [0, 4, 4, 8],
    [2, 0, 4, 4],
    [0, 2, 2, 4],
    [1, 0, 2, 2],
    [0, 1, 1, 2],
  ] as const
  const size = isInterlaced
    ? passes.reduce(
        (sum, [x, y, dx, dy]) =>
          sum + Math.ceil((side - y) / dy) * rowBytes(Math.ceil((side - x) / dx)),
        0,
      )
    : side * rowBytes(side)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side)
  header.writeUInt32BE(side, 4)
  header.set([bits, 6, 0, 0, isInterlaced ? 1 : 0], 8)
  const parts = [
    pngChunk('IHDR', header),
    pngChunk('IDAT', await deflatedZeros(size)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts])
}

async function deflatedZeros(size: number): Promise<Buffer> {
  const deflate = createDeflate({ level: 9 })
  const chunks: Buffer[] = []
  deflate.on('data', (data) => chunks.push(data))
  const zeros = Buffer.alloc(1 << 20)
  for (let remaining = size; remaining > 0; remaining -= zeros.length)
    await new Promise((resolve) =>
      deflate.write(zeros.subarray(0, Math.min(remaining, zeros.length)), resolve),
    )
  await new Promise<void>((resolve) => deflate.end(resolve))
  return Buffer.concat(chunks)
}

/** Creates a small JPEG whose header declares this size. */
export async function jpegOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).jpeg().toBuffer()
  const offset = bytes.indexOf(Buffer.from('ffc0', 'hex'))
  bytes.writeUInt16BE(side, offset + 5)
  bytes.writeUInt16BE(side, offset + 7)
  return bytes
}

/** Creates a small GIF whose header declares this size. */
export async function gifOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).gif().toBuffer()
  const image = bytes.indexOf(Buffer.from('2c0000000040002400', 'hex'))
  for (const offset of [6, image + 5]) {
    bytes.writeUInt16LE(side, offset)
    bytes.writeUInt16LE(side, offset + 2)
  }
  return bytes
}

/** Creates a small lossless WebP whose header declares this size: 14 bits each, minus one. */
export async function webpOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).webp({ lossless: true }).toBuffer()
  const offset = bytes.indexOf('VP8L') + 9
  bytes.writeUInt32LE(
    ((bytes.readUInt32LE(offset) & 0xf0000000) | (side - 1) | ((side - 1) << 14)) >>> 0,
    offset,
  )
  return bytes
}

/** Creates a small AVIF whose header declares this size. */
export async function avifOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).avif({ effort: 0 }).toBuffer()
  const offset = bytes.indexOf('ispe') + 8
  bytes.writeUInt32BE(side, offset)
  bytes.writeUInt32BE(side, offset + 4)
  return bytes
}
