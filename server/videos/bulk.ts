import { states, type Video, type VideoInput, videoDefaults } from '@talkshelf/contract'
import type { Request } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { versionTag } from '../platform/http/conditional.ts'
import { numbered, slugify } from '../platform/slug.ts'
import { type Book, type Named, once } from '../vocabulary/vocabulary.ts'
import { embedFor } from './embed.ts'
import {
  type BodyRow,
  freeVideoSlug,
  insertVideos,
  lockVideos,
  moveVideoIds,
  type NewRow,
  nextVideoIds,
  type RowIds,
  slugsTaken,
  findBodies as unlockedBodies,
} from './queries.ts'
import { nothing, writeVersion } from './update.ts'
import { changedFields, momentAfter, rendered, writableOf } from './wire.ts'

// The bulk face of the one write path: many records in one transaction, with the names of all of them looked up and held before.

export interface NewRecord {
  readonly record: VideoInput
  /** The number that it shall have: free, and not to be given out. */
  readonly id?: number | undefined
  /** What an archive gave the record before: an export of ours is read back as it was. */
  readonly kept?: KeptRecord | undefined
}

export interface KeptRecord {
  readonly slug: string
  readonly added: string
  readonly updated: string
  readonly revision: number
  readonly takenDown?: { readonly day: string; readonly reason: string } | undefined
}

export interface WrittenRecord {
  readonly id: number
  readonly revision: number
}

/** Creates the records, in one statement. The answers are in their order. */
export async function createVideos(tx: Db, records: readonly NewRecord[], book: Book, request: Request): Promise<WrittenRecord[]> {
  if (records.length === 0) return []
  const now = momentAfter(undefined)
  const ids = await idsFor(tx, records)
  let left = records.map((record, place) => ({ record, id: ids[place] as number }))
  const written = new Map<number, WrittenRecord>()
  for (let attempt = 1; left.length > 0; attempt++) {
    const slugs = await slugsFor(
      tx,
      left.map(({ record }) => record),
      attempt,
    )
    const rows = left.map(({ record, id }, place) => newRow(record, id, slugs[place] as string, now, book))
    const inserted = new Set(await insertVideos(tx, rows, request.origin, request.hash))
    for (const { id, revision } of rows) if (inserted.has(id)) written.set(id, { id, revision })
    // Somebody took the slug meanwhile.
    left = left.filter(({ id }) => !inserted.has(id))
    if (attempt > 20) throw new Error('A record could not be created: its number or its slug is taken')
  }
  return ids.map((id) => written.get(id) as WrittenRecord)
}

function newRow({ record, kept }: NewRecord, id: number, slug: string, now: string, book: Book): NewRow {
  const embed = record.embed ?? embedFor(record.source_url)
  const wanted = { ...videoDefaults, state: states.draft, ...writableOf(record), embed } as Video
  const { names, ids } = namedBy(book, wanted)
  const video: Video = { ...wanted, ...names, id, slug: kept?.slug ?? slug, added: kept?.added ?? now, updated: kept?.updated ?? now }
  const revision = kept?.revision ?? 1
  const { takenDown } = kept ?? {}
  const sent = takenDown ? { body: '', tag: versionTag(id, revision, takenDown.reason) } : rendered(video, revision)
  return { id, revision, video, ids, takenDown, at: `${now}Z`, ...sent }
}

const nameFields = ['category', 'language', 'speakers', 'tags'] as const
type NameField = (typeof nameFields)[number]
const kinds = { category: 'category', language: 'language', speakers: 'speaker', tags: 'tag' } as const

/** These fields as their things are called, and the ids of the things. */
function namedBy(book: Book, video: Pick<Video, NameField>, fields: readonly NameField[] = nameFields) {
  const names: Partial<Record<NameField, string | string[]>> = {}
  const ids: Partial<Record<NameField, number | number[]>> = {}
  for (const field of fields) {
    const things = once([video[field]].flat().map((name) => thingOf(book, kinds[field], name)))
    names[field] = field === 'speakers' || field === 'tags' ? things.map(({ name }) => name) : (things[0]?.name as string)
    ids[field] = field === 'speakers' || field === 'tags' ? things.map(({ id }) => id) : (things[0]?.id as number)
  }
  return {
    names: names as Partial<Video>,
    ids: { category: undefined, language: undefined, speakers: undefined, tags: undefined, ...ids } as RowIds,
  }
}

function thingOf(book: Book, kind: keyof Book, name: string): Named {
  const it = book[kind].get(name)
  if (!it) throw new Error(`A ${kind} was not looked up`)
  return it
}

/** Their own numbers, or the next ones. */
async function idsFor(tx: Db, records: readonly NewRecord[]): Promise<number[]> {
  const own = records.flatMap(({ id }) => id ?? [])
  // Before new ones are given out: a number that is taken here is never given out again.
  if (own.length > 0) await moveVideoIds(tx, Math.max(...own))
  const next = await nextVideoIds(tx, records.length - own.length)
  return records.map(({ id }) => id ?? (next.shift() as number))
}

/** A slug for each that no record has, nor another of these. */
async function slugsFor(tx: Db, records: readonly NewRecord[], attempt: number): Promise<string[]> {
  const bases = records.map(({ record, kept }) => kept?.slug ?? slugify(record.title))
  const taken = new Set(await slugsTaken(tx, bases))
  const given = new Set<string>()
  const slugs: string[] = []
  for (const [place, base] of bases.entries()) {
    let slug = base
    if (!records[place]?.kept && (base === '' || taken.has(base) || given.has(base))) {
      slug = await freeVideoSlug(tx, base, attempt)
      for (let number = Number(/-(\d+)$/.exec(slug)?.[1] ?? 0) + 1; given.has(slug); number++) slug = numbered(base || 'video', number)
    }
    given.add(slug)
    slugs.push(slug)
  }
  return slugs
}

/** The records as they are, locked until the end of the transaction, in one order for all. */
export async function lockBodies(tx: Db, ids: readonly number[]): Promise<Map<number, BodyRow>> {
  if (ids.length === 0) return new Map()
  await lockVideos(tx, ids)
  return findBodies(tx, ids)
}

export async function findBodies(db: Db, ids: readonly number[]): Promise<Map<number, BodyRow>> {
  return new Map((await unlockedBodies(db, ids)).map((row) => [row.id, row]))
}

/** Writes a new version of a record that is locked, and tells its revision. */
export async function writeLocked(
  tx: Db,
  row: BodyRow,
  patch: Partial<Video>,
  book: Book,
  kind: 'updated' | 'restored',
  request: Request,
): Promise<WrittenRecord> {
  const before = JSON.parse(row.body) as Video
  const wanted = { ...before, ...patch }
  const { names, ids } = namedBy(
    book,
    wanted,
    nameFields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(wanted[field])),
  )
  const after = { ...wanted, ...names }
  if (changedFields(before, after).length === 0) return { id: row.id, revision: row.revision }
  if (!(await writeVersion(tx, row, before, { after, ids, added: nothing }, kind, request))) throw new Error('A locked record has changed')
  return { id: row.id, revision: row.revision + 1 }
}
