import type { Candidate } from './candidates.ts'
import type { RecordingTitle, TalkTitle } from './titles.ts'

// Assigns recordings to talks, the best pair first, each of them once. No I/O.

export interface Assigned extends Candidate {
  /** What the sum of scores loses at least if the talk gets another recording, or this another. */
  readonly margin: number
}

export interface Assignment {
  readonly pairs: ReadonlyMap<TalkTitle, Assigned>
  /** All candidates of each talk, the best first. */
  readonly ofTalk: ReadonlyMap<TalkTitle, readonly Candidate[]>
}

/** Assigns each talk at most one recording. The result does not depend on the order of input. */
export function assign(candidates: readonly Candidate[]): Assignment {
  const sorted = candidates.toSorted(compareCandidates)
  const ofTalk = Map.groupBy(sorted, ({ talk }) => talk)
  const ofRecording = Map.groupBy(sorted, ({ recording }) => recording)
  const talks = new Map<TalkTitle, Candidate>()
  const recordings = new Map<RecordingTitle, Candidate>()
  for (const pair of sorted) {
    if (talks.has(pair.talk) || recordings.has(pair.recording)) continue
    talks.set(pair.talk, pair)
    recordings.set(pair.recording, pair)
  }
  // A rival that has a better partner itself is no serious one.
  const lossWith = (pair: Candidate, rival: Candidate) => {
    const other = rival.talk === pair.talk ? recordings.get(rival.recording) : talks.get(rival.talk)
    return pair.score - rival.score + Math.max(0, other ? other.score - rival.score : 0)
  }
  const marginOf = (pair: Candidate) => {
    const rivals = [...(ofTalk.get(pair.talk) ?? []), ...(ofRecording.get(pair.recording) ?? [])]
    const losses = rivals.filter((rival) => rival !== pair).map((rival) => lossWith(pair, rival))
    return Math.min(pair.score, ...losses)
  }
  return {
    ofTalk,
    pairs: new Map([...talks].map(([talk, pair]) => [talk, { ...pair, margin: marginOf(pair) }])),
  }
}

/** Sorts the best first. The length breaks ties: it is no reason by itself, recordings are cut. */
function compareCandidates(a: Candidate, b: Candidate): number {
  return (
    b.score - a.score ||
    minutesApart(a) - minutesApart(b) ||
    compareTexts(a.talk.talk.key, b.talk.talk.key) ||
    compareTexts(a.recording.recording.key, b.recording.recording.key)
  )
}

const unknownMinutesApart = 60

function minutesApart({ talk, recording }: Candidate): number {
  const { minutes } = talk.talk
  const { seconds } = recording.recording
  if (minutes == null || seconds == null) return unknownMinutesApart
  return Math.abs(minutes - seconds / 60)
}

const compareTexts = (a: string, b: string) => (a < b ? -1 : Number(a > b))
