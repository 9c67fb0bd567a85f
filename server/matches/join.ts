import { type Fact, type RecordingStatus, states } from '@talkshelf/contract'
import type { ImportItem, ItemFields } from '../imports/imports.ts'
import type { KeyedItem } from './sides.ts'

// Joins talks and recordings into the items of an import. No I/O.

/** What is from the recording, if it has it. All other fields are from the schedule. */
const recordingFields = [
  'source_url',
  'duration',
  'thumbnail_url',
  'video_mp4_url',
  'video_ogv_url',
  'video_webm_url',
  'video_flv_url',
  'embed',
] as const satisfies readonly (keyof ItemFields)[]

export interface JoinedTalk {
  readonly talk: KeyedItem
  /** The recordings of the talk: the first is its source, the others are copies. */
  readonly recordings: readonly KeyedItem[]
  /** Where the recording has the talk, if it contains several. */
  readonly part?: { readonly start: number; readonly end: number | null } | undefined
  /** Whether the talk is the first one of its recording, which stands for the recording. */
  readonly isFirstPart?: boolean
}

/** The sources of a match. */
export interface MatchSources {
  readonly talk_source: string
  readonly recording_source: string
}

/**
 * What a match itself says about a talk: the recording that it has, or that it has none. It is
 * remembered as a source of its own, so that the schedule alone does not withdraw it.
 */
const matchContent = (
  sources: MatchSources,
  key: string,
  fields: ItemFields,
  facts: readonly Fact[],
) => ({ source: matchSource, key: matchKey(sources, key), fields, facts })

/** The source under which the decisions of matches are remembered. */
export const matchSource = 'match'

/** Returns the key that this source has for a talk. */
export const matchKey = ({ talk_source }: Pick<MatchSources, 'talk_source'>, key: string) =>
  `${talk_source}:${key}`

/** Joins a talk with its recordings. */
export function joinTalk(
  { talk: { key, item }, recordings, part, isFirstPart = true }: JoinedTalk,
  sources: MatchSources,
): ImportItem {
  const [main, ...copies] = recordings
  if (!main) return leaveTalk({ key, item })
  const found = {
    state: states.live,
    ...(part ? ofPart(main, part) : pick(main.item.fields, recordingFields)),
  }
  const facts = [
    ...partFacts(main, part),
    ...copies.flatMap(copyFacts),
    ...main.item.facts.filter(isOfRecording),
  ]
  const ofRecordings = recordings.map((recording) => ({
    source: sources.recording_source,
    key: recording.key,
    fields: recording.item.fields,
    facts: recording.item.facts,
  }))
  const fields = { ...(!part && main.item.fields), ...item.fields, ...found }
  return {
    ...item,
    key,
    fields,
    fallback: without({ ...main.item.fallback, ...item.fallback }, fields),
    facts: [...item.facts, ...facts],
    notes: [...item.notes.filter(({ field }) => !(field in found)), ...recordingNotes(main)],
    joined: {
      own: { fields: item.fields, facts: item.facts },
      others: [...(isFirstPart ? ofRecordings : []), matchContent(sources, key, found, facts)],
    },
  }
}

/** Takes what a recording of several talks says about each of them. */
function ofPart({ item }: KeyedItem, { start, end }: NonNullable<JoinedTalk['part']>): ItemFields {
  const { duration: _, ...fields } = pick(item.fields, recordingFields)
  return end === null ? fields : { ...fields, duration: Math.max(end - start, 1) }
}

/** Returns the fallback values of fields that have no other value. */
function without(fallback: ItemFields, fields: ItemFields): ItemFields {
  return Object.fromEntries(Object.entries(fallback).filter(([name]) => !(name in fields)))
}

function pick(fields: ItemFields, names: readonly (keyof ItemFields)[]): ItemFields {
  return Object.fromEntries(
    names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])),
  )
}

function partFacts({ item }: KeyedItem, part: JoinedTalk['part']): Fact[] {
  const url = item.fields.source_url
  return part && typeof url === 'string' ? [{ kind: 'part', url, ...part }] : []
}

/** A further recording is a copy. */
function copyFacts({ item: { fields } }: KeyedItem): Fact[] {
  const { source_url: url } = fields
  return typeof url === 'string' ? [{ kind: 'media', url, type: '', size: null }] : []
}

/** The order of a playlist says nothing about the programme, and its titles are kept apart. */
const isOfRecording = ({ kind }: Fact) => kind !== 'programme' && kind !== 'said'

const recordingNotes = ({ item }: KeyedItem) =>
  item.notes.filter(({ field }) => (recordingFields as readonly string[]).includes(field))

/** Leaves the recording of a talk as it is: only what the schedule says may change. */
export function leaveTalk({ key, item }: KeyedItem): ImportItem {
  return { ...item, key, joined: { own: { fields: item.fields, facts: item.facts }, others: [] } }
}

/** Makes a draft of a new talk without a recording. It is in the schedule of its event. */
export function newTalkWithoutRecording(
  { key, item }: KeyedItem,
  sources: MatchSources,
): ImportItem {
  const draft = { state: states.draft }
  const facts: Fact[] = [{ kind: 'recording', status: 'expected' }]
  const detail = 'is draft: there is no recording yet'
  return {
    ...item,
    key,
    // Only for a new record.
    fallback: { ...item.fallback, ...draft },
    facts: [...item.facts, ...facts],
    notes: [...item.notes, { kind: 'guessed', field: 'state', detail }],
    joined: {
      own: { fields: item.fields, facts: item.facts },
      others: [matchContent(sources, key, draft, facts)],
    },
  }
}

/**
 * Makes a draft of a talk of which an editor said that it has no recording. Removes the recording
 * that a match gave to it: the values of these fields.
 */
export function talkWithoutRecording(
  { key, item }: KeyedItem,
  status: RecordingStatus,
  sources: MatchSources,
  matchedFields: readonly string[],
): ImportItem {
  const removed = recordingFields.filter((name) => matchedFields.includes(name))
  const found = {
    ...Object.fromEntries(removed.map((name) => [name, name === 'embed' ? '' : null])),
    state: states.draft,
  }
  const facts: Fact[] = [{ kind: 'recording', status }]
  return {
    ...item,
    key,
    fields: { ...item.fields, ...found },
    facts: [...item.facts, ...facts],
    joined: {
      own: { fields: item.fields, facts: item.facts },
      others: [matchContent(sources, key, { state: states.draft }, facts)],
    },
  }
}

/** Makes a draft of a recording whose talk is not in the schedule. */
export function recordingWithoutTalk(
  { key, item }: KeyedItem,
  event: string,
  { recording_source }: MatchSources,
): ImportItem {
  const fields = { ...item.fields, category: event, state: states.draft }
  return {
    ...item,
    // In the namespace of the schedule, which has no such talk.
    key: `recording:${key}`,
    fields,
    joined: {
      own: { fields, facts: item.facts },
      others: [{ source: recording_source, key, fields: item.fields, facts: item.facts }],
    },
  }
}
