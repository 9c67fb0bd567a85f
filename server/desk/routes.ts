import { deskPages, deskPaths } from '@talkshelf/web'
import { listPasskeys } from '../auth/auth.ts'
import type { ImportPlanner } from '../imports/imports.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { accountPages } from './account.ts'
import { auditPage } from './audit.ts'
import { importPages } from './imports.ts'
import { type DeskSite, openDesk } from './mount.ts'
import { peoplePages } from './people.ts'
import { signInPages } from './sign-in.ts'
import { tokenPages } from './tokens.ts'

/** Mounts the pages for people who sign in. */
export function deskRoutes(
  deskSite: DeskSite,
  planner: ImportPlanner,
  importRunner: JobRunner,
): void {
  const { pool, site } = deskSite
  const desk = openDesk(deskSite)
  signInPages(desk, pool, site.name)
  accountPages(desk, pool, site.name)
  peoplePages(desk, pool, site.basePath)
  tokenPages(desk, pool)
  auditPage(desk, pool)
  importPages(desk, pool, planner, importRunner)
  desk.page(deskPaths.home, { role: 'suggester' }, async (request) => {
    const hasPasskey = (await listPasskeys(pool, request.session.person.id)).length > 0
    return desk.render(request, [deskPages.home, { hasPasskey }])
  })
}
