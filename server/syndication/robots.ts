import { feedFormats, paths } from '@talkshelf/web'
import { suggestionsPath } from './opensearch.ts'
import type { SiteInfo } from './site.ts'

/**
 * Every page can be reached without a search. Its combinations of filters are without end, and each
 * costs a question.
 */
export function robotsTxt(site: SiteInfo): string {
  const closed = [
    `${paths.search()}?`,
    ...feedFormats.map((form) => paths.feed(paths.search(), form)),
    suggestionsPath,
    paths.prefer,
  ]
  return [
    'User-agent: *',
    ...closed.map((path) => `Disallow: ${site.basePath}${path}`),
    `Allow: ${site.basePath}/picture`,
    `Allow: ${site.basePath}/`,
    '',
    `Sitemap: ${site.origin()}/sitemap.xml`,
    '',
  ].join('\n')
}
