import { deskPages, deskPaths } from '@talkshelf/web'
import { listPasskeys } from '../auth/auth.ts'
import type { ImportPlanner } from '../imports/imports.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { accountPages } from './account.ts'
import { auditPage } from './audit.ts'
import { bulkEditPages } from './bulk-edit.ts'
import { historyPages } from './history.ts'
import { importPages } from './imports.ts'
import { type DeskSite, openDesk } from './mount.ts'
import { openidPages } from './openid.ts'
import { peoplePages } from './people.ts'
import { signInPages } from './sign-in.ts'
import { talkPages } from './talk.ts'
import { talkListPage } from './talks.ts'
import { tokenPages } from './tokens.ts'

/** Mounts the pages for people who sign in. */
export function deskRoutes(
  deskSite: DeskSite,
  markdown: Markdown,
  imports: { readonly planner: ImportPlanner; readonly runner: JobRunner },
): void {
  const { pool, site, mailer, provider, forget } = deskSite
  const desk = openDesk(deskSite)
  signInPages(desk, pool, site, mailer, provider?.name)
  openidPages(desk, pool, site, provider)
  accountPages(desk, pool, site.name, provider?.name)
  talkListPage(desk, pool)
  bulkEditPages(desk, pool, imports.planner)
  talkPages(desk, pool, forget, markdown)
  peoplePages(desk, pool, site, mailer)
  tokenPages(desk, pool)
  auditPage(desk, pool)
  historyPages(desk, pool, forget)
  importPages(desk, pool, imports.planner, imports.runner)
  desk.page(deskPaths.home, { role: 'suggester' }, async (request) => {
    const hasPasskey = (await listPasskeys(pool, request.session.person.id)).length > 0
    return desk.render(request, [deskPages.home, { hasPasskey }])
  })
}
