import { defaultMaxKeys, Problem } from '@talkshelf/contract'

// JSON on the wire. Out: pure ASCII without < > &, so that a body that is declared text/html can't
// become a page. In: stricter than JSON.parse, because what it silently repairs (a key given twice,
// a rounded number) would be lost for ever.

export function toJson(value: unknown): string {
  return JSON.stringify(value).replace(
    outsideAscii,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/**
 * As bytes: to a string that is declared JSON, Fastify would add a charset, which JSON does not
 * have.
 */
export function asciiBytes(json: string): Buffer {
  return Buffer.from(json, 'latin1')
}

const outsideAscii = /[<>&\u007f-\uffff]/g

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const maxDepth = 8
// No resource comes near; what is beyond is no record, and looking at all of it would take seconds.
const maxCommas = 10_000

/** The one JSON object that the bytes hold; anything else is a problem that says why. */
export function fromJson(bytes: Uint8Array, maxKeys = defaultMaxKeys): Record<string, unknown> {
  const text = decode(bytes)
  const value = parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('The body must be a JSON object')
  // What follows works on the text without its strings. That is safe because JSON.parse has just
  // found it well-formed.
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/gs, '""')
  if (count(bare, ':') > maxKeys || count(bare, ',') > maxCommas)
    throw malformed('The body has more values than this call takes')
  if (depth(bare) > maxDepth)
    throw malformed(`The body is nested more than ${maxDepth} levels deep`)
  for (const [number] of bare.matchAll(/-?\d[\d.eE+-]*/g))
    if (String(Number(number)) !== number)
      throw malformed('A number in the body would not survive a round trip')
  // Each colon stands behind a key; where keys were given twice, the value has fewer of them.
  if (count(bare, ':') !== keys(value))
    throw malformed('The body has a key twice in one object, or a key named __proto__')
  return value as Record<string, unknown>
}

/**
 * The same value always gives the same text, whatever the order of its keys: for comparing
 * requests.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

const malformed = (why: string) => new Problem('malformed-body', why)

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
  let found = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) found++
  return found
}

function depth(bare: string): number {
  let now = 0
  let max = 0
  for (const character of bare) {
    if (character === '{' || character === '[') max = Math.max(max, ++now)
    else if (character === '}' || character === ']') now--
  }
  return max
}

// JSON.parse makes __proto__ an own key like any other; it is not counted, and so refused with the
// keys given twice. Called once the depth is known to be small.
function keys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + keys(part), 0)
  return Object.entries(value).reduce(
    (sum, [key, part]) => sum + (key === '__proto__' ? 0 : 1) + keys(part),
    0,
  )
}
