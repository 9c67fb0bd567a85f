// The front door. The archive as machines read it: feeds (sources.ts, entries.ts, forms.ts), sitemaps, and what browsers and other sites ask for.
// Reads what other features write, and writes nothing.
export { changedAt, contentTypes, writeFeed } from './forms.ts'
export { oEmbed, oEmbedXml, talkIdIn } from './oembed.ts'
export { openSearch, openSearchType, suggestionsFor, suggestionsPath, suggestionsType } from './opensearch.ts'
export { robots } from './robots.ts'
export type { Site } from './site.ts'
export { pagesFile, pagesSitemap, readFileName, sitemapIndex, sitemapOf } from './sitemap.ts'
export { catalogueFeed, eventsFeed, languageFeed, searchFeed, thingFeed, yearFeed } from './sources.ts'
