import type { Fact } from '@talkshelf/contract'
import { rstToMarkdown } from '../../markup/markup.ts'
import type { ImportNote, ItemFields } from '../item.ts'
import { isObject, readDate, readList, type UnknownObject } from './text.ts'

// What each key of a record of the pyvideo kind says, whatever type its value has. No I/O.

/** What one key gives. */
export interface FieldReading {
  readonly fields: ItemFields
  readonly facts: readonly Fact[]
  readonly notes: readonly ImportNote[]
  /** The facts that this key speaks of, and no other. */
  readonly kind?: Fact['kind']
}

/** Of a list without end, the first ones become facts. */
export const maxListFacts = 900
const maxNames = 100
const longestName = 255
const longestText = 20_000
const longestDescription = 100_000
const longestAddress = 2048
const longestDuration = 2_147_483_647

/** A name as the archive keeps it. */
export const normalizeText = (text: string) => text.normalize('NFC').trim()

export const isBlankValue = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

export const fieldReaders: Readonly<Record<string, (value: unknown) => FieldReading>> = {
  title: (value) => text('title', value, longestName, (it) => it.trim()),
  description: (value) => text('description', value, longestDescription, rstToMarkdown),
  summary: (value) => text('summary', value, longestText, rstToMarkdown),
  quality_notes: (value) => text('quality_notes', value, longestText),
  copyright_text: (value) => text('copyright_text', value, longestText),
  speakers: (value) => names('speakers', value),
  tags: (value) => names('tags', value),
  recorded,
  language,
  duration,
  thumbnail_url: thumbnail,
  videos,
  related_urls: related,
  alias,
}

const nothing: FieldReading = { fields: {}, facts: [], notes: [] }
const noted = (
  fields: ItemFields,
  kind: ImportNote['kind'],
  field: string,
  detail: string,
): FieldReading => ({
  fields,
  facts: [],
  notes: [{ kind, field, detail }],
})

type TextField = 'title' | 'description' | 'summary' | 'quality_notes' | 'copyright_text'

function text(
  field: TextField,
  value: unknown,
  longest: number,
  made: (text: string) => string = (it) => it,
): FieldReading {
  if (value === null) return { ...nothing, fields: { [field]: '' } }
  if (typeof value !== 'string')
    return noted({ [field]: '' }, 'dropped', field, `is ${kindOf(value)}, and not a text`)
  const clean = cleaned(value)
  const whole = made(clean)
  const notes: ImportNote[] = []
  if (clean !== value)
    notes.push({ kind: 'repaired', field, detail: 'had control characters, which are gone' })
  if (made === rstToMarkdown && whole !== clean.replaceAll(/\r\n?|\n\r/g, '\n'))
    notes.push({ kind: 'repaired', field, detail: 'was reStructuredText, and is Markdown here' })
  const kept = field === 'title' ? cut(whole, longest).trim() : cut(whole, longest)
  if (kept !== whole)
    notes.push({
      kind: 'dropped',
      field,
      detail: `has more than ${longest} characters, and was cut`,
    })
  return { fields: { [field]: kept }, facts: [], notes }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to go
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g
const cleaned = (it: string) => it.toWellFormed().replaceAll(controlCharacters, '')

/** Not in the middle of a character. */
const cut = (it: string, longest: number) =>
  it.length <= longest ? it : it.slice(0, longest).replace(/[\ud800-\udbff]$/, '')

const kindOf = (value: unknown) =>
  Array.isArray(value) ? 'a list' : value === null ? 'nothing' : `of the type ${typeof value}`

function names(field: 'speakers' | 'tags', value: unknown): FieldReading {
  if (isBlankValue(value)) return { ...nothing, fields: { [field]: [] } }
  const notes: ImportNote[] = []
  const drop = (count: number, what: string) => {
    if (count > 0) notes.push({ kind: 'dropped', field, detail: `${what}: ${count}` })
  }
  const given = typeof value === 'string' ? [value] : readList(value)
  const texts = given.filter((it) => typeof it === 'string')
  drop(
    given.length - texts.length + (Array.isArray(value) || typeof value === 'string' ? 0 : 1),
    'has what is no name',
  )
  const tidied = texts.map((it) => normalizeText(cleaned(it).replaceAll(/[\n\r\t]/g, ' ')))
  drop(tidied.filter((it) => it === '').length, 'has empty names')
  const all = [
    ...new Set(tidied.filter((it) => it !== '').map((it) => normalizeText(cut(it, longestName)))),
  ]
  drop(Math.max(0, all.length - maxNames), `has more than ${maxNames} names`)
  return { fields: { [field]: all.slice(0, maxNames) }, facts: [], notes }
}

function recorded(value: unknown): FieldReading {
  if (isBlankValue(value)) return { ...nothing, fields: { recorded: null } }
  const day = typeof value === 'string' ? readDate(value) : undefined
  if (day && !day.startsWith('0000')) return { ...nothing, fields: { recorded: day } }
  return noted({ recorded: null }, 'dropped', 'recorded', 'is not a day, written YYYY-MM-DD')
}

function language(value: unknown): FieldReading {
  if (isBlankValue(value)) return nothing
  const name = typeof value === 'string' ? normalizeText(cleaned(value)) : ''
  if (name !== '' && name.length <= longestName) return { ...nothing, fields: { language: name } }
  return noted({}, 'dropped', 'language', 'is not the code of a language')
}

// Some events have minutes or milliseconds. Which ones can only be seen by comparing many talks, so
// the number stays as it is.
function duration(value: unknown): FieldReading {
  if (isBlankValue(value)) return { ...nothing, fields: { duration: null } }
  const seconds =
    typeof value === 'string' && /^\d{1,10}(\.\d+)?$/.test(value.trim()) ? Number(value) : value
  if (typeof seconds !== 'number' || !(seconds >= 0))
    return noted({ duration: null }, 'dropped', 'duration', 'is not a number of seconds')
  if (seconds > longestDuration)
    return noted(
      { duration: null },
      'dropped',
      'duration',
      `is ${seconds}, which is no length of a talk`,
    )
  const whole = Math.round(seconds)
  return whole === value
    ? { ...nothing, fields: { duration: whole } }
    : noted({ duration: whole }, 'repaired', 'duration', `is ${whole} here`)
}

function thumbnail(value: unknown): FieldReading {
  if (isBlankValue(value))
    return { ...nothing, fields: { thumbnail_url: value === '' ? '' : null } }
  if (isAddress(value)) return { ...nothing, fields: { thumbnail_url: value } }
  return noted({ thumbnail_url: null }, 'dropped', 'thumbnail_url', 'is not a web address')
}

function isAddress(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= longestAddress &&
    /^https?:\/\/\S+$/i.test(value) &&
    isPlain(value) &&
    URL.canParse(value)
  )
}

const isPlain = (it: string) => cleaned(it) === it

const formats = ['mp4', 'webm', 'ogv', 'flv'] as const
/** Files that are not for any of the four fields. */
const isFile = (type: string) =>
  /^(mp4|webm|ogv|flv|mkv|avi|mov|m4v|mpe?g|wmv|3gp|mp3|m4a|ogg|opus|wav)$/i.test(type)

/** Less than any file with a talk in it, and more than any talk has seconds. */
const leastBytes = 1_000_000

function videos(value: unknown): FieldReading {
  const fields: Record<string, string | number | null> = { source_url: null }
  for (const format of formats)
    Object.assign(fields, { [`video_${format}_url`]: null, [`video_${format}_length`]: null })
  const facts: Fact[] = []
  const notes: ImportNote[] = []
  const drop = (detail: string) => notes.push({ kind: 'dropped', field: 'videos', detail })
  if (!isBlankValue(value) && !Array.isArray(value)) drop(`is ${kindOf(value)}, and not a list`)
  for (const entry of readList(value)) {
    const url = isObject(entry) ? entry.url : undefined
    if (
      !isObject(entry) ||
      typeof url !== 'string' ||
      url === '' ||
      url.length > 4096 ||
      !isPlain(url)
    ) {
      drop('has an entry without an address')
      continue
    }
    const type = typeof entry.type === 'string' ? cut(cleaned(entry.type), 100) : ''
    const size = bytesIn(entry, type, drop)
    const format = formats.find((it) => it === type)
    if (!isAddress(url)) drop('has an address that is not of the web, which is kept as a fact')
    if (isAddress(url) && format && fields[`video_${format}_url`] === null)
      Object.assign(fields, { [`video_${format}_url`]: url, [`video_${format}_length`]: size })
    else if (isAddress(url) && !isFile(type) && fields.source_url === null) fields.source_url = url
    else facts.push({ kind: 'media', url, type, size })
  }
  return { fields: fields as ItemFields, facts, notes, kind: 'media' }
}

function bytesIn(
  entry: UnknownObject,
  type: string,
  drop: (detail: string) => void,
): number | null {
  const isCount = (it: unknown): it is number => Number.isSafeInteger(it) && (it as number) > 0
  if (isCount(entry.size)) return entry.size
  if (isCount(entry.length) && entry.length >= leastBytes && isFile(type)) return entry.length
  if (entry.length === 0) drop('has the length 0, which is no number of bytes')
  else if (!isBlankValue(entry.length))
    drop(`has the length ${JSON.stringify(entry.length).slice(0, 20)}, which is no number of bytes`)
  else if (!isBlankValue(entry.size))
    drop(`has the size ${JSON.stringify(entry.size).slice(0, 20)}, which is no number of bytes`)
  return null
}

function related(value: unknown): FieldReading {
  const facts: Fact[] = []
  const notes: ImportNote[] = []
  for (const entry of Array.isArray(value) ? value : isBlankValue(value) ? [] : [value]) {
    const url = isObject(entry) ? entry.url : entry
    const label =
      isObject(entry) && typeof entry.label === 'string' ? cut(cleaned(entry.label), 1000) : null
    if (typeof url === 'string' && url !== '' && url.length <= 4096 && isPlain(url))
      facts.push({ kind: 'related', url, label })
    else
      notes.push({
        kind: 'dropped',
        field: 'related_urls',
        detail: 'has an entry without an address',
      })
  }
  return { fields: {}, facts, notes, kind: 'related' }
}

function alias(value: unknown): FieldReading {
  const isPath = typeof value === 'string' && value !== '' && value.length <= 1000 && isPlain(value)
  return { ...nothing, facts: isPath ? [{ kind: 'address', path: value }] : [], kind: 'address' }
}
