import { paths } from '@talkshelf/web'
import type { ReadPool } from '../platform/db/read-pool.ts'
import { suggest, withSearchDeadline } from '../search/search.ts'
import { feedTypes } from './serializers.ts'
import type { SiteInfo } from './site.ts'
import { emptyElement, textElement, xmlDeclaration, xmlText, xmlTexts } from './xml.ts'

// The archive as a search engine of browsers (OpenSearch 1.1).

export const openSearchType = 'application/opensearchdescription+xml; charset=utf-8'
export const suggestionsType = 'application/x-suggestions+json; charset=utf-8'
export const suggestionsPath = '/search/suggestions'

/** Builds the OpenSearch description document. */
export function openSearch(site: SiteInfo): string {
  const base = site.origin()
  const url = (type: string, path: string, rel?: string) =>
    emptyElement('Url', { type, ...(rel && { rel }), template: base + path })
  const query = '?q={searchTerms}'
  // The specification limits the lengths of ShortName and Description.
  const name = [...xmlText(site.name)].slice(0, 16).join('')
  return `${xmlDeclaration}<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
${textElement('ShortName', name)}
${textElement('Description', `Search the talks of ${[...site.name].slice(0, 100).join('')}`)}
${textElement('InputEncoding', 'UTF-8')}
${textElement('Image', `${base}/favicon.ico`)}
${url('text/html', paths.search() + query)}
${url('application/x-suggestions+json', suggestionsPath + query, 'suggestions')}
${url(feedTypes.atom.replace(/;.*/, ''), paths.feed(paths.search(), 'atom') + query)}
${url(feedTypes.rss.replace(/;.*/, ''), paths.feed(paths.search(), 'rss') + query)}
${url('application/opensearchdescription+xml', paths.openSearch, 'self')}
</OpenSearchDescription>
`
}

/** The input, then for each suggestion its text, its description and its URL. */
export type Suggestions = readonly [string, readonly string[], readonly string[], readonly string[]]

/** Finds suggestions for the search field of a browser. */
export async function suggestionsFor(
  searches: ReadPool,
  site: SiteInfo,
  input: string,
): Promise<Suggestions> {
  const { talks, speakers, categories, tags } = await withSearchDeadline(searches, () =>
    suggest(searches, input),
  )
  const suggestions = [
    ...speakers.map(({ name, slug }) => [name, 'Speaker', paths.search({ speaker: slug })]),
    ...categories.map(({ name, slug }) => [name, 'Event', paths.search({ category: slug })]),
    ...tags.map(({ name, slug }) => [name, 'Tag', paths.search({ tag: slug })]),
    ...talks.map((talk) => [talk.title, 'Talk', paths.talk(talk)]),
  ] as [string, string, string][]
  return xmlTexts([
    input,
    suggestions.map(([name]) => name),
    suggestions.map(([, description]) => description),
    suggestions.map(([, , path]) => site.origin() + path),
  ])
}
