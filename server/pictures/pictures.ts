import { createHash, hash } from 'node:crypto'
import type { Video } from '@talkshelf/contract'
import { LRUCache } from 'lru-cache'
import { OutboundError } from '../platform/net/outbound.ts'
import { LimitReached, openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { drawCover, drawPreview, drawUntitledCover } from './cover.ts'
import { openDiskCache } from './disk-cache.ts'
import {
  DecoderUnavailable,
  type Images,
  InvalidImage,
  openImages,
  type PictureSize,
} from './images.ts'
import { drawMonogram } from './monogram.ts'
import { uploadedHash } from './uploads.ts'

// Serves the picture of a talk: its thumbnail, fetched and resized by this server and cached, or a
// generated cover. If the thumbnail takes too long the cover is sent, and a later request gets the
// thumbnail. Logos and portraits are fetched the same way, or were uploaded (uploads.ts).

export { fetchImage } from './fetch.ts'
export {
  DecoderUnavailable,
  type IconSize,
  type Images,
  InvalidImage,
  openImages,
  type PictureSize,
} from './images.ts'
export { findPicture } from './queries.ts'
export {
  PictureRefused,
  removeUnusedPictures,
  storePicture,
} from './uploads.ts'

export type PictureSource = Pick<Video, 'thumbnail_url' | 'title' | 'category' | 'speakers'>

export interface Picture {
  readonly type: 'image/webp' | 'image/jpeg' | 'image/svg+xml'
  readonly data: Buffer
  /** The ETag. */
  readonly etag: string
}

export interface FoundPicture extends Picture {
  /** The picture is a placeholder for another one, which is not available, or not yet. */
  readonly isStandIn: boolean
}

export interface Pictures {
  /**
   * Returns the picture of a talk. Never fails: the cover is the fallback. With `isUntitled`, a
   * cover has no text.
   */
  read(
    record: PictureSource,
    size: PictureSize,
    options?: { readonly isUntitled: boolean },
  ): Promise<FoundPicture>
  /** Returns a logo or portrait. Never fails: the initials of the name are the fallback. */
  readProfile(url: string, name: string, size: 'logo' | 'portrait'): Promise<FoundPicture>
  readonly convertUpload: Images['convertUpload']
  stop(): Promise<void>
}

export interface PictureOptions {
  /** Downloads a file. */
  fetchImage(url: string, signal: AbortSignal): Promise<Buffer>
  /** Finds an uploaded picture by its hash. */
  findUploaded(hash: string): Promise<Buffer | undefined>
  /** The name of the archive, shown in link previews. */
  readonly siteName: string
  readonly cacheBytes: number
  /** Directory of the disk cache; empty for none. */
  readonly folder: string
  readonly folderBytes: number
  readonly log: {
    warn(entry: object, message: string): void
    debug(entry: object, message: string): void
  }
  /** Replaces the program that decodes images, for tests. */
  readonly decoderPath?: string
  readonly limits?: Partial<Limits>
}

const defaultLimits = {
  /** How long a request waits for a picture before it gets the cover. */
  patienceMs: 1500,
  /** How long a failed download is not repeated. */
  failedMs: 3_600_000,
  fetchesAtOnce: 4,
  fetchesWaiting: 64,
}
type Limits = typeof defaultLimits

const maxFailures = 10_000
/** Each of them has up to 10 MB in memory. */
const maxWaitingUploads = 10
/** Downloads up to this size are cached for other sizes. Most thumbnails have 20 kB. */
const maxCachedSource = 256 << 10
/** Increase it when the design of covers changes: URLs of pictures contain the version. */
const design = 2

/** Returns a hash of 8 characters for the URL of a picture, which changes with the picture. */
export function pictureVersion({
  thumbnail_url,
  title,
  category,
  speakers,
}: PictureSource): string {
  return hash(
    'sha256',
    JSON.stringify([design, thumbnail_url ?? '', title, category, speakers]),
    'base64url',
  ).slice(0, 8)
}

/** Returns a hash of 8 characters for the URL of a logo or portrait. */
export function profilePictureVersion(pictureUrl: string): string {
  return hash('sha256', JSON.stringify([design, pictureUrl]), 'base64url').slice(0, 8)
}

/** Opens the pictures: their caches, the downloads and the decoder. */
export function openPictures(options: PictureOptions): Pictures {
  const limits = { ...defaultLimits, ...options.limits }
  const images = openImages(options.decoderPath)
  const stopping = new AbortController()
  const failures: Failures = new LRUCache({ max: maxFailures, ttl: limits.failedMs })
  const uploads = openConcurrencyLimit(1, maxWaitingUploads)
  const cache = openCache(options, stopping.signal)
  const makeThumbnail = openThumbnails(options, limits, images, failures, stopping.signal)

  /** Renders a link preview. A failure is remembered, as with thumbnails. */
  async function makePreview(svg: string): Promise<Buffer> {
    const key = cacheKey(svg, 'failed')
    if (failures.has(key)) throw new InvalidImage('Rendering the preview has failed recently')
    try {
      return await images.render(svg)
    } catch (error) {
      if (error instanceof InvalidImage) failures.set(key, true)
      throw error
    }
  }

  function coverOf(record: PictureSource, isUntitled: boolean): Picture {
    const key = cacheKey(
      JSON.stringify([record.title, record.category, record.speakers]),
      isUntitled ? 'untitled' : 'cover',
    )
    const cached = cache.memory?.get(key)
    if (cached) return cached
    const svg = isUntitled ? drawUntitledCover(record) : drawCover(record).svg
    const picture = pictureOf('image/svg+xml', Buffer.from(svg))
    cache.memory?.set(key, picture)
    return picture
  }

  /**
   * Resizes an uploaded picture, or downloads it if its URL is that of another archive. An upload is
   * available at once, even if its URL has failed before.
   */
  async function makeProfilePicture(url: string, size: PictureSize): Promise<Buffer> {
    const hash = uploadedHash(url)
    const uploaded = hash === undefined ? undefined : await options.findUploaded(hash)
    return uploaded ? images.resize(uploaded, size) : makeThumbnail(url, size)
  }

  const find = (text: string, size: PictureSize, make: () => Promise<Buffer>) =>
    withTimeout(cache.find(cacheKey(text, size), size, make), limits.patienceMs)

  return {
    async read(record, size, { isUntitled } = { isUntitled: false }) {
      const { thumbnail_url: url } = record
      if (url) {
        const thumbnail = await find(url, size, () => makeThumbnail(url, size))
        if (thumbnail) return { ...thumbnail, isStandIn: false }
      }
      const cover = coverOf(record, isUntitled)
      if (size !== 'preview') return { ...cover, isStandIn: Boolean(url) }
      const svg = drawPreview(record, options.siteName)
      const preview = await find(svg, size, () => makePreview(svg))
      return preview ? { ...preview, isStandIn: Boolean(url) } : { ...cover, isStandIn: true }
    },
    async readProfile(url, name, size) {
      const found = await find(url, size, () => makeProfilePicture(url, size))
      if (found) return { ...found, isStandIn: false }
      return { ...pictureOf('image/svg+xml', Buffer.from(drawMonogram(name))), isStandIn: true }
    },
    convertUpload: (source) => uploads.run(() => images.convertUpload(source)),
    async stop() {
      stopping.abort(new Error('The server stops'))
      images.stop()
      await cache.settled()
    },
  }
}

/** Keys of downloads and covers that have failed recently. */
type Failures = LRUCache<string, true>

interface PictureCache {
  readonly memory: LRUCache<string, Picture> | undefined
  /**
   * Returns a picture from memory, from the disk or from `make`; undefined if `make` fails.
   * Concurrent calls with the same key share the work.
   */
  find(key: string, size: PictureSize, make: () => Promise<Buffer>): Promise<Picture | undefined>
  /** Resolves when all running work and all writes are done. */
  settled(): Promise<void>
}

function openCache(
  { cacheBytes, folder, folderBytes, log }: PictureOptions,
  signal: AbortSignal,
): PictureCache {
  // A quarter of the memory is for downloads, the rest for finished pictures.
  const memory =
    cacheBytes > 0
      ? new LRUCache<string, Picture>({ maxSize: (cacheBytes * 3) / 4, sizeCalculation: sizeOf })
      : undefined
  const onDiskError = (error: unknown) =>
    warnOnce('disk', error, 'cannot use PICTURE_DIR; pictures are generated again when needed')
  const disk =
    folder === ''
      ? undefined
      : openDiskCache({ path: folder, maxBytes: folderBytes, onError: onDiskError })
  const inFlight = new Map<string, Promise<Picture | undefined>>()

  const warned = new Set<string>()
  function warnOnce(topic: string, error: unknown, message: string) {
    if (warned.has(topic)) return
    warned.add(topic)
    log.warn({ err: error }, message)
  }

  function logFailure(error: unknown): void {
    if (error instanceof DecoderUnavailable)
      warnOnce('sharp', error, 'cannot decode images; talks have covers instead of thumbnails')
    else if (error instanceof OutboundError || error instanceof InvalidImage)
      log.debug({ err: error }, 'cannot fetch or decode a picture')
    else if (!(error instanceof LimitReached) && !signal.aborted)
      log.warn({ err: error }, 'cannot generate a picture')
  }

  async function findOrMake(
    key: string,
    size: PictureSize,
    make: () => Promise<Buffer>,
  ): Promise<Picture | undefined> {
    try {
      const file = await disk?.find(key)
      const isCached = file !== undefined && isComplete(file, size)
      const data = isCached ? file : await make()
      if (!isCached) disk?.keep(key, data)
      const picture = pictureOf(size === 'preview' ? 'image/jpeg' : 'image/webp', data)
      memory?.set(key, picture)
      return picture
    } catch (error) {
      logFailure(error)
      return undefined
    }
  }

  return {
    memory,
    async find(key, size, make) {
      const cached = memory?.get(key)
      if (cached) return cached
      let work = inFlight.get(key)
      if (!work) {
        work = findOrMake(key, size, make).finally(() => inFlight.delete(key))
        inFlight.set(key, work)
      }
      return work
    },
    async settled() {
      await Promise.all(inFlight.values())
      await disk?.settled()
    },
  }
}

/** The requested sizes of one download, and the promises for them. */
type ThumbnailJob = Map<PictureSize, PromiseWithResolvers<Buffer>>

/** Returns a function that downloads and resizes a thumbnail. One download serves all sizes. */
function openThumbnails(
  { cacheBytes, fetchImage }: PictureOptions,
  limits: Limits,
  images: Images,
  failures: Failures,
  signal: AbortSignal,
): (url: string, size: PictureSize) => Promise<Buffer> {
  const fetches = openConcurrencyLimit(limits.fetchesAtOnce, limits.fetchesWaiting)
  const sources =
    cacheBytes > 0
      ? new LRUCache<string, Buffer>({ maxSize: cacheBytes / 4, sizeCalculation: bytesOf })
      : undefined
  const jobs = new Map<string, ThumbnailJob>()

  async function run(url: string, job: ThumbnailJob): Promise<void> {
    const key = cacheKey(url, 'failed')
    const resizeAll = async (source: Buffer) => {
      // The iteration includes sizes that are added meanwhile.
      for (const [size, { resolve }] of job) resolve(await images.resize(source, size))
      jobs.delete(url)
    }
    try {
      if (failures.has(key)) throw new OutboundError('unreachable', 'The download failed recently')
      // Nothing is downloaded if no image can be decoded.
      await images.ready()
      const source = sources?.get(key)
      if (source) return await resizeAll(source)
      // The limit includes the resizing, so that only a few large files are in memory.
      await fetches.run(async () => {
        const fetched = await fetchImage(url, signal)
        if (fetched.length <= maxCachedSource) sources?.set(key, fetched)
        await resizeAll(fetched)
      })
    } catch (error) {
      jobs.delete(url)
      if ((error instanceof OutboundError || error instanceof InvalidImage) && !failures.has(key)) {
        failures.set(key, true)
        sources?.delete(key)
      }
      for (const { reject } of job.values()) reject(error)
    }
  }

  return (url, size) => {
    const job: ThumbnailJob = jobs.get(url) ?? new Map()
    const result = job.get(size) ?? Promise.withResolvers<Buffer>()
    job.set(size, result)
    if (!jobs.has(url)) {
      jobs.set(url, job)
      // Started after the job is registered, because it may fail synchronously. Errors reject the
      // promises of the job.
      run(url, job)
    }
    return result.promise
  }
}

function pictureOf(type: Picture['type'], data: Buffer): Picture {
  return { type, data, etag: hash('sha256', data, 'base64url').slice(0, 22) }
}

const bytesOf = (data: Buffer) => data.length + 500
const sizeOf = ({ data }: Picture) => bytesOf(data)

function cacheKey(text: string, kind: PictureSize | 'cover' | 'untitled' | 'failed'): string {
  return createHash('sha256').update(`${kind} ${text}`).digest('hex')
}

/** Detects files that are empty or truncated after a power failure. */
function isComplete(data: Buffer, size: PictureSize): boolean {
  if (size === 'preview')
    return (
      data.length > 4 &&
      data.readUInt16BE() === 0xffd8 &&
      data.readUInt16BE(data.length - 2) === 0xffd9
    )
  return (
    data.length > 12 &&
    data.toString('latin1', 8, 12) === 'WEBP' &&
    data.readUInt32LE(4) + 8 === data.length
  )
}

/** Returns the result of the work, or undefined if it takes longer. */
async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
