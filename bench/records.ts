import { states, type Video, videoDefaults } from '@talkshelf/contract'
import { slugify } from '../server/platform/slug.ts'
import { readTalks } from '../tests/support/pyvideo.ts'
import { type Remix, type RemixNames, remix, type Texts } from './remix.ts'

// Generates records by number, the same on every machine that has the same talks: as long as real
// ones (about 1,900 bytes), with words, speakers and tags distributed as in real catalogues (Zipf),
// because that makes an index or a cache fast or slow. From real talks if they are available,
// otherwise from invented words.

const talks = readTalks()
const real: Remix | undefined = talks && remix(talks)
/** Describes where the texts of the records come from. */
export const textOrigin = real ? 'words and sentences of real talks' : 'invented words'

/** A record with the indexes of its names in the lists of names. */
export interface GeneratedRecord {
  readonly video: Video
  readonly category: number
  readonly speakers: readonly number[]
  readonly tags: readonly number[]
}

const vocabularySize = 30_000
const syllables =
  'ba be bi bo bu da de di do du fa fe ga go ha he ka ke ko la le li lo ma me mi mo na ne no ' +
  'pa pe ra re ri ro sa se si so ta te ti to va ve zo'
const starts = syllables.split(' ')
const ends = ['n', 'r', 's', 'l', 't', 'ng', 'st', 'x', 'm', '']

/** Generates the names for this many records. */
export function makeNames(records: number): RemixNames {
  if (real) return real.names(records)
  const random = randomFrom(1)
  const speaker = (index: number) => {
    const first = capital(wordAt(index % 997))
    const last = capital(wordAt(1000 + (index % 8191)))
    return `${first} ${last}${numeral(Math.floor(index / 8191))}`
  }
  const count = (share: number, min: number) => Math.max(min, Math.round(records * share))
  return {
    categories: Array.from(
      { length: count(0.005, 5) },
      (_, index) => `${capital(wordAt(index * 7))} Days ${2000 + (index % 27)} ${index}`,
    ),
    speakers: Array.from({ length: count(0.25, 20) }, (_, index) => speaker(index)),
    tags: Array.from({ length: Math.min(count(0.02, 20), 5000) }, (_, index) =>
      random() < 0.3 ? `${wordAt(index)} ${wordAt(index + 1)}` : `${wordAt(index)} ${index}`,
    ),
  }
}

/** Generates a record; the same id gives the same record. */
export function makeRecord(id: number, names: RemixNames): GeneratedRecord {
  const random = randomFrom(id)
  const some = (count: number, of: number) => [
    ...new Set(Array.from({ length: count }, () => zipf(random, of))),
  ]
  const { title, language, recorded, summary, description } = real
    ? real.texts(random)
    : invented(random)
  const category = Math.floor(random() * names.categories.length)
  const speakers = some(1 + Math.floor(random() * 1.4), names.speakers.length)
  const tags = some(Math.floor(random() * 7), names.tags.length)
  const code = Math.floor(random() * 2 ** 48).toString(36)
  const at = new Date(Date.UTC(2026, 0, 1) + id).toISOString().slice(0, -1)
  const video: Video = {
    ...videoDefaults,
    id,
    state: random() < 0.98 ? states.live : states.draft,
    title,
    // A title without letters or digits has no slug.
    slug: `${slugify(title).slice(0, 40).replace(/-$/, '') || 'video'}-${id}`,
    category: names.categories[category] as string,
    language,
    speakers: speakers.map((index) => names.speakers[index] as string),
    tags: tags.map((index) => names.tags[index] as string),
    summary,
    description,
    copyright_text: 'CC BY 4.0',
    embed:
      `<iframe src="https://videos.example/embed/${code}" ` +
      'width="560" height="315" allowfullscreen></iframe>',
    thumbnail_url: `https://videos.example/thumbnails/${code}.jpg`,
    duration: 300 + Math.floor(random() * 3300),
    video_mp4_length: Math.floor(random() * 1e9),
    video_mp4_url: `https://files.example/${code}.mp4`,
    source_url: `https://videos.example/watch/${code}`,
    recorded,
    added: at,
    updated: at,
  }
  return { video, category, speakers, tags }
}

function invented(random: () => number): Texts {
  const words = (count: number) =>
    capital(Array.from({ length: count }, () => wordAt(zipf(random, vocabularySize))).join(' '))
  return {
    title: words(3 + Math.floor(random() * 7)),
    summary: `${words(8 + Math.floor(random() * 30))}.`,
    // A few are very long, most are short.
    description: `${words(Math.floor(20 + 330 * random() ** 2 + (random() < 0.02 ? 400 : 0)))}.`,
    language: 'en',
    recorded: new Date(Date.UTC(2000, 0, 1) + Math.floor(random() * 9800) * 86_400_000)
      .toISOString()
      .slice(0, 10),
  }
}

// Zipf's law: the second is used half as often as the first, the third a third as often. The
// inverse of a log-uniform number.
function zipf(random: () => number, count: number): number {
  return Math.min(count - 1, Math.floor((count + 1) ** random()) - 1)
}

const wordCache: string[] = []

function wordAt(index: number): string {
  let word = wordCache[index]
  if (word === undefined) {
    // Frequent words are short, and no two are the same.
    word = ends[index % ends.length] as string
    for (
      let rest = Math.floor(index / ends.length) + 1;
      rest > 0;
      rest = Math.floor(rest / starts.length)
    )
      word = starts[rest % starts.length] + word
    wordCache[index] = word
  }
  return word
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)
const numeral = (number: number) => (number === 0 ? '' : ` ${capital(wordAt(20_000 + number))}`)

/** Returns a random generator (mulberry32): small, and good enough for records. */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed, 0x9e37_79b1) >>> 0
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns a CSV file for an import. */
export function csvOf(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
  return [columns, ...rows].map((row) => `${row.map(cell).join(',')}\n`).join('')
}
