import {
  type PictureRefusal,
  Problem,
  uploadPictureEndpoint,
  type Video,
} from '@talkshelf/contract'
import { pictureWidths } from '@talkshelf/web'
import type { FastifyInstance } from 'fastify'
import { findPublicEntity, isPublicPicture, profilePictureUrl } from '../entities/entities.ts'
import { anyone } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { onPrimary } from '../platform/db/read-context.ts'
import { matchesIfNoneMatch } from '../platform/http/conditional.ts'
import { edgeKey, picturePolicy } from '../platform/http/edge-policy.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
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
  findPicture,
  type Picture,
  PictureRefused,
  type PictureSize,
  type Pictures,
  pictureVersion,
  profilePictureVersion,
  storePicture,
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
      const picture = await pictures.read(record, form.size, form)
      const age = maxAge(request, picture, pictureVersion(record))
      const keys = new Set([idOf(request), record.id].map((id) => edgeKey('video', id)))
      return respond(request, picture, age, [...keys])
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
        const age = maxAge(request, picture, profilePictureVersion(url))
        return respond(request, picture, age, [edgeKey(kind, id)])
      },
      routeOptions,
    )
}

/** Mounts uploaded pictures as they are stored, for other archives and for tools. */
export function uploadedPictureRoute(mountPage: MountPage, pool: Pool): void {
  mountPage(
    '/picture/uploaded/:file',
    async (request) => {
      const [, hash] = /^([0-9a-f]{64})[.]webp$/.exec(request.params.file ?? '') ?? []
      if (hash === undefined || !isPlain(request.address)) return notFound()
      // A picture that was removed from the profile, or whose speaker is not public, is private.
      if (!(await onPrimary(() => isPublicPicture(pool.lists, hash)))) return notFound()
      // The content never changes, but it may be removed on request.
      const headers = {
        etag: `"${hash}"`,
        'cache-control': 'public, max-age=86400',
        'content-type': 'image/webp',
      }
      if (matchesIfNoneMatch(request.headers['if-none-match'], headers.etag))
        return { status: 304, headers }
      const picture = await onPrimary(() => findPicture(pool.lists, hash))
      return { body: picture ?? notFound(), headers }
    },
    routeOptions,
  )
}

const formats = 'Send a JPEG, PNG, WebP, GIF or AVIF'

/** What to do about a refused picture. */
const refusals: Readonly<Record<PictureRefusal, string>> = {
  empty: `The file is empty. ${formats}`,
  'too-large': 'The file has more than 10 MB. Send a smaller one',
  svg: 'SVG can contain scripts and is not supported. Export the picture as PNG and send that',
  format: `This is not a supported picture. ${formats}`,
  animated: 'The picture is animated. Send a single image',
  unreadable: 'The picture is damaged or too large to decode. Save it again as JPEG or PNG',
  full: 'The storage for pictures is full',
  unavailable: 'Pictures cannot be converted at the moment; try again later',
}

/** Mounts the endpoint that uploads a picture. `base` returns the URL of the archive. */
export function uploadRoutes(
  mount: Mount,
  pool: Pool,
  pictures: Pictures,
  base: () => string,
): void {
  mount(uploadPictureEndpoint, async ({ body, origin, untilMs }) => {
    try {
      const path = await storePicture(pool, pictures, body as Buffer, origin, { untilMs })
      return { body: toJson({ url: base() + path }) }
    } catch (error) {
      if (error instanceof PictureRefused) throw problemOf(error)
      throw error
    }
  })
}

/** Returns the problem for a refused picture. Its cause is for the log. */
function problemOf({ reason, cause }: PictureRefused): Problem {
  const detail = refusals[reason]
  if (reason === 'full') return new Problem('storage-full', detail)
  if (reason === 'unavailable')
    return Object.assign(new Problem('unavailable', detail, { outcome: 'not-applied' }), { cause })
  return new Problem('picture-refused', detail)
}

/** Tells whether a URL is spelt without escapes. Caches store each picture under one URL only. */
const isPlain = (address: string) => !/^[^?]*%/.test(address)

/** Returns the id in the path. */
function idOf({ params, address }: PageRequest): number {
  return (isPlain(address) ? parseId(params.id) : undefined) ?? notFound()
}

function notFound(): never {
  throw new Problem('not-found', 'This URL does not exist')
}

function respond(
  { headers: requestHeaders }: PageRequest,
  picture: Picture,
  seconds: number,
  keys: readonly string[],
): PageResponse {
  const etag = `"${picture.etag}"`
  const cacheControl = `public, max-age=${seconds}`
  const headers = { etag, 'cache-control': cacheControl, 'content-type': picture.type }
  const edge = () => picturePolicy(seconds, keys)
  return matchesIfNoneMatch(requestHeaders['if-none-match'], etag)
    ? { status: 304, headers, edge }
    : { body: picture.data, headers, edge }
}

/** Returns for how many seconds caches may keep a picture. */
function maxAge(
  { query }: PageRequest,
  { isStandIn }: FoundPicture,
  currentVersion: string,
): number {
  if (isStandIn) return 300
  // At most a day, because caches may show the picture after a takedown. Another version in the URL
  // comes from a page that is older or newer than the record that this process has.
  return query.v === currentVersion ? 86_400 : 3600
}
