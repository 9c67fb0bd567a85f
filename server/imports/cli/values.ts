import { escapeLine } from '../../platform/terminal-escape.ts'

// Formats values of fields, and the difference of two values, for a terminal. No I/O.

/** Formats the value of a field. Empty if it has none. */
export function formatValue(field: string, value: unknown): string {
  if (field === 'state') return stateNames.get(value) ?? String(value)
  if (Array.isArray(value)) return value.map((item) => formatValue('', item)).join('; ')
  if (value === null || value === undefined) return ''
  return escapeLine(typeof value === 'string' ? value : JSON.stringify(value))
}

const stateNames = new Map<unknown, string>([
  [1, 'live'],
  [2, 'draft'],
])

/** The number of equal characters to show on either side of a difference. */
const contextLength = 20

/** Shortens two texts to `limit` characters each, around their difference. */
export function shortenAroundDifference(
  before: string,
  after: string,
  limit: number,
): [string, string] {
  const [a, b] = [[...before], [...after]]
  if (a.length <= limit && b.length <= limit) return [before, after]
  let prefix = 0
  while (prefix < a.length && prefix < b.length && a[prefix] === b[prefix]) prefix++
  let suffix = 0
  while (
    suffix < a.length - prefix &&
    suffix < b.length - prefix &&
    a.at(-1 - suffix) === b.at(-1 - suffix)
  )
    suffix++
  // If little follows the difference, there is room for more in front of it.
  const longer = Math.max(a.length, b.length)
  const start = Math.max(0, Math.min(prefix - contextLength, longer - limit))
  return [excerpt(a, start, limit, suffix), excerpt(b, start, limit, suffix)]
}

/** Shortens a text to `limit` characters, the ellipsis included. */
export function truncate(text: string, limit: number): string {
  const characters = [...text]
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join('')}…`
}

function excerpt(
  characters: readonly string[],
  start: number,
  limit: number,
  suffix: number,
): string {
  const { length } = characters
  const end = Math.min(length, start + limit, Math.max(length - suffix + contextLength, start))
  const text = characters.slice(start, end).join('')
  return `${start > 0 ? '…' : ''}${text}${end < length ? '…' : ''}`
}
