import type { Video } from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import type { Markdown } from '../markdown/markdown.ts'
import { pictureVersion } from '../pictures/pictures.ts'
import type { NewCategory } from './queries.ts'
import type { SiteInfo } from './site.ts'
import { escapeXml, xmlText } from './xml.ts'

// What a feed is about, before it takes a form.

export interface Feed {
  /** Stays, whatever entities are called. */
  readonly id: string
  readonly title: string
  readonly about: string
  /** The page with the same content, as a path. */
  readonly page: string
  readonly entries: readonly Entry[]
}

export interface Entry {
  /** Made from the number only: a talk whose title is mended is not shown as a new one. */
  readonly id: string
  readonly title: string
  readonly link: string
  readonly authors: readonly string[]
  readonly published: Date
  readonly updated: Date
  /** HTML of the short text, where there is a long one as well. */
  readonly summary?: string
  /** HTML of the texts, of long ones the beginning. */
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

/** Flash is left out: nobody can play it. */
const formats = { mp4: 'video/mp4', webm: 'video/webm', ogv: 'video/ogg' } as const
type Format = keyof typeof formats

type Files = Pick<Video, `video_${Format}_url` | `video_${Format}_length`>

/** Old records have 0 where nobody knew the size. */
export function mediaFiles(video: Files): MediaFile[] {
  return (Object.keys(formats) as Format[]).flatMap((format) => {
    const [url, bytes] = [video[`video_${format}_url`], video[`video_${format}_length`]]
    // As a browser would ask for it: whatever is no part of an address is percent-encoded.
    return url && URL.canParse(url)
      ? [{ url: new URL(url).href, type: formats[format], ...(bytes && { bytes }) }]
      : []
  })
}

/** Width of the picture that goes with an entry. */
export const pictureWidth = 640

export async function talkEntry(video: Video, markdown: Markdown, site: SiteInfo): Promise<Entry> {
  const base = site.origin()
  const link = base + paths.talk(video)
  const summary = await startOf(video.summary, link, markdown)
  const description = await startOf(video.description, link, markdown)
  const files = mediaFiles(video)
  return {
    id: `${base}/video/${video.id}`,
    title: video.title,
    link,
    authors: xmlNames(video.speakers),
    published: momentOf(video.added),
    updated: momentOf(video.updated),
    ...(summary && description && { summary }),
    html: `${summary}${description}` || plain(video.title),
    tags: xmlNames(video.tags),
    rights: xmlText(video.copyright_text).trim(),
    ...(video.duration && { seconds: video.duration }),
    files,
    ...((files.length > 0 || video.source_url) && { player: base + paths.embed(video.id) }),
    picture: base + paths.picture(video.id, pictureWidth, pictureVersion(video)),
  }
}

export async function categoryEntry(
  category: NewCategory,
  markdown: Markdown,
  site: SiteInfo,
): Promise<Entry> {
  const base = site.origin()
  const link = base + paths.entity('category', category)
  const { url } = category
  const days = [...new Set([category.start_date, category.end_date])]
    .filter((day) => day !== null)
    .join(' – ')
  return {
    id: `${base}/category/${category.id}`,
    title: category.name,
    link,
    authors: [],
    published: momentOf(category.created),
    updated: momentOf(category.changed),
    html:
      [
        days && plain(days),
        await startOf(category.description, link, markdown),
        url && `<p><a href="${escapeXml(url)}">${escapeXml(url)}</a></p>`,
      ]
        .filter(Boolean)
        .join('\n') || plain(category.name),
    tags: [],
    rights: '',
    files: [],
  }
}

/** Returns the HTML of the first part of a text, and a link to the page if there is more. */
async function startOf(text: string, link: string, markdown: Markdown): Promise<string> {
  if (text.trim() === '') return ''
  const { html, isWhole } = await markdown.renderStart(text)
  return isWhole ? html : `${html}<p><a href="${escapeXml(link)}">…</a></p>\n`
}

const plain = (text: string) => `<p>${escapeXml(text)}</p>`

/** Without those of which XML leaves nothing. */
export const xmlNames = (names: readonly string[]) =>
  names.filter((name) => xmlText(name).trim() !== '')

const momentOf = (wire: string) => new Date(`${wire}Z`)
