import type { Decision, MatchInput, Recording, ScheduledTalk } from './input.ts'
import { titleFingerprint } from './words.ts'

// What people decided. A decision holds for its keys until one of the titles changes. No I/O.

export interface Decided {
  /** The recordings of a talk, the first one decided first. */
  readonly pairs: ReadonlyMap<string, readonly string[]>
  readonly parts: readonly Extract<Decision, { readonly verdict: 'part' }>[]
  readonly talksWithoutRecording: ReadonlySet<string>
  /** Recordings that no other talk can have: paired, without talk, or in parts. */
  readonly takenRecordings: ReadonlySet<string>
  readonly recordingsWithoutTalk: ReadonlySet<string>
  isRefused(talk: string, recording: string): boolean
}

/** Reads the decisions that hold for these talks and recordings. */
export function readDecisions({ talks, recordings, decisions = [] }: MatchInput): Decided {
  const talkByKey = new Map(talks.map((talk) => [talk.key, talk]))
  const recordingByKey = new Map(recordings.map((recording) => [recording.key, recording]))
  const valid = decisions.filter((decision) => holds(decision, talkByKey, recordingByKey))
  const withVerdict = <V extends Decision['verdict']>(verdict: V) =>
    valid.filter(
      (decision): decision is Decision & { readonly verdict: V } => decision.verdict === verdict,
    )
  const pairs = new Map<string, string[]>()
  const taken = new Set<string>()
  for (const { talk, recording } of withVerdict('pair')) {
    if (taken.has(recording)) continue
    taken.add(recording)
    pairs.set(talk, [...(pairs.get(talk) ?? []), recording])
  }
  const parts = withVerdict('part').filter(({ talk }) => !pairs.has(talk))
  const recordingsWithoutTalk = new Set(
    withVerdict('no-talk')
      .map(({ recording }) => recording)
      .filter((recording) => !taken.has(recording)),
  )
  const refused = new Set(withVerdict('not').map(({ talk, recording }) => pairKey(talk, recording)))
  return {
    pairs,
    parts,
    talksWithoutRecording: new Set(withVerdict('no-recording').map(({ talk }) => talk)),
    takenRecordings: new Set([
      ...taken,
      ...parts.map(({ recording }) => recording),
      ...recordingsWithoutTalk,
    ]),
    recordingsWithoutTalk,
    isRefused: (talk, recording) => refused.has(pairKey(talk, recording)),
  }
}

const pairKey = (talk: string, recording: string) => JSON.stringify([talk, recording])

/** Tells whether the titles are still those that were decided about. */
function holds(
  decision: Decision,
  talks: ReadonlyMap<string, ScheduledTalk>,
  recordings: ReadonlyMap<string, Recording>,
): boolean {
  const isSame = (title: string | undefined, decided: string | undefined) =>
    title !== undefined && (decided === undefined || titleFingerprint(title) === decided)
  const sameTalk =
    !('talk' in decision) || isSame(talks.get(decision.talk)?.title, decision.talkTitle)
  const sameRecording =
    !('recording' in decision) ||
    isSame(recordings.get(decision.recording)?.title, decision.recordingTitle)
  return sameTalk && sameRecording
}
