import { slugify } from '../platform/slug.ts'

// Finds a name in texts, as whole words, without case and accents and however its words are joined,
// and replaces it by another one. No I/O.

/** Scripts that are written without spaces: each character counts as a word. */
const unspaced =
  '[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}]'
const letter = '[\\p{L}\\p{N}]'
/** Characters that are not visible: they may be anywhere in a word. */
const invisible = '\\u{AD}\\u{200B}\\u{2060}\\u{FEFF}'
const invisiblePattern = new RegExp(`[${invisible}]`, 'gu')
/** Spaces as HTML writes them. They are no words. */
const space = '&(?:nbsp|#160|#xa0);'
const spacePattern = new RegExp(space, 'gi')
// A word is read in pieces: an unlimited one could exceed the stack of the regular expression.
const wordPattern = new RegExp(
  `${space}|[${letter}&&${unspaced}]|` +
    `[[\\p{L}\\p{N}\\p{M}]--[${letter}&&${unspaced}]]` +
    `[[\\p{L}\\p{N}\\p{M}${invisible}]--[${letter}&&${unspaced}]]{0,255}`,
  'gv',
)
const asciiWordPattern = new RegExp(`${space}|[a-z0-9]{1,256}`, 'g')
const isUnspaced = new RegExp(`^[${letter}&&${unspaced}]$`, 'v')
const isAscii = /^[\0-\x7f]*$/
/** The length of the longest word that may belong to a name. */
const maxWordLength = 255
/** What may stand between two words of a name: "ada-lovelace", "Ada *Lovelace*", a line break. */
const separatorPattern = new RegExp(
  `^(?:[\\s\\p{Pd}_.,+'’‘ʼ"“”*~\`>${invisible}]|${space}){1,20}$`,
  'iu',
)
const paragraphPattern = /\n\s*\n/
/** Links, also without a scheme, and mail addresses. */
const urlPattern = new RegExp(
  '(?:\\b[a-z][a-z0-9+.-]{0,20}://|\\bwww\\.|\\bmailto:|(?<![\\p{L}\\p{N}:/])//[\\p{L}\\p{N}-]{1,63}\\.)' +
    '[^\\s<>"\'()[\\]{}\\\\^`|]+' +
    '|(?<![\\p{L}\\p{N}._%+-])[\\p{L}\\p{N}._%+-]{1,64}@' +
    '[\\p{L}\\p{N}-]{1,63}(?:\\.[\\p{L}\\p{N}-]{1,63}){1,9}',
  'giu',
)
/** What is decoded in URLs, because it may belong to a name. */
const decodedPattern = /^[\p{L}\p{N}\p{M}\s._-]$/u
/** Letters that have no decomposition. PostgreSQL's unaccent maps them in the same way. */
const letters: Readonly<Record<string, string>> = {
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
}
/** The most words of a name. */
const maxWords = 40
/** Longer texts are no names. */
const maxNameLength = 10_000

/** Returns a word without case and accents. Empty if it is too long for a name. */
function foldWord(word: string): string {
  if (word.length > maxWordLength) return ''
  if (isAscii.test(word)) return word.toLowerCase()
  return word
    .replaceAll(invisiblePattern, '')
    .normalize('NFKD')
    .replaceAll(/([\p{sc=Latn}\p{sc=Grek}])\p{M}+/gu, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[øđðłßæœþħıŋ]/g, (letter) => letters[letter] ?? letter)
}

/** A word of a text, with its position. */
interface Word {
  readonly start: number
  readonly end: number
  readonly folded: string
}

/** Splits a text into words, in time that is linear in its length. */
function splitWords(text: string): Word[] {
  const ascii = isAscii.test(text)
  const words: Word[] = []
  for (const { 0: piece, index: start } of ascii
    ? text.toLowerCase().matchAll(asciiWordPattern)
    : text.matchAll(wordPattern)) {
    if (piece.startsWith('&')) continue
    const end = start + piece.length
    const last = words.at(-1)
    // The next piece of a long word.
    if (last?.end === start && start - last.start > maxWordLength && !isUnspaced.test(piece))
      words[words.length - 1] = { start: last.start, end, folded: '' }
    else
      words.push({
        start,
        end,
        folded: ascii && piece.length <= maxWordLength ? piece : foldWord(piece),
      })
  }
  return words
}

/** Returns the words of a name, as they are compared. */
export function nameWords(name: string): string[] {
  return splitWords(name.slice(0, maxNameLength))
    .map(({ folded }) => folded)
    .slice(0, maxWords)
}

/** Counts the letters of a name. A character of a script without spaces counts as two. */
export function countLetters(name: string): number {
  const characters = [...nameWords(name).join('')]
  return characters.reduce((sum, character) => sum + (isUnspaced.test(character) ? 2 : 1), 0)
}

/** Returns what is equal for all spellings of a name that count as the same. */
export const nameKey = (name: string) => nameWords(name).join(' ')

export interface ReplacerOptions {
  /**
   * Returns the replacement of a name by its key, null if the name stays as it is, and undefined if
   * it is no name. New names stay: they may contain an old one.
   */
  find(key: string): string | null | undefined
  /**
   * Finds a name that is a whole value, as `find` does. If it is given, names in the lists of a JSON
   * value (speakers, tags) are replaced only as a whole: others are called similarly.
   */
  readonly findWhole?: ((key: string) => string | null | undefined) | undefined
  /** How many words the names have. */
  readonly wordCounts: readonly number[]
  /**
   * Whether names are also replaced in links to other sites, which then may no longer work: all, or
   * those with the keys for which it returns true.
   */
  readonly inLinks: boolean | ((key: string) => boolean)
  /** The URL of this archive: its own links work with any slug. */
  readonly ownUrl?: string
}

export interface NameReplacer {
  /** Replaces names in a text, and in its links only if that is wanted. */
  text(text: string): string
  /**
   * Replaces names in a text that is no link, whatever it looks like: a key, a file name. Leaves
   * single words: a key that others have too must stay the one that its source has.
   */
  label(text: string): string
  /** Replaces a name that is the whole text, also if it is written as "Lovelace, Ada". */
  name(text: string): string
  /**
   * Replaces names in all texts of a JSON value. Values of the keys in `kept` stay. Returns the same
   * value if nothing is replaced.
   */
  value<T>(value: T, kept?: ReadonlySet<string>): T
}

const slugKeys: ReadonlySet<string> = new Set(['slug', 'slugs', 'old_slugs', 'retired_slugs'])
const labelKeys: ReadonlySet<string> = new Set(['key', 'place', 'source', 'otherSources'])
/** Keys of lists of names, and of the names of a speaker or tag. */
const listKeys: ReadonlySet<string> = new Set(['speakers', 'tags'])
const entityKeys: ReadonlySet<string> = new Set(['name', 'aliases'])

/** Where a name is replaced. */
type Scope = 'text' | 'link' | 'label' | 'slug'

/** Returns the keys that a whole name may have: as it is written, and as "Lovelace, Ada". */
export function keysOfName(name: string): string[] {
  const [last, first, ...others] = name.length > maxNameLength ? [] : name.split(',')
  const isReversed = last?.trim() && first?.trim() && others.length === 0
  return [nameKey(name), ...(isReversed ? [nameKey(`${first} ${last}`)] : [])]
}

/** Creates a function that replaces names. The longest of several names at one place wins. */
export function createReplacer({
  find,
  findWhole,
  wordCounts,
  inLinks,
  ownUrl = '',
}: ReplacerOptions): NameReplacer {
  const counts = [...new Set(wordCounts)].filter((count) => count > 0).sort((a, b) => b - a)

  function findIn(scope: Scope, key: string, count: number): string | null | undefined {
    const replacement = find(key)
    if (typeof replacement !== 'string') return replacement
    const isLeft =
      (scope === 'label' && count === 1) ||
      (scope === 'link' && typeof inLinks === 'function' && !inLinks(key))
    return isLeft ? undefined : replacement
  }

  function replaceWords(text: string, scope: Scope): string {
    const words = splitWords(text)
    const isJoined = (index: number) => {
      const [left, right] = [words[index], words[index + 1]]
      if (!left || !right || left.folded === '' || right.folded === '') return false
      const between = text.slice(left.end, right.start)
      if (between === ' ') return true
      if (between === '')
        return [left, right].some(({ start, end }) => isUnspaced.test(text.slice(start, end)))
      return separatorPattern.test(between) && !paragraphPattern.test(between)
    }
    let result = ''
    let copied = 0
    for (let index = 0; index < words.length; ) {
      const match = findAt(index)
      if (!match) {
        index++
        continue
      }
      const [first, last] = [words[index], words[index + match.count - 1]]
      if (!first || !last) break
      result += text.slice(copied, first.start)
      const matched = text.slice(first.start, last.end)
      result += match.replacement === null ? matched : inStyleOf(matched, match.replacement)
      copied = last.end
      index += match.count
    }
    return copied === 0 ? text : result + text.slice(copied)

    function findAt(index: number) {
      const [maxCount = 0] = counts
      let joined = 1
      while (joined < maxCount && isJoined(index + joined - 1)) joined++
      for (const count of counts) {
        if (count > joined) continue
        const key = words
          .slice(index, index + count)
          .map(({ folded }) => folded)
          .join(' ')
        const replacement = key === '' ? undefined : findIn(scope, key, count)
        if (replacement === undefined) continue
        const isReplaced = scope === 'slug' && replacement && isIn(index, count, replacement)
        return { count, replacement: isReplaced ? null : replacement }
      }
      return undefined
    }

    /** Returns whether words are part of the slug of the new name already. */
    function isIn(index: number, count: number, replacement: string): boolean {
      const parts = nameWords(slugify(replacement))
      const isAt = (start: number) => parts.every((part, i) => words[start + i]?.folded === part)
      const starts = Array.from({ length: parts.length - count + 1 }, (_, i) => index - i)
      return parts.length > count && starts.some(isAt)
    }
  }

  /** Replaces names in a URL, also if they are percent-encoded. Other escapes stay. */
  function replaceInUrl(url: string, scope: Scope): string {
    const decoded = url.toWellFormed().replaceAll(escapes, decodeLetters)
    // Every other part is an escape.
    const replaced = decoded
      .split(/((?:%[0-9a-f]{2})+)/gi)
      .map((part, index) => (index % 2 === 1 ? part : replaceWords(part, scope)))
      .join('')
    return replaced === decoded ? url : replaced.replaceAll(/[^!-~]/gu, encodeURIComponent)
  }

  const isOwn = (url: string) => ownUrl !== '' && url.startsWith(`${ownUrl}/`)

  function replaceIn(value: string, scope: 'text' | 'label'): string {
    let result = ''
    let copied = 0
    for (const { 0: url, index } of value.matchAll(urlPattern)) {
      result += replaceWords(value.slice(copied, index), scope) + replaceLink(url)
      copied = index + url.length
    }
    return result + replaceWords(value.slice(copied), scope)

    function replaceLink(url: string): string {
      if (scope === 'label' || isOwn(url)) return replaceInUrl(url, scope)
      return inLinks === false ? url : replaceInUrl(url, 'link')
    }
  }

  const text = (value: string) => replaceIn(value, 'text')
  const label = (value: string) => replaceIn(value, 'label')

  function name(value: string): string {
    for (const key of keysOfName(value)) {
      const replacement = (findWhole ?? find)(key)
      if (replacement !== undefined) return replacement ?? value
    }
    return value
  }

  function slug(value: string): string {
    const replaced = replaceWords(value, 'slug')
    return replaced === value ? value : slugify(replaced)
  }

  function replaceInJson(
    value: unknown,
    key: string,
    kept: ReadonlySet<string>,
    isName: boolean,
  ): unknown {
    if (typeof value === 'string') {
      if (isName) return name(value)
      if (slugKeys.has(key)) return slug(value)
      return labelKeys.has(key) ? label(value) : text(value)
    }
    if (Array.isArray(value)) {
      const items = value.map((item) => replaceInJson(item, key, kept, isName))
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    if (value === null || typeof value !== 'object') return value
    const isNamed = isName || ('kind' in value && ['speaker', 'tag'].includes(String(value.kind)))
    let isChanged = false
    const entries = Object.entries(value).map(([entry, item]) => {
      const isOfName = listKeys.has(entry) || (isNamed && entityKeys.has(entry))
      const replaced = kept.has(entry)
        ? item
        : replaceInJson(item, entry, kept, findWhole !== undefined && isOfName)
      isChanged ||= replaced !== item
      return [entry, replaced]
    })
    return isChanged ? Object.fromEntries(entries) : value
  }

  return {
    text,
    label,
    name,
    value: (value, kept = new Set()) => replaceInJson(value, '', kept, false) as never,
  }
}

const escapes = /(?:%[0-9a-f]{2})+/gi

/** Decodes the letters, spaces and hyphens in percent-encoded text. */
function decodeLetters(encoded: string): string {
  try {
    return [...decodeURIComponent(encoded)]
      .map((character) => (decodedPattern.test(character) ? character : encodeAll(character)))
      .join('')
  } catch {
    // Not UTF-8: as it is.
    return encoded
  }
}

const encodeAll = (text: string) =>
  [...Buffer.from(text)]
    .map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`)
    .join('')

/** Returns the replacement as the matched name is written: in capitals, or joined by hyphens. */
function inStyleOf(found: string, replacement: string): string {
  const matched = found.replaceAll(invisiblePattern, '').replaceAll(spacePattern, ' ')
  const separators = matched.match(/[^\p{L}\p{N}\p{M}]+/gu) ?? []
  const [separator = ' '] = separators
  if (/^[-_+.]$/.test(separator) && separators.every((other) => other === separator)) {
    const words = replacement.match(wordPattern) ?? [replacement]
    const isLower = matched === matched.toLowerCase()
    return words.map((word) => (isLower ? foldWord(word) : word)).join(separator)
  }
  const isUpper = matched === matched.toUpperCase() && matched !== matched.toLowerCase()
  const styled = isUpper && separators.length > 0 ? replacement.toUpperCase() : replacement
  // Marks of emphasis and quotes within the name go to its ends: "**Ada** Lovelace".
  const markup = (pattern: RegExp) =>
    separators.map((text) => pattern.exec(text)?.[0] ?? '').join('')
  return markup(/(?<=\s)[*_~`"“]+$/u) + styled + markup(/^[*_~`"”]+(?=\s)/u)
}
