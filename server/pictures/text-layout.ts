import { glyphWidth } from './glyph-widths.ts'

// Breaks a title into lines. The font of the reader is unknown, so the widths of characters are
// those of Arial Bold for Latin letters and of Noto Sans Bold for other scripts, with space for
// wider fonts.

export interface TextLayout {
  readonly lines: readonly string[]
  readonly size: number
  readonly isRightToLeft: boolean
}

/** Font sizes, the largest first: a short title is large, a long one has up to four lines. */
const fontSizes = [
  { size: 62, maxLines: 1 },
  { size: 55, maxLines: 2 },
  { size: 46, maxLines: 3 },
  { size: 38, maxLines: 4 },
  { size: 33, maxLines: 4 },
  { size: 29, maxLines: 4 },
]

/**
 * Breaks a title into at most four lines of similar width. A title that is too long ends in an
 * ellipsis.
 */
export function layoutTitle(title: string, width: number): TextLayout {
  const pieces = piecesOf(title)
  const isRightToLeft = startsRightToLeft(title)
  for (const { size, maxLines } of fontSizes) {
    // A smaller font is better than a broken word.
    if (pieces.some((piece) => piece.width * size > width)) continue
    const lines = wrap(pieces, width / size)
    if (lines.length <= maxLines)
      return { lines: balance(pieces, lines, width / size), size, isRightToLeft }
  }
  const { size, maxLines } = fontSizes.at(-1) as (typeof fontSizes)[number]
  const parts = pieces.flatMap((piece) => breakPiece(piece, width / size))
  const lines = wrap(parts, width / size)
  if (lines.length <= maxLines) return { lines, size, isRightToLeft }
  const last = fitText(lines.slice(maxLines - 1).join(' '), width / size)
  return { lines: [...lines.slice(0, maxLines - 1), last], size, isRightToLeft }
}

/** Truncates a text to a width in em, with an ellipsis. */
export function fitText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let truncated = ''
  for (const { segment } of graphemes.segment(text)) {
    if (textWidth(`${truncated}${segment}…`) > width) break
    truncated += segment
  }
  return `${truncated.replace(/[\s\p{Pd},;:.]+$/u, '')}…`
}

/** Tells whether the first letter belongs to a script that is written from right to left. */
export function startsRightToLeft(text: string): boolean {
  const [first = ''] = /\p{L}/u.exec(text) ?? []
  return rightToLeft.test(first)
}

/** Estimates the width of a text in em. */
export function textWidth(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += characterWidth(segment)
  return width
}

/** A part of the text that is not broken into lines. */
interface Piece {
  readonly text: string
  readonly width: number
  readonly afterSpace: boolean
}

const space = 0.28
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
const rightToLeft =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u
/** A line may be broken between two of these characters. Korean is wide too, but has spaces. */
const breaksAnywhere = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
/** A line must not begin with closing brackets and characters that belong to the one before. */
const neverFirst = /^[\p{Pe}\p{Pf}\p{Po}\p{Mn}ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々〜～]/u
const neverLast = /[\p{Ps}\p{Pi}]$/u

/** Scripts without spaces whose words only a dictionary can tell apart. */
const hasUnspacedWords = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const words = new Intl.Segmenter('th', { granularity: 'word' })

/** Estimates the width of a grapheme, which may consist of several letters and marks. */
function characterWidth(character: string): number {
  if (wide.test(character)) return 1
  let width = 0
  for (const part of character) width += glyphWidth(part.codePointAt(0) ?? 0) ?? latinWidth(part)
  return width
}

function latinWidth(character: string): number {
  if (/[\p{M}\p{Cf}]/u.test(character)) return 0
  const first = character[0] as string
  if ("ijlI|!.,:;' ".includes(first)) return 0.28
  if ('ftr()[]{}-/\\"“”‘’'.includes(first)) return 0.38
  if ('mwMWжшщюыфЖШЩЮЫФ@%—…'.includes(first)) return 0.9
  return /\p{Lu}/u.test(character) ? 0.72 : 0.59
}

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  for (const word of text.split(/\s+/).filter((word) => word !== '')) {
    let isFirst = true
    let piece = ''
    const add = () => {
      if (piece === '') return
      pieces.push({ text: piece, width: textWidth(piece), afterSpace: isFirst })
      isFirst = false
      piece = ''
    }
    let before = ''
    const isUnspaced = hasUnspacedWords.test(word)
    for (const { segment } of (isUnspaced ? words : graphemes).segment(word)) {
      const mayBreak =
        isUnspaced || breaksAnywhere.test(segment) || breaksAnywhere.test(before) || before === '/'
      if (mayBreak && !neverFirst.test(segment) && !neverLast.test(piece)) add()
      piece += segment
      before = segment
    }
    // A dash at the beginning of a line would look like a list.
    const previous = pieces.at(-1)
    if (/^[\p{Pd}|]$/u.test(piece) && isFirst && previous) {
      const text = `${previous.text} ${piece}`
      pieces[pieces.length - 1] = { ...previous, text, width: textWidth(text) }
      piece = ''
    }
    add()
  }
  return pieces
}

/** Fills lines up to a width in em. */
function wrap(pieces: readonly Piece[], maxWidth: number): string[] {
  const lines: string[] = []
  let [line, width] = ['', 0]
  for (const piece of pieces) {
    const gap = piece.afterSpace ? space : 0
    if (line !== '' && width + gap + piece.width > maxWidth) {
      lines.push(line)
      ;[line, width] = ['', 0]
    }
    width += (line === '' ? 0 : gap) + piece.width
    line += line === '' || !piece.afterSpace ? piece.text : ` ${piece.text}`
  }
  return line === '' ? lines : [...lines, line]
}

/** Wraps to the smallest width with the same number of lines, so that lines have similar widths. */
function balance(pieces: readonly Piece[], lines: string[], width: number): string[] {
  // The lower bound ends the loop if there are no pieces.
  const minWidth = Math.max(width / 4, ...pieces.map((piece) => piece.width))
  let best = lines
  for (let narrower = width * 0.97; narrower > minWidth; narrower *= 0.97) {
    const attempt = wrap(pieces, narrower)
    if (attempt.length > lines.length) break
    best = attempt
  }
  return best
}

/** Breaks a piece that is wider than a line. */
function breakPiece(piece: Piece, maxWidth: number): Piece[] {
  if (piece.width <= maxWidth) return [piece]
  const parts: Piece[] = []
  let part = ''
  const add = () =>
    parts.push({
      text: part,
      width: textWidth(part),
      afterSpace: piece.afterSpace && parts.length === 0,
    })
  for (const { segment } of graphemes.segment(piece.text)) {
    if (part !== '' && textWidth(part + segment) > maxWidth) {
      add()
      part = ''
    }
    part += segment
  }
  add()
  return parts
}
