import { InputRefused } from '../item.ts'
import { formatBytes } from './unpack.ts'

// Splits a stream of JSON into values before it is parsed, so that a list of a million records is
// never in memory as a whole.

/** Deeper than any record. JSON.parse has no limit, but recursive code would overflow the stack. */
const maxDepth = 100

/** Parses JSON. Returns the value, or the reason why there is none. */
export function parseJson(text: string): { value: unknown } | { wrong: string } {
  if (isTooDeep(text)) return { wrong: `Is nested more than ${maxDepth} levels deep` }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { wrong: `Is not valid JSON: ${(error as Error).message.slice(0, 120)}` }
  }
}

/**
 * Yields the JSON text of each value: the elements of a list, or values that follow each other.
 * `isCut` means that the text ends inside a value.
 */
export async function* jsonValues(
  chunks: AsyncIterable<string>,
  path: string,
  maxLength: number,
): AsyncGenerator<{ text: string; isCut: boolean }> {
  let text = ''
  let depth = 0
  let isInList = false
  let isQuoted = false
  let isEscaped = false
  const takeValue = () => {
    const value = text.trim()
    text = ''
    return value === '' ? [] : [{ text: value, isCut: false }]
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let index = 0; index < chunk.length; index++) {
      const character = chunk[index]
      if (isEscaped) isEscaped = false
      else if (isQuoted) {
        if (character === '\\') isEscaped = true
        else if (character === '"') isQuoted = false
      } else if (character === '"') isQuoted = true
      else if (
        character === '[' &&
        depth === 0 &&
        !isInList &&
        (text + chunk.slice(start, index)).trim() === ''
      ) {
        isInList = true
        text = ''
        start = index + 1
      } else if (character === '{' || character === '[') depth++
      else if (depth === 0 && isInList && (character === ',' || character === ']')) {
        text += chunk.slice(start, index)
        start = index + 1
        if (character === ']') isInList = false
        yield* takeValue()
      } else if ((character === '}' || character === ']') && depth > 0 && --depth === 0) {
        text += chunk.slice(start, index + 1)
        start = index + 1
        yield* takeValue()
      }
    }
    text += chunk.slice(start)
    if (text.length > maxLength)
      throw new InputRefused(
        `A record in ${path} has more than ${formatBytes(maxLength)}, the limit for a record`,
      )
  }
  const isCut = isInList || isQuoted || depth > 0
  if (isCut || text.trim() !== '') yield { text, isCut }
}

/**
 * Finds the keys of the first object in a text that may be cut off. In a list that is the first
 * element, and in a page the first result.
 */
export function objectKeysIn(head: string): string[] {
  const levels: { isObject: boolean; keys: string[] }[] = []
  const objects: { depth: number; keys: string[] }[] = []
  let lastString = ''
  // A string that is cut off matches up to the end, so that the time stays linear.
  for (const [token] of head.matchAll(/"(?:[^"\\]|\\.?)*(?:"|$)|[[\]{}:]/gs)) {
    if (token === '{' || token === '[') {
      const level = { isObject: token === '{', keys: [] }
      levels.push(level)
      if (level.isObject) objects.push({ depth: levels.length, keys: level.keys })
    } else if (token === '}' || token === ']') {
      levels.pop()
      if (levels.length === 0) break
    } else if (token === ':') levels.at(-1)?.keys.push(lastString)
    else lastString = token.slice(1, -1)
  }
  const [first] = objects
  if (!first) return []
  const isPage = first.keys.includes('results') && !first.keys.includes('title')
  if (!isPage) return first.keys
  return objects.find(({ depth }) => depth === first.depth + 2)?.keys ?? []
}

/** Returns whether brackets outside of strings are nested too deeply. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') {
      for (index++; index < text.length && text[index] !== '"'; index++)
        if (text[index] === '\\') index++
    } else if (character === '{' || character === '[') {
      if (++depth > maxDepth) return true
    } else if (character === '}' || character === ']') depth--
  }
  return false
}
