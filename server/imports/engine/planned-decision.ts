import type { Db } from '../../platform/db/db.ts'
import { type PlannedItem, planItems } from './decide.ts'
import type { Decision, DecisionEffect, ImportJob, ImportRow } from './queries.ts'

// Plans a talk again after an editor has decided which record it is, so that the plan shows the
// fields that applying it changes.

/** Returns what changes in the plan of a talk. Undefined if the decision is not about its record. */
export async function planDecision(
  db: Db,
  job: ImportJob,
  row: ImportRow,
  decision: Decision,
): Promise<DecisionEffect | undefined> {
  const { position, place, key, item } = row
  if (key === null || item === null || !isQuestion(row)) return undefined
  const planned = await planItems(db, [{ position, place, key, item, decision }], job)
  const { videoId, changes } = planned[0] as PlannedItem
  return { video_id: videoId, changes }
}

/** Returns whether the plan asks if the talk is a record. */
function isQuestion({ notes }: ImportRow): boolean {
  return notes.some(({ kind }) => kind === 'question')
}
