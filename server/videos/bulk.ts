import { states, type Video, type VideoInput, videoDefaults } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import type { NameLookup } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import { numberedSlug, slugify } from '../platform/slug.ts'
import { embedHtml } from './embed.ts'
import { assertMayEditEvent } from './event-access.ts'
import {
  advanceVideoIds,
  type BodyRow,
  findBodies,
  findTakenSlugs,
  freeVideoSlug,
  insertVideos,
  lockVideos,
  type NewVideoRow,
  nextVideoIds,
} from './queries.ts'
import { resolveFromLookup } from './record-names.ts'
import { writeVersion } from './update.ts'
import { changedFields, renderVideo, timestampAfter, writableFields } from './wire.ts'

// The bulk API of the write path: many records in one transaction. The caller has to look up and
// lock the names of all records first.

export interface NewRecord {
  readonly record: VideoInput
  /** The requested id. It must be free and is never generated again. */
  readonly id?: number | undefined
  /** What another archive assigned to the record, if it comes from an export of Talkshelf. */
  readonly kept?: OriginalVersion | undefined
}

export interface OriginalVersion {
  /** Used if it is free. */
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
 * Creates records in one statement and returns the results in the same order. An original slug that
 * is taken gets a numeric suffix.
 */
export async function createVideos(
  tx: Db,
  records: readonly NewRecord[],
  lookup: NameLookup,
  context: WriteContext,
): Promise<CreatedRecord[]> {
  const now = timestampAfter(undefined)
  const ids = await idsFor(tx, records)
  let remaining = records.map((record, index) => ({ record, id: ids[index] as number }))
  const created = new Map<number, CreatedRecord>()
  for (let attempt = 1; remaining.length > 0; attempt++) {
    const slugs = await slugsFor(
      tx,
      remaining.map(({ record }) => record),
      attempt,
    )
    const rows = remaining.map(({ record, id }, index) =>
      newRow(record, id, slugs[index] as string, now, lookup),
    )
    for (const { ids: entities } of rows)
      assertMayEditEvent(context.origin.actor, entities.category)
    const inserted = new Set(await insertVideos(tx, rows, context.origin, context.hash))
    for (const { id, revision, video } of rows)
      if (inserted.has(id)) created.set(id, { id, revision, slug: video.slug })
    // Another writer took the slug or the id concurrently.
    remaining = remaining.filter(({ id }) => !inserted.has(id))
    if (attempt > 20)
      throw new Error('The record could not be created: its id or its slug is taken')
  }
  return ids.map((id) => created.get(id) as CreatedRecord)
}

function newRow(
  { record, kept: original }: NewRecord,
  id: number,
  slug: string,
  now: string,
  lookup: NameLookup,
): NewVideoRow {
  const embed = record.embed ?? embedHtml(record.source_url)
  const requested = {
    ...videoDefaults,
    state: states.draft,
    ...writableFields(record),
    embed,
  } as Video
  const named = resolveFromLookup(lookup, undefined, requested)
  const video: Video = {
    ...named.video,
    id,
    slug,
    added: original?.added ?? now,
    updated: original?.updated ?? now,
  }
  const revision = original?.revision ?? 1
  const { takenDown } = original ?? {}
  const rendered = takenDown
    ? { body: '', etag: versionEtag(id, revision, takenDown.reason) }
    : renderVideo(video, revision)
  return { id, revision, video, ids: named.ids, takenDown, at: `${now}Z`, ...rendered }
}

/** Returns the requested id of each record, or a new one. */
async function idsFor(tx: Db, records: readonly NewRecord[]): Promise<number[]> {
  const requested = records.flatMap(({ id }) => id ?? [])
  // The sequence is advanced first, so that it does not generate a requested id.
  if (requested.length > 0) await advanceVideoIds(tx, Math.max(...requested))
  const generated = await nextVideoIds(tx, records.length - requested.length)
  return records.map(({ id }) => id ?? (generated.shift() as number))
}

/** Returns a slug for each record, unique in the archive and among these records. */
async function slugsFor(tx: Db, records: readonly NewRecord[], attempt: number): Promise<string[]> {
  const bases = records.map(({ record, kept }) => kept?.slug ?? slugify(record.title))
  const taken = new Set(await findTakenSlugs(tx, bases))
  const originals = new Set(records.map(({ kept }) => kept?.slug))
  const assigned = new Set<string>()
  for (const [index, base] of bases.entries()) {
    const isOriginal = records[index]?.kept?.slug !== undefined
    const isReserved = originals.has(base) && !isOriginal
    let slug = base
    if (base === '' || taken.has(base) || assigned.has(base) || isReserved) {
      slug = await freeVideoSlug(tx, base, attempt)
      let number = Number(/-(\d+)$/.exec(slug)?.[1] ?? 0)
      while (assigned.has(slug) || originals.has(slug))
        slug = numberedSlug(base || 'video', ++number)
    }
    assigned.add(slug)
  }
  return [...assigned]
}

/** Locks records until the end of the transaction and reads their bodies. */
export async function lockAndReadBodies(
  tx: Db,
  ids: readonly number[],
): Promise<Map<number, BodyRow>> {
  await lockVideos(tx, ids)
  return findBodiesById(tx, ids)
}

/** Finds the bodies of records, without a lock. */
export async function findBodiesById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, BodyRow>> {
  return new Map((await findBodies(db, ids)).map((row) => [row.id, row]))
}

/**
 * Writes a new version of a locked record and returns its revision. Writes nothing if no field
 * changes.
 */
export async function writeLockedVersion(
  tx: Db,
  row: BodyRow,
  patch: Partial<Video>,
  lookup: NameLookup,
  kind: 'updated' | 'restored',
  context: WriteContext,
): Promise<WrittenRecord> {
  const before = JSON.parse(row.body) as Video
  const named = resolveFromLookup(lookup, before, { ...before, ...patch })
  if (changedFields(before, named.video).length === 0) return { id: row.id, revision: row.revision }
  if (!(await writeVersion(tx, row, before, named, kind, context)))
    throw new Error('A locked record has changed')
  return { id: row.id, revision: row.revision + 1 }
}

/** Publishes a locked record, or makes it a draft. */
export async function setState(
  tx: Db,
  row: BodyRow,
  state: Video['state'],
  context: WriteContext,
): Promise<void> {
  await writeLockedVersion(tx, row, { state }, noNames, 'updated', context)
}

/** For writes that change no names. */
export const noNames: NameLookup = {
  category: new Map(),
  language: new Map(),
  speaker: new Map(),
  tag: new Map(),
}
