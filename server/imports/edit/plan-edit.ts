import {
  type BulkEdit,
  type EditFilter,
  type EditOperation,
  editFormat,
  type FieldError,
  invalidFields,
  maxEditedRecords,
  Problem,
  states,
  type Video,
} from '@talkshelf/contract'
import { findRecordIds } from '../../catalogue/catalogue.ts'
import { resolveNames } from '../../entities/entities.ts'
import type { Actor, Origin } from '../../platform/actor.ts'
import type { Pool } from '../../platform/db/pool.ts'
import type { ConcurrencyLimit } from '../../platform/ops/concurrency-limit.ts'
import { findBodiesById } from '../../videos/videos.ts'
import type { PlannedItem } from '../engine/decide.ts'
import { orFail } from '../engine/plan.ts'
import {
  changeImportState,
  findById,
  hasRecordsOfEvents,
  type ImportJob,
  insertImport,
  insertRows,
  type PlannedRow,
  touchImport,
  type Verdict,
} from '../engine/queries.ts'
import { openPlanReview, type PlanReview } from '../engine/review.ts'
import type { ImportItem } from '../item.ts'
import { type EditedRecord, editRecords, type RefusedRecord } from './edit-records.ts'
import { normalizeOperation, operationErrors } from './operations.ts'

// Plans a bulk edit: finds its records and stores what becomes of each. No record changes.

const rowsPerBatch = 200

/**
 * Creates the import of a bulk edit and starts to plan it. `planned` resolves when every record has
 * a verdict. Throws if the request is not valid, or if none of the records may be changed.
 */
export async function beginEdit(
  pool: Pool,
  input: BulkEdit,
  origin: Origin,
  schedule: ConcurrencyLimit['run'],
): Promise<{ id: number; planned: Promise<void> }> {
  const operations = await readOperations(pool, input.operations)
  const ids = await findIds(pool, input.filter)
  const { actor } = origin
  if (actor.events && !(await hasRecordsOfEvents(pool, ids, actor.events)))
    throw new Problem('forbidden', 'You may change talks of your own events only')
  const job = await insertImport(pool, {
    name: input.name ?? nameOf(operations),
    format: editFormat,
    source: editFormat,
    options: { state: states.live, operations, events: actor.events },
    actor: actor.name,
    token_id: actor.token,
    person_id: actor.person ?? null,
    via: origin.via,
    request_id: origin.request,
  })
  const plan = () => planRecords(pool, job, ids, operations, actor)
  return { id: job.id, planned: orFail(pool, job, schedule(plan)) }
}

/** Names an edit by its operations, without values: they may be names that are hidden later. */
function nameOf(operations: readonly EditOperation[]): string {
  return [...new Set(operations.map(({ op, field }) => `${op} ${field}`))].join(', ')
}

/** Validates operations. Throws `invalid-fields` with the errors of all of them. */
async function readOperations(
  pool: Pool,
  requested: readonly EditOperation[],
): Promise<EditOperation[]> {
  const operations = requested.map(normalizeOperation)
  const errors = operations.flatMap(operationErrors)
  for (const [index, operation] of operations.entries())
    if (!errors.some(({ pointer }) => pointer.startsWith(`/operations/${index}/`)))
      errors.push(...(await findUnknownName(pool, operation, index)))
  if (errors.length > 0) throw invalidFields(errors)
  return operations
}

/** Looks up the category or language of an operation. Speakers and tags are created. */
async function findUnknownName(
  pool: Pool,
  { op, field, value }: EditOperation,
  index: number,
): Promise<FieldError[]> {
  if (op !== 'set' || (field !== 'category' && field !== 'language')) return []
  const names = { [field]: value as string, speakers: [], tags: [] }
  const resolved = await resolveNames(pool, names)
  if (!('errors' in resolved)) return []
  return resolved.errors.map((error) => ({ ...error, pointer: `/operations/${index}/value` }))
}

async function findIds(pool: Pool, filter: EditFilter): Promise<number[]> {
  const { ids, ...others } = filter
  const filterError = (pointer: string, code: string, detail: string) =>
    invalidFields([{ pointer, code, detail }])
  if (ids) {
    if (Object.keys(others).length > 0)
      throw filterError('/filter', 'not-a-choice', 'must have either ids or a search, and not both')
    const unique = [...new Set(ids)].sort((a, b) => a - b)
    const known = new Set((await findById(pool, unique)).map(({ id }) => id))
    const errors = ids.flatMap((id, index) => {
      const detail = 'is not the id of a record'
      const pointer = `/filter/ids/${index}`
      return known.has(id) ? [] : [{ pointer, code: 'unknown-record', detail }]
    })
    if (errors.length > 0) throw invalidFields(errors)
    return unique
  }
  const found = await findRecordIds(pool, filter, maxEditedRecords + 1)
  if (found.length === 0) throw filterError('/filter', 'no-match', 'matches no talk')
  if (found.length > maxEditedRecords)
    throw filterError(
      '/filter',
      'too-many',
      'matches more than 10,000 talks, the limit of one edit. Add parameters that narrow it down',
    )
  return found
}

async function planRecords(
  pool: Pool,
  job: ImportJob,
  ids: readonly number[],
  operations: readonly EditOperation[],
  actor: Actor,
): Promise<void> {
  const review = openPlanReview(new Date())
  for (let start = 0; start < ids.length; start += rowsPerBatch) {
    const batch = ids.slice(start, start + rowsPerBatch)
    const rows = await planBatch(pool, batch, start, { operations, actor, review })
    await insertRows(pool, job.id, rows)
    await touchImport(pool, job.id)
  }
  const summary = review.summary()
  await changeImportState(pool, job.id, ['reading'], 'planned', { rows: ids.length, summary })
}

interface BatchContext {
  readonly operations: readonly EditOperation[]
  readonly actor: Actor
  readonly review: PlanReview
}

async function planBatch(
  pool: Pool,
  ids: readonly number[],
  start: number,
  { operations, actor, review }: BatchContext,
): Promise<PlannedRow[]> {
  const bodies = (wanted: readonly number[]) => findBodiesById(pool, wanted)
  const results = await editRecords(pool, ids, { operations, actor, bodies })
  const planned = ids.map((id, index) =>
    plannedItem(id, start + index + 1, results.get(id) as EditedRecord | RefusedRecord),
  )
  const reviewed = await review.addWarnings(pool, planned)
  return reviewed.map(({ incoming, verdict, videoId, changes, notes, change }) => {
    const { position, place, item } = incoming
    const bytes = change ? Buffer.byteLength(change.row.body) : 0
    const stored = Object.keys(item.fields).length > 0 ? item : null
    // Without a key: what an edit writes is not what a source said.
    const row = { position, place, key: null, item: stored, bytes, changes, notes }
    return { ...row, verdict, video_id: videoId }
  })
}

function plannedItem(
  id: number,
  position: number,
  result: EditedRecord | RefusedRecord,
): PlannedItem {
  const item = itemOf(id, result.record)
  const incoming = { position, place: item.place, key: '', item, decision: null }
  const base = { incoming, videoId: id, previousState: undefined }
  if (!('patch' in result)) {
    const notes = result.reasons.map((detail) => ({ kind: 'refused' as const, field: '', detail }))
    return { ...base, verdict: 'refused', changes: {}, notes }
  }
  const { row, patch, changes } = result
  const isChanged = Object.keys(patch).length > 0
  const verdict: Verdict = isChanged ? 'changed' : 'unchanged'
  return { ...base, verdict, changes, notes: [], ...(isChanged && { change: { row, patch } }) }
}

/** Returns what identifies a record in a plan. */
function itemOf(id: number, record: Video | undefined): ImportItem {
  const fields = record && {
    title: record.title,
    category: record.category,
    speakers: record.speakers,
    recorded: record.recorded,
    duration: record.duration,
  }
  return { place: `record ${id}`, fields: fields ?? {}, facts: [], notes: [] }
}

/** Throws `forbidden` unless an editor of single events made this edit, for events of today. */
export function assertOwnEdit(job: ImportJob, actor: Actor): void {
  if (!actor.events) return
  const { operations, events = [] } = job.options
  const isOwn =
    actor.token === null
      ? job.person_id !== null && job.person_id === actor.person
      : job.token_id === actor.token
  const mayEdit = events.every((event) => actor.events?.includes(event))
  if (!operations || !isOwn || !mayEdit || events.length === 0)
    throw new Problem('forbidden', 'You may use your own edits of talks of your events only')
}
