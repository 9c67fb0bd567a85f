import type { Fact } from '@talkshelf/contract'
import sax from 'sax'
import {
  type ImportFormat,
  type ImportItem,
  type ImportNote,
  InputRefused,
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
  readObject,
  readTrimmedText,
  readUrl,
  type UnknownObject,
} from './text.ts'

// The schedule of a conference, as frab, pretalx and others export it: XML or JSON, with nearly the
// same words in it.

const source = 'schedule'
const deepest = 64
/** Characters of one event, an element counted as a hundred. Real ones have some thousands. */
const heaviest = 1_000_000
/** Small, because only between two chunks is it seen that a declaration has no end. */
const chunk = 1024
const maxDeclaration = 1024

export const schedule: ImportFormat = {
  name: source,
  about: 'the schedule.xml or schedule.json of a conference, as frab and pretalx export it',

  recognises(begin) {
    return isMarkup(begin)
      ? isSchedule(begin)
      : firstKeys(begin).has('schedule') && /"conference"\s*:\s*\{/.test(begin)
  },

  async *read(files, options) {
    for await (const file of files) {
      const text = await file.text()
      const pieces = isMarkup(text)
        ? readXml(file.path, text)
        : readDays(file.path, readJson(file.path, text))
      yield* limitItems(file.path, readPieces(file.path, pieces, options))
    }
  },
}

const isMarkup = (text: string) => /^\uFEFF?\s*</.test(text)

function isSchedule(begin: string): boolean {
  let rest = begin.replace(/^\uFEFF/, '').trimStart()
  for (;;) {
    const end = rest.startsWith('<?') ? '?>' : rest.startsWith('<!--') ? '-->' : undefined
    if (end === undefined) break
    if (!rest.includes(end)) return false
    rest = rest.slice(rest.indexOf(end) + end.length).trimStart()
  }
  return (
    /^<!DOCTYPE\s+schedule[\s>[]/.test(rest) ||
    (/^<schedule[\s>]/.test(rest) && /<(conference|day)[\s>]/.test(rest))
  )
}

/** Both kinds of file come to this: first the conference, then what happens there. */
type Piece = { readonly conference: UnknownObject } | Happening

interface Happening {
  readonly event: UnknownObject
  readonly place: string
  readonly day: unknown
  readonly room: string
}

function* readDays(path: string, file: unknown): Generator<Piece> {
  const { conference, ...whole } = readObject(readObject(file).schedule)
  if (!isObject(conference)) return
  yield {
    conference: {
      ...conference,
      url: conference.url ?? whole.url,
      base_url: conference.base_url ?? whole.base_url,
    },
  }
  let number = 0
  for (const day of readList(conference.days)) {
    for (const [room, events] of Object.entries(readObject(readObject(day).rooms))) {
      for (const event of readList(events)) {
        yield {
          event: readObject(event),
          place: `${path}, event ${++number}`,
          day: readObject(day).date,
          room,
        }
      }
    }
  }
}

interface Element {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly line: number
  /** Whether it is the conference, an event, or something in them. Nothing else is kept. */
  readonly isKept: boolean
  readonly content: (string | Element)[]
}

function* readXml(path: string, text: string): Generator<Piece> {
  const parser = sax.parser(true)
  // Nothing else is expanded: neither what a DTD declares, nor what an object inherits.
  parser.ENTITIES = Object.assign(Object.create(null), {
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
  })
  const ready: Piece[] = []
  const open: Element[] = []
  let weight = 0
  const refuse = (what: string): never => {
    throw new InputRefused(`${path}, line ${parser.line + 1}: ${what}`)
  }
  const keep = (piece: string | Element) => {
    const parent = open.at(-1)
    if (!parent?.isKept) return
    weight += typeof piece === 'string' ? piece.length : 100
    if (weight > heaviest)
      refuse(
        `<${parent.name}> belongs to an event of more than ${heaviest} characters, which is no schedule`,
      )
    parent.content.push(piece)
  }

  parser.onerror = ({ message }) =>
    refuse(
      `is not whole XML (${message.split('\n')[0]}). Export it again, and give the file as it is`,
    )
  parser.ondoctype = (type) => {
    if (type.includes('['))
      refuse(
        'declares entities or elements of its own (DOCTYPE), which no schedule needs. Take that out',
      )
  }
  const refuseDeclaration = () =>
    refuse('has a declaration (<!...>), which no schedule needs. Take it out')
  parser.onsgmldeclaration = refuseDeclaration
  parser.onopentag = ({ name, attributes }) => {
    if (open.length === 0 && name !== 'schedule')
      refuse(`begins with <${name}>, and a schedule with <schedule>`)
    if (open.length >= deepest)
      refuse(`<${name}> is inside of ${deepest} others, which is no schedule`)
    const isTop = name === 'event' || name === 'conference'
    const isKept = open.at(-1)?.isKept || isTop
    if (!open.at(-1)?.isKept) weight = 0
    const element = {
      name,
      attributes: attributes as Record<string, string>,
      line: parser.line + 1,
      isKept,
      content: [],
    }
    keep(element)
    open.push(element)
  }
  parser.ontext = keep
  parser.oncdata = keep
  parser.onclosetag = () => {
    const element = open.pop()
    if (!element?.isKept || open.at(-1)?.isKept) return
    if (element.name === 'conference') return void ready.push({ conference: fieldsOf(element) })
    const above = (name: string) => open.find((it) => it.name === name)?.attributes
    const place = `${path}, line ${element.line}`
    ready.push({
      event: eventOf(element),
      place,
      day: above('day')?.date,
      room: above('room')?.name ?? '',
    })
  }

  for (let at = 0; at < text.length; at += chunk) {
    parser.write(text.slice(at, at + chunk))
    // For each character, sax looks at all of the declaration so far: that takes quadratic time.
    const { sgmlDecl = '' } = parser as unknown as { readonly sgmlDecl?: string }
    if (sgmlDecl.length > maxDeclaration) refuseDeclaration()
    yield* ready.splice(0)
  }
  parser.close()
  yield* ready.splice(0)
}

function childrenOf(element: Element | undefined): Element[] {
  return element?.content.filter((it) => typeof it !== 'string') ?? []
}

function textOf(element: Element): string {
  return element.content.map((it) => (typeof it === 'string' ? it : textOf(it))).join('')
}

function fieldsOf(element: Element | undefined): Record<string, unknown> {
  return Object.fromEntries(childrenOf(element).map((it) => [it.name, textOf(it)]))
}

/** With the words and lists of the JSON. */
function eventOf(element: Element): UnknownObject {
  const inside = (name: string) => childrenOf(element).find((it) => it.name === name)
  const links = (name: string) =>
    childrenOf(inside(name)).map((it) => ({ url: it.attributes.href, title: textOf(it) }))
  return {
    ...fieldsOf(element),
    id: element.attributes.id,
    guid: element.attributes.guid,
    persons: inside('persons') && childrenOf(inside('persons')).map(textOf),
    recording: fieldsOf(inside('recording')),
    links: links('links'),
    attachments: links('attachments'),
  }
}

function* readPieces(
  path: string,
  pieces: Iterable<Piece>,
  options: ParseOptions,
): Generator<ParsedItem> {
  let conference: UnknownObject | undefined
  for (const piece of pieces) {
    if ('event' in piece) {
      if (conference === undefined) break
      yield readEvent(piece, conference, options)
    } else {
      conference = piece.conference
      yield* describe(conference, options)
    }
  }
  if (conference === undefined)
    throw new InputRefused(
      `${path} does not begin with a conference. Give the schedule.xml or schedule.json of a conference`,
    )
}

function* describe(conference: UnknownObject, options: ParseOptions): Generator<ParsedItem> {
  const title = options.category ?? readTrimmedText(conference.title)
  if (title === '') return
  const url = readUrl(conference.url)
  const start_date = readDate(conference.start)
  const end_date = readDate(conference.end)
  yield {
    category: {
      title,
      ...(url && { url }),
      ...(start_date && { start_date }),
      ...(end_date && { end_date }),
    },
  }
}

const breaks =
  /^((lunch|coffee|tea|short|long)[ -]?)?(break|pause)$|^(lunch|dinner|mittagspause|kaffeepause)$/i
const isYes = (value: unknown) => value === true || /^(true|yes|1)$/i.test(readTrimmedText(value))

function readEvent(
  { event, place, day, room }: Happening,
  conference: UnknownObject,
  options: ParseOptions,
): ImportItem | UnreadableItem {
  const own = readTrimmedText(event.title)
  const recording = readObject(event.recording)
  const type = readTrimmedText(event.type)
  const notes: ImportNote[] = []
  const persons = Array.isArray(event.persons) ? event.persons.map(nameOf) : undefined
  if (own === '') return { place, unreadable: 'has no title' }
  if (breaks.test(type) || (breaks.test(own) && !persons?.length))
    return { place, unreadable: `is a break (${own})` }
  if (isYes(recording.optout) || isYes(event.do_not_record))
    return { place, unreadable: `is not to be recorded (optout): ${own}` }

  const subtitle = readTrimmedText(event.subtitle)
  const { title, isWhole } = joinTitle(subtitle, own, notes)
  const track = readTrimmedText(event.track)
  const fields = presentFields({
    title,
    summary: readMarkdown(event.abstract, 'summary', notes),
    description: readMarkdown(event.description, 'description', notes),
    category: options.category ?? readTrimmedText(conference.title),
    language: readTrimmedText(event.language) || options.language,
    speakers: readNames(persons, 'speakers', notes),
    tags: track === '' ? undefined : [track],
    recorded: readDate(event.date, readTrimmedText(conference.time_zone_name)) ?? readDate(day),
    duration: durationOf(event.duration, notes),
    copyright_text: readTrimmedText(recording.license) || readTrimmedText(event.recording_license),
    source_url: readUrl(event.video_download_url),
  })
  const said = {
    type,
    room: readTrimmedText(event.room) || room,
    ...(isWhole ? {} : { subtitle }),
    ...overruled(conference, options),
  }
  const facts: Fact[] = [
    ...relatedOf(event, readTrimmedText(conference.base_url), notes),
    ...Object.entries(said).flatMap(([field, value]): Fact[] =>
      value === '' ? [] : [{ kind: 'said', source, field, value }],
    ),
  ]
  return { place, ...keyOf(event, conference), fields, facts, notes }
}

/** The title of the conference, where the talks are asked for under another one. */
function overruled(conference: UnknownObject, options: ParseOptions): { conference?: string } {
  const title = readTrimmedText(conference.title)
  return options.category === undefined || options.category === title ? {} : { conference: title }
}

function keyOf(event: UnknownObject, conference: UnknownObject): { key?: string } {
  const [guid, acronym, id] = [
    readTrimmedText(event.guid),
    readTrimmedText(conference.acronym),
    readTrimmedText(event.id),
  ]
  if (guid !== '') return { key: guid }
  return acronym === '' || id === '' ? {} : { key: `${acronym}:${id}` }
}

function nameOf(person: unknown): string {
  if (!isObject(person)) return readTrimmedText(person)
  return (
    readTrimmedText(person.public_name) ||
    readTrimmedText(person.name) ||
    readTrimmedText(person.full_public_name)
  )
}

/**
 * Hours and minutes, rarely with seconds. It is what was planned; recordings are shorter or longer.
 */
function durationOf(value: unknown, notes: ImportNote[]): number | undefined {
  const text = readTrimmedText(value)
  const [whole, hours, minutes, seconds] = /^(\d{1,3}):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? []
  const length = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds ?? 0)
  if (whole !== undefined && length > 0) {
    notes.push({
      kind: 'guessed',
      field: 'duration',
      detail: `is the time that was planned (${text})`,
    })
    return length
  }
  if (text !== '' && whole === undefined)
    notes.push({
      kind: 'dropped',
      field: 'duration',
      detail: `is “${text}” in the file, and not hours:minutes`,
    })
  return undefined
}

function relatedOf(event: UnknownObject, base: string, notes: ImportNote[]): Fact[] {
  const given = [
    { value: event.url, label: 'schedule' },
    ...[...readList(event.links), ...readList(event.attachments)].map((it) =>
      isObject(it)
        ? { value: it.url ?? it.href, label: readTrimmedText(it.title) }
        : { value: it, label: '' },
    ),
  ]
  return given.flatMap(({ value, label }): Fact[] => {
    const url = readUrl(value, base)
    if (url !== undefined)
      return [{ kind: 'related', url, label: label === '' || label === url ? null : label }]
    if (readTrimmedText(value) !== '')
      notes.push({
        kind: 'dropped',
        field: 'links',
        detail: `has “${readTrimmedText(value)}”, which is no web address`,
      })
    return []
  })
}
