import {
  createVideoEndpoint,
  invalidFields,
  listRevisionsEndpoint,
  Problem,
  patchVideoEndpoint,
  readRevisionEndpoint,
  readVideoEndpoint,
  replaceVideoEndpoint,
  restoreRevisionEndpoint,
  Takedown,
  takeDownVideoEndpoint,
  VideoInput,
  VideoPatch,
  validate,
} from '@talkshelf/contract'
import type { Static } from 'typebox'
import type { Pool } from '../platform/db/pool.ts'
import {
  lastModified,
  matchesIfNoneMatch,
  representationEtag,
} from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import type { Call, Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import * as videos from './videos.ts'
import { applyPatch, applyPut, normalizeVideoInput } from './wire.ts'

export function videoRoutes(
  mount: Mount,
  mountFast: Mount,
  pool: Pool,
  bodies: videos.RecordCache,
  urls: SiteUrls,
): void {
  /**
   * Whoever is answered that a record changed finds it changed in this process at once; in the
   * others within a moment.
   */
  async function changing<T>(id: number, change: Promise<T>): Promise<T> {
    try {
      return await change
    } finally {
      bodies.forget(id)
    }
  }

  mountFast(readVideoEndpoint, ({ params, actor, headers, as }) => {
    const answer = ({ body, tag, updated_ms, dated }: videos.CachedBody) => {
      const modified = lastModified(updated_ms, Date.now())
      return {
        status: isFresh(headers, representationEtag(tag, as), modified)
          ? (304 as const)
          : (200 as const),
        body,
        tag,
        headers: {
          // Kept by any cache, and asked for again each time: a 304 is cheap, a stale record is
          // not.
          'cache-control': actor.role === 'anyone' ? 'public, no-cache' : 'private, no-store',
          ...(modified !== undefined && { 'last-modified': dated }),
        },
      }
    }
    const found = videos.readVideo(bodies, actor, params.id)
    return found instanceof Promise ? found.then(answer) : answer(found)
  })

  mount(replaceVideoEndpoint, async (call) => {
    const input = await checked(pool, VideoInput, call.body)
    const request = writeContext(replaceVideoEndpoint, call)
    return changing(
      call.params.id,
      videos.changeVideo(pool, call.params.id, request, (before) => applyPut(before, input)),
    )
  })

  mount(patchVideoEndpoint, async (call) => {
    const patch = await checked(pool, VideoPatch, call.body)
    const request = writeContext(patchVideoEndpoint, call)
    return changing(
      call.params.id,
      videos.changeVideo(pool, call.params.id, request, (before) => applyPatch(before, patch)),
    )
  })

  mount(createVideoEndpoint, async (call) => {
    const key = idempotencyKey(call.headers)
    const input = await checked(pool, VideoInput, call.body)
    const { id, body, tag } = await videos.createVideo(
      pool,
      input,
      writeContext(createVideoEndpoint, call),
      key,
    )
    return { body, tag, headers: { location: urls.to(readVideoEndpoint, { id }) } }
  })

  mount(takeDownVideoEndpoint, async (call) => {
    const takedown = validate(Takedown, call.body)
    const { id } = call.params
    return {
      body: toJson(
        await changing(
          id,
          videos.takeDownVideo(
            pool,
            id,
            takedown.reason,
            writeContext(takeDownVideoEndpoint, call),
          ),
        ),
      ),
    }
  })

  mount(listRevisionsEndpoint, async ({ params, query, format }) => {
    const { page = 1 } = query
    const { count, results } = await videos.listRevisions(pool, params.id, page)
    const at = (number: number) =>
      `${urls.to(listRevisionsEndpoint, params)}?page=${number}${format ? `&format=${format}` : ''}`
    const next = page * videos.revisionsPerPage < count ? at(page + 1) : null
    return { body: toJson({ count, next, previous: page > 1 ? at(page - 1) : null, results }) }
  })

  mount(readRevisionEndpoint, async ({ params }) => ({
    body: toJson(await videos.readRevision(pool, params.id, params.revision)),
  }))

  mount(restoreRevisionEndpoint, async (call) =>
    changing(
      call.params.id,
      videos.restoreRevision(
        pool,
        call.params.id,
        call.params.revision,
        writeContext(restoreRevisionEndpoint, call),
      ),
    ),
  )
}

async function checked<T extends typeof VideoInput | typeof VideoPatch>(
  pool: Pool,
  schema: T,
  body: unknown,
) {
  const sent = normalizeVideoInput(body)
  const errors = await videos.videoFieldErrors(pool, schema, sent)
  if (errors.length > 0) throw invalidFields(errors)
  return sent as Static<T>
}

// The one form that is sent today; Date.parse alone would take "2099" for a date.
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

function isFresh(
  headers: Call<typeof readVideoEndpoint>['headers'],
  current: string,
  modified: number | undefined,
): boolean {
  const none = headers['if-none-match']
  if (none !== undefined) return matchesIfNoneMatch(none, current)
  const since = headers['if-modified-since'] ?? ''
  return modified !== undefined && httpDate.test(since) && modified <= Date.parse(since)
}

function idempotencyKey(headers: Call<typeof createVideoEndpoint>['headers']): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Problem('invalid-header', 'Idempotency-Key takes 1 to 255 visible ASCII characters')
  return key
}
