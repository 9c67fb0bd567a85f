import { Facts, readFacts, replaceFacts, valid } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { etag, isUnchanged } from '../platform/http/conditional.ts'
import type { Mount } from '../platform/http/mount.ts'
import { requestOf } from '../platform/http/request.ts'
import { type Bodies, readVideo } from '../videos/videos.ts'
import * as facts from './facts.ts'

export function factRoutes(mount: Mount, pool: Pool, bodies: Bodies): void {
  mount(readFacts, async ({ params, actor, headers, as }) => {
    // Who may not see the record sees nothing of what is attached to it.
    await readVideo(bodies, actor, params.id)
    const { body, tag } = await facts.readFacts(pool.lookups, params.id)
    return { status: isUnchanged(headers['if-none-match'], etag(tag, as)) ? 304 : 200, body, tag }
  })

  mount(replaceFacts, async (asked) =>
    facts.replaceFacts(pool, asked.params.id, valid(Facts, asked.body).facts, requestOf(replaceFacts, asked)),
  )
}
