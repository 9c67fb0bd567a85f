// Words into lines. Nobody tells us here how wide a letter will be on the reader's screen, so it is
// estimated, by Arial Bold and fonts of its width, and with room to spare for wider ones.

export interface TextLayout {
  readonly lines: readonly string[]
  readonly size: number
  readonly isRightToLeft: boolean
}

/** Largest first: a short title is set large, and only a long one in four lines. */
const settings = [
  { size: 62, mostLines: 1 },
  { size: 55, mostLines: 2 },
  { size: 46, mostLines: 3 },
  { size: 38, mostLines: 4 },
  { size: 33, mostLines: 4 },
]

/**
 * The title in at most four lines of about the same width; what does not fit ends in an ellipsis.
 */
export function layoutTitle(title: string, width: number): TextLayout {
  const pieces = piecesOf(title)
  const isRightToLeft = startsRightToLeft(title)
  for (const { size, mostLines: maxLines } of settings) {
    // A word that is broken in two is worse than a smaller letter.
    if (pieces.some((piece) => piece.width * size > width)) continue
    const lines = wrap(pieces, width / size)
    if (lines.length <= maxLines)
      return { lines: balanced(pieces, lines, width / size), size, isRightToLeft }
  }
  const { size, mostLines: maxLines } = settings.at(-1) as (typeof settings)[number]
  const lines = wrap(pieces.flatMap(broken(width / size)), width / size)
  if (lines.length <= maxLines) return { lines, size, isRightToLeft }
  const last = fitText(lines.slice(maxLines - 1).join(' '), width / size)
  return { lines: [...lines.slice(0, maxLines - 1), last], size, isRightToLeft }
}

/** As much of it as fits, in ems. */
export function fitText(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    if (textWidth(`${kept}${segment}…`) > width) break
    kept += segment
  }
  return `${kept.replace(/[\s\p{Pd},;:.]+$/u, '')}…`
}

/** By the first letter that has a direction. */
export function startsRightToLeft(text: string): boolean {
  const [first = ''] = /\p{L}/u.exec(text) ?? []
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(
    first,
  )
}

/** In ems. */
export function textWidth(text: string): number {
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOfOne(segment)
  return width
}

interface Piece {
  readonly text: string
  readonly width: number
  readonly afterSpace: boolean
}

const space = 0.28
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u
/** Between two of these a line may end. Korean is wide as well, but has spaces. */
const breaksAnywhere = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u
/** A line must not begin with these: ends of brackets, and what belongs to the letter before. */
const neverFirst = /^[\p{Pe}\p{Pf}\p{Po}\p{Mn}ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々〜～]/u
const neverLast = /[\p{Ps}\p{Pi}]$/u

function widthOfOne(letter: string): number {
  if (wide.test(letter)) return 1
  const first = letter[0] as string
  if ("ijlI|!.,:;' ".includes(first)) return 0.28
  if ('ftr()[]{}-/\\"“”‘’'.includes(first)) return 0.38
  if ('mwMWжшщюыфЖШЩЮЫФ@%—…'.includes(first)) return 0.9
  return /\p{Lu}/u.test(letter) ? 0.72 : 0.59
}

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  for (const word of text.split(/\s+/).filter((it) => it !== '')) {
    let isFirst = true
    let piece = ''
    const add = () => {
      if (piece === '') return
      pieces.push({ text: piece, width: textWidth(piece), afterSpace: isFirst })
      isFirst = false
      piece = ''
    }
    let before = ''
    for (const { segment } of graphemes.segment(word)) {
      const mayBreak = breaksAnywhere.test(segment) || breaksAnywhere.test(before) || before === '/'
      if (mayBreak && !neverFirst.test(segment) && !neverLast.test(piece)) add()
      piece += segment
      before = segment
    }
    // A dash at the beginning of a line looks like the beginning of a list.
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

function wrap(pieces: readonly Piece[], limit: number): string[] {
  const lines: string[] = []
  let [line, width] = ['', 0]
  for (const piece of pieces) {
    const gap = piece.afterSpace ? space : 0
    if (line !== '' && width + gap + piece.width > limit) {
      lines.push(line)
      ;[line, width] = ['', 0]
    }
    width += (line === '' ? 0 : gap) + piece.width
    line += line === '' || !piece.afterSpace ? piece.text : ` ${piece.text}`
  }
  return line === '' ? lines : [...lines, line]
}

/** The narrowest that needs no line more: no word is left alone in the last. */
function balanced(pieces: readonly Piece[], lines: string[], width: number): string[] {
  // Without any piece it would be less than nothing, and we would never get there.
  const widest = Math.max(width / 4, ...pieces.map((piece) => piece.width))
  let best = lines
  for (let narrower = width * 0.97; narrower > widest; narrower *= 0.97) {
    const tried = wrap(pieces, narrower)
    if (tried.length > lines.length) break
    best = tried
  }
  return best
}

/** A piece that no line could hold, in several. */
function broken(width: number): (piece: Piece) => Piece[] {
  return (whole) => {
    if (whole.width <= width) return [whole]
    const parts: Piece[] = []
    let part = ''
    const add = () =>
      parts.push({
        text: part,
        width: textWidth(part),
        afterSpace: whole.afterSpace && parts.length === 0,
      })
    for (const { segment } of graphemes.segment(whole.text)) {
      if (part !== '' && textWidth(part + segment) > width) {
        add()
        part = ''
      }
      part += segment
    }
    add()
    return parts
  }
}
