import { createHash, hash } from 'node:crypto'
import type { Video } from '@talkshelf/contract'
import { LRUCache } from 'lru-cache'
import { OutboundError } from '../platform/net/outbound.ts'
import { LimitReached, openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { drawCover } from './cover.ts'
import { openDiskCache } from './disk-cache.ts'
import { DecoderUnavailable, InvalidImage, openImages, type PictureSize } from './images.ts'

// The front door. The picture of a talk is its thumbnail, fetched by us, cut to size and kept; or a
// cover, drawn from its own words. Whoever waits too long for the first gets the second, and
// whoever comes later finds the first.

export { fetchImage } from './fetch.ts'
export type { PictureSize } from './images.ts'

export type PictureSource = Pick<Video, 'thumbnail_url' | 'title' | 'category' | 'speakers'>

export interface Picture {
  readonly type: 'image/webp' | 'image/jpeg' | 'image/svg+xml'
  readonly data: Buffer
  readonly tag: string
}

export interface FoundPicture extends Picture {
  /** There should be another one, but it could not be had, or not yet. */
  readonly isStandIn: boolean
}

export interface Pictures {
  read(record: PictureSource, form: PictureSize): Promise<FoundPicture>
  stop(): Promise<void>
}

export interface PictureOptions {
  /** The file behind an address, from outside. */
  fetchImage(address: string, signal: AbortSignal): Promise<Buffer>
  readonly cacheBytes: number
  /** Where pictures are kept as files; empty for nowhere. */
  readonly folder: string
  readonly folderBytes: number
  readonly log: {
    warn(entry: object, words: string): void
    debug(entry: object, words: string): void
  }
  /** The program that decodes images, if not the usual one. */
  readonly decoderPath?: string
  readonly limits?: Partial<typeof usual>
}

const usual = {
  /** How long a reader waits for a server that is not ours. */
  patienceMs: 1500,
  /** How long nobody asks again for what could not be had. */
  failedMs: 3_600_000,
  fetchesAtOnce: 4,
  fetchesWaiting: 64,
}
const maxFailures = 10_000
/** Another form of the same picture is often wanted soon after. Most thumbnails have 20 kB. */
const largestKeptSource = 256 << 10
/** Changes when all covers look different: a link that is kept for ever has the version in it. */
const design = 1

/** Eight characters for the address of a picture: another picture has another address. */
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

export function openPictures(options: PictureOptions): Pictures {
  const { cacheBytes, log } = options
  const limits = { ...usual, ...options.limits }
  const images = openImages(options.decoderPath)
  const fetches = openConcurrencyLimit(limits.fetchesAtOnce, limits.fetchesWaiting)
  // One part in four for what was fetched, the rest for what is answered.
  const kept =
    cacheBytes > 0
      ? new LRUCache<string, Picture>({ maxSize: (cacheBytes * 3) / 4, sizeCalculation: sizeOf })
      : undefined
  const sources =
    cacheBytes > 0
      ? new LRUCache<string, Buffer>({ maxSize: cacheBytes / 4, sizeCalculation: bytesOf })
      : undefined
  const failed = new LRUCache<string, true>({ max: maxFailures, ttl: limits.failedMs })
  const folder =
    options.folder === ''
      ? undefined
      : openDiskCache({
          path: options.folder,
          maxBytes: options.folderBytes,
          onError: (error) =>
            warnOnce('folder', error, 'pictures can not be kept as files; they are made anew'),
        })
  const stopping = new AbortController()
  /** What is being looked for or made, by name. */
  const underWay = new Map<string, Promise<Picture | undefined>>()
  /** Who waits for which form of which file: one fetch serves them all. */
  const jobs = new Map<string, Map<PictureSize, PromiseWithResolvers<Buffer>>>()

  const told = new Set<string>()
  function warnOnce(about: string, error: unknown, words: string) {
    if (told.has(about)) return
    told.add(about)
    log.warn({ err: error }, words)
  }

  /**
   * From memory, from the folder, or made; undefined where it can't be had now. Two who want the
   * same wait for the same.
   */
  async function find(
    name: string,
    form: PictureSize,
    make: () => Promise<Buffer>,
  ): Promise<Picture | undefined> {
    const found = kept?.get(name)
    if (found) return found
    let one = underWay.get(name)
    if (!one) {
      one = findOrMake(name, form, make).finally(() => underWay.delete(name))
      underWay.set(name, one)
    }
    return one
  }

  async function findOrMake(
    name: string,
    form: PictureSize,
    make: () => Promise<Buffer>,
  ): Promise<Picture | undefined> {
    try {
      const file = await folder?.find(name)
      const isKept = file !== undefined && isWhole(file, form)
      const data = isKept ? file : await make()
      if (!isKept) folder?.keep(name, data)
      const picture = pictureOf(form === 'preview' ? 'image/jpeg' : 'image/webp', data)
      kept?.set(name, picture)
      return picture
    } catch (error) {
      if (error instanceof DecoderUnavailable)
        warnOnce('sharp', error, 'images can not be decoded; every talk has a cover for a picture')
      else if (error instanceof OutboundError || error instanceof InvalidImage)
        log.debug({ err: error }, 'a picture could not be had')
      else if (!(error instanceof LimitReached) && !stopping.signal.aborted)
        log.warn({ err: error }, 'a picture could not be made')
      return undefined
    }
  }

  function makeThumbnail(address: string, form: PictureSize): Promise<Buffer> {
    const job = jobs.get(address) ?? new Map<PictureSize, PromiseWithResolvers<Buffer>>()
    const one = job.get(form) ?? Promise.withResolvers<Buffer>()
    job.set(form, one)
    if (!jobs.has(address)) {
      jobs.set(address, job)
      // After we stand in the list: it may fail before it returns. What goes wrong is told to those
      // who wait.
      work(address, job)
    }
    return one.promise
  }

  async function work(
    address: string,
    job: Map<PictureSize, PromiseWithResolvers<Buffer>>,
  ): Promise<void> {
    const key = nameOf(address, 'failed')
    const makeAll = async (source: Buffer) => {
      // Whoever joins while we are at it is served too.
      for (const [form, { resolve }] of job) resolve(await images.resize(source, form))
      jobs.delete(address)
    }
    try {
      if (failed.has(key)) throw new OutboundError('unreachable', 'It could not be had a while ago')
      // Without it, nobody has to be asked for anything.
      await images.ready()
      const source = sources?.get(key)
      if (source) return await makeAll(source)
      // The place is held until the pixels are done: not more than a few large files are ever in
      // memory.
      await fetches.run(async () => {
        const fetched = await options.fetchImage(address, stopping.signal)
        if (fetched.length <= largestKeptSource) sources?.set(key, fetched)
        await makeAll(fetched)
      })
    } catch (error) {
      jobs.delete(address)
      if ((error instanceof OutboundError || error instanceof InvalidImage) && !failed.has(key)) {
        failed.set(key, true)
        sources?.delete(key)
      }
      for (const { reject } of job.values()) reject(error)
    }
  }

  /** Renders a cover as a link preview. A failure is remembered, as with thumbnails. */
  async function makePreview(cover: Picture): Promise<Buffer> {
    const key = nameOf(cover.tag, 'failed')
    if (failed.has(key)) throw new InvalidImage('The cover could not be rendered a while ago')
    try {
      return await images.render(cover.data.toString())
    } catch (error) {
      if (error instanceof InvalidImage) failed.set(key, true)
      throw error
    }
  }

  function coverOf(record: PictureSource): Picture {
    const name = nameOf(JSON.stringify([record.title, record.category, record.speakers]), 'cover')
    const found = kept?.get(name)
    if (found) return found
    const picture = pictureOf('image/svg+xml', Buffer.from(drawCover(record).svg))
    kept?.set(name, picture)
    return picture
  }

  return {
    async read(record, form) {
      const { thumbnail_url: address } = record
      if (address) {
        const found = await inTime(
          find(nameOf(address, form), form, () => makeThumbnail(address, form)),
          limits.patienceMs,
        )
        if (found) return { ...found, isStandIn: false }
      }
      const cover = coverOf(record)
      if (form !== 'preview') return { ...cover, isStandIn: Boolean(address) }
      const rendered = await inTime(
        find(nameOf(cover.tag, form), form, () => makePreview(cover)),
        limits.patienceMs,
      )
      return rendered ? { ...rendered, isStandIn: Boolean(address) } : { ...cover, isStandIn: true }
    },
    async stop() {
      stopping.abort(new Error('The server stops'))
      images.stop()
      await Promise.all(underWay.values())
      await folder?.settled()
    },
  }
}

function pictureOf(type: Picture['type'], data: Buffer): Picture {
  return { type, data, tag: hash('sha256', data, 'base64url').slice(0, 22) }
}

const bytesOf = (data: Buffer) => data.length + 500
const sizeOf = ({ data }: Picture) => bytesOf(data)

function nameOf(address: string, form: PictureSize | 'cover' | 'failed'): string {
  return createHash('sha256').update(`${form} ${address}`).digest('hex')
}

/** A power cut may leave a file that is empty, or ends too soon. */
function isWhole(data: Buffer, form: PictureSize): boolean {
  if (form === 'preview')
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

async function inTime<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
