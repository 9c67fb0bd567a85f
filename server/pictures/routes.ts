import { Problem, type Video } from '@talkshelf/contract'
import { pictureWidths } from '@talkshelf/web'
import type { FastifyInstance } from 'fastify'
import { anyone } from '../platform/actor.ts'
import { matchesIfNoneMatch } from '../platform/http/conditional.ts'
import { type MountPage, parseId } from '../platform/http/pages.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import { type FoundPicture, type PictureSize, type Pictures, pictureVersion } from './pictures.ts'

const forms = new Map<string, PictureSize>(
  [...pictureWidths, 'preview' as const].map((form) => [String(form), form]),
)

export function pictureRoutes(
  http: FastifyInstance,
  mountPage: MountPage,
  recordCache: RecordCache,
  pictures: Pictures,
): void {
  http.addHook('onClose', () => pictures.stop())

  mountPage(
    '/picture/:id/:form',
    async ({ params, query, address, headers: asked }) => {
      const form = forms.get(params.form ?? '')
      const id = parseId(params.id)
      // One picture has one address, for caches.
      const isPlain = !/^[^?]*%/.test(address)
      if (!form || !isPlain || id === undefined)
        throw new Problem('not-found', 'There is no such address')
      const { body } = await readVideo(recordCache, anyone, id)
      const record: Video = JSON.parse(body)
      const picture = await pictures.read(record, form)
      const etag = `"${picture.tag}"`
      const headers = {
        etag,
        'cache-control': keeping(picture, query.v, record),
        'content-type': picture.type,
      }
      return matchesIfNoneMatch(asked['if-none-match'], etag)
        ? { status: 304, headers }
        : { body: picture.data, headers }
    },
    // It has limits of its own, and what it answers when they are over is a cover.
    { cost: requestCosts.read, limitMs: 20_000 },
  )
}

function keeping({ isStandIn }: FoundPicture, version: string | undefined, record: Video): string {
  if (isStandIn) return 'public, max-age=300'
  // A day at most: that is how long caches may show the picture of a talk that was taken down.
  // Another version in the address is a page that is older or newer than what this process knows.
  return version === pictureVersion(record) ? 'public, max-age=86400' : 'public, max-age=3600'
}
