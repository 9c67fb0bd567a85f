import { CategoryInput, type Fact, validationErrors } from '@talkshelf/contract'
import type {
  ImportFormat,
  ImportItem,
  ImportNote,
  ParsedItem,
  ParseOptions,
  UnreadableItem,
} from '../item.ts'
import { readEventProfile } from './profile.ts'
import {
  firstKeys,
  isObject,
  limitItems,
  presentFields,
  readDate,
  readJson,
  readList,
  readNames,
  readTrimmedText,
  readUrl,
  type UnknownObject,
} from './text.ts'
import { findEvent, type SplitTitle, splitTitles } from './title-pattern.ts'

// Reads the metadata that yt-dlp writes about videos. Most of its hundreds of fields are about
// files and streams, and are ignored. It has no speakers: they are found in titles if most titles of
// a playlist have the same pattern.

/** A channel has playlists, and a playlist has videos. Deeper nesting is malicious. */
const maxDepth = 8

export const ytdlp: ImportFormat = {
  name: 'yt-dlp',
  about: 'the JSON of yt-dlp for a video, playlist or channel (-J, -j or --write-info-json)',

  recognises(head) {
    const keys = firstKeys(head)
    if (keys.has('_type'))
      return /"_type"\s*:\s*"(playlist|multi_video|url|url_transparent|video)"/.test(head)
    // The list of formats comes first, and can be longer than the beginning.
    return (
      keys.has('ie_key') ||
      keys.has('extractor_key') ||
      (keys.has('id') && keys.has('formats') && head.includes('"format_id"'))
    )
  },

  async *read(files, options) {
    const items: ParsedItem[] = []
    for await (const file of files)
      for (const item of limitItems(file.path, readText(file.path, await file.text(), options)))
        items.push(item)
    const named = options.category === undefined ? nameEvents(items) : items
    const dated = options.recorded === undefined ? datePlaylists(named) : named
    const split = options.keepTitles ? dated : splitPlaylistTitles(dated)
    yield* split.map((item) => ('fields' in item ? withFallback(item) : item))
  },
}

/** Makes a fallback of what was guessed, so that it does not replace what a record has. */
function withFallback(talk: ImportItem): ImportItem {
  const isGuess = ([name]: [string, unknown]) =>
    (name === 'category' || name === 'recorded') && talk.notes.some(({ field }) => field === name)
  const [guesses = [], others = []] = [true, false].map((wanted) =>
    Object.entries(talk.fields).filter((entry) => isGuess(entry) === wanted),
  )
  if (guesses.length === 0) return talk
  return { ...talk, fields: Object.fromEntries(others), fallback: Object.fromEntries(guesses) }
}

/** Groups the talks of each playlist by its title, which is their category. */
function playlistsOf(items: readonly ParsedItem[]): Map<string | undefined, ImportItem[]> {
  const talks = items.filter((item) => 'fields' in item)
  return Map.groupBy(talks, ({ fields }) => fields.category)
}

/** Replaces talks by changed ones, in the same order. */
function replaceItems(
  items: readonly ParsedItem[],
  changed: ReadonlyMap<ParsedItem, ImportItem>,
): ParsedItem[] {
  return items.map((item) => changed.get(item) ?? item)
}

/** Names the event of a playlist as the titles of its talks do, without "all talks" and the like. */
function nameEvents(items: readonly ParsedItem[]): ParsedItem[] {
  const names = new Map<string | undefined, string>()
  for (const [title, talks] of playlistsOf(items)) {
    const event = findEvent(
      talks.map(({ fields }) => fields.title ?? ''),
      title ?? '',
    )
    if (event) names.set(title, event)
  }
  return items.map((item) => {
    const name = names.get('fields' in item ? item.fields.category : titleOf(item))
    if (name === undefined) return item
    if ('fields' in item) return { ...item, fields: { ...item.fields, category: name } }
    return 'category' in item ? { category: { ...item.category, title: name } } : item
  })
}

const titleOf = (item: ParsedItem) => ('category' in item ? item.category.title : undefined)

/** Takes speakers from the titles of a playlist if most of them have the same pattern. */
function splitPlaylistTitles(items: readonly ParsedItem[]): ParsedItem[] {
  const changed = new Map<ParsedItem, ImportItem>()
  for (const [event, talks] of playlistsOf(items)) {
    const split = splitTitles(
      talks.map(({ fields }) => fields.title ?? ''),
      event ?? '',
    )
    for (const [index, talk] of talks.entries()) {
      const result = split?.[index]
      if (result && result.title !== talk.fields.title) changed.set(talk, withTitle(talk, result))
    }
  }
  return replaceItems(items, changed)
}

function withTitle(talk: ImportItem, { title, speakers }: SplitTitle): ImportItem {
  const original = talk.fields.title ?? ''
  const field = speakers.length > 0 ? 'speakers' : 'title'
  const detail = `${speakers.length > 0 ? 'are from the title' : 'was'} “${original}”`
  return {
    ...talk,
    fields: { ...talk.fields, title, ...(speakers.length > 0 && { speakers: [...speakers] }) },
    facts: [...talk.facts, { kind: 'said', source: 'yt-dlp', field: 'title', value: original }],
    notes: [...talk.notes, { kind: 'guessed', field, detail }],
  }
}

/** Dates the talks of a playlist without any date by the year in its title. */
function datePlaylists(items: readonly ParsedItem[]): ParsedItem[] {
  const changed = new Map<ParsedItem, ImportItem>()
  for (const [event, talks] of playlistsOf(items)) {
    const year = yearIn(event ?? '')
    if (year === undefined || talks.some(({ fields }) => fields.recorded !== undefined)) continue
    for (const talk of talks) {
      const detail = `is not in the file: set to 1 January ${year}, by the title of the event`
      changed.set(talk, {
        ...talk,
        fields: { ...talk.fields, recorded: `${year}-01-01` },
        notes: [
          ...talk.notes,
          { kind: 'warning', code: 'guessed-date', field: 'recorded', detail },
        ],
      })
    }
  }
  return replaceItems(items, changed)
}

/** Returns the only year in a title, from 1950 on. */
function yearIn(title: string): string | undefined {
  const years = new Set(title.match(/(?<!\d)(?:19[5-9]\d|20\d\d)(?!\d)/g))
  return years.size === 1 ? [...years][0] : undefined
}

function* readText(path: string, text: string, options: ParseOptions): Generator<ParsedItem> {
  const lines = text.split('\n')
  if (!isLineByLine(lines)) {
    const value = readJson(path, text)
    if (!Array.isArray(value)) return yield* readEntry(value, path, undefined, 0, options)
    for (const [index, entry] of value.entries())
      yield* readEntry(entry, `${path}, entry ${index + 1}`, undefined, 0, options)
    return
  }
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const place = `${path}, line ${index + 1}`
    const value = parseOrUndefined(line)
    if (value === undefined) yield { place, unreadable: 'Is not valid JSON. Run yt-dlp again' }
    else yield* readEntry(value, place, undefined, 0, options)
  }
}

/** Returns whether each line is a value: the first one is, and there is another line. */
function isLineByLine(lines: readonly string[]): boolean {
  const [first, second] = lines.filter((line) => line.trim() !== '')
  return first !== undefined && second !== undefined && isObject(parseOrUndefined(first))
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    return undefined
  }
}

/** The playlist that an entry was found in. */
interface PlaylistEntry {
  readonly title: string
  readonly position: number
}

function* readEntry(
  value: unknown,
  place: string,
  playlist: PlaylistEntry | undefined,
  depth: number,
  options: ParseOptions,
): Generator<ParsedItem> {
  if (!isObject(value)) yield { place, unreadable: 'Is empty: yt-dlp could not read this video' }
  else if (value._type !== 'playlist' && value._type !== 'multi_video')
    yield readVideo(value, place, playlist, options)
  else if (!Array.isArray(value.entries))
    yield { place, unreadable: 'Is a playlist without entries' }
  else if (depth >= maxDepth) yield { place, unreadable: `Is a playlist inside ${maxDepth} others` }
  else {
    const title = readTrimmedText(value.title)
    const category = options.category ?? title.replace(channelTab, '')
    // A playlist inside of another one does not describe the event that the import was given.
    let isDescribed = depth > 0 && options.category !== undefined
    for (const [index, entry] of value.entries.entries()) {
      const entryPlace = `${place}, entry ${index + 1}`
      const playlist = { title, position: index + 1 }
      for (const item of readEntry(entry, entryPlace, playlist, depth + 1, options)) {
        if (!isDescribed && 'fields' in item && item.fields.category === category) {
          isDescribed = true
          yield* describeEvent(category, value)
        }
        yield item
      }
    }
  }
}

/** Describes the event of a playlist, if the playlist has a text or an address. */
function* describeEvent(title: string, playlist: UnknownObject): Generator<ParsedItem> {
  const description = readTrimmedText(playlist.description)
  const url = readUrl(playlist.webpage_url)
  const { links } = readEventProfile({ links: [{ kind: 'videos', url }] })
  const category = { title, ...(description !== '' && { description }), ...(links && { links }) }
  const isValid = validationErrors(CategoryInput, category).length === 0
  if (isValid && (description !== '' || links)) yield { category }
}

/** What YouTube appends to the name of a channel: `PyConf - Videos`. */
const channelTab = / - (Videos|Live|Shorts|Podcasts)$/

/**
 * Returns the position of a video in its playlist as a fact. A channel has none: it lists the
 * newest first.
 */
function positionFacts(video: UnknownObject, playlist: PlaylistEntry | undefined): Fact[] {
  const title = readTrimmedText(video.playlist_title) || (playlist?.title ?? '')
  const position = Number(video.playlist_index ?? playlist?.position)
  const isPosition = Number.isInteger(position) && position >= 1 && position < 2 ** 31
  return isPosition && !channelTab.test(title) ? [{ kind: 'programme', position }] : []
}

function readVideo(
  video: UnknownObject,
  place: string,
  playlist: PlaylistEntry | undefined,
  options: ParseOptions,
): ImportItem | UnreadableItem {
  const id = readTrimmedText(video.id)
  const title = readTrimmedText(video.title)
  const host = hostOf(video)
  if (id === '') return { place, unreadable: 'Has no id' }
  if (/^\[(private|deleted) video\]$/i.test(title))
    return { place, unreadable: `Is a ${title.slice(1, -1).toLowerCase()} (${id})` }
  if (/(tab|playlist|channel|user)$/.test(host)) {
    return {
      place,
      unreadable: `Is only a link to a playlist (${id}). Run yt-dlp on the playlist itself`,
    }
  }
  if (video.live_status === 'is_upcoming')
    return { place, unreadable: `Has not been streamed yet (${id})` }
  if (title === '') return { place, unreadable: `Has no title (${id})` }

  const notes: ImportNote[] = []
  const fields = presentFields({
    title,
    description: readTrimmedText(video.description),
    category: categoryOf(video, playlist, options, notes),
    language: readTrimmedText(video.language) || options.language,
    tags: readNames(video.tags, 'tags', notes),
    duration: durationOf(video, notes),
    recorded: recordedOf(video, options, notes),
    copyright_text: readTrimmedText(video.license),
    thumbnail_url: readUrl(video.thumbnail) ?? widest(video.thumbnails),
    source_url: sourceOf(video, host, id),
  })
  const facts = positionFacts(video, playlist)
  return { place, ...(host === '' ? {} : { key: `${host}:${id}` }), fields, facts, notes }
}

/** Returns the host of a video. An entry of a list has `ie_key`, a full video `extractor_key`. */
function hostOf(video: UnknownObject): string {
  const name =
    readTrimmedText(video.ie_key) ||
    readTrimmedText(video.extractor_key) ||
    readTrimmedText(video.extractor)
  if (name !== '') return name.toLowerCase()
  return /^https?:\/\/(www\.)?(youtube\.com\/watch|youtu\.be\/)/.test(readTrimmedText(video.url))
    ? 'youtube'
    : ''
}

function sourceOf(video: UnknownObject, host: string, id: string): string | undefined {
  if (host === 'youtube' && /^[\w-]{11}$/.test(id)) return `https://www.youtube.com/watch?v=${id}`
  // In a full video, `url` is a stream that expires after some hours.
  return (
    readUrl(video.webpage_url) ??
    (/^url/.test(readTrimmedText(video._type)) ? readUrl(video.url) : undefined)
  )
}

function categoryOf(
  video: UnknownObject,
  playlist: PlaylistEntry | undefined,
  options: ParseOptions,
  notes: ImportNote[],
): string | undefined {
  if (options.category !== undefined) return options.category
  const fullTitle = readTrimmedText(video.playlist_title) || (playlist?.title ?? '')
  const title = fullTitle.replace(channelTab, '')
  if (title !== '')
    notes.push({ kind: 'guessed', field: 'category', detail: 'is the title of the playlist' })
  return title
}

function durationOf({ duration }: UnknownObject, notes: ImportNote[]): number | undefined {
  if (typeof duration !== 'number' || !(duration > 0)) return undefined
  const seconds = Math.round(duration)
  if (seconds !== duration)
    notes.push({
      kind: 'repaired',
      field: 'duration',
      detail: `was rounded from ${duration} to ${seconds} seconds`,
    })
  return seconds
}

function recordedOf(
  video: UnknownObject,
  options: ParseOptions,
  notes: ImportNote[],
): string | undefined {
  const uploaded = readDate(video.upload_date)
  const released = readDate(video.release_date)
  const wasLive = video.was_live === true || video.live_status === 'was_live'
  const guess = (day: string, event: string) => {
    notes.push({ kind: 'guessed', field: 'recorded', detail: `is the day of ${event}` })
    return day
  }
  if (wasLive && released !== undefined) return guess(released, 'the live stream')
  if (options.recorded !== undefined) return options.recorded
  if (uploaded !== undefined) return guess(uploaded, 'the upload')
  return released === undefined ? undefined : guess(released, 'the release')
}

/** Returns the widest thumbnail, or the last without widths: yt-dlp puts the best one there. */
function widest(thumbnails: unknown): string | undefined {
  let best: string | undefined
  let bestWidth = 0
  for (const thumbnail of readList(thumbnails)) {
    if (!isObject(thumbnail)) continue
    const url = readUrl(thumbnail.url)
    const width = typeof thumbnail.width === 'number' ? thumbnail.width : 0
    if (url === undefined || width < bestWidth) continue
    best = url
    bestWidth = width
  }
  return best
}
