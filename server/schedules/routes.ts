import { readScheduleEndpoint } from '@talkshelf/contract'
import { readEntity } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionedResponse } from '../platform/http/collection-response.ts'
import { listPolicy } from '../platform/http/edge-policy.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import { readSchedule, scheduleBody } from './schedules.ts'

/** Mounts the endpoint of schedules. `origin` returns the base URL of the archive. */
export function scheduleRoutes(
  mount: Mount,
  pool: Pool,
  urls: SiteUrls,
  origin: () => string,
): void {
  mount(readScheduleEndpoint, async (call) => {
    const entity = await readEntity(pool.lists, 'category', call.params.slug, 'anyone')
    if ('moved' in entity) {
      const query = call.format ? `?format=${call.format}` : ''
      const location = urls.to(readScheduleEndpoint, { slug: entity.moved }) + query
      const headers = { location, 'cache-control': 'public, max-age=60' }
      return { status: 301, body: '', headers, edge: listPolicy }
    }
    const { id } = JSON.parse(entity.body) as { id: number }
    const talks = await readSchedule(pool.lists, id)
    // Without keys: a change of a draft is not in the change feed, from which pages are purged.
    return versionedResponse(call, JSON.stringify(scheduleBody(talks, origin())), {}, () =>
      listPolicy(),
    )
  })
}
