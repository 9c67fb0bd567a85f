import {
  createVideoEndpoint,
  invalidFields,
  listRevisionsEndpoint,
  Problem,
  patchVideoEndpoint,
  Revert,
  readRevisionEndpoint,
  readVideoEndpoint,
  replaceVideoEndpoint,
  restoreRevisionEndpoint,
  revertRevisionEndpoint,
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
import { recordPolicy } from '../platform/http/edge-policy.ts'
import { toJson } from '../platform/http/json.ts'
import type { Call, Mount, RouteResponse } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import * as videos from './videos.ts'
import { applyPatch, applyPut, normalizeVideoInput } from './wire.ts'

/** Mounts the endpoints of records and their revisions. */
export function videoRoutes(
  mount: Mount,
  mountFast: Mount,
  pool: Pool,
  recordCache: videos.RecordCache,
  urls: SiteUrls,
): void {
  mountFast(readVideoEndpoint, (call) => {
    const body = videos.readVideo(recordCache, call.actor, call.params.id)
    return body instanceof Promise
      ? body.then((row) => recordOrRedirect(call, row, urls))
      : recordResponse(call, body)
  })

  mount(replaceVideoEndpoint, async (call) => {
    const { id } = call.params
    const input = await validFields(pool, VideoInput, call.body)
    const context = writeContext(replaceVideoEndpoint, call)
    const write = videos.changeVideo(pool, id, context, (before) => applyPut(before, input))
    return invalidatingCache(recordCache, id, write)
  })

  mount(patchVideoEndpoint, async (call) => {
    const { id } = call.params
    const patch = await validFields(pool, VideoPatch, call.body)
    const context = writeContext(patchVideoEndpoint, call)
    const write = videos.changeVideo(pool, id, context, (before) => applyPatch(before, patch))
    return invalidatingCache(recordCache, id, write)
  })

  mount(createVideoEndpoint, async (call) => {
    const key = idempotencyKey(call.headers)
    const input = await validFields(pool, VideoInput, call.body)
    const context = writeContext(createVideoEndpoint, call)
    const { id, body, etag } = await videos.createVideo(pool, input, context, key)
    return { body, etag, headers: { location: urls.to(readVideoEndpoint, { id }) } }
  })

  mount(takeDownVideoEndpoint, async (call) => {
    const { reason } = validate(Takedown, call.body)
    const { id } = call.params
    const context = writeContext(takeDownVideoEndpoint, call)
    const write = videos.takeDownVideo(pool, id, reason, context)
    return { body: toJson(await invalidatingCache(recordCache, id, write)) }
  })

  revisionRoutes(mount, pool, recordCache, urls)
}

function revisionRoutes(
  mount: Mount,
  pool: Pool,
  recordCache: videos.RecordCache,
  urls: SiteUrls,
): void {
  mount(listRevisionsEndpoint, async ({ params, query, format }) => {
    const { page = 1 } = query
    const { count, results } = await videos.listRevisions(pool, params.id, page)
    const pageUrl = (number: number) =>
      `${urls.to(listRevisionsEndpoint, params)}?page=${number}${format ? `&format=${format}` : ''}`
    const next = page * videos.revisionsPerPage < count ? pageUrl(page + 1) : null
    const previous = page > 1 ? pageUrl(page - 1) : null
    return { body: toJson({ count, next, previous, results }) }
  })

  mount(readRevisionEndpoint, async ({ params }) => ({
    body: toJson(await videos.readRevision(pool, params.id, params.revision)),
  }))

  mount(restoreRevisionEndpoint, async (call) => {
    const { id, revision } = call.params
    const context = writeContext(restoreRevisionEndpoint, call)
    const write = videos.restoreRevision(pool, id, revision, context)
    return invalidatingCache(recordCache, id, write)
  })

  mount(revertRevisionEndpoint, async (call) => {
    const { id, revision } = call.params
    const { fields } = validate(Revert, call.body)
    const context = writeContext(revertRevisionEndpoint, call)
    const write = videos.revertRevision(pool, id, revision, fields, context)
    return invalidatingCache(recordCache, id, write)
  })
}

/**
 * Waits for a write and drops the record from the cache of this process, so that its next read
 * returns the change. Other processes follow within `maxStaleMs`.
 */
async function invalidatingCache<T>(
  recordCache: videos.RecordCache,
  id: number,
  write: Promise<T>,
): Promise<T> {
  try {
    return await write
  } finally {
    recordCache.forget(id)
  }
}

/** Returns the record, or a redirect to it if the requested one was merged into it. */
function recordOrRedirect(
  call: Call<typeof readVideoEndpoint>,
  row: videos.CachedBody,
  urls: SiteUrls,
): RouteResponse {
  if (row.id === call.params.id) return recordResponse(call, row)
  const { actor, format } = call
  const location = urls.to(readVideoEndpoint, { id: row.id }) + (format ? `?format=${format}` : '')
  // Without max-age, caches could store a 301 indefinitely; a merge can be undone.
  const cacheControl = actor.role === 'anyone' ? 'public, max-age=60' : 'private, no-store'
  return {
    status: 301,
    body: '',
    headers: { location, 'cache-control': cacheControl },
    edge: () => recordPolicy(call.params.id, row.id),
  }
}

function recordResponse(
  { actor, headers, as }: Call<typeof readVideoEndpoint>,
  { id, body, etag, updated_ms, lastModifiedHeader }: videos.CachedBody,
): RouteResponse {
  const modifiedMs = lastModified(updated_ms, Date.now())
  return {
    status: isNotModified(headers, representationEtag(etag, as), modifiedMs) ? 304 : 200,
    body,
    etag,
    headers: {
      // Caches may store it and must revalidate: a 304 is cheap, a stale record is not.
      'cache-control': actor.role === 'anyone' ? 'public, no-cache' : 'private, no-store',
      ...(modifiedMs !== undefined && { 'last-modified': lastModifiedHeader }),
    },
    edge: () => recordPolicy(id),
  }
}

/** Normalises and validates a body. Throws all field errors at once. */
async function validFields<T extends typeof VideoInput | typeof VideoPatch>(
  pool: Pool,
  schema: T,
  body: unknown,
) {
  const input = normalizeVideoInput(body)
  const errors = await videos.videoFieldErrors(pool, schema, input)
  if (errors.length > 0) throw invalidFields(errors)
  return input as Static<T>
}

// The only date format that clients send today. Date.parse alone would accept "2099".
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

function isNotModified(
  headers: Call<typeof readVideoEndpoint>['headers'],
  currentEtag: string,
  modifiedMs: number | undefined,
): boolean {
  const ifNoneMatch = headers['if-none-match']
  if (ifNoneMatch !== undefined) return matchesIfNoneMatch(ifNoneMatch, currentEtag)
  const since = headers['if-modified-since'] ?? ''
  return modifiedMs !== undefined && httpDate.test(since) && modifiedMs <= Date.parse(since)
}

function idempotencyKey(headers: Call<typeof createVideoEndpoint>['headers']): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new Problem('invalid-header', 'Idempotency-Key must be 1 to 255 visible ASCII characters')
  return key
}
