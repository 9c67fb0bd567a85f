import { paths } from '@talkshelf/web'
import type { ReadPool } from '../platform/db/read-pool.ts'
import { suggest, withSearchDeadline } from '../search/search.ts'
import { feedTypes } from './serializers.ts'
import type { SiteInfo } from './site.ts'
import { emptyElement, textElement, xmlDeclaration, xmlText, xmlTexts } from './xml.ts'

// The archive in the search field of a browser (OpenSearch 1.1).

export const openSearchType = 'application/opensearchdescription+xml; charset=utf-8'
export const suggestionsType = 'application/x-suggestions+json; charset=utf-8'
export const suggestionsPath = '/search/suggestions'

export function openSearch(site: SiteInfo): string {
  const base = site.origin()
  const url = (type: string, path: string, rel?: string) =>
    emptyElement('Url', { type, ...(rel && { rel }), template: base + path })
  const asked = '?q={searchTerms}'
  // So much of a name is allowed.
  const name = [...xmlText(site.name)].slice(0, 16).join('')
  return `${xmlDeclaration}<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
${textElement('ShortName', name)}
${textElement('Description', `Search the talks of ${[...site.name].slice(0, 100).join('')}`)}
${textElement('InputEncoding', 'UTF-8')}
${textElement('Image', `${base}/favicon.svg`)}
${url('text/html', paths.search() + asked)}
${url('application/x-suggestions+json', suggestionsPath + asked, 'suggestions')}
${url(feedTypes.atom.replace(/;.*/, ''), paths.feed(paths.search(), 'atom') + asked)}
${url(feedTypes.rss.replace(/;.*/, ''), paths.feed(paths.search(), 'rss') + asked)}
${url('application/opensearchdescription+xml', paths.openSearch, 'self')}
</OpenSearchDescription>
`
}

/** What was typed, what it could become, a word about each, and where each leads. */
export type Suggestions = readonly [string, readonly string[], readonly string[], readonly string[]]

export async function suggestionsFor(
  searches: ReadPool,
  site: SiteInfo,
  asked: string,
): Promise<Suggestions> {
  const { talks, speakers, categories, tags } = await withSearchDeadline(
    searches,
    suggest(searches, asked),
  )
  const all = [
    ...speakers.map(({ name, slug }) => [name, 'Speaker', paths.search({ speaker: slug })]),
    ...categories.map(({ name, slug }) => [name, 'Event', paths.search({ category: slug })]),
    ...tags.map(({ name, slug }) => [name, 'Tag', paths.search({ tag: slug })]),
    ...talks.map((talk) => [talk.title, 'Talk', paths.talk(talk)]),
  ] as [string, string, string][]
  return xmlTexts([
    asked,
    all.map(([name]) => name),
    all.map(([, what]) => what),
    all.map(([, , path]) => site.origin() + path),
  ])
}
