import { isGenericWord } from './generic-words.ts'
import { type LearnedPair, learnPattern, patternReader, type SlotTexts } from './learned-pattern.ts'
import type { PreparedEvent, RecordingTitle } from './titles.ts'

// What the recordings of an event have in common, learned from pairs that are sure: the words of
// the event in their titles, and the pattern of the titles. No I/O.

/** The share of the sure pairs that have a word which belongs to the event. */
const minSupport = 0.6
/** Fewer pairs say nothing about the playlist. */
const minPairs = 4

export interface PlaylistStyle {
  readonly pattern: string | undefined
  /** Returns how many of the words that belong to the event a title has, as a share. */
  belongingOf(recording: RecordingTitle): number
  /** Returns what stands in the slots of the pattern. */
  readTitle(title: string): SlotTexts | undefined
}

export const unknownStyle: PlaylistStyle = {
  pattern: undefined,
  belongingOf: () => 1,
  readTitle: () => undefined,
}

/** Learns the style from sure pairs; takes the known pattern if they have none. */
export function learnStyle(
  pairs: readonly LearnedPair[],
  { vocabulary }: PreparedEvent,
  knownPattern: string | undefined,
): PlaylistStyle {
  const eventWords = commonWords(pairs)
  const isEventWord = (word: string) => eventWords.has(word) || vocabulary.weightOf(word) === 0
  const pattern = learnPattern(pairs, isEventWord) ?? knownPattern
  const read = pattern ? patternReader(pattern) : undefined
  return {
    pattern,
    belongingOf: ({ title, cutWord }) => {
      if (eventWords.size === 0 || cutWord !== undefined) return 1
      return [...eventWords].filter((word) => title.words.has(word)).length / eventWords.size
    },
    readTitle: (title) => read?.(title),
  }
}

/** Finds the words that most of the recordings have, and that are not part of their talks. */
function commonWords(pairs: readonly LearnedPair[]): Set<string> {
  if (pairs.length < minPairs) return new Set()
  const counts = new Map<string, number>()
  for (const { talk, recording } of pairs)
    for (const word of recording.title.words)
      if (!talk.said.words.has(word) && !isGenericWord(word))
        counts.set(word, (counts.get(word) ?? 0) + 1)
  const common = [...counts].filter(([, count]) => count >= minSupport * pairs.length)
  return new Set(common.map(([word]) => word))
}
