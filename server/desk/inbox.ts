import type { Import } from '@talkshelf/contract'
import { deskPages, deskPaths } from '@talkshelf/web'
import { listPasskeys } from '../auth/auth.ts'
import { listImports } from '../imports/imports.ts'
import type { Pool } from '../platform/db/pool.ts'
import { listScheduled } from '../publication/publication.ts'
import type { Desk } from './mount.ts'
import { listWorkingCopies } from './queries.ts'

// The first page of the desk: what waits for the person, the oldest first.

/** Items of each list. */
const maxItems = 10
/** The newest imports are searched for those that wait. */
const maxImports = 100

/** Mounts the first page of the desk. */
export function inboxPage(desk: Desk, pool: Pool): void {
  desk.page(deskPaths.home, { role: 'suggester' }, async (request) => {
    const { person } = request.session
    const isEditor = person.role !== 'suggester'
    const data = {
      hasPasskey: (await listPasskeys(pool, person.id)).length > 0,
      copies: await listWorkingCopies(pool, person.id, maxItems),
      imports: isEditor ? await findWaitingImports(pool) : [],
      scheduled: isEditor ? await listScheduled(pool, maxItems) : [],
    }
    return desk.render(request, [deskPages.home, data])
  })
}

/** Finds imports that were planned and neither applied nor discarded, the oldest first. */
async function findWaitingImports(pool: Pool): Promise<Import[]> {
  const recent = await listImports(pool, Number.MAX_SAFE_INTEGER, maxImports)
  return recent
    .filter(({ state }) => state === 'planned')
    .toReversed()
    .slice(0, maxItems)
}
