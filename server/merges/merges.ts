// Entry point of merging talks: two records of the same talk become one. The records are merged by
// server/videos, their facts here. merge-records.ts decides which values the kept record gets.

import { invalidFields, type Video, VideoPatch, validationErrors } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import { findFactsById, hasTooManyFacts, maxFacts, writeFacts } from '../facts/facts.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type MergeTarget, mergeVideos } from '../videos/videos.ts'
import { copyAt, mergeRecords, uniteFacts } from './merge-records.ts'
import { findOtherVideos } from './queries.ts'

export { mergeRecords } from './merge-records.ts'

/**
 * Merges a record into another one of the same talk and returns that one. `fields` are the values
 * that it gets; for all others see `mergeRecords`. Throws as `mergeVideos`.
 */
export function mergeTalks(
  pool: Pool,
  id: number,
  { fields = {}, ...target }: MergeTarget & { readonly fields?: VideoPatch | undefined },
  context: WriteContext,
): Promise<{ body: string; etag: string }> {
  return pool.transaction(async (tx) => {
    const { kept, before } = await mergeVideos(
      tx,
      id,
      target,
      (merged, kept) => validRecord(mergeRecords(merged, kept, fields)),
      context,
    )
    if (before) await addFacts(tx, before, JSON.parse(kept.body) as Video, context)
    return kept
  })
}

/** Returns the record. Throws `invalid-fields` if the united lists are too long. */
function validRecord(record: Video): Video {
  const { speakers, tags } = record
  const errors = validationErrors(VideoPatch, { speakers, tags })
  if (errors.length > 0) throw invalidFields(errors)
  return record
}

/**
 * Adds the facts of a merged record to those of the kept one. A video that is not the source of the
 * kept record becomes another copy of the talk. Both records are locked.
 */
async function addFacts(
  tx: Db,
  { merged, kept: keptBefore }: { merged: Video; kept: Video },
  kept: Video,
  context: WriteContext,
): Promise<void> {
  const rows = await findFactsById(tx, [merged.id, kept.id])
  const factsOf = ({ id }: Video) => rows.get(id)?.facts ?? []
  const urls = [merged, keptBefore].flatMap(({ source_url }) => source_url || [])
  const copies = (await findOtherVideos(tx, urls, kept.source_url ?? '')).map(copyAt)
  const facts = uniteFacts(factsOf(kept), [...factsOf(merged), ...copies])
  if (hasTooManyFacts(facts))
    throw invalidFields([
      {
        pointer: '/into',
        code: 'too-many-facts',
        detail: `has too many facts together with the other record: at most ${maxFacts}, and 1 MB`,
      },
    ])
  await writeFacts(tx, [{ id: kept.id, facts }], context)
}
