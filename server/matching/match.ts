import { type Assignment, assign } from './assign.ts'
import { bandsOf, isSure } from './bands.ts'
import { type Candidate, type ComparedEvent, compareTitles, findCandidates } from './candidates.ts'
import { type Decided, readDecisions } from './decisions.ts'
import { type Evidence, evidenceOf } from './evidence.ts'
import type { MatchInput, Recording, ScheduledTalk } from './input.ts'
import type { SlotTexts } from './learned-pattern.ts'
import { type Band, measuredShares, minCopyScore } from './limits.ts'
import { type ProposedPart, partsProposer } from './parts.ts'
import { learnStyle, type PlaylistStyle, unknownStyle } from './playlist-style.ts'
import { type PreparedEvent, prepareEvent, type RecordingTitle, type TalkTitle } from './titles.ts'
import type { Veto } from './vetoes.ts'

export interface MatchResult {
  /** One row for each talk, in the order of the schedule. */
  readonly talks: readonly TalkRow[]
  /** The recordings that no sure or likely row has, or that have parts, as in the playlist. */
  readonly recordings: readonly RecordingRow[]
  /** How the titles of the playlist are written: `{speaker}: {title} | {event}`. */
  readonly pattern: string | null
}

export interface TalkRow {
  readonly talk: string
  /** The recording of a pair that is sure, likely or unsure; null if there is none. */
  readonly recording: string | null
  readonly band: Band
  /** The measured share of right pairs in this band; 1 for decisions, 0 without a pair. */
  readonly share: number
  /** What the best other assignment would lose; a rival is close if it is small. */
  readonly margin: number
  /** Whether a person decided it: it is not asked again. */
  readonly isDecided: boolean
  /** Up to three recordings, the best first. */
  readonly proposals: readonly Proposal[]
  /** Further recordings of the same talk: copies, or older versions. */
  readonly copies: readonly string[]
  /** Where the talk is in a recording of several talks. */
  readonly part: Pick<ProposedPart, 'startSeconds' | 'endSeconds'> | null
}

export interface Proposal {
  readonly recording: string
  readonly score: number
  readonly evidence: Evidence
}

export interface RecordingRow {
  readonly recording: string
  readonly isDecided: boolean
  /** What the pattern of the playlist reads from the title, for a talk of its own. */
  readonly reading: SlotTexts | null
  /** The talks that the recording seems to contain. */
  readonly parts: readonly ProposedPart[]
}

/** Larger schedules and playlists are refused. */
const maxTalks = 5000
const maxRecordings = 10_000

const maxProposals = 3
const severalTalks: Veto = 'several-talks'

/** Pairs talks and recordings. Throws a RangeError if there are too many. */
export function matchTalks(input: MatchInput): MatchResult {
  const { talks, recordings, decided, event, parts, style, assignment } = assignTalks(input)
  const bands = bandsOf(assignment, event)
  const taken = new Set([...assignment.pairs.values()].filter(isSure).map((pair) => pair.recording))
  const rowByTalk = new Map(
    event.talks.map((talk) => [talk.talk.key, openRow(talk, assignment, bands, taken, event)]),
  )
  const rows = talks.map(({ key }) => rowByTalk.get(key) ?? decidedRow(key, decided))
  return {
    talks: rows,
    recordings: recordingRows(recordings, rows, decided, style, parts),
    pattern: style.pattern ?? null,
  }
}

/** Assigns recordings to the talks without a decision, and returns all that was found out. */
export function assignTalks(input: MatchInput) {
  if (input.talks.length > maxTalks || input.recordings.length > maxRecordings)
    throw new RangeError('Too many talks or recordings')
  const talks = uniqueByKey(input.talks)
  const recordings = uniqueByKey(input.recordings)
  const decided = readDecisions(input)
  const openTalks = talks.filter(({ key }) => isOpen(key, decided))
  const openRecordings = recordings.filter(({ key }) => !decided.takenRecordings.has(key))
  const event = prepareEvent(input.event, openTalks, openRecordings)
  const parts = findParts(input.event, openTalks, recordings, decided)
  const compared = compareTitles(event)
  const style = learnFrom(compared, input, decided, parts)
  const assignment = assignOpen(compared, style, decided, parts)
  return { talks, recordings, decided, event, parts, style, assignment }
}

function isOpen(talk: string, { pairs, parts, talksWithoutRecording }: Decided): boolean {
  const hasPart = parts.some((part) => part.talk === talk)
  return !pairs.has(talk) && !hasPart && !talksWithoutRecording.has(talk)
}

function uniqueByKey<T extends { readonly key: string }>(items: readonly T[]): T[] {
  const keys = new Set<string>()
  return items.filter(({ key }) => !keys.has(key) && keys.add(key))
}

type Parts = ReadonlyMap<string, readonly ProposedPart[]>

/** Finds the recordings that contain several talks. */
function findParts(
  event: string,
  openTalks: readonly ScheduledTalk[],
  recordings: readonly Recording[],
  { pairs, recordingsWithoutTalk }: Decided,
): Parts {
  const propose = partsProposer(event, openTalks)
  const paired = new Set([...pairs.values()].flat())
  const undecided = recordings.filter(
    ({ key }) => !paired.has(key) && !recordingsWithoutTalk.has(key),
  )
  return new Map(undecided.map((recording) => [recording.key, propose(recording)]))
}

/** A recording with chapters of several talks is never paired with one of them without asking. */
function assignOpen(
  compared: ComparedEvent,
  style: PlaylistStyle,
  { isRefused }: Decided,
  parts: Parts,
): Assignment {
  const candidates = findCandidates(compared, style).filter(
    ({ talk, recording }) => !isRefused(talk.talk.key, recording.recording.key),
  )
  const hasParts = (key: string) => (parts.get(key)?.length ?? 0) > 1
  return assign(
    candidates.map((candidate) =>
      hasParts(candidate.recording.recording.key)
        ? { ...candidate, vetoes: [...new Set([...candidate.vetoes, severalTalks])] }
        : candidate,
    ),
  )
}

/** Learns the style of the playlist from the pairs that are sure without it. */
function learnFrom(
  compared: ComparedEvent,
  { pattern }: MatchInput,
  decided: Decided,
  parts: Parts,
): PlaylistStyle {
  const pairs = [...assignOpen(compared, unknownStyle, decided, parts).pairs.values()].filter(
    isSure,
  )
  return learnStyle(pairs, compared.event, pattern ?? undefined)
}

function openRow(
  talk: TalkTitle,
  { pairs, ofTalk }: Assignment,
  bands: ReadonlyMap<TalkTitle, Band>,
  taken: ReadonlySet<RecordingTitle>,
  { vocabulary }: PreparedEvent,
): TalkRow {
  const pair = pairs.get(talk)
  const band = bands.get(talk) ?? 'none'
  const others = (ofTalk.get(talk) ?? []).filter(({ recording }) => recording !== pair?.recording)
  const free = others.filter(({ recording }) => !taken.has(recording))
  const best = [...(pair ? [pair] : []), ...new Set([...free, ...others])].slice(0, maxProposals)
  return {
    talk: talk.talk.key,
    recording: pair && band !== 'none' ? pair.recording.recording.key : null,
    band,
    share: band === 'none' ? 0 : measuredShares[band],
    margin: pair?.margin ?? 0,
    isDecided: false,
    proposals: best.map((candidate) => ({
      recording: candidate.recording.recording.key,
      score: candidate.score,
      evidence: evidenceOf(candidate, vocabulary),
    })),
    copies: findCopies(free),
    part: null,
  }
}

/** Finds further recordings of the same talk among those that are not surely of another one. */
function findCopies(free: readonly Candidate[]): string[] {
  return free
    .filter(({ score, vetoes }) => score >= minCopyScore && vetoes.length === 0)
    .slice(0, maxProposals)
    .map(({ recording }) => recording.recording.key)
}

function decidedRow(talk: string, { pairs, parts }: Decided): TalkRow {
  const [recording, ...copies] = pairs.get(talk) ?? []
  const part = parts.find((decision) => decision.talk === talk)
  const decided = recording ?? part?.recording ?? null
  return {
    talk,
    recording: decided,
    band: decided === null ? 'none' : 'sure',
    share: decided === null ? 0 : 1,
    margin: decided === null ? 0 : 1,
    isDecided: true,
    proposals: [],
    copies,
    part: part ? { startSeconds: part.startSeconds, endSeconds: part.endSeconds } : null,
  }
}

function recordingRows(
  recordings: readonly Recording[],
  rows: readonly TalkRow[],
  { takenRecordings }: Decided,
  style: PlaylistStyle,
  partsOf: Parts,
): RecordingRow[] {
  const whole = new Set(
    rows.flatMap(({ recording, copies, part, band }) =>
      part || (band !== 'sure' && band !== 'likely') ? [] : [recording, ...copies],
    ),
  )
  return recordings.flatMap(({ key, title }) => {
    const parts = partsOf.get(key) ?? []
    if (whole.has(key) && parts.length === 0) return []
    const reading = style.readTitle(title) ?? null
    return { recording: key, isDecided: takenRecordings.has(key), reading, parts }
  })
}
