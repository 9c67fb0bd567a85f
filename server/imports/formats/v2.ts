import {
  ExportEnd,
  ExportedEntity,
  ExportedVideo,
  Fact,
  Id,
  readOnlyFields,
  Slug,
  Video,
  validationErrors,
  videoFields,
} from '@talkshelf/contract'
import Type, { type TSchema } from 'typebox'
import { normalizeEntityInput } from '../../entities/entities.ts'
import { splitLines, textChunks } from '../input/input.ts'
import { jsonValues, objectKeysIn, parseJson } from '../input/json-stream.ts'
import {
  type ImportFormat,
  type ImportItem,
  type ImportNote,
  InputRefused,
  type ItemFields,
  type ParsedItem,
  type ParseOptions,
  type SourceFile,
  type UnreadableItem,
} from '../item.ts'

// Reads records of the v2 API, of this server or of its predecessor, and Talkshelf exports.

export const v2: ImportFormat = {
  name: 'v2',
  about: 'records of the v2 API: one, a list, a page or one per line; or a Talkshelf export',
  recognises(head) {
    if (!/^\s*[{[]/.test(head)) return false
    if (/^\s*\{\s*"kind"\s*:\s*"talkshelf"/.test(head)) return true
    const keys = objectKeysIn(head)
    const known = keys.filter((key) => recordKeys.has(key))
    return (
      keys.includes('title') &&
      ['category', 'speakers', 'state'].some((key) => keys.includes(key)) &&
      !foreignKeys.some((key) => keys.includes(key)) &&
      known.length * 2 >= keys.length
    )
  },
  async *read(files, options) {
    // One file behind, because places depend on whether there is another file.
    let previous: SourceFile | undefined
    let isOnly = true
    for await (const file of files) {
      if (previous) {
        isOnly = false
        yield* readFile(previous, isOnly, options)
      }
      previous = file
    }
    if (previous) yield* readFile(previous, isOnly, options)
  },
}

const writable = videoFields.filter(
  (field) => !(readOnlyFields as readonly string[]).includes(field),
)
const recordKeys = new Set<string>([...videoFields, 'related_urls'])
/** Keys of other formats that also have titles and speakers. */
const foreignKeys = ['videos', 'file', 'event', 'extractor', 'webpage_url']

/** The API accepts a record of 1 MB and facts of 1 MB, and an export has both in one line. */
const maxLineLength = 4 << 20
/** A page is parsed as a whole. */
const maxPageLength = 16 << 20
/** The limit of the API. */
const maxFacts = 1000
const notAnObject = 'Is not a JSON object'

type Json = Record<string, unknown>

const cutOffExport: UnreadableItem = {
  place: 'end',
  unreadable: 'The export was cut off: its last line is missing. Export it again',
}

async function* readFile(
  file: SourceFile,
  isOnly: boolean,
  options: ParseOptions,
): AsyncGenerator<ParsedItem> {
  /** The number of records so far in an export. Undefined outside of an export. */
  let exportedCount: number | undefined
  for await (const { place, text, isCut } of readValues(file, isOnly)) {
    const parsed = isCut ? { wrong: 'The file was cut off. Download it again' } : parseJson(text)
    if ('wrong' in parsed) {
      yield { place, unreadable: parsed.wrong }
      continue
    }
    const { value } = parsed
    if (!isObject(value)) yield { place, unreadable: notAnObject }
    else if (value.kind === 'talkshelf') {
      refuseNewerExport(value.version, file.path)
      if (exportedCount !== undefined) yield cutOffExport
      exportedCount = 0
    } else if (exportedCount === undefined)
      yield* isPage(value) ? readPage(value, place, options) : [readRecord(value, place, options)]
    else if (value.kind === 'video') {
      exportedCount++
      yield readExportedVideo(value, place)
    } else if (value.kind === 'end') {
      yield* checkEnd(value, place, exportedCount)
      exportedCount = undefined
    } else yield readExportedEntity(value, place)
  }
  if (exportedCount !== undefined) yield cutOffExport
}

function refuseNewerExport(version: unknown, path: string): void {
  if (version === 1) return
  const versionText = JSON.stringify(version)?.slice(0, 20)
  throw new InputRefused(
    `${path} is an export of a newer Talkshelf (version ${versionText}). Upgrade this one first`,
  )
}

/** Compares the count in the last line of an export with the records before it. */
function checkEnd(end: Json, place: string, count: number): UnreadableItem[] {
  const error = firstError(ExportEnd, end)
  if (error) return [{ place, unreadable: error }]
  if (end.videos === count) return []
  const unreadable = `The export has ${count} of ${end.videos} records. Export it again`
  return [{ place: 'end', unreadable }]
}

/**
 * Yields each value of the file as text. Reads line by line if each line has a value, so that an
 * invalid one does not affect the others.
 */
async function* readValues(
  file: SourceFile,
  isOnly: boolean,
): AsyncGenerator<{ place: string; text: string; isCut: boolean }> {
  const placeOf = (unit: string, number: number) => {
    if (isOnly) return `${unit} ${number}`
    return number === 1 ? file.path : `${file.path}, ${unit} ${number}`
  }
  const source = textChunks(file)[Symbol.asyncIterator]()
  // Reads up to the end of the first line that is not blank.
  let head = ''
  let hasText = false
  let hasLine = false
  while (!hasLine && head.length <= maxLineLength) {
    const { done, value } = await source.next()
    if (done) break
    hasLine = (hasText ? value : value.trimStart()).includes('\n')
    hasText ||= value.trim() !== ''
    head += value
  }
  const chunks = (async function* () {
    try {
      yield head
      yield* { [Symbol.asyncIterator]: () => source }
    } finally {
      await source.return?.()
    }
  })()
  let number = 0
  if (isLineByLine(head, hasLine)) {
    for await (const text of splitLines(chunks, file.path, maxLineLength)) {
      number++
      if (text.trim() !== '') yield { place: placeOf('line', number), text, isCut: false }
    }
  } else
    for await (const value of jsonValues(chunks, file.path, maxPageLength))
      yield { place: placeOf('record', ++number), ...value }
}

/** Returns whether the first line has a value of its own, and does not end inside of one. */
function isLineByLine(head: string, hasLine: boolean): boolean {
  const [first = ''] = head.trimStart().split('\n', 1)
  if (first.startsWith('[') || first.length > maxLineLength) return false
  return !hasLine || !/[{[,:]\s*$/.test(first)
}

function isPage(value: Json): value is Json & { results: unknown[] } {
  return Array.isArray(value.results) && !('title' in value)
}

function* readPage(
  { results, next }: Json & { results: unknown[] },
  place: string,
  options: ParseOptions,
): Generator<ParsedItem> {
  let needsNote = typeof next === 'string'
  for (const [index, result] of results.entries()) {
    const resultPlace = `${place}, result ${index + 1}`
    const item = isObject(result)
      ? readRecord(result, resultPlace, options)
      : { place: resultPlace, unreadable: notAnObject }
    if (needsNote && 'fields' in item) {
      const note: ImportNote = {
        kind: 'dropped',
        field: 'next',
        detail: 'leads to more pages, which are not in this file',
      }
      yield { ...item, notes: [...item.notes, note] }
      needsNote = false
    } else yield item
  }
}

function readRecord(record: Json, place: string, { category, language }: ParseOptions): ParsedItem {
  if (!Object.keys(record).some((key) => recordKeys.has(key)))
    return { place, unreadable: 'Has none of the fields of a record' }
  const item = readFields(record, place)
  if ('unreadable' in item) return item
  const fields = {
    ...(category === undefined ? {} : { category }),
    ...(language === undefined ? {} : { language }),
    ...item.fields,
  }
  const { id } = record
  if (id === undefined || id === null) return { ...item, fields }
  if (typeof id === 'number' && Number.isSafeInteger(id) && id > 0)
    return { ...item, fields, id, key: String(id) }
  const note: ImportNote = {
    kind: 'dropped',
    field: 'id',
    detail: 'is not a positive whole number',
  }
  return { ...item, fields, notes: [...item.notes, note] }
}

const entitySchemas = Object.fromEntries(
  ExportedEntity.anyOf.map((schema) => [schema.properties.kind.const as string, schema]),
)

function readExportedEntity(value: Json, place: string): ParsedItem {
  const schema = entitySchemas[String(value.kind)]
  if (!schema) return { place, unreadable: 'kind must be category, speaker, tag or video' }
  const entity = normalizeEntityInput(value)
  const error = firstError(schema, entity)
  return error
    ? { place, unreadable: error }
    : { place, entity: entity as unknown as ExportedEntity }
}

// Only the read-only fields are validated here. The others are validated by the plan, as in every
// format.
const ReadOnlyFields = Type.Object({
  id: Id,
  slug: Video.properties.slug,
  added: Type.String({ format: 'moment' }),
  updated: Type.String({ format: 'moment' }),
})
const Exported = Type.Object({ ...ExportedVideo.properties, record: ReadOnlyFields })

/** How far the clock of the exporting archive may be ahead. */
const maxClockSkewMs = 60_000

function readExportedVideo(value: Json, place: string): ParsedItem {
  const error = firstError(Exported, value)
  if (error) return { place, unreadable: error }
  const exported = value as unknown as ExportedVideo
  const { record, revision, taken_down: takenDown, merged_into: mergedInto, facts = [] } = exported
  const item = readFields(record, place)
  if ('unreadable' in item) return item
  const { id, slug, added, updated } = record
  const latest = [added, updated, ...(takenDown ? [`${takenDown.day}T00:00:00.000`] : [])]
    .sort()
    .at(-1)
  if (Date.parse(`${latest}Z`) > Date.now() + maxClockSkewMs)
    return {
      place,
      unreadable: `${latest} is in the future: added, updated and taken_down must be in the past`,
    }
  const isSlug = validationErrors(Slug, slug).length === 0
  const slugNote: ImportNote = {
    kind: 'repaired',
    field: 'slug',
    detail: 'is invalid: the record gets a new one from its title',
  }
  return {
    ...item,
    id,
    key: `${id} ${slug}`,
    facts: [...facts, ...item.facts],
    notes: [
      ...item.notes,
      ...(isSlug ? [] : [slugNote]),
      ...(mergedInto === undefined ? [] : [mergedNote(mergedInto)]),
    ],
    kept: {
      slug: isSlug ? slug : undefined,
      added,
      updated,
      revision,
      ...(takenDown ? { takenDown } : {}),
    },
  }
}

function mergedNote(mergedInto: number): ImportNote {
  const detail = `was ${mergedInto} in the file: the record is a draft here and does not redirect`
  return { kind: 'dropped', field: 'merged_into', detail }
}

/** Reads the writable fields of a record. Other fields become facts if possible. */
function readFields(record: Json, place: string): ImportItem | UnreadableItem {
  if ('title' in record && typeof record.title !== 'string')
    return { place, unreadable: 'title must be a text' }
  const fields = Object.fromEntries(
    writable.filter((field) => Object.hasOwn(record, field)).map((field) => [field, record[field]]),
  ) as ItemFields
  const facts: Fact[] = []
  const notes: ImportNote[] = []
  for (const [field, value] of Object.entries(record)) {
    if ((videoFields as string[]).includes(field) || field === 'kind') continue
    for (const fact of factsOf(field, value)) {
      const name = field.toWellFormed().slice(0, 100)
      if (facts.length >= maxFacts) {
        const detail = `and all fields after it: a record can have ${maxFacts} facts`
        notes.push({ kind: 'dropped', field: name, detail })
        return { place, fields, facts, notes }
      }
      if (isStorable(fact)) facts.push(fact)
      else {
        const detail = 'is not a field of a record, and can’t be kept as a fact'
        notes.push({ kind: 'dropped', field: name, detail })
      }
    }
  }
  return { place, fields, facts, notes }
}

function factsOf(field: string, value: unknown): unknown[] {
  if (field !== 'related_urls') return [{ kind: 'said', source: 'v2', field, value }]
  if (value === null) return []
  return (Array.isArray(value) ? value : [value]).map((link: unknown) => {
    if (!isObject(link)) return { kind: 'related', url: link, label: null }
    return { kind: 'related', url: link.url, label: link.label || link.description || null }
  })
}

/** Returns whether a fact is valid. A key `__proto__` would pollute objects that copy the value. */
function isStorable(fact: unknown): fact is Fact {
  return validationErrors(Fact, fact).length === 0 && !JSON.stringify(fact).includes('"__proto__"')
}

function firstError(schema: TSchema, value: unknown): string | undefined {
  const [error] = validationErrors(schema, value)
  return error && `${error.pointer.slice(1, 100) || 'The line'} ${error.detail}`
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
