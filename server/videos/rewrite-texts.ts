import { type Video, VideoPatch, validationErrors } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { lockAndReadBodies, noNames, writeLockedVersion } from './bulk.ts'
import { findTakenSlugs, freeVideoSlug } from './queries.ts'

// Replaces texts in a record, also its slug, and in records that were merged.

export interface RewrittenTexts {
  readonly isChanged: boolean
  /** The fields that would become invalid, and stay. */
  readonly refused: readonly string[]
}

/**
 * Writes a version with other texts. `rewrite` returns the record with new texts; its names must
 * stay. Does nothing if the record was taken down.
 */
export async function rewriteTexts(
  tx: Db,
  id: number,
  rewrite: (video: Video) => Video,
  context: WriteContext,
): Promise<RewrittenTexts> {
  const row = (await lockAndReadBodies(tx, [id])).get(id)
  if (!row || row.taken_down) return { isChanged: false, refused: [] }
  const before = JSON.parse(row.body) as Video
  const { slug, ...after } = rewrite(before)
  const patch: Partial<Video> = Object.fromEntries(
    Object.entries(after).filter(([field, value]) => value !== before[field as keyof Video]),
  )
  const refused = [
    ...new Set(
      validationErrors(VideoPatch, patch).map(({ pointer }) => pointer.split('/')[1] ?? ''),
    ),
  ]
  for (const field of refused) delete patch[field as keyof Video]
  if (slug !== before.slug) patch.slug = await freeSlugFor(tx, slug)
  const { revision } = await writeLockedVersion(tx, row, patch, noNames, 'updated', context)
  return { isChanged: revision !== row.revision, refused }
}

async function freeSlugFor(tx: Db, slug: string): Promise<string> {
  const isFree = slug !== '' && (await findTakenSlugs(tx, [slug])).length === 0
  return isFree ? slug : freeVideoSlug(tx, slug, 1)
}
