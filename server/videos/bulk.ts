import { states, type Video, type VideoInput, videoDefaults } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import { type NamedEntity, type NameLookup, uniqueById } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import { numberedSlug, slugify } from '../platform/slug.ts'
import { embedHtml } from './embed.ts'
import {
  advanceVideoIds,
  type BodyRow,
  type ChangedEntityIds,
  findTakenSlugs,
  freeVideoSlug,
  insertVideos,
  lockVideos,
  type NewVideoRow,
  nextVideoIds,
  findBodies as unlockedBodies,
} from './queries.ts'
import { noAdditions, writeVersion } from './update.ts'
import { changedFields, renderVideo, timestampAfter, writableFields } from './wire.ts'

// The bulk face of the one write path: many records in one transaction, with the names of all of
// them looked up and held before.

export interface NewRecord {
  readonly record: VideoInput
  /** The number that it shall have: free, and not to be given out. */
  readonly id?: number | undefined
  /** What an archive gave the record before: an export of ours is read back as it was. */
  readonly kept?: OriginalVersion | undefined
}

export interface OriginalVersion {
  /** Kept if it is free. */
  readonly slug: string | undefined
  readonly added: string
  readonly updated: string
  readonly revision: number
  readonly takenDown?: { readonly day: string; readonly reason: string } | undefined
}

export interface WrittenRecord {
  readonly id: number
  readonly revision: number
}

export interface CreatedRecord extends WrittenRecord {
  readonly slug: string
}

/**
 * Creates the records, in one statement. The results are in their order. A kept slug that is taken
 * gets a number.
 */
export async function createVideos(
  tx: Db,
  records: readonly NewRecord[],
  lookup: NameLookup,
  context: WriteContext,
): Promise<CreatedRecord[]> {
  const now = timestampAfter(undefined)
  const ids = await idsFor(tx, records)
  let left = records.map((record, index) => ({ record, id: ids[index] as number }))
  const written = new Map<number, CreatedRecord>()
  for (let attempt = 1; left.length > 0; attempt++) {
    const slugs = await slugsFor(
      tx,
      left.map(({ record }) => record),
      attempt,
    )
    const rows = left.map(({ record, id }, index) =>
      newRow(record, id, slugs[index] as string, now, lookup),
    )
    const inserted = new Set(await insertVideos(tx, rows, context.origin, context.hash))
    for (const { id, revision, video } of rows)
      if (inserted.has(id)) written.set(id, { id, revision, slug: video.slug })
    // Another writer took the slug, or the id, in the meantime.
    left = left.filter(({ id }) => !inserted.has(id))
    if (attempt > 20)
      throw new Error('The record could not be created: its id or its slug is taken')
  }
  return ids.map((id) => written.get(id) as CreatedRecord)
}

function newRow(
  { record, kept }: NewRecord,
  id: number,
  slug: string,
  now: string,
  lookup: NameLookup,
): NewVideoRow {
  const embed = record.embed ?? embedHtml(record.source_url)
  const wanted = {
    ...videoDefaults,
    state: states.draft,
    ...writableFields(record),
    embed,
  } as Video
  const { names, ids } = namedBy(lookup, wanted)
  const video: Video = {
    ...wanted,
    ...names,
    id,
    slug,
    added: kept?.added ?? now,
    updated: kept?.updated ?? now,
  }
  const revision = kept?.revision ?? 1
  const { takenDown } = kept ?? {}
  const sent = takenDown
    ? { body: '', tag: versionEtag(id, revision, takenDown.reason) }
    : renderVideo(video, revision)
  return { id, revision, video, ids, takenDown, at: `${now}Z`, ...sent }
}

const nameFields = ['category', 'language', 'speakers', 'tags'] as const
type NameField = (typeof nameFields)[number]
const kinds = {
  category: 'category',
  language: 'language',
  speakers: 'speaker',
  tags: 'tag',
} as const

/** These fields as their entities are called, and the ids of the entities. */
function namedBy(
  lookup: NameLookup,
  video: Pick<Video, NameField>,
  fields: readonly NameField[] = nameFields,
) {
  const names: Partial<Record<NameField, string | string[]>> = {}
  const ids: Partial<Record<NameField, number | number[]>> = {}
  for (const field of fields) {
    const entities = uniqueById(
      [video[field]].flat().map((name) => entityOf(lookup, kinds[field], name)),
    )
    names[field] =
      field === 'speakers' || field === 'tags'
        ? entities.map(({ name }) => name)
        : (entities[0]?.name as string)
    ids[field] =
      field === 'speakers' || field === 'tags'
        ? entities.map(({ id }) => id)
        : (entities[0]?.id as number)
  }
  return {
    names: names as Partial<Video>,
    ids: {
      category: undefined,
      language: undefined,
      speakers: undefined,
      tags: undefined,
      ...ids,
    } as ChangedEntityIds,
  }
}

function entityOf(lookup: NameLookup, kind: keyof NameLookup, name: string): NamedEntity {
  const it = lookup[kind].get(name)
  if (!it) throw new Error(`A ${kind} was not looked up`)
  return it
}

/** Their own numbers, or the next ones. */
async function idsFor(tx: Db, records: readonly NewRecord[]): Promise<number[]> {
  const own = records.flatMap(({ id }) => id ?? [])
  // Before new ones are given out: a number that is taken here is never given out again.
  if (own.length > 0) await advanceVideoIds(tx, Math.max(...own))
  const next = await nextVideoIds(tx, records.length - own.length)
  return records.map(({ id }) => id ?? (next.shift() as number))
}

/** A slug for each that no record has, nor another of these. */
async function slugsFor(tx: Db, records: readonly NewRecord[], attempt: number): Promise<string[]> {
  const bases = records.map(({ record, kept }) => kept?.slug ?? slugify(record.title))
  const taken = new Set(await findTakenSlugs(tx, bases))
  const kept = new Set(records.map((record) => record.kept?.slug))
  const given = new Set<string>()
  const slugs: string[] = []
  for (const [index, base] of bases.entries()) {
    const isOwn = records[index]?.kept?.slug !== undefined
    let slug = base
    if (base === '' || taken.has(base) || given.has(base) || (kept.has(base) && !isOwn)) {
      slug = await freeVideoSlug(tx, base, attempt)
      for (
        let number = Number(/-(\d+)$/.exec(slug)?.[1] ?? 0) + 1;
        given.has(slug) || kept.has(slug);
        number++
      )
        slug = numberedSlug(base || 'video', number)
    }
    given.add(slug)
    slugs.push(slug)
  }
  return slugs
}

/** The records as they are, locked until the end of the transaction, in one order for all. */
export async function lockAndReadBodies(
  tx: Db,
  ids: readonly number[],
): Promise<Map<number, BodyRow>> {
  await lockVideos(tx, ids)
  return findBodiesById(tx, ids)
}

export async function findBodiesById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, BodyRow>> {
  return new Map((await unlockedBodies(db, ids)).map((row) => [row.id, row]))
}

/** Writes a new version of a record that is locked, and tells its revision. */
export async function writeLockedVersion(
  tx: Db,
  row: BodyRow,
  patch: Partial<Video>,
  lookup: NameLookup,
  kind: 'updated' | 'restored',
  context: WriteContext,
): Promise<WrittenRecord> {
  const before = JSON.parse(row.body) as Video
  const wanted = { ...before, ...patch }
  const { names, ids } = namedBy(
    lookup,
    wanted,
    nameFields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(wanted[field])),
  )
  const after = { ...wanted, ...names }
  if (changedFields(before, after).length === 0) return { id: row.id, revision: row.revision }
  if (!(await writeVersion(tx, row, before, { after, ids, added: noAdditions }, kind, context)))
    throw new Error('A locked record has changed')
  return { id: row.id, revision: row.revision + 1 }
}
