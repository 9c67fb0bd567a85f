import { htmlToMarkdown } from '../../markup/markup.ts'
import { type ImportNote, InputRefused, type ItemFields, type ParsedItem } from '../item.ts'

// Helpers for reading values that may have any type. Used by several formats. No I/O.

/** A parsed object whose values have not been validated. */
export type UnknownObject = Readonly<Record<string, unknown>>

const maxTalks = 200_000
const maxTitleLength = 255

/** Returns whether a value is an object, and not a list. */
export function isObject(value: unknown): value is UnknownObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value if it is an object, else an empty one. */
export function readObject(value: unknown): UnknownObject {
  return isObject(value) ? value : {}
}

/** Returns the value if it is a list, else an empty one. */
export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Reads a text without white space around it. Empty for other types. Of a text in several
 * languages, takes English or else the first.
 */
export function readTrimmedText(value: unknown): string {
  if (typeof value === 'string') return value.trim()
  if (typeof value === 'number') return String(value)
  if (!isObject(value)) return ''
  const text = [value.en, ...Object.values(value)].find(
    (candidate) => typeof candidate === 'string' && candidate.trim() !== '',
  )
  return typeof text === 'string' ? text.trim() : ''
}

/** Reads a list of names. Drops empty ones, with a note. Undefined if there is no list. */
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
 * Reads an http or https URL, which may be relative to `base`. Undefined for anything else, such as
 * `javascript:`.
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
 * Reads the day of `20240501`, `2024-05-01` or a timestamp. A timestamp in UTC is converted to the
 * time zone of the event if that is known; any other is read in the zone that it is written in.
 */
export function readDate(value: unknown, zone?: string): string | undefined {
  const text = readTrimmedText(value)
  const [, year, month, dayOfMonth] = /^(\d{4})-?(\d\d)-?(\d\d)(?!\d)/.exec(text) ?? []
  const day = `${year}-${month}-${dayOfMonth}`
  if (new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) !== day) return undefined
  if (zone === undefined || !/T.*(Z|[+-]00:?00)$/.test(text)) return day
  try {
    return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(
      new Date(text),
    )
  } catch {
    return day
  }
}

/** Appends the subtitle to the title. `isWhole` is false if it does not fit and must be a fact. */
export function joinTitle(
  title: string,
  subtitle: string,
  notes: ImportNote[],
): { title: string; isWhole: boolean } {
  if (subtitle === '' || title.includes(subtitle)) return { title, isWhole: true }
  const combined = `${title}${/[:?!.…]$/.test(title) ? '' : ':'} ${subtitle}`
  if ([...combined].length <= maxTitleLength) {
    notes.push({ kind: 'repaired', field: 'title', detail: 'was combined with the subtitle' })
    return { title: combined, isWhole: true }
  }
  notes.push({
    kind: 'dropped',
    field: 'subtitle',
    detail: `does not fit into the title (${maxTitleLength} characters), and was kept as a fact`,
  })
  return { title, isWhole: false }
}

/** Removes empty texts and lists, which must not overwrite the fields of a record. */
export function presentFields(
  fields: { readonly [F in keyof ItemFields]?: ItemFields[F] | undefined },
): ItemFields {
  const isPresent = (value: unknown) =>
    value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isPresent(value)))
}

/** Passes items through. Throws `InputRefused` if there are too many. */
export function* limitItems(path: string, items: Iterable<ParsedItem>): Generator<ParsedItem> {
  let count = 0
  for (const item of items) {
    if (++count > maxTalks)
      throw new InputRefused(`${path} has more than ${maxTalks} talks. Split it`)
    yield item
  }
}

/** Parses a file of JSON. Throws `InputRefused` if it is invalid. */
export function readJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new InputRefused(
      `${path} is not valid JSON: ${(error as Error).message}. Download or export it again`,
    )
  }
}

/**
 * Finds the keys of the first object in a JSON text that may be cut off: the only object, the first
 * of a list, or the one on the first line. None if the text is not JSON.
 */
export function firstKeys(head: string): ReadonlySet<string> {
  const keys = new Set<string>()
  if (!/^\uFEFF?\s*[{[]/.test(head)) return keys
  let depth = 0
  let objectDepth = 0
  let lastString = ''
  // Sticky: nothing matches after a string that is cut off, so that the time stays linear.
  for (const [token] of head
    .replace(/^\uFEFF/, '')
    .matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]|[^"{}[\]:]+/gsy)) {
    if (token[0] === '"') lastString = token.slice(1, -1)
    else if (token === ':' && depth === objectDepth) keys.add(lastString)
    else if (token === '{' || token === '[') {
      depth++
      if (token === '{' && objectDepth === 0) objectDepth = depth
    } else if ((token === '}' || token === ']') && depth-- === objectDepth) break
  }
  return keys
}

/** Reads a text that may be HTML, as Markdown. Adds a note if it was converted. */
export function readMarkdown(value: unknown, field: string, notes: ImportNote[]): string {
  const text = readTrimmedText(value)
  const markdown = htmlToMarkdown(text)
  if (markdown !== text)
    notes.push({ kind: 'repaired', field, detail: 'was converted from HTML to Markdown' })
  return markdown
}
