import type { importStates, importVerdicts } from '@talkshelf/contract'
import sql, { empty, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one, writeReturning } from '../../platform/db/db.ts'
import type { ImportItem, ImportNote } from '../item.ts'
import type { FieldChange, SourceState } from './merge.ts'

export type Verdict = (typeof importVerdicts)[number]

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

/** How talks of this import are made. */
export interface ImportOptions {
  readonly category?: string | undefined
  readonly language?: string | undefined
  /** Of new records that the file gives none. */
  readonly state: 1 | 2
}

const Counted = Type.Object({
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
  counts: Type.Union([Type.Array(Counted), Type.Null()]),
  apply_role: Type.Unsafe<'editor' | 'admin'>({}),
  batch_size: Type.Integer(),
  failures: Type.Integer(),
  actor: Type.String(),
  token_id: MaybeInteger,
  via: Type.Unsafe<'api' | 'import' | 'page' | 'command'>({}),
  request_id: Type.String(),
  created: Type.String(),
})
export type ImportJob = Static<typeof ImportJob>

const moment = (column: Sql) =>
  sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`
const columns = sql`id, state, name, format, source, options, rows, done, problem, counts, apply_role, batch_size, failures, actor, token_id, via,
                    request_id, ${moment(sql`created`)} as created`

export async function insertImport(
  db: Db,
  it: Pick<
    ImportJob,
    'name' | 'format' | 'source' | 'options' | 'actor' | 'token_id' | 'via' | 'request_id'
  >,
): Promise<ImportJob> {
  const [row] = await writeReturning(
    db,
    ImportJob,
    sql`insert into import (state, name, format, source, options, actor, token_id, via, request_id)
        values ('reading', ${it.name}, ${it.format}, ${it.source}, ${JSON.stringify(it.options)}::jsonb, ${it.actor}, ${it.token_id}::bigint, ${it.via}, ${it.request_id})
        returning ${columns}`,
  )
  return row as ImportJob
}

export function setFormat(db: Db, id: number, format: string, source: string) {
  return execute(
    db,
    sql`update import set format = ${format}, source = ${source}, touched = now() where id = ${id}`,
  )
}

export function findImport(db: Db, id: number) {
  return maybe(db, ImportJob, sql`select ${columns} from import where id = ${id}`)
}

/** The newest first, from before this one on. */
export function selectImports(db: Db, before: number, limit: number) {
  return many(
    db,
    ImportJob,
    sql`select ${columns} from import where id < ${before} order by id desc limit ${limit}::integer`,
  )
}

/** Moves an import on, if it is in one of these states. Tells whether it was. */
export async function changeImportState(
  db: Db,
  id: number,
  from: readonly ImportJob['state'][],
  to: ImportJob['state'],
  more: {
    rows?: number
    done?: number
    problem?: string
    applyRole?: ImportJob['apply_role']
  } = {},
): Promise<boolean> {
  const count = await execute(
    db,
    sql`update import set state = ${to}, rows = coalesce(${more.rows ?? null}::integer, rows), done = coalesce(${more.done ?? null}::integer, done),
               problem = ${more.problem ?? null}, apply_role = coalesce(${more.applyRole ?? null}::text, apply_role),
               failures = 0, retry_at = now(), touched = now()
        where id = ${id} and state = any (${from}::text[]) and counts is null`,
  )
  return count === 1
}

/** Saves how far the import is. After a batch that worked, the next one may be larger again. */
export function advanceImport(tx: Db, id: number, done: number, maxBatchSize: number) {
  return execute(
    tx,
    sql`update import set done = ${done}, batch_size = least(batch_size * 2, ${maxBatchSize}::integer), failures = 0, problem = null, touched = now()
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
 * Saves when and with how many rows the batch is tried again. Does nothing if another process has
 * moved the import on.
 */
export function postponeImport(db: Db, { id, state, done }: ImportJob, next: Postponement) {
  return execute(
    db,
    sql`update import set batch_size = ${next.batchSize}::integer, failures = ${next.failures}::integer,
               retry_at = now() + make_interval(secs => ${next.delayMs / 1000}::float8), problem = ${next.problem}, touched = now()
        where id = ${id} and state = ${state} and done = ${done}`,
  )
}

const Any = Type.Object({ any: Type.Boolean() })

// Whoever reads a file says so with every batch.
const isForgotten = sql`state = 'reading' and touched < now() - interval '10 minutes'`

const isDue = sql`(state in ('applying', 'undoing') and retry_at <= now())`

export async function hasRunnableImports(db: Db): Promise<boolean> {
  return (
    await one(
      db,
      Any,
      sql`select exists (select from import where ${isDue} or ${isForgotten}) as any`,
    )
  ).any
}

/**
 * Claims an import that is to be applied or undone, for this transaction alone: the one that has
 * waited longest.
 */
export function claimImport(tx: Db) {
  return maybe(
    tx,
    ImportJob,
    sql`select ${columns} from import where ${isDue} order by touched, id limit 1 for no key update skip locked`,
  )
}

/** Claims this import, if it is still where the caller saw it. */
export function claimImportAt(tx: Db, { id, state, done }: ImportJob) {
  return maybe(
    tx,
    ImportJob,
    sql`select ${columns} from import where id = ${id} and state = ${state} and done = ${done} for no key update skip locked`,
  )
}

const Locked = Type.Object({ locked: Type.Boolean() })

/**
 * Two imports of one source are never applied at the same time. Returns false if another process is
 * applying one.
 */
export async function lockSource(tx: Db, source: string): Promise<boolean> {
  return (
    await one(
      tx,
      Locked,
      sql`select pg_try_advisory_xact_lock(hashtextextended(${source}, 7)) as locked`,
    )
  ).locked
}

/** Whoever read it was killed. */
export function failAbandonedImports(db: Db) {
  return execute(
    db,
    sql`update import set state = 'failed', problem = 'Reading it did not come to its end: import it once more'
        where ${isForgotten}`,
  )
}

/** A speaker, tag or category that the file describes. */
export interface PlannedEntity {
  readonly position: number
  readonly place: string
  readonly entity: object
  readonly bytes: number
}

export function insertImportEntities(db: Db, importId: number, entities: readonly PlannedEntity[]) {
  return execute(
    db,
    sql`insert into import_entity (import_id, position, place, entity, bytes)
        select ${importId}::bigint, position, place, entity, bytes
        from json_to_recordset(${JSON.stringify(entities)}::json) as it (position integer, place text, entity jsonb, bytes integer)`,
  )
}

const EntityRow = Type.Object({
  position: Type.Integer(),
  place: Type.String(),
  entity: Type.Unsafe<object>({}),
})

export function findImportEntities(db: Db, importId: number, after: number, upTo: number) {
  return many(
    db,
    EntityRow,
    sql`select position, place, entity from import_entity
        where import_id = ${importId} and position > ${after}::integer and position <= ${upTo}::integer
        order by position`,
  )
}

const BatchEnd = Type.Object({ end: Type.Integer() })

/**
 * The last position of the next batch: so many rows and bytes at most, and one row at least. If
 * nothing is left, the last of the import.
 */
export function findBatchEnd(
  db: Db,
  { id, done, rows }: ImportJob,
  maxRows: number,
  maxBytes: number,
) {
  const next = (table: Sql) =>
    sql`(select position, bytes from ${table} where import_id = ${id} and position > ${done}::integer
         order by position limit ${maxRows}::integer)`
  return one(
    db,
    BatchEnd,
    sql`select coalesce(max(position), ${rows}::integer) as "end"
        from (select position, row_number() over sorted_ids as number, sum(bytes) over sorted_ids as total
              from (${next(sql`import_row`)} union all ${next(sql`import_entity`)}) as waiting
              window sorted_ids as (order by position)) as weighed
        where number <= ${maxRows}::integer and (total <= ${maxBytes}::integer or number = 1)`,
  )
}

/** What is kept of a talk that was refused: enough to recognise it. */
export interface RefusedItem {
  readonly fields: { readonly title?: string }
}

export interface PlannedRow {
  readonly position: number
  readonly place: string
  readonly key: string | null
  readonly draft: ImportItem | RefusedItem | null
  readonly bytes: number
  readonly verdict: Verdict
  readonly video_id: number | null
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly notes: readonly (
    | ImportNote
    | { kind: 'refused' | 'question'; field: string; detail: string }
  )[]
}

export function touchImport(db: Db, id: number) {
  return execute(db, sql`update import set touched = now() where id = ${id}`)
}

export function insertRows(db: Db, importId: number, rows: readonly PlannedRow[]) {
  return execute(
    db,
    sql`insert into import_row (import_id, position, place, key, draft, bytes, verdict, video_id, changes, notes)
        select ${importId}::bigint, position, place, key, draft, bytes, verdict, video_id, changes, notes
        from json_to_recordset(${JSON.stringify(rows)}::json)
             as it (position integer, place text, key text, draft jsonb, bytes integer, verdict text, video_id bigint, changes jsonb, notes jsonb)`,
  )
}

const Highest = Type.Object({ highest: MaybeInteger })

/** The highest number that a talk of the import brings, of those that count. Null if none does. */
export function findHighestId(db: Db, importId: number, limit: number) {
  return one(
    db,
    Highest,
    sql`select max(id) filter (where id <= ${limit}) as highest
        from (select case when draft->>'id' ~ '^[0-9]{1,16}$' then (draft->>'id')::bigint end as id
              from import_row where import_id = ${importId} and verdict = 'new') as brought`,
  )
}

export interface Decision {
  /** Fields of which the source is right. */
  readonly take?: readonly string[]
  /** Whether it is the record that it looks like. */
  readonly same?: boolean
}

const ImportRow = Type.Object({
  position: Type.Integer(),
  place: Type.String(),
  key: MaybeText,
  draft: Type.Unsafe<ImportItem | null>({}),
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

/** How it was before an import wrote it. */
export interface StateBefore {
  readonly said?: SourceState | null | undefined
  /** What the source said this time, where that is all that was written. */
  readonly says?: SourceState | undefined
  readonly revision?: number | null | undefined
  readonly facts?: readonly unknown[] | null | undefined
}

const rowColumns = sql`position, place, key, draft, verdict, video_id, changes, notes, decision, outcome, revision, facts_revision, before, undone`

/**
 * The rows of a batch, locked: a decision about one of them is either seen here or refused because
 * the row was applied.
 */
export function lockRows(tx: Db, importId: number, after: number, upTo: number) {
  return many(
    tx,
    ImportRow,
    sql`select ${rowColumns} from import_row
        where import_id = ${importId} and position > ${after}::integer and position <= ${upTo}::integer
        order by position for no key update`,
  )
}

/** Those of one verdict, or of one way in which undoing them ended. */
export function listRows(
  db: Db,
  importId: number,
  {
    verdict,
    undone,
    after,
    limit,
  }: { verdict?: string | undefined; undone?: string | undefined; after: number; limit: number },
) {
  const only = verdict === undefined ? empty : sql`and verdict = ${verdict}`
  const ended = undone === undefined ? empty : sql`and undone = ${undone}`
  return many(
    db,
    ImportRow,
    sql`select ${rowColumns} from import_row where import_id = ${importId} ${only} ${ended} and position > ${after}::integer
        order by position limit ${limit}::integer`,
  )
}

/** The last ones of which something was written, up to here, the last first. */
export function findRowsToUndo(db: Db, importId: number, upTo: number, limit: number) {
  return many(
    db,
    ImportRow,
    sql`select ${rowColumns} from import_row where import_id = ${importId} and position <= ${upTo}::integer and before is not null
        order by position desc limit ${limit}::integer`,
  )
}

export function countRows(db: Db, importId: number) {
  return many(
    db,
    Counted,
    sql`select verdict, outcome, undone, count(*)::integer as count from import_row where import_id = ${importId} group by verdict, outcome, undone`,
  )
}

export function decideRow(db: Db, importId: number, position: number, decision: Decision) {
  return execute(
    db,
    sql`update import_row set decision = ${JSON.stringify(decision)}::jsonb
        where import_id = ${importId} and position = ${position}::integer and outcome is null`,
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

export function saveOutcomes(tx: Db, importId: number, outcomes: readonly RowOutcome[]) {
  return execute(
    tx,
    sql`update import_row set outcome = it.outcome, video_id = it.video_id, revision = it.revision, facts_revision = it.facts_revision,
               before = it.before, notes = it.notes
        from json_to_recordset(${JSON.stringify(outcomes)}::json)
             as it (position integer, outcome text, video_id bigint, revision integer, facts_revision integer, before jsonb, notes jsonb)
        where import_id = ${importId} and import_row.position = it.position`,
  )
}

export interface UndoneRow {
  readonly position: number
  readonly undone: 'undone' | 'touched'
  /** Why it could not be undone. */
  readonly reason?: string
}

export function saveUndone(tx: Db, importId: number, rows: readonly UndoneRow[]) {
  return execute(
    tx,
    sql`update import_row
        set undone = it.undone,
            notes = case when it.reason is null then notes
                         else notes || jsonb_build_object('kind', 'refused', 'field', '', 'detail', it.reason) end
        from json_to_recordset(${JSON.stringify(rows)}::json) as it (position integer, undone text, reason text)
        where import_id = ${importId} and import_row.position = it.position`,
  )
}

/** Removes the texts of a record from the rows of all imports. */
export function redactRows(tx: Db, videoId: number) {
  return execute(tx, sql`select redact_import_rows(${videoId})`)
}

const Imported = Type.Object({
  key: Type.String(),
  video_id: Type.Integer(),
  said: Type.Unsafe<SourceState>({}),
})

/** What the source said of these keys before. */
export function findSourceStates(db: Db, source: string, keys: readonly string[]) {
  return many(
    db,
    Imported,
    sql`select key, video_id, said from source_record where source = ${source} and key = any (${keys}::text[])`,
  )
}

export function saveSourceStates(
  tx: Db,
  source: string,
  rows: readonly { key: string; video_id: number; said: SourceState }[],
) {
  return execute(
    tx,
    sql`insert into source_record (source, key, video_id, said)
        select ${source}, key, video_id, said from json_to_recordset(${JSON.stringify(rows)}::json) as it (key text, video_id bigint, said jsonb)
        on conflict (source, key) do update set video_id = excluded.video_id, said = excluded.said`,
  )
}

export function deleteSourceStates(tx: Db, source: string, keys: readonly string[]) {
  return execute(
    tx,
    sql`delete from source_record where source = ${source} and key = any (${keys}::text[])`,
  )
}

const Reckoned = Type.Object({ records: Type.Number() })

/**
 * PostgreSQL looks once a minute how large its tables are. An import has filled an empty archive by
 * then, and what was planned for empty tables reads all of each. So it is told to look again where
 * this import alone has written more than it believes to be there.
 */
export async function analyzeGrownTables(db: Db, written: number): Promise<void> {
  const { records } = await one(
    db,
    Reckoned,
    sql`select reltuples::float8 as records from pg_class where oid = 'video'::regclass`,
  )
  if (written > records)
    await execute(
      db,
      sql`analyze (skip_locked) video, source_record, import_row, speaker, tag, category, entity_name, entity_slug`,
    )
}

const KeyRow = Type.Object({ place: Type.Integer(), key: Type.String() })

/** The identity of an address, for talks of which the source has no key. */
export function findSourceIdentities(db: Db, addresses: readonly string[]) {
  return many(
    db,
    KeyRow,
    sql`select (place - 1)::integer as place, source_identity(address) as key
        from unnest(${addresses}::text[]) with ordinality as given (address, place)`,
  )
}

const Duplicate = Type.Object({ key: Type.String(), place: Type.String() })

/** Which of these keys an earlier row of the same import has, and where. */
export function findEarlierKeys(db: Db, importId: number, keys: readonly string[]) {
  return many(
    db,
    Duplicate,
    sql`select key, place from import_row where import_id = ${importId} and key = any (${keys}::text[])`,
  )
}

const ById = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  title: Type.String(),
  taken_down: MaybeText,
})

export function findById(db: Db, ids: readonly number[]) {
  return many(
    db,
    ById,
    sql`select id, slug, title, taken_down::text from video where id = any (${ids}::bigint[])`,
  )
}

const BySource = Type.Object({
  place: Type.Integer(),
  id: Type.Integer(),
  taken_down: MaybeText,
  keys: Type.Array(Type.String()),
})

// Under which keys a source has a record: it is not also another talk of that source.
const keysOf = (source: string) =>
  sql`array(select key from source_record where source_record.video_id = video.id and source_record.source = ${source})`

/** Records of the same video on a host, with the keys that this source has for them. */
export function findBySource(db: Db, source: string, addresses: readonly string[]) {
  // Each branch has an index of its own.
  const among = (condition: Sql) =>
    sql`select (place - 1)::integer as place, video.id, taken_down::text,
               ${keysOf(source)} as keys
        from given
        join video on same_source = number and ${condition}
        where source_identity(source_url) = identity`
  return many(
    db,
    BySource,
    // Materialized: what an address is takes longer to say than to find.
    sql`with known as materialized (
          select place, source_identity(address) as identity
          from unnest(${addresses}::text[]) with ordinality as given (address, place)
        ), given as materialized (
          select place, identity, source_fingerprint(identity) as number from known
        )
        ${among(sql`taken_down is null`)} union all ${among(sql`taken_down is not null`)} order by place, id`,
  )
}

const ByTitle = Type.Object({
  place: Type.Integer(),
  id: Type.Integer(),
  category_id: Type.Integer(),
  speaker_ids: Type.Array(Type.Integer()),
  keys: Type.Array(Type.String()),
})

export function findByTitle(db: Db, source: string, titles: readonly string[]) {
  return many(
    db,
    ByTitle,
    sql`select (place - 1)::integer as place, video.id, category_id, speaker_ids, ${keysOf(source)} as keys
        from unnest(${titles}::text[]) with ordinality as given (title, place)
        join video on fold(video.title) collate "C" = fold(given.title) collate "C" and state = 1 and taken_down is null
        order by place, video.id`,
  )
}

const OldImport = Type.Object({ id: Type.Integer() })

/**
 * Takes imports that did not move for this many days out of use: their rows are counted, for the
 * summary, and from then on they cannot be applied or undone. Returns how many there were.
 */
export function closeOldImports(db: Db, days: number, limit: number) {
  return execute(
    db,
    sql`update import set counts = coalesce(
          (select jsonb_agg(counted)
           from (select verdict, outcome, undone, count(*)::integer as count from import_row
                 where import_id = import.id group by verdict, outcome, undone) as counted), '[]')
        where id in (select id from import
                     where counts is null and touched < now() - make_interval(days => ${days}::integer)
                       and state not in ('reading', 'applying', 'undoing')
                     order by id limit ${limit}::integer for no key update skip locked)`,
  )
}

/** Returns a closed import that still has rows. */
export function findClosedImport(db: Db) {
  return maybe(
    db,
    OldImport,
    sql`select id from import
        where counts is not null
          and (exists (select from import_row where import_id = import.id)
               or exists (select from import_entity where import_id = import.id))
        order by id limit 1`,
  )
}

/** Removes some of the rows of an import; returns how many. */
export async function deleteRows(db: Db, id: number, limit: number): Promise<number> {
  const some = (table: Sql) =>
    sql`select position from ${table} where import_id = ${id}
        order by position limit ${limit}::integer for update skip locked`
  const rows = sql`delete from import_row where import_id = ${id} and position in (${some(sql`import_row`)})`
  const entities = sql`delete from import_entity where import_id = ${id} and position in (${some(sql`import_entity`)})`
  return (await execute(db, rows)) + (await execute(db, entities))
}
