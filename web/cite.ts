import type { Talk } from './data.ts'
import { paths } from './paths.ts'

// A talk as others cite it. Names stay as they are written: which part of them is the family's,
// nobody told us.

type Cited = Pick<Talk, 'id' | 'slug' | 'title' | 'speakers' | 'category' | 'language' | 'recorded'>

/**
 * For text: "Lovelace, Ada. (2026, March 1). Title [Video]. Event. Address", with names as they
 * are.
 */
export function plainCitation(talk: Cited, origin: string): string {
  const names = namesOf(talk)
  const who = names.length > 1 ? `${names.slice(0, -1).join(', ')} & ${names.at(-1)}` : names[0]
  const title = `${line(talk.title)} [Video]`
  const when = `(${dayIn(talk.recorded) ?? 'n.d.'})`
  const sentences = who ? [`${who} ${when}`, title] : [title, when]
  return `${[...sentences, line(talk.category.name)].map((part) => part.replace(/\.?$/, '.')).join(' ')} ${origin + paths.talk(talk)}`
}

export function bibtex(talk: Cited, origin: string): string {
  const [year, month] = talk.recorded?.split('-') ?? []
  const fields: [string, string | undefined][] = [
    ['author', namesOf(talk).map(author).join(' and ') || undefined],
    // In braces twice: no style may change its letters.
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
  // The key is made from the number: it stays in the texts of others, whatever the talk is called.
  return `@misc{talk-${talk.id},\n${lines.join(',\n')}\n}\n`
}

/** One item of CSL-JSON. */
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
  speakers.map(({ name }) => line(name)).filter((name) => name !== '')

/** A name with a comma or an "and" in it would be taken for two. */
function author(name: string): string {
  const text = escaped(name)
  return /,|\band\b/i.test(text) ? `{${text}}` : text
}

// A brace counts for BibTeX even behind a backslash, and one too many swallows the rest of the
// file: so braces are words.
const signs: Readonly<Record<string, string>> = {
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
  return line(text).replaceAll(/[\\{}~^"<>|$&#_%]/g, (sign) => signs[sign] ?? `\\${sign}`)
}

/** On one line, and without what no text has. */
function line(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
}

const months =
  'January February March April May June July August September October November December'.split(' ')

function dayIn(day: string | null): string | undefined {
  const [year, month = 0, date] = day?.split('-').map(Number) ?? []
  return year ? `${year}, ${months[month - 1]} ${date}` : undefined
}
