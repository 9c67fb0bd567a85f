import { Facts, readFactsEndpoint, replaceFactsEndpoint, validate } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { matchesIfNoneMatch, representationEtag } from '../platform/http/conditional.ts'
import type { Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import * as facts from './facts.ts'

export function factRoutes(mount: Mount, pool: Pool, recordCache: RecordCache): void {
  mount(readFactsEndpoint, async ({ params, actor, headers, as }) => {
    // Who may not see the record sees nothing of what is attached to it.
    await readVideo(recordCache, actor, params.id)
    const { body, tag } = await facts.readFacts(pool.lookups, params.id, actor.role)
    return {
      status: matchesIfNoneMatch(headers['if-none-match'], representationEtag(tag, as)) ? 304 : 200,
      body,
      tag,
    }
  })

  mount(replaceFactsEndpoint, async (call) =>
    facts.replaceFacts(
      pool,
      call.params.id,
      validate(Facts, call.body).facts,
      writeContext(replaceFactsEndpoint, call),
    ),
  )
}
