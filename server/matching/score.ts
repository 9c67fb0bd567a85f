import type { ReadTitle } from './read-title.ts'
import type { RecordingTitle, TalkTitle, WeighedWords, WordSet } from './titles.ts'
import type { Vocabulary } from './vocabulary.ts'

// Scores a talk against a recording, from 0 to 1. No I/O.

/** What the words of a talk and a recording have in common, whatever the style of the playlist. */
export interface Overlap {
  /** How much of the talk's title is in the recording's. */
  readonly title: number
  /** How much of the recording's title, apart from the speakers, is explained by the talk's. */
  readonly explained: number
  /** How much of the best speaker's name is in the recording's title. */
  readonly name: number
}

export interface PairScore extends Overlap {
  readonly score: number
}

/** What one letter that differs costs. */
const typoShare = 0.9
/** What a title that was cut is worth, if all that is left of it is explained. */
const cutShare = 0.9
/** What the head of a title is worth without the rest. */
export const headShare = 0.85
/** How much the speaker counts where recordings name speakers. */
const nameShare = 0.25
/** How much the speaker counts where recordings do not. */
const unnamedShare = 0.08
/** How much a whole name counts: at one event, few people give two talks. */
const wholeNameShare = 0.35
/** What a recording that says only the name of the speaker explains. */
const onlyName = 0.5

/** Compares the words of a talk with those of a recording. */
export function findOverlap(
  talk: TalkTitle,
  recording: RecordingTitle,
  vocabulary: Vocabulary,
): Overlap {
  const { title: among, cutWord } = recording
  const explained = explainedShare(among, talk, vocabulary, cutWord)
  const whole = foundShare(talk.title, among, vocabulary, cutWord)
  let name = 0
  for (const words of talk.names) name = Math.max(name, nameFound(words, among, vocabulary))
  const hasHead = talk.head !== undefined && (name === 1 || !talk.hasGenericHead)
  const head = hasHead ? headShare * foundShare(talk.head, among, vocabulary, cutWord) : 0
  const cut = cutWord !== undefined ? cutShare * explained : 0
  return { title: Math.max(whole, head, cut), explained, name }
}

/** Scores a pair as the style of the playlist reads the title of the recording. */
export function scorePair(
  talk: TalkTitle,
  read: ReadTitle,
  overlap: Overlap,
  vocabulary: Vocabulary,
  namesSpeakers: boolean,
): PairScore {
  const { title, name } = overlap
  // The title of another pattern would be read wrongly: the speaker must stand where it says.
  const isRead = read.speaker?.some((word) => talk.nameWords.has(word)) ?? false
  const explained = isRead
    ? explainedShare(read.subject, talk, vocabulary, read.recording.cutWord)
    : overlap.explained
  const both = Math.sqrt(title * explained)
  const usualShare = namesSpeakers ? nameShare : unnamedShare
  const share = name === 1 && read.isOfEvent ? wholeNameShare : usualShare
  const score = talk.names.length > 0 ? (1 - share) * both + share * name : both
  return { score, title, explained, name }
}

/** Returns the weight of the words that another title has, as a share of all. */
function foundShare(
  wanted: WeighedWords,
  among: WordSet,
  vocabulary: Vocabulary,
  cutWord: string | undefined,
): number {
  const prefix = cutWord && cutWord.length > 2 ? cutWord : undefined
  let sum = 0
  for (const [word, weight] of wanted.weights) {
    const isBeginning = prefix !== undefined && word.startsWith(prefix)
    sum += weight * (isBeginning ? 1 : wordFound(word, wanted, among, vocabulary))
  }
  return wanted.total > 0 ? sum / wanted.total : 0
}

function explainedShare(
  subject: WeighedWords,
  talk: TalkTitle,
  vocabulary: Vocabulary,
  cutWord: string | undefined,
): number {
  let sum = 0
  let total = 0
  for (const [word, weight] of subject.weights) {
    const isCut = word === cutWord && word.length > 2
    const isBeginning = isCut && [...talk.said.words].some((other) => other.startsWith(word))
    const share = isBeginning ? 1 : wordFound(word, subject, talk.title, vocabulary)
    const isName = share === 0 && wordFound(word, subject, talk.said, vocabulary) > 0
    sum += weight * share
    total += isName ? 0 : weight
  }
  return total > 0 ? sum / total : onlyName
}

/** Returns how well a word is found: also with a typo, and written as one with its neighbour. */
function wordFound(
  word: string,
  own: WeighedWords,
  among: WordSet,
  vocabulary: Vocabulary,
): number {
  if (among.words.has(word) || among.joined.has(word)) return 1
  if (own.joinedWith.get(word)?.some((joined) => among.words.has(joined))) return 1
  return vocabulary.typosOf(word).some((typo) => among.words.has(typo)) ? typoShare : 0
}

/** Returns how much of a speaker's name a title has. First and last name are enough. */
export function nameFound(
  name: readonly string[],
  { words, joined }: WordSet,
  vocabulary: Vocabulary,
): number {
  const isFound = (word: string) =>
    words.has(word) || joined.has(word) || vocabulary.typosOf(word).some((typo) => words.has(typo))
  const full = name.filter((word) => word.length > 1)
  const [first = '', last = ''] = [full[0], full.at(-1)]
  if (full.length === 0) return 0
  if (isFound(last) && (isFound(first) || words.has(first.charAt(0)))) return 1
  return full.filter(isFound).length / full.length
}
