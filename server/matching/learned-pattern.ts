import type { RecordingTitle, TalkTitle } from './titles.ts'
import { maxTitleLength, type Word } from './words.ts'

// Learns how the titles of a playlist are written from pairs that are sure: "{speaker}: {title} |
// {event}". Reads speaker and title from other titles of the playlist with it. No I/O.

/** The share of the sure pairs that must have the pattern. */
const minSupport = 0.6
/** Fewer pairs say nothing about a pattern. */
const minPairs = 4
/** More parts are no pattern. */
const maxSlots = 5

const slots = ['speaker', 'title', 'event'] as const
type Slot = (typeof slots)[number]

/** What stands in the slots of a title. */
export interface SlotTexts {
  readonly title: string
  readonly speaker?: string
}

export interface LearnedPair {
  readonly talk: TalkTitle
  readonly recording: RecordingTitle
}

const separator = new RegExp(
  '\\s*[|｜]\\s*|\\s+[-–—·•/@~]+\\s+|[:：]\\s+|\\s+[-–—](?=\\S)|(?<=\\S)[-–—]\\s+|\\s+@(?=\\S)|' +
    '\\s+\\(|\\)\\s*$|,?\\s+(?:by|with|von|por|par):?\\s+',
  'giu',
)

/** Finds the pattern that most of the pairs have; undefined if there is none. */
export function learnPattern(
  pairs: readonly LearnedPair[],
  isEventWord: (word: string) => boolean,
): string | undefined {
  if (pairs.length < minPairs) return undefined
  const counts = new Map<string, number>()
  for (const pair of pairs) {
    const pattern = patternOf(pair, isEventWord)
    if (pattern) counts.set(pattern, (counts.get(pattern) ?? 0) + 1)
  }
  const [best, count] = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))[0] ?? [
    '',
    0,
  ]
  return count >= minSupport * pairs.length ? best : undefined
}

/** Returns the pattern of one title; undefined if a part of it is neither of the slots. */
function patternOf(
  { talk, recording }: LearnedPair,
  isEventWord: (word: string) => boolean,
): string | undefined {
  if (recording.cutWord !== undefined) return undefined
  const title = recording.recording.title.normalize('NFC')
  const found: { readonly slot: Slot; readonly before: string }[] = []
  let start = 0
  let before = ''
  const separators = [...title.matchAll(separator)]
  for (const match of [...separators, undefined]) {
    const end = match?.index ?? title.length
    const words = recording.words.filter((word) => word.start >= start && word.end <= end)
    const slot = slotOf(words, talk, isEventWord)
    if (words.length > 0 && !slot) return undefined
    const last = found.at(-1)
    if (slot && slot !== last?.slot) found.push({ slot, before })
    else if (!slot && last) return undefined
    start = end + (match?.[0].length ?? 0)
    before = match?.[0] ?? ''
  }
  const isPattern =
    found.length > 1 &&
    found.length <= maxSlots &&
    found.filter(({ slot }) => slot === 'title').length === 1 &&
    new Set(found.map(({ slot }) => slot)).size === found.length
  if (!isPattern) return undefined
  return found
    .map(({ slot, before }, index) => `${index > 0 ? before.replaceAll(/\s+/g, ' ') : ''}{${slot}}`)
    .join('')
}

function slotOf(
  words: readonly Word[],
  talk: TalkTitle,
  isEventWord: (word: string) => boolean,
): Slot | undefined {
  const shareOf = (test: (text: string) => boolean) =>
    words.filter(({ text }) => test(text)).length / words.length
  if (words.length === 0) return undefined
  if (shareOf((text) => talk.nameWords.has(text)) >= 0.6) return 'speaker'
  if (shareOf((text) => talk.title.words.has(text)) >= 0.6) return 'title'
  return shareOf(isEventWord) >= 0.6 ? 'event' : undefined
}

const slotPattern = /\{(speaker|title|event)\}/

/** Returns a reader of titles with a pattern; undefined if it is none. */
export function patternReader(
  pattern: string,
): ((title: string) => SlotTexts | undefined) | undefined {
  const parts = pattern.slice(0, 200).split(slotPattern)
  const names = parts.filter((_, index) => index % 2 === 1)
  if (!names.includes('title') || new Set(names).size < names.length) return undefined
  // The title is greedy: it may have the separator itself.
  const source = parts.map((part, index) => {
    if (index % 2 === 0) return literal(part)
    return part === 'title' ? '(?<title>.+)' : `(?<${part}>.+?)`
  })
  const expression = new RegExp(`^\\s*${source.join('')}\\s*$`, 'iu')
  return (title) => {
    const groups = expression.exec(title.slice(0, maxTitleLength).normalize('NFC'))?.groups
    if (!groups?.title) return undefined
    return { title: groups.title, ...(groups.speaker && { speaker: groups.speaker }) }
  }
}

/** Turns the text between two slots into an expression. */
function literal(text: string): string {
  const escaped = text
    .trim()
    .replaceAll(/[^\p{L}\p{N}]/gu, (sign) => `\\u{${sign.codePointAt(0)?.toString(16)}}`)
  const space = (hasSpace: boolean) => (hasSpace ? '\\s+' : '\\s*')
  return text === '' ? '' : space(/^\s/.test(text)) + escaped + space(/\s$/.test(text))
}
