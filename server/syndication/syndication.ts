// The front door. The archive as machines read it: feeds (sources.ts, entries.ts, forms.ts),
// sitemaps, and what browsers and other sites ask for. Reads what other features write, and writes
// nothing.

export { oEmbed, oEmbedXml, talkIdInUrl } from './oembed.ts'
export {
  openSearch,
  openSearchType,
  suggestionsFor,
  suggestionsPath,
  suggestionsType,
} from './opensearch.ts'
export { robotsTxt } from './robots.ts'
export {
  catalogueFeed,
  entityFeed,
  eventsFeed,
  languageFeed,
  searchFeed,
  yearFeed,
} from './selections.ts'
export { feedTypes, feedUpdated, serializeFeed } from './serializers.ts'
export type { SiteInfo } from './site.ts'
export { pagesFile, pagesSitemap, parseSitemapName, sitemapIndex, writeSitemap } from './sitemap.ts'
