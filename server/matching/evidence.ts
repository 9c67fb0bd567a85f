import type { Candidate } from './candidates.ts'
import { nameFound } from './score.ts'
import { nameWords, type WordSet } from './titles.ts'
import type { Veto } from './vetoes.ts'
import type { Vocabulary } from './vocabulary.ts'
import type { Word } from './words.ts'

// What speaks for a pair, as data that a page can show. No I/O.

/** Start and end of a word in a title in NFC. */
export type TextRange = readonly [start: number, end: number]

export interface Evidence {
  /** The share of the talk's title that the recording has, and the other way round. */
  readonly titleShare: number
  readonly explainedShare: number
  /** The words in common, in the title of the talk and in that of the recording. */
  readonly talkWords: readonly TextRange[]
  readonly recordingWords: readonly TextRange[]
  /** The speakers whose whole name the title of the recording has. */
  readonly speakersFound: readonly string[]
  readonly plannedMinutes: number | null
  readonly recordedMinutes: number | null
  /** What speaks against the pair. */
  readonly vetoes: readonly Veto[]
}

export function evidenceOf(pair: Candidate, vocabulary: Vocabulary): Evidence {
  const { talk, recording } = pair
  const { seconds } = recording.recording
  return {
    titleShare: pair.title,
    explainedShare: pair.explained,
    talkWords: commonWords(talk.words, recording.title, vocabulary),
    recordingWords: commonWords(recording.words, talk.said, vocabulary),
    speakersFound: talk.talk.speakers.filter(
      (speaker) => nameFound(nameWords(speaker), recording.title, vocabulary) === 1,
    ),
    plannedMinutes: talk.talk.minutes ?? null,
    recordedMinutes: seconds == null ? null : Math.round(seconds / 60),
    vetoes: pair.vetoes,
  }
}

function commonWords(words: readonly Word[], among: WordSet, { typosOf }: Vocabulary): TextRange[] {
  return words
    .filter(({ text }) => [text, ...typosOf(text)].some((form) => among.words.has(form)))
    .map(({ start, end }) => [start, end])
}
