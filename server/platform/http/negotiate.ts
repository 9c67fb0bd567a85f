import { Problem } from '@talkshelf/contract'

/** The two declarations of the same bytes. */
export type Representation = 'html' | 'json'

export const representationTypes: Record<Representation, string> = {
  html: 'text/html; charset=utf-8',
  json: 'application/json',
}

/**
 * text/html is what the interface documents, so it is the answer to a client that does not care;
 * application/json goes to one that names it, or that likes it better.
 */
export function chooseRepresentation(
  accept: string | undefined,
  format: string | undefined,
): Representation {
  if (format === 'json') return 'json'
  if (format !== undefined) throw notAcceptable()
  if (accept === undefined || accept === '*/*' || accept.trim() === '') return 'html'
  const ranges = accept.split(',').map(range)
  const html = quality(ranges, 'text/html')
  const json = quality(ranges, 'application/json')
  if (json.q > 0 && (json.named ? json.q >= html.q : json.q > html.q)) return 'json'
  if (html.q > 0) return 'html'
  throw notAcceptable()
}

const notAcceptable = () =>
  new Problem('not-acceptable', 'Accept text/html or application/json, or add ?format=json')

interface Range {
  type: string
  q: number
}

function range(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const given = parameters.find((parameter) => parameter.startsWith('q='))
  const q = given === undefined ? 1 : Number(given.slice(2))
  return { type, q: q >= 0 && q <= 1 ? q : 0 }
}

// The most specific range that matches decides, as in RFC 9110, 12.5.1.
function quality(ranges: readonly Range[], type: string): { q: number; named: boolean } {
  const named = ranges.find((it) => it.type === type)
  const found =
    named ??
    ranges.find((it) => it.type === `${type.split('/')[0]}/*`) ??
    ranges.find((it) => it.type === '*/*')
  return { q: found?.q ?? 0, named: named !== undefined }
}
