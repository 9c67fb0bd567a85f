import {
  CategoryInput,
  createCategoryEndpoint,
  type Endpoint,
  listCategoriesEndpoint,
  listLanguagesEndpoint,
  listSpeakersEndpoint,
  listTagsEndpoint,
  Merge,
  mergeCategoryEndpoint,
  mergeSpeakerEndpoint,
  mergeTagEndpoint,
  patchCategoryEndpoint,
  patchSpeakerEndpoint,
  patchTagEndpoint,
  readCategoryEndpoint,
  readSpeakerEndpoint,
  readTagEndpoint,
  Split,
  splitSpeakerEndpoint,
  unmergeCategoryEndpoint,
  unmergeSpeakerEndpoint,
  unmergeTagEndpoint,
  validate,
} from '@talkshelf/contract'
import { createCategory, normalizeEntityInput, readEntity } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import { onPrimary } from '../platform/db/read-context.ts'
import { collectionResponse } from '../platform/http/collection-response.ts'
import { conditionalStatus } from '../platform/http/conditional.ts'
import { entityPolicy, listPolicy } from '../platform/http/edge-policy.ts'
import type { Mount, RouteResponse } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import * as directory from './directory.ts'
import { parseEntityPatch } from './patch.ts'

/**
 * Mounts all endpoints of categories, speakers, tags and languages. `forgetRecords` removes changed
 * records from the cache; `jobRunner` updates the records that a write has left for later.
 */
export function directoryRoutes(
  mount: Mount,
  pool: Pool,
  urls: SiteUrls,
  jobRunner: JobRunner,
  forgetRecords: (ids: readonly number[]) => void,
): void {
  mountLists(mount, pool, urls)
  mountEntities(mount, pool, urls)
  mountWrites(mount, pool, jobRunner, forgetRecords)
}

function mountLists(mount: Mount, pool: Pool, urls: SiteUrls): void {
  for (const [endpoint, kind] of [
    [listCategoriesEndpoint, 'category'],
    [listSpeakersEndpoint, 'speaker'],
    [listTagsEndpoint, 'tag'],
    [listLanguagesEndpoint, 'language'],
  ] as const)
    mount(endpoint, async (call) => {
      const page = await directory.listEntities(pool.lists, kind, call.query)
      return collectionResponse(call, page, urls.to(endpoint, {}))
    })
}

function mountEntities(mount: Mount, pool: Pool, urls: SiteUrls): void {
  mount(createCategoryEndpoint, async (call) => {
    const input = validate(CategoryInput, normalizeEntityInput(call.body))
    const context = writeContext(createCategoryEndpoint, call)
    const { slug, body, etag } = await createCategory(pool, input, context)
    return { body, etag, headers: { location: urls.to(readCategoryEndpoint, { slug }) } }
  })

  for (const [endpoint, kind] of [
    [readCategoryEndpoint, 'category'],
    [readSpeakerEndpoint, 'speaker'],
    [readTagEndpoint, 'tag'],
  ] as const)
    mount(endpoint, async ({ params, headers, as, actor, format }) => {
      const isAnonymous = actor.role === 'anyone'
      const entity = await onPrimary(() => readEntity(pool.lists, kind, params.slug, actor.role))
      if ('moved' in entity) {
        const query = format ? `?format=${format}` : ''
        const location = urls.to(endpoint, { slug: entity.moved }) + query
        // Without max-age, caches could store a 301 indefinitely; the slug may change again.
        const cacheControl = isAnonymous ? 'public, max-age=60' : 'private, no-store'
        return {
          status: 301,
          body: '',
          headers: { location, 'cache-control': cacheControl },
          edge: listPolicy,
        }
      }
      const { body, etag } = entity
      return {
        status: conditionalStatus(headers['if-none-match'], etag, as),
        body,
        etag,
        headers: { 'cache-control': isAnonymous ? 'public, no-cache' : 'private, no-store' },
        edge: () => entityPolicy(kind, (JSON.parse(body) as { id: number }).id),
      }
    })
}

function mountWrites(
  mount: Mount,
  pool: Pool,
  jobRunner: JobRunner,
  forgetRecords: (ids: readonly number[]) => void,
): void {
  async function respond(write: Promise<directory.EntityWriteResult>): Promise<RouteResponse> {
    const { entity, changed, left } = await write
    forgetRecords(changed)
    if (left > 0) jobRunner.wake()
    return { body: entity.body, etag: entity.etag }
  }

  for (const [endpoint, kind] of [
    [patchCategoryEndpoint, 'category'],
    [patchSpeakerEndpoint, 'speaker'],
    [patchTagEndpoint, 'tag'],
  ] as const)
    mount(endpoint, (call) => {
      const patch = parseEntityPatch(kind, call.body)
      const context = writeContext<Endpoint>(endpoint, call)
      return respond(directory.patchEntity(pool, kind, call.params.slug, patch, context))
    })

  for (const [endpoint, kind] of [
    [mergeCategoryEndpoint, 'category'],
    [mergeSpeakerEndpoint, 'speaker'],
    [mergeTagEndpoint, 'tag'],
  ] as const)
    mount(endpoint, (call) => {
      const { into } = validate(Merge, call.body)
      const context = writeContext<Endpoint>(endpoint, call)
      return respond(directory.mergeEntity(pool, kind, call.params.slug, into, context))
    })

  for (const [endpoint, kind] of [
    [unmergeCategoryEndpoint, 'category'],
    [unmergeSpeakerEndpoint, 'speaker'],
    [unmergeTagEndpoint, 'tag'],
  ] as const)
    mount(endpoint, (call) => {
      const context = writeContext<Endpoint>(endpoint, call)
      return respond(directory.unmerge(pool, kind, call.params.slug, context))
    })

  mount(splitSpeakerEndpoint, (call) => {
    const split = validate(Split, normalizeEntityInput(call.body))
    const context = writeContext(splitSpeakerEndpoint, call)
    return respond(directory.splitSpeaker(pool, call.params.slug, split, context))
  })
}
