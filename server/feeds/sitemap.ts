import { paths } from '@talkshelf/web'
import type { Db } from '../platform/db/db.ts'
import { filesOf } from './entries.ts'
import { type Kind, type Listed, pagesWithTalks, partsOf, perSitemap, type SitemapTalk, talksAfter, thingsAfter } from './queries.ts'
import type { Site } from './site.ts'
import { declaration, leaf, xmlText } from './xml.ts'

// Lists of all pages for crawlers (sitemaps.org). They go out while they are read: a million talks take no more memory than a few hundred.

const namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const withVideos = `${namespace} xmlns:video="http://www.google.com/schemas/sitemap-video/1.1"`
const atATime = 500

/** With twice as much of a text, 10,000 of them could go beyond the 50 MB that a file may have. */
const textLength = 500

/** Crawlers take lengths up to eight hours. */
const longestSeconds = 28_800

const listed: readonly Listed[] = ['video', 'category', 'speaker', 'tag']

export async function sitemapIndex(db: Db, site: Site): Promise<string> {
  const all = await Promise.all(listed.map(async (it) => (await partsOf(db, it)).map((part) => ({ ...part, listed: it }))))
  const entries = all
    .flat()
    .map(({ listed, part, changed }) =>
      element('sitemap', leaf('loc', `${site.origin()}/sitemap/${fileOf(listed, part)}`) + leaf('lastmod', changed && `${changed}Z`)),
    )
  const pages = element('sitemap', leaf('loc', `${site.origin()}/sitemap/${pagesFile}`))
  return `${declaration}<sitemapindex ${namespace}>\n${pages}${entries.join('')}</sitemapindex>\n`
}

/** Talks are always numbered; of the others most archives have one file. */
const fileOf = (listed: Listed, part: number) => `${listed}${listed === 'video' || part > 1 ? `-${part}` : ''}.xml`

/** The few pages that are about none of these: an archive without any talks has them too. */
export const pagesFile = 'page.xml'

export async function pagesSitemap(db: Db, site: Site): Promise<string> {
  const { languages, years } = await pagesWithTalks(db)
  const all = [
    paths.home,
    paths.about,
    ...(['category', 'speaker', 'tag'] as const).map(paths.list),
    ...languages.map(paths.language),
    ...years.map(paths.year),
  ]
  return `${declaration}<urlset ${namespace}>\n${all.map((path) => element('url', leaf('loc', site.origin() + path))).join('')}</urlset>\n`
}

export interface Sitemap {
  readonly listed: Listed
  readonly part: number
}

export function readFileName(file: string): Sitemap | undefined {
  const [, name, number = '1'] = /^([a-z]+)(?:-([1-9]\d{0,8}))?\.xml$/.exec(file) ?? []
  const part = Number(number)
  const it = listed.find((kind) => kind === name)
  return it && fileOf(it, part) === file ? { listed: it, part } : undefined
}

/** Piece by piece, or nothing where nothing is listed: a list without entries is not one. */
export async function sitemapOf(db: Db, site: Site, { listed, part }: Sitemap): Promise<AsyncIterable<string> | undefined> {
  const from = (part - 1) * perSitemap
  const pages = listed === 'video' ? talkPages(db, site, from, from + perSitemap) : thingPages(db, site, listed, from, from + perSitemap)
  const first = await pages.next()
  if (first.done) return undefined
  return (async function* () {
    yield `${declaration}<urlset ${listed === 'video' ? withVideos : namespace}>\n`
    yield first.value
    yield* pages
    yield '</urlset>\n'
  })()
}

async function* talkPages(db: Db, site: Site, after: number, upTo: number): AsyncGenerator<string> {
  for (let last = after; ; ) {
    const rows = await talksAfter(db, last, upTo, textLength, atATime)
    if (rows.length > 0) yield rows.map((row) => talkUrl(row, site)).join('')
    if (rows.length < atATime) return
    last = rows.at(-1)?.id ?? upTo
  }
}

async function* thingPages(db: Db, site: Site, kind: Kind, after: number, upTo: number): AsyncGenerator<string> {
  for (let last = after; ; ) {
    const rows = await thingsAfter(db, kind, last, upTo, atATime)
    if (rows.length > 0) yield rows.map((row) => element('url', leaf('loc', site.origin() + paths.thing(kind, row)))).join('')
    if (rows.length < atATime) return
    last = rows.at(-1)?.id ?? upTo
  }
}

function talkUrl(talk: SitemapTalk, site: Site): string {
  return element('url', leaf('loc', site.origin() + paths.talk(talk)) + leaf('lastmod', `${talk.updated}Z`) + videoOf(talk, site))
}

/** Where there is nothing to play there is no video. */
function videoOf(talk: SitemapTalk, site: Site): string {
  const base = site.origin()
  const [file] = filesOf(talk)
  if (!file && !talk.source_url) return ''
  const title = line(talk.title) || String(talk.id)
  const { duration } = talk
  return element(
    'video:video',
    leaf('video:thumbnail_loc', base + paths.picture(talk.id, 1280)) +
      leaf('video:title', title) +
      leaf('video:description', line(talk.text) || title) +
      leaf('video:content_loc', file?.url) +
      leaf('video:player_loc', base + paths.embed(talk.id)) +
      leaf('video:duration', duration && duration <= longestSeconds ? duration : undefined) +
      leaf('video:publication_date', `${talk.added}Z`),
  )
}

const line = (text: string) => xmlText(text).replaceAll(/\s+/g, ' ').trim()
const element = (name: string, content: string) => `<${name}>${content}</${name}>\n`
