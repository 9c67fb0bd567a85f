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
import { readEventProfile } from './profile.ts'
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

// Reads the public JSON of voctoweb sites such as media.ccc.de: a conference with its events, a
// list of events, or one event with its recordings.

const source = 'voctoweb'

export const voctoweb: ImportFormat = {
  name: source,
  about: 'the public JSON of a voctoweb site such as media.ccc.de: a conference or an event',

  recognises(head) {
    const keys = firstKeys(head)
    const has = (...names: string[]) => names.some((name) => keys.has(name))
    if (keys.has('acronym'))
      return has('events', 'webgen_location', 'recordings_url', 'schedule_url')
    if (keys.has('guid')) return has('frontend_link', 'conference_url', 'conference_title')
    if (keys.has('conferences')) return head.includes('"acronym"')
    return keys.has('events') && /"(frontend_link|conference_url|conference_title)"/.test(head)
  },

  async *read(files, options) {
    // Several events in a folder have the same conference, which is yielded once.
    const described = new Set<string>()
    for await (const file of files) {
      yield* limitItems(
        file.path,
        readFile(file.path, readJson(file.path, await file.text()), described, options),
      )
    }
  },
}

const validUrls = '/public/conferences/<acronym> or /public/events/<guid>'

function* readFile(
  path: string,
  file: unknown,
  described: Set<string>,
  options: ParseOptions,
): Generator<ParsedItem> {
  if (!isObject(file)) throw new InputRefused(`${path} is a list. Download ${validUrls}`)
  if (
    Array.isArray(file.conferences) ||
    (readTrimmedText(file.acronym) !== '' && !Array.isArray(file.events))
  ) {
    throw new InputRefused(
      `${path} has conferences without talks. Download one: /public/conferences/<acronym>`,
    )
  }
  const isConference = readTrimmedText(file.acronym) !== ''
  const conference = isConference ? readTrimmedText(file.title) : ''
  const events = Array.isArray(file.events) ? file.events : undefined
  if (events === undefined && readTrimmedText(file.guid) === '')
    throw new InputRefused(`${path} has no events. Download ${validUrls}`)
  if (isConference) yield* readConference(conference, file, described)
  for (const [index, event] of (events ?? [file]).entries()) {
    const place = events === undefined ? path : `${path}, event ${index + 1}`
    if (!isObject(event)) {
      yield { place, unreadable: 'Is not an event' }
      continue
    }
    const title = readTrimmedText(event.conference_title) || conference
    yield* readConference(title, {}, described)
    yield readEvent(event, place, title || options.category, options)
  }
}

function* readConference(
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
      ...readEventProfile({ logo_url: readUrl(conference.logo_url) }),
    },
  }
}

function readEvent(
  event: UnknownObject,
  place: string,
  category: string | undefined,
  options: ParseOptions,
): ImportItem | UnreadableItem {
  const eventTitle = readTrimmedText(event.title)
  const key = readTrimmedText(event.guid)
  if (eventTitle === '') return { place, unreadable: 'Has no title' }
  const notes: ImportNote[] = []
  const facts: Fact[] = []
  const subtitle = readTrimmedText(event.subtitle)
  const { title, isWhole } = joinTitle(eventTitle, subtitle, notes)
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
  const languages = readTrimmedText(event.original_language)
  const [first = ''] = languages.split('-')
  if (first !== languages)
    notes.push({
      kind: 'dropped',
      field: 'language',
      detail: `was ${languages} in the file: only the first one is kept`,
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
  const seconds = [duration, length].find((value) => typeof value === 'number' && value > 0)
  return typeof seconds === 'number' ? Math.round(seconds) : undefined
}

type VideoFormat = 'mp4' | 'webm' | 'ogv'

interface Recording {
  readonly url: string
  readonly type: string
  /** The format whose fields the recording can fill. */
  readonly format: VideoFormat | undefined
  readonly megabytes: number | undefined
  readonly rank: number
  readonly raw: UnknownObject
}

/** Reads the recordings: the best of each format fills its fields, all others become facts. */
function filesOf(
  event: UnknownObject,
  language: string,
  facts: Fact[],
  notes: ImportNote[],
): ItemFields {
  const fields: ItemFields = {}
  const best = new Map<VideoFormat, Recording>()
  const recordings = readList(event.recordings).flatMap(
    (value) => readRecording(value, language) ?? [],
  )
  for (const recording of recordings) {
    const { format, rank } = recording
    if (format !== undefined && rank > (best.get(format)?.rank ?? -1)) best.set(format, recording)
  }
  for (const [format, recording] of best) {
    fields[`video_${format}_url`] = recording.url
    const size = bytesOf(recording)
    if (size === null) continue
    fields[`video_${format}_length`] = size
    notes.push({
      kind: 'guessed',
      field: `video_${format}_length`,
      detail: `was calculated from ${recording.megabytes} MB, which is rounded`,
    })
  }
  for (const recording of recordings)
    if (recording.format === undefined || best.get(recording.format) !== recording)
      facts.push(factOf(recording))
  return fields
}

function readRecording(value: unknown, original: string): Recording | undefined {
  const raw = isObject(value) ? value : {}
  const url = readUrl(raw.recording_url)
  const mime = readTrimmedText(raw.mime_type).toLowerCase()
  if (url === undefined || mime === '') return undefined
  const format = formatOf(mime)
  const isSlides = /slides/.test(readTrimmedText(raw.folder))
  const isOriginal = original === '' || readTrimmedText(raw.language).split('-').includes(original)
  const isHigh = raw.high_quality === true || /-hd$/.test(mime)
  const width = typeof raw.width === 'number' ? Math.min(Math.max(raw.width, 0), 99_999) : 0
  const rank = (isSlides ? 0 : 4e6) + (isOriginal ? 2e6 : 0) + (isHigh ? 1e6 : 0) + width
  const megabytes =
    typeof raw.size === 'number' && raw.size > 0 && raw.size < 1e9 ? raw.size : undefined
  const type = format ?? mime.replace(/^(audio|video)\//, '').replace(/^mpeg$/, 'mp3')
  return { url, type, format, megabytes, rank, raw }
}

// Old sites have their own types, such as vnd.voc/h264-hd and vnd.voc/webm-web.
function formatOf(mime: string): VideoFormat | undefined {
  if (!mime.startsWith('vnd.voc/') && !mime.startsWith('video/')) return undefined
  if (/webm/.test(mime)) return 'webm'
  if (/ogg/.test(mime)) return 'ogv'
  return /mp4|h264/.test(mime) ? 'mp4' : undefined
}

function bytesOf({ megabytes }: Recording): number | null {
  return megabytes === undefined ? null : Math.round(megabytes * 1024 * 1024)
}

/** Converts a recording to a fact. Subtitles and slides are related links, not media. */
function factOf(recording: Recording): Fact {
  const { url, type, format, raw } = recording
  const mime = readTrimmedText(raw.mime_type)
  if (format !== undefined || /^(audio|video)\//i.test(mime))
    return { kind: 'media', url, type, size: bytesOf(recording) }
  const label = labelOf(mime)
  const language = readTrimmedText(raw.language)
  return { kind: 'related', url, label: language === '' ? label : `${label} (${language})` }
}

function labelOf(mime: string): string {
  if (/subrip|vtt/i.test(mime)) return 'subtitles'
  return /pdf/i.test(mime) ? 'slides' : mime
}
