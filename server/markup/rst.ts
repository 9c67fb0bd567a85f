import {
  inlineToMarkdown,
  isAbsoluteUrl,
  type LinkTargets,
  linkDestination,
  markdownLabel,
  normalizeReference,
} from './rst-inline.ts'
import {
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
  leastIndent,
  listItemAt,
  trimBlankLines,
  underlineOf,
} from './rst-lines.ts'

// Descriptions of talks, from reStructuredText or plain text to Markdown (CommonMark). People wrote
// them by hand, so nothing is an error: what is not understood stays as it was typed, and plain
// prose comes out as it went in. Every line is looked at once for each list or quotation around it.

/** Deeper than anybody nests; what is deeper still is read as text. */
const deepest = 6

export function rstToMarkdown(text: string): string {
  // Some files have the two signs of a line end the wrong way round.
  const lines = text.replaceAll(/\r\n|\n\r(?!\n)|\r/g, '\n').split('\n')
  const source = lines.join('\n')
  if (isMarkdown(source)) return markdown(lines).join('\n')
  const document: Document = { links: linksOf(lines), levels: [] }
  return blocks(lines.map(expandTabs), document, 0, false).join('\n')
}

interface Document {
  readonly links: LinkTargets
  /**
   * The signs that underline titles, in the order of their first use: the order is what makes one a
   * subtitle.
   */
  readonly levels: string[]
}

/**
 * Its author wrote Markdown already: there are titles, links or code that only Markdown writes so,
 * and nothing that only reStructuredText does.
 */
function isMarkdown(source: string): boolean {
  return (
    /^#{2,6} +\S|\]\(https?:|^```[\w-]*$|^\[[^\]\n]{1,50}\]: *https?:/m.test(source) &&
    !/^ *\.\. |`__?(?!\w)|::$/m.test(source)
  )
}

function markdown(lines: readonly string[]): string[] {
  const none = { named: new Set<string>(), longest: 0, pictures: new Set<string>(), anonymous: [] }
  const out: string[] = []
  const fenceAt = fencesOf(lines)
  for (let at = 0; at < lines.length; ) {
    const fence = fenceAt(at)
    if (fence !== undefined) {
      for (; at <= fence; at++) out.push(lines[at] as string)
      continue
    }
    let end = at + 1
    while (end < lines.length && !isBlank(lines[end]) && !isFence(lines[end])) end++
    const paragraph = lines
      .slice(at, end)
      .map((line) => (isFence(line) ? line.replace(/[`~]/, '\\$&') : line))
    out.push(inlineToMarkdown(paragraph.join('\n'), none, true))
    at = end
  }
  return out
}

const targetLine = /^ *\.\. _(?:`([^`]+)`|([^`]*?)):(?: +(\S+))?\s*$/
const anonymousLine = /^ *(?:__|\.\. __:) +(\S+)\s*$/
const pictureLine = /^ *\.\. \|([^|]+)\| (?:image|figure):: *(\S+)\s*$/

function linksOf(lines: readonly string[]): LinkTargets {
  const named = new Set<string>()
  const pictures = new Set<string>()
  const anonymous: string[] = []
  for (const line of lines) {
    if (!/^ *(\.\.|__) /.test(line)) continue
    const [, quoted, plain = quoted, url = ''] = targetLine.exec(line) ?? []
    if (plain && plain !== '_' && isAbsoluteUrl(url))
      named.add(normalizeReference(plain.replaceAll(/\\(.)/g, '$1')))
    const address = anonymousLine.exec(line)?.[1]
    if (address) anonymous.push(address)
    const [, name, picture = ''] = pictureLine.exec(line) ?? []
    if (name && isAbsoluteUrl(picture)) pictures.add(normalizeReference(name))
  }
  const longest = [...named].reduce((max, { length }) => Math.max(max, length), 0)
  return { named, longest: Math.min(longest, 100), pictures, anonymous }
}

/** `isMarked`: what looks like an item inside a paragraph is one. */
function blocks(
  lines: readonly string[],
  document: Document,
  depth: number,
  isMarked: boolean,
): string[] {
  const out: string[] = []
  const add = (made: readonly string[]) => {
    for (const line of made) out.push(line)
  }
  const inline = (text: string) => inlineToMarkdown(text, document.links)
  const fenceAt = fencesOf(lines)
  const apart = () => {
    if (out.length > 0 && !isBlank(out.at(-1))) out.push('')
  }
  /** The end of what is indented from here on; blank lines behind it do not belong to it. */
  const indentedTo = (from: number) => {
    let end = from
    for (
      let to = from;
      to < lines.length && (isBlank(lines[to]) || indentOf(lines[to] as string) > 0);
      to++
    )
      if (!isBlank(lines[to])) end = to + 1
    return end
  }
  const numbers = { next: 1 }
  let isAfterItem = false
  let at = 0
  while (at < lines.length) {
    const line = lines[at] as string
    const wasAfterItem: boolean = isAfterItem
    isAfterItem = false
    if (isBlank(line)) {
      out.push(depth === 0 ? line : '')
      at++
      if (!/^( *$|[-*+•‣●▪#(]|\d|[a-z][.)]| )/i.test(lines[at] ?? '')) numbers.next = 1
    } else if (line.startsWith(' ')) at = indented(at)
    else if (depth > deepest) at = paragraph(at, false)
    else if (
      /^\.\.( |$)/.test(line) &&
      (at === 0 || isBlank(lines[at - 1]) || /^( |\.\.|__)/.test(lines[at - 1] as string))
    )
      at = explicit(at)
    else if (isAbsoluteUrl(anonymousLine.exec(line)?.[1] ?? '')) at++
    else if (fenceAt(at) !== undefined) at = verbatim(at, (fenceAt(at) as number) + 1)
    else if (isUnderline(line, lines[at + 1])) at = title(at + 1, '')
    else if (underlineOf(line)) at = rule(at)
    else if (/^\+[-=][-=+]+\+ *$/.test(line) || /^=+( +=+)+ *$/.test(line)) at = table(at)
    else if (/^>>> /.test(line)) at = code(at, paragraphEnd(at), '')
    else if (/^\|( |$)/.test(line)) at = lineBlock(at)
    else if (/^:[a-z][^:`]{0,60}: +[^`\s]/i.test(line)) at = fields(at)
    else {
      const item = listItemAt(lines, at, false, numbers)
      if (item) {
        at = listItem(at, item)
        isAfterItem = true
      } else {
        at = paragraph(at, wasAfterItem)
        isAfterItem = wasAfterItem
      }
    }
  }
  return out

  function verbatim(from: number, end: number): number {
    add(lines.slice(from, end))
    return end
  }

  function code(from: number, end: number, language: string): number {
    apart()
    fenced(lines.slice(from, end), language)
    return end
  }

  function fenced(made: readonly string[], language: string): void {
    const inside = trimBlankLines(made)
    if (inside.length === 0) return
    const margin = leastIndent(inside)
    const fence = '`'.repeat(
      inside.reduce((max, it) => Math.max(max, /^ *(`{3,})/.exec(it)?.[1]?.length ?? 0), 2) + 1,
    )
    add([fence + language, ...inside.map((it) => it.slice(margin)), fence])
  }

  function indented(from: number): number {
    const end = indentedTo(from)
    const inside = lines.slice(from, end)
    const margin = leastIndent(inside)
    const moved = inside.map((it) => it.slice(margin))
    const isText = end === from + 1 && end < lines.length && !isBlank(lines[end])
    if (depth > deepest || isText) {
      // One indented line before others begins a paragraph, as in books.
      add(
        inline(
          moved
            .map(
              (it, index) =>
                (index === 0 && margin < 4 ? ' '.repeat(margin) : '') +
                escapeLineStart(it.trim(), true),
            )
            .join('\n'),
        ).split('\n'),
      )
      return end
    }
    // A list is no quotation, however far it is from the margin; and one or two spaces are there by
    // chance.
    const isMoved =
      margin < 3 ||
      listItemAt(moved, 0, false, { next: 1 }) !== undefined ||
      /^(\.\. |\||::\s*$)/.test(moved[0] ?? '')
    const inner = blocks(moved, document, depth + 1, isMarked)
    if (isMoved) add(inner.map((it) => (it === '' ? '' : ' '.repeat(margin < 4 ? margin : 0) + it)))
    else {
      apart()
      add(
        inner
          .filter((it, index) => it !== '' || inner[index - 1] !== '')
          .map((it) => (it === '' ? '>' : `> ${it}`)),
      )
      if (end < lines.length && !isBlank(lines[end])) out.push('')
    }
    return end
  }

  function listItem(from: number, { marker, width, content }: ListItem): number {
    const end = Math.max(indentedTo(from + 1), from + 1)
    const first = (lines[from] as string).slice(width)
    if (end === from + 1 && /^[a-z]{2,}.*[^:]$/i.test(first)) {
      out.push(marker + inline(first))
      return end
    }
    const inside = [
      first,
      ...lines.slice(from + 1, end).map((it) => it.slice(Math.min(width, indentOf(it)))),
    ]
    // Programs that write lists put two spaces after the sign, and wrap lines wherever a hyphen may
    // be; people put one, and mean a list.
    const inner = blocks(inside, document, depth + 1, /^\S+ $/.test(marker))
    add(
      inner.map((it, index) =>
        index === 0 ? marker + it : it === '' ? '' : ' '.repeat(content) + it,
      ),
    )
    return end
  }

  function title(under: number, over: string): number {
    const { sign } = underlineOf(lines[under]) as { sign: string }
    const style = over + sign
    const { levels } = document
    // A hyphen is the second level in Markdown: where it comes first, the first one is left out.
    if (levels.length === 0 && style === '-') levels.push('')
    if (!levels.includes(style) && levels.length < 6) levels.push(style)
    const level = levels.includes(style) ? levels.indexOf(style) + 1 : 6
    const text = inline((lines[under - 1] as string).trim())
    // Markdown writes the two upper levels in the same way, but for titles that look like an item
    // of a list.
    const isSame = style === ['=', '-'][level - 1] && !/^([-+*>#|]|\d+[.)])/.test(text)
    if (isSame) out.push(text, (lines[under] as string).trimEnd())
    else out.push(`${'#'.repeat(level)} ${text}`)
    return under + 1
  }

  function rule(from: number): number {
    const { sign, length } = underlineOf(lines[from]) as { sign: string; length: number }
    const over = lines[from + 1]
    if (
      length >= 3 &&
      !isBlank(over) &&
      underlineOf(lines[from + 2])?.sign === sign &&
      (underlineOf(lines[from + 2])?.length ?? 0) >= 3 &&
      !underlineOf(over)
    )
      return title(from + 2, sign)
    if (length < (/[-_*]/.test(sign) ? 3 : 4)) return paragraph(from, false)
    apart()
    out.push(/[-_*]/.test(sign) ? (lines[from] as string) : '---')
    return from + 1
  }

  function table(from: number): number {
    const isGrid = lines[from]?.startsWith('+')
    let end = paragraphEnd(from)
    // In the other kind, blank lines may stand between the rows; the last line is like the first
    // one.
    if (!isGrid)
      for (let to = from + 2; to < Math.min(lines.length, from + 200); to++)
        if (/^=+( +=+)* *$/.test(lines[to] ?? '') && isBlank(lines[to + 1])) {
          end = to + 1
          break
        }
    return code(from, end, '')
  }

  function lineBlock(from: number): number {
    let end = from + 1
    while (end < lines.length && !isBlank(lines[end]) && /^[| ]/.test(lines[end] as string)) end++
    if (/^\|?[\s:|-]+\|$/.test(lines[from + 1] ?? '') && lines[from + 1]?.includes('-'))
      return verbatim(from, end)
    const said: string[] = []
    for (const it of lines.slice(from, end))
      if (it.startsWith('|'))
        said.push(
          isBullet(it.slice(1).trim()) ? it.slice(1).trim() : escapeLineStart(it.slice(1).trim()),
        )
      else said.push(`${said.pop()}\n${isBullet(said.at(-1)) ? '  ' : ''}${it.trim()}`)
    const breaks = (place: number) =>
      said[place] !== '' && said[place + 1] && !isBullet(said[place + 1])
    add(said.flatMap((it, index) => (inline(it) + (breaks(index) ? '\\' : '')).split('\n')))
    return end
  }

  function fields(from: number): number {
    let end = from + 1
    while (
      end < lines.length &&
      !isBlank(lines[end]) &&
      /^( |:[a-z][^:`]{0,60}: +[^`\s])/i.test(lines[end] as string)
    )
      end++
    const said = lines
      .slice(from, end)
      .map((it) =>
        inline(
          it.trim().replace(/^:([^:`]{1,61}):/, (_, name) => `**${name.replaceAll('*', '\\*')}:**`),
        ),
      )
    add(said.map((it, index) => (said[index + 1]?.startsWith('**') ? `${it}\\` : it)))
    return end
  }

  function explicit(from: number): number {
    const line = lines[from] as string
    // Two points alone end what stands before them.
    if (line.trim() === '..' && isBlank(lines[from + 1])) return from + 1
    const end = Math.max(indentedTo(from + 1), from + 1)
    const rest = lines.slice(from + 1, end)
    if (anonymousLine.test(line)) return end
    const target = targetLine.exec(line)
    if (target) return link(target, end)
    const [, footnote, note = ''] = /^\.\. (\[[^\]]{1,50}\])(?: +(.*))?$/.exec(line) ?? []
    if (footnote) {
      add(blocks([`${footnote} ${note}`, ...dedent(rest)], document, depth + 1, false))
      return end
    }
    // Often one colon of the two is missing.
    const [, substituted, name, argument = ''] =
      /^\.\. (?:\|([^|]+)\| )?([\w-]+(?::[\w-]+)?)(?:::|(?<=code|code-block):)(?: +(.*))?$/.exec(
        line,
      ) ?? []
    if (name) directive(name.toLowerCase(), argument.trim(), rest, substituted)
    // Anything else is a comment, and readers were not meant to see it.
    return end
  }

  function link(
    [, quoted, plain = quoted, url = '']: readonly (string | undefined)[],
    end: number,
  ): number {
    const name = (plain ?? '').replaceAll(/\\(.)/g, '$1')
    if (isAbsoluteUrl(url)) out.push(`[${markdownLabel(name)}]: ${linkDestination(url)}`)
    else if (url) out.push(`${markdownLabel(name)}: ${markdownLabel(url)}`)
    return end
  }

  function directive(
    name: string,
    argument: string,
    rest: readonly string[],
    substituted: string | undefined,
  ): void {
    const options = new Map<string, string>()
    const all = dedent(rest)
    let from = 0
    for (; /^:[\w-]+:/.test(all[from] ?? ''); from++) {
      const [, option = '', value = ''] = /^:([\w-]+): *(.*)$/.exec(all[from] as string) ?? []
      options.set(option, value)
    }
    const body = trimBlankLines(all.slice(from))
    if (name === 'image' || name === 'figure') {
      const alternative = markdownLabel(options.get('alt') ?? '')
      if (substituted && isAbsoluteUrl(argument))
        out.push(`[${markdownLabel(substituted)}]: ${linkDestination(argument)}`)
      else if (isAbsoluteUrl(argument)) out.push(`![${alternative}](${linkDestination(argument)})`)
      else if (argument) out.push(`${alternative} (${markdownLabel(argument)})`.trim())
    } else if (
      /^(code|code-block|sourcecode|literalinclude|raw|math|parsed-literal|highlight)$/.test(name)
    ) {
      apart()
      fenced(
        body.length > 0 ? body : argument && name === 'math' ? [argument] : [],
        body.length > 0 && /^[\w+-]+$/.test(argument) ? argument : '',
      )
      return
    } else if (/^(contents|sectnum|class|meta|role|default-role|highlight|include)$/.test(name))
      return
    else {
      const heading =
        /^(note|tip|hint|important|warning|caution|danger|attention|error|seealso)$/.test(name)
          ? `**${capital(name)}:** `
          : ''
      if (heading || argument) out.push((heading + inline(argument)).trimEnd())
    }
    if (body.length === 0) return
    apart()
    add(blocks(body, document, depth + 1, false))
  }

  function paragraphEnd(from: number): number {
    let end = from + 1
    while (end < lines.length && !isBlank(lines[end])) end++
    return end
  }

  function paragraph(from: number, isInList: boolean): number {
    let end = from + 1
    while (end < lines.length && !isBlank(lines[end]) && !endsText(end)) end++
    const said = lines.slice(from, end)
    const last = said.at(-1)?.trimEnd() ?? ''
    const next = nextText(end)
    const isLiteral = last.endsWith('::') && next?.startsWith(' ') && isBlank(lines[end])
    if (isLiteral)
      said[said.length - 1] = / ::$|^::$/.test(last)
        ? last.slice(0, -2).trimEnd()
        : last.slice(0, -1)
    // A term, and below it, indented, what it means.
    const isTerm =
      said.length > 1 &&
      !isInList &&
      indentOf(said[1] as string) >= 2 &&
      /^.{1,80}[^\\]$/.test(said[0] as string)
    const escaped = said.map((it, index) =>
      it.startsWith(' ') && isTerm
        ? escapeLineStart(it.trim())
        : escapeLineStart(
            it,
            index > 0 && !(it.startsWith('>') && said[index - 1]?.startsWith('>')),
          ),
    )
    if (isTerm) escaped[0] = `${escaped[0]?.trimEnd()}\\`
    const text = inline(escaped.join('\n'))
    if (text !== '') add(text.split('\n'))
    if (!isLiteral) return end
    const to = indentedTo(end)
    return code(end, to, '')

    function endsText(place: number): boolean {
      const line = lines[place] as string
      const rule = underlineOf(line)
      if (rule && rule.length >= 3 && /[-=]/.test(rule.sign)) return true
      if (fenceAt(place) !== undefined) return true
      if (line.startsWith(' '))
        return listItemAt([line.trimStart()], 0, false, { next: 1 }) !== undefined
      return listItemAt(lines, place, !isInList && !isMarked, { next: 1 }) !== undefined
    }
  }

  function nextText(from: number): string | undefined {
    for (let to = from; to < lines.length; to++) if (!isBlank(lines[to])) return lines[to]
    return undefined
  }
}

const capital = (word: string) => (word[0] ?? '').toUpperCase() + word.slice(1)
