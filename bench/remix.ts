import { inputOf, type PyvideoTalk } from '../tests/support/pyvideo.ts'

// Generates a million talks from twenty thousand real ones by recombining the words of titles, the
// sentences of descriptions, names and dates. Names are unique, texts nearly always. Words have the
// frequencies and lengths of the real ones.

export interface RemixNames {
  readonly categories: readonly string[]
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

export interface Texts {
  readonly title: string
  readonly summary: string
  readonly description: string
  /** The code of the language. */
  readonly language: string
  readonly recorded: string
}

interface Piece extends Texts {
  readonly words: readonly string[]
  readonly sentences: readonly string[]
}

export interface Remix {
  names(records: number): RemixNames
  texts(random: () => number): Texts
}

/** Prepares talks for recombination. */
export function remix(talks: readonly PyvideoTalk[]): Remix {
  const pieces = talks.map(pieceOf)
  const byLanguage = Map.groupBy(pieces, ({ language }) => language)
  const people = [...new Set(talks.flatMap(({ speakers }) => speakers))]
    .filter((name) => /^\S+ \S+$/u.test(name))
    .map((name) => name.split(' '))
  const events = [...new Set(talks.map((talk) => talk.category_title))]
  const tags = [...new Set(talks.flatMap((talk) => inputOf(talk).tags ?? []))]
  const at = <T>(list: readonly T[], index: number) => list[index % list.length] as T

  return {
    names: (records) => ({
      categories: uniqueNames(
        Math.max(5, Math.round(records * 0.005)),
        (index, round) => `${at(events, index)}${round ? ` (${round})` : ''}`,
      ),
      // The first name of one with the last name of another; coprime steps visit every pair once.
      speakers: uniqueNames(Math.max(20, Math.round(records * 0.25)), (index) => {
        const other = index + Math.floor(index / people.length) * 7919
        return `${at(people, index)[0]} ${at(people, other)[1]}`
      }),
      tags: uniqueNames(Math.min(tags.length, Math.max(20, Math.round(records * 0.02))), (index) =>
        at(tags, index),
      ),
    }),
    texts: (random) => {
      const any = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
      const piece = any(pieces)
      const others = byLanguage.get(piece.language) as Piece[]
      const title = piece.words
        .map((word) => (random() < 0.3 ? any(any(others).words) : word))
        .join(' ')
        .slice(0, 255)
        .trim()
      const other = any(others)
      const sentences = piece.sentences.map((sentence) =>
        random() < 0.4 && other.sentences.length > 0 ? any(other.sentences) : sentence,
      )
      const day = Date.parse(piece.recorded) + Math.floor((random() - 0.5) * 1400) * 86_400_000
      return {
        title: title || piece.title,
        summary: piece.summary,
        description: sentences.join(' ').slice(0, 100_000),
        language: piece.language,
        recorded: new Date(day).toISOString().slice(0, 10),
      }
    },
  }
}

function pieceOf(talk: PyvideoTalk): Piece {
  const { title, summary = '', description = '', language, recorded } = inputOf(talk)
  return {
    title,
    summary,
    description,
    language,
    recorded: recorded ?? '2015-01-01',
    words: title.split(' '),
    sentences: description.match(/[^.!?\n]+[.!?\n]*/g)?.map((sentence) => sentence.trim()) ?? [],
  }
}

/** Generates this many different names: for each index, the first round with a new one. */
function uniqueNames(count: number, name: (index: number, round: number) => string): string[] {
  const all = new Set<string>()
  for (let index = 0; all.size < count; index++) {
    for (let round = 0, before = all.size; all.size === before; round++)
      all.add(round < 1000 ? name(index, round) : `${name(index, 0)} ${index}`)
  }
  return [...all]
}
