import { suggestEndpoint } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { versionedResponse } from '../platform/http/collection-response.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import * as search from './search.ts'

/** Mounts autocomplete. The list of records has the other searches. */
export function searchRoutes(mount: Mount, pool: Pool): void {
  mount(suggestEndpoint, async (call) => {
    const suggestions = search.suggest(pool.searches, call.query.q ?? '')
    return versionedResponse(
      call,
      toJson(await search.withSearchDeadline(pool.searches, suggestions)),
    )
  })
}
