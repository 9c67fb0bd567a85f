import {
  type EditOperation,
  type ImportAdditions,
  type importStates,
  type importVerdicts,
  missingStates,
  type WarningCode,
} from '@talkshelf/contract'
import sql, { empty, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { Origin } from '../../platform/actor.ts'
import { type Db, execute, many, maybe, one, writeReturning } from '../../platform/db/db.ts'
import type { ImportItem, ImportNote, ImportWarning } from '../item.ts'
import type { OtherState } from './joined.ts'
import type { FieldChange, SourceState } from './merge.ts'

// The SQL of imports: the job itself, its rows and entities, and what each source had before.
// The JSON of `item`, `before` and `state` is stored, so its field names must not change.

export type Verdict = (typeof importVerdicts)[number]

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

/** What applying an import creates, how many warnings it has, and what it ignores. */
export interface PlanSummary {
  readonly creates: ImportAdditions
  readonly warnings: Readonly<Record<WarningCode, number>>
  /** Missing in older plans. */
  readonly ignoredCells?: number
}

/** Defaults for the talks of an import, or what a bulk edit does. */
export interface ImportOptions {
  readonly category?: string | undefined
  readonly language?: string | undefined
  /** The state of new records for which the file has none. */
  readonly state: 1 | 2
  /** The operations of a bulk edit, which has no file. */
  readonly operations?: readonly EditOperation[] | undefined
  /** The other sources of joined talks. */
  readonly otherSources?: readonly string[] | undefined
  /** The only events whose talks a bulk edit may change. */
  readonly events?: readonly number[] | undefined
}

const RowCount = Type.Object({
  verdict: Type.String(),
  outcome: MaybeText,
  undone: MaybeText,
  count: Type.Integer(),
})

const ImportJob = Type.Object({
  id: Type.Integer(),
  state: Type.Unsafe<(typeof importStates)[number]>({}),
  name: Type.String(),
  format: Type.String(),
  source: Type.String(),
  options: Type.Unsafe<ImportOptions>({}),
  rows: Type.Integer(),
  done: Type.Integer(),
  problem: MaybeText,
  counts: Type.Union([Type.Array(RowCount), Type.Null()]),
  summary: Type.Unsafe<PlanSummary | null>({}),
  apply_role: Type.Unsafe<'editor' | 'admin'>({}),
  batch_size: Type.Integer(),
  failures: Type.Integer(),
  actor: Type.String(),
  token_id: MaybeInteger,
  person_id: MaybeInteger,
  followed_source_id: MaybeInteger,
  via: Type.Unsafe<Origin['via']>({}),
  request_id: Type.String(),
  created: Type.String(),
})
export type ImportJob = Static<typeof ImportJob>

const columns = sql`
  id, state, name, format, source, options, rows, done, problem, counts, summary, apply_role,
  batch_size, failures, actor, token_id, person_id, followed_source_id, via, request_id,
  to_char(created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as created`

/** Inserts an import in the state `reading` and returns it. */
export async function insertImport(
  db: Db,
  job: Pick<
    ImportJob,
    | 'name'
    | 'format'
    | 'source'
    | 'options'
    | 'actor'
    | 'token_id'
    | 'person_id'
    | 'via'
    | 'request_id'
  > &
    Partial<Pick<ImportJob, 'followed_source_id'>>,
): Promise<ImportJob> {
  const [row] = await writeReturning(
    db,
    ImportJob,
    sql`insert into import (
          state, name, format, source, options, actor, token_id, person_id, followed_source_id, via,
          request_id)
        values (
          'reading', ${job.name}, ${job.format}, ${job.source},
          ${JSON.stringify(job.options)}::jsonb, ${job.actor}, ${job.token_id}::bigint,
          ${job.person_id}::bigint, ${job.followed_source_id ?? null}::bigint, ${job.via},
          ${job.request_id}
        )
        returning ${columns}`,
  )
  return row as ImportJob
}

/** Saves the format and the source once the beginning of the file was read. */
export function setFormat(db: Db, id: number, format: string, source: string) {
  return execute(
    db,
    sql`update import
        set format = ${format}, source = ${source}, touched = now()
        where id = ${id}`,
  )
}

/** Finds an import by its id. */
export function findImport(db: Db, id: number) {
  return maybe(db, ImportJob, sql`select ${columns} from import where id = ${id}`)
}

/** Lists imports with an id below `before`, newest first. */
export function selectImports(db: Db, before: number, limit: number) {
  return many(
    db,
    ImportJob,
    sql`select ${columns}
        from import
        where id < ${before}
        order by id desc
        limit ${limit}::integer`,
  )
}

/**
 * Moves an import to another state if it is in one of the states `from` and was not closed. Returns
 * whether it moved.
 */
export async function changeImportState(
  db: Db,
  id: number,
  from: readonly ImportJob['state'][],
  to: ImportJob['state'],
  changes: {
    rows?: number
    done?: number
    problem?: string
    applyRole?: ImportJob['apply_role']
    summary?: PlanSummary
  } = {},
): Promise<boolean> {
  const summary = changes.summary ? JSON.stringify(changes.summary) : null
  const count = await execute(
    db,
    sql`update import
        set state = ${to},
            rows = coalesce(${changes.rows ?? null}::integer, rows),
            done = coalesce(${changes.done ?? null}::integer, done),
            problem = ${changes.problem ?? null},
            apply_role = coalesce(${changes.applyRole ?? null}::text, apply_role),
            summary = coalesce(${summary}::jsonb, summary),
            failures = 0,
            retry_at = now(),
            touched = now()
        where id = ${id} and state = any (${from}::text[]) and counts is null`,
  )
  return count === 1
}

/** Saves the progress of an import, and doubles its batch size up to the maximum. */
export function advanceImport(tx: Db, id: number, done: number, maxBatchSize: number) {
  return execute(
    tx,
    sql`update import
        set done = ${done},
            batch_size = least(batch_size * 2, ${maxBatchSize}::integer),
            failures = 0,
            problem = null,
            touched = now()
        where id = ${id}`,
  )
}

export interface Postponement {
  readonly batchSize: number
  readonly failures: number
  readonly delayMs: number
  readonly problem: string | null
}

/**
 * Saves when and with how many rows the batch is retried. Does nothing if another process has
 * advanced the import.
 */
export function postponeImport(db: Db, { id, state, done }: ImportJob, next: Postponement) {
  return execute(
    db,
    sql`update import
        set batch_size = ${next.batchSize}::integer,
            failures = ${next.failures}::integer,
            retry_at = now() + make_interval(secs => ${next.delayMs / 1000}::float8),
            problem = ${next.problem},
            touched = now()
        where id = ${id} and state = ${state} and done = ${done}`,
  )
}

const Exists = Type.Object({ any: Type.Boolean() })

// A process that reads a file updates `touched` with every batch.
const isAbandoned = sql`state = 'reading' and touched < now() - interval '10 minutes'`

const isDue = sql`(state in ('applying', 'undoing') and retry_at <= now())`

/** Returns whether an import has a batch due, or was abandoned while it was read. */
export async function hasRunnableImports(db: Db): Promise<boolean> {
  const { any } = await one(
    db,
    Exists,
    sql`select exists (select from import where ${isDue} or ${isAbandoned}) as any`,
  )
  return any
}

const RunningCount = Type.Object({ count: Type.Integer() })

/** Returns the number of imports that are applied or undone at the moment. */
export async function countRunningImports(db: Db): Promise<number> {
  const row = await one(
    db,
    RunningCount,
    sql`select count(*) from import where state in ('applying', 'undoing')`,
  )
  return row.count
}

/** Claims the due import that has waited longest, until the end of the transaction. */
export function claimImport(tx: Db) {
  return maybe(
    tx,
    ImportJob,
    sql`select ${columns}
        from import
        where ${isDue}
        order by touched, id
        limit 1
        for no key update skip locked`,
  )
}

/** Claims this import if its state and progress have not changed since it was read. */
export function claimImportAt(tx: Db, { id, state, done }: ImportJob) {
  return maybe(
    tx,
    ImportJob,
    sql`select ${columns}
        from import
        where id = ${id} and state = ${state} and done = ${done}
        for no key update skip locked`,
  )
}

const Locked = Type.Object({ locked: Type.Boolean() })

/**
 * Locks a source until the end of the transaction, so that two imports of one source are never
 * applied at the same time. Returns false if another transaction has the lock.
 */
export async function lockSource(tx: Db, source: string): Promise<boolean> {
  const { locked } = await one(
    tx,
    Locked,
    sql`select pg_try_advisory_xact_lock(hashtextextended(${source}, 7)) as locked`,
  )
  return locked
}

/** Marks imports as failed whose reading process stopped without saying so. */
export function failAbandonedImports(db: Db) {
  return execute(
    db,
    sql`update import
        set state = 'failed',
            problem = case
              when format = 'edit' then 'Planning was interrupted. Make the plan again'
              else 'Reading was interrupted. Import the file again'
            end
        where ${isAbandoned}`,
  )
}

/** A speaker, tag or category described by the file. */
export interface PlannedEntity {
  readonly position: number
  readonly place: string
  readonly entity: object
  readonly bytes: number
}

/** Inserts the entities of a batch of the plan. */
export function insertImportEntities(db: Db, importId: number, entities: readonly PlannedEntity[]) {
  return execute(
    db,
    sql`insert into import_entity (import_id, position, place, entity, bytes)
        select ${importId}::bigint, position, place, entity, bytes
        from json_to_recordset(${JSON.stringify(entities)}::json)
             as incoming (position integer, place text, entity jsonb, bytes integer)`,
  )
}

const EntityRow = Type.Object({
  position: Type.Integer(),
  place: Type.String(),
  entity: Type.Unsafe<object>({}),
})

/** Finds the entities of an import with `after` < position <= `upTo`. */
export function findImportEntities(db: Db, importId: number, after: number, upTo: number) {
  return many(
    db,
    EntityRow,
    sql`select position, place, entity
        from import_entity
        where import_id = ${importId}
          and position > ${after}::integer
          and position <= ${upTo}::integer
        order by position`,
  )
}

const BatchEnd = Type.Object({ end: Type.Integer() })

/**
 * Finds the last position of the next batch: at most `maxRows` rows and `maxBytes` bytes, but at
 * least one row. Returns the last position of the import if nothing is left.
 */
export function findBatchEnd(
  db: Db,
  { id, done, rows }: ImportJob,
  maxRows: number,
  maxBytes: number,
) {
  return one(
    db,
    BatchEnd,
    sql`with pending as (
          (select position, bytes
           from import_row
           where import_id = ${id} and position > ${done}::integer
           order by position
           limit ${maxRows}::integer)
          union all
          (select position, bytes
           from import_entity
           where import_id = ${id} and position > ${done}::integer
           order by position
           limit ${maxRows}::integer)
        ), running as (
          select position,
                 row_number() over by_position as number,
                 sum(bytes) over by_position as total
          from pending
          window by_position as (order by position)
        )
        select coalesce(max(position), ${rows}::integer) as "end"
        from running
        where number <= ${maxRows}::integer
          and (total <= ${maxBytes}::integer or number = 1)`,
  )
}

/** What is stored of a refused talk: enough to recognise it and to correct its row. */
export interface RefusedItem {
  readonly fields: { readonly title?: string }
  readonly cells?: ImportItem['cells']
}

export interface PlannedRow {
  readonly position: number
  readonly place: string
  readonly key: string | null
  readonly item: ImportItem | RefusedItem | null
  readonly bytes: number
  readonly verdict: Verdict
  readonly video_id: number | null
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly notes: readonly (
    | ImportNote
    | ImportWarning
    | { kind: 'refused' | 'question'; field: string; detail: string }
  )[]
}

/** Records that the reading process is still alive. */
export function touchImport(db: Db, id: number) {
  return execute(db, sql`update import set touched = now() where id = ${id}`)
}

/** Inserts the rows of a batch of the plan. */
export function insertRows(db: Db, importId: number, rows: readonly PlannedRow[]) {
  return execute(
    db,
    sql`insert into import_row (
          import_id, position, place, key, item, bytes, verdict, video_id, changes, notes
        )
        select ${importId}::bigint, position, place, key, item, bytes, verdict, video_id,
               changes, notes
        from json_to_recordset(${JSON.stringify(rows)}::json) as planned (
               position integer, place text, key text, item jsonb, bytes integer, verdict text,
               video_id bigint, changes jsonb, notes jsonb
             )`,
  )
}

const HighestId = Type.Object({ highest: MaybeInteger })

/** Finds the highest id up to `limit` among the new talks of an import. Null if they have none. */
export function findHighestId(db: Db, importId: number, limit: number) {
  return one(
    db,
    HighestId,
    sql`select max(id) filter (where id <= ${limit}) as highest
        from (
          select case when item->>'id' ~ '^[0-9]{1,16}$' then (item->>'id')::bigint end as id
          from import_row
          where import_id = ${importId} and verdict = 'new'
        ) as new_talk`,
  )
}

export interface Decision {
  /** Fields whose value is taken from the source. */
  readonly take?: readonly string[]
  /** Whether the talk is the record that it resembles, or the one in `record`. */
  readonly same?: boolean
  /** The id of the record that the talk is, chosen by an editor. */
  readonly record?: number
}

const ImportRow = Type.Object({
  position: Type.Integer(),
  place: Type.String(),
  key: MaybeText,
  item: Type.Unsafe<ImportItem | null>({}),
  verdict: Type.Unsafe<Verdict>({}),
  video_id: MaybeInteger,
  changes: Type.Unsafe<PlannedRow['changes']>({}),
  notes: Type.Unsafe<PlannedRow['notes']>({}),
  decision: Type.Unsafe<Decision | null>({}),
  outcome: MaybeText,
  revision: MaybeInteger,
  facts_revision: MaybeInteger,
  before: Type.Unsafe<StateBefore | null>({}),
  undone: MaybeText,
})
export type ImportRow = Static<typeof ImportRow>

/** What is needed to undo a row: the state before the import wrote it. */
export interface StateBefore {
  /** The source state before. */
  readonly previousState?: SourceState | null | undefined
  /** The source state of this import. Missing for new records, and in older rows. */
  readonly sourceState?: SourceState | undefined
  readonly revision?: number | null | undefined
  readonly facts?: readonly unknown[] | null | undefined
  /** The states of the other sources of a joined talk. */
  readonly otherStates?: readonly OtherState[] | undefined
}

const rowColumns = sql`
  position, place, key, item, verdict, video_id, changes, notes, decision, outcome, revision,
  facts_revision, before, undone`

/**
 * Reads and locks the rows of a batch. A concurrent decision about one of them is either visible
 * here, or rejected because the row was applied.
 */
export function lockRows(tx: Db, importId: number, after: number, upTo: number) {
  return many(
    tx,
    ImportRow,
    sql`select ${rowColumns}
        from import_row
        where import_id = ${importId}
          and position > ${after}::integer
          and position <= ${upTo}::integer
        order by position
        for no key update`,
  )
}

export interface RowFilter {
  readonly verdict?: string | undefined
  readonly undone?: string | undefined
  /** Only rows with a note of this kind. */
  readonly note?: string | undefined
}

/** Lists rows by position. */
export function listRows(
  db: Db,
  importId: number,
  { verdict, undone, note, after, limit }: RowFilter & { after: number; limit: number },
) {
  const verdictFilter = verdict === undefined ? empty : sql`and verdict = ${verdict}`
  const undoneFilter = undone === undefined ? empty : sql`and undone = ${undone}`
  const noteFilter =
    note === undefined ? empty : sql`and notes @> ${JSON.stringify([{ kind: note }])}::jsonb`
  return many(
    db,
    ImportRow,
    sql`select ${rowColumns}
        from import_row
        where import_id = ${importId} ${verdictFilter} ${undoneFilter} ${noteFilter}
          and position > ${after}::integer
        order by position
        limit ${limit}::integer`,
  )
}

const Undecided = Type.Object({ count: Type.Integer() })

const isOpenQuestion = sql`
  verdict = 'conflict'
  and outcome is null
  and decision is null
  and notes @> '[{"kind": "question"}]'`

/** Lists rows that resemble a record and have no answer yet, by position. */
export function listOpenQuestions(db: Db, importId: number, after: number, limit: number) {
  return many(
    db,
    ImportRow,
    sql`select ${rowColumns}
        from import_row
        where import_id = ${importId} and position > ${after}::integer and ${isOpenQuestion}
        order by position
        limit ${limit}::integer`,
  )
}

/** Counts the rows that resemble a record and have no answer yet. */
export function countOpenQuestions(db: Db, importId: number) {
  return one(
    db,
    Undecided,
    sql`select count(*)::integer as count
        from import_row
        where import_id = ${importId} and ${isOpenQuestion}`,
  )
}

/** Lists the rows that were refused when they were planned or applied, by position. */
export function listRefusedRows(db: Db, importId: number, after: number, limit: number) {
  return many(
    db,
    ImportRow,
    sql`select ${rowColumns}
        from import_row
        where import_id = ${importId}
          and (verdict = 'refused' or outcome = 'refused')
          and position > ${after}::integer
        order by position
        limit ${limit}::integer`,
  )
}

/** Finds the rows up to this position that have something to undo, last first. */
export function findRowsToUndo(db: Db, importId: number, upTo: number, limit: number) {
  return many(
    db,
    ImportRow,
    sql`select ${rowColumns}
        from import_row
        where import_id = ${importId}
          and position <= ${upTo}::integer
          and before is not null
          and undone is distinct from 'undone'
        order by position desc
        limit ${limit}::integer`,
  )
}

/** Counts the rows of an import by verdict, outcome and undo result. */
export function countRows(db: Db, importId: number) {
  return many(
    db,
    RowCount,
    sql`select verdict, outcome, undone, count(*)::integer as count
        from import_row
        where import_id = ${importId}
        group by verdict, outcome, undone`,
  )
}

/**
 * Selects an import that can be decided. The lock excludes `lockPlan`, by which a
 * plan is replaced, but not the batches that apply it.
 */
const decidableImport = (importId: number) => sql`
  select id
  from import
  where id = ${importId} and state <> 'failed'
  for key share`

/**
 * Answers that the talk of a row is the record that it resembles, unless the row has an answer or
 * another row is that record. Returns how many rows were changed.
 */
export function acceptMatch(db: Db, importId: number, position: number, effect: DecisionEffect) {
  return execute(
    db,
    sql`with decidable as materialized (${decidableImport(importId)})
        update import_row
        set decision = '{"same": true}', ${effectColumns(effect)}
        from decidable
        where import_id = decidable.id
          and position = ${position}::integer
          and ${isOpenQuestion}
          and not exists (select
                          from import_row as other
                          where other.import_id = ${importId}
                            and other.video_id = ${effect.video_id}::bigint
                            and other.position <> ${position}::integer)`,
  )
}

/** What a decision changes in the plan of a row. */
export type DecisionEffect = Pick<PlannedRow, 'verdict' | 'video_id' | 'changes' | 'notes'>

const effectColumns = ({ verdict, video_id, changes, notes }: DecisionEffect) => sql`
  verdict = ${verdict},
  video_id = ${video_id}::bigint,
  changes = ${JSON.stringify(changes)}::jsonb,
  notes = ${JSON.stringify(notes)}::jsonb`

/**
 * Saves a decision about a row, and its effect. Returns 0 if the row does not exist or was applied
 * already, or if the plan was deleted or replaced.
 */
export function decideRow(
  db: Db,
  importId: number,
  position: number,
  decision: Decision,
  effect?: DecisionEffect,
) {
  const planned = effect ? sql`, ${effectColumns(effect)}` : empty
  return execute(
    db,
    sql`with decidable as materialized (${decidableImport(importId)})
        update import_row
        set decision = ${JSON.stringify(decision)}::jsonb ${planned}
        from decidable
        where import_id = decidable.id
          and position = ${position}::integer
          and outcome is null`,
  )
}

/**
 * Decides the conflicts of all rows that were not applied yet, in these fields or in all. Keeps the
 * decisions about other fields. Returns how many rows were decided.
 */
export function decideConflicts(
  db: Db,
  importId: number,
  take: 'theirs' | 'mine',
  fields: readonly string[] | undefined,
) {
  const isDecided = fields === undefined ? sql`true` : sql`field = any (${fields}::text[])`
  const conflicts = sql`
    select field
    from jsonb_each(changes) as change (field, value)
    where value->>'conflict' = 'true' and ${isDecided}`
  const others = sql`
    select field
    from jsonb_array_elements_text(coalesce(decision->'take', '[]')) as taken (field)
    where not (${isDecided})`
  const taken = take === 'theirs' ? sql`${others} union ${conflicts}` : others
  return execute(
    db,
    sql`with decidable as materialized (${decidableImport(importId)})
        update import_row
        set decision = coalesce(decision, '{}') || jsonb_build_object(
              'take', (select coalesce(jsonb_agg(field), '[]') from (${taken}) as taken))
        from decidable
        where import_id = decidable.id
          and verdict = 'conflict'
          and outcome is null
          and exists (${conflicts})`,
  )
}

const FieldConflicts = Type.Object({ field: Type.String(), count: Type.Integer() })

/** Counts the talks in conflict that were not applied yet, by field. */
export function countConflictsByField(db: Db, importId: number) {
  return many(
    db,
    FieldConflicts,
    sql`select field, count(*)::integer as count
        from import_row
        cross join jsonb_each(changes) as change (field, value)
        where import_id = ${importId}
          and verdict = 'conflict'
          and outcome is null
          and value->>'conflict' = 'true'
        group by field
        order by count desc, field`,
  )
}

const ValueCount = Type.Object({
  field: Type.String(),
  old: Type.Unknown(),
  new: Type.Unknown(),
  count: Type.Integer(),
})

/** More different changes than these are not listed. */
const maxValues = 10
/** Longer changes are not counted: reading them takes too long, and few are the same. */
const maxCountedBytes = 2000

/**
 * Counts the talks of an import by the change of a field, the most frequent first. Of a list, only
 * the elements that are removed and added count.
 */
export function countChangesByValue(db: Db, importId: number) {
  const without = (list: Sql, other: Sql) => sql`
    case
      when jsonb_typeof(${list}) = 'array' and jsonb_typeof(${other}) = 'array'
      then (select coalesce(jsonb_agg(element order by ordinal), '[]')
            from jsonb_array_elements(${list}) with ordinality as part (element, ordinal)
            where not ${other} @> jsonb_build_array(element))
      else ${list}
    end`
  const [before, after] = [sql`(value->'old')`, sql`(value->'new')`]
  return many(
    db,
    ValueCount,
    sql`select field, old, new, count(*)::integer as count
        from (
          select field, ${without(before, after)} as old, ${without(after, before)} as new
          from import_row
          cross join jsonb_each(changes) as change (field, value)
          where import_id = ${importId}
            and verdict in ('changed', 'conflict')
            and pg_column_size(changes) <= ${maxCountedBytes}::integer
        ) as change
        group by field, old, new
        order by count desc, field, old, new
        limit ${maxValues}::integer`,
  )
}

/** Counts the talks in conflict without a decision that were not applied yet. */
export function countUndecidedRows(db: Db, importId: number) {
  return one(
    db,
    Undecided,
    sql`select count(*)::integer as count
        from import_row
        where import_id = ${importId}
          and verdict = 'conflict'
          and outcome is null
          and decision is null`,
  )
}

const RowPosition = Type.Object({ position: Type.Integer() })

/** Finds the row of an import that was matched with a record, apart from the one at a position. */
export function findRowOfRecord(db: Db, importId: number, videoId: number, except: number) {
  return maybe(
    db,
    RowPosition,
    sql`select position
        from import_row
        where import_id = ${importId}
          and video_id = ${videoId}
          and position <> ${except}::integer
        order by position
        limit 1`,
  )
}

const DecidedRow = Type.Object({
  position: Type.Integer(),
  decision: Type.Unsafe<Decision>({}),
})

/** Finds the decisions about these rows. */
export function findDecisions(db: Db, importId: number, positions: readonly number[]) {
  return many(
    db,
    DecidedRow,
    sql`select position, decision
        from import_row
        where import_id = ${importId}
          and position = any (${positions}::integer[])
          and decision is not null`,
  )
}

export interface RowOutcome {
  readonly position: number
  readonly outcome: 'created' | 'changed' | 'unchanged' | 'kept' | 'refused'
  readonly video_id: number | null
  readonly revision?: number | null | undefined
  readonly facts_revision?: number | null | undefined
  readonly before: StateBefore | null
  readonly notes: PlannedRow['notes']
}

/** Saves what became of the rows of a batch. */
export function saveOutcomes(tx: Db, importId: number, outcomes: readonly RowOutcome[]) {
  return execute(
    tx,
    sql`update import_row
        set outcome = result.outcome,
            video_id = result.video_id,
            revision = result.revision,
            facts_revision = result.facts_revision,
            before = result.before,
            notes = result.notes,
            undone = null
        from json_to_recordset(${JSON.stringify(outcomes)}::json) as result (
               position integer, outcome text, video_id bigint, revision integer,
               facts_revision integer, before jsonb, notes jsonb
             )
        where import_id = ${importId} and import_row.position = result.position`,
  )
}

export interface ConflictRow {
  readonly position: number
  /** What the operations of a bulk edit would change now. */
  readonly changes: PlannedRow['changes']
}

/** Saves that the records of these rows were changed since the plan, so that they are listed. */
export function saveConflicts(tx: Db, importId: number, rows: readonly ConflictRow[]) {
  return execute(
    tx,
    sql`update import_row
        set verdict = 'conflict', changes = result.changes
        from json_to_recordset(${JSON.stringify(rows)}::json)
             as result (position integer, changes jsonb)
        where import_id = ${importId} and import_row.position = result.position`,
  )
}

export interface UndoneRow {
  readonly position: number
  readonly undone: 'undone' | 'touched'
  /** The revision of the record after the undo. A redo leaves fields alone that changed since. */
  readonly revision?: number
  /** Why it could not be undone. */
  readonly reason?: string
}

/** Saves the undo result of rows, and the reason as a note if there is one. */
export function saveUndone(tx: Db, importId: number, rows: readonly UndoneRow[]) {
  return execute(
    tx,
    sql`update import_row
        set undone = result.undone,
            revision = coalesce(result.revision, import_row.revision),
            notes = case
              when result.reason is null then notes
              else notes ||
                jsonb_build_object('kind', 'refused', 'field', '', 'detail', result.reason)
            end
        from json_to_recordset(${JSON.stringify(rows)}::json)
             as result (position integer, undone text, revision integer, reason text)
        where import_id = ${importId} and import_row.position = result.position`,
  )
}

/** Records that nothing is left to undo of a row that did not change its record. */
export function clearStateBefore(tx: Db, importId: number, position: number) {
  return execute(
    tx,
    sql`update import_row
        set before = null
        where import_id = ${importId} and position = ${position}::integer`,
  )
}

const WrittenVersion = Type.Object({
  position: Type.Integer(),
  /** The fields that the version changed: all of a new record. */
  written: Type.Array(Type.String()),
  is_overwritten: Type.Boolean(),
})
export type WrittenVersion = Static<typeof WrittenVersion>

/**
 * Finds which fields versions of records or facts have written, and whether one of them was
 * overwritten since: by a person, or by imports and bulk edits and it has another value now. A version that made
 * the record live or a draft stands for the whole record: any field counts. Leaves out versions
 * that are not in the history.
 */
export function findWrittenVersions(
  db: Db,
  subject: 'video' | 'facts',
  versions: readonly {
    readonly position: number
    readonly id: number
    readonly revision: number
  }[],
) {
  return many(
    db,
    WrittenVersion,
    sql`select requested.position,
               array(select jsonb_object_keys(version.after)) as written,
               exists (
                 select
                 from (
                   select field,
                          -- Bulk edits have the way in which a person made them.
                          via = 'import' or request_id like 'import %' as is_batch,
                          first_value(later.before->field) over (
                            partition by field order by later.revision
                          ) as value_then,
                          first_value(later.after->field) over (
                            partition by field order by later.revision desc
                          ) as value_now
                   from change as later, jsonb_object_keys(later.after) as field
                   where later.subject = ${subject}
                     and later.subject_id = requested.id
                     and later.revision > requested.revision
                 ) as later_write
                 where (version.after ? 'state' or version.after ? field)
                   and (not is_batch or value_then <> value_now)
               ) as is_overwritten
        from json_to_recordset(${JSON.stringify(versions)}::json)
             as requested (position integer, id bigint, revision integer)
        join change as version
          on version.subject = ${subject}
             and version.subject_id = requested.id
             and version.revision = requested.revision`,
  )
}

/** Removes the texts of a record from the rows of all imports. */
export function redactRows(tx: Db, videoId: number) {
  return execute(tx, sql`select redact_import_rows(${videoId})`)
}

const SourceRecord = Type.Object({
  key: Type.String(),
  video_id: Type.Integer(),
  state: Type.Unsafe<SourceState>({}),
  /** Whether the record was merged, and the source has the talk under another key as well. */
  is_duplicate: Type.Boolean(),
  is_merged: Type.Boolean(),
})
export type SourceRecord = Static<typeof SourceRecord>

/**
 * Finds the last state of these keys at their source. The record of a key is the one into which it
 * was merged. Of several keys of one talk, that of the kept record describes it, or the first one.
 */
export function findSourceStates(db: Db, source: string, keys: readonly string[]) {
  return many(
    db,
    SourceRecord,
    sql`select stored.key, coalesce(target.id, video_id) as video_id, stored.state,
               coalesce(target.key <> stored.key, false) as is_duplicate,
               merged_into is not null as is_merged
        from source_record as stored
        join video on video.id = video_id
        left join lateral (
          select kept.id,
                 (select other.key
                  from source_record as other
                  where other.source = ${source}
                    and other.video_id = any (kept.id || array(select merged_videos(kept.id)))
                  order by other.video_id = kept.id desc, other.video_id, other.key
                  limit 1) as key
          from (select merge_target(video.id) as id offset 0) as kept
          -- Here and not in the join: computed for merged records only.
          where merged_into is not null
        ) as target on true
        where stored.source = ${source} and stored.key = any (${keys}::text[])`,
  )
}

const KnownSource = Type.Object({ source: Type.String() })

/** Finds those of the sources that have records. */
export function findKnownSources(db: Db, sources: readonly string[]) {
  return many(
    db,
    KnownSource,
    sql`select source
        from unnest(${sources}::text[]) as given (source)
        where exists (select from source_record where source_record.source = given.source)`,
  )
}

const Key = Type.Object({ key: Type.String() })

/** Finds the keys of a source whose records were taken down. */
export function findTakenDownKeys(db: Db, source: string, keys: readonly string[]) {
  return many(
    db,
    Key,
    sql`select key
        from source_record
        join video on video.id = video_id
        where source = ${source} and key = any (${keys}::text[]) and taken_down is not null`,
  )
}

const KeyOfRecord = Type.Object({ video_id: Type.Integer(), key: Type.String() })

/** Finds the keys that a source has for these records. */
export function findKeysOfRecords(db: Db, source: string, ids: readonly number[]) {
  return many(
    db,
    KeyOfRecord,
    sql`select video_id, key
        from source_record
        where source = ${source} and video_id = any (${ids}::bigint[])`,
  )
}

/**
 * Saves the last state of these keys at their source, each replacing the one before. The key of a
 * merged record stays with that record, so that undoing the merge separates both again.
 */
export function saveSourceStates(
  tx: Db,
  source: string,
  rows: readonly { key: string; video_id: number; state: SourceState }[],
) {
  return execute(
    tx,
    sql`insert into source_record (source, key, video_id, state)
        select ${source}, key, video_id, state
        from json_to_recordset(${JSON.stringify(rows)}::json)
             as incoming (key text, video_id bigint, state jsonb)
        on conflict (source, key)
          do update set
            video_id = case
              when source_record.video_id <> excluded.video_id
                and merge_target(source_record.video_id) = excluded.video_id
              then source_record.video_id
              else excluded.video_id
            end,
            state = excluded.state`,
  )
}

/** Deletes the states of these keys: the source is treated as new to them. */
export function deleteSourceStates(tx: Db, source: string, keys: readonly string[]) {
  return execute(
    tx,
    sql`delete from source_record where source = ${source} and key = any (${keys}::text[])`,
  )
}

const EstimatedSize = Type.Object({ records: Type.Number() })

/**
 * Refreshes the statistics of the planner if this import alone has written more records than they
 * count. Autovacuum looks only once a minute: by then an import has filled an empty archive, with
 * plans made for empty tables, which scan every one of them.
 */
export async function analyzeGrownTables(db: Db, written: number): Promise<void> {
  const { records } = await one(
    db,
    EstimatedSize,
    sql`select reltuples::float8 as records from pg_class where oid = 'video'::regclass`,
  )
  if (written > records)
    await execute(
      db,
      sql`analyze (skip_locked)
            video, source_record, import_row, speaker, tag, category, entity_name, entity_slug`,
    )
}

const SourceIdentity = Type.Object({ index: Type.Integer(), key: Type.String() })

/** Computes the identity of each URL, with its index, for talks whose source has no key. */
export function findSourceIdentities(db: Db, urls: readonly string[]) {
  return many(
    db,
    SourceIdentity,
    sql`select (ordinal - 1)::integer as index, source_identity(url) as key
        from unnest(${urls}::text[]) with ordinality as incoming (url, ordinal)`,
  )
}

const Duplicate = Type.Object({ key: Type.String(), place: Type.String() })

/** Finds those of the keys that earlier rows of the same import have, with their places. */
export function findEarlierKeys(db: Db, importId: number, keys: readonly string[]) {
  return many(
    db,
    Duplicate,
    sql`select key, place
        from import_row
        where import_id = ${importId} and key = any (${keys}::text[])`,
  )
}

const ById = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  title: Type.String(),
  taken_down: MaybeText,
  /** The record into which it was merged, at the end of a chain. */
  merge_target: Type.Union([Type.Integer(), Type.Null()]),
})
export type ById = Static<typeof ById>

/** Finds what identifies the records with these ids. */
export function findById(db: Db, ids: readonly number[]) {
  return many(
    db,
    ById,
    sql`select id, slug, title, taken_down::text,
               case when merged_into is not null then merge_target(id) end as merge_target
        from video
        where id = any (${ids}::bigint[])`,
  )
}

/** Returns whether one of these records is in one of these events. */
export async function hasRecordsOfEvents(
  db: Db,
  ids: readonly number[],
  events: readonly number[],
): Promise<boolean> {
  const { any } = await one(
    db,
    Exists,
    sql`select exists (
          select
          from video
          where id = any (${ids}::bigint[]) and category_id = any (${events}::bigint[])
        ) as any`,
  )
  return any
}

const ExportedVersion = Type.Object({
  id: Type.Integer(),
  fields: Type.Record(Type.String(), Type.Unknown()),
})

/**
 * Finds the fields that records had when they were updated at the given times. Leaves out records
 * that were not updated at that time.
 */
export function findVersionsAt(
  db: Db,
  versions: readonly { readonly id: number; readonly updated: string }[],
) {
  return many(
    db,
    ExportedVersion,
    sql`select requested.id,
               (select jsonb_object_agg(key, value)
                from (select distinct on (key) key, value
                      from change, jsonb_each(after)
                      where subject = 'video' and subject_id = requested.id and at <= requested.at
                      order by key, revision desc) as newest) as fields
        from (
          select distinct id, (updated || 'Z')::timestamptz(3) as at
          from json_to_recordset(${JSON.stringify(versions)}::json) as given (id bigint, updated text)
        ) as requested
        where exists (
          select
          from change
          where subject = 'video' and subject_id = requested.id and at = requested.at
        )`,
  )
}

const ImportedFields = Type.Object({ id: Type.Integer(), fields: Type.Array(Type.String()) })

/**
 * Finds the fields of records whose current value only imports have written. A value that a person
 * once set, and that an undo restored, is not one of them.
 */
export function findImportedFields(db: Db, ids: readonly number[]) {
  return many(
    db,
    ImportedFields,
    sql`with written as (
          select subject_id, field, value, via,
                 first_value(value) over (
                   partition by subject_id, field order by revision desc
                 ) as current_value
          from change, jsonb_each(after) as written (field, value)
          where subject = 'video' and subject_id = any (${ids}::bigint[])
        ), current_values as (
          select subject_id, field
          from written
          where value = current_value
          group by subject_id, field
          having bool_and(via = 'import')
        )
        select subject_id as id, array_agg(field) as fields
        from current_values
        group by subject_id`,
  )
}

const BySource = Type.Object({
  index: Type.Integer(),
  id: Type.Integer(),
  taken_down: MaybeText,
  keys: Type.Array(Type.String()),
})
export type BySource = Static<typeof BySource>

/**
 * Finds the records of the same video on its host, by the index of the URL. A merged record is
 * replaced by the one into which it was merged. `keys` are those that this source has for the
 * record: with another key, it is another talk.
 */
export function findBySource(db: Db, source: string, urls: readonly string[]) {
  return many(
    db,
    BySource,
    // Materialized, because computing an identity costs more than looking it up. Each half of the
    // union has its own partial index.
    sql`with identified as materialized (
          select ordinal, source_identity(url) as identity
          from unnest(${urls}::text[]) with ordinality as incoming (url, ordinal)
        ), incoming as materialized (
          select ordinal, identity, source_fingerprint(identity) as fingerprint
          from identified
        )
        select (ordinal - 1)::integer as index,
               current.id,
               taken_down::text,
               array(
                 select key
                 from source_record
                 where source_record.video_id = current.id and source_record.source = ${source}
               ) as keys
        from incoming
        join video on same_source = fingerprint and taken_down is null
        cross join lateral (
          select case when merged_into is null then video.id else merge_target(video.id) end as id
        ) as current
        where source_identity(source_url) = identity
        union all
        select (ordinal - 1)::integer as index,
               video.id,
               taken_down::text,
               array(
                 select key
                 from source_record
                 where source_record.video_id = video.id and source_record.source = ${source}
               ) as keys
        from incoming
        join video on same_source = fingerprint and taken_down is not null
        where source_identity(source_url) = identity
        order by index, id`,
  )
}

const ByTitle = Type.Object({
  index: Type.Integer(),
  id: Type.Integer(),
  category_id: Type.Integer(),
  speaker_ids: Type.Array(Type.Integer()),
  speakers: Type.Array(Type.String()),
  keys: Type.Array(Type.String()),
  is_in_file: Type.Boolean(),
})
export type ByTitle = Static<typeof ByTitle>

/** Finds the live records with the same title, by the index of the title. */
export function findByTitle(
  db: Db,
  { id, source }: { readonly id: number | undefined; readonly source: string },
  titles: readonly string[],
) {
  return many(
    db,
    ByTitle,
    sql`select (ordinal - 1)::integer as index,
               video.id,
               category_id,
               speaker_ids,
               array(
                 select name
                 from unnest(speaker_ids) with ordinality as given (id, place)
                 join speaker using (id)
                 order by place
               ) as speakers,
               array(
                 select key
                 from source_record
                 where source_record.video_id = video.id and source_record.source = ${source}
               ) as keys,
               exists (
                 select
                 from source_record
                 join import_row using (key)
                 where source_record.video_id = video.id
                   and source_record.source = ${source}
                   and import_row.import_id = ${id}::bigint
               ) as is_in_file
        from unnest(${titles}::text[]) with ordinality as incoming (title, ordinal)
        join live_video as video
          on fold(video.title) collate "C" = fold(incoming.title) collate "C"
        order by index, video.id`,
  )
}

const LostTalk = Type.Object({
  id: Type.Integer(),
  category_id: Type.Integer(),
  event: Type.String(),
  title: Type.String(),
  duration: Type.Integer(),
  speakers: Type.Array(Type.String()),
  /** The source of its video. */
  source_id: Type.Integer(),
  keys: Type.Array(Type.String()),
  is_in_file: Type.Boolean(),
})
export type LostTalk = Static<typeof LostTalk>

/** The video is not there any more, or its host does not answer. */
const lostStates: readonly string[] = [...missingStates, 'moved']

/**
 * Finds live records of these categories that have videos, all of them lost. `keys` are those that
 * this source has for the record.
 */
export function findLostTalks(
  db: Db,
  { id, source }: { readonly id: number | undefined; readonly source: string },
  categories: readonly number[],
  limit: number,
) {
  const hasSource = (condition: Sql) => sql`
    exists (select
            from video_source
            join source on source.id = source_id
            where video_id = video.id and ${condition})`
  const isLost = sql`source.state = any (${[...lostStates]}::text[])`
  return many(
    db,
    LostTalk,
    sql`select video.id, category_id, category.title as event, video.title, duration,
               array(
                 select name
                 from unnest(speaker_ids) with ordinality as given (id, place)
                 join speaker using (id)
                 order by place
               ) as speakers,
               (select source_id
                from video_source
                join source on source.id = source_id
                where video_id = video.id
                order by key = source_key(source_url) desc nulls last, source_id
                limit 1) as source_id,
               array(
                 select key
                 from source_record
                 where source_record.video_id = video.id and source_record.source = ${source}
               ) as keys,
               exists (
                 select
                 from source_record
                 join import_row using (key)
                 where source_record.video_id = video.id
                   and source_record.source = ${source}
                   and import_row.import_id = ${id}::bigint
               ) as is_in_file
        from live_video as video
        join category on category.id = category_id
        where category_id = any (${categories}::bigint[])
          and duration is not null
          and ${hasSource(isLost)}
          and not ${hasSource(sql`not ${isLost}`)}
        order by video.id
        limit ${limit}::integer`,
  )
}

const SimilarSpeaker = Type.Object({
  name: Type.String(),
  spelling: Type.String(),
  existing: MaybeText,
})

/**
 * Normalises the spelling of new names as the quality rules do, and finds an existing speaker with
 * the same spelling. In the order of the names; leaves out names without letters.
 */
export function findSimilarSpeakers(db: Db, names: readonly string[]) {
  return many(
    db,
    SimilarSpeaker,
    sql`select incoming.name,
               incoming.spelling,
               (select speaker.name
                from speaker
                where speaker.spelling = incoming.spelling and merged_into is null
                order by id
                limit 1) as existing
        from (
          select name, ordinal, speaker_spelling(name) as spelling
          from unnest(${names}::text[]) with ordinality as given (name, ordinal)
        ) as incoming
        where incoming.spelling is not null
        order by ordinal`,
  )
}

const WrittenEvent = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  title: Type.String(),
})

/** Finds the events of the records that an import wrote. */
export function findWrittenEvents(db: Db, importId: number, limit: number) {
  return many(
    db,
    WrittenEvent,
    sql`select id, slug, title
        from category
        where id in (
          select category_id
          from import_row
          join live_video on live_video.id = import_row.video_id
          where import_id = ${importId} and outcome in ('created', 'changed')
        )
        order by id
        limit ${limit}::integer`,
  )
}

const FollowedImport = Type.Object({
  id: Type.Integer(),
  state: Type.Unsafe<ImportJob['state']>({}),
  isClosed: Type.Boolean(),
  hasDecisions: Type.Boolean(),
})

/** Finds the imports of a followed source that were neither applied or undone, nor have failed. */
export function findFollowedImports(db: Db, followedSourceId: number) {
  return many(
    db,
    FollowedImport,
    sql`select id, state, counts is not null as "isClosed",
               exists (select
                       from import_row
                       where import_id = import.id and decision is not null) as "hasDecisions"
        from import
        where followed_source_id = ${followedSourceId}
          and state not in ('applied', 'undone', 'failed')
        order by id`,
  )
}

const Leftover = Type.Object({ id: Type.Integer(), isReplaced: Type.Boolean() })

/**
 * Finds what can be deleted of a followed source: failed imports, the rows of plans that were
 * replaced, and replaced plans except for the newest ones.
 */
export function findFollowedLeftovers(db: Db, followedSourceId: number, keptReplaced: number) {
  return many(
    db,
    Leftover,
    sql`select id, replaced and number <= ${keptReplaced}::integer as "isReplaced"
        from (
          select id, replaced, row_number() over (partition by replaced order by id desc) as number
          from import
          where followed_source_id = ${followedSourceId} and state = 'failed'
        ) as failed
        where not replaced
           or number > ${keptReplaced}::integer
           or exists (select from import_row where import_id = failed.id)
           or exists (select from import_entity where import_id = failed.id)
        order by id`,
  )
}

const LockedPlan = Type.Object({ id: Type.Integer() })

/**
 * Locks an import that is being read or was planned, until the end of the transaction: no decision
 * can be made in it. Waits for decisions that are being made. Returns whether it was locked.
 */
export async function lockPlan(tx: Db, id: number): Promise<boolean> {
  const row = await maybe(
    tx,
    LockedPlan,
    sql`select id
        from import
        where id = ${id} and state in ('reading', 'planned')
        for update`,
  )
  return row !== undefined
}

/** Tells whether a person has decided something in a plan that can still be applied. */
export async function hasDecisions(tx: Db, id: number): Promise<boolean> {
  const { any } = await one(
    tx,
    Exists,
    sql`select exists (
          select
          from import
          join import_row on import_id = import.id
          where import.id = ${id} and counts is null and decision is not null
        ) as any`,
  )
  return any
}

/** Marks an import that was locked by `lockPlan` as failed, and as replaced if it is to be kept. */
export function failPlan(tx: Db, id: number, problem: string, isReplaced: boolean) {
  return execute(
    tx,
    sql`update import
        set state = 'failed', problem = ${problem}, replaced = ${isReplaced}, touched = now()
        where id = ${id}`,
  )
}

/** Tells whether an import has unchanged talks about which its source says something new. */
export async function hasNewSourceStates(db: Db, id: number): Promise<boolean> {
  const { any } = await one(
    db,
    Exists,
    sql`select exists (
          select
          from import_row
          where import_id = ${id} and verdict = 'unchanged' and item is not null
        ) as any`,
  )
  return any
}

/** Lists imports that were planned and can still be applied, the oldest first. */
export function selectWaitingImports(db: Db, limit: number) {
  return many(
    db,
    ImportJob,
    sql`select ${columns}
        from import
        where state = 'planned' and counts is null
        order by id
        limit ${limit}::integer`,
  )
}

/** Deletes an import whose rows and entities were deleted. */
export function deleteImport(db: Db, id: number) {
  return execute(db, sql`delete from import where id = ${id} and state = 'failed'`)
}

const ClosedImport = Type.Object({ id: Type.Integer() })

/**
 * Closes imports that did not change for this many days: stores the counts of their rows, and
 * removes the names that they created and the operations of bulk edits: names may have been hidden
 * since. A closed import can no longer be applied or undone. Returns how many were closed.
 */
export function closeOldImports(db: Db, days: number, limit: number) {
  return execute(
    db,
    sql`update import
        set counts = coalesce(
          (select jsonb_agg(counted)
           from (select verdict, outcome, undone, count(*)::integer as count
                 from import_row
                 where import_id = import.id
                 group by verdict, outcome, undone) as counted),
          '[]'
        ),
        summary = summary
          #- '{creates,categories,names}' #- '{creates,speakers,names}' #- '{creates,tags,names}',
        options = options - 'operations'
        where id in (
          select id
          from import
          where counts is null
            and touched < now() - make_interval(days => ${days}::integer)
            and state not in ('reading', 'applying', 'undoing')
          order by id
          limit ${limit}::integer
          for no key update skip locked
        )`,
  )
}

/** Finds a closed import that still has rows. */
export function findClosedImport(db: Db) {
  return maybe(
    db,
    ClosedImport,
    sql`select id
        from import
        where counts is not null
          and (exists (select from import_row where import_id = import.id)
               or exists (select from import_entity where import_id = import.id))
        order by id
        limit 1`,
  )
}

/** Deletes at most `limit` rows and as many entities of an import. Returns how many. */
export async function deleteRows(db: Db, id: number, limit: number): Promise<number> {
  const rows = await execute(
    db,
    sql`delete from import_row
        where import_id = ${id}
          and position in (
            select position
            from import_row
            where import_id = ${id}
            order by position
            limit ${limit}::integer
            for update skip locked
          )`,
  )
  const entities = await execute(
    db,
    sql`delete from import_entity
        where import_id = ${id}
          and position in (
            select position
            from import_entity
            where import_id = ${id}
            order by position
            limit ${limit}::integer
            for update skip locked
          )`,
  )
  return rows + entities
}
