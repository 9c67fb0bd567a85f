import { deskPages, deskPaths } from '@talkshelf/web'
import {
  confirmWithPasskey,
  listIdentities,
  listPasskeys,
  passkeyCreationOptions,
  passkeyRequestOptions,
  type RefusalReason,
  readLink,
  type SignInContext,
  signInWithCode,
  signInWithNewPasskey,
  signInWithPasskey,
  signOut,
} from '../auth/auth.ts'
import type { PageSite } from '../pages/pages.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { FormRequest, PageRequest, PageResponse } from '../platform/http/pages.ts'
import type { Mailer } from '../platform/net/mail.ts'
import { mailPages } from './mail.ts'
import type { Desk } from './mount.ts'

// Pages that sign people in and out.

/** Mounts the pages of sign-in, sign-in links and confirmation. */
export function signInPages(
  desk: Desk,
  pool: Pool,
  site: PageSite,
  mailer: Mailer | undefined,
  provider: string | undefined,
): void {
  const contextOf = (request: PageRequest) => signInContext(desk, request, site.name)

  const signInPage = async (
    request: PageRequest,
    to: string,
    refused?: RefusalReason | 'too-many',
  ) => {
    const options = await passkeyRequestOptions(pool, contextOf(request), null)
    const data = { options, to, refused, hasMail: mailer !== undefined, provider }
    const refusedStatus = refused === 'too-many' ? 429 : 403
    return desk.render(request, [deskPages.signIn, data], refused ? refusedStatus : 200)
  }
  desk.publicPage(deskPaths.signIn, async (request) => {
    const to = request.query.to ?? deskPaths.home
    return (await desk.sessionOf(request)) ? desk.redirect(request, to) : signInPage(request, to)
  })
  desk.publicForm(deskPaths.signIn, async (request) => {
    const to = request.form.get('to') ?? deskPaths.home
    return desk.orRefused(
      request,
      async () => {
        const response = request.form.get('credential') ?? ''
        const secret = await signInWithPasskey(pool, contextOf(request), response)
        return desk.redirect(request, to, { session: secret })
      },
      (reason) => signInPage(request, to, reason),
    )
  })
  mailPages(desk, pool, site, mailer, (request) => signInPage(request, deskPaths.home, 'too-many'))
  linkPages(desk, pool, contextOf, provider)
  confirmPage(desk, pool, contextOf, provider)
  desk.form(deskPaths.signOut, { role: 'suggester', page: deskPaths.home }, async (request) => {
    await signOut(pool, request.session, request.requestId)
    return desk.redirect(request, `${deskPaths.signIn}?done=signed-out`, { session: '' })
  })
}

/** Replaces the secrets of links, also in the query, and the response of an OpenID provider. */
export function redactLinks(url: string): string {
  return url
    .replaceAll(/(desk(?:\/|%2F)link(?:\/|%2F))[\w-]+/gi, '$1:secret')
    .replace(/(desk\/openid\/callback\?).*/i, '$1:secret')
    .replaceAll(/(confirm(?:\/|%2F))[\w-]{43}/gi, '$1:secret')
    .replaceAll(/(suggestion(?:\/|%2F)\d+(?:\/|%2F))[\w-]{43}/gi, '$1:secret')
}

/** Returns what signing in needs to know about a request. */
export function signInContext(desk: Desk, request: PageRequest, siteName: string): SignInContext {
  return {
    origin: desk.originOf(request),
    name: siteName,
    userAgent: request.headers['user-agent'] ?? '',
    request: request.requestId,
  }
}

function linkPages(
  desk: Desk,
  pool: Pool,
  contextOf: (request: PageRequest) => SignInContext,
  provider: string | undefined,
): void {
  const secretOf = ({ params }: PageRequest) => params.secret ?? ''
  const linkPage = async (request: PageRequest, refused?: RefusalReason) => {
    const secret = secretOf(request)
    return desk.orRefused(
      request,
      async () => {
        const owner = await readLink(pool, secret, desk.cookieOf(request, 'browser'))
        const { name, isRequested, isSameBrowser } = owner
        const options = isRequested
          ? undefined
          : await passkeyCreationOptions(pool, contextOf(request), owner)
        const data = { secret, name, options, isSameBrowser, provider, refused }
        return desk.render(request, [deskPages.link, data], refused ? 403 : 200)
      },
      async () => desk.render(request, [deskPages.linkRefused, {}], 403),
    )
  }
  const linkForm =
    (signIn: (context: SignInContext, request: FormRequest) => Promise<string>) =>
    (request: FormRequest) =>
      desk.orRefused(
        request,
        async () =>
          desk.redirect(request, deskPaths.home, {
            session: await signIn(contextOf(request), request),
          }),
        (reason) => linkPage(request, reason),
      )
  const path = deskPaths.link(':secret')
  desk.publicPage(path, (request) => linkPage(request))
  desk.publicForm(
    path,
    linkForm((context, request) => {
      const response = request.form.get('credential') ?? ''
      return signInWithNewPasskey(pool, context, secretOf(request), response, 'Passkey')
    }),
  )
  // After a wrong code, the browser shows this address.
  desk.publicPage(deskPaths.linkCode(':secret'), async (request) =>
    desk.redirect(request, deskPaths.link(secretOf(request))),
  )
  desk.publicForm(
    deskPaths.linkCode(':secret'),
    linkForm((context, request) =>
      signInWithCode(pool, context, secretOf(request), {
        code: request.form.get('code') ?? '',
        browser: desk.cookieOf(request, 'browser'),
      }),
    ),
  )
}

function confirmPage(
  desk: Desk,
  pool: Pool,
  contextOf: (request: PageRequest) => SignInContext,
  provider: string | undefined,
): void {
  const show = async (
    request: Parameters<Parameters<Desk['page']>[2]>[0],
    to: string,
    refused?: RefusalReason,
  ): Promise<PageResponse> => {
    const context = contextOf(request)
    const { id } = request.session.person
    const host = new URL(context.origin).hostname
    const hasPasskey = (await listPasskeys(pool, id)).some((passkey) => passkey.host === host)
    const options = hasPasskey ? await passkeyRequestOptions(pool, context, id) : undefined
    const hasIdentity = (await listIdentities(pool, id)).length > 0
    const data = { options, to, provider: hasIdentity ? provider : undefined, refused }
    return desk.render(request, [deskPages.confirm, data], refused ? 403 : 200)
  }
  desk.page(deskPaths.confirm, { role: 'suggester' }, (request) =>
    show(request, request.query.to ?? deskPaths.home),
  )
  desk.form(deskPaths.confirm, { role: 'suggester', page: deskPaths.confirm }, async (request) => {
    const to = request.form.get('to') ?? deskPaths.home
    return desk.orRefused(
      request,
      async () => {
        const response = request.form.get('credential') ?? ''
        const secret = await confirmWithPasskey(pool, contextOf(request), request.session, response)
        return desk.redirect(request, to, { session: secret })
      },
      (reason) => show(request, to, reason),
    )
  })
}
