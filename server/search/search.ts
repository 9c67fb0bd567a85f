// Public interface of the search. The database writes the searched rows with every write of a
// record (triggers.sql); maintenance removes words that no talk has any more
// (unused-words.ts).

export { withSearchDeadline } from './deadline.ts'
export { type FacetCounts, readFacets, readYearFacet } from './facets.ts'
export { hasOnlyExclusions } from './parse-query.ts'
export { type Hit, maxRanked, type SearchFilter } from './queries.ts'
export { findNewestMatches, maxResults, type SearchResult, search } from './ranked-search.ts'
export { findSimilar } from './similar.ts'
export { buildSnippets, type RecordSnippet } from './snippets.ts'
export { suggest } from './suggest.ts'
export { removeUnusedWords } from './unused-words.ts'
