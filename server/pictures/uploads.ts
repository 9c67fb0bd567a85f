import { hash } from 'node:crypto'
import type { PictureRefusal } from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import { assertBeforeDeadline, type Deadline } from '../changes/changes.ts'
import type { Origin } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { LimitReached } from '../platform/ops/concurrency-limit.ts'
import {
  AnimatedImage,
  DecoderUnavailable,
  type Images,
  InvalidImage,
  imageFormatOf,
} from './images.ts'
import {
  deleteUnusedPictures,
  markUnusedPictures,
  markUsedPictures,
  savePicture,
} from './queries.ts'

// Pictures that editors upload. A file is decoded and encoded again, so that nothing of it is stored
// but its pixels. The name of a picture is the hash of its content.

const storageLimits = { maxPictures: 20_000, maxBytes: 2_000_000_000 }
const deletedAtOnce = 100

export class PictureRefused extends Error {
  readonly reason: PictureRefusal

  constructor(reason: PictureRefusal, cause?: unknown) {
    super(`The picture was refused: ${reason}`, { cause })
    this.reason = reason
  }
}

/** Stores an uploaded picture and returns its path. Throws PictureRefused. */
export async function storePicture(
  pool: Pool,
  images: Pick<Images, 'convertUpload'>,
  source: Buffer,
  origin: Origin,
  deadline: Deadline = {},
): Promise<string> {
  assertPlausible(source)
  const data = await images.convertUpload(source).catch((error: unknown) => {
    throw refusalOf(error)
  })
  assertBeforeDeadline(deadline)
  const contentHash = hash('sha256', data, 'hex')
  const stored = await savePicture(pool, contentHash, data, origin, storageLimits)
  if (stored === 0) throw new PictureRefused('full')
  return paths.uploadedPicture(contentHash)
}

/** Throws PictureRefused if a file is certainly not one of the supported formats. */
function assertPlausible(source: Buffer): void {
  if (source.length === 0) throw new PictureRefused('empty')
  if (imageFormatOf(source)) return
  const isSvg = /<svg[\s>]/i.test(source.toString('latin1', 0, 4096))
  throw new PictureRefused(isSvg ? 'svg' : 'format')
}

function refusalOf(error: unknown): unknown {
  if (error instanceof AnimatedImage) return new PictureRefused('animated', error)
  if (error instanceof InvalidImage) return new PictureRefused('unreadable', error)
  if (error instanceof DecoderUnavailable || error instanceof LimitReached)
    return new PictureRefused('unavailable', error)
  return error
}

/**
 * Returns the hash in the URL of an uploaded picture, whatever the host. The SQL function
 * `uploaded_hash` has the same rule.
 */
export function uploadedHash(url: string): string | undefined {
  return /\/picture\/uploaded\/([0-9a-f]{64})[.]webp$/.exec(url)?.[1]
}

/** Deletes pictures that no profile has used for 90 days. Returns how many. */
export async function removeUnusedPictures(pool: Pool, isStopped: () => boolean): Promise<number> {
  await markUsedPictures(pool)
  await markUnusedPictures(pool)
  let removed = 0
  for (let count = -1; count !== 0 && !isStopped(); ) {
    count = await deleteUnusedPictures(pool, deletedAtOnce)
    removed += count
  }
  return removed
}
