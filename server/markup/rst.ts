import {
  inlineToMarkdown,
  isAbsoluteUrl,
  type LinkTargets,
  linkDestination,
  markdownLabel,
  normalizeReference,
} from './rst-inline.ts'
import {
  commonIndent,
  dedent,
  escapeLineStart,
  expandTabs,
  fencesOf,
  indentOf,
  isBlank,
  isBullet,
  isFence,
  isUnderline,
  type ListItem,
  listItemAt,
  trimBlankLines,
  underlineOf,
} from './rst-lines.ts'

// Converts descriptions of talks from reStructuredText or plain text to Markdown (CommonMark). They
// were written by hand, so nothing is an error: what is not recognized stays as it was typed, and
// plain prose does not change. Every line is read once for each list or quotation around it.

/** Deeper levels are converted as plain text. */
const maxDepth = 6

/** Converts a text. A text that is already Markdown changes as little as possible. */
export function rstToMarkdown(text: string): string {
  // Some files have line breaks in the wrong order (\n\r).
  const lines = text.replaceAll(/\r\n|\n\r(?!\n)|\r/g, '\n').split('\n')
  const source = lines.join('\n')
  if (isMarkdown(source)) return cleanMarkdown(lines).join('\n')
  const context: RstContext = { links: linksOf(lines), titleStyles: [] }
  return convertBlocks(lines.map(expandTabs), context, 0, false).join('\n')
}

interface RstContext {
  readonly links: LinkTargets
  /** Styles of titles in the order of their first use, which determines their levels. */
  readonly titleStyles: string[]
}

/**
 * Tells whether a text is Markdown: it has titles, links or code that only Markdown writes so, and
 * nothing that only reStructuredText has.
 */
function isMarkdown(source: string): boolean {
  return (
    /^#{2,6} +\S|\]\(https?:|^```[\w-]*$|^\[[^\]\n]{1,50}\]: *https?:/m.test(source) &&
    !/^ *\.\. |`__?(?!\w)|::$/m.test(source)
  )
}

function cleanMarkdown(lines: readonly string[]): string[] {
  const noLinks = {
    named: new Set<string>(),
    longest: 0,
    pictures: new Set<string>(),
    anonymous: [],
  }
  const out: string[] = []
  const fenceEnd = fencesOf(lines)
  for (let index = 0; index < lines.length; ) {
    const fence = fenceEnd(index)
    if (fence !== undefined) {
      for (; index <= fence; index++) out.push(lines[index] as string)
      continue
    }
    let end = index + 1
    while (end < lines.length && !isBlank(lines[end]) && !isFence(lines[end])) end++
    const paragraph = lines
      .slice(index, end)
      .map((line) => (isFence(line) ? line.replace(/[`~]/, '\\$&') : line))
    out.push(inlineToMarkdown(paragraph.join('\n'), noLinks, true))
    index = end
  }
  return out
}

const targetLine = /^ *\.\. _(?:`([^`]+)`|([^`]*?)):(?: +(\S+))?\s*$/
const anonymousLine = /^ *(?:__|\.\. __:) +(\S+)\s*$/
const pictureLine = /^ *\.\. \|([^|]+)\| (?:image|figure):: *(\S+)\s*$/
// The second colon of a directive is often missing before code.
const directiveLine =
  /^\.\. (?:\|([^|]+)\| )?([\w-]+(?::[\w-]+)?)(?:::|(?<=code|code-block):)(?: +(.*))?$/
const codeDirective =
  /^(code|code-block|sourcecode|literalinclude|raw|math|parsed-literal|highlight)$/
const hiddenDirective = /^(contents|sectnum|class|meta|role|default-role|highlight|include)$/
const admonition = /^(note|tip|hint|important|warning|caution|danger|attention|error|seealso)$/

/** Collects the link targets and pictures that the text defines. */
function linksOf(lines: readonly string[]): LinkTargets {
  const named = new Set<string>()
  const pictures = new Set<string>()
  const anonymous: string[] = []
  for (const line of lines) {
    if (!/^ *(\.\.|__) /.test(line)) continue
    const [, quoted, plain = quoted, url = ''] = targetLine.exec(line) ?? []
    if (plain && plain !== '_' && isAbsoluteUrl(url))
      named.add(normalizeReference(plain.replaceAll(/\\(.)/g, '$1')))
    const anonymousUrl = anonymousLine.exec(line)?.[1]
    if (anonymousUrl) anonymous.push(anonymousUrl)
    const [, name, picture = ''] = pictureLine.exec(line) ?? []
    if (name && isAbsoluteUrl(picture)) pictures.add(normalizeReference(name))
  }
  const longest = [...named].reduce((max, { length }) => Math.max(max, length), 0)
  return { named, longest: Math.min(longest, 100), pictures, anonymous }
}

function convertBlocks(
  lines: readonly string[],
  context: RstContext,
  depth: number,
  isMarked: boolean,
): string[] {
  return new BlockConverter(lines, context, depth, isMarked).convert()
}

/**
 * Converts the blocks of a text or of a nested part. Each method converts the block that starts at
 * a line and returns the line after it.
 */
class BlockConverter {
  private readonly lines: readonly string[]
  private readonly context: RstContext
  private readonly depth: number
  /** Whether a line within a paragraph that looks like an item starts a list. */
  private readonly isMarked: boolean
  private readonly out: string[] = []
  private readonly fenceEnd: (index: number) => number | undefined
  /** The next number of an automatically numbered list. */
  private readonly numbers = { next: 1 }
  private isAfterItem = false

  constructor(lines: readonly string[], context: RstContext, depth: number, isMarked: boolean) {
    this.lines = lines
    this.context = context
    this.depth = depth
    this.isMarked = isMarked
    this.fenceEnd = fencesOf(lines)
  }

  convert(): string[] {
    for (let index = 0; index < this.lines.length; ) index = this.block(index)
    return this.out
  }

  private block(index: number): number {
    const { lines } = this
    const line = lines[index] as string
    const wasAfterItem = this.isAfterItem
    this.isAfterItem = false
    if (isBlank(line)) return this.blankLine(index)
    if (line.startsWith(' ')) return this.indented(index)
    if (this.depth > maxDepth) return this.paragraph(index, false)
    if (this.isExplicit(index)) return this.explicit(index)
    if (isAbsoluteUrl(anonymousLine.exec(line)?.[1] ?? '')) return index + 1
    const fence = this.fenceEnd(index)
    if (fence !== undefined) return this.verbatim(index, fence + 1)
    if (isUnderline(line, lines[index + 1])) return this.title(index + 1, '')
    if (underlineOf(line)) return this.rule(index)
    if (/^\+[-=][-=+]+\+ *$/.test(line) || /^=+( +=+)+ *$/.test(line)) return this.table(index)
    if (/^>>> /.test(line)) return this.code(index, this.paragraphEnd(index), '')
    if (/^\|( |$)/.test(line)) return this.lineBlock(index)
    if (/^:[a-z][^:`]{0,60}: +[^`\s]/i.test(line)) return this.fields(index)
    const item = listItemAt(lines, index, false, this.numbers)
    if (item) {
      const end = this.listItem(index, item)
      this.isAfterItem = true
      return end
    }
    const end = this.paragraph(index, wasAfterItem)
    this.isAfterItem = wasAfterItem
    return end
  }

  private blankLine(index: number): number {
    this.out.push(this.depth === 0 ? (this.lines[index] as string) : '')
    const next = this.lines[index + 1] ?? ''
    if (!/^( *$|[-*+•‣●▪#(]|\d|[a-z][.)]| )/i.test(next)) this.numbers.next = 1
    return index + 1
  }

  /** Tells whether a line starts explicit markup: a directive, target, footnote or comment. */
  private isExplicit(index: number): boolean {
    if (!/^\.\.( |$)/.test(this.lines[index] as string)) return false
    const before = this.lines[index - 1]
    return index === 0 || isBlank(before) || /^( |\.\.|__)/.test(before as string)
  }

  private add(lines: readonly string[]): void {
    for (const line of lines) this.out.push(line)
  }

  private inline(text: string): string {
    return inlineToMarkdown(text, this.context.links)
  }

  private nested(lines: readonly string[], isMarked: boolean): string[] {
    return convertBlocks(lines, this.context, this.depth + 1, isMarked)
  }

  /** Adds a blank line if there is none. */
  private separate(): void {
    if (this.out.length > 0 && !isBlank(this.out.at(-1))) this.out.push('')
  }

  /** Returns the end of the indented lines, without blank lines at the end. */
  private indentedEnd(from: number): number {
    const { lines } = this
    let end = from
    for (let index = from; index < lines.length; index++) {
      if (isBlank(lines[index])) continue
      if (indentOf(lines[index] as string) === 0) break
      end = index + 1
    }
    return end
  }

  private paragraphEnd(from: number): number {
    let end = from + 1
    while (end < this.lines.length && !isBlank(this.lines[end])) end++
    return end
  }

  /** Returns the first line from here that is not blank. */
  private nextText(from: number): string | undefined {
    for (let index = from; index < this.lines.length; index++)
      if (!isBlank(this.lines[index])) return this.lines[index]
    return undefined
  }

  private verbatim(from: number, end: number): number {
    this.add(this.lines.slice(from, end))
    return end
  }

  private code(from: number, end: number, language: string): number {
    this.separate()
    this.fenced(this.lines.slice(from, end), language)
    return end
  }

  private fenced(lines: readonly string[], language: string): void {
    const content = trimBlankLines(lines)
    if (content.length === 0) return
    const margin = commonIndent(content)
    const longestFence = content.reduce(
      (max, line) => Math.max(max, /^ *(`{3,})/.exec(line)?.[1]?.length ?? 0),
      2,
    )
    const fence = '`'.repeat(longestFence + 1)
    this.add([fence + language, ...content.map((line) => line.slice(margin)), fence])
  }

  private indented(from: number): number {
    const { lines } = this
    const end = this.indentedEnd(from)
    const content = lines.slice(from, end)
    const margin = commonIndent(content)
    const moved = content.map((line) => line.slice(margin))
    const isText = end === from + 1 && end < lines.length && !isBlank(lines[end])
    if (this.depth > maxDepth || isText) {
      // A single indented line is the first line of a paragraph, as in books.
      const indent = margin < 4 ? ' '.repeat(margin) : ''
      const text = moved.map(
        (line, index) => (index === 0 ? indent : '') + escapeLineStart(line.trim(), true),
      )
      this.add(this.inline(text.join('\n')).split('\n'))
      return end
    }
    // An indented list is not a quotation, and an indent of one or two spaces is accidental.
    const isNotQuoted =
      margin < 3 ||
      listItemAt(moved, 0, false, { next: 1 }) !== undefined ||
      /^(\.\. |\||::\s*$)/.test(moved[0] ?? '')
    const inner = this.nested(moved, this.isMarked)
    if (isNotQuoted) {
      const indent = ' '.repeat(margin < 4 ? margin : 0)
      this.add(inner.map((line) => (line === '' ? '' : indent + line)))
      return end
    }
    this.separate()
    this.add(
      inner
        .filter((line, index) => line !== '' || inner[index - 1] !== '')
        .map((line) => (line === '' ? '>' : `> ${line}`)),
    )
    if (end < lines.length && !isBlank(lines[end])) this.out.push('')
    return end
  }

  private listItem(from: number, { marker, width, content }: ListItem): number {
    const { lines } = this
    const end = Math.max(this.indentedEnd(from + 1), from + 1)
    const first = (lines[from] as string).slice(width)
    if (end === from + 1 && /^[a-z]{2,}.*[^:]$/i.test(first)) {
      this.out.push(marker + this.inline(first))
      return end
    }
    const rest = lines.slice(from + 1, end)
    const body = [first, ...rest.map((line) => line.slice(Math.min(width, indentOf(line))))]
    // Programs write two spaces after the marker and break lines anywhere, also before a hyphen.
    // People write one space, and a line with a hyphen is an item.
    const inner = this.nested(body, /^\S+ $/.test(marker))
    this.add(
      inner.map((line, index) => {
        if (index === 0) return marker + line
        return line === '' ? '' : ' '.repeat(content) + line
      }),
    )
    return end
  }

  private title(underline: number, overline: string): number {
    const { lines, context } = this
    const { sign } = underlineOf(lines[underline]) as { sign: string }
    const style = overline + sign
    const { titleStyles } = context
    // In Markdown a hyphen is the second level. If it is used first, the first level is left out.
    if (titleStyles.length === 0 && style === '-') titleStyles.push('')
    if (!titleStyles.includes(style) && titleStyles.length < 6) titleStyles.push(style)
    const level = titleStyles.includes(style) ? titleStyles.indexOf(style) + 1 : 6
    const text = this.inline((lines[underline - 1] as string).trim())
    // The underlines of the first two levels are the same in Markdown, except for titles that look
    // like an item of a list.
    const isSame = style === ['=', '-'][level - 1] && !/^([-+*>#|]|\d+[.)])/.test(text)
    if (isSame) this.out.push(text, (lines[underline] as string).trimEnd())
    else this.out.push(`${'#'.repeat(level)} ${text}`)
    return underline + 1
  }

  /** Converts a line of one repeated character: the overline of a title, or a transition. */
  private rule(from: number): number {
    const { lines } = this
    const { sign, length } = underlineOf(lines[from]) as { sign: string; length: number }
    const title = lines[from + 1]
    const underline = underlineOf(lines[from + 2])
    const hasTitle = length >= 3 && !isBlank(title) && !underlineOf(title)
    if (hasTitle && underline?.sign === sign && underline.length >= 3)
      return this.title(from + 2, sign)
    if (length < (/[-_*]/.test(sign) ? 3 : 4)) return this.paragraph(from, false)
    this.separate()
    this.out.push(/[-_*]/.test(sign) ? (lines[from] as string) : '---')
    return from + 1
  }

  /** Converts a table to code, because Markdown has no tables. */
  private table(from: number): number {
    const { lines } = this
    if (lines[from]?.startsWith('+')) return this.code(from, this.paragraphEnd(from), '')
    // Simple tables may contain blank lines; the last line is like the first.
    for (let index = from + 2; index < Math.min(lines.length, from + 200); index++)
      if (/^=+( +=+)* *$/.test(lines[index] ?? '') && isBlank(lines[index + 1]))
        return this.code(from, index + 1, '')
    return this.code(from, this.paragraphEnd(from), '')
  }

  private lineBlock(from: number): number {
    const { lines } = this
    let end = from + 1
    while (end < lines.length && !isBlank(lines[end]) && /^[| ]/.test(lines[end] as string)) end++
    const second = lines[from + 1]
    // A Markdown table.
    if (/^\|?[\s:|-]+\|$/.test(second ?? '') && second?.includes('-'))
      return this.verbatim(from, end)
    const parts: string[] = []
    for (const line of lines.slice(from, end)) {
      if (line.startsWith('|')) {
        const text = line.slice(1).trim()
        parts.push(isBullet(text) ? text : escapeLineStart(text))
      } else parts.push(`${parts.pop()}\n${isBullet(parts.at(-1)) ? '  ' : ''}${line.trim()}`)
    }
    const hasBreak = (index: number) =>
      parts[index] !== '' && parts[index + 1] && !isBullet(parts[index + 1])
    this.add(
      parts.flatMap((part, index) =>
        (this.inline(part) + (hasBreak(index) ? '\\' : '')).split('\n'),
      ),
    )
    return end
  }

  private fields(from: number): number {
    const { lines } = this
    let end = from + 1
    while (
      end < lines.length &&
      !isBlank(lines[end]) &&
      /^( |:[a-z][^:`]{0,60}: +[^`\s])/i.test(lines[end] as string)
    )
      end++
    const converted = lines.slice(from, end).map((line) => {
      const bold = (_: string, name: string) => `**${name.replaceAll('*', '\\*')}:**`
      return this.inline(line.trim().replace(/^:([^:`]{1,61}):/, bold))
    })
    this.add(
      converted.map((line, index) => (converted[index + 1]?.startsWith('**') ? `${line}\\` : line)),
    )
    return end
  }

  private explicit(from: number): number {
    const { lines } = this
    const line = lines[from] as string
    // Two dots alone end the block before them.
    if (line.trim() === '..' && isBlank(lines[from + 1])) return from + 1
    const end = Math.max(this.indentedEnd(from + 1), from + 1)
    const rest = lines.slice(from + 1, end)
    if (anonymousLine.test(line)) return end
    const target = targetLine.exec(line)
    if (target) {
      this.linkTarget(target)
      return end
    }
    const [, footnote, note = ''] = /^\.\. (\[[^\]]{1,50}\])(?: +(.*))?$/.exec(line) ?? []
    if (footnote) {
      this.add(this.nested([`${footnote} ${note}`, ...dedent(rest)], false))
      return end
    }
    const [, substituted, name, argument = ''] = directiveLine.exec(line) ?? []
    if (name) this.directive(name.toLowerCase(), argument.trim(), rest, substituted)
    // Anything else is a comment, which is not part of the text.
    return end
  }

  private linkTarget([, quoted, plain = quoted, url = '']: readonly (string | undefined)[]): void {
    const name = (plain ?? '').replaceAll(/\\(.)/g, '$1')
    if (isAbsoluteUrl(url)) this.out.push(`[${markdownLabel(name)}]: ${linkDestination(url)}`)
    else if (url) this.out.push(`${markdownLabel(name)}: ${markdownLabel(url)}`)
  }

  private directive(
    name: string,
    argument: string,
    rest: readonly string[],
    substituted: string | undefined,
  ): void {
    const { options, body } = parseDirective(rest)
    if (name === 'image' || name === 'figure')
      this.picture(argument, options.get('alt') ?? '', substituted)
    else if (codeDirective.test(name)) {
      this.codeDirective(name, argument, body)
      return
    } else if (hiddenDirective.test(name)) return
    else {
      const heading = admonition.test(name) ? `**${capitalize(name)}:** ` : ''
      if (heading || argument) this.out.push((heading + this.inline(argument)).trimEnd())
    }
    if (body.length === 0) return
    this.separate()
    this.add(this.nested(body, false))
  }

  private picture(url: string, alternative: string, substituted: string | undefined): void {
    const label = markdownLabel(alternative)
    if (substituted && isAbsoluteUrl(url))
      this.out.push(`[${markdownLabel(substituted)}]: ${linkDestination(url)}`)
    else if (isAbsoluteUrl(url)) this.out.push(`![${label}](${linkDestination(url)})`)
    else if (url) this.out.push(`${label} (${markdownLabel(url)})`.trim())
  }

  private codeDirective(name: string, argument: string, body: readonly string[]): void {
    this.separate()
    if (body.length > 0) this.fenced(body, /^[\w+-]+$/.test(argument) ? argument : '')
    else this.fenced(argument && name === 'math' ? [argument] : [], '')
  }

  private paragraph(from: number, isInList: boolean): number {
    const { lines } = this
    let end = from + 1
    while (end < lines.length && !isBlank(lines[end]) && !this.endsParagraph(end, isInList)) end++
    const text = lines.slice(from, end)
    const last = text.at(-1)?.trimEnd() ?? ''
    const isLiteral =
      last.endsWith('::') && this.nextText(end)?.startsWith(' ') && isBlank(lines[end])
    if (isLiteral)
      text[text.length - 1] = / ::$|^::$/.test(last)
        ? last.slice(0, -2).trimEnd()
        : last.slice(0, -1)
    const converted = this.inline(escapeParagraph(text, isInList))
    if (converted !== '') this.add(converted.split('\n'))
    return isLiteral ? this.code(end, this.indentedEnd(end), '') : end
  }

  /** Tells whether a line ends the paragraph before it, although there is no blank line. */
  private endsParagraph(index: number, isInList: boolean): boolean {
    const line = this.lines[index] as string
    const rule = underlineOf(line)
    if (rule && rule.length >= 3 && /[-=]/.test(rule.sign)) return true
    if (this.fenceEnd(index) !== undefined) return true
    if (line.startsWith(' '))
      return listItemAt([line.trimStart()], 0, false, { next: 1 }) !== undefined
    return listItemAt(this.lines, index, !isInList && !this.isMarked, { next: 1 }) !== undefined
  }
}

/** Splits the indented lines of a directive into its options and its body. */
function parseDirective(lines: readonly string[]) {
  const options = new Map<string, string>()
  const dedented = dedent(lines)
  let from = 0
  for (; /^:[\w-]+:/.test(dedented[from] ?? ''); from++) {
    const [, option = '', value = ''] = /^:([\w-]+): *(.*)$/.exec(dedented[from] as string) ?? []
    options.set(option, value)
  }
  return { options, body: trimBlankLines(dedented.slice(from)) }
}

/** Escapes the starts of lines. A term with an indented definition gets a line break. */
function escapeParagraph(lines: readonly string[], isInList: boolean): string {
  const isTerm =
    lines.length > 1 &&
    !isInList &&
    indentOf(lines[1] as string) >= 2 &&
    /^.{1,80}[^\\]$/.test(lines[0] as string)
  const escaped = lines.map((line, index) => {
    if (line.startsWith(' ') && isTerm) return escapeLineStart(line.trim())
    const isQuoted = line.startsWith('>') && lines[index - 1]?.startsWith('>')
    return escapeLineStart(line, index > 0 && !isQuoted)
  })
  if (isTerm) escaped[0] = `${escaped[0]?.trimEnd()}\\`
  return escaped.join('\n')
}

const capitalize = (word: string) => (word[0] ?? '').toUpperCase() + word.slice(1)
