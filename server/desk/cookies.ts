import { parseCookies } from '../pages/pages.ts'

// The cookie of a session. Browsers accept `__Host-` only with Secure and the path `/`.

export interface CookieSite {
  /** Path of the mount point, without a trailing slash. */
  readonly basePath: string
  readonly isSecure: boolean
}

/** Returns the name of the cookie, which enforces its attributes as far as the site allows. */
function cookieName({ basePath, isSecure }: CookieSite): string {
  if (!isSecure) return 'desk'
  return basePath === '' ? '__Host-desk' : '__Secure-desk'
}

/** Reads the secret of the session from a Cookie header. */
export function readSessionCookie(site: CookieSite, header: string | undefined): string {
  return parseCookies(header).get(cookieName(site)) ?? ''
}

/** Returns the Set-Cookie header for a session of at most 90 days. An empty secret removes it. */
export function sessionCookie(site: CookieSite, secret: string): string {
  const maxAge = secret === '' ? 0 : 90 * 86_400
  const attributes = [
    `${cookieName(site)}=${secret}`,
    `Path=${site.basePath || '/'}`,
    `Max-Age=${maxAge}`,
    // Strict would look signed out to a person who comes from a link in a mail.
    'SameSite=Lax',
    'HttpOnly',
    ...(site.isSecure ? ['Secure'] : []),
  ]
  return attributes.join('; ')
}
