import { type FeedFormat, paths } from '@talkshelf/web'
import { generateAtomFeed, generateJsonFeed, generateRssFeed, type MediaNs } from 'feedsmith'
import { type Entry, type Feed, pictureWidth } from './entries.ts'
import type { SiteInfo } from './site.ts'
import { unwrapCdata, xmlText, xmlTexts } from './xml.ts'

// One feed in the three forms that readers know.

export const feedTypes: Record<FeedFormat, string> = {
  rss: 'application/rss+xml; charset=utf-8',
  atom: 'application/atom+xml; charset=utf-8',
  json: 'application/feed+json; charset=utf-8',
}

export function serializeFeed(feed: Feed, form: FeedFormat, site: SiteInfo): string {
  return { rss, atom, json }[form](feed, site)
}

/**
 * The last change of anything in it. A feed without entries has not changed since ever: a moment of
 * today would be a new version each time.
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
    items: feed.entries.map((it) => ({
      title: titleOf(it),
      link: it.link,
      description: it.html,
      guid: { value: it.id, isPermaLink: true },
      pubDate: it.published,
      categories: it.tags.map((name) => ({ name })),
      // Readers expect one at most, and its length must be there: 0 is what the RSS profile says
      // for one that nobody knows.
      enclosures: it.files
        .slice(0, 1)
        .map(({ url, type, bytes = 0 }) => ({ url, type, length: bytes })),
      // An author of RSS is a mail address. A name goes here.
      dc: { creators: [...it.authors], ...(it.rights && { rights: [it.rights] }) },
      atom: { updated: it.updated },
      media: mediaOf(it),
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
    entries: feed.entries.map((it) => ({
      id: it.id,
      title: { value: titleOf(it) },
      updated: it.updated,
      published: it.published,
      authors: it.authors.map((name) => ({ name })),
      categories: it.tags.map((term) => ({ term })),
      links: [
        { href: it.link, rel: 'alternate', type: 'text/html' },
        ...it.files.map(({ url, type, bytes }) => ({
          href: url,
          rel: 'enclosure',
          type,
          ...(bytes && { length: bytes }),
        })),
      ],
      ...(it.summary && { summary: { value: it.summary, type: 'html' } }),
      content: { value: it.html, type: 'html' },
      ...(it.rights && { rights: { value: it.rights } }),
      media: mediaOf(it),
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
    items: feed.entries.map((it) => ({
      id: it.id,
      url: it.link,
      title: titleOf(it),
      content_html: it.html,
      date_published: it.published,
      date_modified: it.updated,
      ...(it.picture && { image: it.picture }),
      ...(it.authors.length > 0 && { authors: it.authors.map((name) => ({ name })) }),
      ...(it.tags.length > 0 && { tags: [...it.tags] }),
      ...(it.files.length > 0 && {
        attachments: it.files.map(({ url, type, bytes }) => ({
          url,
          mime_type: type,
          ...(bytes && { size_in_bytes: bytes }),
          ...(it.seconds && { duration_in_seconds: it.seconds }),
        })),
      }),
    })),
  }
  // A feed without entries would come without the list, which has to be there. Half a surrogate
  // pair is no JSON to many readers either.
  return JSON.stringify({ items: [], ...(generateJsonFeed(xmlTexts(value)) as object) })
}

/** Several files are the same talk; only in a group it is one to readers. */
function mediaOf({ files, seconds, player, picture }: Entry): MediaNs.ItemOrFeed {
  const contents = files.map(({ url, type, bytes }) => ({
    url,
    type,
    medium: 'video',
    ...(bytes && { fileSize: bytes }),
    ...(seconds && { duration: seconds }),
  }))
  return {
    ...(contents.length > 1 ? { groups: [{ contents }] } : contents.length === 1 && { contents }),
    ...(player && { player: { url: player } }),
    ...(picture && { thumbnails: [{ url: picture, width: pictureWidth }] }),
  }
}

/** Something has to stand there, also where XML leaves nothing of it. */
const titleOf = ({ title, id }: { title: string; id: string }) =>
  xmlText(title).trim() === '' ? id : title
const selfOf = ({ page }: Feed, form: FeedFormat, site: SiteInfo) =>
  site.origin() + paths.feed(page, form)
const typeOf = (form: FeedFormat) => feedTypes[form].replace(/;.*/, '')
