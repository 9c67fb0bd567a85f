import type { Fact } from '@talkshelf/contract'
import sax from 'sax'
import { slugify } from '../../platform/slug.ts'
import {
  type EntityItem,
  type ImportFormat,
  type ImportItem,
  type ImportNote,
  InputRefused,
  type ParsedItem,
  type ParseOptions,
  type UnreadableItem,
} from '../item.ts'
import { readEventProfile, readSpeakerProfile } from './profile.ts'
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

// Reads the schedule of a conference, as exported by frab, pretalx and others: XML or JSON, with
// nearly the same fields.

const source = 'schedule'
const maxDepth = 64
/** Characters of one event, counting 100 for an element. Real events have some thousands. */
const maxEventWeight = 1_000_000
const elementWeight = 100
/** Small, because an endless declaration is detected only between two chunks. */
const chunkLength = 1024
const maxDeclarationLength = 1024

export const schedule: ImportFormat = {
  name: source,
  about: 'the schedule.xml or schedule.json of a conference, as exported by frab and pretalx',

  recognises(head) {
    return isMarkup(head)
      ? isSchedule(head)
      : firstKeys(head).has('schedule') && /"conference"\s*:\s*\{/.test(head)
  },

  async *read(files, options) {
    for await (const file of files) {
      const text = await file.text()
      const parts = isMarkup(text)
        ? readXml(file.path, text)
        : readDays(file.path, readJson(file.path, text))
      yield* limitItems(file.path, readParts(file.path, parts, options))
    }
  },
}

const isMarkup = (text: string) => /^\uFEFF?\s*</.test(text)

function isSchedule(head: string): boolean {
  const root = skipProlog(head.replace(/^\uFEFF/, ''))
  return (
    /^<!DOCTYPE\s+schedule[\s>[]/.test(root) ||
    (/^<schedule[\s>]/.test(root) && /<(conference|day)[\s>]/.test(root))
  )
}

/** Skips processing instructions and comments. Returns nothing if one of them is cut off. */
function skipProlog(text: string): string {
  let rest = text.trimStart()
  for (let end = prologEnd(rest); end !== undefined; end = prologEnd(rest)) {
    const index = rest.indexOf(end)
    if (index < 0) return ''
    rest = rest.slice(index + end.length).trimStart()
  }
  return rest
}

function prologEnd(text: string): string | undefined {
  if (text.startsWith('<?')) return '?>'
  return text.startsWith('<!--') ? '-->' : undefined
}

/** The common form of XML and JSON: first the conference, then its events. */
type SchedulePart = { readonly conference: UnknownObject } | ScheduledEvent

interface ScheduledEvent {
  readonly event: UnknownObject
  readonly place: string
  readonly day: unknown
  readonly room: string
}

function* readDays(path: string, file: unknown): Generator<SchedulePart> {
  const { conference, ...root } = readObject(readObject(file).schedule)
  if (!isObject(conference)) return
  yield {
    conference: {
      ...conference,
      url: conference.url ?? root.url,
      base_url: conference.base_url ?? root.base_url,
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

function* readXml(path: string, text: string): Generator<SchedulePart> {
  const reader = new XmlReader(path)
  for (let offset = 0; offset < text.length; offset += chunkLength)
    yield* reader.write(text.slice(offset, offset + chunkLength))
  yield* reader.close()
}

interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly line: number
  /** Whether it is the conference, an event or inside one of them. Other content is discarded. */
  readonly isKept: boolean
  readonly content: (string | XmlElement)[]
}

/** Builds the conference and the events from XML. Refuses declarations, and has limits. */
class XmlReader {
  readonly #path: string
  readonly #parser = sax.parser(true)
  readonly #ancestors: XmlElement[] = []
  readonly #parts: SchedulePart[] = []
  #weight = 0

  constructor(path: string) {
    this.#path = path
    // No other entities are expanded, neither those of a DTD nor inherited properties.
    this.#parser.ENTITIES = Object.assign(Object.create(null), {
      amp: '&',
      lt: '<',
      gt: '>',
      quot: '"',
      apos: "'",
    })
    this.#parser.onerror = ({ message }) =>
      this.#refuse(`is not valid XML (${message.split('\n')[0]}). Export it again`)
    this.#parser.ondoctype = (type) => {
      if (type.includes('['))
        this.#refuse('declares entities or elements (DOCTYPE), which is not supported. Remove it')
    }
    this.#parser.onsgmldeclaration = () => this.#refuseDeclaration()
    this.#parser.onopentag = ({ name, attributes }) =>
      this.#open(name, attributes as Record<string, string>)
    this.#parser.ontext = (text) => this.#append(text)
    this.#parser.oncdata = (text) => this.#append(text)
    this.#parser.onclosetag = () => this.#close()
  }

  write(text: string): SchedulePart[] {
    this.#parser.write(text)
    // sax takes quadratic time for a long declaration.
    const { sgmlDecl = '' } = this.#parser as unknown as { readonly sgmlDecl?: string }
    if (sgmlDecl.length > maxDeclarationLength) this.#refuseDeclaration()
    return this.#parts.splice(0)
  }

  close(): SchedulePart[] {
    this.#parser.close()
    return this.#parts.splice(0)
  }

  #refuse(reason: string): never {
    throw new InputRefused(`${this.#path}, line ${this.#parser.line + 1}: ${reason}`)
  }

  #refuseDeclaration(): never {
    this.#refuse('has a declaration (<!...>), which is not supported. Remove it')
  }

  #open(name: string, attributes: Readonly<Record<string, string>>): void {
    const parent = this.#ancestors.at(-1)
    if (!parent && name !== 'schedule')
      this.#refuse(`begins with <${name}>, but a schedule begins with <schedule>`)
    if (this.#ancestors.length >= maxDepth)
      this.#refuse(`<${name}> is nested inside ${maxDepth} others, which is too deep`)
    const isKept = parent?.isKept || name === 'event' || name === 'conference'
    if (!parent?.isKept) this.#weight = 0
    const line = this.#parser.line + 1
    const element: XmlElement = { name, attributes, line, isKept, content: [] }
    this.#append(element)
    this.#ancestors.push(element)
  }

  #append(content: string | XmlElement): void {
    const parent = this.#ancestors.at(-1)
    if (!parent?.isKept) return
    this.#weight += typeof content === 'string' ? content.length : elementWeight
    if (this.#weight > maxEventWeight)
      this.#refuse(
        `<${parent.name}> is in an event of more than ${maxEventWeight} characters, the limit`,
      )
    parent.content.push(content)
  }

  #close(): void {
    const element = this.#ancestors.pop()
    if (!element?.isKept || this.#ancestors.at(-1)?.isKept) return
    if (element.name === 'conference') {
      const colors = childrenOf(element).find(({ name }) => name === 'color')?.attributes
      this.#parts.push({ conference: { ...fieldsOf(element), colors } })
      return
    }
    const attributesOf = (name: string) =>
      this.#ancestors.find((ancestor) => ancestor.name === name)?.attributes
    this.#parts.push({
      event: eventOf(element),
      place: `${this.#path}, line ${element.line}`,
      day: attributesOf('day')?.date,
      room: attributesOf('room')?.name ?? '',
    })
  }
}

function childrenOf(element: XmlElement | undefined): XmlElement[] {
  return element?.content.filter((child) => typeof child !== 'string') ?? []
}

function textOf(element: XmlElement): string {
  return element.content
    .map((child) => (typeof child === 'string' ? child : textOf(child)))
    .join('')
}

function fieldsOf(element: XmlElement | undefined): Record<string, unknown> {
  return Object.fromEntries(childrenOf(element).map((child) => [child.name, textOf(child)]))
}

/** Converts an event to the fields and lists of the JSON format. */
function eventOf(element: XmlElement): UnknownObject {
  const child = (name: string) => childrenOf(element).find((other) => other.name === name)
  const links = (name: string) =>
    childrenOf(child(name)).map((link) => ({ url: link.attributes.href, title: textOf(link) }))
  return {
    ...fieldsOf(element),
    id: element.attributes.id,
    guid: element.attributes.guid,
    persons: child('persons') && childrenOf(child('persons')).map(textOf),
    recording: fieldsOf(child('recording')),
    links: links('links'),
    attachments: links('attachments'),
  }
}

function* readParts(
  path: string,
  parts: Iterable<SchedulePart>,
  options: ParseOptions,
): Generator<ParsedItem> {
  let conference: UnknownObject | undefined
  const described = new Set<string>()
  for (const part of parts) {
    if ('event' in part) {
      if (conference === undefined) break
      const item = readEvent(part, conference, options)
      if ('fields' in item) yield* describeSpeakers(part, item, conference, described)
      yield item
    } else {
      conference = part.conference
      yield* readConference(conference, options)
    }
  }
  if (conference === undefined)
    throw new InputRefused(
      `${path} does not begin with a conference. Export schedule.xml or schedule.json again`,
    )
}

function* readConference(conference: UnknownObject, options: ParseOptions): Generator<ParsedItem> {
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
      ...(end_date && (!start_date || start_date <= end_date) && { end_date }),
      ...readEventProfile({
        city: readTrimmedText(conference.city),
        country: readTrimmedText(conference.country),
        logo_url: readUrl(conference.logo, readTrimmedText(conference.base_url)),
        colour: readTrimmedText(readObject(conference.colors).primary),
      }),
    },
  }
}

const breaks =
  /^((lunch|coffee|tea|short|long)[ -]?)?(break|pause)$|^(lunch|dinner|mittagspause|kaffeepause)$/i
const isYes = (value: unknown) => value === true || /^(true|yes|1)$/i.test(readTrimmedText(value))

function readEvent(
  { event, place, day, room }: ScheduledEvent,
  conference: UnknownObject,
  options: ParseOptions,
): ImportItem | UnreadableItem {
  const eventTitle = readTrimmedText(event.title)
  const recording = readObject(event.recording)
  const type = readTrimmedText(event.type)
  const notes: ImportNote[] = []
  const persons = Array.isArray(event.persons) ? event.persons.map(nameOf) : undefined
  if (eventTitle === '') return { place, unreadable: 'Has no title' }
  if (breaks.test(type) || (breaks.test(eventTitle) && !persons?.length))
    return { place, unreadable: `Is a break (${eventTitle})` }
  if (isYes(recording.optout) || isYes(event.do_not_record))
    return { place, unreadable: `Must not be recorded (optout): ${eventTitle}` }

  const subtitle = readTrimmedText(event.subtitle)
  const { title, isWhole } = joinTitle(eventTitle, subtitle, notes)
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
  const otherFields = {
    type,
    room: readTrimmedText(event.room) || room,
    ...(isWhole ? {} : { subtitle }),
    ...replacedTitle(conference, options),
  }
  const facts: Fact[] = [
    ...relatedOf(event, readTrimmedText(conference.base_url), notes),
    ...programmeOf(event),
    ...slotOf(
      event,
      readTrimmedText(event.room) || room,
      readTrimmedText(conference.time_zone_name),
    ),
    ...Object.entries(otherFields).flatMap(([field, value]): Fact[] =>
      value === '' ? [] : [{ kind: 'said', source, field, value }],
    ),
  ]
  return { place, ...keyOf(event, conference), fields, facts, notes }
}

/** Returns the title of the conference if --category replaced it. */
function replacedTitle(conference: UnknownObject, options: ParseOptions): { conference?: string } {
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

/** Describes the speakers of a talk whose text or picture is in the schedule, each of them once. */
function* describeSpeakers(
  { event, place }: ScheduledEvent,
  { fields: { speakers = [] } }: ImportItem,
  conference: UnknownObject,
  described: Set<string>,
): Generator<EntityItem> {
  for (const person of Array.isArray(event.persons) ? event.persons.filter(isObject) : []) {
    const name = nameOf(person)
    const profile = readSpeakerProfile({
      description: readMarkdown(person.biography, 'biography', []),
      picture_url: readUrl(person.avatar, readTrimmedText(conference.base_url)),
    })
    if (Object.keys(profile).length === 0 || described.has(name) || !speakers.includes(name))
      continue
    described.add(name)
    const slug = slugify(name) || 'speaker'
    const names = { id: 0, name, slug, aliases: [], old_slugs: [] }
    yield { place, entity: { kind: 'speaker', ...names, ...profile, revision: 1 } }
  }
}

/** Returns the position among the talks of a day: those of all rooms by the time they begin. */
function programmeOf(event: UnknownObject): Fact[] {
  const [match, hours, minutes] =
    /^([01]?\d|2[0-3]):([0-5]\d)/.exec(readTrimmedText(event.start)) ?? []
  const position = Number(hours) * 60 + Number(minutes) + 1
  return match === undefined ? [] : [{ kind: 'programme', position }]
}

/** Returns when and where the talk is, if the schedule has its time with an offset. */
function slotOf(event: UnknownObject, room: string, zone: string): Fact[] {
  const date = readTrimmedText(event.date)
  if (!hasOffset.test(date) || !readDate(date) || Number.isNaN(Date.parse(date))) return []
  const seconds = durationOf(event.duration, [])
  const minutes = seconds === undefined ? null : Math.min(Math.ceil(seconds / 60), 10_000)
  const start = /(Z|[+-]00:00)$/.test(date) ? inZone(new Date(date), zone) : date
  return [{ kind: 'slot', start, minutes, room: room.slice(0, 200).toWellFormed() }]
}

const hasOffset = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/

/** Formats a time with the offset of a zone; in UTC if the zone is unknown. */
function inZone(time: Date, zone: string): string {
  const utc = time.toISOString().replace('.000Z', 'Z')
  try {
    const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
    const name = parts.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value
    const [, sign, hours, minutes] = /^GMT([+-])(\d\d):(\d\d)$/.exec(name ?? '') ?? []
    if (sign === undefined) return utc
    const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
    const local = new Date(time.getTime() + offsetMs).toISOString().slice(0, 19)
    return `${local}${sign}${hours}:${minutes}`
  } catch {
    return utc
  }
}

/** Reads the planned duration in hours and minutes, rarely with seconds. */
function durationOf(value: unknown, notes: ImportNote[]): number | undefined {
  const text = readTrimmedText(value)
  const [match, hours, minutes, seconds] = /^(\d{1,3}):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? []
  const length = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds ?? 0)
  if (match !== undefined && length > 0) {
    notes.push({
      kind: 'guessed',
      field: 'duration',
      detail: `is the planned duration (${text})`,
    })
    return length
  }
  if (text !== '' && match === undefined)
    notes.push({
      kind: 'dropped',
      field: 'duration',
      detail: `was “${text}” in the file, not hours:minutes`,
    })
  return undefined
}

function relatedOf(event: UnknownObject, base: string, notes: ImportNote[]): Fact[] {
  const links = [
    { value: event.url, label: 'schedule' },
    ...[...readList(event.links), ...readList(event.attachments)].map((link) =>
      isObject(link)
        ? { value: link.url ?? link.href, label: readTrimmedText(link.title) }
        : { value: link, label: '' },
    ),
  ]
  return links.flatMap(({ value, label }): Fact[] => {
    const url = readUrl(value, base)
    if (url !== undefined)
      return [{ kind: 'related', url, label: label === '' || label === url ? null : label }]
    if (readTrimmedText(value) !== '')
      notes.push({
        kind: 'dropped',
        field: 'links',
        detail: `had “${readTrimmedText(value)}”, which is not a URL`,
      })
    return []
  })
}
