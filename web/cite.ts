import type { Talk } from './data.ts'
import { paths } from './paths.ts'
import { knownDate } from './recorded.ts'
import { formatTimecode } from './timecode.ts'

// Citations of a talk. Names are not reordered, because it is unknown which part is the family
// name.

type Cited = Pick<
  Talk,
  'id' | 'slug' | 'title' | 'speakers' | 'category' | 'language' | 'recorded' | 'sources'
>

/** A part of a text. An isolated part has a writing direction of its own. */
export interface CitationPart {
  readonly text: string
  readonly isIsolated: boolean
}

/**
 * Returns a citation in APA style, in parts: "Ada Lovelace (2026, March 1). Title [Video]. Event.
 * URL". Names, the title and the event are isolated, so that scripts that are written from right to
 * left do not rearrange the rest of the line.
 */
export function plainCitation(talk: Cited, origin: string): CitationPart[] {
  const own = (text: string) => ({ text, isIsolated: true })
  const common = (text: string) => ({ text, isIsolated: false })
  const names = namesOf(talk)
  const authors = names.flatMap((name, index) => {
    const separator = index === names.length - 1 ? ' & ' : ', '
    return index === 0 ? [own(name)] : [common(separator), own(name)]
  })
  const range = timeRange(talk)
  const title = [own(singleLine(talk.title)), common(` [Video${range && `, ${range}`}]. `)]
  const date = `(${formatDay(talk.recorded) ?? 'n.d.'}). `
  const event = singleLine(talk.category.name)
  return [
    ...(names.length > 0 ? [...authors, common(` ${date}`), ...title] : [...title, common(date)]),
    own(event),
    common(`${event.endsWith('.') ? '' : '.'} ${origin + paths.talk(talk)}`),
  ]
}

/** Returns a BibTeX entry. */
export function bibtex(talk: Cited, origin: string): string {
  const [year, month] = dateParts(talk.recorded)
  const fields: [string, string | undefined][] = [
    ['author', namesOf(talk).map(bibtexAuthor).join(' and ') || undefined],
    // Double braces keep bibliography styles from changing the case.
    ['title', `{${escaped(talk.title)}}`],
    ['howpublished', `Video, ${escaped(talk.category.name)}`],
    ['note', timeRange(talk) || undefined],
    ['year', year?.toString()],
    ['month', month?.toString()],
    ['language', escaped(talk.language.name)],
    ['url', origin + paths.talk(talk)],
  ]
  const lines = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name} = {${value}}`],
  )
  // The key is derived from the id, so that it stays the same if the title changes.
  return `@misc{talk-${talk.id},\n${lines.join(',\n')}\n}\n`
}

/** Returns an item of CSL-JSON. */
export function cslJson(talk: Cited, origin: string) {
  return {
    id: `talk-${talk.id}`,
    type: 'speech',
    title: talk.title,
    ...(talk.speakers.length > 0 && {
      author: talk.speakers.map(({ name }) => ({ literal: name })),
    }),
    'event-title': talk.category.name,
    ...(talk.recorded && { issued: { 'date-parts': [dateParts(talk.recorded)] } }),
    medium: 'Video',
    ...(timeRange(talk) && { section: timeRange(talk) }),
    language: talk.language.code,
    URL: origin + paths.talk(talk),
  }
}

/** Returns where the talk is in a recording that holds several, such as 1:02:03–1:25:10. */
function timeRange({ sources }: Cited): string {
  const part = sources[0]?.part
  if (!part) return ''
  const [start, end] = [part.start, part.end].map((time) => time !== null && formatTimecode(time))
  return end ? `${start}–${end}` : `from ${start}`
}

const namesOf = ({ speakers }: Cited) =>
  speakers.map(({ name }) => singleLine(name)).filter((name) => name !== '')

/** Protects a name with a comma or an "and", which BibTeX would read as two. */
function bibtexAuthor(name: string): string {
  const text = escaped(name)
  return /,|\band\b/i.test(text) ? `{${text}}` : text
}

// BibTeX counts braces even after a backslash, and an unbalanced one swallows the rest of the file:
// braces are therefore written as commands.
const commands: Readonly<Record<string, string>> = {
  '\\': '\\textbackslash{}',
  '{': '\\textbraceleft{}',
  '}': '\\textbraceright{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '"': '\\textquotedbl{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
}

function escaped(text: string): string {
  return singleLine(text).replaceAll(
    /[\\{}~^"<>|$&#_%]/g,
    (character) => commands[character] ?? `\\${character}`,
  )
}

/** Removes line breaks, control characters and lone surrogates. */
function singleLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}

const months =
  'January February March April May June July August September October November December'.split(' ')

function formatDay(day: string | null): string | undefined {
  const [year, month, date] = dateParts(day)
  if (!year) return undefined
  return month ? `${year}, ${months[month - 1]} ${date}` : String(year)
}

/** Returns year, month and day, or only the year. */
function dateParts(day: string | null): number[] {
  return day ? knownDate(day).split('-').map(Number) : []
}
