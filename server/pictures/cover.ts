import type { Video } from '@talkshelf/contract'
import { type Composition, compositions, coverHeight, coverWidth } from './compositions.ts'
import { palettes } from './palettes.ts'
import { seededRandom } from './seeded-random.ts'
import { fitText, layoutTitle, startsRightToLeft } from './text-layout.ts'

// The picture of a talk that has none: drawn from its own words, and always the same for the same
// words. Attributes only and no styles, so that the policy of the server can stay as strict as it
// is.

export type CoverText = Pick<Video, 'title' | 'category' | 'speakers'>

const margin = 36
/** Room to the right for fonts that are wider than the one that was measured. */
const column = coverWidth - 2 * margin - 36
const small = 21
const baseline = coverHeight - 30
// All have about the width that lettering.ts reckons with.
const fonts = 'Helvetica Neue,Helvetica,Arial,Liberation Sans,Roboto,Noto Sans,sans-serif'

export interface Cover {
  readonly svg: string
  readonly composition: Composition
}

export function drawCover(talk: CoverText): Cover {
  const title = clean(talk.title)
  const event = clean(talk.category)
  // One palette for an event: its talks look like one series.
  const palette = seededRandom('palette', event).pick(palettes)
  const chance = seededRandom('talk', title, event, ...talk.speakers.map(clean))
  const { lines, size, isRightToLeft } = layoutTitle(title, column)
  const step = Math.round(size * 1.16)
  const last = baseline - small - 18
  const top = last - (lines.length - 1) * step - size * 0.74
  const composition = chance.pick(Object.keys(compositions) as Composition[])
  const drawn = compositions[composition]({ chance, palette, horizon: top - 20 })

  const side = (rightToLeft: boolean) =>
    rightToLeft ? `x="${coverWidth - margin}" direction="rtl"` : `x="${margin}"`
  const words = lines.map(
    (line, at) =>
      `<text ${side(isRightToLeft)} y="${last - (lines.length - 1 - at) * step}">${escaped(line)}</text>`,
  )
  const eventLine = `<text ${side(startsRightToLeft(event))} y="${baseline}" font-size="${small}" font-weight="600" fill="${palette.small}">${escaped(fitText(event, (column * 0.86) / small))}</text>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720" viewBox="0 0 ${coverWidth} ${coverHeight}">${drawn}<g font-family="${fonts}" font-size="${size}" font-weight="700" fill="${palette.ink}">${words.join('')}${eventLine}</g></svg>`
  return { svg, composition }
}

/**
 * What XML 1.0 has no place for is dropped, and so are marks that turn the direction of what
 * follows: each line stands alone.
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

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
