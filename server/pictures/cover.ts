import type { Video } from '@talkshelf/contract'
import { type Composition, compositions, coverHeight, coverWidth } from './compositions.ts'
import { palettes } from './palettes.ts'
import { seededRandom } from './seeded-random.ts'
import { fitText, layoutTitle, startsRightToLeft, textWidth } from './text-layout.ts'

// Draws the cover of a talk without a thumbnail, which depends on its title, event and speakers
// only, and its link preview, which also names the speakers and the archive. The SVG has attributes
// but no styles, which the Content-Security-Policy would block.

export type CoverText = Pick<Video, 'title' | 'category' | 'speakers'>

const margin = 36
/** Leaves space for wider fonts: text in DejaVu Sans, 17 % wider than Arial, is not cut off. */
const textColumn = coverWidth - 2 * margin - 56
const smallSize = 21
/** No line has space for more. */
const maxSpeakers = 10
/** Distance of the last baseline from the bottom. */
const bottom = 30
/** A preview has the ratio of 1200 to 630: this much of the cover is cut at the top and bottom. */
const previewCut = 12
/** Where the ground of a cover without text begins. */
const untitledHorizon = coverHeight - 60
// All have about the widths that text-layout.ts assumes.
const fonts = 'Helvetica Neue,Helvetica,Arial,Liberation Sans,Roboto,Noto Sans,sans-serif'

export interface Cover {
  readonly svg: string
  readonly composition: Composition
}

/**
 * Draws the cover of a talk without its title and event, in the same colours and style. The player
 * shows it: there, the title is next to the picture.
 */
export function drawUntitledCover(talk: CoverText): string {
  const { palette, random } = designOf(talk)
  const composition = random.pick(Object.keys(compositions) as Composition[])
  const drawing = compositions[composition]({ random, palette, horizon: untitledHorizon })
  return `${svgStart}${drawing}</svg>`
}

/** Draws the cover of a talk. */
export function drawCover(talk: CoverText): Cover {
  const event = clean(talk.category)
  const baseline = coverHeight - bottom
  const { drawing, titleLines, palette, composition } = drawTitle(talk, baseline - smallSize - 18)
  const eventText = fitText(event, (textColumn * 0.86) / smallSize)
  const svg =
    `${svgStart}${drawing}` +
    `${titleLines}${smallLine(eventText, baseline, palette.small)}</g></svg>`
  return { svg, composition }
}

/** Draws the link preview of a talk, to be rendered by this server. */
export function drawPreview(talk: CoverText, siteName: string): string {
  const baseline = coverHeight - previewCut - bottom
  const names = talk.speakers.slice(0, maxSpeakers).map(clean)
  const speakers = fitText(names.join(', '), textColumn / smallSize)
  const hasSpeakers = speakers !== ''
  const speakersLine = baseline - 30
  const { drawing, titleLines, palette } = drawTitle(
    talk,
    (hasSpeakers ? speakersLine : baseline) - smallSize - 18,
  )
  const site = fitText(clean(siteName), (textColumn * 0.4) / smallSize)
  const gap = 1.5
  const event = fitText(clean(talk.category), textColumn / smallSize - textWidth(site) - gap)
  const isRightToLeft = startsRightToLeft(event)
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630"' +
    ` viewBox="0 ${previewCut} ${coverWidth} ${coverHeight - 2 * previewCut}">` +
    `${drawing}${titleLines}` +
    (hasSpeakers ? smallLine(speakers, speakersLine, palette.ink) : '') +
    smallLine(event, baseline, palette.small) +
    smallLine(site, baseline, palette.small, isRightToLeft ? 'left' : 'right') +
    '</g></svg>'
  )
}

/**
 * Draws the picture and the title, whose last line is at this height. The titleLines open a group
 * that the caller closes after its own lines.
 */
function drawTitle(talk: CoverText, lastLine: number) {
  const { title, palette, random } = designOf(talk)
  const { lines, size, isRightToLeft } = layoutTitle(title, textColumn)
  const lineHeight = Math.round(size * 1.16)
  const top = lastLine - (lines.length - 1) * lineHeight - size * 0.74
  const composition = random.pick(Object.keys(compositions) as Composition[])
  const drawing = compositions[composition]({ random, palette, horizon: top - 20 })

  const texts = lines.map((line, index) => {
    const y = lastLine - (lines.length - 1 - index) * lineHeight
    return `<text ${startOf(isRightToLeft)} y="${y}">${escapeXml(line)}</text>`
  })
  const titleLines =
    `<g font-family="${fonts}" font-size="${size}" font-weight="700" fill="${palette.ink}">` +
    texts.join('')
  return { drawing, titleLines, palette, composition }
}

/** Draws a line below the title, at the side where its script starts unless given. */
function smallLine(text: string, y: number, colour: string, side?: Side): string {
  return (
    `<text ${startOf(startsRightToLeft(text), side)} y="${y}" font-size="${smallSize}"` +
    ` font-weight="600" fill="${colour}">${escapeXml(text)}</text>`
  )
}

type Side = 'left' | 'right'

const svgStart =
  '<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720"' +
  ` viewBox="0 0 ${coverWidth} ${coverHeight}">`

function designOf(talk: CoverText) {
  const title = clean(talk.title)
  const event = clean(talk.category)
  return {
    title,
    event,
    // All talks of an event have the same palette.
    palette: seededRandom('palette', event).pick(palettes),
    random: seededRandom('talk', title, event, ...talk.speakers.map(clean)),
  }
}

/** Returns the attributes that place a line at the left or the right margin. */
function startOf(isRightToLeft: boolean, side?: Side): string {
  const start: Side = isRightToLeft ? 'right' : 'left'
  const x = (side ?? start) === 'right' ? coverWidth - margin : margin
  const direction = isRightToLeft ? ' direction="rtl"' : ''
  const anchor = side !== undefined && side !== start ? ' text-anchor="end"' : ''
  return `x="${x}"${direction}${anchor}`
}

/**
 * Removes characters that are not allowed in XML 1.0 and marks that change the text direction,
 * because each line is a text element of its own.
 */
function clean(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(
      /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\ufffd/gu,
      '',
    )
    .normalize('NFC')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
