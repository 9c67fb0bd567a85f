import { parseCookies } from '../pages/pages.ts'

// The cookies of the desk. Browsers accept `__Host-` only with Secure and the path `/`.

export interface CookieSite {
  /** Path of the mount point, without a trailing slash. */
  readonly basePath: string
  readonly isSecure: boolean
}

/** Returns the name of a cookie, which enforces its attributes as far as the site allows. */
function cookieName({ basePath, isSecure }: CookieSite, name: string): string {
  if (!isSecure) return name
  return basePath === '' ? `__Host-${name}` : `__Secure-${name}`
}

/** The session: at most 90 days. */
const session = { name: 'desk', maxAge: 90 * 86_400 }
/** Identifies a browser that asked for a sign-in link, as long as the link works. */
const browser = { name: 'desk-browser', maxAge: 15 * 60 }

/** A sign-in at an OpenID Connect provider that has not ended. */
const openid = { name: 'desk-openid', maxAge: 10 * 60 }

const cookies = { session, browser, openid }
export type CookieKind = keyof typeof cookies

/** Tells whether a Cookie header has a session, whether or not it is valid. */
export const hasSessionCookie = (header: string | undefined): boolean =>
  header !== undefined && /(?:^|;)\s*(?:__Host-|__Secure-)?desk=/.test(header)

/** Reads a cookie from a Cookie header. */
export function readCookie(site: CookieSite, kind: CookieKind, header: string | undefined): string {
  return parseCookies(header).get(cookieName(site, cookies[kind].name)) ?? ''
}

/** Returns the Set-Cookie header of a cookie. An empty value removes it. */
export function setCookie(site: CookieSite, kind: CookieKind, value: string): string {
  const { name, maxAge } = cookies[kind]
  const attributes = [
    `${cookieName(site, name)}=${value}`,
    `Path=${site.basePath || '/'}`,
    `Max-Age=${value === '' ? 0 : maxAge}`,
    // Strict would look signed out to a person who comes from a link in a mail.
    'SameSite=Lax',
    'HttpOnly',
    ...(site.isSecure ? ['Secure'] : []),
  ]
  return attributes.join('; ')
}
