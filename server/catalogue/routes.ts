import {
  listVideosEndpoint,
  type QueryOf,
  readRelatedEndpoint,
  type Video,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { collectionResponse, versionedResponse } from '../platform/http/collection-response.ts'
import { type EdgePolicy, entityPolicy, listPolicy } from '../platform/http/edge-policy.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import * as catalogue from './catalogue.ts'

/** Mounts the list of records and the related records of one. */
export function catalogueRoutes(
  mount: Mount,
  pool: Pool,
  recordCache: RecordCache,
  urls: SiteUrls,
): void {
  mount(listVideosEndpoint, async (call) => {
    const page = await catalogue.listRecords(pool, call.query)
    const { fields } = call.query
    const shown = fields === undefined ? page : { ...page, entries: pick(page.entries, fields) }
    return collectionResponse(call, shown, urls.to(listVideosEndpoint, {}), page.extra, () =>
      edgePolicy(call.query, page),
    )
  })

  mount(readRelatedEndpoint, async (call) => {
    const { body } = await readVideo(recordCache, call.actor, call.params.id)
    const related = await catalogue.findRelated(pool, JSON.parse(body) as Video)
    // The records are JSON already: each has the same bytes as on its own URL.
    return versionedResponse(
      call,
      `{${Object.entries(related).map(([list, records]) => `"${list}":[${records.join(',')}]`)}}`,
      {},
      () => listPolicy([call.params.id, ...Object.values(related).flatMap(idsOf)]),
    )
  })
}

/** Returns records with some of their fields, in the order of the record. */
function pick(bodies: readonly string[], fields: string): object[] {
  const names = new Set(fields.split(','))
  return bodies.map((body) =>
    Object.fromEntries(
      Object.entries(JSON.parse(body) as Video).filter(([name]) => names.has(name)),
    ),
  )
}

/** Parameters that do not select records. */
const presentation = ['page', 'page_size', 'cursor', 'ordering', 'include', 'fields']

/** A list of the records of one entity changes only with these records. */
function edgePolicy(
  query: QueryOf<typeof listVideosEndpoint>,
  { entries, filter }: catalogue.RecordPage,
): EdgePolicy {
  const shown = idsOf(entries)
  // Facets name entities of records that are not shown.
  if (query.include?.includes('facets')) return { ...listPolicy(shown), staleSeconds: 0 }
  const [kind, ...others] = Object.keys(query).filter((name) => !presentation.includes(name))
  if (others.length > 0 || (kind !== 'category' && kind !== 'speaker' && kind !== 'tag'))
    return listPolicy(shown)
  const id = filter?.[kind]
  return id === undefined ? listPolicy(shown) : entityPolicy(kind, id, shown)
}

const idsOf = (bodies: readonly string[]) =>
  bodies.map((body) => (JSON.parse(body) as Pick<Video, 'id'>).id)
