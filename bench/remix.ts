import { inputOf, type PyvideoTalk } from '../tests/support/pyvideo.ts'

// A million talks out of twenty thousand: words, sentences, names and days of real ones, put
// together anew. No two are the same, and words are as common or rare, and as long, as in the real
// ones.

export interface RemixNames {
  readonly categories: readonly string[]
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

export interface Texts {
  readonly title: string
  readonly summary: string
  readonly description: string
  /** Its code. */
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

export function remix(talks: readonly PyvideoTalk[]): Remix {
  const pieces = talks.map(pieceOf)
  const byLanguage = Map.groupBy(pieces, ({ language }) => language)
  const people = [...new Set(talks.flatMap(({ speakers }) => speakers))]
    .filter((name) => /^\S+ \S+$/u.test(name))
    .map((name) => name.split(' '))
  const events = [...new Set(talks.map((talk) => talk.category_title))]
  const tags = [...new Set(talks.flatMap((talk) => inputOf(talk).tags ?? []))]
  const at = <T>(list: readonly T[], place: number) => list[place % list.length] as T

  return {
    names: (records) => ({
      categories: unlike(
        Math.max(5, Math.round(records * 0.005)),
        (place, round) => `${at(events, place)}${round ? ` (${round})` : ''}`,
      ),
      // A first name with the last name of another; steps that have no common divisor meet every
      // pair once.
      speakers: unlike(
        Math.max(20, Math.round(records * 0.25)),
        (place) =>
          `${at(people, place)[0]} ${at(people, place + Math.floor(place / people.length) * 7919)[1]}`,
      ),
      tags: unlike(Math.min(tags.length, Math.max(20, Math.round(records * 0.02))), (place) =>
        at(tags, place),
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

/** As many as asked for, each once: the first of `round` that is new. */
function unlike(count: number, name: (place: number, round: number) => string): string[] {
  const all = new Set<string>()
  for (let place = 0; all.size < count; place++) {
    for (let round = 0, before = all.size; all.size === before; round++)
      all.add(round < 1000 ? name(place, round) : `${name(place, 0)} ${place}`)
  }
  return [...all]
}
