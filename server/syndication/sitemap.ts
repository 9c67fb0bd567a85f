import { paths } from '@talkshelf/web'
import type { Db } from '../platform/db/db.ts'
import { mediaFiles } from './entries.ts'
import {
  listSitemapEntities,
  listSitemapParts,
  listSitemapTalks,
  maxSitemapEntries,
  pagesWithTalks,
  type SitemapKind,
  type SitemapSection,
  type SitemapTalk,
} from './queries.ts'
import type { SiteInfo } from './site.ts'
import { textElement, xmlDeclaration, xmlText } from './xml.ts'

// Lists of all pages for crawlers (sitemaps.org). They go out while they are read: a million talks
// take no more memory than a few hundred.

const namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const withVideos = `${namespace} xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"`
const atATime = 500

/** With twice as much of a text, 10,000 of them could go beyond the 50 MB that a file may have. */
const textLength = 500

/** Crawlers take lengths up to eight hours. */
const longestSeconds = 28_800

const listed: readonly SitemapSection[] = ['video', 'category', 'speaker', 'tag']

export async function sitemapIndex(db: Db, site: SiteInfo): Promise<string> {
  const all = await Promise.all(
    listed.map(async (it) =>
      (await listSitemapParts(db, it)).map((part) => ({ ...part, listed: it })),
    ),
  )
  const entries = all
    .flat()
    .map(({ listed, part, changed }) =>
      element(
        'sitemap',
        textElement('loc', `${site.origin()}/sitemap/${fileOf(listed, part)}`) +
          textElement('lastmod', changed && `${changed}Z`),
      ),
    )
  const pages = element('sitemap', textElement('loc', `${site.origin()}/sitemap/${pagesFile}`))
  return `${xmlDeclaration}<sitemapindex ${namespace}>\n${pages}${entries.join('')}</sitemapindex>\n`
}

/** Talks are always numbered; of the others most archives have one file. */
const fileOf = (listed: SitemapSection, part: number) =>
  `${listed}${listed === 'video' || part > 1 ? `-${part}` : ''}.xml`

/** The few pages that are about none of these: an archive without any talks has them too. */
export const pagesFile = 'page.xml'

export async function pagesSitemap(db: Db, site: SiteInfo): Promise<string> {
  const { languages, years } = await pagesWithTalks(db)
  const all = [
    paths.home,
    paths.about,
    ...(['category', 'speaker', 'tag'] as const).map(paths.list),
    ...languages.map(paths.language),
    ...years.map(paths.year),
  ]
  return `${xmlDeclaration}<urlset ${namespace}>\n${all.map((path) => element('url', textElement('loc', site.origin() + path))).join('')}</urlset>\n`
}

export interface Sitemap {
  readonly listed: SitemapSection
  readonly part: number
}

export function parseSitemapName(file: string): Sitemap | undefined {
  const [, name, number = '1'] = /^([a-z]+)(?:-([1-9]\d{0,8}))?\.xml$/.exec(file) ?? []
  const part = Number(number)
  const it = listed.find((kind) => kind === name)
  return it && fileOf(it, part) === file ? { listed: it, part } : undefined
}

/** Piece by piece, or nothing where nothing is listed: a list without entries is not one. */
export async function writeSitemap(
  db: Db,
  site: SiteInfo,
  { listed, part }: Sitemap,
): Promise<AsyncIterable<string> | undefined> {
  const from = (part - 1) * maxSitemapEntries
  const pages =
    listed === 'video'
      ? talkPages(db, site, from, from + maxSitemapEntries)
      : entityPages(db, site, listed, from, from + maxSitemapEntries)
  const first = await pages.next()
  if (first.done) return undefined
  return (async function* () {
    yield `${xmlDeclaration}<urlset ${listed === 'video' ? withVideos : namespace}>\n`
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
    const rows = await listSitemapTalks(db, last, upTo, textLength, atATime)
    if (rows.length > 0) yield rows.map((row) => talkUrl(row, site)).join('')
    if (rows.length < atATime) return
    last = rows.at(-1)?.id ?? upTo
  }
}

async function* entityPages(
  db: Db,
  site: SiteInfo,
  kind: SitemapKind,
  after: number,
  upTo: number,
): AsyncGenerator<string> {
  for (let last = after; ; ) {
    const rows = await listSitemapEntities(db, kind, last, upTo, atATime)
    if (rows.length > 0)
      yield rows
        .map((row) => element('url', textElement('loc', site.origin() + paths.entity(kind, row))))
        .join('')
    if (rows.length < atATime) return
    last = rows.at(-1)?.id ?? upTo
  }
}

function talkUrl(talk: SitemapTalk, site: SiteInfo): string {
  return element(
    'url',
    textElement('loc', site.origin() + paths.talk(talk)) +
      textElement('lastmod', `${talk.updated}Z`) +
      videoOf(talk, site),
  )
}

/** Where there is nothing to play there is no video. */
function videoOf(talk: SitemapTalk, site: SiteInfo): string {
  const base = site.origin()
  const [file] = mediaFiles(talk)
  if (!file && !talk.source_url) return ''
  const title = line(talk.title) || String(talk.id)
  const { duration } = talk
  return element(
    'video:video',
    textElement('video:thumbnail_loc', base + paths.picture(talk.id, 1280)) +
      textElement('video:title', title) +
      textElement('video:description', line(talk.text) || title) +
      textElement('video:content_loc', file?.url) +
      textElement('video:player_loc', base + paths.embed(talk.id)) +
      textElement('video:duration', duration && duration <= longestSeconds ? duration : undefined) +
      textElement('video:publication_date', `${talk.added}Z`),
  )
}

const line = (text: string) => xmlText(text).replaceAll(/\s+/g, ' ').trim()
const element = (name: string, content: string) => `<${name}>${content}</${name}>\n`
