import type { DecodeJob, IconSize, ImageFormat, PictureSize } from './decoder.ts'
import { type Decoder, InvalidImage, openDecoder } from './decoder-process.ts'

// Resizes and renders images. Downloaded files are not trusted: only known formats are decoded.

export type { IconSize, PictureSize } from './decoder.ts'
export { AnimatedImage, DecoderUnavailable, InvalidImage } from './decoder-process.ts'

export interface Images {
  /** Throws DecoderUnavailable if no image can be decoded on this system. */
  ready: Decoder['ready']
  /** Crops and shrinks an image. A small one is not enlarged; the browser does that. */
  resize(source: Buffer, size: PictureSize): Promise<Buffer>
  /**
   * Converts an uploaded picture to the one that is stored: WebP without metadata. Throws
   * AnimatedImage if the file has several images.
   */
  convertUpload(source: Buffer): Promise<Buffer>
  /** Renders a cover drawn by this server as a link preview. */
  render(svg: string): Promise<Buffer>
  /**
   * Draws an icon. An SVG is drawn with this density: it comes from the operator, who may set it.
   */
  drawIcon(source: Buffer, size: IconSize, svgDensity?: number): Promise<Buffer>
  stop: Decoder['stop']
}

/** Opens the image functions. The decoder process is started on demand. */
export function openImages(decoderPath?: string): Images {
  const { ready, decode, stop } = openDecoder(decoderPath)
  const convert = async (source: Buffer, size: DecodeJob['size']) => {
    const format = imageFormatOf(source)
    if (!format) throw new InvalidImage('Not a JPEG, PNG, WebP, GIF or AVIF')
    return decode({ source, format, size })
  }
  return {
    ready,
    stop,
    resize: convert,
    convertUpload: (source) => convert(source, 'stored'),
    drawIcon: (source, size, svgDensity) =>
      svgDensity === undefined
        ? convert(source, size)
        : decode({ source, format: 'svg', size, density: svgDensity }),
    render: (svg) => decode({ source: Buffer.from(svg), format: 'svg', size: 'preview' }),
  }
}

/** Recognises a format by its magic bytes. The Content-Type of the response is not reliable. */
export function imageFormatOf(bytes: Buffer): Exclude<ImageFormat, 'svg'> | undefined {
  const text = (from: number, to: number) => bytes.toString('latin1', from, to)
  if (text(0, 3) === '\xff\xd8\xff') return 'jpeg'
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'png'
  if (/^GIF8[79]a$/.test(text(0, 6))) return 'gif'
  if (text(0, 4) === 'RIFF' && /^WEBPVP8[ LX]$/.test(text(8, 16))) return 'webp'
  return isAvif(bytes) ? 'avif' : undefined
}

/** Tells whether the file starts with a file type box of plausible size that lists AVIF. */
function isAvif(bytes: Buffer): boolean {
  if (bytes.length < 20 || bytes.toString('latin1', 4, 8) !== 'ftyp') return false
  const size = bytes.readUInt32BE(0)
  if (size < 20 || size > 256 || size % 4 !== 0 || size > bytes.length) return false
  // Size, type, major brand and minor version come first; the rest is a list of brands.
  for (let offset = 16; offset < size; offset += 4)
    if (/^avi[fs]$/.test(bytes.toString('latin1', offset, offset + 4))) return true
  return false
}
