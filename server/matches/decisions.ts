import { type FieldError, invalidFields, type MatchDecision } from '@talkshelf/contract'
import {
  type Decision,
  type MatchInput,
  measuredShares,
  type TalkRow,
} from '../matching/matching.ts'
import type { DecisionRow } from './queries.ts'
import { hashTitle } from './sides.ts'

// What people decided about talks and recordings. A decision holds for its keys while both titles
// are those that were decided about. No I/O.

export type NewDecision = Omit<DecisionRow, 'id' | 'step'>

/** The titles of both sides, by key. */
export interface Titles {
  readonly talks: ReadonlyMap<string, string>
  readonly recordings: ReadonlyMap<string, string>
}

export function titlesOf({ talks, recordings }: Pick<MatchInput, 'talks' | 'recordings'>): Titles {
  const titles = (items: MatchInput['talks'] | MatchInput['recordings']) =>
    new Map(items.map(({ key, title }) => [key, title]))
  return { talks: titles(talks), recordings: titles(recordings) }
}

/**
 * Tells whether a decision is about these talks and recordings as they are: none of its titles has
 * changed. That the speakers did not want a recording holds whatever the title is.
 */
export function isValid(row: DecisionRow, { talks, recordings }: Titles): boolean {
  const isSame = (key: string | null, titleHash: string | null, by: typeof talks) => {
    if (key === null) return true
    const title = by.get(key)
    return title !== undefined && (row.status === 'opted-out' || hashTitle(title) === titleHash)
  }
  return (
    isSame(row.talk_key, row.talk_title, talks) &&
    isSame(row.recording_key, row.recording_title, recordings)
  )
}

/**
 * Changes pairs that are sure to pairs that are asked about, if people decided otherwise before a
 * title changed.
 */
export function askAgain(
  rows: readonly TalkRow[],
  lapsed: readonly DecisionRow[],
): readonly TalkRow[] {
  const isAsked = (row: TalkRow) =>
    !row.isDecided &&
    row.band === 'sure' &&
    lapsed.some(({ verdict, talk_key: talk, recording_key: recording }) => {
      const isPair = verdict === 'pair' || verdict === 'copy'
      const isSameTalk = talk === row.talk
      const isSameRecording = recording === row.recording
      if (isPair) return isSameTalk !== isSameRecording
      return verdict === 'not' ? isSameTalk && isSameRecording : isSameTalk || isSameRecording
    })
  return rows.map((row) =>
    isAsked(row) ? { ...row, band: 'likely' as const, share: measuredShares.likely } : row,
  )
}

/** Describes decisions for the matcher. The first recording of a talk is its source. */
export function toMatcherDecisions(rows: readonly DecisionRow[]): Decision[] {
  const copiesLast = rows.toSorted(
    (a, b) => Number(a.verdict === 'copy') - Number(b.verdict === 'copy'),
  )
  return copiesLast.flatMap((row): Decision[] => {
    const { verdict, talk_key: talk, recording_key: recording } = row
    if (verdict === 'no-recording') return talk === null ? [] : [{ verdict, talk }]
    if (recording === null) return []
    // For the matcher, a recording with a talk of its own has none in the schedule.
    if (verdict === 'no-talk' || verdict === 'own-talk') return [{ verdict: 'no-talk', recording }]
    if (talk === null) return []
    const { start_seconds: startSeconds, end_seconds: endSeconds } = row
    if (verdict === 'part') return [{ verdict, talk, recording, startSeconds, endSeconds }]
    return [{ verdict: verdict === 'not' ? 'not' : 'pair', talk, recording }]
  })
}

/** Checks a decision and adds the hashes of its titles. Throws `invalid-fields`. */
export function readDecision(
  { verdict, talk, recording, status, start, end = null }: MatchDecision,
  titles: Titles,
): NewDecision {
  const isAboutTalk = verdict !== 'no-talk' && verdict !== 'own-talk'
  const isAboutRecording = verdict !== 'no-recording'
  const talkTitle = talk === undefined ? undefined : titles.talks.get(talk)
  const recordingTitle = recording === undefined ? undefined : titles.recordings.get(recording)
  const errors: FieldError[] = []
  const fail = (name: string, code: string, detail: string) =>
    errors.push({ pointer: `/${name}`, code, detail })
  if (isAboutTalk && talkTitle === undefined)
    fail('talk', 'unknown-key', 'is not the key of a talk of the schedule')
  if (isAboutRecording && recordingTitle === undefined)
    fail('recording', 'unknown-key', 'is not the key of a recording of the playlist')
  if (verdict === 'part' && start === undefined) fail('start', 'required', 'is required')
  if (verdict === 'part' && end !== null && end <= (start ?? 0))
    fail('end', 'out-of-range', 'must be after the start')
  if (errors.length > 0) throw invalidFields(errors)
  const isPart = verdict === 'part'
  return {
    verdict,
    talk_key: isAboutTalk ? (talk ?? null) : null,
    recording_key: isAboutRecording ? (recording ?? null) : null,
    talk_title: isAboutTalk ? hashTitle(talkTitle ?? '') : null,
    recording_title: isAboutRecording ? hashTitle(recordingTitle ?? '') : null,
    status: verdict === 'no-recording' ? (status ?? 'not-recorded') : null,
    start_seconds: isPart ? (start ?? null) : null,
    end_seconds: isPart ? end : null,
  }
}

const recordingOfTalk = ['pair', 'part', 'no-recording']
const useOfRecording = ['pair', 'copy', 'part', 'no-talk', 'own-talk']

/** Returns the ids of the decisions that a new one contradicts or repeats. */
export function findReplaced(rows: readonly DecisionRow[], decided: NewDecision): number[] {
  return rows.filter((row) => isReplaced(row, decided)).map(({ id }) => id)
}

/** Tells whether a decision contradicts or repeats an earlier one. */
export function isReplaced(row: DecisionRow, decided: NewDecision): boolean {
  const isSameTalk = row.talk_key !== null && row.talk_key === decided.talk_key
  const isSameRecording = row.recording_key !== null && row.recording_key === decided.recording_key
  const isSamePair = isSameTalk && isSameRecording
  if (decided.verdict === 'not') return isSamePair
  if (row.verdict === 'not') return isSamePair
  const isOtherPart =
    row.verdict === 'part' && decided.verdict === 'part' && isSameRecording && !isSameTalk
  if (isOtherPart) return false
  // A talk without recording has no copies either.
  const ofTalk = decided.verdict === 'no-recording' ? [...recordingOfTalk, 'copy'] : recordingOfTalk
  return (
    (isSameTalk && recordingOfTalk.includes(decided.verdict) && ofTalk.includes(row.verdict)) ||
    (isSameRecording && useOfRecording.includes(row.verdict))
  )
}
