import { Facts, readFactsEndpoint, replaceFactsEndpoint, validate } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { conditionalStatus } from '../platform/http/conditional.ts'
import { recordPolicy } from '../platform/http/edge-policy.ts'
import type { Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import * as facts from './facts.ts'

/** Mounts the endpoints of facts. */
export function factRoutes(mount: Mount, pool: Pool, recordCache: RecordCache): void {
  mount(readFactsEndpoint, async ({ params, actor, headers, as }) => {
    // Throws if the actor may not see the record. Facts of a merged record are at its target.
    const { id } = await readVideo(recordCache, actor, params.id)
    const { body, etag } = await facts.readFacts(pool.lookups, id, actor.role)
    return {
      status: conditionalStatus(headers['if-none-match'], etag, as),
      body,
      etag,
      edge: () => recordPolicy(params.id, id),
    }
  })

  mount(replaceFactsEndpoint, async (call) => {
    const input = validate(Facts, call.body)
    const context = writeContext(replaceFactsEndpoint, call)
    return facts.replaceFacts(pool, call.params.id, input.facts, context)
  })
}
