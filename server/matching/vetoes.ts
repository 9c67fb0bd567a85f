import { isGenericWord } from './generic-words.ts'
import type { ReadTitle } from './read-title.ts'
import { headShare, type Overlap, type PairScore } from './score.ts'
import { weekdays } from './title-numbers.ts'
import type { PreparedEvent, RecordingTitle, TalkTitle } from './titles.ts'

// Reasons never to pair automatically, however similar the titles are. No I/O.

export type Veto =
  | 'other-year'
  | 'other-part'
  | 'generic-title'
  | 'other-speaker'
  | 'several-talks'
  | 'name-only'

/** Finds the reasons that the titles alone give. */
export function findTitleVetoes(
  talk: TalkTitle,
  recording: RecordingTitle,
  overlap: Overlap,
  event: PreparedEvent,
): Veto[] {
  const vetoes: Veto[] = []
  if (isOtherYear(talk, recording, event)) vetoes.push('other-year')
  if (isOtherPart(talk, recording, overlap, event)) vetoes.push('other-part')
  if (isNameOnly(talk, recording, overlap, event)) vetoes.push('name-only')
  return vetoes
}

/** Finds the reasons that depend on the style of the playlist. */
export function findStyleVetoes(
  talk: TalkTitle,
  read: ReadTitle,
  pair: PairScore,
  event: PreparedEvent,
): Veto[] {
  const vetoes: Veto[] = []
  if (isGenericPair(talk, read, pair, event)) vetoes.push('generic-title')
  if (isOtherSpeaker(talk, read, pair)) vetoes.push('other-speaker')
  return vetoes
}

/** A title may say a year that is not that of the event, if the talk's says it too. */
function isOtherYear(talk: TalkTitle, recording: RecordingTitle, { years }: PreparedEvent) {
  const published = Number(recording.recording.published?.slice(0, 4))
  const start = Number(talk.talk.start?.slice(0, 4))
  if (published < start) return true
  if (recording.years.size === 0) return false
  if (talk.years.size > 0) return !hasAny(recording.years, talk.years)
  if (years.size === 0 && talk.startYears.size === 0) return false
  return !hasAny(recording.years, years) && !hasAny(recording.years, talk.startYears)
}

const hasAny = (values: ReadonlySet<string>, among: ReadonlySet<string>) =>
  [...values].some((value) => among.has(value))

/**
 * A day or a number of the playlist may stand beside the whole title or its head: "Day 2: ...",
 * "#11 ...", "Day 2 Keynote".
 */
function isOtherPart(
  talk: TalkTitle,
  recording: RecordingTitle,
  { title, explained, name }: Overlap,
  { isNumbered }: PreparedEvent,
): boolean {
  const havePhases = talk.phases.size > 0 && recording.phases.size > 0
  if (havePhases && !hasAny(talk.phases, recording.phases)) return true
  if (talk.parts.size > 0 && recording.parts.size > 0) return !hasAny(talk.parts, recording.parts)
  if (talk.parts.size > 0) return talk.hasParts || explained <= 0.99 || name < 1
  const isBeside = !recording.hasParts && title >= headShare && name === 1
  return recording.parts.size > 0 && !isNumbered && !isBeside
}

/**
 * A generic title may be paired if speaker, day or number agree, or if the recording has the whole
 * title and is of this event.
 */
function isGenericPair(
  talk: TalkTitle,
  { recording, belonging, isOfEvent }: ReadTitle,
  pair: PairScore,
  { isOneEvent }: PreparedEvent,
): boolean {
  if (!talk.isGeneric && !isGenericApartFromNames(recording, talk)) return false
  const mayBeOfEvent = isOneEvent || belonging === 1
  if (pair.name === 1 || (mayBeOfEvent && sharesDay(talk, recording))) return false
  const minExplained = isOneEvent ? 0.5 : 0.99
  return !(isOfEvent && pair.title > 0.99 && pair.explained > minExplained)
}

function isGenericApartFromNames({ title }: RecordingTitle, talk: TalkTitle): boolean {
  for (const word of title.weights.keys()) {
    const isName = talk.said.words.has(word) && !talk.title.words.has(word)
    if (!isName && !isGenericWord(word)) return false
  }
  return true
}

/** Both say the same number or day, or the recording says the day on which the talk was. */
function sharesDay(talk: TalkTitle, recording: RecordingTitle): boolean {
  if (hasAny(talk.parts, recording.parts)) return true
  const days = weekdays.filter((day) => recording.phases.has(day))
  const start = new Date(talk.talk.start?.slice(0, 10) ?? '')
  const day = weekdays[start.getUTCDay()]
  return days.length === 1 && days.some((value) => talk.phases.has(value) || value === day)
}

/** The playlist names speakers, and another one here, beside the title. */
function isOtherSpeaker(talk: TalkTitle, { speaker, namedTalks }: ReadTitle, pair: PairScore) {
  if (talk.names.length === 0 || pair.name >= 0.5) return false
  if (pair.title > 0.99 && pair.explained > 0.99) return false
  if (namedTalks.size > 0) return !namedTalks.has(talk)
  // "Panel discussion" may stand there instead of a name.
  const words = speaker?.filter((word) => !isGenericWord(word)) ?? []
  return words.length > 1 && words.every((word) => !talk.nameWords.has(word))
}

/** Only the name agrees, or words such as "a": titles change on stage. "Keynote: ..." may agree. */
function isNameOnly(
  talk: TalkTitle,
  { title, cutWord }: RecordingTitle,
  overlap: Overlap,
  { vocabulary }: PreparedEvent,
): boolean {
  const isFound = (word: string) =>
    title.words.has(word) ||
    title.joined.has(word) ||
    (talk.title.joinedWith.get(word)?.some((joined) => title.words.has(joined)) ?? false) ||
    vocabulary.typosOf(word).some((typo) => title.words.has(typo))
  if (talk.ownWords.length === 0 || cutWord !== undefined) return false
  const hasHead = overlap.name === 1 && overlap.title >= headShare
  return !hasHead && !talk.ownWords.some(isFound)
}
