import { InputRefused } from '../item.ts'
import { formatBytes } from './unpack.ts'

// JSON that comes in pieces, taken apart before it is parsed: a list of a million records never
// stands in memory as a whole.

/**
 * Deeper than any record. JSON.parse goes to any depth, and whoever walks through what it gave then
 * runs out of stack.
 */
const maxDepth = 100

/** The value, or in a few words why there is none. */
export function parseJson(text: string): { value: unknown } | { wrong: string } {
  if (isTooDeep(text)) return { wrong: `Is nested more than ${maxDepth} deep` }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { wrong: `Is no JSON: ${(error as Error).message.slice(0, 120)}` }
  }
}

/**
 * The values of a text, as text: those in a list one by one, any others as they follow each other.
 * `isCut` where it ends within one.
 */
export async function* jsonValues(
  pieces: AsyncIterable<string>,
  path: string,
  limit: number,
): AsyncGenerator<{ text: string; isCut: boolean }> {
  let text = ''
  let depth = 0
  let isList = false
  let isQuoted = false
  let isEscaped = false
  const taken = () => {
    const value = text.trim()
    text = ''
    return value === '' ? [] : [{ text: value, isCut: false }]
  }
  for await (const piece of pieces) {
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      const sign = piece[at]
      if (isEscaped) isEscaped = false
      else if (isQuoted) {
        if (sign === '\\') isEscaped = true
        else if (sign === '"') isQuoted = false
      } else if (sign === '"') isQuoted = true
      else if (
        sign === '[' &&
        depth === 0 &&
        !isList &&
        (text + piece.slice(from, at)).trim() === ''
      ) {
        isList = true
        text = ''
        from = at + 1
      } else if (sign === '{' || sign === '[') depth++
      else if (depth === 0 && isList && (sign === ',' || sign === ']')) {
        text += piece.slice(from, at)
        from = at + 1
        if (sign === ']') isList = false
        yield* taken()
      } else if ((sign === '}' || sign === ']') && depth > 0 && --depth === 0) {
        text += piece.slice(from, at + 1)
        from = at + 1
        yield* taken()
      }
    }
    text += piece.slice(from)
    if (text.length > limit)
      throw new InputRefused(
        `A record in ${path} has more than ${formatBytes(limit)}, which is the most for one`,
      )
  }
  const isCut = isList || isQuoted || depth > 0
  if (isCut || text.trim() !== '') yield { text, isCut }
}

/**
 * The names that the first object of a text has, as far as the text goes. In a list the first
 * object counts, and in a page its first result.
 */
export function objectKeysIn(begin: string): string[] {
  const levels: { isObject: boolean; keys: string[] }[] = []
  const found: { depth: number; keys: string[] }[] = []
  let last = ''
  // A string that is cut off reaches to the end: so each character is looked at once.
  for (const [token] of begin.matchAll(/"(?:[^"\\]|\\.?)*(?:"|$)|[[\]{}:]/gs)) {
    if (token === '{' || token === '[') {
      const level = { isObject: token === '{', keys: [] }
      levels.push(level)
      if (level.isObject) found.push({ depth: levels.length, keys: level.keys })
    } else if (token === '}' || token === ']') {
      levels.pop()
      if (levels.length === 0) break
    } else if (token === ':') levels.at(-1)?.keys.push(last)
    else last = token.slice(1, -1)
  }
  const [first] = found
  if (!first) return []
  const isPage = first.keys.includes('results') && !first.keys.includes('title')
  return (isPage ? found.find(({ depth }) => depth === first.depth + 2)?.keys : first.keys) ?? []
}

/** Brackets in strings do not count. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    } else if (sign === '{' || sign === '[') {
      if (++depth > maxDepth) return true
    } else if (sign === '}' || sign === ']') depth--
  }
  return false
}
