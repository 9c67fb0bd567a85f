import { randomBytes } from 'node:crypto'
import {
  chooseLocale,
  type Locale,
  locales,
  type sourcePolicy,
  type Theme,
  themes,
  type View,
} from '@talkshelf/web'
import type { PageRequest } from '../platform/http/pages.ts'
import type { Assets } from './assets.ts'

// Who looks at a page, and what a browser may do with it.

export interface PageSite {
  readonly name: string
  /** The path that the archive is mounted under. */
  readonly basePath: string
  /** The same as a whole address. */
  origin(): string
  readonly assets: Assets
}

export function buildView(
  site: PageSite,
  { headers, address }: Pick<PageRequest, 'headers' | 'address'>,
): View {
  const chosen = cookies(headers.cookie)
  const locale =
    locales.find((it) => it === chosen.get('locale')) ?? chooseLocale(headers['accept-language'])
  const theme = themes.find((it) => it === chosen.get('theme')) ?? 'auto'
  return {
    base: site.basePath,
    origin: site.origin(),
    address,
    locale,
    theme,
    site: { name: site.name },
    nonce: randomBytes(16).toString('base64'),
    assets: { style: site.assets.style, script: site.assets.script },
  }
}

function cookies(header: string | undefined): Map<string, string> {
  const pairs = (header ?? '').split(';', 100).map((pair) => pair.trim().split('=', 2))
  return new Map(pairs.map(([name = '', value = '']) => [name, value]))
}

/** What is kept of a reader: which language and which colours, for a year, for us alone. */
export function preferenceCookies(
  query: Readonly<Record<string, string>>,
  site: PageSite,
): string[] {
  const locale = locales.find((it: Locale) => it === query.locale)
  const theme = themes.find((it: Theme) => it === query.theme)
  const end = `; Path=${site.basePath || '/'}; Max-Age=31536000; SameSite=Lax; HttpOnly${site.origin().startsWith('https:') ? '; Secure' : ''}`
  return [...(locale ? [`locale=${locale}${end}`] : []), ...(theme ? [`theme=${theme}${end}`] : [])]
}

/** What the sources of a talk need, on a page that plays them. */
export type PlayerPolicy = ReturnType<typeof sourcePolicy>

/**
 * Nothing but what is named. Scripts run by their nonce, which no cache may keep: so pages are not
 * stored. Only YouTube's player is a script of others; where a talk has such a source, ours may
 * load it (`strict-dynamic`), and does when the reader plays.
 */
export function pageHeaders(
  view: View,
  { playing, framed = false }: { playing?: PlayerPolicy; framed?: boolean } = {},
): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'script-src': `'nonce-${view.nonce}'${playing?.isDynamic ? " 'strict-dynamic'" : ''}`,
    'style-src': `'self' 'nonce-${view.nonce}'`,
    'img-src': "'self' data:",
    'font-src': "'self'",
    'connect-src': playing?.hasMedia ? "'self' https:" : "'self'",
    'form-action': "'self'",
    'base-uri': "'none'",
    'frame-ancestors': framed ? '*' : "'none'",
    ...(playing?.hasMedia && { 'media-src': 'https: blob:', 'worker-src': "'self' blob:" }),
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
