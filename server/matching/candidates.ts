import type { PlaylistStyle } from './playlist-style.ts'
import { type ReadTitle, readTitle } from './read-title.ts'
import { findOverlap, nameFound, type Overlap, type PairScore, scorePair } from './score.ts'
import type { PreparedEvent, RecordingTitle, TalkTitle } from './titles.ts'
import { findStyleVetoes, findTitleVetoes, type Veto } from './vetoes.ts'

// Finds the pairs worth comparing by an inverted index of words, compares their words once, and
// scores them as the style of the playlist reads them. No I/O.

export interface Candidate extends PairScore {
  readonly talk: TalkTitle
  readonly recording: RecordingTitle
  /** How many of the words that the recordings of the event have it has, as a share. */
  readonly belonging: number
  /** Whether the playlist is that of one event. */
  readonly isOneEvent: boolean
  /** Reasons not to pair automatically. */
  readonly vetoes: readonly Veto[]
}

/** Pairs with a lower score are never proposed. */
const minScore = 0.1

/** Recordings of one talk that are compared: those with the greatest weight in common. */
const maxPerTalk = 50

/** Words without weight only decide which recordings are compared. */
const ignoredWeight = 0.01

/** A name in this share of recordings means that the playlist names speakers. */
const minNaming = 0.3

/** What a reason not to pair leaves of the score: others may be better. */
const vetoShare: Partial<Record<Veto, number>> = { 'other-year': 0.6, 'other-part': 0.8 }

/** What a title without the words of the event loses, if the sure ones have them. */
const strangerLoss = 0.15

/** The pairs of an event that have a word in common, whatever the style of the playlist. */
export interface ComparedEvent {
  readonly event: PreparedEvent
  readonly comparisons: readonly Comparison[]
  /** The talks whose speaker a recording names in full. */
  readonly namedTalks: ReadonlyMap<RecordingTitle, ReadonlySet<TalkTitle>>
}

interface Comparison {
  readonly talk: TalkTitle
  readonly recording: RecordingTitle
  readonly overlap: Overlap
  readonly vetoes: readonly Veto[]
}

/** Compares all pairs that have a word in common. */
export function compareTitles(event: PreparedEvent): ComparedEvent {
  const index = indexRecordings(event)
  const comparisons = event.talks.flatMap((talk) =>
    sharing(talk, event, index).map((recording) => {
      const overlap = findOverlap(talk, recording, event.vocabulary)
      const vetoes = findTitleVetoes(talk, recording, overlap, event)
      return { talk, recording, overlap, vetoes }
    }),
  )
  return { event, comparisons, namedTalks: findNamedTalks(event, index) }
}

/** Scores the pairs as the style of the playlist reads the titles of its recordings. */
export function findCandidates(compared: ComparedEvent, style: PlaylistStyle): Candidate[] {
  const { event, comparisons, namedTalks } = compared
  const namesSpeakers = namedTalks.size > event.recordings.length * minNaming
  const read = new Map(
    event.recordings.map((recording) => [
      recording,
      readTitle(recording, namedTalks.get(recording), event, style),
    ]),
  )
  const candidates = comparisons
    .map((one) => scoreComparison(one, read.get(one.recording) as ReadTitle, event, namesSpeakers))
    .filter(({ score, name }) => score > minScore || name === 1)
  return markSeveralTalks(candidates)
}

/** Adds a veto where the title of a recording has the whole titles of several talks. */
function markSeveralTalks(candidates: readonly Candidate[]): Candidate[] {
  const whole = Map.groupBy(
    candidates.filter(({ title }) => title > 0.99),
    ({ recording }) => recording,
  )
  return candidates.map((candidate) => {
    if (candidate.title <= 0.99) return candidate
    const own = candidate.talk.title.words
    const isOther = ({ talk }: Candidate) =>
      talk !== candidate.talk && [...talk.title.weights.keys()].every((word) => !own.has(word))
    const hasOthers = whole.get(candidate.recording)?.some(isOther)
    return hasOthers ? { ...candidate, vetoes: [...candidate.vetoes, 'several-talks'] } : candidate
  })
}

function scoreComparison(
  { talk, recording, overlap, vetoes: titleVetoes }: Comparison,
  read: ReadTitle,
  event: PreparedEvent,
  namesSpeakers: boolean,
): Candidate {
  const pair = scorePair(talk, read, overlap, event.vocabulary, namesSpeakers)
  const vetoes = [...titleVetoes, ...findStyleVetoes(talk, read, pair, event)]
  const own = pair.score * (1 - strangerLoss * (1 - read.belonging))
  const score = vetoes.reduce((value, veto) => value * (vetoShare[veto] ?? 1), own)
  const { isOneEvent } = event
  return { talk, recording, belonging: read.belonging, isOneEvent, ...pair, score, vetoes }
}

type Index = ReadonlyMap<string, readonly RecordingTitle[]>

function indexRecordings({ recordings }: PreparedEvent): Index {
  const index = new Map<string, RecordingTitle[]>()
  for (const recording of recordings)
    for (const word of new Set([...recording.title.words, ...recording.title.joined])) {
      const list = index.get(word)
      if (list) list.push(recording)
      else index.set(word, [recording])
    }
  return index
}

/** Finds the recordings that share a word with a talk, those with the rarest words first. */
function sharing(talk: TalkTitle, { vocabulary }: PreparedEvent, index: Index): RecordingTitle[] {
  const weights = new Map<RecordingTitle, number>()
  const words = new Set([...talk.said.words, ...talk.said.joined])
  for (const word of words) {
    const weight = vocabulary.weightOf(word)
    for (const form of [word, ...vocabulary.typosOf(word)]) {
      const found = index.get(form) ?? []
      // A word of the event says nothing, unless few recordings have it.
      if (weight === 0 && found.length > maxPerTalk) continue
      for (const recording of found)
        weights.set(recording, (weights.get(recording) ?? 0) + (weight || ignoredWeight))
    }
  }
  return [...weights]
    .sort(([a, weightOfA], [b, weightOfB]) => weightOfB - weightOfA || compareKeys(a, b))
    .slice(0, maxPerTalk)
    .map(([recording]) => recording)
}

const compareKeys = (a: RecordingTitle, b: RecordingTitle) =>
  a.recording.key < b.recording.key ? -1 : 1

/** Finds the talks whose speaker a recording names in full. */
function findNamedTalks({ talks, vocabulary }: PreparedEvent, index: Index) {
  const named = new Map<RecordingTitle, Set<TalkTitle>>()
  for (const talk of talks)
    for (const name of talk.names.filter(({ length }) => length > 1))
      for (const recording of index.get(name.at(-1) ?? '') ?? [])
        if (nameFound(name, recording.title, vocabulary) === 1) {
          const talksNamed = named.get(recording)
          if (talksNamed) talksNamed.add(talk)
          else named.set(recording, new Set([talk]))
        }
  return named
}
