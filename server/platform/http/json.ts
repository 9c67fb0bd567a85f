import { defaultMaxKeys, Problem } from '@talkshelf/contract'

// JSON on the wire. Output is ASCII without < > &, so that a body declared text/html cannot act as
// a page. Input is parsed more strictly than by JSON.parse, which silently drops duplicate keys and
// rounds numbers.

/** Serializes a value as ASCII JSON without < > &. */
export function toJson(value: unknown): string {
  return JSON.stringify(value).replace(
    outsideAscii,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/**
 * Converts ASCII JSON to bytes. To a string of type application/json Fastify would add a charset
 * parameter, which JSON does not have.
 */
export function asciiBytes(json: string): Buffer {
  return Buffer.from(json, 'latin1')
}

const outsideAscii = /[<>&\u007f-\uffff]/g

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const maxDepth = 8
// Far above any valid body; checking larger ones would take seconds.
const maxCommas = 10_000

/** Parses a JSON object. Throws a Problem if the body is anything else. */
export function fromJson(bytes: Uint8Array, maxKeys = defaultMaxKeys): Record<string, unknown> {
  const text = decode(bytes)
  const value = parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('The body must be a JSON object')
  // The following checks work on the text without its strings. Removing them with a regular
  // expression is safe because JSON.parse has accepted the text.
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""')
  if (count(bare, ':') > maxKeys || count(bare, ',') > maxCommas)
    throw malformed(
      'The body has too many keys or values for this endpoint. The reference at /api has an example',
    )
  if (depth(bare) > maxDepth)
    throw malformed(`The body is nested more than ${maxDepth} levels deep`)
  for (const [number] of bare.matchAll(/-?\d[\d.eE+-]*/g))
    if (String(Number(number)) !== number)
      throw malformed('A number in the body cannot be stored exactly as written')
  // Each colon follows a key. With duplicate keys the parsed value has fewer keys than colons.
  if (count(bare, ':') !== countKeys(value))
    throw malformed('The body has a duplicate key, or a key named __proto__')
  return value as Record<string, unknown>
}

/** Serializes a value with sorted keys, so that equal requests have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

const malformed = (reason: string) => new Problem('malformed-body', reason)

function decode(bytes: Uint8Array): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw malformed('The body is not valid UTF-8')
  }
  if (text.startsWith('\ufeff')) throw malformed('The body starts with a byte order mark')
  return text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed(text.trim() === '' ? 'The body is empty' : 'The body is not valid JSON')
  }
}

function count(text: string, character: string): number {
  let total = 0
  let offset = text.indexOf(character)
  while (offset >= 0) {
    total++
    offset = text.indexOf(character, offset + 1)
  }
  return total
}

function depth(bare: string): number {
  let current = 0
  let max = 0
  for (const character of bare) {
    if (character === '{' || character === '[') max = Math.max(max, ++current)
    else if (character === '}' || character === ']') current--
  }
  return max
}

// JSON.parse creates __proto__ as an ordinary own key. It is not counted, so it is rejected like a
// duplicate key. The recursion is bounded because the depth was checked before.
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + countKeys(part), 0)
  return Object.entries(value).reduce(
    (sum, [key, part]) => sum + (key === '__proto__' ? 0 : 1) + countKeys(part),
    0,
  )
}
