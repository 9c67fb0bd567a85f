// Converts the markup within a paragraph from reStructuredText to Markdown: links, code, emphasis,
// and characters that have a meaning in only one of the two. The text is read once from left to
// right, with an index of the backticks, so that the time is linear.

/** Link targets and pictures that are defined elsewhere in the text. */
export interface LinkTargets {
  /**
   * Names with a URL, as returned by `normalizeReference`. They are converted to `[name]`, whose
   * definition the caller writes.
   */
  readonly named: ReadonlySet<string>
  /** Length of the longest name, at most 100. */
  readonly longest: number
  /** Names of pictures, likewise. They are converted to `![name]`. */
  readonly pictures: ReadonlySet<string>
  /** URLs of anonymous references (`text`__), in the order of their use. Each use removes one. */
  readonly anonymous: string[]
}

/**
 * Converts a paragraph. If it is already Markdown, asterisks and underscores are not escaped,
 * because its author meant the markup; names such as `__init__` are. Removes the URLs that it uses
 * from `links.anonymous`.
 */
export function inlineToMarkdown(text: string, links: LinkTargets, isMarkdown = false): string {
  return new InlineConverter(text, links, isMarkdown, false).convert()
}

/** Normalizes the name of a reference: white space and case do not matter. */
export function normalizeReference(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().toLowerCase()
}

/** Escapes a text for the label of a Markdown link. */
export function markdownLabel(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1').replaceAll(/[[\]\\<`*_]/g, '\\$&')
}

/** Tells whether a URL is absolute. Relative ones refer to the site that the text comes from. */
export function isAbsoluteUrl(url: string): boolean {
  return /^(https?:\/\/|ftp:\/\/|mailto:)[^\s<>]+$/i.test(url)
}

/** Adds angle brackets to the destination of a link if it contains parentheses. */
export function linkDestination(url: string): string {
  return /[()]/.test(url) ? `<${url}>` : url
}

/** A run of asterisks or underscores. */
interface Run {
  /** Index in the output parts. */
  readonly part: number
  readonly sign: string
  readonly before: string
  readonly after: string
  /** Whether it delimits an emphasis, so that it is not escaped. */
  isEmphasis: boolean
}

const special = /[\\`*_<|[\]]|https?:\/\//g

/** Matches a sticky pattern at an offset. */
function matchAt(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset
  return pattern.exec(text)?.[0]
}

/**
 * Converts one paragraph from left to right. Each `take` method converts the markup at the current
 * offset and returns its length in the source.
 */
class InlineConverter {
  private readonly text: string
  private readonly links: LinkTargets
  private readonly isMarkdown: boolean
  /** Whether the text is the label of a link, which must not contain links. */
  private readonly isLabel: boolean
  private readonly ticks: Map<number, Tick>
  private readonly parts: string[] = []
  private readonly runs: Run[] = []
  private offset = 0

  constructor(text: string, links: LinkTargets, isMarkdown: boolean, isLabel: boolean) {
    this.text = text
    this.links = links
    this.isMarkdown = isMarkdown
    this.isLabel = isLabel
    this.ticks = findBackticks(text)
  }

  convert(): string {
    const { text, parts } = this
    for (;;) {
      special.lastIndex = this.offset
      const match = special.exec(text)
      if (!match) break
      if (match.index > this.offset) parts.push(text.slice(this.offset, match.index))
      this.offset = match.index
      this.offset += this.take(match[0])
    }
    if (this.offset < text.length) parts.push(text.slice(this.offset))
    if (!this.isMarkdown) escapeStray(parts, this.runs)
    return parts.join('')
  }

  private take(sign: string): number {
    if (sign === '\\') return this.takeBackslash()
    if (sign === '`') return this.takeBackticks()
    if (sign === '*' || sign === '_') return this.takeRun(sign)
    if (sign === '<') return this.takeAngle()
    if (sign === '|') return this.takePicture()
    if (sign === '[' || sign === ']') return this.put(this.isLabel ? `\\${sign}` : sign, 1)
    return this.takeUrl()
  }

  /** Writes Markdown for markup of a length in the source. */
  private put(part: string, length: number): number {
    this.parts.push(part)
    return length
  }

  // A backslash before punctuation means the same in both languages. Before a space it is removed
  // if it separates markup; before a letter it stays.
  private takeBackslash(): number {
    const { text, offset } = this
    const next = text[offset + 1] ?? ''
    const separatesMarkup =
      /[`*_|]/.test(text[offset - 1] ?? '') || /[`*|:]/.test(text[offset + 2] ?? '')
    if (next === ' ' && !this.isMarkdown && separatesMarkup) return 2
    return this.put(text.slice(offset, offset + 2), next === '' ? 1 : 2)
  }

  private takeBackticks(): number {
    const { text, offset } = this
    const tick = this.ticks.get(offset)
    if (!tick) return this.put('`', 1)
    const { length, same } = tick
    const end = this.referenceEnd(tick)
    if (end !== undefined && !this.isLabel) {
      const link = this.reference(text.slice(offset + 1, end), end)
      if (link) return this.put(link.markdown, link.end - offset)
    }
    if (same === undefined) return this.put('`'.repeat(length), length)
    if (length === 1) this.dropRole()
    return this.put(text.slice(offset, same + length), same + length - offset)
  }

  /** Returns the offset of the backtick that would end a reference. */
  private referenceEnd({ length, same, pair }: Tick): number | undefined {
    // Three backticks start a link whose text begins with code: one for the link, two for the code.
    if (length === 3) return this.ticks.get(pair ?? -1)?.single
    return length === 1 ? same : undefined
  }

  private reference(content: string, end: number): { markdown: string; end: number } | undefined {
    const { text, links } = this
    if (text[end + 1] !== '_') return undefined
    const isAnonymous = text[end + 2] === '_'
    const after = end + (isAnonymous ? 3 : 2)
    if (isWord(text[after] ?? '')) return undefined
    const open = content.endsWith('>') ? content.lastIndexOf('<') : -1
    if (open >= 0)
      return {
        markdown: this.linkTo(content.slice(0, open).trim(), content.slice(open + 1, -1)),
        end: after,
      }
    const url = isAnonymous ? links.anonymous.shift() : undefined
    if (url !== undefined) return { markdown: this.linkTo(content, url), end: after }
    if (!isAnonymous && links.named.has(normalizeReference(content)))
      return { markdown: `[${markdownLabel(content)}]`, end: after }
    return { markdown: `\`${content}\``, end: after }
  }

  private linkTo(linkText: string, address: string): string {
    const url = address.replaceAll(/\s+/g, '').replaceAll(/\\(.)/g, '$1')
    const label = new InlineConverter(linkText, this.links, this.isMarkdown, true).convert()
    if (!isAbsoluteUrl(url))
      return label === '' ? markdownLabel(url) : `${label} (${markdownLabel(url)})`
    return label === '' || linkText.replaceAll(/\s+/g, '').replaceAll(/\\(.)/g, '$1') === url
      ? `<${url}>`
      : `[${label}](${linkDestination(url)})`
  }

  /** Removes a role such as `:math:` before the backtick, which has no equivalent in Markdown. */
  private dropRole(): void {
    const before = this.text.slice(Math.max(0, this.offset - 34), this.offset)
    const role = /(?:^|[\s('"])(:[a-z][a-z:+.-]{0,30}:)$/i.exec(before)?.[1]
    if (role) this.dropLast(role.length)
  }

  /** Removes characters from the end of the output. */
  private dropLast(length: number): void {
    const { parts, runs } = this
    for (let left = length; left > 0; ) {
      const last = parts.pop() ?? ''
      if (last === '') return
      if (last.length > left) parts.push(last.slice(0, last.length - left))
      left -= last.length
    }
    while ((runs.at(-1)?.part ?? -1) >= parts.length) runs.pop()
  }

  private takeRun(sign: '*' | '_'): number {
    const { text, offset } = this
    let end = offset + 1
    while (text[end] === sign) end++
    const [before, after] = [text[offset - 1] ?? ' ', text[end] ?? ' ']
    if (sign === '_') {
      const length = this.takeFootnoteOrName(before, after, end - offset)
      if (length !== undefined) return length
    }
    this.runs.push({ part: this.parts.length, sign, before, after, isEmphasis: false })
    return this.put(text.slice(offset, end), end - offset)
  }

  private takeFootnoteOrName(before: string, after: string, length: number): number | undefined {
    const { text, links, offset } = this
    const dunder =
      this.isMarkdown && length === 2 && !isWord(before)
        ? matchAt(/__[a-z0-9]+(?:_[a-z0-9]+)*__(?!\w)/iy, text, offset)
        : undefined
    if (dunder) return this.put(dunder.replaceAll('_', '\\_'), dunder.length)
    if (length > 1 || isWord(after)) return undefined
    const footnote = /\[(#?[\w-]{0,30}|\*)\]$/
    if (before === ']' && footnote.test(text.slice(Math.max(0, offset - 34), offset))) return 1
    if (links.named.size === 0 || this.isLabel) return undefined
    let from = offset
    while (from > offset - links.longest - 1 && /[\p{L}\p{N}\-._+:]/u.test(text[from - 1] ?? ''))
      from--
    const name = text.slice(from, offset)
    if (!links.named.has(normalizeReference(name))) return undefined
    this.dropLast(name.length)
    return this.put(`[${markdownLabel(name)}]`, 1)
  }

  private takeAngle(): number {
    const { text, offset } = this
    const autolink = matchAt(/<(?:https?:\/\/|mailto:)[^\s<>]+>|<[\w.+-]+@[\w.-]+>/iy, text, offset)
    if (autolink && !this.isLabel) return this.put(autolink, autolink.length)
    return this.put(/[a-z/!?]/i.test(text[offset + 1] ?? '') ? '\\<' : '<', 1)
  }

  private takePicture(): number {
    const { pictures } = this.links
    const source =
      pictures.size > 0
        ? matchAt(/\|[^|\s][^|\n]{0,98}\|_{0,2}/y, this.text, this.offset)
        : undefined
    const name = source?.slice(1, source.lastIndexOf('|'))
    if (source && name && pictures.has(normalizeReference(name)))
      return this.put(`![${markdownLabel(name)}]`, source.length)
    return this.put('|', 1)
  }

  // A URL stays as it is. If an underscore in it would delimit an emphasis, it gets angle brackets.
  private takeUrl(): number {
    const { text, offset } = this
    let end = offset + (matchAt(/https?:\/\/[^\s<>`*|"\]]*/y, text, offset)?.length ?? 1)
    const isDestination = /\]\(<?$|\]:\s{0,3}$/.test(text.slice(Math.max(0, offset - 5), offset))
    if (this.isMarkdown || this.isLabel || isDestination)
      return this.put(text.slice(offset, end), end - offset)
    const hasParenthesis = text.slice(offset, end).includes('(')
    while (/[.,;:!?'"}_\\]/.test(text[end - 1] ?? '') || (!hasParenthesis && text[end - 1] === ')'))
      end--
    const source = text.slice(offset, end)
    const url = source.replaceAll(/\\([_*~])/g, '$1')
    const needsBrackets = url !== source || /(?:^|[^\p{L}\p{N}_])_|_(?:$|[^\p{L}\p{N}_])/u.test(url)
    return this.put(needsBrackets && /^https?:\/\/./.test(url) ? `<${url}>` : source, end - offset)
  }
}

/** A run of backticks. */
interface Tick {
  readonly length: number
  /** Offsets of the next run of the same length, of length two and of length one. */
  readonly same: number | undefined
  readonly pair: number | undefined
  readonly single: number | undefined
}

/** Indexes the runs of backticks by their offset. */
function findBackticks(text: string): Map<number, Tick> {
  const matches = [...text.matchAll(/\\[^`]|\\`+|`+/g)].filter(([run]) => run.startsWith('`'))
  const next = new Map<number, number>()
  const ticks = new Map<number, Tick>()
  for (const { 0: run, index } of matches.reverse()) {
    const { length } = run
    ticks.set(index, { length, same: next.get(length), pair: next.get(2), single: next.get(1) })
    next.set(length, index)
  }
  return ticks
}

const isWord = (sign: string) => /[\p{L}\p{N}_]/u.test(sign)
const isSpace = (sign: string) => /\s/.test(sign)
const isPunctuation = (sign: string) => /[\p{P}\p{S}]/u.test(sign)
// Scripts without spaces between words, in which markup may adjoin a letter.
const isOuter = (sign: string) =>
  !/[\p{L}\p{N}]/u.test(sign) || /[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(sign)
const closing = new Map(
  [...'()[]{}<>\'\'""'].flatMap((sign, index, all) => (index % 2 ? [] : [[sign, all[index + 1]]])),
)

/**
 * Escapes asterisks and underscores that are no emphasis, if Markdown would take two of them for
 * one.
 */
function escapeStray(parts: string[], runs: readonly Run[]): void {
  const asterisks = runs.filter(({ sign }) => sign === '*')
  const underscores = runs.filter(({ sign }) => sign === '_')
  markEmphasis(asterisks, parts)
  markUnderscoreEmphasis(underscores, parts)
  for (const all of [asterisks, underscores]) {
    const first = all.findIndex((run) => !run.isEmphasis && canOpen(run))
    const firstAny = all.findIndex(canOpen)
    const last = all.findLastIndex((run) => !run.isEmphasis && canClose(run))
    const lastAny = all.findLastIndex(canClose)
    const isPair = (open: number, close: number) => open >= 0 && close > open
    if (!isPair(first, lastAny) && !isPair(firstAny, last)) continue
    for (const run of all)
      if (!run.isEmphasis && (canOpen(run) || canClose(run)))
        parts[run.part] = (parts[run.part] ?? '').replaceAll(run.sign, `\\${run.sign}`)
  }
}

function markEmphasis(runs: readonly Run[], parts: readonly string[]): void {
  const open = new Map<number, Run>()
  for (const run of runs) {
    const length = parts[run.part]?.length ?? 0
    const start = open.get(length)
    if (start && !isSpace(run.before) && isOuter(run.after)) {
      start.isEmphasis = run.isEmphasis = true
      // Runs that were opened inside cannot be closed outside.
      for (const [other, { part }] of open) if (part >= start.part) open.delete(other)
    } else if (
      !start &&
      length <= 3 &&
      !isSpace(run.after) &&
      isOuter(run.before) &&
      closing.get(run.before) !== run.after
    )
      open.set(length, run)
  }
}

/** Marks _emphasis_ with underscores, which only Markdown has but authors mean as such. */
function markUnderscoreEmphasis(runs: readonly Run[], parts: readonly string[]): void {
  for (const [index, run] of runs.entries()) {
    const next = runs[index + 1]
    if (!next || run.isEmphasis || parts[run.part] !== '_' || parts[next.part] !== '_') continue
    run.isEmphasis = next.isEmphasis =
      canOpen(run) && isOuter(run.before) && canClose(next) && isOuter(next.after)
  }
}

// Left- and right-flanking delimiter runs, as defined by CommonMark.
const isLeft = ({ before, after }: Run) =>
  !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
const isRight = ({ before, after }: Run) =>
  !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
const canOpen = (run: Run) =>
  isLeft(run) && (run.sign === '*' || !isRight(run) || isPunctuation(run.before))
const canClose = (run: Run) =>
  isRight(run) && (run.sign === '*' || !isLeft(run) || isPunctuation(run.after))
