import { deskPages, deskPaths } from '@talkshelf/web'
import {
  finishOpenid,
  type OpenidKind,
  type OpenidProvider,
  type RefusalReason,
  removeIdentity,
  type Session,
  startOpenid,
} from '../auth/auth.ts'
import type { PageSite } from '../pages/pages.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { FormRequest, PageRequest, PageResponse } from '../platform/http/pages.ts'
import type { Desk, DeskRequest } from './mount.ts'
import { signInContext } from './sign-in.ts'

// Pages that sign in with an account of an OpenID Connect provider.

/** A flow waits for up to three responses of the provider, each for five seconds. */
const limits = { limitMs: 20_000 }

/** Mounts the forms that start a flow, and the page to which the provider redirects. */
export function openidPages(
  desk: Desk,
  pool: Pool,
  site: PageSite,
  provider: OpenidProvider | undefined,
): void {
  const callbackUrl = (request: PageRequest) =>
    desk.originOf(request) + site.basePath + deskPaths.openidCallback
  const refuse = async (
    request: PageRequest & { readonly session?: Session | undefined },
    reason: RefusalReason,
  ) => {
    const page = [deskPages.openidRefused, { reason, provider: provider?.name ?? '' }] as const
    return desk.render(request, page, 403)
  }
  const start = async (
    request: FormRequest & { readonly session?: Session },
    kind: OpenidKind,
    target: string,
  ): Promise<PageResponse> => {
    if (!provider) return desk.redirect(request, deskPaths.signIn)
    const { session } = request
    return desk.orRefused(
      request,
      async () => {
        const flow = { kind, target, ...(session && { session }) }
        const { cookie, url } = await startOpenid(pool, provider, flow, callbackUrl(request))
        // A redirect would be blocked: the content security policy allows forms to this site only.
        const page = desk.render(request, [deskPages.openidStart, { url, provider: provider.name }])
        return desk.withCookies(request, page, { openid: cookie })
      },
      (reason) => refuse(request, reason),
    )
  }
  desk.publicForm(
    deskPaths.openid,
    (request) => start(request, 'sign-in', request.form.get('to') ?? deskPaths.home),
    limits,
  )
  desk.publicForm(
    deskPaths.openidLink(':secret'),
    (request) => start(request, 'invitation', request.params.secret ?? ''),
    limits,
  )
  const account = { role: 'suggester', page: deskPaths.account } as const
  desk.form(
    deskPaths.openidConnect,
    { ...account, isDangerous: true },
    (request) => start(request, 'connect', deskPaths.account),
    limits,
  )
  desk.form(
    deskPaths.openidConfirm,
    account,
    (request) => start(request, 'confirm', request.form.get('to') ?? deskPaths.home),
    limits,
  )
  desk.form(
    deskPaths.removeIdentity,
    { ...account, isDangerous: true },
    async (request: DeskRequest<FormRequest>) => {
      const [issuer, subject] = ['issuer', 'subject'].map((name) => request.form.get(name) ?? '')
      const identity = { issuer: String(issuer), subject: String(subject) }
      await removeIdentity(pool, request.session, identity, request.requestId)
      return desk.redirect(request, `${deskPaths.account}?done=identity-removed`)
    },
  )
  desk.publicPage(
    deskPaths.openidCallback,
    async (request) => {
      const cookie = desk.cookieOf(request, 'openid')
      if (!provider || cookie === '') return refuse(request, 'openid')
      const session = await desk.sessionOf(request)
      return desk.orRefused(
        request,
        async () => {
          const url = new URL(desk.originOf(request) + site.basePath + request.address)
          const context = signInContext(desk, request, site.name)
          const result = await finishOpenid(pool, provider, context, { cookie, url, session })
          const done = result.kind === 'connect' ? '?done=identity-added' : ''
          return desk.redirect(request, result.target + done, {
            openid: '',
            ...(result.session !== undefined && { session: result.session }),
          })
        },
        (reason) => refuse({ ...request, session }, reason),
      )
    },
    limits,
  )
}
