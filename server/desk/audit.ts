import { deskPages, deskPaths } from '@talkshelf/web'
import { listAuditEvents } from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import type { Desk } from './mount.ts'

const pageSize = 100

/** Mounts the page of the audit log. Only administrators see it. */
export function auditPage(desk: Desk, pool: Pool): void {
  desk.page(deskPaths.audit, { role: 'admin', isDangerous: true }, async (request) => {
    const before = parseId(request.query.before) ?? null
    const found = await listAuditEvents(pool, { before, size: pageSize + 1 })
    const events = found.slice(0, pageSize)
    const next = found.length > pageSize ? events.at(-1)?.id : undefined
    return desk.render(request, [deskPages.audit, { events, next }])
  })
}
