import { listFindings, listRules, readVideo } from '@talkshelf/contract'
import { sent } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import type { Links } from '../platform/http/server.ts'
import * as quality from './quality.ts'

export function qualityRoutes(mount: Mount, pool: Pool, links: Links): void {
  const db = pool.lists

  mount(listRules, async (asked) => {
    const rules = await quality.readRules(db)
    const entries = rules.map((it) => toJson({ ...it, records: links.to(listFindings, { rule: it.rule }) }))
    const page = { count: rules.length, isExact: true, entries, next: undefined, previous: undefined }
    return sent(asked, page, links.to(listRules, {}))
  })

  mount(listFindings, async (asked) => {
    const { rule } = asked.params
    const page = await quality.readFindings(db, rule, asked.query, (id) => links.to(readVideo, { id }))
    return sent(asked, page, links.to(listFindings, { rule }))
  })
}
