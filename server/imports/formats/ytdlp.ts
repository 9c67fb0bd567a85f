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

// What yt-dlp says about videos. Most of the hundreds of fields are about files and streams, and
// are passed over. Who speaks is not among them: a name in a title is for people to find.

/** Channels have playlists in them, and those have videos. Nobody nests deeper but to do harm. */
const deepest = 8

export const ytdlp: ImportFormat = {
  name: 'yt-dlp',
  about:
    'what yt-dlp writes about a video, a playlist or a channel, with -J, -j or --write-info-json',

  recognises(begin) {
    const keys = firstKeys(begin)
    if (keys.has('_type'))
      return /"_type"\s*:\s*"(playlist|multi_video|url|url_transparent|video)"/.test(begin)
    // The formats of a video come first, and can be more than the beginning holds.
    return (
      keys.has('ie_key') ||
      keys.has('extractor_key') ||
      (keys.has('id') && keys.has('formats') && begin.includes('"format_id"'))
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
  for (const [number, line] of lines.entries()) {
    if (line.trim() === '') continue
    const place = `${path}, line ${number + 1}`
    const value = parsed(line)
    if (value === undefined)
      yield { place, unreadable: 'is not whole JSON; let yt-dlp write it again' }
    else yield* readEntry(value, place, '', 0, options)
  }
}

/** Whether each line is a value of its own: the first one is, and it is not the only one. */
function isLineByLine(lines: readonly string[]): boolean {
  const [first, second] = lines.filter((line) => line.trim() !== '')
  return first !== undefined && second !== undefined && isObject(parsed(first))
}

function parsed(text: string): unknown {
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
  if (!isObject(value)) yield { place, unreadable: 'is empty: yt-dlp could not read this video' }
  else if (value._type !== 'playlist' && value._type !== 'multi_video')
    yield readVideo(value, place, playlist, options)
  else if (!Array.isArray(value.entries))
    yield { place, unreadable: 'is a playlist without its entries' }
  else if (depth >= deepest)
    yield { place, unreadable: `is a playlist inside of ${deepest} others` }
  else {
    const title = playlistTitle(value.title)
    for (const [number, entry] of value.entries.entries()) {
      yield* readEntry(entry, `${place}, entry ${number + 1}`, title, depth + 1, options)
    }
  }
}

/** Without what YouTube puts behind the name of a channel: `PyConf - Videos`. */
function playlistTitle(title: unknown): string {
  return readTrimmedText(title).replace(/ - (Videos|Live|Shorts|Podcasts)$/, '')
}

function readVideo(
  it: UnknownObject,
  place: string,
  playlist: string,
  options: ParseOptions,
): ImportItem | UnreadableItem {
  const id = readTrimmedText(it.id)
  const title = readTrimmedText(it.title)
  const host = hostOf(it)
  if (id === '') return { place, unreadable: 'has no id' }
  if (/^\[(private|deleted) video\]$/i.test(title))
    return { place, unreadable: `is a ${title.slice(1, -1).toLowerCase()} (${id})` }
  if (/(tab|playlist|channel|user)$/.test(host)) {
    return {
      place,
      unreadable: `is a playlist of which only the address is here (${id}); let yt-dlp list the playlist itself`,
    }
  }
  if (it.live_status === 'is_upcoming')
    return { place, unreadable: `has not been shown yet (${id})` }
  if (title === '') return { place, unreadable: `has no title (${id})` }

  const notes: ImportNote[] = []
  const fields = presentFields({
    title,
    description: readTrimmedText(it.description),
    category: categoryOf(it, playlist, options, notes),
    language: readTrimmedText(it.language) || options.language,
    tags: readNames(it.tags, 'tags', notes),
    duration: durationOf(it, notes),
    recorded: recordedOf(it, notes),
    copyright_text: readTrimmedText(it.license),
    thumbnail_url: readUrl(it.thumbnail) ?? widest(it.thumbnails),
    source_url: sourceOf(it, host, id),
  })
  return { place, ...(host === '' ? {} : { key: `${host}:${id}` }), fields, facts: [], notes }
}

/**
 * An entry of a list has `ie_key`, a video that was looked at has `extractor_key`: the same words.
 */
function hostOf(it: UnknownObject): string {
  const name =
    readTrimmedText(it.ie_key) || readTrimmedText(it.extractor_key) || readTrimmedText(it.extractor)
  if (name !== '') return name.toLowerCase()
  return /^https?:\/\/(www\.)?(youtube\.com\/watch|youtu\.be\/)/.test(readTrimmedText(it.url))
    ? 'youtube'
    : ''
}

function sourceOf(it: UnknownObject, host: string, id: string): string | undefined {
  if (host === 'youtube' && /^[\w-]{11}$/.test(id)) return `https://www.youtube.com/watch?v=${id}`
  // In a video that was looked at, `url` is a stream that is gone after some hours.
  return (
    readUrl(it.webpage_url) ??
    (/^url/.test(readTrimmedText(it._type)) ? readUrl(it.url) : undefined)
  )
}

function categoryOf(
  it: UnknownObject,
  playlist: string,
  options: ParseOptions,
  notes: ImportNote[],
): string | undefined {
  if (options.category !== undefined) return options.category
  const title = playlistTitle(it.playlist_title) || playlist
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
      detail: `is ${duration} seconds in the file, and ${seconds} here`,
    })
  return seconds
}

function recordedOf(it: UnknownObject, notes: ImportNote[]): string | undefined {
  const uploaded = readDate(it.upload_date)
  const released = readDate(it.release_date)
  const isLive = (it.was_live === true || it.live_status === 'was_live') && released !== undefined
  const day = isLive ? released : (uploaded ?? released)
  const what = isLive ? 'the live stream' : uploaded === undefined ? 'the release' : 'the upload'
  if (day !== undefined)
    notes.push({ kind: 'guessed', field: 'recorded', detail: `is the day of ${what}` })
  return day
}

/** Where none says how wide it is, the last: yt-dlp puts the best one there. */
function widest(thumbnails: unknown): string | undefined {
  let best: string | undefined
  let width = 0
  for (const one of readList(thumbnails)) {
    if (!isObject(one)) continue
    const url = readUrl(one.url)
    const its = typeof one.width === 'number' ? one.width : 0
    if (url === undefined || its < width) continue
    best = url
    width = its
  }
  return best
}
