// What stands inside a paragraph: links, code, emphasis, and the signs that mean something in one
// of the two languages only. One walk from left to right, with a list of the backticks made before,
// so that no text takes longer than its length.

/** What a text points to from elsewhere in it. */
export interface LinkTargets {
  /** Names with an address, as `nameOf` writes them. */
  readonly named: ReadonlySet<string>
  /**
   * How long the longest of them is; those that are longer than anybody names entities do not
   * count.
   */
  readonly longest: number
  /** Names of pictures. */
  readonly pictures: ReadonlySet<string>
  /** Addresses of `text`__, in the order of their use. */
  readonly anonymous: string[]
}

/** `isMarkdown`: its author wrote Markdown, and meant the signs that would be escaped otherwise. */
export function inlineToMarkdown(text: string, links: LinkTargets, isMarkdown = false): string {
  return walk(text, links, isMarkdown, false)
}

/** The same name, however it was typed. */
export function normalizeReference(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().toLowerCase()
}

/** A name as Markdown takes it between brackets. */
export function markdownLabel(text: string): string {
  return text.replaceAll(/\\(.)/g, '$1').replaceAll(/[[\]\\<`*_]/g, '\\$&')
}

/**
 * An address that leads somewhere from any page. Others were meant for the site that the text comes
 * from.
 */
export function isAbsoluteUrl(url: string): boolean {
  return /^(https?:\/\/|ftp:\/\/|mailto:)[^\s<>]+$/i.test(url)
}

/** `(address)`, or with brackets where the address has parentheses itself. */
export function linkDestination(url: string): string {
  return /[()]/.test(url) ? `<${url}>` : url
}

interface Run {
  /** Its place among the pieces. */
  readonly piece: number
  readonly sign: string
  readonly before: string
  readonly after: string
  isMeant: boolean
}

const special = /[\\`*_<|[\]]|https?:\/\//g
const place = (pattern: RegExp, text: string, at: number) => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function walk(text: string, links: LinkTargets, isMarkdown: boolean, isLabel: boolean): string {
  const ticks = backticks(text)
  const pieces: string[] = []
  const runs: Run[] = []
  let at = 0
  for (;;) {
    special.lastIndex = at
    const found = special.exec(text)
    if (!found) break
    if (found.index > at) pieces.push(text.slice(at, found.index))
    at = found.index
    at += take(found[0])
  }
  if (at < text.length) pieces.push(text.slice(at))
  if (!isMarkdown) escapeStray(pieces, runs)
  return pieces.join('')

  /** Writes what begins here, and tells how long it was. */
  function take(sign: string): number {
    if (sign === '\\') return takeBackslash()
    if (sign === '`') return takeBackticks()
    if (sign === '*' || sign === '_') return takeRun(sign)
    if (sign === '<') return takeAngle()
    if (sign === '|') return takePicture()
    if (sign === '[' || sign === ']') return put(isLabel ? `\\${sign}` : sign, 1)
    return takeAddress()
  }

  function put(piece: string, length: number): number {
    pieces.push(piece)
    return length
  }

  // A backslash before a sign means the same in both. Before a space it is nothing, if it is there
  // to separate; before a letter it is itself.
  function takeBackslash(): number {
    const next = text[at + 1] ?? ''
    if (
      next === ' ' &&
      !isMarkdown &&
      (/[`*_|]/.test(text[at - 1] ?? '') || /[`*|:]/.test(text[at + 2] ?? ''))
    )
      return 2
    return put(text.slice(at, at + 2), next === '' ? 1 : 2)
  }

  function takeBackticks(): number {
    const tick = ticks.get(at)
    if (!tick) return put('`', 1)
    const { length, same } = tick
    // A link whose text begins with code has three of them: one for the link, and two for the code.
    const end = length === 3 ? ticks.get(tick.pair ?? -1)?.single : length === 1 ? same : undefined
    if (end !== undefined && !isLabel) {
      const link = reference(text.slice(at + 1, end), end)
      if (link) return put(link.markdown, link.end - at)
    }
    if (same === undefined) return put('`'.repeat(length), length)
    if (length === 1) dropRole()
    return put(text.slice(at, same + length), same + length - at)
  }

  function reference(inside: string, end: number): { markdown: string; end: number } | undefined {
    if (text[end + 1] !== '_') return undefined
    const isAnonymous = text[end + 2] === '_'
    const after = end + (isAnonymous ? 3 : 2)
    if (isWord(text[after] ?? '')) return undefined
    const open = inside.endsWith('>') ? inside.lastIndexOf('<') : -1
    if (open >= 0)
      return {
        markdown: linkTo(inside.slice(0, open).trim(), inside.slice(open + 1, -1)),
        end: after,
      }
    const url = isAnonymous ? links.anonymous.shift() : undefined
    if (url !== undefined) return { markdown: linkTo(inside, url), end: after }
    if (!isAnonymous && links.named.has(normalizeReference(inside)))
      return { markdown: `[${markdownLabel(inside)}]`, end: after }
    return { markdown: `\`${inside}\``, end: after }
  }

  function linkTo(said: string, address: string): string {
    const url = address.replaceAll(/\s+/g, '').replaceAll(/\\(.)/g, '$1')
    const label = walk(said, links, isMarkdown, true)
    if (!isAbsoluteUrl(url))
      return label === '' ? markdownLabel(url) : `${label} (${markdownLabel(url)})`
    return label === '' || said.replaceAll(/\s+/g, '').replaceAll(/\\(.)/g, '$1') === url
      ? `<${url}>`
      : `[${label}](${linkDestination(url)})`
  }

  /** `:math:` before the backtick says what the text is; the text itself says enough. */
  function dropRole(): void {
    const role = /(?:^|[\s('"])(:[a-z][a-z:+.-]{0,30}:)$/i.exec(
      text.slice(Math.max(0, at - 34), at),
    )?.[1]
    if (role) dropLast(role.length)
  }

  function dropLast(length: number): void {
    for (let left = length; left > 0; ) {
      const last = pieces.pop() ?? ''
      if (last === '') return
      if (last.length > left) pieces.push(last.slice(0, last.length - left))
      left -= last.length
    }
    while ((runs.at(-1)?.piece ?? -1) >= pieces.length) runs.pop()
  }

  function takeRun(sign: '*' | '_'): number {
    let end = at + 1
    while (text[end] === sign) end++
    const [before, after] = [text[at - 1] ?? ' ', text[end] ?? ' ']
    if (sign === '_') {
      const special = footnoteOrName(before, after, end - at)
      if (special !== undefined) return special
    }
    runs.push({ piece: pieces.length, sign, before, after, isMeant: false })
    return put(text.slice(at, end), end - at)
  }

  function footnoteOrName(before: string, after: string, length: number): number | undefined {
    const dunder =
      isMarkdown && length === 2 && !isWord(before)
        ? place(/__[a-z0-9]+(?:_[a-z0-9]+)*__(?!\w)/iy, text, at)
        : undefined
    if (dunder) return put(dunder.replaceAll('_', '\\_'), dunder.length)
    if (length > 1 || isWord(after)) return undefined
    if (before === ']' && /\[(#?[\w-]{0,30}|\*)\]$/.test(text.slice(Math.max(0, at - 34), at)))
      return 1
    if (links.named.size === 0 || isLabel) return undefined
    let from = at
    while (from > at - links.longest - 1 && /[\p{L}\p{N}\-._+:]/u.test(text[from - 1] ?? '')) from--
    const name = text.slice(from, at)
    if (!links.named.has(normalizeReference(name))) return undefined
    dropLast(name.length)
    return put(`[${markdownLabel(name)}]`, 1)
  }

  function takeAngle(): number {
    const address = place(/<(?:https?:\/\/|mailto:)[^\s<>]+>|<[\w.+-]+@[\w.-]+>/iy, text, at)
    if (address && !isLabel) return put(address, address.length)
    return put(/[a-z/!?]/i.test(text[at + 1] ?? '') ? '\\<' : '<', 1)
  }

  function takePicture(): number {
    const name =
      links.pictures.size > 0 ? place(/\|[^|\s][^|\n]{0,98}\|_{0,2}/y, text, at) : undefined
    const inside = name?.slice(1, name.lastIndexOf('|'))
    if (name && inside && links.pictures.has(normalizeReference(inside)))
      return put(`![${markdownLabel(inside)}]`, name.length)
    return put('|', 1)
  }

  // An address goes out as it is. Where an underscore in it would begin or end an emphasis, it is
  // put in brackets.
  function takeAddress(): number {
    let end = at + (place(/https?:\/\/[^\s<>`*|"\]]*/y, text, at)?.length ?? 1)
    if (isMarkdown || isLabel || /\]\(<?$|\]:\s{0,3}$/.test(text.slice(Math.max(0, at - 5), at)))
      return put(text.slice(at, end), end - at)
    const isOpen = text.slice(at, end).includes('(')
    while (/[.,;:!?'"}_\\]/.test(text[end - 1] ?? '') || (!isOpen && text[end - 1] === ')')) end--
    const raw = text.slice(at, end)
    const url = raw.replaceAll(/\\([_*~])/g, '$1')
    const isOdd = url !== raw || /(?:^|[^\p{L}\p{N}_])_|_(?:$|[^\p{L}\p{N}_])/u.test(url)
    return put(isOdd && /^https?:\/\/./.test(url) ? `<${url}>` : raw, end - at)
  }
}

interface Tick {
  readonly length: number
  /** Where the next ones of the same number are, the next two, and the next single one. */
  readonly same: number | undefined
  readonly pair: number | undefined
  readonly single: number | undefined
}

function backticks(text: string): Map<number, Tick> {
  const found = [...text.matchAll(/\\[^`]|\\`+|`+/g)].filter(([it]) => it.startsWith('`'))
  const next = new Map<number, number>()
  const ticks = new Map<number, Tick>()
  for (const { 0: it, index } of found.reverse()) {
    ticks.set(index, {
      length: it.length,
      same: next.get(it.length),
      pair: next.get(2),
      single: next.get(1),
    })
    next.set(it.length, index)
  }
  return ticks
}

const isWord = (sign: string) => /[\p{L}\p{N}_]/u.test(sign)
const isSpace = (sign: string) => /\s/.test(sign)
const isPunctuation = (sign: string) => /[\p{P}\p{S}]/u.test(sign)
// These scripts have no spaces between words, so a sign may stand next to one.
const isOuter = (sign: string) =>
  !/[\p{L}\p{N}]/u.test(sign) || /[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/.test(sign)
const closing = new Map(
  [...'()[]{}<>\'\'""'].flatMap((sign, at, all) => (at % 2 ? [] : [[sign, all[at + 1]]])),
)

/**
 * Emphasis stays; other asterisks and underscores are escaped where Markdown would take two of them
 * for one.
 */
function escapeStray(pieces: string[], runs: readonly Run[]): void {
  markEmphasis(runs.filter(({ sign }) => sign === '*'))
  // Only Markdown has this one, but nobody who writes _so_ means the signs.
  const lines = runs.filter(({ sign }) => sign === '_')
  for (const [at, run] of lines.entries()) {
    const next = lines[at + 1]
    if (!next || run.isMeant || pieces[run.piece] !== '_' || pieces[next.piece] !== '_') continue
    run.isMeant = next.isMeant =
      canOpen(run) && isOuter(run.before) && canClose(next) && isOuter(next.after)
  }
  for (const sign of ['*', '_']) {
    const all = runs.filter((run) => run.sign === sign)
    const isMeant = (run: Run) => run.isMeant
    const first = all.findIndex((run) => !isMeant(run) && canOpen(run))
    const firstAny = all.findIndex(canOpen)
    const last = all.findLastIndex((run) => !isMeant(run) && canClose(run))
    const lastAny = all.findLastIndex(canClose)
    const isPair = (open: number, close: number) => open >= 0 && close > open
    if (!isPair(first, lastAny) && !isPair(firstAny, last)) continue
    for (const run of all)
      if (!run.isMeant && (canOpen(run) || canClose(run)))
        pieces[run.piece] = (pieces[run.piece] ?? '').replaceAll(sign, `\\${sign}`)
  }

  function markEmphasis(all: readonly Run[]): void {
    const open = new Map<number, Run>()
    for (const run of all) {
      const length = pieces[run.piece]?.length ?? 0
      const began = open.get(length)
      if (began && !isSpace(run.before) && isOuter(run.after)) {
        began.isMeant = run.isMeant = true
        // What began inside of it has not ended in it.
        for (const [other, { piece }] of open) if (piece >= began.piece) open.delete(other)
      } else if (
        !began &&
        length <= 3 &&
        !isSpace(run.after) &&
        isOuter(run.before) &&
        closing.get(run.before) !== run.after
      )
        open.set(length, run)
    }
  }
}

// As CommonMark says it.
const isLeft = ({ before, after }: Run) =>
  !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
const isRight = ({ before, after }: Run) =>
  !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
const canOpen = (run: Run) =>
  isLeft(run) && (run.sign === '*' || !isRight(run) || isPunctuation(run.before))
const canClose = (run: Run) =>
  isRight(run) && (run.sign === '*' || !isLeft(run) || isPunctuation(run.after))
