import { listFindingsEndpoint, listRulesEndpoint, readVideoEndpoint } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { collectionResponse } from '../platform/http/collection-response.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import * as quality from './quality.ts'

/** Mounts the endpoints that list rules and their findings. */
export function qualityRoutes(mount: Mount, pool: Pool, urls: SiteUrls): void {
  const db = pool.lists

  mount(listRulesEndpoint, async (call) => {
    const rules = await quality.readRules(db)
    const entries = rules.map((rule) =>
      toJson({ ...rule, records: urls.to(listFindingsEndpoint, { rule: rule.rule }) }),
    )
    const page = {
      count: rules.length,
      isExact: true,
      entries,
      next: undefined,
      previous: undefined,
    }
    return collectionResponse(call, page, urls.to(listRulesEndpoint, {}))
  })

  mount(listFindingsEndpoint, async (call) => {
    const { rule } = call.params
    const page = await quality.readFindings(db, rule, call.query, (id) =>
      urls.to(readVideoEndpoint, { id }),
    )
    return collectionResponse(call, page, urls.to(listFindingsEndpoint, { rule }))
  })
}
