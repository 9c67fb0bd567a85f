import type { Video } from '@talkshelf/contract'
import { embedCode, embedSize, paths } from '@talkshelf/web'
import { pictureVersion } from '../pictures/pictures.ts'
import { xmlNames } from './entries.ts'
import type { SiteInfo } from './site.ts'
import { textElement, xmlDeclaration, xmlText, xmlTexts } from './xml.ts'

// oEmbed (oembed.com): what other sites show for the URL of a talk.

/** The size of the picture at `paths.preview`. */
const previewSize = { width: 1200, height: 630 } as const

const maxWidth = 1920

export interface MaxSize {
  readonly maxwidth?: number | undefined
  readonly maxheight?: number | undefined
}

/** Returns the id of the talk that a URL of this site is about. */
export function talkIdInUrl(url: string, site: SiteInfo): number | undefined {
  if (!URL.canParse(url)) return undefined
  const { host, pathname } = new URL(url)
  const base = new URL(site.origin())
  // The protocol is not compared: links may be http or https.
  if (host !== base.host || !pathname.startsWith(`${site.basePath}/`)) return undefined
  const [, id] =
    /^\/(?:video|embed)\/([1-9]\d{0,15})(?:\/[a-z0-9-]*)?\/?$/.exec(
      pathname.slice(site.basePath.length),
    ) ?? []
  return id === undefined || !Number.isSafeInteger(Number(id)) ? undefined : Number(id)
}

/**
 * Builds the oEmbed response of a talk, within the requested size. A talk whose recordings are lost
 * is a link: there is nothing to play.
 */
export function oEmbed(
  video: Video,
  isLost: boolean,
  site: SiteInfo,
  { maxwidth, maxheight }: MaxSize,
) {
  const base = site.origin()
  const { width, height } = playerSize(maxwidth, maxheight)
  const previewFits =
    previewSize.width <= (maxwidth ?? Infinity) && previewSize.height <= (maxheight ?? Infinity)
  // A title must not be empty, also if it has no characters that XML allows.
  const title = xmlText(video.title).trim() || `${video.id}`
  const authors = xmlNames(video.speakers).join(', ')
  return xmlTexts({
    type: isLost ? 'link' : 'video',
    version: '1.0',
    title,
    ...(authors && { author_name: authors }),
    provider_name: site.name,
    provider_url: `${base}/`,
    cache_age: 3600,
    // The specification forbids a thumbnail that exceeds the requested size.
    ...(previewFits && {
      thumbnail_url: base + paths.preview(video.id, pictureVersion(video)),
      thumbnail_width: previewSize.width,
      thumbnail_height: previewSize.height,
    }),
    ...(!isLost && {
      width,
      height,
      html: embedCode({ src: base + paths.embed(video.id), width, height, title }),
    }),
  })
}

/** Serializes an oEmbed response as XML. */
export function oEmbedXml(response: ReturnType<typeof oEmbed>): string {
  const elements = Object.entries(response).map(([name, value]) => textElement(name, value))
  return `${xmlDeclaration}<oembed>${elements.join('')}</oembed>\n`
}

/** Returns the largest allowed size with an aspect ratio of 16:9. */
function playerSize(
  maxwidth: number = embedSize.width,
  maxheight: number = Infinity,
): { width: number; height: number } {
  const width = Math.max(1, Math.min(maxwidth, maxWidth, Math.floor((maxheight * 16) / 9)))
  return { width, height: Math.max(1, Math.min(Math.round((width * 9) / 16), maxheight)) }
}
