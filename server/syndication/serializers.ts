import { type FeedFormat, licenceId, licenceNotice, paths } from '@talkshelf/web'
import { type Entry, type Feed, pictureWidth } from './entries.ts'
import type { SiteInfo } from './site.ts'
import {
  type Attributes,
  element,
  emptyElement,
  textElement,
  xmlDeclaration,
  xmlText,
  xmlTexts,
} from './xml.ts'

// Serializes feeds as RSS, Atom and JSON Feed.

export const feedTypes: Record<FeedFormat, string> = {
  rss: 'application/rss+xml; charset=utf-8',
  atom: 'application/atom+xml; charset=utf-8',
  json: 'application/feed+json; charset=utf-8',
}

/** Serializes a feed in a format. */
export function serializeFeed(feed: Feed, format: FeedFormat, site: SiteInfo): string {
  return { rss, atom, json }[format](feed, site)
}

/**
 * Returns the time of the last change of any entry, or of where it can be watched. It is 1970 for
 * an empty feed: the current time would make every response a new version.
 */
export function feedUpdated({ entries }: Feed): Date {
  const times = entries.flatMap(({ updated, sourcesChanged = updated }) => [
    updated,
    sourcesChanged,
  ])
  return new Date(Math.max(0, ...times.map((time) => time.getTime())))
}

const mediaNamespaces = {
  'xmlns:dcterms': 'http://purl.org/dc/terms/',
  'xmlns:media': 'http://search.yahoo.com/mrss/',
}
const atomNamespace = 'http://www.w3.org/2005/Atom'
const rssNamespaces = {
  'xmlns:atom': atomNamespace,
  'xmlns:dc': 'http://purl.org/dc/elements/1.1/',
  ...mediaNamespaces,
}

function rss(feed: Feed, site: SiteInfo): string {
  const channel = [
    text('title', titleOf(feed)),
    text('link', site.origin() + feed.page),
    // Required, also if it is empty.
    text('description', feed.about) || emptyElement('description', {}),
    text('lastBuildDate', feedUpdated(feed).toUTCString()),
    text('copyright', site.licence && licenceNotice(site.licence)),
    text('generator', 'Talkshelf'),
    link('atom:link', selfOf(feed, 'rss', site), 'self', typeOf('rss')),
    '\n',
    ...feed.entries.map((entry) => element('item', rssItem(entry))),
  ]
  return (
    xmlDeclaration +
    element('rss', element('channel', channel.join('')), { version: '2.0', ...rssNamespaces })
  )
}

function rssItem(entry: Entry): string {
  return [
    text('title', titleOf(entry)),
    text('link', entry.link),
    text('description', entry.html),
    text('guid', entry.id, { isPermaLink: 'true' }),
    text('pubDate', entry.published.toUTCString()),
    ...entry.tags.map((name) => text('category', name)),
    // Feed readers expect at most one enclosure. Its length is required: the RSS profile has 0 for
    // an unknown one.
    ...entry.files
      .slice(0, 1)
      .map(({ url, type, bytes = 0 }) => emptyElement('enclosure', { url, length: bytes, type })),
    // The author of RSS is an e-mail address; names go to Dublin Core.
    ...entry.authors.map((name) => text('dc:creator', name)),
    text('dc:rights', entry.rights),
    text('atom:updated', entry.updated.toISOString()),
    recordedElement(entry),
    mediaElements(entry),
  ].join('')
}

function atom(feed: Feed, site: SiteInfo): string {
  const content = [
    text('id', feed.id),
    text('title', titleOf(feed)),
    text('subtitle', feed.about),
    text('updated', feedUpdated(feed).toISOString()),
    element('author', text('name', site.name) + text('uri', `${site.origin()}/`)),
    text('generator', 'Talkshelf'),
    text('rights', site.licence && licenceNotice(site.licence)),
    link('link', selfOf(feed, 'atom', site), 'self', typeOf('atom')),
    link('link', site.origin() + feed.page, 'alternate', 'text/html'),
    '\n',
    ...feed.entries.map((entry) => element('entry', atomEntry(entry))),
  ]
  return (
    xmlDeclaration + element('feed', content.join(''), { xmlns: atomNamespace, ...mediaNamespaces })
  )
}

function atomEntry(entry: Entry): string {
  return [
    text('id', entry.id),
    text('title', titleOf(entry)),
    text('updated', entry.updated.toISOString()),
    text('published', entry.published.toISOString()),
    ...entry.authors.map((name) => element('author', text('name', name))),
    ...entry.tags.map((term) => emptyElement('category', { term: trimmed(term) })),
    link('link', entry.link, 'alternate', 'text/html'),
    ...entry.files.map(({ url, type, bytes }) => link('link', url, 'enclosure', type, bytes)),
    text('summary', entry.summary, { type: 'html' }),
    text('content', entry.html, { type: 'html' }) || emptyElement('content', { type: 'html' }),
    text('rights', entry.rights),
    recordedElement(entry),
    mediaElements(entry),
  ].join('')
}

/** Writes an element with text; nothing if only white space is left of it. */
function text(name: string, value: string | undefined, attributes: Attributes = {}): string {
  return textElement(name, trimmed(value ?? ''), attributes)
}

/** Removes what XML forbids first: it may surround white space. */
const trimmed = (value: string) => xmlText(value).trim()

function link(name: string, href: string, rel: string, type: string, length?: number): string {
  return emptyElement(name, { href, rel, type, length: length || undefined })
}

/** Writes the day of the recording. Not as `dc:date`, which some readers take for `pubDate`. */
function recordedElement({ recorded }: Entry): string {
  return text('dcterms:created', recorded && `${recorded}T00:00:00.000Z`)
}

/** Puts several files into a group, which marks them as variants of the same talk. */
function mediaElements({ files, seconds, player, picture }: Entry): string {
  const contents = files
    .map(({ url, type, bytes }) =>
      emptyElement('media:content', {
        url,
        fileSize: bytes || undefined,
        type,
        medium: 'video',
        duration: seconds || undefined,
      }),
    )
    .join('')
  const thumbnail =
    picture && emptyElement('media:thumbnail', { url: picture, width: pictureWidth })
  return [
    files.length > 1 ? element('media:group', contents) : contents,
    thumbnail,
    player && emptyElement('media:player', { url: player }),
  ].join('')
}

function json(feed: Feed, site: SiteInfo): string {
  const value = {
    version: 'https://jsonfeed.org/version/1.1',
    title: titleOf(feed),
    home_page_url: site.origin() + feed.page,
    feed_url: selfOf(feed, 'json', site),
    description: feed.about,
    icon: site.origin() + iconPath(site),
    // JSON Feed has no field for it.
    ...(site.licence && { _talkshelf: { license: licenceId(site.licence) } }),
    items: feed.entries.map((entry) => ({
      id: entry.id,
      url: entry.link,
      title: titleOf(entry),
      content_html: entry.html,
      date_published: entry.published,
      date_modified: entry.updated,
      ...(entry.recorded && { _talkshelf: { recorded: entry.recorded } }),
      ...(entry.picture && { image: entry.picture }),
      ...(entry.authors.length > 0 && { authors: entry.authors.map((name) => ({ name })) }),
      ...(entry.tags.length > 0 && { tags: [...entry.tags] }),
      ...(entry.files.length > 0 && {
        attachments: entry.files.map(({ url, type, bytes }) => ({
          url,
          mime_type: type,
          ...(bytes && { size_in_bytes: bytes }),
          ...(entry.seconds && { duration_in_seconds: entry.seconds }),
        })),
      }),
    })),
  }
  // Invalid characters are removed as in XML, because many JSON parsers reject a lone surrogate.
  return JSON.stringify(xmlTexts(value))
}

/** Returns the largest icon, which feed readers make smaller. */
function iconPath({ content }: SiteInfo): string {
  const name = content?.icon?.large.at(-1)?.name
  return name === undefined ? '/favicon.svg' : paths.siteFile(name)
}

/** Falls back to the id if the title has no characters that XML allows. */
const titleOf = ({ title, id }: { title: string; id: string }) =>
  trimmed(title) === '' ? id : title
const selfOf = ({ page }: Feed, format: FeedFormat, site: SiteInfo) =>
  site.origin() + paths.feed(page, format)
const typeOf = (format: FeedFormat) => feedTypes[format].replace(/;.*/, '')
