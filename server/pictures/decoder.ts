import { writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import type { pictureWidths } from '@talkshelf/web'
import type { Sharp, SharpOptions } from 'sharp'

// Decodes images in a process of its own, which decoder-process.ts starts. An image that needs too
// much memory or time, or crashes libvips, ends this process and nothing else.

/**
 * A width in pixels; a link preview: a JPEG of 1200 by 630, which every site can show; a portrait,
 * cropped to a square; or a logo, whole and with its transparency.
 */
export type PictureSize = (typeof pictureWidths)[number] | 'preview' | 'portrait' | 'logo'
/** The size in which an uploaded picture is stored, whole and with its transparency. */
type StoredSize = 'stored'

/** Maps each format to the only libvips loader that may read it. */
const loaders = {
  jpeg: 'VipsForeignLoadJpegBuffer',
  png: 'VipsForeignLoadPngBuffer',
  webp: 'VipsForeignLoadWebpBuffer',
  gif: 'VipsForeignLoadNsgifBuffer',
  avif: 'VipsForeignLoadHeifBuffer',
  // For covers drawn by this server and the icon of its operator: a downloaded SVG is not recognised
  // as an image.
  svg: 'VipsForeignLoadSvgBuffer',
} as const
export type ImageFormat = keyof typeof loaders

/** A square PNG for browsers and home screens, with its transparency. */
export type IconSize = 'icon-32' | 'icon-192' | 'icon-512'

export interface DecodeJob {
  readonly source: Uint8Array
  readonly format: ImageFormat
  readonly size: PictureSize | StoredSize | IconSize
  /** Dots per inch in which an SVG is drawn. */
  readonly density?: number
}

export type DecoderMessage =
  | { readonly ready: true }
  | { readonly unavailable: string }
  | { readonly image: Uint8Array }
  | { readonly error: string; readonly isAnimated?: true }

const limits: SharpOptions = { limitInputPixels: 12_000_000, failOn: 'error', autoOrient: true }
/** Photos of phones have up to 50 million. JPEGs are shrunk while they are decoded. */
const maxStoredPixels = 50_000_000
/** An interlaced PNG at the pixel limit needs 190 MB; thumbnails need 80 MB, mostly for Node. */
const maxResidentBytes = 208 * 2 ** 20
/** CPU time, so that a busy machine does not make images fail. */
const maxCpuMs = 5000
const checkMs = 20
const preview = { width: 1200, height: 630 }
const portrait = { width: 256, height: 256 }
const logo = { width: 512, height: 256 }
const stored = { width: 1024, height: 1024 }

class AnimatedImage extends Error {}

const die = () => process.kill(process.pid, 'SIGKILL')
const send = (message: DecoderMessage) => process.send?.(message)

process.on('disconnect', die)
lowerPriority()
try {
  const { default: sharp } = await import('sharp')
  sharp.concurrency(1)
  sharp.cache(false)
  process.on('message', async (job: DecodeJob) => {
    const cpuAtStart = process.cpuUsage()
    // libvips works in other threads, so this timer runs while it allocates.
    const monitor = setInterval(() => {
      const { user, system } = process.cpuUsage(cpuAtStart)
      if (process.memoryUsage.rss() > maxResidentBytes || user + system > maxCpuMs * 1000) die()
    }, checkMs)
    try {
      sharp.block({ operation: ['VipsForeignLoad'] })
      sharp.unblock({ operation: [loaders[job.format]] })
      const options =
        job.size === 'stored' ? { ...limits, limitInputPixels: maxStoredPixels } : limits
      const { density } = job
      const image = sharp(job.source, density === undefined ? options : { ...options, density })
      send({ image: await convert(image, job) })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      send({ error: message, ...(error instanceof AnimatedImage && { isAnimated: true }) })
    } finally {
      clearInterval(monitor)
    }
  })
  send({ ready: true })
} catch (error) {
  send({ unavailable: String(error) })
}

/** Gives requests priority, and makes the kernel kill this process before the server. */
function lowerPriority(): void {
  try {
    setPriority(5)
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // Not supported on this system.
  }
}

async function convert(image: Sharp, { format, size }: DecodeJob): Promise<Buffer> {
  const { compression, autoOrient, pages = 1 } = await image.metadata()
  if (format === 'avif' && compression !== 'av1') throw new Error(`Compressed by ${compression}`)
  if (size === 'preview')
    return image
      .resize({ ...preview, fit: 'cover' })
      .flatten({ background: '#fff' })
      .jpeg({ quality: 80, mozjpeg: true })
      .toBuffer()
  if (size === 'portrait')
    return image
      .resize({ ...portrait, fit: 'cover' })
      .webp({ quality: 78 })
      .toBuffer()
  if (size === 'logo')
    return image
      .resize({ ...logo, fit: 'inside', withoutEnlargement: true })
      .webp({ quality: 90 })
      .toBuffer()
  if (size === 'icon-32' || size === 'icon-192' || size === 'icon-512') {
    const side = Number(size.slice('icon-'.length))
    return image
      .resize({ width: side, height: side, fit: 'contain', background: '#0000' })
      .png({ compressionLevel: 9 })
      .toBuffer()
  }
  if (size === 'stored') {
    if (pages > 1) throw new AnimatedImage(`The file has ${pages} images`)
    return image
      .resize({ ...stored, fit: 'inside', withoutEnlargement: true })
      .webp({ quality: 90, smartSubsample: true })
      .toBuffer()
  }
  // A small picture is not enlarged; the browser does that.
  const width = Math.max(
    16,
    Math.min(size, autoOrient.width, Math.floor((autoOrient.height * 16) / 9)),
  )
  return image
    .resize({ width, height: Math.round((width * 9) / 16), fit: 'cover' })
    .webp({ quality: 72 })
    .toBuffer()
}
