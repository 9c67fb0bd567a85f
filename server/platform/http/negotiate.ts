import { Problem } from '@talkshelf/contract'

/** The two content types under which the same JSON bytes are sent. */
export type Representation = 'html' | 'json'

export const representationTypes: Record<Representation, string> = {
  html: 'text/html; charset=utf-8',
  json: 'application/json',
}

/**
 * Chooses the content type of a response. text/html, the documented type, is the default;
 * application/json is sent if the client names or prefers it. Throws a Problem if neither is
 * acceptable.
 */
export function chooseRepresentation(
  accept: string | undefined,
  format: string | undefined,
): Representation {
  if (format === 'json') return 'json'
  if (format !== undefined) throw notAcceptable()
  if (accept === undefined || accept === '*/*' || accept.trim() === '') return 'html'
  const ranges = accept.split(',').map(parseRange)
  const html = quality(ranges, 'text/html')
  const json = quality(ranges, 'application/json')
  if (json.q > 0 && (json.isNamed ? json.q >= html.q : json.q > html.q)) return 'json'
  if (html.q > 0) return 'html'
  throw notAcceptable()
}

const notAcceptable = () =>
  new Problem(
    'not-acceptable',
    'Accept text/html or application/json, or add ?format=json to the URL',
  )

interface MediaRange {
  type: string
  q: number
}

function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const q = weight === undefined ? 1 : Number(weight.slice(2))
  return { type, q: q >= 0 && q <= 1 ? q : 0 }
}

// The most specific matching range decides (RFC 9110, 12.5.1).
function quality(ranges: readonly MediaRange[], type: string): { q: number; isNamed: boolean } {
  const exact = ranges.find((range) => range.type === type)
  const match =
    exact ??
    ranges.find((range) => range.type === `${type.split('/')[0]}/*`) ??
    ranges.find((range) => range.type === '*/*')
  return { q: match?.q ?? 0, isNamed: exact !== undefined }
}
