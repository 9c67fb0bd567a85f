import { invalidFields, states, type Video } from '@talkshelf/contract'
import {
  checkPrecondition,
  checkRevision,
  retryOnConflict,
  type WriteContext,
} from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBody, lockVideos } from './queries.ts'
import { assertNotMerged, readPresent } from './read.ts'
import {
  type CompleteNames,
  createMissingNames,
  lockRequestedNames,
  resolveRecordNames,
} from './record-names.ts'
import { parseBody, type RenderedVideo, writeVersion } from './update.ts'

// Merges a record into another one, because both are the same talk. The merged record becomes a
// draft that redirects; restoring one of its revisions makes it a record of its own again.

export interface MergeTarget {
  /** Id of the record to keep. */
  readonly into: number
  /** The expected revision of the record that is merged. Default: any. */
  readonly revision?: number | undefined
  /** The expected revision of the record to keep. Default: any. */
  readonly intoRevision?: number | undefined
}

export interface MergedVideo {
  /** The record to keep, after the merge. */
  readonly kept: RenderedVideo
  /** Both records before the merge. Undefined if they had been merged already. */
  readonly before: { readonly merged: Video; readonly kept: Video } | undefined
}

/**
 * Merges a record into another one, in the transaction of the caller. `next` derives the new version
 * of the record to keep from both. Throws 404 or 410 if the record does not exist or was taken down,
 * 409 if it was merged into a third one, 412 if one of both is not at its expected revision, and 400
 * if the record to keep is not a record into which this one can be merged.
 */
export async function mergeVideos(
  tx: Db,
  id: number,
  { into, revision, intoRevision }: MergeTarget,
  next: (merged: Video, kept: Video) => Video,
  context: WriteContext,
): Promise<MergedVideo> {
  if (id === into) throw intoError('same-record', 'must be the id of another record')
  const complete: CompleteNames = (names, found) => createMissingNames(tx, names, found, context)
  const readBoth = async () => [await readPresent(tx, id), await readTarget(tx, into)] as const

  // Names and entities are locked before records, as all writers do.
  const [unlocked, unlockedTarget] = (await readBoth()).map(parseBody) as [Video, Video]
  await lockRequestedNames(tx, unlockedTarget, next(unlocked, unlockedTarget), context)
  await lockVideos(tx, [id, into])
  const [row, target] = await readBoth()
  if (row.merged_into === into) return { kept: target, before: undefined }
  assertNotMerged(row)
  await checkPrecondition(tx, 'video', row, context)
  await checkRevision(tx, 'video', row, revision)
  await checkRevision(tx, 'video', target, intoRevision)

  const [merged, kept] = [parseBody(row), parseBody(target)]
  const draft = { ...merged, state: states.draft }
  await retryOnConflict(context, async () => {
    const named = await resolveRecordNames(tx, merged, draft, complete)
    return named && writeVersion(tx, row, merged, named, 'merged', context, into)
  })
  const version = await retryOnConflict(context, async () => {
    const named = await resolveRecordNames(tx, kept, next(merged, kept), complete)
    return named && writeVersion(tx, target, kept, named, 'updated', context)
  })
  return { kept: version, before: { merged, kept } }
}

/** Reads the record to keep. Throws `invalid-fields` if nothing can be merged into it. */
async function readTarget(tx: Db, into: number): Promise<BodyRow> {
  const row = await findBody(tx, into)
  if (!row) throw intoError('unknown-record', 'must be the id of a record')
  if (row.taken_down) throw intoError('taken-down', 'is the id of a record that was taken down')
  if (row.merged_into !== null)
    throw intoError('merged', 'is the id of a record that was merged into another one')
  return row
}

const intoError = (code: string, detail: string) =>
  invalidFields([{ pointer: '/into', code, detail }])
