import type { ParsedItem } from '../imports/imports.ts'
import type { MatchResult, TalkRow } from '../matching/matching.ts'
import {
  joinTalk,
  leaveTalk,
  matchKey,
  newTalkWithoutRecording,
  recordingWithoutTalk,
  talkWithoutRecording,
} from './join.ts'
import type { DecisionRow, ItemRow, MatchRow } from './queries.ts'
import { type KeyedItem, talksOf } from './sides.ts'

// Makes the items of an import from the pairs of a match. No I/O.

/** What a match has: its files, the decisions that hold, and the pairs. */
export interface MatchState {
  readonly match: MatchRow
  readonly items: readonly ItemRow[]
  readonly decisions: readonly DecisionRow[]
  readonly result: MatchResult
}

/** The talks that have records already. */
export interface KnownTalks {
  readonly talks: ReadonlySet<string>
  /** The fields that a match gave to talks, by the key of the match. */
  readonly matched: ReadonlyMap<string, readonly string[]>
}

/** Tells whether a pair is used without asking, or was decided. */
export const isSettled = ({ band, isDecided }: TalkRow) => isDecided || band === 'sure'

/**
 * Returns the items to import: what the schedule says about the event and its people, every talk of
 * it, and the recordings that become talks of their own.
 */
export function itemsToImport(state: MatchState, known: KnownTalks): ParsedItem[] {
  const { match, items, decisions, result } = state
  const talks = new Map(talksOf(items, 'talk').map((talk) => [talk.key, talk]))
  const recordings = new Map(talksOf(items, 'recording').map((entry) => [entry.key, entry]))
  const others = items.flatMap(({ side, item }) =>
    side === 'talk' && !('fields' in item) ? [item] : [],
  )
  const firstParts = findFirstParts(result.talks)
  const joined = result.talks.flatMap((row) => {
    const talk = talks.get(row.talk)
    return talk ? [joinRow(state, row, talk, recordings, { firstParts, ...known })] : []
  })
  const own = decisions.flatMap(({ verdict, recording_key: key }) => {
    const recording = verdict === 'own-talk' ? recordings.get(key ?? '') : undefined
    return recording ? [recordingWithoutTalk(recording, match.event, match)] : []
  })
  return [...others, ...joined, ...own]
}

function joinRow(
  { match, decisions }: MatchState,
  row: TalkRow,
  talk: KeyedItem,
  recordings: ReadonlyMap<string, KeyedItem>,
  { firstParts, talks, matched }: KnownTalks & { readonly firstParts: ReadonlySet<string> },
): ParsedItem {
  // Copies that were only found are not used: an older version may be among them.
  const keys = row.isDecided ? [row.recording, ...row.copies] : [row.recording]
  const paired = isSettled(row) ? keys.flatMap((key) => recordings.get(key ?? '') ?? []) : []
  if (paired.length === 0) {
    const decided = decisions.find(
      ({ verdict, talk_key: key }) => verdict === 'no-recording' && key === row.talk,
    )
    if (!decided)
      return talks.has(talk.key) ? leaveTalk(talk) : newTalkWithoutRecording(talk, match)
    const fields = matched.get(matchKey(match, talk.key)) ?? []
    return talkWithoutRecording(talk, decided.status ?? 'not-recorded', match, fields)
  }
  const { part } = row
  return joinTalk(
    {
      talk,
      recordings: paired,
      part: part ? { start: part.startSeconds ?? 0, end: part.endSeconds } : undefined,
      isFirstPart: !part || firstParts.has(row.talk),
    },
    match,
  )
}

/** Finds the first talk of each recording that contains several. */
function findFirstParts(rows: readonly TalkRow[]): Set<string> {
  const parts = rows.filter(({ part }) => part !== null)
  const byRecording = Map.groupBy(parts, ({ recording }) => recording)
  return new Set(
    [...byRecording.values()].flatMap((rows) => {
      const [first] = rows.toSorted(
        (a, b) => (a.part?.startSeconds ?? 0) - (b.part?.startSeconds ?? 0),
      )
      return first ? [first.talk] : []
    }),
  )
}
