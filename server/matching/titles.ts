import { isGenericWord, placeholders } from './generic-words.ts'
import type { Recording, ScheduledTalk } from './input.ts'
import { hasPartNumber, partsOf, phasesOf, yearsOf } from './title-numbers.ts'
import { buildVocabulary, joinedWords, type Vocabulary } from './vocabulary.ts'
import { type Word, wordsOf } from './words.ts'

// Talks and recordings with their words, prepared once for all comparisons. No I/O.

/** The distinct words of a text, and those that result from writing two of them as one. */
export interface WordSet {
  readonly words: ReadonlySet<string>
  readonly joined: ReadonlySet<string>
}

/** The words of a title that say something, with their weights. */
export interface WeighedWords extends WordSet {
  readonly weights: ReadonlyMap<string, number>
  readonly total: number
  /** For a word, what results from joining it with the one before or after it. */
  readonly joinedWith: ReadonlyMap<string, readonly string[]>
}

export interface TalkTitle {
  readonly talk: ScheduledTalk
  readonly words: readonly Word[]
  readonly title: WeighedWords
  /** The title before a colon or dash, if it says something by itself. */
  readonly head: WeighedWords | undefined
  /** Whether the head is that of any event: "Keynote: ..." */
  readonly hasGenericHead: boolean
  /** The words of each speaker's name. */
  readonly names: readonly (readonly string[])[]
  readonly nameWords: ReadonlySet<string>
  /** The words of title and names. */
  readonly said: WordSet
  /** The words of the title that are not those of a session which every event has. */
  readonly ownWords: readonly string[]
  /** Whether the title says only what a session is called that every event has. */
  readonly isGeneric: boolean
  readonly years: ReadonlySet<string>
  /** The year in which the talk is given. */
  readonly startYears: ReadonlySet<string>
  readonly parts: ReadonlySet<string>
  /** Whether one of its numbers is that of a part, and not only of a day or in the programme. */
  readonly hasParts: boolean
  readonly phases: ReadonlySet<string>
}

export interface RecordingTitle {
  readonly recording: Recording
  readonly words: readonly Word[]
  readonly title: WeighedWords
  /** The beginning of the last word, if the title was cut there; empty if it was cut elsewhere. */
  readonly cutWord: string | undefined
  readonly years: ReadonlySet<string>
  readonly parts: ReadonlySet<string>
  /** Whether one of its numbers is that of a part, and not only of a day or in the playlist. */
  readonly hasParts: boolean
  readonly phases: ReadonlySet<string>
}

export interface PreparedEvent {
  readonly years: ReadonlySet<string>
  /** Whether most recordings are numbered. */
  readonly isNumbered: boolean
  /** Whether the playlist has hardly more recordings than the schedule has talks. */
  readonly isOneEvent: boolean
  readonly talks: readonly TalkTitle[]
  readonly recordings: readonly RecordingTitle[]
  readonly vocabulary: Vocabulary
}

/** A playlist with more recordings is not that of one event. */
const maxRecordingsPerTalk = 1.3

/** Prepares the titles of an event for comparisons. */
export function prepareEvent(
  event: string,
  talks: readonly ScheduledTalk[],
  recordings: readonly Recording[],
): PreparedEvent {
  const titlesOfTalks = talks.map(({ title }) => wordsOf(title))
  const titlesOfRecordings = recordings.map(({ title }) => wordsOf(title))
  const names = talks.map(({ speakers }) => speakers.map(nameWords).filter(isName))
  const vocabulary = buildVocabulary(
    textsOf(wordsOf(event)),
    titlesOfTalks.map((words) => new Set(textsOf(words))),
    titlesOfRecordings.map((words) => new Set(textsOf(words))),
    new Set(names.flat(2)),
  )
  const prepared = recordings.map((recording, index) =>
    prepareRecording(recording, titlesOfRecordings[index] ?? [], vocabulary),
  )
  const numbered = prepared.filter(({ parts }) => parts.size > 0).length
  return {
    vocabulary,
    years: yearsOf(event),
    isOneEvent: recordings.length <= maxRecordingsPerTalk * talks.length,
    isNumbered: numbered > recordings.length / 2,
    talks: talks.map((talk, index) =>
      prepareTalk(talk, titlesOfTalks[index] ?? [], names[index] ?? [], vocabulary),
    ),
    recordings: prepared,
  }
}

function prepareTalk(
  talk: ScheduledTalk,
  words: readonly Word[],
  names: readonly (readonly string[])[],
  vocabulary: Vocabulary,
): TalkTitle {
  const texts = textsOf(words)
  const title = weighWords(texts, vocabulary)
  const end = headEnd(talk.title)
  const head = weighWords(textsOf(words.filter((word) => word.end <= end)), vocabulary)
  return {
    talk,
    words,
    title,
    head: end > 0 && head.weights.size > 0 ? head : undefined,
    hasGenericHead: [...head.weights.keys()].every(isGenericWord),
    names,
    nameWords: new Set(names.flat()),
    said: {
      words: new Set([...texts, ...names.flat()]),
      joined: new Set([...title.joined, ...names.flatMap(joinedWords)]),
    },
    ownWords: [...title.words].filter((word) => !isGenericWord(word)),
    isGeneric: [...title.weights.keys()].every(isGenericWord),
    years: yearsOf(talk.title),
    startYears: yearsOf(talk.start ?? ''),
    parts: partsOf(talk.title),
    hasParts: hasPartNumber(talk.title),
    phases: phasesOf(talk.title),
  }
}

function prepareRecording(
  recording: Recording,
  words: readonly Word[],
  vocabulary: Vocabulary,
): RecordingTitle {
  return {
    recording,
    words,
    title: weighWords(textsOf(words), vocabulary),
    cutWord: cutWordOf(recording.title, words),
    years: yearsOf(recording.title),
    parts: partsOf(recording.title),
    hasParts: hasPartNumber(recording.title),
    phases: phasesOf(recording.title),
  }
}

/** Weighs the words of a text. If none says anything, all count the same. */
export function weighWords(texts: readonly string[], { weightOf }: Vocabulary): WeighedWords {
  const words = new Set(texts)
  const weights = new Map<string, number>()
  for (const word of words) if (weightOf(word) > 0) weights.set(word, weightOf(word))
  if (weights.size === 0) for (const word of words) weights.set(word, 0.1)
  const joined = joinedWords(texts)
  const joinedWith = new Map<string, string[]>()
  for (const [index, text] of joined.entries())
    for (const word of [texts[index] ?? '', texts[index + 1] ?? ''])
      joinedWith.set(word, [...(joinedWith.get(word) ?? []), text])
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  return { words, joined: new Set(joined), weights, total, joinedWith }
}

const textsOf = (words: readonly Word[]) => words.map(({ text }) => text)

/** Returns where the head of a title ends; 0 if it has none. */
function headEnd(title: string): number {
  return Math.max(0, title.normalize('NFC').search(/[:：]\s|\s[-–—|]\s|[?!]\s/u))
}

/** Words in front of or after a name that are not part of it. */
const honorifics = new Set(['dr', 'prof', 'professor', 'phd', 'mr', 'mrs', 'ms', 'msc', 'ing'])

/** Splits a name into words, without honorifics. */
export function nameWords(name: string): string[] {
  const words = textsOf(wordsOf(name.slice(0, 200)))
  const kept = words.filter((word) => !honorifics.has(word))
  return kept.length > 0 ? kept : words
}

const isName = (words: readonly string[]) => !words.every((word) => placeholders.has(word))

/** A host allows 100 characters; a title that was shortened by hand has a few less. */
const fullLength = 95

function cutWordOf(title: string, words: readonly Word[]): string | undefined {
  const ellipsis = title.normalize('NFC').search(/\.\.\.|…/u)
  if (ellipsis >= 0) return words.findLast(({ end }) => end === ellipsis)?.text ?? ''
  return Array.from(title.trim()).length >= fullLength ? (words.at(-1)?.text ?? '') : undefined
}
