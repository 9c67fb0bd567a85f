import { type FeedFormat, paths } from '@talkshelf/web'
import {
  type DcTermsNs,
  generateAtomFeed,
  generateJsonFeed,
  generateRssFeed,
  type MediaNs,
} from 'feedsmith'
import { type Entry, type Feed, pictureWidth } from './entries.ts'
import type { SiteInfo } from './site.ts'
import { unwrapCdata, xmlText, xmlTexts } from './xml.ts'

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
 * Returns the time of the last change of any entry. It is 1970 for an empty feed: the current time
 * would make every response a new version.
 */
export function feedUpdated({ entries }: Feed): Date {
  return new Date(Math.max(0, ...entries.map(({ updated }) => updated.getTime())))
}

function rss(feed: Feed, site: SiteInfo): string {
  const value = {
    title: titleOf(feed),
    link: site.origin() + feed.page,
    description: feed.about,
    lastBuildDate: feedUpdated(feed),
    generator: 'Talkshelf',
    atom: { links: [{ href: selfOf(feed, 'rss', site), rel: 'self', type: typeOf('rss') }] },
    items: feed.entries.map((entry) => ({
      title: titleOf(entry),
      link: entry.link,
      description: entry.html,
      guid: { value: entry.id, isPermaLink: true },
      pubDate: entry.published,
      categories: entry.tags.map((name) => ({ name })),
      // Feed readers expect at most one enclosure. Its length is required: the RSS profile has 0
      // for an unknown one.
      enclosures: entry.files
        .slice(0, 1)
        .map(({ url, type, bytes = 0 }) => ({ url, type, length: bytes })),
      // The author of RSS is an e-mail address; names go to Dublin Core.
      dc: { creators: [...entry.authors], ...(entry.rights && { rights: [entry.rights] }) },
      dcterms: datesOf(entry),
      atom: { updated: entry.updated },
      media: mediaOf(entry),
    })),
  }
  return unwrapCdata(generateRssFeed(xmlTexts(value)))
}

function atom(feed: Feed, site: SiteInfo): string {
  const value = {
    id: feed.id,
    title: { value: titleOf(feed) },
    subtitle: { value: feed.about },
    updated: feedUpdated(feed),
    authors: [{ name: site.name, uri: `${site.origin()}/` }],
    generator: { text: 'Talkshelf' },
    links: [
      { href: selfOf(feed, 'atom', site), rel: 'self', type: typeOf('atom') },
      { href: site.origin() + feed.page, rel: 'alternate', type: 'text/html' },
    ],
    entries: feed.entries.map((entry) => ({
      id: entry.id,
      title: { value: titleOf(entry) },
      updated: entry.updated,
      published: entry.published,
      authors: entry.authors.map((name) => ({ name })),
      categories: entry.tags.map((term) => ({ term })),
      links: [
        { href: entry.link, rel: 'alternate', type: 'text/html' },
        ...entry.files.map(({ url, type, bytes }) => ({
          href: url,
          rel: 'enclosure',
          type,
          ...(bytes && { length: bytes }),
        })),
      ],
      ...(entry.summary && { summary: { value: entry.summary, type: 'html' } }),
      content: { value: entry.html, type: 'html' },
      ...(entry.rights && { rights: { value: entry.rights } }),
      dcterms: datesOf(entry),
      media: mediaOf(entry),
    })),
  }
  return unwrapCdata(generateAtomFeed(xmlTexts(value)))
}

function json(feed: Feed, site: SiteInfo): string {
  const value = {
    title: titleOf(feed),
    home_page_url: site.origin() + feed.page,
    feed_url: selfOf(feed, 'json', site),
    description: feed.about,
    icon: `${site.origin()}/favicon.svg`,
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
  // The library omits an empty list of items, which is required. Invalid characters are removed as
  // in XML, because many JSON parsers reject a lone surrogate.
  return JSON.stringify({ items: [], ...(generateJsonFeed(xmlTexts(value)) as object) })
}

/** Returns the day of the recording. Not as `dc:date`, which some readers take for `pubDate`. */
function datesOf({ recorded }: Entry): DcTermsNs.ItemOrFeed<Date> {
  return recorded ? { created: [new Date(recorded)] } : {}
}

/** Puts several files into a group, which marks them as variants of the same talk. */
function mediaOf({ files, seconds, player, picture }: Entry): MediaNs.ItemOrFeed {
  const contents = files.map(({ url, type, bytes }) => ({
    url,
    type,
    medium: 'video',
    ...(bytes && { fileSize: bytes }),
    ...(seconds && { duration: seconds }),
  }))
  return {
    ...(contents.length > 1 && { groups: [{ contents }] }),
    ...(contents.length === 1 && { contents }),
    ...(player && { player: { url: player } }),
    ...(picture && { thumbnails: [{ url: picture, width: pictureWidth }] }),
  }
}

/** Falls back to the id if the title has no characters that XML allows. */
const titleOf = ({ title, id }: { title: string; id: string }) =>
  xmlText(title).trim() === '' ? id : title
const selfOf = ({ page }: Feed, format: FeedFormat, site: SiteInfo) =>
  site.origin() + paths.feed(page, format)
const typeOf = (format: FeedFormat) => feedTypes[format].replace(/;.*/, '')
