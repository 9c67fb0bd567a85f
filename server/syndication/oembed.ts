import type { Video } from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import { pictureVersion } from '../pictures/pictures.ts'
import { xmlNames } from './entries.ts'
import type { SiteInfo } from './site.ts'
import { escapeXml, textElement, xmlDeclaration, xmlText, xmlTexts } from './xml.ts'

// A talk in the pages of others (oembed.com): they ask what to show for an address of ours.

/** Of the picture at `paths.preview`. */
const previewSize = { width: 1200, height: 630 } as const

const defaultWidth = 640
const widest = 1920

export interface MaxSize {
  readonly maxwidth?: number | undefined
  readonly maxheight?: number | undefined
}

/** The number of the talk that an address of ours is about. */
export function talkIdInUrl(address: string, site: SiteInfo): number | undefined {
  if (!URL.canParse(address)) return undefined
  const { host, pathname } = new URL(address)
  const base = new URL(site.origin())
  // Whether a link says http or https is up to whoever copied it.
  if (host !== base.host || !pathname.startsWith(`${site.basePath}/`)) return undefined
  const [, id] =
    /^\/(?:video|embed)\/([1-9]\d{0,15})(?:\/[a-z0-9-]*)?\/?$/.exec(
      pathname.slice(site.basePath.length),
    ) ?? []
  return id === undefined || !Number.isSafeInteger(Number(id)) ? undefined : Number(id)
}

export function oEmbed(video: Video, site: SiteInfo, { maxwidth, maxheight }: MaxSize) {
  const base = site.origin()
  const { width, height } = fitted(maxwidth, maxheight)
  const fits =
    previewSize.width <= (maxwidth ?? Infinity) && previewSize.height <= (maxheight ?? Infinity)
  // Something has to stand there, also where XML leaves nothing of it.
  const title = xmlText(video.title).trim() || `${video.id}`
  const authors = xmlNames(video.speakers).join(', ')
  const attributes = [
    `src="${escapeXml(base + paths.embed(video.id))}"`,
    `width="${width}" height="${height}"`,
    `title="${escapeXml(title)}"`,
    'sandbox="allow-scripts allow-same-origin allow-presentation allow-popups allow-popups-to-escape-sandbox"',
    'allow="autoplay; encrypted-media; fullscreen; picture-in-picture; clipboard-write" allowfullscreen frameborder="0" loading="lazy"',
  ]
  return xmlTexts({
    type: 'video',
    version: '1.0',
    title,
    ...(authors && { author_name: authors }),
    provider_name: site.name,
    provider_url: `${base}/`,
    cache_age: 3600,
    // A picture that is larger than was asked for is not to be named.
    ...(fits && {
      thumbnail_url: base + paths.preview(video.id, pictureVersion(video)),
      thumbnail_width: previewSize.width,
      thumbnail_height: previewSize.height,
    }),
    width,
    height,
    html: `<iframe ${attributes.join(' ')}></iframe>`,
  })
}

export function oEmbedXml(answer: ReturnType<typeof oEmbed>): string {
  const elements = Object.entries(answer).map(([name, value]) => textElement(name, value))
  return `${xmlDeclaration}<oembed>${elements.join('')}</oembed>\n`
}

/** As wide as may be, in the shape of a talk. */
function fitted(
  maxwidth: number = defaultWidth,
  maxheight: number = Infinity,
): { width: number; height: number } {
  const width = Math.max(1, Math.min(maxwidth, widest, Math.floor((maxheight * 16) / 9)))
  return { width, height: Math.max(1, Math.min(Math.round((width * 9) / 16), maxheight)) }
}
