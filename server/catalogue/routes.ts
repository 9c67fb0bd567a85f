import {
  listCategoriesEndpoint,
  listLanguagesEndpoint,
  listSpeakersEndpoint,
  listTagsEndpoint,
  listVideosEndpoint,
  readRelatedEndpoint,
  suggestEndpoint,
  type Video,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import * as search from '../search/search.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import * as catalogue from './catalogue.ts'
import { collectionResponse, versionedResponse } from './collection-response.ts'

export function catalogueRoutes(
  mount: Mount,
  pool: Pool,
  recordCache: RecordCache,
  urls: SiteUrls,
): void {
  const db = pool.lists

  mount(listVideosEndpoint, async (call) => {
    const page = await catalogue.listRecords(pool, call.query)
    return collectionResponse(call, page, urls.to(listVideosEndpoint, {}), page.extra)
  })

  mount(suggestEndpoint, async (call) =>
    versionedResponse(
      call,
      toJson(
        await search.withSearchDeadline(
          pool.searches,
          search.suggest(pool.searches, call.query.q ?? ''),
        ),
      ),
    ),
  )

  mount(readRelatedEndpoint, async (call) => {
    const { body } = await readVideo(recordCache, call.actor, call.params.id)
    const related = await catalogue.findRelated(pool, JSON.parse(body) as Video)
    // The records are JSON already, as they are served one by one.
    return versionedResponse(
      call,
      `{${Object.entries(related).map(([list, records]) => `"${list}":[${records.join(',')}]`)}}`,
    )
  })

  const kinds: [
    (
      | typeof listTagsEndpoint
      | typeof listCategoriesEndpoint
      | typeof listSpeakersEndpoint
      | typeof listLanguagesEndpoint
    ),
    catalogue.ListedKind,
  ][] = [
    [listCategoriesEndpoint, 'category'],
    [listSpeakersEndpoint, 'speaker'],
    [listTagsEndpoint, 'tag'],
    [listLanguagesEndpoint, 'language'],
  ]
  for (const [list, kind] of kinds)
    mount(list, async (call) =>
      collectionResponse(
        call,
        await catalogue.listEntities(db, kind, call.query),
        urls.to(list, {}),
      ),
    )
}
