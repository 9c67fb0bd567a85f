import {
  createVideo,
  invalidFields,
  listRevisions,
  Problem,
  patchVideo,
  readRevision,
  readVideo,
  replaceVideo,
  restoreRevision,
  Takedown,
  takeDownVideo,
  VideoInput,
  VideoPatch,
  valid,
} from '@talkshelf/contract'
import type { Static } from 'typebox'
import type { Pool } from '../platform/db/pool.ts'
import { etag, isUnchanged, lastModified } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import type { Asked, Mount } from '../platform/http/mount.ts'
import { requestOf } from '../platform/http/request.ts'
import type { Links } from '../platform/http/server.ts'
import * as videos from './videos.ts'
import { patched, replaced, tidied } from './wire.ts'

export function videoRoutes(mount: Mount, mountFast: Mount, pool: Pool, bodies: videos.Bodies, links: Links): void {
  /** Whoever is answered that a record changed finds it changed in this process at once; in the others within a moment. */
  async function changing<T>(id: number, change: Promise<T>): Promise<T> {
    try {
      return await change
    } finally {
      bodies.forget(id)
    }
  }

  mountFast(readVideo, ({ params, actor, headers, as }) => {
    const answer = ({ body, tag, updated_ms, dated }: videos.Body) => {
      const modified = lastModified(updated_ms, Date.now())
      return {
        status: isFresh(headers, etag(tag, as), modified) ? (304 as const) : (200 as const),
        body,
        tag,
        headers: {
          // Kept by any cache, and asked for again each time: a 304 is cheap, a stale record is not.
          'cache-control': actor.role === 'anyone' ? 'public, no-cache' : 'private, no-store',
          ...(modified !== undefined && { 'last-modified': dated }),
        },
      }
    }
    const found = videos.readVideo(bodies, actor, params.id)
    return found instanceof Promise ? found.then(answer) : answer(found)
  })

  mount(replaceVideo, async (asked) => {
    const input = await checked(pool, VideoInput, asked.body)
    const request = requestOf(replaceVideo, asked)
    return changing(
      asked.params.id,
      videos.changeVideo(pool, asked.params.id, request, (before) => replaced(before, input)),
    )
  })

  mount(patchVideo, async (asked) => {
    const patch = await checked(pool, VideoPatch, asked.body)
    const request = requestOf(patchVideo, asked)
    return changing(
      asked.params.id,
      videos.changeVideo(pool, asked.params.id, request, (before) => patched(before, patch)),
    )
  })

  mount(createVideo, async (asked) => {
    const key = idempotencyKey(asked.headers)
    const input = await checked(pool, VideoInput, asked.body)
    const { id, body, tag } = await videos.createVideo(pool, input, requestOf(createVideo, asked), key)
    return { body, tag, headers: { location: links.to(readVideo, { id }) } }
  })

  mount(takeDownVideo, async (asked) => {
    const takedown = valid(Takedown, asked.body)
    const { id } = asked.params
    return { body: toJson(await changing(id, videos.takeDownVideo(pool, id, takedown.reason, requestOf(takeDownVideo, asked)))) }
  })

  mount(listRevisions, async ({ params, query, format }) => {
    const { page = 1 } = query
    const { count, results } = await videos.listRevisions(pool, params.id, page)
    const at = (number: number) => `${links.to(listRevisions, params)}?page=${number}${format ? `&format=${format}` : ''}`
    const next = page * videos.revisionsPerPage < count ? at(page + 1) : null
    return { body: toJson({ count, next, previous: page > 1 ? at(page - 1) : null, results }) }
  })

  mount(readRevision, async ({ params }) => ({ body: toJson(await videos.readRevision(pool, params.id, params.revision)) }))

  mount(restoreRevision, async (asked) =>
    changing(asked.params.id, videos.restoreRevision(pool, asked.params.id, asked.params.revision, requestOf(restoreRevision, asked))),
  )
}

async function checked<T extends typeof VideoInput | typeof VideoPatch>(pool: Pool, schema: T, body: unknown) {
  const sent = tidied(body)
  const errors = await videos.fieldErrors(pool, schema, sent)
  if (errors.length > 0) throw invalidFields(errors)
  return sent as Static<T>
}

// The one form that is sent today; Date.parse alone would take "2099" for a date.
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

function isFresh(headers: Asked<typeof readVideo>['headers'], current: string, modified: number | undefined): boolean {
  const none = headers['if-none-match']
  if (none !== undefined) return isUnchanged(none, current)
  const since = headers['if-modified-since'] ?? ''
  return modified !== undefined && httpDate.test(since) && modified <= Date.parse(since)
}

function idempotencyKey(headers: Asked<typeof createVideo>['headers']): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Problem('invalid-header', 'Idempotency-Key takes 1 to 255 visible ASCII characters')
  return key
}
