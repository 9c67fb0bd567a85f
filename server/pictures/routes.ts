import { Problem, type Video } from '@talkshelf/contract'
import { pictureWidths } from '@talkshelf/web'
import type { FastifyInstance } from 'fastify'
import { findPublicEntity, profilePictureUrl } from '../entities/entities.ts'
import { anyone } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { matchesIfNoneMatch } from '../platform/http/conditional.ts'
import {
  type MountPage,
  type PageRequest,
  type PageResponse,
  parseId,
} from '../platform/http/pages.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import {
  type FoundPicture,
  type PictureSize,
  type Pictures,
  pictureVersion,
  profilePictureVersion,
} from './pictures.ts'

interface PictureForm {
  readonly size: PictureSize
  readonly isUntitled: boolean
}

const forms = new Map<string, PictureForm>([
  ['preview', { size: 'preview', isUntitled: false }],
  ...pictureWidths.flatMap((size): [string, PictureForm][] => [
    [`${size}`, { size, isUntitled: false }],
    [`${size}-untitled`, { size, isUntitled: true }],
  ]),
])

// Pictures have their own timeout, after which the cover is sent.
const routeOptions = { cost: requestCosts.read, limitMs: 20_000 }

/** Mounts the pictures of talks, events and speakers. */
export function pictureRoutes(
  http: FastifyInstance,
  mountPage: MountPage,
  pool: Pool,
  recordCache: RecordCache,
  pictures: Pictures,
): void {
  http.addHook('onClose', () => pictures.stop())

  mountPage(
    '/picture/:id/:form',
    async (request) => {
      const form = forms.get(request.params.form ?? '') ?? notFound()
      const { body } = await readVideo(recordCache, anyone, idOf(request))
      const record: Video = JSON.parse(body)
      return respond(request, await pictures.read(record, form.size, form), pictureVersion(record))
    },
    routeOptions,
  )

  for (const [kind, size] of [
    ['category', 'logo'],
    ['speaker', 'portrait'],
  ] as const)
    mountPage(
      `/picture/${kind}/:id`,
      async (request) => {
        const id = idOf(request)
        // Not found if it was merged: the page of the other entity has the URL of its picture.
        const entity = await findPublicEntity(pool.lookups, kind, id)
        const url = entity?.id === id ? profilePictureUrl(entity.profile) : null
        if (!entity || !url) return notFound()
        const picture = await pictures.readProfile(url, entity.name, size)
        return respond(request, picture, profilePictureVersion(url))
      },
      routeOptions,
    )
}

/** Returns the id in the path. Only the canonical URL is accepted: caches store a picture once. */
function idOf({ params, address }: PageRequest): number {
  const isPlain = !/^[^?]*%/.test(address)
  return (isPlain ? parseId(params.id) : undefined) ?? notFound()
}

function notFound(): never {
  throw new Problem('not-found', 'This URL does not exist')
}

function respond(
  { query, headers: requestHeaders }: PageRequest,
  picture: FoundPicture,
  currentVersion: string,
): PageResponse {
  const etag = `"${picture.etag}"`
  const headers = {
    etag,
    'cache-control': cacheControl(picture, query.v === currentVersion),
    'content-type': picture.type,
  }
  return matchesIfNoneMatch(requestHeaders['if-none-match'], etag)
    ? { status: 304, headers }
    : { body: picture.data, headers }
}

function cacheControl({ isStandIn }: FoundPicture, isCurrentVersion: boolean): string {
  if (isStandIn) return 'public, max-age=300'
  // At most a day, because caches may show the picture after a takedown. Another version in the URL
  // comes from a page that is older or newer than the record that this process has.
  return isCurrentVersion ? 'public, max-age=86400' : 'public, max-age=3600'
}
