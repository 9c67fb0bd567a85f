import { type FieldError, invalidFields } from '@talkshelf/contract'
import type { Db } from '../../platform/db/db.ts'
import { type PlannedItem, planItems, writtenFields } from './decide.ts'
import {
  type Decision,
  type DecisionEffect,
  findById,
  findRowOfRecord,
  type ImportJob,
  type ImportRow,
} from './queries.ts'

// Plans a talk again after an editor has decided which record it is, so that the plan shows the
// fields that applying it changes.

/**
 * Returns what changes in the plan of a talk. Undefined if the decision is not about its record.
 * Throws if the talk cannot be the chosen record.
 */
export async function planDecision(
  db: Db,
  job: ImportJob,
  row: ImportRow,
  decision: Decision,
): Promise<DecisionEffect | undefined> {
  const { position, place, key, item } = row
  const isQuestion = row.notes.some(({ kind }) => kind === 'question')
  const wasChosen = row.decision?.record !== undefined
  if (decision.record !== undefined) {
    const canChoose = isQuestion || wasChosen || row.verdict === 'new'
    const error = canChoose
      ? await findRecordError(db, job, position, decision)
      : { code: 'not-new', detail: `cannot be chosen: the talk is ${row.verdict}, not new` }
    if (error) throw invalidFields([{ pointer: '/record', ...error }])
  } else if (!isQuestion && !wasChosen) return undefined
  if (key === null || item === null) return undefined
  const results = await planItems(db, [{ position, place, key, item, decision }], job)
  const planned = results[0] as PlannedItem
  const { verdict, videoId, changes } = planned
  if (verdict === 'refused' && decision.record !== undefined)
    throw invalidFields([{ pointer: '/record', code: 'refused', detail: reasonsOf(planned) }])
  // The question stays, so that the answer can be changed.
  return isQuestion
    ? { verdict: row.verdict, video_id: videoId, changes, notes: row.notes }
    : { verdict, video_id: videoId, changes, notes: notesOf(planned, row) }
}

async function findRecordError(
  db: Db,
  { id }: ImportJob,
  position: number,
  { same, record = 0 }: Decision,
): Promise<Omit<FieldError, 'pointer'> | undefined> {
  if (!same) return { code: 'not-same', detail: 'is only allowed if `same` is true' }
  const [found] = await findById(db, [record])
  if (!found) return { code: 'unknown-record', detail: 'does not exist' }
  const other = await findRowOfRecord(db, id, record, position)
  return other && { code: 'taken', detail: `is the record of talk ${other.position} already` }
}

function reasonsOf({ notes }: PlannedItem): string {
  const reasons = notes.filter(({ kind }) => kind === 'refused').map(({ detail }) => detail)
  return `cannot be changed: ${reasons.join('; ')}`
}

/** Keeps the warnings of the plan about the fields that are written. */
function notesOf(planned: PlannedItem, row: ImportRow): DecisionEffect['notes'] {
  const written = new Set(writtenFields(planned).flatMap((fields) => Object.keys(fields)))
  const others = planned.notes.filter(({ kind }) => kind !== 'warning')
  const warnings = row.notes.filter(({ kind, field }) => kind === 'warning' && written.has(field))
  return [...others, ...warnings]
}
