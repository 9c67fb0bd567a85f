// Public interface of the search. The database writes the searched rows with every write of a
// record (triggers.sql); maintenance removes words that no talk has any more
// (unused-words.ts) and counts the talks of each word (frequencies.ts).

export { withSearchDeadline } from './deadline.ts'
export { type FacetCounts, type FacetKind, readFacets, readYearFacet } from './facets.ts'
export { refreshFrequencies, talksOfLexemes } from './frequencies.ts'
export { hasOnlyExclusions } from './parse-query.ts'
export { forgetWords, type Hit, maxRanked, type SearchFilter } from './queries.ts'
export {
  findNewestMatches,
  maxResults,
  type SearchOptions,
  type SearchResult,
  search,
} from './ranked-search.ts'
export { findSimilar } from './similar.ts'
export { buildSnippets, type RecordSnippet } from './snippets.ts'
export { correctText } from './spelling.ts'
export { readStoredCount } from './stored-counts.ts'
export { findNamed, suggest } from './suggest.ts'
export { readSynonyms, replaceSynonyms } from './synonyms.ts'
export { withinMs } from './time-limit.ts'
export { removeUnusedWords } from './unused-words.ts'
