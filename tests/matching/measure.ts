import { type MatchInput, matchTalks, type TalkRow } from '../../server/matching/matching.ts'
import { type Condition, type MeasuredEvent, underCondition } from './conditions.ts'
import type { GoldEvent } from './gold.ts'

// Runs the matcher on events with known pairs, and counts what is right.

/** The best proposal of a talk, and whether it is right. */
export interface Judged {
  readonly event: string
  readonly row: TalkRow
  /** Unknown if neither the talk nor the recording is labelled. */
  readonly verdict: 'right' | 'wrong' | 'unknown'
}

export interface Measured {
  readonly judged: readonly Judged[]
  /** How many pairs there are to be found. */
  readonly pairs: number
  /** For how many of them the recording is among the three proposals. */
  readonly amongThree: number
}

/** Matches all events under a condition. */
export function measure(
  condition: Condition,
  events: readonly GoldEvent[],
  library: readonly GoldEvent[],
  seeds: readonly number[],
): Measured {
  const judged: Judged[] = []
  let pairs = 0
  let amongThree = 0
  for (const [index, event] of events.entries())
    for (const measured of underCondition(condition, event, index, library, seeds)) {
      const rows = matchTalks(inputOf(measured)).talks
      judged.push(...judge(measured, rows))
      pairs += measured.pairs.length
      amongThree += countProposed(measured, rows)
    }
  return { judged, pairs, amongThree }
}

/** Converts an event of the data to what the matcher takes. */
export function inputOf({ name, talks, recordings }: GoldEvent): MatchInput {
  return {
    event: name,
    talks: talks.map(({ id, title, speakers = [], start, room, minutes }) => ({
      key: id,
      title,
      speakers,
      start: start ?? null,
      room: room ?? null,
      minutes: minutes ?? null,
    })),
    recordings: recordings.map(({ id, title, duration }) => ({
      key: id,
      title,
      seconds: duration ?? null,
    })),
  }
}

function judge(measured: MeasuredEvent, rows: readonly TalkRow[]): Judged[] {
  const recordingOf = new Map(measured.pairs.map(({ talk, recording }) => [talk, recording]))
  const isLabelled = isLabelledPair(measured)
  return rows.flatMap((row) => {
    const [best] = row.proposals
    if (!best) return []
    const { recording } = best
    const wrongOrUnknown = isLabelled(row.talk, recording) ? 'wrong' : 'unknown'
    return {
      event: measured.event,
      row,
      verdict: recordingOf.get(row.talk) === recording ? 'right' : wrongOrUnknown,
    }
  })
}

/** Returns a test whether a pair can be judged: the talk or the recording is labelled. */
export function isLabelledPair(measured: MeasuredEvent) {
  const { pairs, recordings_without_talk: withoutTalk = [], widowed } = measured
  const labelled = new Set([
    ...pairs.flatMap(({ talk, recording }) => [`t ${talk}`, `r ${recording}`]),
    ...withoutTalk.map((recording) => `r ${recording}`),
    ...[...widowed].flatMap((key) => [`t ${key}`, `r ${key}`]),
  ])
  return (talk: string, recording: string) =>
    labelled.has(`t ${talk}`) || labelled.has(`r ${recording}`)
}

function countProposed({ pairs }: MeasuredEvent, rows: readonly TalkRow[]): number {
  const rowOf = new Map(rows.map((row) => [row.talk, row]))
  return pairs.filter(({ talk, recording }) =>
    rowOf.get(talk)?.proposals.some((proposal) => proposal.recording === recording),
  ).length
}

export interface Figures {
  readonly right: number
  readonly wrong: number
  /** In percent, of the automatic pairs. */
  readonly precision: number
  readonly recall: number
  /** In percent, of all pairs. */
  readonly first: number
  readonly three: number
}

/** Counts the automatic pairs: those that the test accepts. */
export function figuresOf(
  { judged, pairs, amongThree }: Measured,
  isAutomatic: (judged: Judged) => boolean,
): Figures {
  const automatic = judged.filter(isAutomatic)
  const count = (list: readonly Judged[], verdict: Judged['verdict']) =>
    list.filter((one) => one.verdict === verdict).length
  const [right, wrong] = [count(automatic, 'right'), count(automatic, 'wrong')]
  return {
    right,
    wrong,
    precision: (100 * right) / Math.max(1, right + wrong),
    recall: (100 * right) / pairs,
    first: (100 * count(judged, 'right')) / pairs,
    three: (100 * amongThree) / pairs,
  }
}
