import { hash } from 'node:crypto'
import {
  chooseLocale,
  type DataLicence,
  type Locale,
  loaderScript,
  locales,
  paths,
  type SiteView,
  type sourcePolicy,
  type Theme,
  themes,
  type View,
} from '@talkshelf/web'
import type { PageRequest } from '../platform/http/pages.ts'
import type { Site } from '../site/site.ts'
import type { Assets } from './assets.ts'

// The view of a page: locale, theme and paths; and the headers of a page.

export interface PageSite {
  readonly name: string
  /** Path of the mount point. */
  readonly basePath: string
  /** The base URL, without a trailing slash. */
  origin(): string
  readonly assets: Assets
  /** The URL of the archive that this one is a copy of. */
  readonly source?: string | undefined
  /** The licence of the data. */
  readonly licence?: DataLicence | undefined
  /** Where readers reach the operator, unless there is a page for it. */
  readonly contact?: string | undefined
  /** What the operator has set. */
  readonly content: Site
}

/** Builds the view for a request: cookies take precedence over Accept-Language. */
export function buildView(
  site: PageSite,
  { headers, address }: Pick<PageRequest, 'headers' | 'address'>,
): View {
  const preferences = parseCookies(headers.cookie)
  const locale =
    locales.find((it) => it === preferences.get('locale')) ??
    chooseLocale(headers['accept-language'])
  const theme = themes.find((it) => it === preferences.get('theme')) ?? 'auto'
  return {
    base: site.basePath,
    origin: site.origin(),
    address,
    locale,
    theme,
    site: siteView(site, locale),
    assets: { style: site.assets.style, script: site.assets.script },
  }
}

function siteView(site: PageSite, locale: Locale): SiteView {
  const { content, name, source, licence, contact, basePath } = site
  const { pages, settings, logo, icon, style } = content
  return {
    name,
    source,
    licence,
    pages,
    contact: pages.includes('contact') ? basePath + paths.sitePage('contact') : contact,
    operator: settings.operator,
    tagline: settings.tagline?.[locale],
    logo,
    icon: icon
      ? { path: paths.siteFile(icon.name), type: icon.type }
      : { path: '/favicon.svg', type: 'image/svg+xml' },
    style,
  }
}

/** Parses a Cookie header. */
export function parseCookies(header: string | undefined): Map<string, string> {
  const pairs = (header ?? '').split(';', 100).map((pair) => pair.trim().split('=', 2))
  return new Map(pairs.map(([name = '', value = '']) => [name, value]))
}

/** Returns the cookies for the chosen language and theme. They last a year, for this site only. */
export function preferenceCookies(
  query: Readonly<Record<string, string>>,
  site: PageSite,
): string[] {
  const locale = locales.find((it: Locale) => it === query.locale)
  const theme = themes.find((it: Theme) => it === query.theme)
  const secure = site.origin().startsWith('https:') ? '; Secure' : ''
  const path = site.basePath || '/'
  const attributes = `; Path=${path}; Max-Age=31536000; SameSite=Lax; HttpOnly${secure}`
  return [
    ...(locale ? [`locale=${locale}${attributes}`] : []),
    ...(theme ? [`theme=${theme}${attributes}`] : []),
  ]
}

/** Content security policy that the sources of a talk require. */
export type PlayerPolicy = ReturnType<typeof sourcePolicy>

export interface PageOptions {
  readonly playing?: PlayerPolicy
  readonly framed?: boolean
  /** Content of the <style> of the page, if it has one. */
  readonly style?: string | undefined
}

/**
 * Returns the headers of a page. The content security policy allows only what is listed. Scripts
 * and styles in the page are allowed by their hashes, which are the same for all readers. The
 * loader may add the scripts of the page; no script of another site is allowed.
 */
export function pageHeaders(
  view: View,
  { playing, framed = false, style }: PageOptions = {},
): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'script-src': `${hashSource(loaderScript(view.base + view.assets.script))} 'strict-dynamic'`,
    'style-src': style === undefined ? "'self'" : `'self' ${hashSource(style)}`,
    'img-src': "'self' data:",
    'font-src': "'self'",
    'connect-src': playing?.hasMedia ? "'self' https:" : "'self'",
    'form-action': "'self'",
    'manifest-src': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': framed ? '*' : "'none'",
    ...(playing?.hasMedia && { 'media-src': "'self' https: blob:", 'worker-src': "'self' blob:" }),
    ...(playing && playing.frames.length > 0 && { 'frame-src': playing.frames.join(' ') }),
  }
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'cache-control': 'private, no-cache',
    'referrer-policy': 'strict-origin-when-cross-origin',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
    vary: 'Accept-Language, Cookie',
  }
}

/** Returns the source expression that allows an inline script or style. */
function hashSource(text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`
}

/**
 * Returns a path below the mount point, whatever the input is: dot segments do not leave it, and
 * two leading slashes are not a host. The result has no host, because a proxy may use another name.
 */
export function localPath({ basePath }: PageSite, path = ''): string {
  const home = new URL(`http://localhost${basePath}/`)
  const url = path.startsWith('/') ? URL.parse(home.origin + basePath + path) : null
  const isLocal = url && url.origin === home.origin && url.pathname.startsWith(home.pathname)
  return (isLocal ? url : home).href.slice(home.origin.length).replace(/^\/+/, '/')
}
