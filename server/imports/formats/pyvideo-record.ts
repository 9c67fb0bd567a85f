import { isDeepStrictEqual } from 'node:util'
import { type Fact, type Video, videoDefaults } from '@talkshelf/contract'
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

// One record of the pyvideo kind, both ways. What is written from a record and its facts is
// compared with what was read, at once, and whatever would not come back is kept as a fact: so
// nothing is lost, and common records need no facts but the name of their file. No I/O.

export const pyvideoSource = 'pyvideo'

/** The fields of a record that are written. */
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

/** What a record says, as a draft has it. `place` is what is known from where it stands. */
export function readPyvideo(
  given: UnknownObject,
  place: { readonly event: string; readonly file: string; readonly category: string },
  language: string | undefined,
): { fields: ItemFields; facts: Fact[]; notes: ImportNote[]; id?: number } {
  const parts = Object.entries(fieldReaders).flatMap(([key, read]) =>
    Object.hasOwn(given, key) ? [read(given[key])] : [],
  )
  const notes = parts.flatMap((part) => part.notes)
  const fields: ItemFields = Object.assign(
    { category: normalizeText(place.category) },
    ...parts.map((part) => part.fields),
  )
  if (fields.language === undefined) {
    fields.language = language ?? 'und'
    const detail =
      language === undefined
        ? 'is not said, and is undetermined here'
        : `is not said, and is taken to be ${language}`
    notes.push({ kind: 'guessed', field: 'language', detail })
  }
  const facts = onlyOnce(parts.flatMap((part) => part.facts)).slice(0, maxListFacts)
  const { id, alias } = given
  const isFormer =
    typeof id === 'number' &&
    Number.isInteger(id) &&
    id > 0 &&
    id <= 2_147_483_647 &&
    typeof alias === 'string'
  return {
    fields,
    facts: [...facts, ...saidFacts(given, place, fields, facts)],
    notes,
    ...(isFormer && { id }),
  }
}

/**
 * A record of the archive as a file of the pyvideo kind. A field that says what an import made of
 * it is written as the import found it.
 */
export function writePyvideo(video: PyvideoVideo, facts: readonly Fact[]): PyvideoFile {
  const said = new Map(
    facts.flatMap((fact) =>
      fact.kind === 'said' && fact.source === pyvideoSource ? [[fact.field, fact.value]] : [],
    ),
  )
  const record = new Map(Object.entries(plain(video, facts)))
  for (const key of listOf(said.get(leftOut)))
    if (isBlankValue(record.get(key)) || former.includes(key)) record.delete(key)
  const kept = [...said].filter(([key]) => !own.includes(key))
  for (const [key, value] of [...kept, ...Object.entries(readObject(said.get(others)))])
    if (stillSays(key, value, video, facts)) record.set(key, value)
  const title = said.get('category_title')
  const file = said.get('file')
  const named = slugify(video.category) || 'talks'
  const event = textOf(said.get('event')) ?? textOf(file)?.split('/', 1)[0] ?? named
  return {
    event,
    category_title:
      typeof title === 'string' && normalizeText(title) === video.category ? title : video.category,
    file: textOf(file) ?? `${event}/videos/${video.slug || slugify(video.title) || video.id}.json`,
    record: Object.fromEntries(record),
  }
}

const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
const listOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((it) => typeof it === 'string') : []

// Names of facts that are no keys of the file.
const leftOut = '(left out)'
const others = '(others)'
/** What is said of the place of a record, and by names of our own: no part of the record itself. */
const own = [leftOut, others, 'event', 'category_title', 'file']
/** What records of the former site have. */
const former = ['id', 'slug', 'category']

/** Some keys have names that a fact can't have. And a file can have any number of them. */
const isField = (key: string) =>
  /^[^\p{Cc}]{1,100}$/u.test(key) && key.isWellFormed() && !own.includes(key)
const maxKeys = 50

/** What would not come back as it is in the file. */
function saidFacts(
  given: UnknownObject,
  place: { event: string; file: string; category: string },
  fields: ItemFields,
  facts: readonly Fact[],
): Fact[] {
  const said: Fact[] = []
  const say = (field: string, value: unknown) =>
    said.push({ kind: 'said', source: pyvideoSource, field, value })
  const stored = { ...videoDefaults, id: 0, slug: '', language: 'und', ...fields } as PyvideoVideo
  say('file', place.file)
  if (place.event !== place.file.split('/', 1)[0]) say('event', place.event)
  if (place.category !== stored.category) say('category_title', place.category)
  const written = plain(stored, facts)
  const missing = Object.keys(written).filter((key) => !Object.hasOwn(given, key))
  if (missing.length > 0) say(leftOut, missing)
  const differing = Object.entries(given).filter(
    ([key, value]) =>
      !ofPlace(key) && !(Object.hasOwn(written, key) && isDeepStrictEqual(value, written[key])),
  )
  const rest = new Map<string, unknown>()
  for (const [at, [key, value]] of differing.entries())
    if (isField(key) && at < maxKeys) say(key, value)
    else rest.set(key, value)
  if (rest.size > 0) say(others, Object.fromEntries(rest))
  return said
}

const ofPlace = (key: string) => key === 'event' || key === 'category_title' || key === 'file'

/**
 * Whether the record has what would be read from this value. Where nothing would, it is only kept.
 */
function stillSays(
  key: string,
  value: unknown,
  video: PyvideoVideo,
  facts: readonly Fact[],
): boolean {
  const read = Object.hasOwn(fieldReaders, key) ? fieldReaders[key] : undefined
  if (!read) return true
  const part = read(value)
  const isSame = (field: string, it: unknown) =>
    field === 'language'
      ? languageCodeByName(String(it)) === languageCodeByName(video.language)
      : isDeepStrictEqual(it, video[field as keyof PyvideoVideo])
  if (key === 'language' && part.fields.language === undefined)
    return languageCodeByName(video.language) === 'und'
  return (
    Object.entries(part.fields).every(([field, it]) => isSame(field, it)) && hasFacts(part, facts)
  )
}

function hasFacts({ kind, facts: read }: FieldReading, facts: readonly Fact[]): boolean {
  if (kind === undefined) return true
  const marks = (all: readonly Fact[]) =>
    new Set(
      all
        .filter((fact) => fact.kind === kind)
        .map((fact) => JSON.stringify(Object.entries(fact).sort())),
    )
  return isDeepStrictEqual(marks(onlyOnce(read).slice(0, maxListFacts)), marks(facts))
}

/** Nothing is kept twice. */
function onlyOnce(facts: readonly Fact[]): Fact[] {
  const seen = new Map(facts.map((fact) => [JSON.stringify(fact), fact]))
  return [...seen.values()]
}

/** The record as it is written where no import said anything about it. */
function plain(video: PyvideoVideo, facts: readonly Fact[]): Record<string, unknown> {
  const code = languageCodeByName(video.language)
  const related = facts.flatMap((it) =>
    it.kind === 'related' ? [it.label === null ? it.url : { label: it.label, url: it.url }] : [],
  )
  const path = facts.find((fact) => fact.kind === 'address')?.path
  const [, id, slug] = /^video\/(\d+)\/(.+)$/.exec(path ?? '') ?? []
  return {
    // Whatever came from the former site has all the fields that it had.
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
    videos: mediaOf(video, facts),
    ...(related.length > 0 && { related_urls: related }),
  }
}

function mediaOf(video: PyvideoVideo, facts: readonly Fact[]): unknown[] {
  const sized = (type: string, url: string, size: number | null) => ({
    type,
    url,
    ...(size !== null && { size }),
  })
  return [
    ...(['mp4', 'webm', 'ogv', 'flv'] as const).flatMap((type) => {
      const url = video[`video_${type}_url`]
      return url ? [sized(type, url, video[`video_${type}_length`])] : []
    }),
    ...(video.source_url ? [{ type: hostOf(video.source_url), url: video.source_url }] : []),
    ...facts.flatMap((fact) =>
      fact.kind === 'media' ? [sized(fact.type, fact.url, fact.size)] : [],
    ),
  ]
}

const hosts = {
  youtube: /(^|\.)(youtube\.com|youtu\.be|youtube-nocookie\.com)$/,
  vimeo: /(^|\.)vimeo\.com$/,
  'archive.org': /(^|\.)archive\.org$/,
}

function hostOf(address: string): string {
  const { hostname, pathname } = URL.canParse(address)
    ? new URL(address)
    : { hostname: '', pathname: '' }
  for (const [name, host] of Object.entries(hosts)) if (host.test(hostname)) return name
  return /^\/(videos\/watch|w)\//.test(pathname)
    ? 'peertube'
    : hostname.replace(/^www\./, '') || 'other'
}
