import { feedForms, paths } from '@talkshelf/web'
import { suggestionsPath } from './opensearch.ts'
import type { Site } from './site.ts'

/** Every page can be reached without a search. Its combinations of filters are without end, and each costs a question. */
export function robots(site: Site): string {
  const closed = [`${paths.search()}?`, ...feedForms.map((form) => paths.feed(paths.search(), form)), suggestionsPath, paths.prefer]
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
