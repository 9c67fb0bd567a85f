// The front door. The rows that are searched are written by the database with every write of a
// record (0007.do.search.sql); words that no talk has any more are removed now and then
// (unused-words.ts).

export { withSearchDeadline } from './deadline.ts'
export { type FacetCounts, readFacets } from './facets.ts'
export type { Hit, SearchFilter } from './queries.ts'
export { findNewestMatches, maxResults, type SearchResult, search } from './ranked-search.ts'
export { findSimilar } from './similar.ts'
export { buildSnippets, type RecordSnippet } from './snippets.ts'
export { suggest } from './suggest.ts'
export { removeUnusedWords } from './unused-words.ts'
