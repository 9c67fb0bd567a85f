import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Video } from '@talkshelf/contract'
import { type NameReplacer, openFormerNames } from '../../entities/entities.ts'
import { findFactsById } from '../../facts/facts.ts'
import type { Db } from '../../platform/db/db.ts'
import { findBodiesById } from '../../videos/videos.ts'
import type { ImportItem, ParsedItem } from '../item.ts'
import {
  chooseKey,
  keepStoredTexts,
  keyCandidates,
  replaceInItem,
  withNote,
} from './former-names.ts'
import { sourceUrlOf } from './identity.ts'
import { itemKey } from './item-key.ts'
import {
  findBySource,
  findKnownSources,
  findSourceIdentities,
  findSourceStates,
  type SourceRecord,
} from './queries.ts'

// Prepares the items of a file to be planned or matched: replaces former names of speakers and finds
// the keys of talks.

interface BatchItem {
  readonly parsed: ParsedItem
  /** The size of its JSON. */
  readonly bytes: number
}

/** A prepared item. A talk has its key at the source. */
export type PreparedItem<T> = T & { readonly key?: string }

/** How much is replaced before other work of the process gets its turn. */
const [itemsPerTurn, bytesPerTurn] = [50, 256 << 10]

/**
 * Replaces the former names of speakers in items, and adds the keys of talks. Call it with each
 * batch: a name may be changed while a file is read.
 */
export async function prepareBatch<T extends BatchItem>(
  db: Db,
  source: string,
  batch: readonly T[],
): Promise<readonly PreparedItem<T>[]> {
  const names = await openFormerNames(db)
  const replaced = names ? await replaceInBatch(names, batch) : batch.map(({ parsed }) => parsed)
  const talks = replaced.flatMap((item, index) => {
    const asRead = batch[index]?.parsed
    return 'fields' in item && asRead && 'fields' in asRead ? [{ index, item, asRead }] : []
  })
  const keyed = names ? await keyReplacedTalks(db, source, talks, names) : await keyTalks(db, talks)
  const talkAt = new Map(talks.map(({ index }, position) => [index, keyed[position]]))
  return batch.map((item, index) => {
    const talk = talkAt.get(index)
    return talk
      ? { ...item, parsed: talk.item, key: talk.key }
      : { ...item, parsed: replaced[index] as ParsedItem }
  })
}

/** Chooses the name of a source: the one that is known, or else the one without former names. */
export async function findSourceName(db: Db, asRead: string): Promise<string> {
  const replaced = (await openFormerNames(db))?.label(asRead) ?? asRead
  if (replaced === asRead) return asRead
  const known = await findKnownSources(db, [asRead, replaced])
  return chooseKey([asRead, replaced], new Set(known.map(({ source }) => source)))
}

async function replaceInBatch(
  names: NameReplacer,
  batch: readonly BatchItem[],
): Promise<ParsedItem[]> {
  const replaced: ParsedItem[] = []
  let [items, bytes] = [0, 0]
  for (const item of batch) {
    if (items >= itemsPerTurn || bytes + item.bytes > bytesPerTurn) {
      await nextTurn()
      items = bytes = 0
    }
    replaced.push(replaceInItem(names, item.parsed))
    items++
    bytes += item.bytes
  }
  return replaced
}

interface ReadTalk {
  readonly asRead: ImportItem
  readonly item: ImportItem
}

interface KeyedTalk {
  readonly key: string
  readonly item: ImportItem
}

async function keyTalks(db: Db, talks: readonly ReadTalk[]): Promise<KeyedTalk[]> {
  const items = talks.map(({ item }) => item)
  const keys = await findItemKeys(db, items)
  return items.map((item, index) => ({ item, key: keys[index] as string }))
}

/** Finds the keys of talks at their source: it may have one with a former name, or without. */
async function keyReplacedTalks(
  db: Db,
  source: string,
  talks: readonly ReadTalk[],
  names: NameReplacer,
): Promise<KeyedTalk[]> {
  const keys = await findItemKeys(db, [
    ...talks.map(({ asRead }) => asRead),
    ...talks.map(({ item }) => item),
  ])
  const candidates = talks.map((_, index) =>
    keyCandidates(keys[index] as string, keys[talks.length + index] as string, names),
  )
  const isChanged = (index: number) =>
    talks[index]?.asRead !== talks[index]?.item || (candidates[index]?.length ?? 0) > 1
  const changed = candidates.filter((_, index) => isChanged(index)).flat()
  const states = changed.length > 0 ? await findSourceStates(db, source, changed) : []
  const byKey = new Map(states.map((state) => [state.key, state]))
  const known = new Set(byKey.keys())
  const keyed = talks.map(({ asRead, item }, index) => {
    const key = chooseKey(candidates[index] as string[], known)
    const isAsRead = key === keys[index] && asRead.key !== undefined
    return { key, asRead, item: isAsRead && asRead !== item ? withKey(item, asRead) : item }
  })
  return withStoredTexts(db, source, keyed, byKey)
}

const withKey = (item: ImportItem, { key }: ImportItem): ImportItem =>
  key === undefined ? item : { ...item, key }

/** Keeps the texts with a former name that are stored, because an editor has kept them. */
async function withStoredTexts(
  db: Db,
  source: string,
  talks: readonly (KeyedTalk & ReadTalk)[],
  byKey: ReadonlyMap<string, SourceRecord>,
): Promise<KeyedTalk[]> {
  const changed = talks.filter(({ asRead, item }) => asRead !== item)
  if (changed.length === 0) return [...talks]
  const urls = changed.map(({ asRead }) => sourceUrlOf(asRead.fields))
  const byVideo = new Map(
    (await findBySource(db, source, urls)).map(({ index, id }) => [changed[index]?.key, id]),
  )
  const idOf = (key: string) => byKey.get(key)?.video_id ?? byVideo.get(key)
  const ids = [...new Set(changed.flatMap(({ key }) => idOf(key) ?? []))]
  const bodies = await findBodiesById(db, ids)
  const facts = await findFactsById(db, ids)
  return talks.map((talk) => {
    const { key, asRead, item } = talk
    if (asRead === item) return talk
    const id = idOf(key)
    const row = id === undefined ? undefined : bodies.get(id)
    const stored = {
      record: row && !row.taken_down ? (JSON.parse(row.body) as Video) : undefined,
      facts: (id === undefined ? undefined : facts.get(id)?.facts) ?? [],
      base: byKey.get(key)?.state?.fields,
    }
    return { key, item: withNote(asRead, keepStoredTexts(asRead, item, stored)) }
  })
}

/** Returns the keys of talks at their source, in their order. */
async function findItemKeys(db: Db, items: readonly ImportItem[]): Promise<string[]> {
  const urls = items.map(({ key, fields }) => (key === undefined ? sourceUrlOf(fields) : ''))
  const identities = new Map(
    (await findSourceIdentities(db, urls)).map(({ index, key }) => [index, key]),
  )
  return items.map((item, index) => itemKey(item, identities.get(index) || undefined))
}
