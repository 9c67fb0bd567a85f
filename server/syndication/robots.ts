import { feedFormats, paths } from '@talkshelf/web'
import { suggestionsPath } from './opensearch.ts'
import type { SiteInfo } from './site.ts'

/**
 * Builds robots.txt. Excludes searches, their feeds and suggestions, because filters have endless
 * combinations, and the preferences. Every page can be reached without them.
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
