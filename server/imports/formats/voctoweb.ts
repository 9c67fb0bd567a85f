import type { Fact } from '@talkshelf/contract'
import {
  type ImportFormat,
  type ImportItem,
  type ImportNote,
  InputRefused,
  type ItemFields,
  type ParsedItem,
  type ParseOptions,
  type UnreadableItem,
} from '../item.ts'
import {
  firstKeys,
  isObject,
  joinTitle,
  limitItems,
  presentFields,
  readDate,
  readJson,
  readList,
  readMarkdown,
  readNames,
  readTrimmedText,
  readUrl,
  type UnknownObject,
} from './text.ts'

// The public JSON of sites that run voctoweb, media.ccc.de among them: a conference with its
// events, some events, or one event with its recordings.

const source = 'voctoweb'

export const voctoweb: ImportFormat = {
  name: source,
  about:
    'the public JSON of a voctoweb site such as media.ccc.de: /public/conferences/<acronym> or /public/events/<guid>',

  recognises(begin) {
    const keys = firstKeys(begin)
    const has = (...names: string[]) => names.some((name) => keys.has(name))
    if (keys.has('acronym'))
      return has('events', 'webgen_location', 'recordings_url', 'schedule_url')
    if (keys.has('guid')) return has('frontend_link', 'conference_url', 'conference_title')
    if (keys.has('conferences')) return begin.includes('"acronym"')
    return keys.has('events') && /"(frontend_link|conference_url|conference_title)"/.test(begin)
  },

  async *read(files, options) {
    // Each event of a folder names its conference, which is described once.
    const described = new Set<string>()
    for await (const file of files) {
      yield* limitItems(
        file.path,
        readFile(file.path, readJson(file.path, await file.text()), described, options),
      )
    }
  },
}

function* readFile(
  path: string,
  file: unknown,
  described: Set<string>,
  options: ParseOptions,
): Generator<ParsedItem> {
  if (!isObject(file))
    throw new InputRefused(
      `${path} is a list. Give the answer of /public/conferences/<acronym> or /public/events/<guid>`,
    )
  if (
    Array.isArray(file.conferences) ||
    (readTrimmedText(file.acronym) !== '' && !Array.isArray(file.events))
  ) {
    throw new InputRefused(
      `${path} tells of conferences without their talks. Give one conference: /public/conferences/<acronym>`,
    )
  }
  const isConference = readTrimmedText(file.acronym) !== ''
  const conference = isConference ? readTrimmedText(file.title) : ''
  const many = Array.isArray(file.events) ? file.events : undefined
  if (many === undefined && readTrimmedText(file.guid) === '') {
    throw new InputRefused(
      `${path} has no events. Give the answer of /public/conferences/<acronym> or /public/events/<guid>`,
    )
  }
  if (isConference) yield* describe(conference, file, described)
  for (const [number, event] of (many ?? [file]).entries()) {
    const place = many === undefined ? path : `${path}, event ${number + 1}`
    if (!isObject(event)) {
      yield { place, unreadable: 'is not an event' }
      continue
    }
    const title = readTrimmedText(event.conference_title) || conference
    yield* describe(title, {}, described)
    yield readEvent(event, place, title || options.category, options)
  }
}

function* describe(
  title: string,
  conference: UnknownObject,
  described: Set<string>,
): Generator<ParsedItem> {
  if (title === '' || described.has(title)) return
  described.add(title)
  const url = readUrl(conference.link)
  const description = readMarkdown(conference.description, 'description', [])
  yield {
    category: {
      title,
      ...(url === undefined ? {} : { url }),
      ...(description === '' ? {} : { description }),
    },
  }
}

function readEvent(
  event: UnknownObject,
  place: string,
  category: string | undefined,
  options: ParseOptions,
): ImportItem | UnreadableItem {
  const own = readTrimmedText(event.title)
  const key = readTrimmedText(event.guid)
  if (own === '') return { place, unreadable: 'has no title' }
  const notes: ImportNote[] = []
  const facts: Fact[] = []
  const subtitle = readTrimmedText(event.subtitle)
  const { title, isWhole } = joinTitle(subtitle, own, notes)
  if (!isWhole) facts.push({ kind: 'said', source, field: 'subtitle', value: subtitle })

  const link = readUrl(event.link)
  if (link !== undefined) facts.push({ kind: 'related', url: link, label: null })
  const doi = readTrimmedText(event.doi ?? event.doi_url).replace(
    /^(https?:\/\/(dx\.)?doi\.org\/|doi:)/i,
    '',
  )
  if (/^10\.\d+\/\S+$/.test(doi))
    facts.push({ kind: 'related', url: `https://doi.org/${doi}`, label: 'DOI' })

  const language = languageOf(event, notes)
  const fields = presentFields({
    title,
    description: readMarkdown(event.description, 'description', notes),
    category,
    language: language || options.language,
    speakers: readNames(event.persons, 'speakers', notes),
    tags: readNames(event.tags, 'tags', notes),
    recorded: recordedOf(event, notes),
    duration: durationOf(event),
    source_url: readUrl(event.frontend_link),
    thumbnail_url: readUrl(event.thumb_url) ?? readUrl(event.poster_url),
    ...filesOf(event, language, facts, notes),
  })
  return { place, ...(key === '' ? {} : { key }), fields, facts, notes }
}

function languageOf(event: UnknownObject, notes: ImportNote[]): string {
  const said = readTrimmedText(event.original_language)
  const [first = ''] = said.split('-')
  if (first !== said)
    notes.push({
      kind: 'dropped',
      field: 'language',
      detail: `is ${said} in the file; the first one is kept`,
    })
  return first
}

function recordedOf(event: UnknownObject, notes: ImportNote[]): string | undefined {
  const day = readDate(event.date)
  if (day !== undefined) return day
  const released = readDate(event.release_date)
  if (released !== undefined)
    notes.push({ kind: 'guessed', field: 'recorded', detail: 'is the day of the release' })
  return released
}

function durationOf({ duration, length }: UnknownObject): number | undefined {
  const seconds = [duration, length].find((it) => typeof it === 'number' && it > 0)
  return typeof seconds === 'number' ? Math.round(seconds) : undefined
}

type Place = 'mp4' | 'webm' | 'ogv'

interface Recording {
  readonly url: string
  readonly type: string
  readonly place: Place | undefined
  readonly megabytes: number | undefined
  readonly rank: number
  readonly said: UnknownObject
}

/** The best of each format has a field; all others are facts. */
function filesOf(
  event: UnknownObject,
  language: string,
  facts: Fact[],
  notes: ImportNote[],
): ItemFields {
  const fields: ItemFields = {}
  const best = new Map<Place, Recording>()
  const all = readList(event.recordings).flatMap((it) => recordingIn(it, language) ?? [])
  for (const one of all)
    if (one.place !== undefined && one.rank > (best.get(one.place)?.rank ?? -1))
      best.set(one.place, one)
  for (const [place, one] of best) {
    fields[`video_${place}_url`] = one.url
    const size = bytesOf(one)
    if (size === null) continue
    fields[`video_${place}_length`] = size
    notes.push({
      kind: 'guessed',
      field: `video_${place}_length`,
      detail: `is ${one.megabytes} MB in the file, which is rounded`,
    })
  }
  for (const one of all)
    if (one.place === undefined || best.get(one.place) !== one) facts.push(factOf(one))
  return fields
}

function recordingIn(value: unknown, original: string): Recording | undefined {
  const said = isObject(value) ? value : {}
  const url = readUrl(said.recording_url)
  const mime = readTrimmedText(said.mime_type).toLowerCase()
  if (url === undefined || mime === '') return undefined
  // Old answers have types of their own, such as vnd.voc/h264-hd and vnd.voc/webm-web.
  const isOwn = mime.startsWith('vnd.voc/')
  const isVideo = isOwn || mime.startsWith('video/')
  const place = !isVideo
    ? undefined
    : /webm/.test(mime)
      ? 'webm'
      : /ogg/.test(mime)
        ? 'ogv'
        : /mp4|h264/.test(mime)
          ? 'mp4'
          : undefined
  const isSlides = /slides/.test(readTrimmedText(said.folder))
  const isOriginal = original === '' || readTrimmedText(said.language).split('-').includes(original)
  const isHigh = said.high_quality === true || /-hd$/.test(mime)
  const width = typeof said.width === 'number' ? Math.min(Math.max(said.width, 0), 99_999) : 0
  const rank = (isSlides ? 0 : 4e6) + (isOriginal ? 2e6 : 0) + (isHigh ? 1e6 : 0) + width
  const megabytes =
    typeof said.size === 'number' && said.size > 0 && said.size < 1e9 ? said.size : undefined
  const type = place ?? mime.replace(/^(audio|video)\//, '').replace(/^mpeg$/, 'mp3')
  return { url, type, place, megabytes, rank, said }
}

function bytesOf({ megabytes }: Recording): number | null {
  return megabytes === undefined ? null : Math.round(megabytes * 1024 * 1024)
}

/** Subtitles and slides are no copies of the recording. */
function factOf(one: Recording): Fact {
  const mime = readTrimmedText(one.said.mime_type)
  if (one.place !== undefined || /^(audio|video)\//i.test(mime))
    return { kind: 'media', url: one.url, type: one.type, size: bytesOf(one) }
  const what = /subrip|vtt/i.test(mime) ? 'subtitles' : /pdf/i.test(mime) ? 'slides' : mime
  const language = readTrimmedText(one.said.language)
  return { kind: 'related', url: one.url, label: language === '' ? what : `${what} (${language})` }
}
