import { Problem, type Video } from '@talkshelf/contract'
import { pictureWidths } from '@talkshelf/web'
import type { FastifyInstance } from 'fastify'
import { anyone } from '../platform/actor.ts'
import { matchesIfNoneMatch } from '../platform/http/conditional.ts'
import { type MountPage, parseId } from '../platform/http/pages.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import { type FoundPicture, type PictureSize, type Pictures, pictureVersion } from './pictures.ts'

const sizes = new Map<string, PictureSize>(
  [...pictureWidths, 'preview' as const].map((size) => [String(size), size]),
)

/** Mounts the pictures of talks. */
export function pictureRoutes(
  http: FastifyInstance,
  mountPage: MountPage,
  recordCache: RecordCache,
  pictures: Pictures,
): void {
  http.addHook('onClose', () => pictures.stop())

  mountPage(
    '/picture/:id/:form',
    async ({ params, query, address, headers: requestHeaders }) => {
      const size = sizes.get(params.form ?? '')
      const id = parseId(params.id)
      // Only the canonical URL is accepted, so that caches store a picture once.
      const isPlain = !/^[^?]*%/.test(address)
      if (!size || !isPlain || id === undefined)
        throw new Problem('not-found', 'This URL does not exist')
      const { body } = await readVideo(recordCache, anyone, id)
      const record: Video = JSON.parse(body)
      const picture = await pictures.read(record, size)
      const etag = `"${picture.etag}"`
      const headers = {
        etag,
        'cache-control': cacheControl(picture, query.v, record),
        'content-type': picture.type,
      }
      return matchesIfNoneMatch(requestHeaders['if-none-match'], etag)
        ? { status: 304, headers }
        : { body: picture.data, headers }
    },
    // Pictures have their own timeout, after which the cover is sent.
    { cost: requestCosts.read, limitMs: 20_000 },
  )
}

function cacheControl(
  { isStandIn }: FoundPicture,
  version: string | undefined,
  record: Video,
): string {
  if (isStandIn) return 'public, max-age=300'
  // At most a day, because caches may show the picture after a takedown. Another version in the URL
  // comes from a page that is older or newer than the record that this process has.
  return version === pictureVersion(record) ? 'public, max-age=86400' : 'public, max-age=3600'
}
