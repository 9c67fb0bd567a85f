import type { Video } from '@talkshelf/contract'
import {
  assertBeforeDeadline,
  checkPrecondition,
  retryOnConflict,
  type WriteContext,
} from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { assertMayChange } from './event-access.ts'
import { type BodyRow, lockVideo, type NewVersion, updateVideo } from './queries.ts'
import { assertNotMerged, readPresent } from './read.ts'
import {
  type CompleteNames,
  createMissingNames,
  failOnMissingNames,
  lockRequestedNames,
  type NamedVersion,
  resolveRecordNames,
} from './record-names.ts'
import { changedFields, pick, renderVideo, timestampAfter } from './wire.ts'

// Writes new versions of records.

/** The body of a record and its etag. */
export interface RenderedVideo {
  readonly body: string
  readonly etag: string
}

interface ChangeOptions {
  readonly kind?: 'updated' | 'restored'
  /** Whether a record that was merged into another one becomes a record again. Default: 409. */
  readonly unmerges?: boolean
}

/**
 * Changes a record. `next` derives the new version from the current one and may be called several
 * times. The first attempt takes no lock and writes only if the record is unchanged since it was
 * read. If that fails, or a speaker or tag has to be created, a transaction locks the record.
 */
export async function changeVideo(
  pool: Pool,
  id: number,
  context: WriteContext,
  next: NextVersion,
  { kind = 'updated', unmerges = false }: ChangeOptions = {},
): Promise<RenderedVideo> {
  const unlocked = await readChangeable(pool.lookups, id, unmerges)
  const version = await tryWrite(pool, unlocked, context, next, kind, failOnMissingNames)
  return (
    version ??
    pool.transaction((tx) => changeInTransaction(tx, id, context, next, { kind, unmerges }))
  )
}

/** Changes a record as `changeVideo`, in a transaction of the caller. Locks the record. */
export async function changeInTransaction(
  tx: Db,
  id: number,
  context: WriteContext,
  next: NextVersion,
  { kind = 'updated', unmerges = false }: ChangeOptions = {},
): Promise<RenderedVideo> {
  // All writers lock names and entities first and the record then, so they cannot deadlock.
  const before = parseBody(await readChangeable(tx, id, unmerges))
  await lockRequestedNames(tx, before, await next(before, tx), context)
  await lockVideo(tx, id)
  const row = await readChangeable(tx, id, unmerges)
  // The record is locked, but its new entities can still be renamed concurrently.
  const complete: CompleteNames = (names, found) => createMissingNames(tx, names, found, context)
  return retryOnConflict(context, () => tryWrite(tx, row, context, next, kind, complete))
}

async function readChangeable(db: Db, id: number, unmerges: boolean): Promise<BodyRow> {
  const row = await readPresent(db, id)
  return unmerges ? row : assertNotMerged(row)
}

/** Derives a new version from the current one. `db` is the connection that writes it. */
export type NextVersion = (before: Video, db: Db) => Video | Promise<Video>

/** Writes a version. Returns undefined if the record or a name changed, or a name is missing. */
async function tryWrite(
  db: Db,
  row: BodyRow,
  context: WriteContext,
  next: NextVersion,
  kind: 'updated' | 'restored',
  complete: CompleteNames,
): Promise<RenderedVideo | undefined> {
  const verdict = await checkPrecondition(db, 'video', row, context)
  if (verdict !== 'proceed') return verdict === 'repeated' ? row : undefined

  const before = parseBody(row)
  const named = await resolveRecordNames(db, before, await next(before, db), complete)
  // Only a version that is restored is written to a record that was merged: it is a record again.
  return named && writeVersion(db, row, before, named, kind, context, null)
}

export const parseBody = ({ body }: BodyRow) => JSON.parse(body) as Video

/**
 * Writes a version and returns it. Returns undefined if the record or a name changed concurrently,
 * and the current version if no field changes. `mergedInto` is the record into which it is merged.
 */
export async function writeVersion(
  db: Db,
  row: BodyRow,
  before: Video,
  { video: after, ids, added }: NamedVersion,
  kind: 'updated' | 'restored' | 'merged',
  context: WriteContext,
  mergedInto = row.merged_into,
): Promise<RenderedVideo | undefined> {
  // Read after the body: if the record was moved in between, the version is not written.
  await assertMayChange(db, context.origin.actor, row.id, ids.category)
  const changed = changedFields(before, after)
  const isRedirected = mergedInto !== row.merged_into
  if (changed.length === 0 && !isRedirected) return row
  const video = { ...after, updated: timestampAfter(before.updated) }
  const version = newVersion(
    video,
    row.revision + 1,
    { ids, added },
    {
      subject: 'video',
      kind,
      before: { ...pick(before, changed), ...(isRedirected && { merged_into: row.merged_into }) },
      after: { ...pick(after, changed), ...(isRedirected && { merged_into: mergedInto }) },
      ids,
      at: `${video.updated}Z`,
      origin: context.origin,
      requestHash: context.hash,
    },
  )
  assertBeforeDeadline(context)
  return (await updateVideo(db, { ...version, mergedInto })) ? version : undefined
}

/** Returns a version with its rendered body. */
export function newVersion(
  video: Video,
  revision: number,
  { ids, added }: Pick<NewVersion, 'ids' | 'added'>,
  change: NewVersion['change'],
): NewVersion {
  return { video, revision, ids, added, change, ...renderVideo(video, revision) }
}
