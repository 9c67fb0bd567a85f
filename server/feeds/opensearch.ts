import { paths } from '@talkshelf/web'
import type { Searches } from '../platform/db/searches.ts'
import { answered, suggest } from '../search/search.ts'
import { contentTypes } from './forms.ts'
import type { Site } from './site.ts'
import { declaration, empty, leaf, xmlText, xmlTexts } from './xml.ts'

// The archive in the search field of a browser (OpenSearch 1.1).

export const openSearchType = 'application/opensearchdescription+xml; charset=utf-8'
export const suggestionsType = 'application/x-suggestions+json; charset=utf-8'
export const suggestionsPath = '/search/suggestions'

export function openSearch(site: Site): string {
  const base = site.origin()
  const url = (type: string, path: string, rel?: string) => empty('Url', { type, ...(rel && { rel }), template: base + path })
  const asked = '?q={searchTerms}'
  // So much of a name is allowed.
  const name = [...xmlText(site.name)].slice(0, 16).join('')
  return `${declaration}<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
${leaf('ShortName', name)}
${leaf('Description', `Search the talks of ${[...site.name].slice(0, 100).join('')}`)}
${leaf('InputEncoding', 'UTF-8')}
${leaf('Image', `${base}/favicon.svg`)}
${url('text/html', paths.search() + asked)}
${url('application/x-suggestions+json', suggestionsPath + asked, 'suggestions')}
${url(contentTypes.atom.replace(/;.*/, ''), paths.feed(paths.search(), 'atom') + asked)}
${url(contentTypes.rss.replace(/;.*/, ''), paths.feed(paths.search(), 'rss') + asked)}
${url('application/opensearchdescription+xml', paths.openSearch, 'self')}
</OpenSearchDescription>
`
}

/** What was typed, what it could become, a word about each, and where each leads. */
export type Suggestions = readonly [string, readonly string[], readonly string[], readonly string[]]

export async function suggestionsFor(searches: Searches, site: Site, asked: string): Promise<Suggestions> {
  const { talks, speakers, categories, tags } = await answered(searches, suggest(searches, asked))
  const all = [
    ...speakers.map(({ name, slug }) => [name, 'Speaker', paths.search({ speaker: slug })]),
    ...categories.map(({ name, slug }) => [name, 'Event', paths.search({ category: slug })]),
    ...tags.map(({ name, slug }) => [name, 'Tag', paths.search({ tag: slug })]),
    ...talks.map((talk) => [talk.title, 'Talk', paths.talk(talk)]),
  ] as [string, string, string][]
  return xmlTexts([asked, all.map(([name]) => name), all.map(([, what]) => what), all.map(([, , path]) => site.origin() + path)])
}
