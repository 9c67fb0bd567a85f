import {
  readSynonymsEndpoint,
  replaceSynonymsEndpoint,
  Synonyms,
  suggestEndpoint,
  validate,
} from '@talkshelf/contract'
import { auditOriginOf } from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionedResponse } from '../platform/http/collection-response.ts'
import { conditionalStatus } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import { writeContext } from '../platform/http/request.ts'
import * as search from './search.ts'

/** Mounts autocomplete and synonyms. The list of records has the other searches. */
export function searchRoutes(mount: Mount, pool: Pool): void {
  mount(suggestEndpoint, async (call) => {
    const suggestions = () => search.suggest(pool.searches, call.query.q ?? '')
    return versionedResponse(
      call,
      toJson(await search.withSearchDeadline(pool.searches, suggestions)),
    )
  })

  mount(readSynonymsEndpoint, async ({ headers, as }) => {
    const { body, etag } = await search.readSynonyms(pool.lookups)
    return { status: conditionalStatus(headers['if-none-match'], etag, as), body, etag }
  })

  mount(replaceSynonymsEndpoint, async (call) => {
    const { origin, ...context } = writeContext(replaceSynonymsEndpoint, call)
    return search.replaceSynonyms(pool, validate(Synonyms, call.body), {
      ...context,
      origin: auditOriginOf(origin),
    })
  })
}
