import {
  type FieldDecision,
  type Import,
  type ImportedTalk,
  mayAct,
  Problem,
  type RefusedRows,
  type Role,
  warningCodes,
} from '@talkshelf/contract'
import { lookUpNames, type NameLookup } from '../entities/entities.ts'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import { assertOwnEdit } from './edit/plan-edit.ts'
import { namesOfItems } from './engine/decide.ts'
import { type RecordFields, withCurrentNames } from './engine/merge.ts'
import { planDecision } from './engine/planned-decision.ts'
import {
  acceptMatch,
  changeImportState,
  countConflictsByField,
  countOpenQuestions,
  countRows,
  countUndecidedRows,
  type Decision,
  decideConflicts,
  decideRow,
  deleteImport,
  deleteRows,
  failPlan,
  findFollowedLeftovers,
  findImport,
  findWrittenEvents,
  hasDecisions,
  type ImportJob,
  type ImportRow,
  listOpenQuestions,
  listRows,
  lockPlan,
  selectImports,
  selectWaitingImports,
} from './engine/queries.ts'
import { fieldsOfNewRecord, type ItemFields } from './item.ts'
import { readRefusedRows, type TableLimits } from './refused.ts'

// The entry point of imports. An import is stored with a state: a file is read and planned
// (plan.ts), the plan is applied (apply.ts) and can be undone (undo.ts), both batch by batch
// (batches.ts). identity.ts, decide.ts and merge.ts decide what becomes of a talk. formats/ has one
// file per format.
export { beginImport, beginImportOf, findLanguageError, readTalks } from './begin.ts'
export { formatValue, shortenAroundDifference } from './cli/values.ts'
export { nextImportBatch, type OnBatchFailure } from './engine/batches.ts'
export { findTakenDown } from './engine/identity.ts'
export { measure, type ReadPlan } from './engine/plan.ts'
export { prepareBatch } from './engine/prepare-batch.ts'
export {
  countChangesByValue,
  countRunningImports,
  type Decision,
  findDecisions,
  findFollowedImports,
  findSourceStates,
  hasNewSourceStates,
} from './engine/queries.ts'
export { removeOldRows } from './engine/retention.ts'
export { csvTemplate } from './formats/csv.ts'
export { mainFields } from './formats/csv-columns.ts'
export { joinCells, joinNames } from './formats/csv-write.ts'
export { writePyvideo } from './formats/pyvideo-record.ts'
export { formats } from './formats.ts'
export { fetchFile, fetchVersion } from './input/fetch.ts'
export { type OpenedInput, openInput } from './input/input.ts'
export { type ImportItem, InputRefused, type ItemFields, type ParsedItem } from './item.ts'
export { downloadLimits, type ImportPlanner, openImportPlanner } from './planner.ts'

/** Reads an import with its counts. */
export async function readImport(db: Db, id: number): Promise<Import> {
  return toImport(db, await requireImport(db, id))
}

/** Lists imports with an id below `before`, newest first. */
export async function listImports(db: Db, before: number, limit: number): Promise<Import[]> {
  const imports: Import[] = []
  for (const job of await selectImports(db, before, limit)) imports.push(await toImport(db, job))
  return imports
}

/** Lists the talks of an import by position. */
export async function listImportTalks(
  db: Db,
  id: number,
  options: Parameters<typeof listRows>[2],
): Promise<ImportedTalk[]> {
  await requireImport(db, id)
  return toImportedTalks(db, await listRows(db, id, options))
}

/** Builds a table of the refused rows of an import after a position. */
export async function readRefused(
  db: Db,
  id: number,
  after: number,
  limits: TableLimits,
): Promise<RefusedRows> {
  return readRefusedRows(db, await requireImport(db, id), after, limits)
}

/** Lists the events of the records that an import wrote. */
export function listImportEvents(db: Db, id: number, limit: number) {
  return findWrittenEvents(db, id, limit)
}

/**
 * Saves the decision of an editor about a talk. If it says which record the talk is, the plan then
 * has the changes of that record. Throws if the talk was applied already.
 */
export async function decideTalk(
  db: Db,
  id: number,
  position: number,
  decision: Decision,
): Promise<ImportedTalk> {
  const job = await requireImport(db, id)
  const [row] = await listRows(db, id, { after: position - 1, limit: 1 })
  if (row?.position !== position) throw new Problem('not-found', 'There is no such talk')
  const effect = row.outcome === null ? await planDecision(db, job, row, decision) : undefined
  if ((await decideRow(db, id, position, decision, effect)) === 0) {
    const { state } = await requireImport(db, id)
    if (state === 'failed')
      throw new Problem('wrong-state', `Import ${id} was replaced or deleted meanwhile`)
    throw new Problem('wrong-state', `The import is ${state}: this talk was applied already`)
  }
  const rows = await listRows(db, id, { after: position - 1, limit: 1 })
  const [talk] = await toImportedTalks(db, rows)
  return talk as ImportedTalk
}

/** Limits of one call, because each talk is planned again. */
const [maxAnswers, maxAnswerMs] = [200, 2000]

/**
 * Answers that talks are the records that they resemble, as `decideTalk` does, as far as they have
 * no answer yet and no other talk of the import is that record. Returns how many were answered: a
 * long list needs several calls.
 */
export async function acceptMatches(db: Db, id: number): Promise<number> {
  const job = await requireImport(db, id)
  assertDecidable(job)
  const endMs = performance.now() + maxAnswerMs
  let [answered, after] = [0, 0]
  for (;;) {
    const rows = await listOpenQuestions(db, id, after, maxAnswers)
    for (const row of rows) {
      const effect = await planDecision(db, job, row, { same: true })
      if (effect) answered += await acceptMatch(db, id, row.position, effect)
      after = row.position
      if (answered === maxAnswers || performance.now() > endMs) return answered
    }
    if (rows.length < maxAnswers) return answered
  }
}

/**
 * Counts the conflicts of an import that can still be decided: by field, undecided talks, and those
 * of them that resemble a record.
 */
export async function countConflicts(db: Db, id: number) {
  const { count: undecided } = await countUndecidedRows(db, id)
  const { count: questions } = await countOpenQuestions(db, id)
  return { undecided, questions, fields: await countConflictsByField(db, id) }
}

/**
 * Throws `forbidden` if the actor edits single events only and may not use this import: all but
 * their own bulk edits.
 */
export async function assertMayUseImport(db: Db, id: number, actor: Actor): Promise<void> {
  if (actor.events) assertOwnEdit(await requireImport(db, id), actor)
}

/** Returns the role that applying an import requires. */
export async function readApplyRole(db: Db, id: number): Promise<ImportJob['apply_role']> {
  return (await requireImport(db, id)).apply_role
}

/**
 * Starts to apply an import: any process then runs its batches. An import with takedowns needs an
 * administrator.
 */
export async function applyImport(db: Db, id: number, role: Role): Promise<Import> {
  await requireApplyRole(db, id, role)
  return transition(db, id, ['planned', 'stopped', 'applying'], 'applying')
}

async function requireApplyRole(db: Db, id: number, role: Role): Promise<void> {
  if (!mayAct(role, await readApplyRole(db, id)))
    throw new Problem('forbidden', 'This import has takedowns, which only administrators can apply')
}

/** Stops an import after the current batch. */
export async function stopImport(db: Db, id: number): Promise<Import> {
  return transition(db, id, ['applying', 'stopped'], 'stopped')
}

/**
 * Starts to undo an import: any process then runs its batches. An undone import can be undone again
 * if talks were kept, because what kept them may have been undone since.
 */
export async function undoImport(db: Db, id: number): Promise<Import> {
  const { state, undone, rows } = await readImport(db, id)
  if (state === 'undoing') return readImport(db, id)
  if (state === 'undone' && (undone.touched ?? 0) > 0)
    return transition(db, id, ['undone'], 'undoing', { done: rows })
  return transition(db, id, ['applied', 'stopped'], 'undoing')
}

/** Applies an undone import again: any process then runs its batches. */
export async function redoImport(db: Db, id: number, role: Role): Promise<Import> {
  await requireApplyRole(db, id, role)
  return transition(db, id, ['undone'], 'redoing')
}

/** A plan cannot be retired: it has decisions of a person, or is being applied. */
export class PlanInUse extends Error {}

interface Retirement {
  /** Why it can no longer be applied. */
  readonly problem: string
  /** Whether the import stays, with the problem, after its rows are deleted. */
  readonly isReplaced: boolean
}

/**
 * Marks a plan as failed, in a transaction, so that `deleteLeftovers` deletes it: a decision that is
 * made at the same time is either refused or throws `PlanInUse`, which has to roll the transaction
 * back.
 */
export async function retirePlan(
  tx: Db,
  id: number,
  { problem, isReplaced }: Retirement,
): Promise<void> {
  if (!(await lockPlan(tx, id))) throw new PlanInUse()
  if (await hasDecisions(tx, id)) throw new PlanInUse()
  await failPlan(tx, id, problem, isReplaced)
}

/** Replaced plans of a followed source that stay: people may still have links to them. */
const keptReplaced = 20

/** Deletes an import that has failed, with its rows. Does nothing if it is in another state. */
export async function deleteFailedImport(db: Db, id: number): Promise<void> {
  const job = await findImport(db, id)
  if (job?.state !== 'failed') return
  await deleteAllRows(db, id)
  await deleteImport(db, id)
}

/** Deletes failed imports of a followed source and the rows of plans that were replaced. */
export async function deleteLeftovers(db: Db, followedSourceId: number): Promise<void> {
  const leftovers = await findFollowedLeftovers(db, followedSourceId, keptReplaced)
  for (const { id, isReplaced } of leftovers) {
    await deleteAllRows(db, id)
    if (!isReplaced) await deleteImport(db, id)
  }
}

/** Lists imports that were planned and can still be applied, the oldest first. */
export async function listWaitingImports(db: Db, limit: number): Promise<Import[]> {
  const imports: Import[] = []
  for (const job of await selectWaitingImports(db, limit)) imports.push(await toImport(db, job))
  return imports
}

/** Deletes an import that was never applied, with its rows. */
export async function discardImport(db: Db, id: number): Promise<void> {
  const { state } = await requireImport(db, id)
  if (state === 'reading')
    throw new Problem(
      'wrong-state',
      `Import ${id} is still being read. Try again when it has ended`,
    )
  // As failed, it can't be applied while its rows are deleted.
  const problem = 'Deleted by an editor'
  if (!(await changeImportState(db, id, ['planned', 'failed'], 'failed', { problem })))
    throw new Problem(
      'wrong-state',
      `Import ${id} is ${state}. Only imports that were never applied can be deleted`,
    )
  await deleteAllRows(db, id)
  await deleteImport(db, id)
}

/** Rows may be as large as their file allows: a statement must end before its timeout. */
const rowsPerDelete = 1000

async function deleteAllRows(db: Db, id: number): Promise<void> {
  while ((await deleteRows(db, id, rowsPerDelete)) > 0);
}

/** Decides all conflicts of an import in some fields, or in all. Returns the number of talks. */
export async function decideFields(
  db: Db,
  id: number,
  { take, fields }: FieldDecision,
): Promise<number> {
  assertDecidable(await requireImport(db, id))
  return decideConflicts(db, id, take, fields)
}

function assertDecidable({ id, state }: ImportJob): void {
  if (state !== 'planned' && state !== 'stopped')
    throw new Problem('wrong-state', `Import ${id} is ${state}. Only a plan can be decided`)
}

const requirements = {
  applying: 'Only planned or stopped imports can be applied',
  stopped: 'Only an import that is being applied can be stopped',
  undoing: 'Only an import that was applied, stopped, or undone in part can be undone',
  redoing: 'Only an undone import can be redone',
} as const

async function transition(
  db: Db,
  id: number,
  from: readonly ImportJob['state'][],
  to: keyof typeof requirements,
  changes: { done?: number } = {},
): Promise<Import> {
  // The counts are stored when the rows are removed.
  const { state, counts } = await requireImport(db, id)
  if (counts)
    throw new Problem(
      'wrong-state',
      `Import ${id} is too old to be changed: its talks are no longer stored`,
    )
  if (!(await changeImportState(db, id, from, to === 'redoing' ? 'applying' : to, changes)))
    throw new Problem('wrong-state', `Import ${id} is ${state}. ${requirements[to]}`)
  return readImport(db, id)
}

async function requireImport(db: Db, id: number): Promise<ImportJob> {
  const job = await findImport(db, id)
  if (!job) throw new Problem('not-found', 'There is no such import')
  return job
}

const none = { count: 0, names: [] }
const noWarnings = Object.fromEntries(warningCodes.map((code) => [code, 0]))

async function toImport(db: Db, job: ImportJob): Promise<Import> {
  const { id, state, name, format, source, created, actor, rows, done, problem } = job
  const counts = job.counts ?? (await countRows(db, id))
  const creates = job.summary?.creates
  const sum = (column: 'verdict' | 'outcome' | 'undone', value: string) =>
    counts.reduce((total, row) => (row[column] === value ? total + row.count : total), 0)
  const sumEach = <T extends string>(
    column: 'verdict' | 'outcome' | 'undone',
    values: readonly T[],
  ) => Object.fromEntries(values.map((value) => [value, sum(column, value)])) as Record<T, number>
  return {
    id,
    state,
    name,
    format,
    source,
    created,
    by: actor,
    followed_source: job.followed_source_id,
    rows,
    done,
    problem,
    planned: sumEach('verdict', ['new', 'changed', 'unchanged', 'conflict', 'refused']),
    outcome: sumEach('outcome', ['created', 'changed', 'unchanged', 'kept', 'refused']),
    undone: sumEach('undone', ['undone', 'touched']),
    creates: {
      categories: { ...none, ...creates?.categories },
      speakers: { ...none, ...creates?.speakers },
      tags: { ...none, ...creates?.tags },
    },
    warnings: { ...noWarnings, ...job.summary?.warnings },
    ignored_cells: job.summary?.ignoredCells ?? 0,
  }
}

/** Converts rows for the API. Entities renamed since the plan have their current names. */
async function toImportedTalks(db: Db, rows: readonly ImportRow[]): Promise<ImportedTalk[]> {
  const sides = rows.flatMap((row) => [
    sideOf(row.changes, 'old'),
    sideOf(row.changes, 'new'),
    row.item ? fieldsOfNewRecord(row.item) : {},
  ])
  const lookup = await lookUpNames(db, namesOfItems(sides))
  return rows.map((row) => {
    const { position, place, verdict, item, video_id, notes, outcome, undone } = row
    return {
      position,
      place,
      verdict,
      ...describeTalk(withCurrentNames(item ? fieldsOfNewRecord(item) : {}, lookup)),
      video: video_id,
      changes: changesWithCurrentNames(row.changes, lookup),
      notes: [...notes],
      outcome,
      undone,
    }
  })
}

/** Picks what identifies a talk in a plan. The fields of a refused talk may have any type. */
function describeTalk(fields: RecordFields) {
  const { title, category, speakers, recorded, duration } = fields
  const textOrNull = (value: unknown) => (typeof value === 'string' ? value : null)
  const isText = (value: unknown) => typeof value === 'string'
  return {
    title: textOrNull(title),
    category: textOrNull(category),
    speakers: Array.isArray(speakers) ? speakers.filter(isText) : [],
    recorded: textOrNull(recorded),
    duration: Number.isSafeInteger(duration) ? (duration as number) : null,
  }
}

function changesWithCurrentNames(
  changes: ImportRow['changes'],
  lookup: NameLookup,
): ImportedTalk['changes'] {
  const current = (side: 'old' | 'new') =>
    withCurrentNames(sideOf(changes, side), lookup) as Record<string, unknown>
  const [before, after] = [current('old'), current('new')]
  return Object.fromEntries(
    Object.entries(changes).map(([field, change]) => [
      field,
      { ...change, old: before[field], new: after[field] },
    ]),
  )
}

function sideOf(changes: ImportRow['changes'], side: 'old' | 'new'): ItemFields {
  return Object.fromEntries(
    Object.entries(changes).map(([field, change]) => [field, change[side]]),
  ) as ItemFields
}
