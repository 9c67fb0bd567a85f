import { isDeepStrictEqual } from 'node:util'
import { type Fact, mediaFormats, type Video, videoDefaults } from '@talkshelf/contract'
import { slugify } from '../../platform/slug.ts'
import type { ImportNote, ItemFields } from '../item.ts'
import { languageCodeByName } from './languages.ts'
import {
  type FieldReading,
  fieldReaders,
  isBlankValue,
  maxListFacts,
  normalizeText,
} from './pyvideo-fields.ts'
import { readObject, type UnknownObject } from './text.ts'

// Converts one record from and to the pyvideo format. After reading, the record is written again
// and compared: whatever would be lost is kept as a fact. So the round trip is lossless, and common
// records have no fact but the name of their file. No I/O.

export const pyvideoSource = 'pyvideo'

/** The fields of a record that an export needs. */
export type PyvideoVideo = Pick<Video, 'id' | 'category' | 'slug' | (typeof writtenFields)[number]>

const writtenFields = [
  'title',
  'category',
  'language',
  'speakers',
  'tags',
  'summary',
  'description',
  'quality_notes',
  'copyright_text',
  'thumbnail_url',
  'duration',
  'recorded',
  'source_url',
  'video_mp4_url',
  'video_mp4_length',
  'video_webm_url',
  'video_webm_length',
  'video_ogv_url',
  'video_ogv_length',
  'video_flv_url',
  'video_flv_length',
] as const satisfies (keyof Video)[]

export interface PyvideoFile {
  /** The folder of the event. */
  readonly event: string
  readonly category_title: string
  /** `<event>/videos/<name>.json` */
  readonly file: string
  readonly record: Readonly<Record<string, unknown>>
}

/** Where a record comes from. */
interface RecordOrigin {
  readonly event: string
  readonly file: string
  readonly category: string
}

const maxId = 2_147_483_647

/** Converts a pyvideo record to the fields, facts and notes of an import item. */
export function readPyvideo(
  record: UnknownObject,
  origin: RecordOrigin,
  language: string | undefined,
): { fields: ItemFields; facts: Fact[]; notes: ImportNote[]; id?: number } {
  const readings = Object.entries(fieldReaders).flatMap(([key, read]) =>
    Object.hasOwn(record, key) ? [read(record[key])] : [],
  )
  const notes = readings.flatMap((reading) => reading.notes)
  const fields: ItemFields = Object.assign(
    { category: normalizeText(origin.category) },
    ...readings.map((reading) => reading.fields),
  )
  if (fields.language === undefined) {
    fields.language = language ?? 'und'
    const detail = `is missing: set to ${language ?? 'undetermined'}`
    notes.push({ kind: 'guessed', field: 'language', detail })
  }
  const facts = unique(readings.flatMap((reading) => reading.facts)).slice(0, maxListFacts)
  const { id, alias } = record
  // Only records of the former site have an alias, and an id that is still valid.
  const hasFormerId =
    typeof id === 'number' &&
    Number.isInteger(id) &&
    id > 0 &&
    id <= maxId &&
    typeof alias === 'string'
  return {
    fields,
    facts: [...facts, ...rawFacts(record, origin, fields, facts)],
    notes,
    ...(hasFormerId && { id }),
  }
}

/**
 * Converts a record to the pyvideo format. A field that was not edited since its import is written
 * with its original value.
 */
export function writePyvideo(video: PyvideoVideo, facts: readonly Fact[]): PyvideoFile {
  const raw = new Map(
    facts.flatMap((fact) =>
      fact.kind === 'said' && fact.source === pyvideoSource ? [[fact.field, fact.value]] : [],
    ),
  )
  const record = new Map(Object.entries(toRecord(video, facts)))
  for (const key of stringsIn(raw.get(missingKeys)))
    if (isBlankValue(record.get(key)) || formerKeys.includes(key)) record.delete(key)
  const rawKeys = [...raw].filter(([key]) => !reservedKeys.includes(key))
  for (const [key, value] of [...rawKeys, ...Object.entries(readObject(raw.get(otherKeys)))])
    if (isUnedited(key, value, video, facts)) record.set(key, value)
  const title = raw.get('category_title')
  const file = nonEmptyText(raw.get('file'))
  const event =
    nonEmptyText(raw.get('event')) ?? file?.split('/', 1)[0] ?? (slugify(video.category) || 'talks')
  return {
    event,
    category_title:
      typeof title === 'string' && normalizeText(title) === video.category ? title : video.category,
    file: file ?? `${event}/videos/${video.slug || slugify(video.title) || video.id}.json`,
    record: Object.fromEntries(record),
  }
}

const nonEmptyText = (value: unknown) =>
  typeof value === 'string' && value !== '' ? value : undefined
const stringsIn = (value: unknown) =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

// Names of facts that are not keys of the file. They are stored, so they must not change.
const missingKeys = '(left out)'
const otherKeys = '(others)'
/** Keys that describe the origin of a record, which are not part of the record itself. */
const originKeys = ['event', 'category_title', 'file']
const reservedKeys = [missingKeys, otherKeys, ...originKeys]
/** Keys that only records of the former site have. */
const formerKeys = ['id', 'slug', 'category']

/** Returns whether a key can be the name of a fact. */
const isFactName = (key: string) =>
  /^[^\p{Cc}]{1,100}$/u.test(key) && key.isWellFormed() && !reservedKeys.includes(key)
const maxFactKeys = 50

/** Returns facts with all that would be lost if the record was written again. */
function rawFacts(
  record: UnknownObject,
  origin: RecordOrigin,
  fields: ItemFields,
  facts: readonly Fact[],
): Fact[] {
  const raw: Fact[] = []
  const add = (field: string, value: unknown) =>
    raw.push({ kind: 'said', source: pyvideoSource, field, value })
  const stored = { ...videoDefaults, id: 0, slug: '', language: 'und', ...fields } as PyvideoVideo
  add('file', origin.file)
  if (origin.event !== origin.file.split('/', 1)[0]) add('event', origin.event)
  if (origin.category !== stored.category) add('category_title', origin.category)
  const written = toRecord(stored, facts)
  const missing = Object.keys(written).filter((key) => !Object.hasOwn(record, key))
  if (missing.length > 0) add(missingKeys, missing)
  const differing = Object.entries(record).filter(
    ([key, value]) =>
      !originKeys.includes(key) &&
      !(Object.hasOwn(written, key) && isDeepStrictEqual(value, written[key])),
  )
  const others = new Map<string, unknown>()
  for (const [index, [key, value]] of differing.entries())
    if (isFactName(key) && index < maxFactKeys) add(key, value)
    else others.set(key, value)
  if (others.size > 0) add(otherKeys, Object.fromEntries(others))
  return raw
}

/** Returns whether reading the original value again would give what the record has now. */
function isUnedited(
  key: string,
  value: unknown,
  video: PyvideoVideo,
  facts: readonly Fact[],
): boolean {
  const read = Object.hasOwn(fieldReaders, key) ? fieldReaders[key] : undefined
  if (!read) return true
  const reading = read(value)
  const isSame = (field: string, original: unknown) =>
    field === 'language'
      ? languageCodeByName(String(original)) === languageCodeByName(video.language)
      : isDeepStrictEqual(original, video[field as keyof PyvideoVideo])
  if (key === 'language' && reading.fields.language === undefined)
    return languageCodeByName(video.language) === 'und'
  return (
    Object.entries(reading.fields).every(([field, original]) => isSame(field, original)) &&
    hasSameFacts(reading, facts)
  )
}

function hasSameFacts({ kind, facts: original }: FieldReading, facts: readonly Fact[]): boolean {
  if (kind === undefined) return true
  const fingerprints = (list: readonly Fact[]) =>
    new Set(
      list
        .filter((fact) => fact.kind === kind)
        .map((fact) => JSON.stringify(Object.entries(fact).sort())),
    )
  return isDeepStrictEqual(
    fingerprints(unique(original).slice(0, maxListFacts)),
    fingerprints(facts),
  )
}

function unique(facts: readonly Fact[]): Fact[] {
  return [...new Map(facts.map((fact) => [JSON.stringify(fact), fact])).values()]
}

/** Converts a record without the original values of its import. */
function toRecord(video: PyvideoVideo, facts: readonly Fact[]): Record<string, unknown> {
  const code = languageCodeByName(video.language)
  const related = facts.flatMap((fact) => {
    if (fact.kind !== 'related') return []
    return [fact.label === null ? fact.url : { label: fact.label, url: fact.url }]
  })
  const path = facts.find((fact) => fact.kind === 'address')?.path
  const [, id, slug] = /^video\/(\d+)\/(.+)$/.exec(path ?? '') ?? []
  return {
    // A record of the former site has all the keys of that site.
    ...(path !== undefined && {
      alias: path,
      category: video.category,
      summary: video.summary,
      quality_notes: video.quality_notes,
    }),
    ...(id !== undefined && { id: Number(id), slug }),
    title: video.title,
    description: video.description,
    ...(video.summary !== '' && { summary: video.summary }),
    ...(video.quality_notes !== '' && { quality_notes: video.quality_notes }),
    speakers: video.speakers,
    tags: video.tags,
    recorded: video.recorded,
    ...(code !== 'und' && { language: code }),
    ...(video.duration !== null && { duration: video.duration }),
    ...(video.thumbnail_url !== null && { thumbnail_url: video.thumbnail_url }),
    ...(video.copyright_text !== '' && { copyright_text: video.copyright_text }),
    videos: toVideos(video, facts),
    ...(related.length > 0 && { related_urls: related }),
  }
}

function toVideos(video: PyvideoVideo, facts: readonly Fact[]): unknown[] {
  const withSize = (type: string, url: string, size: number | null) => ({
    type,
    url,
    ...(size !== null && { size }),
  })
  return [
    ...mediaFormats.flatMap((type) => {
      const url = video[`video_${type}_url`]
      return url ? [withSize(type, url, video[`video_${type}_length`])] : []
    }),
    ...(video.source_url ? [{ type: hostOf(video.source_url), url: video.source_url }] : []),
    ...facts.flatMap((fact) =>
      fact.kind === 'media' ? [withSize(fact.type, fact.url, fact.size)] : [],
    ),
  ]
}

const hosts = {
  youtube: /(^|\.)(youtube\.com|youtu\.be|youtube-nocookie\.com)$/,
  vimeo: /(^|\.)vimeo\.com$/,
  'archive.org': /(^|\.)archive\.org$/,
}

function hostOf(url: string): string {
  const { hostname, pathname } = URL.canParse(url) ? new URL(url) : { hostname: '', pathname: '' }
  for (const [name, host] of Object.entries(hosts)) if (host.test(hostname)) return name
  return /^\/(videos\/watch|w)\//.test(pathname)
    ? 'peertube'
    : hostname.replace(/^www\./, '') || 'other'
}
