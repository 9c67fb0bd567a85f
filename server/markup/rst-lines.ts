// What one line of a description is, by how it begins and by its neighbours. No I/O.

export const isBlank = (line: string | undefined) => line === undefined || line.trim() === ''
export const isBullet = (line: string | undefined) => /^[-*+] /.test(line ?? '')
export const isFence = (line: string | undefined) => /^ {0,3}(`{3,}[^`]*|~{3,}.*)$/.test(line ?? '')
export const indentOf = (line: string) => line.length - line.trimStart().length
/**
 * As far as one list is inside another. More would make quotations of paragraphs that begin with a
 * tab.
 */
export const expandTabs = (line: string) =>
  line.replace(/^[ \t]*\t/, (tabs) => tabs.replaceAll('\t', '  '))

/**
 * Tells, for a line that begins code, the one that ends it. Without one there is no code: it would
 * swallow the rest of the text. Lines that can end code are looked for once, and of them the next
 * 200 are tried.
 */
export function fencesOf(lines: readonly string[]): (at: number) => number | undefined {
  let ends: { at: number; fence: string }[] | undefined
  return (at) => {
    const fence = isFence(lines[at]) ? /[`~]{3,}/.exec(lines[at] ?? '')?.[0] : undefined
    if (!fence) return undefined
    ends ??= lines.flatMap((line, at) =>
      /^ *(`{3,}|~{3,}) *$/.test(line) ? [{ at, fence: line.trim() }] : [],
    )
    let first = 0
    for (let last = ends.length; first < last; ) {
      const middle = (first + last) >> 1
      if ((ends[middle]?.at as number) > at) last = middle
      else first = middle + 1
    }
    return ends.slice(first, first + 200).find((end) => end.fence.startsWith(fence))?.at
  }
}

/** A line of one sign only, as titles are underlined with. */
export function underlineOf(
  line: string | undefined,
): { sign: string; length: number } | undefined {
  const rule = line?.trimEnd() ?? ''
  return /^([!-/:-@[-`{-~])\1*$/.test(rule)
    ? { sign: rule[0] as string, length: rule.length }
    : undefined
}

export function isUnderline(title: string, under: string | undefined): boolean {
  const rule = underlineOf(under)
  if (!rule || underlineOf(title)) return false
  return (
    rule.length >= (/[=-]/.test(rule.sign) ? 3 : 4) ||
    (rule.length >= 2 && rule.length >= title.trimEnd().length)
  )
}

const item = (marker: string, width: number): ListItem => ({
  marker,
  width,
  content: marker.length,
})

export interface ListItem {
  /** As Markdown writes it, with the space behind it. */
  readonly marker: string
  /** How much of the line it takes. */
  readonly width: number
  /** How far what belongs to it is indented in Markdown. */
  readonly content: number
}

/**
 * What begins an item of a list here. `isInside`: the line goes on from another, and may begin so
 * by chance.
 */
export function listItemAt(
  lines: readonly string[],
  at: number,
  isInside: boolean,
  numbers: { next: number },
): ListItem | undefined {
  const line = lines[at] ?? ''
  const bullet = /^([-*+])( +)(?=\S)|^([•‣●▪]) *(?=\S)/.exec(line)?.[0]
  if (bullet && !/^([-*])( *\1){2,} *$/.test(line)) {
    if (isInside && !isExpected(new RegExp(`^ *\\${bullet[0]} *\\S`))) return undefined
    return item(
      /^[-*+]/.test(bullet) ? bullet.slice(0, 5) : `-${bullet.slice(1) || ' '}`.slice(0, 5),
      bullet.length,
    )
  }
  const number = /^(\d{1,3})([.)]) +(?=\S)/.exec(line)
  if (number) {
    const [, digits = '', sign = ''] = number
    if (isInside && !isExpected(new RegExp(`^ *${Number(digits) + 1}\\${sign} `))) return undefined
    return item(number[0].slice(0, digits.length + 5), number[0].length)
  }
  const automatic = /^#[.)] +(?=\S)/.exec(line)
  if (automatic) return item(`${numbers.next++}${automatic[0].slice(1, 6)}`, automatic[0].length)
  // Markdown has no letters before items, nor numbers in parentheses: the item keeps its own. One
  // alone is the initial of a name.
  const lettered = /^(\(?)([a-zA-Z]|\d{1,3})(\)|\.) +(?=\S)/.exec(line)
  if (!lettered || (lettered[1] === '(' && lettered[3] === '.')) return undefined
  const [whole, open = '', letter = '', close = ''] = lettered
  const next = /\d/.test(letter)
    ? `${Number(letter) + 1}`
    : String.fromCharCode(letter.charCodeAt(0) + 1)
  const last = /\d/.test(letter)
    ? `${Number(letter) - 1}`
    : String.fromCharCode(letter.charCodeAt(0) - 1)
  const like = (it: string) => (other: string | undefined) =>
    other?.startsWith(`${open}${it}${close} `) ?? false
  if (!like(next)(sibling(1)) && !like(last)(sibling(-1))) return undefined
  return { marker: `- ${whole.trimEnd()} `, width: whole.length, content: 2 }

  function isExpected(next: RegExp): boolean {
    return /[:：]\s*$/.test(lines[at - 1] ?? '') || next.test(sibling(1) ?? '')
  }
  // The next line that is not a part of this item.
  function sibling(step: 1 | -1): string | undefined {
    for (
      let to = at + step;
      to >= 0 && to < Math.min(lines.length, at + 30) && to > at - 30;
      to += step
    )
      if (!isBlank(lines[to]) && !lines[to]?.startsWith(' ')) return lines[to]
    return undefined
  }
}

/**
 * A line of text may begin with what begins something else in Markdown. `isInside`: it goes on from
 * the line before.
 */
export function escapeLineStart(line: string, isInside = false): string {
  if (/^ {0,3}(#{1,6}( |$)|~~~|```(?!.*`))/.test(line)) return line.replace(/[#~`]/, '\\$&')
  if (!isInside) return /^ {0,3}\d{4,9}[.)]( |$)/.test(line) ? line.replace(/[.)]/, '\\$&') : line
  if (/^ {0,3}([-+*]( |$)|-+ *$|=+ *$|> )/.test(line)) return line.replace(/[-+*=>]/, '\\$&')
  return /^ {0,3}1[.)] /.test(line) ? line.replace(/[.)]/, '\\$&') : line
}

export function leastIndent(lines: readonly string[]): number {
  return lines.reduce(
    (margin, line) => (isBlank(line) ? margin : Math.min(margin, indentOf(line))),
    1000,
  )
}

export function dedent(lines: readonly string[]): string[] {
  const margin = leastIndent(lines)
  return lines.map((line) => line.slice(margin))
}

/** Without blank lines at either end. */
export function trimBlankLines(lines: readonly string[]): readonly string[] {
  const from = lines.findIndex((line) => !isBlank(line))
  return from < 0 ? [] : lines.slice(from, lines.findLastIndex((line) => !isBlank(line)) + 1)
}
