import { Problem, type Video } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { changeVideo } from '../videos/videos.ts'
import { findFixableTalks } from './queries.ts'
import { rules } from './rules.ts'

// Finds and applies the certain fixes of findings. A fix is an ordinary change of a record.

export interface CertainFix {
  /** The version for which it is certain. */
  readonly etag: string
  readonly fields: Partial<Video>
}

/** Finds the fixes that are certain for findings of a rule, by the id of the record. */
export async function findFixes(
  db: Db,
  rule: string,
  ids: readonly number[],
): Promise<Map<number, CertainFix>> {
  const found = rules.find((each) => each.rule === rule)
  if (found?.finds !== 'records' || !found.fix) return new Map()
  const { fix } = found
  const talks = await findFixableTalks(db, found, ids)
  return new Map(
    talks.flatMap(({ id, etag, body, facts, event }) => {
      const fields = fix({ video: JSON.parse(body) as Video, facts, event })
      return fields ? [[id, { etag, fields }] as const] : []
    }),
  )
}

/**
 * Fixes a finding if the record is still at this version. Returns false if it changed since, or the
 * fix is no longer certain.
 */
export async function applyFix(
  pool: Pool,
  rule: string,
  id: number,
  etag: string,
  context: WriteContext,
): Promise<boolean> {
  const fix = (await findFixes(pool, rule, [id])).get(id)
  if (!fix) return false
  try {
    const ifMatch = `"${etag}"`
    await changeVideo(pool, id, { ...context, ifMatch }, (before) => ({ ...before, ...fix.fields }))
    return true
  } catch (error) {
    const hasChanged = ['stale-revision', 'merged', 'taken-down']
    if (error instanceof Problem && hasChanged.includes(error.problem)) return false
    throw error
  }
}
