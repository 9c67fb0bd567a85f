// Public interface of syndication: feeds (selections.ts, entries.ts, serializers.ts), sitemaps,
// robots.txt, oEmbed and OpenSearch. It only reads; other features write these tables.

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
