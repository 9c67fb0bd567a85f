import type {
  ImportFormat,
  ImportItem,
  ImportNote,
  ParsedItem,
  ParseOptions,
  UnreadableItem,
} from '../item.ts'
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

// Reads the metadata that yt-dlp writes about videos. Most of its hundreds of fields are about
// files and streams, and are ignored. It has no speakers: editors find them in titles.

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
    for await (const file of files)
      yield* limitItems(file.path, readText(file.path, await file.text(), options))
  },
}

function* readText(path: string, text: string, options: ParseOptions): Generator<ParsedItem> {
  const lines = text.split('\n')
  if (!isLineByLine(lines)) {
    const value = readJson(path, text)
    if (!Array.isArray(value)) return yield* readEntry(value, path, '', 0, options)
    for (const [index, entry] of value.entries())
      yield* readEntry(entry, `${path}, entry ${index + 1}`, '', 0, options)
    return
  }
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const place = `${path}, line ${index + 1}`
    const value = parseOrUndefined(line)
    if (value === undefined) yield { place, unreadable: 'Is not valid JSON. Run yt-dlp again' }
    else yield* readEntry(value, place, '', 0, options)
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

function* readEntry(
  value: unknown,
  place: string,
  playlist: string,
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
    const title = playlistTitle(value.title)
    for (const [index, entry] of value.entries.entries())
      yield* readEntry(entry, `${place}, entry ${index + 1}`, title, depth + 1, options)
  }
}

/** Removes what YouTube appends to the name of a channel: `PyConf - Videos`. */
function playlistTitle(title: unknown): string {
  return readTrimmedText(title).replace(/ - (Videos|Live|Shorts|Podcasts)$/, '')
}

function readVideo(
  video: UnknownObject,
  place: string,
  playlist: string,
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
    recorded: recordedOf(video, notes),
    copyright_text: readTrimmedText(video.license),
    thumbnail_url: readUrl(video.thumbnail) ?? widest(video.thumbnails),
    source_url: sourceOf(video, host, id),
  })
  return { place, ...(host === '' ? {} : { key: `${host}:${id}` }), fields, facts: [], notes }
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
  playlist: string,
  options: ParseOptions,
  notes: ImportNote[],
): string | undefined {
  if (options.category !== undefined) return options.category
  const title = playlistTitle(video.playlist_title) || playlist
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

function recordedOf(video: UnknownObject, notes: ImportNote[]): string | undefined {
  const uploaded = readDate(video.upload_date)
  const released = readDate(video.release_date)
  const wasLive = video.was_live === true || video.live_status === 'was_live'
  const guess = (day: string, event: string) => {
    notes.push({ kind: 'guessed', field: 'recorded', detail: `is the day of ${event}` })
    return day
  }
  if (wasLive && released !== undefined) return guess(released, 'the live stream')
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
