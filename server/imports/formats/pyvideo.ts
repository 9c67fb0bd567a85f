import { rstToMarkdown } from '../../markup/markup.ts'
import { slugify } from '../../platform/slug.ts'
import { parseJson } from '../input/json-stream.ts'
import {
  type CategoryItem,
  type ImportFormat,
  type ImportItem,
  InputRefused,
  type ParsedItem,
  type ParseOptions,
  type SourceFile,
} from '../item.ts'
import { normalizeText } from './pyvideo-fields.ts'
import { pyvideoSource, readPyvideo } from './pyvideo-record.ts'
import {
  firstKeys,
  isObject,
  readDate,
  readTrimmedText,
  readUrl,
  type UnknownObject,
} from './text.ts'

// Reads the data of the pyvideo project: a folder per event with category.json and videos/*.json, a
// file with one record per line, or a single record.

export const pyvideo: ImportFormat = {
  name: pyvideoSource,
  about: 'the data of pyvideo.org: a folder of events, an event, a video, or one record per line',

  recognises(head, path) {
    const keys = firstKeys(head)
    const has = (...names: string[]) => names.some((name) => keys.has(name))
    if (/(^|\/)category\.json$/.test(path))
      return has('title') && !has('speakers', 'videos', 'results')
    return isWithheldList(path)
      ? /^\s*\[[\s\d,\]]*$/.test(head)
      : has('videos') && has('speakers') && has('recorded', 'event', 'file')
  },

  async *read(files, options) {
    const state: ReadState = { category: undefined, yielded: new Set(), withheld: new Set() }
    for await (const file of files)
      yield* isFolderFile(file.path)
        ? readFolderFile(file, options, state)
        : readRecords(file, options, state)
  },
}

interface ReadState {
  /** The last category.json, which comes before the videos of its folder. */
  category: { readonly folder: string; readonly title: string } | undefined
  /** Titles of the categories that were yielded. */
  readonly yielded: Set<string>
  /** Ids in the NO_PUBLISH.json files read so far: their speakers asked not to publish them. */
  readonly withheld: Set<unknown>
}

const notAnObject = 'Is not a JSON object'
const isWithheldList = (path: string) => /(^|\/)NO_PUBLISH\.json$/.test(path)
/** Returns whether the path is one of the folder structure of the project. */
const isFolderFile = (path: string) =>
  /(^|\/)(category\.json|NO_PUBLISH\.json|videos\/[^/]+\.json)$/.test(path)

async function* readFolderFile(
  file: SourceFile,
  options: ParseOptions,
  state: ReadState,
): AsyncGenerator<ParsedItem> {
  const { path } = file
  const parsed = parseJson(withoutBom(await file.text()))
  if ('wrong' in parsed) return yield { place: path, unreadable: parsed.wrong }
  const { value } = parsed
  if (isWithheldList(path)) {
    for (const id of Array.isArray(value) ? value : []) state.withheld.add(id)
    return
  }
  if (!isObject(value)) return yield { place: path, unreadable: notAnObject }
  const folder = path.replace(/(^|\/)(category\.json|videos\/[^/]+)$/, '')
  if (!path.endsWith('category.json'))
    return yield* readVideo(toStorable(value), { place: path, path, folder }, options, state)
  const category = readCategory(value)
  if (!category) return yield { place: path, unreadable: 'Has no title' }
  state.category = { folder, title: readTrimmedText(value.title) }
  state.yielded.add(category.category.title)
  yield category
}

/** Reads one record, or one per line if the first line is a record. */
async function* readRecords(
  file: SourceFile,
  options: ParseOptions,
  state: ReadState,
): AsyncGenerator<ParsedItem> {
  const lines: string[] = []
  let isLineByLine: boolean | undefined
  let number = 0
  for await (const line of file.lines()) {
    number++
    if (isLineByLine === undefined && line.trim() !== '')
      isLineByLine = isRecord(parseJson(withoutBom(line)))
    if (isLineByLine === false) lines.push(line)
    if (lines.length > maxLines)
      throw new InputRefused(`${file.path} is too long for one record. Put each record on one line`)
    if (isLineByLine && line.trim() !== '')
      yield* readText(line, `line ${number}`, file.path, options, state)
  }
  if (isLineByLine === false)
    yield* readText(lines.join('\n'), file.path, file.path, options, state)
}

/** More than one record has, and few enough for memory. */
const maxLines = 100_000

function* readText(
  text: string,
  place: string,
  path: string,
  options: ParseOptions,
  state: ReadState,
): Generator<ParsedItem> {
  const parsed = parseJson(withoutBom(text))
  if ('wrong' in parsed) return yield { place, unreadable: parsed.wrong }
  // A whole file can be a list, but a line can't.
  const list = place === path && Array.isArray(parsed.value) ? parsed.value : undefined
  for (const [index, value] of (list ?? [parsed.value]).entries()) {
    const recordPlace = list ? `record ${index + 1}` : place
    if (!isObject(value)) yield { place: recordPlace, unreadable: notAnObject }
    else {
      const location = { place: recordPlace, path, folder: undefined }
      yield* readVideo(toStorable(value), location, options, state)
    }
  }
}

interface VideoLocation {
  readonly place: string
  readonly path: string
  /** The folder of the event. Undefined for a file outside of the folder structure. */
  readonly folder: string | undefined
}

function* readVideo(
  video: UnknownObject,
  { place, path, folder }: VideoLocation,
  options: ParseOptions,
  state: ReadState,
): Generator<ParsedItem> {
  const hasCategoryFile = folder !== undefined && state.category?.folder === folder
  const category =
    readTrimmedText(video.category_title) ||
    (hasCategoryFile && state.category?.title) ||
    readTrimmedText(video.category) ||
    options.category ||
    ''
  const unreadable = unreadableReason(video, category, state)
  if (unreadable !== undefined) return yield { place, unreadable }
  const fileName = path.slice(path.lastIndexOf('/') + 1)
  const event =
    readTrimmedText(video.event) ||
    readTrimmedText(video.file).split('/', 1)[0] ||
    folder?.slice(folder.lastIndexOf('/') + 1) ||
    slugify(category) ||
    'talks'
  const file = readTrimmedText(video.file) || `${event}/videos/${fileName}`
  // The title as it is written, which is compared with the normalized one.
  const rawCategory =
    typeof video.category_title === 'string' && video.category_title.trim() !== ''
      ? video.category_title
      : category
  const origin = { event, file, category: rawCategory }
  const { id, ...item } = readPyvideo(video, origin, options.language)
  yield* yieldCategoryOnce(item.fields.category as string, state)
  const talk: ImportItem = { place, key: file, ...(id !== undefined && { id }), ...item }
  yield talk
}

function unreadableReason(
  video: UnknownObject,
  category: string,
  { withheld }: ReadState,
): string | undefined {
  if (readTrimmedText(video.title) === '') return 'Has no title'
  if (!Array.isArray(video.videos) && !Array.isArray(video.speakers))
    return 'Has neither videos nor speakers'
  if (category === '')
    return 'Has no category. Put category.json beside its videos folder, or use --category'
  if (normalizeText(category).length > 255)
    return 'Has a category title of more than 255 characters'
  if (video.id !== undefined && withheld.has(video.id))
    return 'Is in NO_PUBLISH.json: its speakers asked not to publish it'
  if (readTrimmedText(video.file).length > 1000)
    return 'Has a file name of more than 1000 characters'
  return undefined
}

const maxCategories = 10_000

/** Yields a category once. If there are too many to remember, yielding one again does no harm. */
function* yieldCategoryOnce(title: string, { yielded }: ReadState): Generator<CategoryItem> {
  if (yielded.has(title)) return
  if (yielded.size >= maxCategories) yielded.clear()
  yielded.add(title)
  yield { category: { title } }
}

function readCategory(file: UnknownObject): CategoryItem | undefined {
  const title = normalizeText(readTrimmedText(toStorable(file).title))
  if (title === '' || title.length > 255) return undefined
  const description =
    typeof file.description === 'string' ? rstToMarkdown(file.description).slice(0, 100_000) : ''
  const url = readUrl(file.url)
  const [start, end] = [readDate(file.start_date), readDate(file.end_date)]
  return {
    category: {
      title,
      ...(description !== '' && { description }),
      ...(url !== undefined && { url }),
      ...(start !== undefined && { start_date: start }),
      ...(end !== undefined && { end_date: end }),
    },
  }
}

const withoutBom = (text: string) => text.replace(/^\uFEFF/, '')
const isRecord = (parsed: { value: unknown } | { wrong: string }) =>
  'value' in parsed && isObject(parsed.value)

/** Removes NUL and replaces unpaired surrogates, which PostgreSQL cannot store. */
function toStorable(record: UnknownObject): UnknownObject {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL is removed
  const clean = (text: string) => text.toWellFormed().replaceAll(/\u0000/g, '')
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value)
    if (Array.isArray(value)) return value.map(walk)
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, property]) => [clean(key), walk(property)]),
    )
  }
  return walk(record) as UnknownObject
}
