import { deskPages, deskPaths } from '@talkshelf/web'
import { listPasskeys } from '../auth/auth.ts'
import { accountPages } from './account.ts'
import { auditPage } from './audit.ts'
import { historyPages } from './history.ts'
import { type DeskSite, openDesk } from './mount.ts'
import { peoplePages } from './people.ts'
import { signInPages } from './sign-in.ts'
import { tokenPages } from './tokens.ts'

/** Mounts the pages for people who sign in. */
export function deskRoutes(deskSite: DeskSite): void {
  const { pool, site, forget } = deskSite
  const desk = openDesk(deskSite)
  signInPages(desk, pool, site.name)
  accountPages(desk, pool, site.name)
  peoplePages(desk, pool, site.basePath)
  tokenPages(desk, pool)
  auditPage(desk, pool)
  historyPages(desk, pool, forget)
  desk.page(deskPaths.home, { role: 'suggester' }, async (request) => {
    const hasPasskey = (await listPasskeys(pool, request.session.person.id)).length > 0
    return desk.render(request, [deskPages.home, { hasPasskey }])
  })
}
