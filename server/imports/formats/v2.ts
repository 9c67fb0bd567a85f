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
} from '../item.ts'

// The record of the interface itself: as our API gives it, as the API before it gave it, and in an
// export of ours.

export const v2: ImportFormat = {
  name: 'v2',
  about:
    'Records as the API gives them, in JSON: one, a list, a page or one a line; and an export of Talkshelf',
  recognises(begin) {
    if (!/^\s*[{[]/.test(begin)) return false
    if (/^\s*\{\s*"kind"\s*:\s*"talkshelf"/.test(begin)) return true
    const keys = objectKeysIn(begin)
    const known = keys.filter((key) => ours.has(key))
    return (
      keys.includes('title') &&
      ['category', 'speakers', 'state'].some((key) => keys.includes(key)) &&
      !foreign.some((key) => keys.includes(key)) &&
      known.length * 2 >= keys.length
    )
  },
  async *read(files, options) {
    let previous: SourceFile | undefined
    let isAlone = true
    for await (const file of files) {
      if (previous) isAlone = false
      if (previous) yield* readFile(previous, isAlone, options)
      previous = file
    }
    if (previous) yield* readFile(previous, isAlone, options)
  },
}

const writable = videoFields.filter(
  (field) => !(readOnlyFields as readonly string[]).includes(field),
)
const ours = new Set<string>([...videoFields, 'related_urls'])
/** Other formats have titles and speakers as well. */
const foreign = ['videos', 'file', 'event', 'extractor', 'webpage_url']

/**
 * The API takes a record of 1 MB and as much again that is attached to it: an export of ours has
 * both in one line.
 */
const maxRecord = 4 << 20
/** A page is parsed at once. */
const maxPage = 16 << 20
/** As the API has it. */
const maxFacts = 1000

type Json = Record<string, unknown>

async function* readFile(
  file: SourceFile,
  isAlone: boolean,
  options: ParseOptions,
): AsyncGenerator<ParsedItem> {
  const cutOff = {
    place: 'end',
    unreadable:
      'The export was cut off: its last line is missing, and perhaps records are too. Export again',
  }
  /** How many records there were so far in an export; elsewhere there is none to count. */
  let videos: number | undefined
  for await (const { place, text, isCut } of textsOf(file, isAlone)) {
    const parsed = isCut
      ? { wrong: 'The file ends in the middle: it was cut off. Fetch it again' }
      : parseJson(text)
    if ('wrong' in parsed) {
      yield { place, unreadable: parsed.wrong }
      continue
    }
    const { value } = parsed
    if (!isObject(value)) yield { place, unreadable: 'Is no object, as a record is' }
    else if (value.kind === 'talkshelf') {
      if (value.version !== 1)
        throw new InputRefused(
          `${file.path} is an export of a newer Talkshelf (version ${JSON.stringify(value.version)?.slice(0, 20)}). Update this one`,
        )
      if (videos !== undefined) yield cutOff
      videos = 0
    } else if (videos === undefined)
      yield* isPage(value) ? page(value, place, options) : [plain(value, place, options)]
    else if (value.kind === 'video') {
      videos++
      yield exported(value, place)
    } else if (value.kind === 'end') {
      const end = wrongIn(ExportEnd, value)
      if (end) yield { place, unreadable: end }
      else if (value.videos !== videos)
        yield {
          place: 'end',
          unreadable: `The export should have ${value.videos} records, and ${videos} are there. Export again`,
        }
      videos = undefined
    } else {
      yield exportedEntity(value, place)
    }
  }
  if (videos !== undefined) yield cutOff
}

/**
 * Each value of the file, still as text: line by line where each line has one of its own, so that a
 * wrong one spoils no other.
 */
async function* textsOf(
  file: SourceFile,
  isAlone: boolean,
): AsyncGenerator<{ place: string; text: string; isCut: boolean }> {
  const placed = (word: string, number: number) =>
    isAlone ? `${word} ${number}` : number === 1 ? file.path : `${file.path}, ${word} ${number}`
  const source = textChunks(file)[Symbol.asyncIterator]()
  let head = ''
  let isText = false
  let isLine = false
  while (!isLine && head.length <= maxRecord) {
    const { done, value } = await source.next()
    if (done) break
    isLine = (isText ? value : value.trimStart()).includes('\n')
    isText ||= value.trim() !== ''
    head += value
  }
  const pieces = (async function* () {
    try {
      yield head
      yield* { [Symbol.asyncIterator]: () => source }
    } finally {
      await source.return?.()
    }
  })()
  let number = 0
  if (isByLines(head, isLine)) {
    for await (const text of splitLines(pieces, file.path, maxRecord)) {
      number++
      if (text.trim() !== '') yield { place: placed('line', number), text, isCut: false }
    }
  } else
    for await (const value of jsonValues(pieces, file.path, maxPage))
      yield { place: placed('record', ++number), ...value }
}

/** A record over several lines breaks where something must follow. */
function isByLines(head: string, isLine: boolean): boolean {
  const [first = ''] = head.trimStart().split('\n', 1)
  return first.startsWith('[') || first.length > maxRecord
    ? false
    : !isLine || !/[{[,:]\s*$/.test(first)
}

function isPage(value: Json): value is Json & { results: unknown[] } {
  return Array.isArray(value.results) && !('title' in value)
}

function* page(
  { results, next }: Json & { results: unknown[] },
  place: string,
  options: ParseOptions,
): Generator<ParsedItem> {
  let isFurther = typeof next === 'string'
  for (const [index, one] of results.entries()) {
    const at = `${place}, result ${index + 1}`
    const reading = isObject(one)
      ? plain(one, at, options)
      : { place: at, unreadable: 'Is no object, as a record is' }
    if (isFurther && 'fields' in reading) {
      const note: ImportNote = {
        kind: 'dropped',
        field: 'next',
        detail: 'leads to further pages, which are not in this file',
      }
      yield { ...reading, notes: [...reading.notes, note] }
      isFurther = false
    } else yield reading
  }
}

function plain(record: Json, place: string, { category, language }: ParseOptions): ParsedItem {
  if (!Object.keys(record).some((key) => ours.has(key)))
    return { place, unreadable: 'Has none of the fields of a record' }
  const draft = draftOf(record, place)
  if ('unreadable' in draft) return draft
  const fields = {
    ...(category === undefined ? {} : { category }),
    ...(language === undefined ? {} : { language }),
    ...draft.fields,
  }
  const { id } = record
  if (id === undefined || id === null) return { ...draft, fields }
  if (typeof id === 'number' && Number.isSafeInteger(id) && id > 0)
    return { ...draft, fields, id, key: String(id) }
  return {
    ...draft,
    fields,
    notes: [...draft.notes, { kind: 'dropped', field: 'id', detail: 'is no whole number from 1' }],
  }
}

const entitySchemas = Object.fromEntries(
  ExportedEntity.anyOf.map((schema) => [schema.properties.kind.const as string, schema]),
)

function exportedEntity(value: Json, place: string): ParsedItem {
  const schema = entitySchemas[String(value.kind)]
  if (!schema) return { place, unreadable: 'kind must be category, speaker, tag or video' }
  const entity = normalizeEntityInput(value)
  const wrong = wrongIn(schema, entity)
  return wrong
    ? { place, unreadable: wrong }
    : { place, entity: entity as unknown as ExportedEntity }
}

// The fields of the record are looked at later, with those of every other format; what the service
// gave itself is looked at nowhere else.
const Own = Type.Object({
  id: Id,
  slug: Video.properties.slug,
  added: Type.String({ format: 'moment' }),
  updated: Type.String({ format: 'moment' }),
})
const Exported = Type.Object({ ...ExportedVideo.properties, record: Own })

/** How far the clock of the exporting archive may be ahead. */
const maxClockSkewMs = 60_000

function exported(value: Json, place: string): ParsedItem {
  const wrong = wrongIn(Exported, value)
  if (wrong) return { place, unreadable: wrong }
  const { record, revision, taken_down: takenDown, facts = [] } = value as unknown as ExportedVideo
  const draft = draftOf(record, place)
  if ('unreadable' in draft) return draft
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
  const notes: ImportNote[] = isSlug
    ? []
    : [
        {
          kind: 'repaired',
          field: 'slug',
          detail: 'is not a slug: the record gets one made from its title',
        },
      ]
  return {
    ...draft,
    id,
    key: `${id} ${slug}`,
    facts: [...facts, ...draft.facts],
    notes: [...draft.notes, ...notes],
    kept: {
      slug: isSlug ? slug : undefined,
      added,
      updated,
      revision,
      ...(takenDown ? { takenDown } : {}),
    },
  }
}

/**
 * What it says about the talk. What has no field is kept as something that was said, where it can
 * be kept.
 */
function draftOf(record: Json, place: string): ImportItem | { place: string; unreadable: string } {
  if ('title' in record && typeof record.title !== 'string')
    return { place, unreadable: 'Its title is no text' }
  const fields = Object.fromEntries(
    writable.filter((field) => Object.hasOwn(record, field)).map((field) => [field, record[field]]),
  )
  const facts: Fact[] = []
  const notes: ImportNote[] = []
  for (const [field, value] of Object.entries(record)) {
    if ((videoFields as string[]).includes(field) || field === 'kind') continue
    for (const fact of field === 'related_urls'
      ? related(value)
      : [{ kind: 'said' as const, source: 'v2', field, value }]) {
      const name = field.toWellFormed().slice(0, 100)
      if (facts.length >= maxFacts) {
        notes.push({
          kind: 'dropped',
          field: name,
          detail: `and all behind it: more than ${maxFacts} can’t be kept`,
        })
        return { place, fields: fields as ItemFields, facts, notes }
      }
      // A key of this name is a trap for whoever copies the value.
      if (isRight(fact) && !JSON.stringify(fact).includes('"__proto__"')) facts.push(fact)
      else
        notes.push({
          kind: 'dropped',
          field: name,
          detail: 'is no field of a record, and can’t be kept beside it',
        })
    }
  }
  return { place, fields: fields as ItemFields, facts, notes }
}

function related(value: unknown): unknown[] {
  const list = Array.isArray(value) ? value : value === null ? [] : [value]
  return list.map((one: unknown) => {
    if (!isObject(one)) return { kind: 'related', url: one, label: null }
    return { kind: 'related', url: one.url, label: one.label || one.description || null }
  })
}

function isRight(fact: unknown): fact is Fact {
  return validationErrors(Fact, fact).length === 0
}

function wrongIn(schema: TSchema, value: unknown): string | undefined {
  const [error] = validationErrors(schema, value)
  return error && `${error.pointer.slice(1, 100) || 'The line'} ${error.detail}`
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
