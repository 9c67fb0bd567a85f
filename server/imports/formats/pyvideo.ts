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

// Talks as the pyvideo project keeps them: a folder for each event with category.json and
// videos/*.json, all records in one file with one a line, or a single record.

export const pyvideo: ImportFormat = {
  name: pyvideoSource,
  about:
    'the data of pyvideo.org: its folder of events, one event, one video, or all records with one a line',

  recognises(begin, path) {
    const keys = firstKeys(begin)
    const has = (...names: string[]) => names.some((name) => keys.has(name))
    if (/(^|\/)category\.json$/.test(path))
      return has('title') && !has('speakers', 'videos', 'results')
    return isWithheld(path)
      ? /^\s*\[[\s\d,\]]*$/.test(begin)
      : has('videos') && has('speakers') && has('recorded', 'event', 'file')
  },

  async *read(files, options) {
    const seen: Seen = { category: undefined, described: new Set(), withheld: new Set() }
    for await (const file of files)
      yield* isPlaced(file.path) ? readPlaced(file, options, seen) : readAny(file, options, seen)
  },
}

interface Seen {
  /** The last category.json, which comes before the videos that belong to it. */
  category: { readonly folder: string; readonly title: string } | undefined
  /** Titles of categories that were told of. */
  readonly described: Set<string>
  /** Numbers of talks that their speakers asked not to publish. */
  readonly withheld: Set<unknown>
}

const isWithheld = (path: string) => /(^|\/)NO_PUBLISH\.json$/.test(path)
/** Where the folders of the project have a file. */
const isPlaced = (path: string) =>
  /(^|\/)(category\.json|NO_PUBLISH\.json|videos\/[^/]+\.json)$/.test(path)

async function* readPlaced(
  file: SourceFile,
  options: ParseOptions,
  seen: Seen,
): AsyncGenerator<ParsedItem> {
  const { path } = file
  const parsed = parseJson(cleanStart(await file.text()))
  if ('wrong' in parsed) return yield { place: path, unreadable: parsed.wrong }
  const { value } = parsed
  if (isWithheld(path)) {
    for (const id of Array.isArray(value) ? value : []) seen.withheld.add(id)
    return
  }
  if (!isObject(value)) return yield { place: path, unreadable: 'Is no object, as a record is' }
  const folder = path.replace(/(^|\/)(category\.json|videos\/[^/]+)$/, '')
  if (!path.endsWith('category.json'))
    return yield* readVideo(storable(value), { place: path, path, folder }, options, seen)
  const category = readCategory(value)
  if (!category) return yield { place: path, unreadable: 'Has no title' }
  seen.category = { folder, title: readTrimmedText(value.title) }
  seen.described.add(category.category.title)
  yield category
}

/** One record, or many with one a line: the first line tells. */
async function* readAny(
  file: SourceFile,
  options: ParseOptions,
  seen: Seen,
): AsyncGenerator<ParsedItem> {
  const whole: string[] = []
  let isByLines: boolean | undefined
  let number = 0
  for await (const line of file.lines()) {
    number++
    if (isByLines === undefined && line.trim() !== '')
      isByLines = isRecord(parseJson(cleanStart(line)))
    if (isByLines === false) whole.push(line)
    if (whole.length > maxLines)
      throw new InputRefused(
        `${file.path} is too long for one record. Give many records with one a line`,
      )
    if (isByLines && line.trim() !== '')
      yield* readText(line, `line ${number}`, file.path, options, seen)
  }
  if (isByLines === false) yield* readText(whole.join('\n'), file.path, file.path, options, seen)
}

/** More than a record has, and few enough to hold. */
const maxLines = 100_000

function* readText(
  text: string,
  place: string,
  path: string,
  options: ParseOptions,
  seen: Seen,
): Generator<ParsedItem> {
  const parsed = parseJson(cleanStart(text))
  if ('wrong' in parsed) return yield { place, unreadable: parsed.wrong }
  // A file can be one list. A line can not.
  const list = place === path && Array.isArray(parsed.value) ? parsed.value : undefined
  for (const [at, value] of (list ?? [parsed.value]).entries()) {
    const here = list ? `record ${at + 1}` : place
    if (!isObject(value)) yield { place: here, unreadable: 'Is no object, as a record is' }
    else yield* readVideo(storable(value), { place: here, path, folder: undefined }, options, seen)
  }
}

interface Where {
  readonly place: string
  readonly path: string
  /** The folder of the event; none where the file lies by itself. */
  readonly folder: string | undefined
}

function* readVideo(
  given: UnknownObject,
  { place, path, folder }: Where,
  options: ParseOptions,
  seen: Seen,
): Generator<ParsedItem> {
  const about = folder !== undefined && seen.category?.folder === folder ? seen.category.title : ''
  const category =
    readTrimmedText(given.category_title) ||
    about ||
    readTrimmedText(given.category) ||
    options.category ||
    ''
  const unreadable = unreadableOf(given, category, seen)
  if (unreadable !== undefined) return yield { place, unreadable }
  const name = path.slice(path.lastIndexOf('/') + 1)
  const own =
    readTrimmedText(given.event) ||
    readTrimmedText(given.file).split('/', 1)[0] ||
    folder?.slice(folder.lastIndexOf('/') + 1)
  const event = own || slugify(category) || 'talks'
  const file = readTrimmedText(given.file) || `${event}/videos/${name}`
  const raw =
    typeof given.category_title === 'string' && given.category_title.trim() !== ''
      ? given.category_title
      : category
  const { id, ...made } = readPyvideo(given, { event, file, category: raw }, options.language)
  yield* describe(made.fields.category as string, seen)
  const item: ImportItem = { place, key: file, ...(id !== undefined && { id }), ...made }
  yield item
}

function unreadableOf(
  given: UnknownObject,
  category: string,
  { withheld }: Seen,
): string | undefined {
  if (readTrimmedText(given.title) === '') return 'Has no title'
  if (!Array.isArray(given.videos) && !Array.isArray(given.speakers))
    return 'Has neither videos nor speakers, as a record has'
  if (category === '')
    return 'Names no event. Put category.json beside its folder videos, or say which category it belongs to'
  if (normalizeText(category).length > 255)
    return 'Has a category whose title is longer than 255 characters'
  if (given.id !== undefined && withheld.has(given.id))
    return 'Is in NO_PUBLISH.json: it was asked that it be not published'
  if (readTrimmedText(given.file).length > 1000)
    return 'Has the name of a file that is longer than 1000 characters'
  return undefined
}

/**
 * A category is told of once. The number of those that are remembered has an end; to tell of one
 * twice does no harm.
 */
function* describe(title: string, { described }: Seen): Generator<CategoryItem> {
  if (described.has(title)) return
  if (described.size >= 10_000) described.clear()
  described.add(title)
  yield { category: { title } }
}

function readCategory(given: UnknownObject): CategoryItem | undefined {
  const title = normalizeText(readTrimmedText(storable(given).title))
  if (title === '' || title.length > 255) return undefined
  const description =
    typeof given.description === 'string' ? rstToMarkdown(given.description).slice(0, 100_000) : ''
  const url = readUrl(given.url)
  const [start, end] = [readDate(given.start_date), readDate(given.end_date)]
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

const cleanStart = (text: string) => text.replace(/^\uFEFF/, '')
const isRecord = (parsed: { value: unknown } | { wrong: string }) =>
  'value' in parsed && isObject(parsed.value)

/**
 * Without what no database can keep: the character zero, and halves of characters. They are in no
 * file that was written on purpose.
 */
function storable(given: UnknownObject): UnknownObject {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what has to go
  const text = (it: string) => it.toWellFormed().replaceAll(/\u0000/g, '')
  const walk = (it: unknown): unknown => {
    if (typeof it === 'string') return text(it)
    if (Array.isArray(it)) return it.map(walk)
    return isObject(it)
      ? Object.fromEntries(Object.entries(it).map(([key, value]) => [text(key), walk(value)]))
      : it
  }
  return walk(given) as UnknownObject
}
