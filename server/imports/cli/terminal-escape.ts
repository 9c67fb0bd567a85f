// Words that others wrote, on their way to a terminal: whatever would move its cursor, change its
// colours or turn its lines around is written out, so that it is seen and does nothing. No I/O.

/** One line of text, safe to print. */
export function escapeLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, written)
}

/** The same for a text of ours in several lines that has foreign words in it. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeLine).join('\n')
}

/** JSON escapes some of these signs itself; the others mean the same when they are escaped. */
export function escapeJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu,
    unicode,
  )
}

/** What a field holds, for people. Nothing where it holds nothing. */
export function formatValue(field: string, value: unknown): string {
  if (field === 'state') return value === 1 ? 'live' : value === 2 ? 'draft' : String(value)
  if (Array.isArray(value)) return value.map((one) => formatValue('', one)).join('; ')
  if (value === null || value === undefined) return ''
  return escapeLine(typeof value === 'string' ? value : JSON.stringify(value))
}

/** So much is left standing around a difference. */
const context = 20

/** Two texts, each cut to so many characters around what differs. */
export function shortenAroundDifference(
  one: string,
  other: string,
  limit: number,
): [string, string] {
  const [a, b] = [[...one], [...other]]
  if (a.length <= limit && b.length <= limit) return [one, other]
  let same = 0
  while (same < a.length && same < b.length && a[same] === b[same]) same++
  let end = 0
  while (end < a.length - same && end < b.length - same && a.at(-1 - end) === b.at(-1 - end)) end++
  // Where little follows, there is room for more of what goes before.
  const from = Math.max(0, Math.min(same - context, Math.max(a.length, b.length) - limit))
  return [cut(a, from, limit, end), cut(b, from, limit, end)]
}

/** The beginning of a text, where it is longer. */
export function truncate(text: string, limit: number): string {
  const all = [...text]
  return all.length <= limit ? text : `${all.slice(0, limit - 1).join('')}…`
}

function cut(text: readonly string[], from: number, limit: number, end: number): string {
  const until = Math.min(text.length, from + limit, Math.max(text.length - end + context, from))
  return `${from > 0 ? '…' : ''}${text.slice(from, until).join('')}${until < text.length ? '…' : ''}`
}

function written(sign: string): string {
  if (sign === '\n') return '\\n'
  if (sign === '\r') return '\\r'
  if (sign === '\t') return ' '
  return unicode(sign)
}

const unicode = (sign: string) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
