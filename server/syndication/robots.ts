import { feedFormats, paths } from '@talkshelf/web'
import { suggestionsPath } from './opensearch.ts'
import type { SiteInfo } from './site.ts'

/**
 * Builds robots.txt. Excludes the search, whose filters have endless combinations: every page can
 * be reached without it.
 */
export function robotsTxt(site: SiteInfo): string {
  const disallowed = [
    `${paths.search()}?`,
    ...feedFormats.map((format) => paths.feed(paths.search(), format)),
    suggestionsPath,
    paths.prefer,
  ]
  return [
    'User-agent: *',
    ...disallowed.map((path) => `Disallow: ${site.basePath}${path}`),
    `Allow: ${site.basePath}/picture`,
    `Allow: ${site.basePath}/`,
    '',
    `Sitemap: ${site.origin()}/sitemap.xml`,
    '',
  ].join('\n')
}
