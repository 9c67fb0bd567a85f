import { htmlToMarkdown } from '../../markup/markup.ts'
import { type ImportNote, InputRefused, type ItemFields, type ParsedItem } from '../item.ts'

// What several formats do with what they find in a file. Nothing in a file is trusted to be of the
// type that it should be. No I/O.

/** An object out of a file, before anybody looked at what is in it. */
export type UnknownObject = Readonly<Record<string, unknown>>

const maxTalks = 200_000
const longestTitle = 255

export function isObject(value: unknown): value is UnknownObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readObject(value: unknown): UnknownObject {
  return isObject(value) ? value : {}
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * A text without white space around it; empty for what is none. Of a text in several languages, the
 * English one or else the first.
 */
export function readTrimmedText(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  if (typeof value === 'number') return String(value)
  if (!isObject(value)) return ''
  const one = [value.en, ...Object.values(value)].find(
    (it) => typeof it === 'string' && it.trim() !== '',
  )
  return typeof one === 'string' ? one.trim() : ''
}

/** Names or tags. Empty ones are left out, and told of. */
export function readNames(
  values: unknown,
  field: string,
  notes: ImportNote[],
): string[] | undefined {
  if (!Array.isArray(values)) return undefined
  const names = values.map(readTrimmedText)
  const empty = names.filter((name) => name === '').length
  if (empty > 0)
    notes.push({
      kind: 'dropped',
      field,
      detail: empty === 1 ? 'had an empty name' : `had ${empty} empty names`,
    })
  return names.filter((name) => name !== '')
}

/**
 * A web address, made whole where it is relative to one. Anything else, such as `javascript:`, is
 * none.
 */
export function readUrl(value: unknown, base?: string): string | undefined {
  const text = readTrimmedText(value)
  if (/^https?:\/\/\S+$/i.test(text)) return text
  if (
    text === '' ||
    /^[a-z][a-z\d+.-]*:/i.test(text) ||
    base === undefined ||
    !/^https?:/i.test(base)
  )
    return undefined
  return URL.canParse(text, base) ? new URL(text, base).href : undefined
}

/**
 * The day of `20240501`, `2024-05-01` or a moment. A moment is taken in the time zone that it is
 * written in, but for UTC where the zone of the event is known.
 */
export function readDate(value: unknown, zone?: string): string | undefined {
  const text = readTrimmedText(value)
  const [, year, month, day] = /^(\d{4})-?(\d\d)-?(\d\d)(?!\d)/.exec(text) ?? []
  const written = `${year}-${month}-${day}`
  if (new Date(`${written}T00:00:00Z`).toJSON()?.slice(0, 10) !== written) return undefined
  if (zone === undefined || !/T.*(Z|[+-]00:?00)$/.test(text)) return written
  try {
    return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(
      new Date(text),
    )
  } catch {
    return written
  }
}

/**
 * The title with its subtitle behind it. One that does not fit stays beside the record, in `facts`.
 */
export function joinTitle(
  subtitle: string,
  title: string,
  notes: ImportNote[],
): { title: string; isWhole: boolean } {
  if (subtitle === '' || title.includes(subtitle)) return { title, isWhole: true }
  const both = `${title}${/[:?!.…]$/.test(title) ? '' : ':'} ${subtitle}`
  if ([...both].length <= longestTitle) {
    notes.push({ kind: 'repaired', field: 'title', detail: 'has the subtitle behind it' })
    return { title: both, isWhole: true }
  }
  notes.push({
    kind: 'dropped',
    field: 'subtitle',
    detail: `does not fit into a title of ${longestTitle} characters, and is kept as a fact`,
  })
  return { title, isWhole: false }
}

/**
 * Only what there is: files have empty texts and lists where nobody said anything, and those must
 * not empty a record.
 */
export function presentFields(
  fields: { readonly [F in keyof ItemFields]?: ItemFields[F] | undefined },
): ItemFields {
  const isGiven = (value: unknown) =>
    value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)))
}

export function* limitItems(path: string, readings: Iterable<ParsedItem>): Generator<ParsedItem> {
  let count = 0
  for (const reading of readings) {
    if (++count > maxTalks)
      throw new InputRefused(
        `${path} has more than ${maxTalks} talks. Divide it into several files`,
      )
    yield reading
  }
}

export function readJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new InputRefused(
      `${path} is not whole JSON: ${(error as Error).message}. Fetch or export it again, and give the file as it is`,
    )
  }
}

/**
 * The keys of the first object in a JSON text that may be cut off: of the only one, of the first in
 * a list or on the first line. None where the text is no JSON.
 */
export function firstKeys(begin: string): ReadonlySet<string> {
  const keys = new Set<string>()
  if (!/^\uFEFF?\s*[{[]/.test(begin)) return keys
  let depth = 0
  let first = 0
  let text = ''
  // Sticky: behind a string that is cut off nothing matches, and its end is not looked for once
  // more at each sign in it.
  for (const [token] of begin
    .replace(/^\uFEFF/, '')
    .matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]|[^"{}[\]:]+/gsy)) {
    if (token[0] === '"') text = token.slice(1, -1)
    else if (token === ':' && depth === first) keys.add(text)
    else if (token === '{' || token === '[') {
      depth++
      if (token === '{' && first === 0) first = depth
    } else if ((token === '}' || token === ']') && depth-- === first) break
  }
  return keys
}

/** A text that may be HTML, as Markdown. */
export function readMarkdown(value: unknown, field: string, notes: ImportNote[]): string {
  const text = readTrimmedText(value)
  const markdown = htmlToMarkdown(text)
  if (markdown !== text)
    notes.push({ kind: 'repaired', field, detail: 'was HTML, and is Markdown here' })
  return markdown
}
