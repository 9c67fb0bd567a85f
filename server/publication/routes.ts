import {
  PublicationInput,
  readPublicationEndpoint,
  schedulePublicationEndpoint,
  validate,
} from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import { readCurrentVideo } from '../videos/videos.ts'
import { readPublication, schedulePublication } from './publication.ts'

/** Mounts the endpoints of scheduled publication. */
export function publicationRoutes(mount: Mount, pool: Pool): void {
  mount(readPublicationEndpoint, async ({ params }) => {
    // Throws if there is no such record.
    await readCurrentVideo(pool, params.id)
    return { body: toJson(await readPublication(pool, params.id)) }
  })

  mount(schedulePublicationEndpoint, async (call) => {
    const { publish_at: publishAt } = validate(PublicationInput, call.body)
    const context = writeContext(schedulePublicationEndpoint, call)
    const publication = await schedulePublication(pool, call.params.id, publishAt, context)
    return { body: toJson(publication) }
  })
}
