import { type Fact, mediaFormats } from '@talkshelf/contract'
import { rstToMarkdown } from '../../markup/markup.ts'
import type { ImportNote, ItemFields } from '../item.ts'
import { isObject, readDate, readList, type UnknownObject } from './text.ts'

// Reads each key of a pyvideo record, whatever type its value has. No I/O.

/** The result of reading one key. */
export interface FieldReading {
  readonly fields: ItemFields
  readonly facts: readonly Fact[]
  readonly notes: readonly ImportNote[]
  /** The kind of facts that only this key produces. */
  readonly kind?: Fact['kind']
}

/** The most entries of a list that become facts. */
export const maxListFacts = 900
const maxNames = 100
const maxNameLength = 255
const maxTextLength = 20_000
const maxDescriptionLength = 100_000
const maxUrlLength = 2048
const maxFactUrlLength = 4096
const maxDuration = 2_147_483_647

/** Normalizes a name as the archive does. */
export const normalizeText = (text: string) => text.normalize('NFC').trim()

/** Returns whether a value is empty. */
export const isBlankValue = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0)

/** The functions that read each key. */
export const fieldReaders: Readonly<Record<string, (value: unknown) => FieldReading>> = {
  title: (value) => readText('title', value, maxNameLength, (text) => text.trim()),
  description: (value) => readText('description', value, maxDescriptionLength, rstToMarkdown),
  summary: (value) => readText('summary', value, maxTextLength, rstToMarkdown),
  quality_notes: (value) => readText('quality_notes', value, maxTextLength),
  copyright_text: (value) => readText('copyright_text', value, maxTextLength),
  speakers: (value) => readNames('speakers', value),
  tags: (value) => readNames('tags', value),
  recorded: readRecorded,
  language: readLanguage,
  duration: readDuration,
  thumbnail_url: readThumbnail,
  videos: readVideos,
  related_urls: readRelated,
  alias: readAlias,
}

const noReading: FieldReading = { fields: {}, facts: [], notes: [] }
const withNote = (
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

function readText(
  field: TextField,
  value: unknown,
  maxLength: number,
  convert: (text: string) => string = (text) => text,
): FieldReading {
  if (value === null) return { ...noReading, fields: { [field]: '' } }
  if (typeof value !== 'string')
    return withNote({ [field]: '' }, 'dropped', field, `was ${typeName(value)}, not a text`)
  const cleaned = clean(value)
  const converted = convert(cleaned)
  const notes: ImportNote[] = []
  if (cleaned !== value)
    notes.push({ kind: 'repaired', field, detail: 'had control characters, which were removed' })
  if (convert === rstToMarkdown && converted !== cleaned.replaceAll(/\r\n?|\n\r/g, '\n'))
    notes.push({
      kind: 'repaired',
      field,
      detail: 'was converted from reStructuredText to Markdown',
    })
  const truncated = truncate(converted, maxLength)
  const text = field === 'title' ? truncated.trim() : truncated
  if (text !== converted)
    notes.push({
      kind: 'dropped',
      field,
      detail: `had more than ${maxLength} characters, and was truncated`,
    })
  return { fields: { [field]: text }, facts: [], notes }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed
const controlCharacters = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g
const clean = (text: string) => text.toWellFormed().replaceAll(controlCharacters, '')
const isClean = (text: string) => clean(text) === text

/** Truncates a text without splitting a surrogate pair. */
const truncate = (text: string, maxLength: number) =>
  text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')

function typeName(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function readNames(field: 'speakers' | 'tags', value: unknown): FieldReading {
  if (isBlankValue(value)) return { ...noReading, fields: { [field]: [] } }
  const notes: ImportNote[] = []
  const noteDropped = (count: number, reason: string) => {
    if (count > 0) notes.push({ kind: 'dropped', field, detail: `${reason}: ${count}` })
  }
  const isList = Array.isArray(value) || typeof value === 'string'
  const entries = typeof value === 'string' ? [value] : readList(value)
  const texts = entries.filter((entry) => typeof entry === 'string')
  noteDropped(entries.length - texts.length + (isList ? 0 : 1), 'had entries that are no names')
  const cleaned = texts.map((text) => normalizeText(clean(text).replaceAll(/[\n\r\t]/g, ' ')))
  const present = cleaned.filter((name) => name !== '')
  noteDropped(cleaned.length - present.length, 'had empty names')
  const names = [...new Set(present.map((name) => normalizeText(truncate(name, maxNameLength))))]
  noteDropped(Math.max(0, names.length - maxNames), `had more than ${maxNames} names`)
  return { fields: { [field]: names.slice(0, maxNames) }, facts: [], notes }
}

function readRecorded(value: unknown): FieldReading {
  if (isBlankValue(value)) return { ...noReading, fields: { recorded: null } }
  const day = typeof value === 'string' ? readDate(value) : undefined
  if (day && !day.startsWith('0000')) return { ...noReading, fields: { recorded: day } }
  return withNote({ recorded: null }, 'dropped', 'recorded', 'is not a date (YYYY-MM-DD)')
}

function readLanguage(value: unknown): FieldReading {
  if (isBlankValue(value)) return noReading
  const name = typeof value === 'string' ? normalizeText(clean(value)) : ''
  if (name !== '' && name.length <= maxNameLength)
    return { ...noReading, fields: { language: name } }
  return withNote({}, 'dropped', 'language', 'is not a language code')
}

// Some events have minutes or milliseconds. Only comparing many talks shows which, so the number is
// not converted.
function readDuration(value: unknown): FieldReading {
  if (isBlankValue(value)) return { ...noReading, fields: { duration: null } }
  const seconds =
    typeof value === 'string' && /^\d{1,10}(\.\d+)?$/.test(value.trim()) ? Number(value) : value
  if (typeof seconds !== 'number' || !(seconds >= 0))
    return withNote({ duration: null }, 'dropped', 'duration', 'is not a number of seconds')
  if (seconds > maxDuration)
    return withNote({ duration: null }, 'dropped', 'duration', `is ${seconds}, which is too long`)
  const whole = Math.round(seconds)
  return whole === value
    ? { ...noReading, fields: { duration: whole } }
    : withNote({ duration: whole }, 'repaired', 'duration', `was converted to ${whole}`)
}

function readThumbnail(value: unknown): FieldReading {
  if (isBlankValue(value))
    return { ...noReading, fields: { thumbnail_url: value === '' ? '' : null } }
  if (isWebUrl(value)) return { ...noReading, fields: { thumbnail_url: value } }
  return withNote({ thumbnail_url: null }, 'dropped', 'thumbnail_url', 'is not a web address')
}

function isWebUrl(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= maxUrlLength &&
    /^https?:\/\/\S+$/i.test(value) &&
    isClean(value) &&
    URL.canParse(value)
  )
}

/** Returns whether a value can be the URL of a fact, which need not be a web address. */
function isFactUrl(value: unknown): value is string {
  return (
    typeof value === 'string' && value !== '' && value.length <= maxFactUrlLength && isClean(value)
  )
}

/** Returns whether a type is a file, and not a page on a host. */
const isFileType = (type: string) =>
  /^(mp4|webm|ogv|flv|mkv|avi|mov|m4v|mpe?g|wmv|3gp|mp3|m4a|ogg|opus|wav)$/i.test(type)

/** A smaller length is probably a number of seconds. */
const minBytes = 1_000_000

function readVideos(value: unknown): FieldReading {
  const fields: Record<string, string | number | null> = { source_url: null }
  for (const format of mediaFormats)
    Object.assign(fields, { [`video_${format}_url`]: null, [`video_${format}_length`]: null })
  const facts: Fact[] = []
  const notes: ImportNote[] = []
  const drop = (detail: string) => notes.push({ kind: 'dropped', field: 'videos', detail })
  if (!isBlankValue(value) && !Array.isArray(value)) drop(`was ${typeName(value)}, not a list`)
  for (const entry of readList(value)) {
    const url = isObject(entry) ? entry.url : undefined
    if (!isObject(entry) || !isFactUrl(url)) {
      drop('had an entry without a URL')
      continue
    }
    const type = typeof entry.type === 'string' ? truncate(clean(entry.type), 100) : ''
    const size = readSize(entry, type, notes)
    const format = mediaFormats.find((known) => known === type)
    if (!isWebUrl(url)) drop('had a URL that is not a web address, which was kept as a fact')
    if (isWebUrl(url) && format && fields[`video_${format}_url`] === null)
      Object.assign(fields, { [`video_${format}_url`]: url, [`video_${format}_length`]: size })
    else if (isWebUrl(url) && !isFileType(type) && fields.source_url === null)
      fields.source_url = url
    else facts.push({ kind: 'media', url, type, size })
  }
  return { fields: fields as ItemFields, facts, notes, kind: 'media' }
}

function readSize(entry: UnknownObject, type: string, notes: ImportNote[]): number | null {
  const { size, length } = entry
  const isPositive = (value: unknown): value is number =>
    Number.isSafeInteger(value) && (value as number) > 0
  if (isPositive(size)) return size
  if (isPositive(length) && length >= minBytes && isFileType(type)) return length
  const dropValue = (name: string, value: unknown) => {
    const text = JSON.stringify(value).slice(0, 20)
    const detail = `was ${text}, which is not a size in bytes; the video is kept`
    notes.push({ kind: 'dropped', field: `videos.${name}`, detail })
  }
  if (!isBlankValue(length)) dropValue('length', length)
  else if (!isBlankValue(size)) dropValue('size', size)
  return null
}

function readRelated(value: unknown): FieldReading {
  const facts: Fact[] = []
  const notes: ImportNote[] = []
  for (const entry of relatedEntries(value)) {
    const url = isObject(entry) ? entry.url : entry
    const label =
      isObject(entry) && typeof entry.label === 'string' ? truncate(clean(entry.label), 1000) : null
    if (isFactUrl(url)) facts.push({ kind: 'related', url, label })
    else
      notes.push({ kind: 'dropped', field: 'related_urls', detail: 'had an entry without a URL' })
  }
  return { fields: {}, facts, notes, kind: 'related' }
}

function relatedEntries(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return isBlankValue(value) ? [] : [value]
}

function readAlias(value: unknown): FieldReading {
  const isPath = typeof value === 'string' && value !== '' && value.length <= 1000 && isClean(value)
  return { ...noReading, facts: isPath ? [{ kind: 'address', path: value }] : [], kind: 'address' }
}
