import { indexedPaths, paths } from '@talkshelf/web'
import type { EntityKind } from '../entities/entities.ts'
import { findSourceStates, noSourceStates, type SourceStates } from '../links/links.ts'
import type { Db } from '../platform/db/db.ts'
import { talkMedia } from './entries.ts'
import {
  listSitemapEntities,
  listSitemapParts,
  listSitemapTalks,
  maxSitemapEntries,
  pagesWithTalks,
  type SitemapSection,
  type SitemapTalk,
} from './queries.ts'
import type { SiteInfo } from './site.ts'
import { element, textElement, xmlDeclaration, xmlText } from './xml.ts'

// Sitemaps (sitemaps.org). They are streamed: a million talks take no more memory than a few
// hundred.

const namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const videoNamespaces = `${namespace} xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"`
const batchSize = 500

/** With twice this length, 10,000 texts could exceed the 50 MB that a sitemap may have. */
const maxTextLength = 500

/** Crawlers accept durations up to eight hours. */
const maxDurationSeconds = 28_800

const sections: readonly SitemapSection[] = ['video', 'category', 'speaker', 'tag']

/** Builds the index of all sitemaps. */
export async function sitemapIndex(db: Db, site: SiteInfo): Promise<string> {
  const sitemaps = await Promise.all(
    sections.map(async (section) =>
      (await listSitemapParts(db, section)).map((part) => ({ ...part, section })),
    ),
  )
  const entries = sitemaps
    .flat()
    .map(({ section, part, changed }) =>
      element(
        'sitemap',
        textElement('loc', `${site.origin()}/sitemap/${fileName(section, part)}`) +
          textElement('lastmod', changed && `${changed}Z`),
      ),
    )
  const pages = element('sitemap', textElement('loc', `${site.origin()}/sitemap/${pagesFile}`))
  const content = pages + entries.join('')
  return `${xmlDeclaration}<sitemapindex ${namespace}>\n${content}</sitemapindex>\n`
}

/** Numbers the files of talks always; of the other sections most archives have a single file. */
const fileName = (section: SitemapSection, part: number) =>
  `${section}${section === 'video' || part > 1 ? `-${part}` : ''}.xml`

/** The sitemap of all other pages; an empty archive has it too. */
export const pagesFile = 'page.xml'

/** Builds the sitemap of the pages that are not about a talk or an entity. */
export async function pagesSitemap(db: Db, site: SiteInfo): Promise<string> {
  const { languages, years } = await pagesWithTalks(db)
  const sitePages = (site.content?.pages ?? []).filter((page) => page !== 'about')
  const pages = [
    ...indexedPaths,
    ...sitePages.map(paths.sitePage),
    ...languages.map(paths.language),
    ...years.map(paths.year),
  ]
  const urls = pages.map((path) => pageUrl(path, site))
  return `${xmlDeclaration}<urlset ${namespace}>\n${urls.join('')}</urlset>\n`
}

export interface Sitemap {
  readonly section: SitemapSection
  readonly part: number
}

/** Parses the file name of a sitemap; only the canonical name is accepted. */
export function parseSitemapName(file: string): Sitemap | undefined {
  const [, name, number = '1'] = /^([a-z]+)(?:-([1-9]\d{0,8}))?\.xml$/.exec(file) ?? []
  const part = Number(number)
  const section = sections.find((candidate) => candidate === name)
  return section && fileName(section, part) === file ? { section, part } : undefined
}

/** Streams a sitemap. Returns undefined if it has no entries, which the format does not allow. */
export async function writeSitemap(
  db: Db,
  site: SiteInfo,
  { section, part }: Sitemap,
): Promise<AsyncIterable<string> | undefined> {
  const from = (part - 1) * maxSitemapEntries
  const pages =
    section === 'video'
      ? talkPages(db, site, from, from + maxSitemapEntries)
      : entityPages(db, site, section, from, from + maxSitemapEntries)
  const first = await pages.next()
  if (first.done) return undefined
  return (async function* () {
    yield `${xmlDeclaration}<urlset ${section === 'video' ? videoNamespaces : namespace}>\n`
    yield first.value
    yield* pages
    yield '</urlset>\n'
  })()
}

async function* talkPages(
  db: Db,
  site: SiteInfo,
  after: number,
  upTo: number,
): AsyncGenerator<string> {
  for (let last = after; ; ) {
    const rows = await listSitemapTalks(db, last, upTo, maxTextLength, batchSize)
    const states = await findSourceStates(
      db,
      rows.map(({ id }) => id),
    )
    const urls = rows.map((row) => talkUrl(row, states.get(row.id) ?? noSourceStates, site))
    if (rows.length > 0) yield urls.join('')
    if (rows.length < batchSize) return
    last = rows.at(-1)?.id ?? upTo
  }
}

async function* entityPages(
  db: Db,
  site: SiteInfo,
  kind: EntityKind,
  after: number,
  upTo: number,
): AsyncGenerator<string> {
  for (let last = after; ; ) {
    const rows = await listSitemapEntities(db, kind, last, upTo, batchSize)
    if (rows.length > 0) yield rows.map((row) => pageUrl(paths.entity(kind, row), site)).join('')
    if (rows.length < batchSize) return
    last = rows.at(-1)?.id ?? upTo
  }
}

function talkUrl(talk: SitemapTalk, states: SourceStates, site: SiteInfo): string {
  return element(
    'url',
    textElement('loc', site.origin() + paths.talk(talk)) +
      textElement('lastmod', `${talk.updated}Z`) +
      videoElement(talk, states, site),
  )
}

/** Describes the video of a talk; empty if it has none, or none any more. */
function videoElement(talk: SitemapTalk, states: SourceStates, site: SiteInfo): string {
  const base = site.origin()
  const { files, hasPlayer } = talkMedia(talk, states)
  if (!hasPlayer) return ''
  const title = singleLine(talk.title) || String(talk.id)
  const { duration } = talk
  return element(
    'video:video',
    textElement('video:thumbnail_loc', base + paths.picture(talk.id, 1280)) +
      textElement('video:title', title) +
      textElement('video:description', singleLine(talk.text) || title) +
      textElement('video:content_loc', files[0]?.url) +
      textElement('video:player_loc', base + paths.embed(talk.id)) +
      textElement(
        'video:duration',
        duration && duration <= maxDurationSeconds ? duration : undefined,
      ) +
      textElement('video:publication_date', `${talk.added}Z`),
  )
}

const singleLine = (text: string) => xmlText(text).replaceAll(/\s+/g, ' ').trim()
const pageUrl = (path: string, site: SiteInfo) =>
  element('url', textElement('loc', site.origin() + path))
