import { deskPages, deskPaths, invitationMail, signInMail } from '@talkshelf/web'
import {
  browserCode,
  isWellFormedSecret,
  makeSecret,
  requestLink,
  type SignInLink,
} from '../auth/auth.ts'
import type { PageSite } from '../pages/pages.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { PageRequest, PageResponse } from '../platform/http/pages.ts'
import { createRateLimit } from '../platform/http/rate-limit.ts'
import type { Mailer } from '../platform/net/mail.ts'
import type { Desk } from './mount.ts'

// Sign-in links by mail. The answer to a request for a link neither says whether the address is
// known nor waits for the database or the mail server.

/** Links that a network can ask for within 15 minutes. */
const requestsPerNetwork = 10

/**
 * Mounts the form that asks for a link, and the page that shows its code. `refuse` returns the
 * sign-in page for requests beyond the limits.
 */
export function mailPages(
  desk: Desk,
  pool: Pool,
  site: PageSite,
  mailer: Mailer | undefined,
  refuse: (request: PageRequest) => Promise<PageResponse>,
): void {
  const limit = createRateLimit(requestsPerNetwork, 15 * 60)
  desk.publicForm(deskPaths.mailLink, async (request) => {
    if (!mailer) return desk.redirect(request, deskPaths.signIn)
    if (limit.take(request.network, 1).waitSeconds > 0) return refuse(request)
    const mail = (request.form.get('mail') ?? '').trim()
    const before = desk.cookieOf(request, 'browser')
    // A second request keeps the code, so that the links of both mails work.
    const browser = isWellFormedSecret(before) ? before : makeSecret()
    const base = desk.originOf(request) + site.basePath
    const locale = desk.localeOf(request)
    const isQueued = mailer.enqueue(async () => {
      const link = await requestLink(pool, mail, browser)
      if (!link) return undefined
      const url = base + deskPaths.link(link.secret)
      return { to: link.mail, ...signInMail(locale, { site: site.name, name: link.name, url }) }
    })
    return isQueued ? desk.redirect(request, deskPaths.mailLink, { browser }) : refuse(request)
  })
  desk.publicPage(deskPaths.mailLink, async (request) => {
    const browser = desk.cookieOf(request, 'browser')
    if (!isWellFormedSecret(browser)) return desk.redirect(request, deskPaths.signIn)
    return desk.render(request, [deskPages.mailSent, { code: browserCode(browser) }])
  })
}

/** Queues the mail with an invitation or a new link. Returns false if the queue is full. */
export function mailInvitation(
  mailer: Mailer,
  { to, ...data }: { to: string; locale: ReturnType<Desk['localeOf']> } & InvitationData,
): boolean {
  const { locale, site, name, url, link } = data
  const mail = invitationMail(locale, { site, name, url, code: link.code })
  return mailer.enqueue(async () => ({ to, ...mail }))
}

interface InvitationData {
  readonly site: string
  readonly name: string
  readonly url: string
  readonly link: SignInLink
}
