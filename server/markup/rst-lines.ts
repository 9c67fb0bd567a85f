// Classifies single lines of reStructuredText by their start and their neighbours. No I/O.

/** Tells whether a line is empty, white space or missing. */
export const isBlank = (line: string | undefined) => line === undefined || line.trim() === ''
/** Tells whether a line starts with a bullet of Markdown. */
export const isBullet = (line: string | undefined) => /^[-*+] /.test(line ?? '')
/** Tells whether a line can start fenced code. */
export const isFence = (line: string | undefined) => /^ {0,3}(`{3,}[^`]*|~{3,}.*)$/.test(line ?? '')
/** Returns the number of leading white space characters. */
export const indentOf = (line: string) => line.length - line.trimStart().length
/**
 * Replaces leading tabs by two spaces, the indent of a nested list. With more, a paragraph that
 * begins with a tab would become a quotation.
 */
export const expandTabs = (line: string) =>
  line.replace(/^[ \t]*\t/, (tabs) => tabs.replaceAll('\t', '  '))

/**
 * Returns a function that finds the closing fence for an opening one. A fence that is never closed
 * is not code, because the rest of the text would become code. Possible closing fences are
 * collected once, and the next 200 of them are tried, which bounds the time.
 */
export function fencesOf(lines: readonly string[]): (index: number) => number | undefined {
  let closing: { index: number; fence: string }[] | undefined
  return (index) => {
    const fence = isFence(lines[index]) ? /[`~]{3,}/.exec(lines[index] ?? '')?.[0] : undefined
    if (!fence) return undefined
    closing ??= lines.flatMap((line, index) =>
      /^ *(`{3,}|~{3,}) *$/.test(line) ? [{ index, fence: line.trim() }] : [],
    )
    let first = 0
    for (let last = closing.length; first < last; ) {
      const middle = (first + last) >> 1
      if ((closing[middle]?.index as number) > index) last = middle
      else first = middle + 1
    }
    return closing.slice(first, first + 200).find((end) => end.fence.startsWith(fence))?.index
  }
}

/** Recognizes a line of one repeated punctuation character, as in underlines of titles. */
export function underlineOf(
  line: string | undefined,
): { sign: string; length: number } | undefined {
  const rule = line?.trimEnd() ?? ''
  return /^([!-/:-@[-`{-~])\1*$/.test(rule)
    ? { sign: rule[0] as string, length: rule.length }
    : undefined
}

/** Tells whether a line underlines the title before it. */
export function isUnderline(title: string, under: string | undefined): boolean {
  const rule = underlineOf(under)
  if (!rule || underlineOf(title)) return false
  return (
    rule.length >= (/[=-]/.test(rule.sign) ? 3 : 4) ||
    (rule.length >= 2 && rule.length >= title.trimEnd().length)
  )
}

const createItem = (marker: string, width: number): ListItem => ({
  marker,
  width,
  content: marker.length,
})

export interface ListItem {
  /** The marker in Markdown, with the space after it. */
  readonly marker: string
  /** Length of the marker in the source line. */
  readonly width: number
  /** Indent of the content in Markdown. */
  readonly content: number
}

/**
 * Recognizes a line that starts an item of a list. `isInside` means that the line continues a
 * paragraph and may look like an item by accident.
 */
export function listItemAt(
  lines: readonly string[],
  index: number,
  isInside: boolean,
  numbers: { next: number },
): ListItem | undefined {
  const line = lines[index] ?? ''
  const bullet = /^([-*+])( +)(?=\S)|^([•‣●▪]) *(?=\S)/.exec(line)?.[0]
  if (bullet && !/^([-*])( *\1){2,} *$/.test(line)) {
    if (isInside && !isExpected(new RegExp(`^ *\\${bullet[0]} *\\S`))) return undefined
    return createItem(
      /^[-*+]/.test(bullet) ? bullet.slice(0, 5) : `-${bullet.slice(1) || ' '}`.slice(0, 5),
      bullet.length,
    )
  }
  const number = /^(\d{1,3})([.)]) +(?=\S)/.exec(line)
  if (number) {
    const [, digits = '', sign = ''] = number
    if (isInside && !isExpected(new RegExp(`^ *${Number(digits) + 1}\\${sign} `))) return undefined
    return createItem(number[0].slice(0, digits.length + 5), number[0].length)
  }
  const automatic = /^#[.)] +(?=\S)/.exec(line)
  if (automatic)
    return createItem(`${numbers.next++}${automatic[0].slice(1, 6)}`, automatic[0].length)
  // Markdown supports neither letters nor numbers in parentheses, so the item keeps its label as
  // text. A single letter without a sibling may be the initial of a name.
  const lettered = /^(\(?)([a-zA-Z]|\d{1,3})(\)|\.) +(?=\S)/.exec(line)
  if (!lettered || (lettered[1] === '(' && lettered[3] === '.')) return undefined
  const [whole, open = '', letter = '', close = ''] = lettered
  const hasSibling = (step: 1 | -1) => {
    const label = /\d/.test(letter)
      ? `${Number(letter) + step}`
      : String.fromCharCode(letter.charCodeAt(0) + step)
    return sibling(step)?.startsWith(`${open}${label}${close} `) ?? false
  }
  if (!hasSibling(1) && !hasSibling(-1)) return undefined
  return { marker: `- ${whole.trimEnd()} `, width: whole.length, content: 2 }

  function isExpected(next: RegExp): boolean {
    return /[:：]\s*$/.test(lines[index - 1] ?? '') || next.test(sibling(1) ?? '')
  }
  /** Returns the next or previous line that is not indented, within 30 lines. */
  function sibling(step: 1 | -1): string | undefined {
    for (
      let other = index + step;
      other >= 0 && other < Math.min(lines.length, index + 30) && other > index - 30;
      other += step
    )
      if (!isBlank(lines[other]) && !lines[other]?.startsWith(' ')) return lines[other]
    return undefined
  }
}

/**
 * Escapes the start of a text line that would have a meaning in Markdown. `isInside` means that the
 * line continues a paragraph.
 */
export function escapeLineStart(line: string, isInside = false): string {
  if (/^ {0,3}(#{1,6}( |$)|~~~|```(?!.*`))/.test(line)) return line.replace(/[#~`]/, '\\$&')
  if (!isInside) return /^ {0,3}\d{4,9}[.)]( |$)/.test(line) ? line.replace(/[.)]/, '\\$&') : line
  if (/^ {0,3}([-+*]( |$)|-+ *$|=+ *$|> )/.test(line)) return line.replace(/[-+*=>]/, '\\$&')
  return /^ {0,3}1[.)] /.test(line) ? line.replace(/[.)]/, '\\$&') : line
}

/** Returns the smallest indent of the lines that are not blank. */
export function commonIndent(lines: readonly string[]): number {
  return lines.reduce(
    (margin, line) => (isBlank(line) ? margin : Math.min(margin, indentOf(line))),
    1000,
  )
}

/** Removes the common indent. */
export function dedent(lines: readonly string[]): string[] {
  const margin = commonIndent(lines)
  return lines.map((line) => line.slice(margin))
}

/** Removes blank lines at both ends. */
export function trimBlankLines(lines: readonly string[]): readonly string[] {
  const from = lines.findIndex((line) => !isBlank(line))
  return from < 0 ? [] : lines.slice(from, lines.findLastIndex((line) => !isBlank(line)) + 1)
}
