import { maxImportedId } from '@talkshelf/contract'
import type { NameLookup } from '../../entities/entities.ts'
import { titleLikeness } from '../../matching/matching.ts'
import type { Db } from '../../platform/db/db.ts'
import { foldText } from '../../platform/text/fold.ts'
import type { ImportItem, ImportNote, ItemFields } from '../item.ts'
import { isDerivedKey } from './item-key.ts'
import { type KnownRecord, sourceKey } from './joined.ts'
import { type SourceState, sourceStateOf } from './merge.ts'
import {
  type ById,
  type BySource,
  type ByTitle,
  type Decision,
  findById,
  findBySource,
  findByTitle,
  findKeysOfRecords,
  findLostTalks,
  findSourceStates,
  findTakenDownKeys,
  findVersionsAt,
  type LostTalk,
  type SourceRecord,
} from './queries.ts'

// Finds the record of an imported talk: by its id here, by the key that its source has for it, or
// by the video on its host. If only title, speakers and category match, an editor decides; also if
// the video of a record is lost and the item may be a copy of it.

/** Ids of records start at 1. */
const noId = 0
const maxTitleLength = 255
const maxUrlLength = 2048

/** A copy has a title as alike as this, and nearly the same length. */
const minLikeness = 0.9
const maxDifferenceSeconds = 30
/** Talks that are compared with the items of a batch. */
const maxLostTalks = 2000

/** A talk of an import, with its position in it. */
export interface IncomingItem {
  readonly position: number
  readonly place: string
  readonly key: string
  readonly item: ImportItem
  /** The decision of an editor, if there is one. */
  readonly decision: Decision | null
}

export interface ItemMatch {
  /** The matching record, if there is one. */
  readonly id?: number
  /** What the source said about it before. */
  readonly previousState?: SourceState | undefined
  /** What the other sources of a joined talk had under their keys, by source and key. */
  readonly others: ReadonlyMap<string, KnownRecord>
  /** The fields that the record had when the table was exported from here. */
  readonly exported?: ItemFields
  /** Whether a new record may have the id that the item brings. */
  readonly canKeepId: boolean
  readonly notes: readonly ImportNote[]
  /** The day on which the record was taken down. */
  readonly takenDown?: string
  /** The talk was merged into this record, and the import does not change it. */
  readonly mergedInto?: number
  /** Asks an editor whether the talk is a record that resembles it. */
  readonly question?: string | undefined
  /** The question is about this record, whose video is lost: the item has a copy. */
  readonly lost?: LostTalk | undefined
  /** The video of the matching record is lost: that of the item takes its place. */
  readonly replacesVideo?: true
}

export interface ImportSource {
  /** Id of the import. */
  readonly id: number | undefined
  /** Name of the source. */
  readonly source: string
}

/** Returns the indexes of the talks whose record, or that of their video, was taken down. */
export async function findTakenDown(
  db: Db,
  source: string,
  talks: readonly { readonly key: string; readonly item: ImportItem }[],
): Promise<ReadonlySet<number>> {
  const keys = talks.map(({ key }) => key)
  const takenDown = new Set((await findTakenDownKeys(db, source, keys)).map(({ key }) => key))
  const urls = talks.map(({ item }) => sourceUrlOf(item.fields))
  const byVideo = (await findBySource(db, source, urls)).filter((row) => row.taken_down !== null)
  const byKey = talks.flatMap(({ key }, index) => (takenDown.has(key) ? [index] : []))
  return new Set([...byKey, ...byVideo.map(({ index }) => index)])
}

/** Matches items with records, in their order. Never matches two items with the same record. */
export async function matchItems(
  db: Db,
  source: ImportSource,
  items: readonly IncomingItem[],
  fields: readonly ItemFields[],
  lookup: NameLookup,
): Promise<ItemMatch[]> {
  const candidates = await findCandidates(db, source, items, fields)
  const lost = await findLostCandidates(db, source, candidates, fields, lookup)
  // Two talks of a file are two records, even if both are in one video.
  const claimed = new Set<number>()
  const keys = new Set(items.map(({ key }) => key))
  return items.map((incoming, index) => {
    const match = matchItem(
      incoming,
      fields[index] as ItemFields,
      candidates[index] as Candidates,
      lookup,
      { claimed, keys, lost },
    )
    if (match.id !== undefined) claimed.add(match.id)
    return match
  })
}

/** A record that another source has, with the keys that the source of the import has for it. */
interface OtherRecord extends SourceRecord {
  readonly source: string
  readonly keys: readonly string[]
}

/** The records that may be one item. */
interface Candidates {
  /** The record that an editor has chosen. */
  readonly chosen: ById | undefined
  /** The record with the id that the item brings. */
  readonly withId: ById | undefined
  /** The fields of that record in the version that the table was exported with. */
  readonly exported: ItemFields | undefined
  /** The record that the source has under this key. */
  readonly withKey: SourceRecord | undefined
  /** The records that the other sources of a joined talk have under their keys. */
  readonly withOtherKey: readonly OtherRecord[]
  readonly withVideo: readonly BySource[]
  readonly withTitle: readonly ByTitle[]
}

async function findCandidates(
  db: Db,
  { id, source }: ImportSource,
  items: readonly IncomingItem[],
  fields: readonly ItemFields[],
): Promise<Candidates[]> {
  const ids = items.flatMap(({ item, decision }) => [item.id ?? noId, decision?.record ?? noId])
  const byId = new Map((await findById(db, ids)).map((row) => [row.id, row]))
  const versions = items.flatMap(({ item: { id, exportedVersion } }) =>
    id !== undefined && exportedVersion !== undefined ? [{ id, updated: exportedVersion }] : [],
  )
  const exported = versions.length > 0 ? await findVersionsAt(db, versions) : []
  const exportedById = new Map(exported.map(({ id, fields }) => [id, fields as ItemFields]))
  const keys = items.map(({ key }) => key)
  const byKey = new Map((await findSourceStates(db, source, keys)).map((row) => [row.key, row]))
  const byOtherKey = await findOtherRecords(db, source, items)
  const urls = fields.map(sourceUrlOf)
  const byVideo = Map.groupBy(await findBySource(db, source, urls), ({ index }) => index)
  const titles = fields.map(titleOf)
  const byTitle = Map.groupBy(await findByTitle(db, { id, source }, titles), ({ index }) => index)
  return items.map(({ key, item, decision }, index) => ({
    chosen: byId.get(decision?.record ?? noId),
    withId: byId.get(item.id ?? noId),
    exported: item.exportedVersion === undefined ? undefined : exportedById.get(item.id ?? noId),
    withKey: byKey.get(key),
    withOtherKey: (item.joined?.others ?? []).flatMap(
      (other) => byOtherKey.get(sourceKey(other.source, other.key)) ?? [],
    ),
    withVideo: byVideo.get(index) ?? [],
    withTitle: byTitle.get(index) ?? [],
  }))
}

/**
 * Finds the records with lost videos that items may have copies of: in the events of items that no
 * record has.
 */
async function findLostCandidates(
  db: Db,
  source: ImportSource,
  candidates: readonly Candidates[],
  fields: readonly ItemFields[],
  lookup: NameLookup,
): Promise<readonly LostTalk[]> {
  const events = fields.flatMap((item, index) => {
    const { chosen, withKey, withVideo } = candidates[index] as Candidates
    const isKnown = chosen || withKey || withVideo.length > 0
    return isKnown || !hasLength(item) ? [] : (eventOf(item, lookup) ?? [])
  })
  if (events.length === 0) return []
  return findLostTalks(db, source, [...new Set(events)], maxLostTalks)
}

const eventOf = ({ category }: ItemFields, lookup: NameLookup) =>
  lookup.category.get(category as string)?.id

const hasLength = (item: ItemFields): item is ItemFields & { duration: number } =>
  typeof item.duration === 'number' && sourceUrlOf(item) !== ''

/** Finds the record with a lost video that an item is most likely a copy of. */
function findLost(
  lost: readonly LostTalk[],
  item: ItemFields,
  lookup: NameLookup,
  isPossible: (talk: LostTalk) => boolean,
): LostTalk | undefined {
  if (!hasLength(item)) return undefined
  const event = eventOf(item, lookup)
  const speakers = Array.isArray(item.speakers) ? item.speakers.filter(isText) : []
  const difference = (talk: LostTalk) => Math.abs(talk.duration - item.duration)
  const [best] = lost
    .filter((talk) => talk.category_id === event && difference(talk) <= maxDifferenceSeconds)
    .filter(isPossible)
    .map((talk) => {
      const context = [talk.event, ...talk.speakers, ...speakers]
      return { talk, likeness: titleLikeness(talk.title, titleOf(item), context) }
    })
    .filter(({ likeness }) => likeness >= minLikeness)
    .sort((a, b) => b.likeness - a.likeness || difference(a.talk) - difference(b.talk))
  return best?.talk
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Finds what the other sources of joined talks have under their keys. */
async function findOtherRecords(
  db: Db,
  ownSource: string,
  items: readonly IncomingItem[],
): Promise<ReadonlyMap<string, OtherRecord>> {
  const others = items.flatMap(({ item }) => item.joined?.others ?? [])
  const found: (SourceRecord & { source: string })[] = []
  for (const [source, ofSource] of Map.groupBy(others, (other) => other.source)) {
    const keys = ofSource.map(({ key }) => key)
    for (const record of await findSourceStates(db, source, keys)) found.push({ ...record, source })
  }
  if (found.length === 0) return new Map()
  const ids = found.map(({ video_id }) => video_id)
  const keysOf = Map.groupBy(
    await findKeysOfRecords(db, ownSource, ids),
    ({ video_id }) => video_id,
  )
  return new Map(
    found.map((record) => [
      sourceKey(record.source, record.key),
      { ...record, keys: (keysOf.get(record.video_id) ?? []).map(({ key }) => key) },
    ]),
  )
}

function matchItem(
  { key, item, decision }: IncomingItem,
  fields: ItemFields,
  { chosen, withId, exported, withKey, withOtherKey, withVideo, withTitle }: Candidates,
  lookup: NameLookup,
  batch: {
    readonly claimed: ReadonlySet<number>
    readonly keys: ReadonlySet<string>
    readonly lost: readonly LostTalk[]
  },
): ItemMatch {
  const { claimed } = batch
  // A record that the source has under another key is another of its talks.
  const isAvailable = ({ id, keys }: { id: number; keys: readonly string[] }) =>
    !claimed.has(id) && keys.every((other) => other === key)
  const others = new Map(
    withOtherKey.map(({ source, key, state, video_id: videoId }) => [
      sourceKey(source, key),
      { videoId, state },
    ]),
  )
  const matched = (id: number): ItemMatch => ({
    id,
    previousState: withKey?.video_id === id ? withKey.state : undefined,
    others,
    canKeepId: false,
    notes: [],
  })
  const unmatched = { others, canKeepId: false, notes: [] }
  const merged = (mergedInto: number): ItemMatch => ({ ...unmatched, mergedInto })
  if (chosen?.taken_down) return { ...unmatched, takenDown: chosen.taken_down }
  const chosenId = chosen?.merge_target ?? chosen?.id
  if (chosenId !== undefined && !claimed.has(chosenId)) return matched(chosenId)
  if (withId?.merge_target && exported) return merged(withId.merge_target)
  if (withId && exported && !withId.taken_down && !claimed.has(withId.id))
    return { ...matched(withId.id), previousState: sourceStateOf(exported, []), exported }
  const available = withVideo.filter(isAvailable)
  const sameId = withId && isSameTalk(withId, item, fields, available) ? withId : undefined
  const takenDown =
    takenDownDay(sameId, withKey, item.kept ? available : withVideo) ??
    takenDownRecording(item, withVideo)
  if (takenDown) return { ...unmatched, takenDown }
  if (withKey?.is_duplicate || (withKey?.is_merged && claimed.has(withKey.video_id)))
    return merged(withKey.video_id)
  // An export of this archive has the kept record as well, or had it.
  if (!withKey && sameId?.merge_target) return merged(sameId.merge_target)
  const other = withOtherKey.find(({ video_id: id, keys }) => isAvailable({ id, keys }))
  const id = withKey?.video_id ?? sameId?.id ?? available[0]?.id ?? other?.video_id
  if (id !== undefined) return matched(id)

  const sameTitle = withTitle.filter((row) =>
    isNamed(lookup, 'category', row.category_id, fields.category),
  )
  const similar =
    sameTitle.find(
      (row) => isAvailable(row) && haveNames(lookup, row.speaker_ids, fields.speakers),
    ) ??
    // A key that is made of the speakers changes with them.
    sameTitle.find(
      (row) =>
        !claimed.has(row.id) &&
        !row.is_in_file &&
        row.keys.every((other) => isDerivedKey(other) && !batch.keys.has(other)) &&
        haveSimilarNames(row.speakers, fields.speakers),
    )
  const lost = findLost(
    batch.lost,
    fields,
    lookup,
    ({ id, keys, is_in_file: isInFile }) =>
      !claimed.has(id) && !isInFile && keys.every((other) => !batch.keys.has(other)),
  )
  if (lost && decision?.same === true) return { ...matched(lost.id), replacesVideo: true }
  if (similar && decision?.same === true) return matched(similar.id)
  const idProblem = idProblemOf(item.id ?? noId, withId)
  return {
    ...unmatched,
    canKeepId: idProblem === undefined,
    notes: idProblem === undefined ? [] : [{ kind: 'dropped', field: 'id', detail: idProblem }],
    question: lost ? questionAboutLost(lost) : similar && questionAbout(similar, fields, lookup),
    lost,
  }
}

function questionAboutLost({ id, title }: LostTalk): string {
  return (
    `The video of record ${id}, “${title}”, is gone. This one has the same length and a title like ` +
    'it. Is it the same talk, and replaces its video?'
  )
}

function questionAbout(
  { id, speaker_ids, speakers }: ByTitle,
  fields: ItemFields,
  lookup: NameLookup,
): string {
  if (haveNames(lookup, speaker_ids, fields.speakers))
    return `Record ${id} has the same title, speakers and category. Is it the same talk?`
  const names = speakers.length > 0 ? `the speakers ${speakers.join('; ')}` : 'no speakers'
  return `Record ${id} has the same title and category, and ${names}. Is it the same talk?`
}

/** Tells whether two lists of speakers share a word, or one of them is empty. */
function haveSimilarNames(speakers: readonly string[], names: unknown = []): boolean {
  if (!Array.isArray(names)) return false
  const own = wordsOf(speakers)
  const others = wordsOf(names)
  return own.size === 0 || others.size === 0 || [...own].some((word) => others.has(word))
}

function wordsOf(names: readonly unknown[]): Set<string> {
  const words = names
    .filter((name) => typeof name === 'string')
    .map((name) => foldText(name))
    .flatMap((name) => name.match(/[\p{L}\p{N}]{2,}/gu) ?? [])
  return new Set(words)
}

/**
 * Returns whether a record with the id of the item is the same talk. Every archive counts from 1,
 * so the slug, the title or the video must match as well.
 */
function isSameTalk(
  record: ById,
  { kept }: ImportItem,
  fields: ItemFields,
  sameVideo: readonly BySource[],
): boolean {
  return (
    record.slug === kept?.slug ||
    fold(record.title) === fold(titleOf(fields)) ||
    sameVideo.some(({ id }) => id === record.id)
  )
}

/**
 * Returns the day on which the talk was taken down. A talk that has a record here was not, though
 * another record of its video may have been. For all others one taken-down record of the video is
 * enough: a new key at the source does not bring the talk back.
 */
function takenDownDay(
  sameId: ById | undefined,
  withKey: SourceRecord | undefined,
  sameVideo: readonly BySource[],
): string | null | undefined {
  if (sameId) return sameId.taken_down
  if (withKey) return undefined
  return sameVideo.find(({ taken_down }) => taken_down)?.taken_down
}

/** Returns the day on which the recording of a joined talk was taken down as another record. */
function takenDownRecording(
  { joined, facts }: ImportItem,
  sameVideo: readonly BySource[],
): string | null | undefined {
  const isPart = facts.some(({ kind }) => kind === 'part')
  return joined && !isPart ? sameVideo.find(({ taken_down }) => taken_down)?.taken_down : undefined
}

function idProblemOf(id: number, withId: ById | undefined): string | undefined {
  if (withId) return `${withId.id} belongs to another record here`
  return id > maxImportedId ? `${id} is too large for the id of a record` : undefined
}

// The fields were not validated yet: a name may have any type, and the speakers may be no list.
function isNamed(
  lookup: NameLookup,
  kind: keyof NameLookup,
  entityId: number,
  name: unknown,
): boolean {
  return lookup[kind].get(name as string)?.id === entityId
}

function haveNames(
  lookup: NameLookup,
  speakerIds: readonly number[],
  names: unknown = [],
): boolean {
  return (
    Array.isArray(names) &&
    speakerIds.length === names.length &&
    names.every((name) => speakerIds.some((id) => isNamed(lookup, 'speaker', id, name)))
  )
}

/** Returns the URL of the video for a lookup. Empty if there is none that a record could have. */
export function sourceUrlOf({ source_url: url }: ItemFields): string {
  return typeof url === 'string' && url.length <= maxUrlLength ? url : ''
}

function titleOf({ title }: ItemFields): string {
  return typeof title === 'string' && title.length <= maxTitleLength ? title : ''
}

const fold = (text: string) => text.normalize('NFC').trim().toLowerCase()
