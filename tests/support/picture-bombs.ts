import { createDeflate } from 'node:zlib'
import { photo, pngChunk } from './picture-archive.ts'

// Small files that say of themselves to be large.

interface PngOptions {
  readonly bits: 8 | 16
  readonly isInterlaced: boolean
}

/**
 * Makes a transparent black square with four channels: complete, and a thousandth of what it
 * unpacks to.
 */
export async function pngOf(side: number, { bits, isInterlaced }: PngOptions): Promise<Buffer> {
  const rowBytes = (width: number) => 1 + (width * 4 * bits) / 8
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
  const head = Buffer.alloc(13)
  head.writeUInt32BE(side)
  head.writeUInt32BE(side, 4)
  head.set([bits, 6, 0, 0, isInterlaced ? 1 : 0], 8)
  const parts = [
    pngChunk('IHDR', head),
    pngChunk('IDAT', await deflatedZeros(size)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts])
}

async function deflatedZeros(size: number): Promise<Buffer> {
  const deflate = createDeflate({ level: 9 })
  const packed: Buffer[] = []
  deflate.on('data', (data) => packed.push(data))
  const zeros = Buffer.alloc(1 << 20)
  for (let left = size; left > 0; left -= zeros.length)
    await new Promise((resolve) =>
      deflate.write(zeros.subarray(0, Math.min(left, zeros.length)), resolve),
    )
  await new Promise<void>((resolve) => deflate.end(resolve))
  return Buffer.concat(packed)
}

export async function jpegOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).jpeg().toBuffer()
  const at = bytes.indexOf(Buffer.from('ffc0', 'hex'))
  bytes.writeUInt16BE(side, at + 5)
  bytes.writeUInt16BE(side, at + 7)
  return bytes
}

export async function gifOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).gif().toBuffer()
  const image = bytes.indexOf(Buffer.from('2c0000000040002400', 'hex'))
  for (const at of [6, image + 5]) {
    bytes.writeUInt16LE(side, at)
    bytes.writeUInt16LE(side, at + 2)
  }
  return bytes
}

/** Writes the size into the header of a lossless WebP: 14 bits each, minus one. */
export async function webpOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).webp({ lossless: true }).toBuffer()
  const at = bytes.indexOf('VP8L') + 9
  bytes.writeUInt32LE(
    ((bytes.readUInt32LE(at) & 0xf0000000) | (side - 1) | ((side - 1) << 14)) >>> 0,
    at,
  )
  return bytes
}

export async function avifOfSize(side: number): Promise<Buffer> {
  const bytes = await photo(64, 36).avif({ effort: 0 }).toBuffer()
  const at = bytes.indexOf('ispe') + 8
  bytes.writeUInt32BE(side, at)
  bytes.writeUInt32BE(side, at + 4)
  return bytes
}
