import type { Talk } from './data.ts'
import { paths } from './paths.ts'

// Citations of a talk. Names are not reordered, because it is unknown which part is the family
// name.

type Cited = Pick<Talk, 'id' | 'slug' | 'title' | 'speakers' | 'category' | 'language' | 'recorded'>

/** Returns a citation in APA style: "Ada Lovelace (2026, March 1). Title [Video]. Event. URL". */
export function plainCitation(talk: Cited, origin: string): string {
  const names = namesOf(talk)
  const authors = names.length > 1 ? `${names.slice(0, -1).join(', ')} & ${names.at(-1)}` : names[0]
  const title = `${singleLine(talk.title)} [Video]`
  const date = `(${formatDay(talk.recorded) ?? 'n.d.'})`
  const parts = authors ? [`${authors} ${date}`, title] : [title, date]
  const sentences = [...parts, singleLine(talk.category.name)].map((part) =>
    part.replace(/\.?$/, '.'),
  )
  return `${sentences.join(' ')} ${origin + paths.talk(talk)}`
}

/** Returns a BibTeX entry. */
export function bibtex(talk: Cited, origin: string): string {
  const [year, month] = talk.recorded?.split('-') ?? []
  const fields: [string, string | undefined][] = [
    ['author', namesOf(talk).map(bibtexAuthor).join(' and ') || undefined],
    // Double braces keep bibliography styles from changing the case.
    ['title', `{${escaped(talk.title)}}`],
    ['howpublished', `Video, ${escaped(talk.category.name)}`],
    ['year', year],
    ['month', month && String(Number(month))],
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
    ...(talk.recorded && { issued: { 'date-parts': [talk.recorded.split('-').map(Number)] } }),
    medium: 'Video',
    language: talk.language.code,
    URL: origin + paths.talk(talk),
  }
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
  const [year, month = 0, date] = day?.split('-').map(Number) ?? []
  return year ? `${year}, ${months[month - 1]} ${date}` : undefined
}
