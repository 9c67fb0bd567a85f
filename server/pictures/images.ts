import type { ImageFormat, PictureSize } from './decoder.ts'
import { type Decoder, InvalidImage, openDecoder } from './decoder-process.ts'

// Pixels. What comes in was made by strangers: its first bytes decide whether it is decoded at all.

export type { PictureSize } from './decoder.ts'
export { DecoderUnavailable, InvalidImage } from './decoder-process.ts'

export interface Images {
  /** Throws NoSharp if no image can be decoded on this system. */
  ready: Decoder['ready']
  /** Cuts to the form. A small picture stays small: enlarging is the browser's work. */
  resize(source: Buffer, form: PictureSize): Promise<Buffer>
  /** Turns a cover drawn by this server into a link preview. */
  render(svg: string): Promise<Buffer>
  stop: Decoder['stop']
}

export function openImages(decoderPath?: string): Images {
  const { ready, decode, stop } = openDecoder(decoderPath)
  return {
    ready,
    stop,
    resize: async (source, form) => {
      const format = imageFormatOf(source)
      if (!format) throw new InvalidImage('Not a JPEG, PNG, WebP, GIF or AVIF')
      return decode({ source, format, form })
    },
    render: (svg) => decode({ source: Buffer.from(svg), format: 'svg', form: 'preview' }),
  }
}

/** Recognises a format by its magic bytes. The Content-Type of the response is not evidence. */
export function imageFormatOf(bytes: Buffer): Exclude<ImageFormat, 'svg'> | undefined {
  const text = (from: number, to: number) => bytes.toString('latin1', from, to)
  if (text(0, 3) === '\xff\xd8\xff') return 'jpeg'
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'png'
  if (/^GIF8[79]a$/.test(text(0, 6))) return 'gif'
  if (text(0, 4) === 'RIFF' && /^WEBPVP8[ LX]$/.test(text(8, 16))) return 'webp'
  return isAvif(bytes) ? 'avif' : undefined
}

/** The first box has to be a file type box of plausible size which lists AVIF as compatible. */
function isAvif(bytes: Buffer): boolean {
  if (bytes.length < 20 || bytes.toString('latin1', 4, 8) !== 'ftyp') return false
  const size = bytes.readUInt32BE(0)
  if (size < 20 || size > 256 || size % 4 !== 0 || size > bytes.length) return false
  // Size, type, major brand and minor version come first; the rest is a list of brands.
  for (let at = 16; at < size; at += 4)
    if (/^avi[fs]$/.test(bytes.toString('latin1', at, at + 4))) return true
  return false
}
