import { hash } from 'node:crypto'
import { mayAct, Problem } from '@talkshelf/contract'
import { type DeskView, deskPages, deskPaths, renderDeskPage } from '@talkshelf/web'
import {
  type AuditOrigin,
  actorOf,
  createFormToken,
  isFormToken,
  type OpenidProvider,
  type RefusalReason,
  readSession,
  type Session,
  SignInRefused,
} from '../auth/auth.ts'
import type { WriteContext } from '../changes/changes.ts'
import { buildView, localPath, type PageSite, pageHeaders } from '../pages/pages.ts'
import type { Origin } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  type FormRequest,
  type MountForm,
  type MountPage,
  type MountUpload,
  type PageLimits,
  type PageRequest,
  type PageResponse,
  parseId,
  type UploadRequest,
} from '../platform/http/pages.ts'
import { isLocalHost, siteOrigin } from '../platform/http/same-origin.ts'
import type { Upload, UploadLimits } from '../platform/http/uploads.ts'
import type { Mailer } from '../platform/net/mail.ts'
import { type CookieKind, type CookieSite, readCookie, setCookie } from './cookies.ts'

// Mounts pages and forms of the desk: finds the session, checks role and form token, and sets the
// headers. Pages are never cached and never readable for other sites.

export interface DeskSite {
  readonly mountPage: MountPage
  readonly mountForm: MountForm
  readonly mountUpload: MountUpload
  readonly pool: Pool
  readonly site: PageSite
  /** Origin of PUBLIC_URL, if it is set. */
  readonly publicOrigin: string | undefined
  /** Undefined if no mail server is set. */
  readonly mailer: Mailer | undefined
  /** Undefined if no OpenID Connect provider is set. */
  readonly provider: OpenidProvider | undefined
  /** Reports a sign-in that was refused, with the id of its request. */
  onRefused(refusal: SignInRefused, requestId: string): void
  /** Removes changed records from the cache. */
  forget(ids: readonly number[]): void
}

/** What a page or form requires of the person. */
export interface DeskAccess {
  readonly role: Session['person']['role']
  /** Also for editors of single events: the handler checks the event of each record. */
  readonly forEventEditors?: true
  /** Asks for the passkey again if that was more than 10 minutes ago. */
  readonly isDangerous?: true
}

export type DeskRequest<R extends PageRequest = PageRequest> = R & { readonly session: Session }

/** A form with a file. `readForm` throws if it is not valid. */
export type DeskUpload = DeskRequest<UploadRequest> & { readForm(): Promise<Upload> }

/** A page of the desk and its data. */
type Rendered<Data extends object> = readonly [
  page: Parameters<typeof renderDeskPage<Data>>[0],
  data: Data,
]

const limits: PageLimits = { isPrivate: true }
/** The limit of a form with long texts, percent-encoded. */
export const textFormBytes = 1_048_576

export type Desk = ReturnType<typeof openDesk>

/** Returns the functions with which pages and forms of the desk are mounted. */
export function openDesk(deskSite: DeskSite) {
  const { mountPage, mountForm, mountUpload, pool, site, publicOrigin, onRefused } = deskSite
  const cookieSite = (request: PageRequest): CookieSite => ({
    basePath: site.basePath,
    isSecure: originOf(request).startsWith('https:'),
  })
  const originOf = ({ headers }: PageRequest) => {
    // Behind a proxy, the Host header says neither the scheme nor always the host.
    if (publicOrigin === undefined && !isLocalHost(headers.host))
      throw new Problem('forbidden', 'Set PUBLIC_URL to sign in under this address')
    return siteOrigin(headers, publicOrigin)
  }
  const sessionOf = (request: PageRequest) => readSession(pool, cookieOf(request, 'session'))
  const cookieOf = (request: PageRequest, kind: CookieKind) =>
    readCookie(cookieSite(request), kind, request.headers.cookie)

  function render<Data extends object>(
    request: PageRequest & { readonly session?: Session | undefined },
    [page, data]: Rendered<Data>,
    status: PageResponse['status'] = 200,
  ): PageResponse {
    const { session } = request
    const view: DeskView = {
      ...buildView(site, request),
      assets: site.assets.desk,
      person: session?.person,
      formToken: (path) => (session ? createFormToken(session, path) : ''),
      done: request.query.done,
    }
    return {
      status,
      body: renderDeskPage(page, data, view),
      headers: {
        ...pageHeaders(view),
        'cache-control': 'private, no-store',
        'referrer-policy': 'same-origin',
      },
    }
  }

  /** Redirects to a page of the desk after a form. `cookies` has the values of cookies to set. */
  function redirect(
    request: PageRequest,
    path: string,
    cookies: Partial<Record<CookieKind, string>> = {},
  ): PageResponse {
    const headers = { location: localPath(site, path), 'cache-control': 'private, no-store' }
    return withCookies(request, { status: 303, headers }, cookies)
  }

  /** Adds cookies to a response. An empty value removes a cookie. */
  function withCookies(
    request: PageRequest,
    response: PageResponse,
    cookies: Partial<Record<CookieKind, string>>,
  ): PageResponse {
    const set = Object.entries(cookies).map(([kind, value]) =>
      setCookie(cookieSite(request), kind as CookieKind, value),
    )
    if (set.length === 0) return response
    return { ...response, headers: { ...response.headers, 'set-cookie': set } }
  }

  /** Returns a response if the person has to sign in or confirm first, or may not do this. */
  async function checkAccess(
    request: PageRequest,
    { role, forEventEditors, isDangerous }: DeskAccess,
    to: string,
  ): Promise<{ session: Session } | { response: PageResponse }> {
    const session = await sessionOf(request)
    const returnTo = `?to=${encodeURIComponent(to)}`
    if (!session) return { response: redirect(request, deskPaths.signIn + returnTo) }
    const actor = actorOf(session)
    const isTooNarrow = actor.events && !forEventEditors && mayAct(role, 'editor')
    if (!mayAct(actor.role, role) || isTooNarrow) {
      const page = [deskPages.forbidden, { role: session.person.role }] as const
      return { response: render({ ...request, session }, page, 403) }
    }
    if (isDangerous && !session.isStrong)
      return { response: redirect(request, deskPaths.confirm + returnTo) }
    return { session }
  }

  return {
    originOf,
    sessionOf,
    cookieOf,
    localeOf: (request: PageRequest) => buildView(site, request).locale,
    render,
    redirect,
    withCookies,

    /** Runs the work. If the person is refused, reports it, and `refuse` returns the response. */
    async orRefused<T>(
      { requestId }: PageRequest,
      work: () => Promise<T>,
      refuse: (reason: RefusalReason) => Promise<T>,
    ): Promise<T> {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof SignInRefused)) throw error
        onRefused(error, requestId)
        return refuse(error.reason)
      }
    },

    /** Mounts a page that needs a session. */
    page(
      path: string,
      access: DeskAccess,
      handle: (request: DeskRequest) => Promise<PageResponse>,
    ): void {
      mountPage(
        path,
        async (request) => {
          const result = await checkAccess(request, access, request.address)
          return 'response' in result ? result.response : handle({ ...request, ...result })
        },
        limits,
      )
    },

    /** Mounts a form that needs a session. `page` is shown again after signing in. */
    form(
      path: string,
      access: DeskAccess & { readonly page: string },
      handle: (request: DeskRequest<FormRequest>) => Promise<PageResponse>,
      moreLimits: PageLimits = {},
    ): void {
      mountForm(
        path,
        async (request) => {
          const page = access.page.replace(':id', request.params.id ?? '')
          const result = await checkAccess(request, access, page)
          if ('response' in result) return result.response
          checkFormToken(result.session, request.address, request.form)
          return handle({ ...request, ...result })
        },
        { ...limits, ...moreLimits },
      )
    },

    /**
     * Mounts a form with a file that needs a session. The token is checked before the file is read.
     * `page` is shown again after signing in.
     */
    upload(
      path: string,
      access: DeskAccess & { readonly page: string },
      handle: (request: DeskUpload) => Promise<PageResponse>,
      uploadLimits: PageLimits & UploadLimits,
    ): void {
      mountUpload(
        path,
        async (request) => {
          const page = access.page.replace(':id', request.params.id ?? '')
          const result = await checkAccess(request, access, page)
          if ('response' in result) return result.response
          const readForm = () =>
            request.readUpload((form) => checkFormToken(result.session, request.address, form))
          return handle({ ...request, ...result, readForm })
        },
        { ...limits, ...uploadLimits },
      )
    },

    /** Mounts a page that needs no session. */
    publicPage(
      path: string,
      handle: (request: PageRequest) => Promise<PageResponse>,
      moreLimits: PageLimits = {},
    ): void {
      mountPage(path, handle, { ...limits, ...moreLimits })
    },

    /** Mounts a form that needs no session. */
    publicForm(
      path: string,
      handle: (request: FormRequest) => Promise<PageResponse>,
      moreLimits: PageLimits = {},
    ): void {
      mountForm(path, handle, { ...limits, ...moreLimits })
    },
  }
}

/** Returns the id in the path of a page. Throws `not-found` if it is none. */
export function idOf({ params }: PageRequest): number {
  const id = parseId(params.id)
  if (id === undefined) throw new Problem('not-found', 'This page does not exist')
  return id
}

/** Returns the query of a page, also parameters that it has several times. */
export function searchParamsOf({ address }: PageRequest): URLSearchParams {
  return new URLSearchParams(address.split('?')[1])
}

/** Returns the revision that the person saw. Throws `bad-request` if the form has none. */
export function revisionIn(form: URLSearchParams, name = 'revision'): number {
  const revision = Number(form.get(name))
  if (!Number.isInteger(revision) || revision < 1 || revision > 2_147_483_647)
    throw new Problem('bad-request', 'The form has no revision. Go back, reload and try again.')
  return revision
}

/** Throws `forbidden` unless a form has the token of this session and target. */
function checkFormToken(session: Session, path: string, form: URLSearchParams): void {
  if (!isFormToken(session, path, form.get('form_token') ?? ''))
    throw new Problem('forbidden', 'This form has expired. Go back, reload and try again.')
}

/** Returns who did something, for the audit log. */
export function auditOrigin({ session, requestId }: DeskRequest): AuditOrigin {
  const { name, id } = session.person
  return { actor: name, person: id, request: requestId }
}

/** Returns what a write needs of the request of a form. */
export function writeContextOf(request: DeskRequest<FormRequest>): WriteContext {
  const fields = [...request.form].filter(([name]) => name !== 'form_token')
  return {
    origin: changeOrigin(request),
    ifMatch: undefined,
    hash: hash('sha256', `${request.address}\n${JSON.stringify(fields)}`, 'buffer'),
    untilMs: request.untilMs,
  }
}

/** Returns the origin of what a person changes in records. */
export function changeOrigin({ session, requestId }: DeskRequest): Origin {
  return { actor: actorOf(session), via: 'page', request: requestId }
}
