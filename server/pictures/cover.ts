import type { Video } from '@talkshelf/contract'
import { type Composition, compositions, coverHeight, coverWidth } from './compositions.ts'
import { palettes } from './palettes.ts'
import { seededRandom } from './seeded-random.ts'
import { fitText, layoutTitle, startsRightToLeft } from './text-layout.ts'

// Draws the cover of a talk without a thumbnail, which depends on its title, event and speakers
// only. The SVG has attributes but no styles, which the Content-Security-Policy would block.

export type CoverText = Pick<Video, 'title' | 'category' | 'speakers'>

const margin = 36
/** Leaves space for fonts that are wider than the estimate. */
const textColumn = coverWidth - 2 * margin - 36
const eventSize = 21
const baseline = coverHeight - 30
// All have about the widths that text-layout.ts assumes.
const fonts = 'Helvetica Neue,Helvetica,Arial,Liberation Sans,Roboto,Noto Sans,sans-serif'

export interface Cover {
  readonly svg: string
  readonly composition: Composition
}

/** Draws the cover of a talk. */
export function drawCover(talk: CoverText): Cover {
  const title = clean(talk.title)
  const event = clean(talk.category)
  // All talks of an event have the same palette.
  const palette = seededRandom('palette', event).pick(palettes)
  const random = seededRandom('talk', title, event, ...talk.speakers.map(clean))
  const { lines, size, isRightToLeft } = layoutTitle(title, textColumn)
  const lineHeight = Math.round(size * 1.16)
  const lastLine = baseline - eventSize - 18
  const top = lastLine - (lines.length - 1) * lineHeight - size * 0.74
  const composition = random.pick(Object.keys(compositions) as Composition[])
  const drawing = compositions[composition]({ random, palette, horizon: top - 20 })

  const titleLines = lines.map((line, index) => {
    const y = lastLine - (lines.length - 1 - index) * lineHeight
    return `<text ${startOf(isRightToLeft)} y="${y}">${escapeXml(line)}</text>`
  })
  const eventText = escapeXml(fitText(event, (textColumn * 0.86) / eventSize))
  const eventLine =
    `<text ${startOf(startsRightToLeft(event))} y="${baseline}" font-size="${eventSize}"` +
    ` font-weight="600" fill="${palette.small}">${eventText}</text>`
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720"' +
    ` viewBox="0 0 ${coverWidth} ${coverHeight}">${drawing}` +
    `<g font-family="${fonts}" font-size="${size}" font-weight="700" fill="${palette.ink}">` +
    `${titleLines.join('')}${eventLine}</g></svg>`
  return { svg, composition }
}

/** Returns the attributes that place a line at the left or the right margin. */
function startOf(isRightToLeft: boolean): string {
  return isRightToLeft ? `x="${coverWidth - margin}" direction="rtl"` : `x="${margin}"`
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
