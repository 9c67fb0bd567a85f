import { awayStates, type Video } from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import type { SourceStates } from '../links/links.ts'
import type { Markdown } from '../markdown/markdown.ts'
import { pictureVersion } from '../pictures/pictures.ts'
import type { NewCategory } from './queries.ts'
import type { SiteInfo } from './site.ts'
import { escapeXml, xmlText } from './xml.ts'

// The content of feeds, independent of their format.

export interface Feed {
  /** Permanent: it does not depend on the names of entities. */
  readonly id: string
  readonly title: string
  readonly about: string
  /** The path of the page with the same content. */
  readonly page: string
  readonly entries: readonly Entry[]
}

export interface Entry {
  /** Depends on the id only, so that a talk with a corrected title does not appear as a new one. */
  readonly id: string
  readonly title: string
  readonly link: string
  readonly authors: readonly string[]
  /** When the talk or event was added. Feed readers sort by it. */
  readonly published: Date
  readonly updated: Date
  /** When a source that cannot simply be watched changed last. */
  readonly sourcesChanged?: Date
  /** Day of the recording, YYYY-MM-DD. */
  readonly recorded?: string
  /** HTML of the summary, if there is a description as well. */
  readonly summary?: string
  /** HTML of summary and description; of long ones the beginning. */
  readonly html: string
  readonly tags: readonly string[]
  readonly rights: string
  readonly seconds?: number
  readonly files: readonly MediaFile[]
  readonly player?: string
  readonly picture?: string
}

export interface MediaFile {
  readonly url: string
  readonly type: string
  readonly bytes?: number
}

/** Without Flash, which no browser plays any more. */
const mediaTypes = { mp4: 'video/mp4', webm: 'video/webm', ogv: 'video/ogg' } as const
type MediaFormat = keyof typeof mediaTypes

type MediaFields = Pick<Video, `video_${MediaFormat}_url` | `video_${MediaFormat}_length`>

type Playable = MediaFields & Pick<Video, 'source_url'>

/** What other sites can play of a talk. */
export interface TalkMedia {
  readonly files: readonly MediaFile[]
  /** Whether our player has something to play. */
  readonly hasPlayer: boolean
}

/** Finds what other sites can play of a talk: nothing that is not there any more. */
export function talkMedia(video: Playable, { byUrl, isLost }: SourceStates): TalkMedia {
  const files = mediaFiles(video)
  return {
    files: files
      .filter(({ stored }) => !isAway(byUrl.get(stored)?.state))
      .map(({ stored: _, ...file }) => file),
    // A copy that only the facts have is played as well.
    hasPlayer: (files.length > 0 || Boolean(video.source_url)) && !isLost,
  }
}

/** Lists the media files of a talk. Old records have 0 for an unknown size, which is left out. */
function mediaFiles(video: MediaFields): (MediaFile & { readonly stored: string })[] {
  return (Object.keys(mediaTypes) as MediaFormat[]).flatMap((format) => {
    const [stored, bytes] = [video[`video_${format}_url`], video[`video_${format}_length`]]
    // Normalized as a browser does it, with invalid characters percent-encoded.
    return stored && URL.canParse(stored)
      ? [{ stored, url: new URL(stored).href, type: mediaTypes[format], ...(bytes && { bytes }) }]
      : []
  })
}

const isAway = (state: string | undefined) =>
  (awayStates as readonly (string | undefined)[]).includes(state)

/** The width of the picture of an entry. */
export const pictureWidth = 640

/** Builds the feed entry of a talk. */
export async function talkEntry(
  video: Video,
  states: SourceStates,
  markdown: Markdown,
  site: SiteInfo,
): Promise<Entry> {
  const base = site.origin()
  const link = base + paths.talk(video)
  const summary = await renderStart(video.summary, link, markdown)
  const description = await renderStart(video.description, link, markdown)
  const { files, hasPlayer } = talkMedia(video, states)
  return {
    id: `${base}/video/${video.id}`,
    title: video.title,
    link,
    authors: xmlNames(video.speakers),
    published: parseTimestamp(video.added),
    updated: parseTimestamp(video.updated),
    ...(states.changed && { sourcesChanged: states.changed }),
    ...(video.recorded && { recorded: video.recorded }),
    ...(summary && description && { summary }),
    html: `${summary}${description}` || paragraph(video.title),
    tags: xmlNames(video.tags),
    rights: xmlText(video.copyright_text).trim(),
    ...(video.duration && { seconds: video.duration }),
    files,
    ...(hasPlayer && { player: base + paths.embed(video.id) }),
    picture: base + paths.picture(video.id, pictureWidth, pictureVersion(video)),
  }
}

/** Feeds are in English. */
const countries = new Intl.DisplayNames('en', { type: 'region' })

/** Builds the feed entry of a category. */
export async function categoryEntry(
  category: NewCategory,
  markdown: Markdown,
  site: SiteInfo,
): Promise<Entry> {
  const base = site.origin()
  const link = base + paths.entity('category', category)
  const { url, profile } = category
  const days = [...new Set([category.start_date, category.end_date])]
    .filter((day) => day !== null)
    .join(' – ')
  const { city, country, online, series } = profile
  const place = [city, country && countries.of(country)].filter(Boolean).join(', ')
  const facts = [days, place, online && 'Online', series].filter(Boolean).join(' · ')
  return {
    id: `${base}/category/${category.id}`,
    title: category.name,
    link,
    authors: [],
    published: parseTimestamp(category.created),
    updated: parseTimestamp(category.changed),
    html:
      [
        facts && paragraph(facts),
        await renderStart(category.description, link, markdown),
        url && `<p><a href="${escapeXml(url)}">${escapeXml(url)}</a></p>`,
      ]
        .filter(Boolean)
        .join('\n') || paragraph(category.name),
    tags: [],
    rights: '',
    files: [],
  }
}

/** Returns the HTML of the first part of a text, and a link to the page if there is more. */
async function renderStart(text: string, link: string, markdown: Markdown): Promise<string> {
  if (text.trim() === '') return ''
  const { html, isWhole } = await markdown.renderStart(text)
  return isWhole ? html : `${html}<p><a href="${escapeXml(link)}">…</a></p>\n`
}

const paragraph = (text: string) => `<p>${escapeXml(text)}</p>`

/** Drops names that have only characters that XML does not allow. */
export const xmlNames = (names: readonly string[]) =>
  names.filter((name) => xmlText(name).trim() !== '')

const parseTimestamp = (wire: string) => new Date(`${wire}Z`)
