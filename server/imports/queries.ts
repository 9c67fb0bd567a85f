import type { importStates, verdicts } from '@talkshelf/contract'
import sql, { empty, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'
import type { Draft, Note } from './draft.ts'
import type { FieldChange, Said } from './merge.ts'

export type Verdict = (typeof verdicts)[number]

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

/** How talks of this import are made. */
export interface Options {
  readonly category?: string | undefined
  readonly language?: string | undefined
  /** Of new records that the file gives none. */
  readonly state: 1 | 2
}

const ImportRow = Type.Object({
  id: Type.Integer(),
  state: Type.Unsafe<(typeof importStates)[number]>({}),
  name: Type.String(),
  format: Type.String(),
  source: Type.String(),
  options: Type.Unsafe<Options>({}),
  rows: Type.Integer(),
  done: Type.Integer(),
  problem: MaybeText,
  actor: Type.String(),
  token_id: MaybeInteger,
  via: Type.Unsafe<'api' | 'import' | 'page' | 'command'>({}),
  request_id: Type.String(),
  created: Type.String(),
})
export type ImportRow = Static<typeof ImportRow>

const moment = (column: Sql) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`
const columns = sql`id, state, name, format, source, options, rows, done, problem, actor, token_id, via, request_id, ${moment(sql`created`)} as created`

export function insertImport(
  db: Db,
  it: Pick<ImportRow, 'name' | 'format' | 'source' | 'options' | 'actor' | 'token_id' | 'via' | 'request_id'>,
): Promise<ImportRow> {
  return one(
    db,
    ImportRow,
    sql`insert into import (state, name, format, source, options, actor, token_id, via, request_id)
        values ('reading', ${it.name}, ${it.format}, ${it.source}, ${JSON.stringify(it.options)}::jsonb, ${it.actor}, ${it.token_id}::bigint, ${it.via}, ${it.request_id})
        returning ${columns}`,
  )
}

export function setFormat(db: Db, id: number, format: string, source: string) {
  return execute(db, sql`update import set format = ${format}, source = ${source}, touched = now() where id = ${id}`)
}

export function findImport(db: Db, id: number) {
  return maybe(db, ImportRow, sql`select ${columns} from import where id = ${id}`)
}

/** The newest first, from before this one on. */
export function listImports(db: Db, before: number, limit: number) {
  return many(db, ImportRow, sql`select ${columns} from import where id < ${before} order by id desc limit ${limit}::integer`)
}

/** Moves an import on, if it is in one of these states. Tells whether it was. */
export async function moveImport(
  db: Db,
  id: number,
  from: readonly ImportRow['state'][],
  to: ImportRow['state'],
  more: { rows?: number; done?: number; problem?: string } = {},
): Promise<boolean> {
  const count = await execute(
    db,
    sql`update import set state = ${to}, rows = coalesce(${more.rows ?? null}::integer, rows), done = coalesce(${more.done ?? null}::integer, done),
               problem = ${more.problem ?? null}, touched = now()
        where id = ${id} and state = any (${from}::text[])`,
  )
  return count === 1
}

export function advanceImport(tx: Db, id: number, done: number) {
  return execute(tx, sql`update import set done = ${done}, touched = now() where id = ${id}`)
}

const Any = Type.Object({ any: Type.Boolean() })

// Whoever reads a file says so with every batch.
const isForgotten = sql`state = 'reading' and touched < now() - interval '10 minutes'`

export async function isAnyWaiting(db: Db): Promise<boolean> {
  return (await one(db, Any, sql`select exists (select from import where state in ('applying', 'undoing') or ${isForgotten}) as any`)).any
}

/** One that is to be applied or undone, for this transaction alone. Any: one that always fails must not hold up the others. */
export function takeImport(tx: Db) {
  return maybe(
    tx,
    ImportRow,
    sql`select ${columns} from import where state in ('applying', 'undoing') order by random() limit 1 for no key update skip locked`,
  )
}

const Done = Type.Object({ done: Type.Null() })

/** Two imports of one source are never applied at the same time. */
export function lockSource(tx: Db, source: string) {
  return one(tx, Done, sql`select nullif(pg_advisory_xact_lock(hashtextextended(${source}, 7))::text, '') as done`)
}

/** Whoever read it was killed. */
export function failForgotten(db: Db) {
  return execute(
    db,
    sql`update import set state = 'failed', problem = 'Reading it did not come to its end: import it once more'
        where ${isForgotten}`,
  )
}

export function insertThings(db: Db, importId: number, things: readonly { position: number; thing: object }[]) {
  return execute(
    db,
    sql`insert into import_thing (import_id, position, thing)
        select ${importId}::bigint, position, thing from json_to_recordset(${JSON.stringify(things)}::json) as it (position integer, thing jsonb)`,
  )
}

const ThingRow = Type.Object({ thing: Type.Unsafe<object>({}) })

export function findThings(db: Db, importId: number, after: number, upTo: number) {
  return many(
    db,
    ThingRow,
    sql`select thing from import_thing where import_id = ${importId} and position > ${after}::integer and position <= ${upTo}::integer order by position`,
  )
}

export interface PlannedRow {
  readonly position: number
  readonly place: string
  readonly key: string | null
  readonly draft: Draft | null
  readonly verdict: Verdict
  readonly video_id: number | null
  readonly changes: Readonly<Record<string, FieldChange>>
  readonly notes: readonly (Note | { kind: 'refused' | 'question'; field: string; detail: string })[]
}

export function touchImport(db: Db, id: number) {
  return execute(db, sql`update import set touched = now() where id = ${id}`)
}

export function insertRows(db: Db, importId: number, rows: readonly PlannedRow[]) {
  return execute(
    db,
    sql`insert into import_row (import_id, position, place, key, draft, verdict, video_id, changes, notes)
        select ${importId}::bigint, position, place, key, draft, verdict, video_id, changes, notes
        from json_to_recordset(${JSON.stringify(rows)}::json)
             as it (position integer, place text, key text, draft jsonb, verdict text, video_id bigint, changes jsonb, notes jsonb)`,
  )
}

const Highest = Type.Object({ highest: Type.Integer() })

/** The highest number that a talk of the import brings, of those that count. */
export function highestNumber(db: Db, importId: number, most: number) {
  return one(
    db,
    Highest,
    sql`select coalesce(max(id) filter (where id <= ${most}), 0) as highest
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

const Row = Type.Object({
  position: Type.Integer(),
  place: Type.String(),
  key: MaybeText,
  draft: Type.Unsafe<Draft | null>({}),
  verdict: Type.Unsafe<Verdict>({}),
  video_id: MaybeInteger,
  changes: Type.Unsafe<PlannedRow['changes']>({}),
  notes: Type.Unsafe<PlannedRow['notes']>({}),
  decision: Type.Unsafe<Decision | null>({}),
  outcome: MaybeText,
  revision: MaybeInteger,
  facts_revision: MaybeInteger,
  before: Type.Unsafe<Before | null>({}),
  undone: MaybeText,
})
export type Row = Static<typeof Row>

/** How it was before an import wrote it. */
export interface Before {
  readonly said: Said | null
  /** What the source said this time, where that is all that was written. */
  readonly says?: Said | undefined
  readonly revision: number | null
  readonly facts: readonly unknown[] | null
}

const rowColumns = sql`position, place, key, draft, verdict, video_id, changes, notes, decision, outcome, revision, facts_revision, before, undone`

/** The next ones on the way. */
export function rowsAfter(db: Db, importId: number, after: number, limit: number) {
  return many(
    db,
    Row,
    sql`select ${rowColumns} from import_row where import_id = ${importId} and position > ${after}::integer order by position limit ${limit}::integer`,
  )
}

/** Those of one verdict, or of one way in which undoing them ended. */
export function listRows(
  db: Db,
  importId: number,
  { verdict, undone, after, limit }: { verdict?: string | undefined; undone?: string | undefined; after: number; limit: number },
) {
  const only = verdict === undefined ? empty : sql`and verdict = ${verdict}`
  const ended = undone === undefined ? empty : sql`and undone = ${undone}`
  return many(
    db,
    Row,
    sql`select ${rowColumns} from import_row where import_id = ${importId} ${only} ${ended} and position > ${after}::integer
        order by position limit ${limit}::integer`,
  )
}

/** The last ones of which something was written, up to here, the last first. */
export function rowsBefore(db: Db, importId: number, upTo: number, limit: number) {
  return many(
    db,
    Row,
    sql`select ${rowColumns} from import_row where import_id = ${importId} and position <= ${upTo}::integer and before is not null
        order by position desc limit ${limit}::integer`,
  )
}

const Counted = Type.Object({ verdict: Type.String(), outcome: MaybeText, undone: MaybeText, count: Type.Integer() })

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

export interface Outcome {
  readonly position: number
  readonly outcome: 'created' | 'changed' | 'unchanged' | 'kept' | 'refused'
  readonly video_id: number | null
  readonly revision: number | null
  readonly facts_revision: number | null
  readonly before: Before | null
  readonly notes: PlannedRow['notes']
}

export function saveOutcomes(tx: Db, importId: number, outcomes: readonly Outcome[]) {
  return execute(
    tx,
    sql`update import_row set outcome = it.outcome, video_id = it.video_id, revision = it.revision, facts_revision = it.facts_revision,
               before = it.before, notes = it.notes
        from json_to_recordset(${JSON.stringify(outcomes)}::json)
             as it (position integer, outcome text, video_id bigint, revision integer, facts_revision integer, before jsonb, notes jsonb)
        where import_id = ${importId} and import_row.position = it.position`,
  )
}

export function saveUndone(tx: Db, importId: number, rows: readonly { position: number; undone: 'undone' | 'touched' }[]) {
  return execute(
    tx,
    sql`update import_row set undone = it.undone from json_to_recordset(${JSON.stringify(rows)}::json) as it (position integer, undone text)
        where import_id = ${importId} and import_row.position = it.position`,
  )
}

const Imported = Type.Object({ key: Type.String(), video_id: Type.Integer(), said: Type.Unsafe<Said>({}) })

/** What the source said of these keys before. */
export function findSaid(db: Db, source: string, keys: readonly string[]) {
  return many(db, Imported, sql`select key, video_id, said from imported where source = ${source} and key = any (${keys}::text[])`)
}

export function saveSaid(tx: Db, source: string, rows: readonly { key: string; video_id: number; said: Said }[]) {
  return execute(
    tx,
    sql`insert into imported (source, key, video_id, said)
        select ${source}, key, video_id, said from json_to_recordset(${JSON.stringify(rows)}::json) as it (key text, video_id bigint, said jsonb)
        on conflict (source, key) do update set video_id = excluded.video_id, said = excluded.said`,
  )
}

export function forgetSaid(tx: Db, source: string, keys: readonly string[]) {
  return execute(tx, sql`delete from imported where source = ${source} and key = any (${keys}::text[])`)
}

const Reckoned = Type.Object({ records: Type.Number() })

/**
 * PostgreSQL looks once a minute how large its tables are. An import has filled an empty archive by then, and what was planned for empty
 * tables reads all of each. So it is told to look again where this import alone has written more than it believes to be there.
 */
export async function analyzeGrown(db: Db, written: number): Promise<void> {
  const { records } = await one(db, Reckoned, sql`select reltuples::float8 as records from pg_class where oid = 'video'::regclass`)
  if (written > records)
    await execute(db, sql`analyze (skip_locked) video, imported, import_row, speaker, tag, category, known_as, known_slug`)
}

const KeyRow = Type.Object({ place: Type.Integer(), key: Type.String() })

/** The identity of an address, for talks of which the source has no key. */
export function keysOfSources(db: Db, addresses: readonly string[]) {
  return many(
    db,
    KeyRow,
    sql`select (place - 1)::integer as place, source_identity(address) as key
        from unnest(${addresses}::text[]) with ordinality as given (address, place)`,
  )
}

const Duplicate = Type.Object({ key: Type.String(), place: Type.String() })

/** Which of these keys an earlier row of the same import has, and where. */
export function findKeys(db: Db, importId: number, keys: readonly string[]) {
  return many(db, Duplicate, sql`select key, place from import_row where import_id = ${importId} and key = any (${keys}::text[])`)
}

const ById = Type.Object({ id: Type.Integer(), slug: Type.String(), title: Type.String(), taken_down: MaybeText })

export function findById(db: Db, ids: readonly number[]) {
  return many(db, ById, sql`select id, slug, title, taken_down::text from video where id = any (${ids}::bigint[])`)
}

const BySource = Type.Object({ place: Type.Integer(), id: Type.Integer(), taken_down: MaybeText, keys: Type.Array(Type.String()) })

// Under which keys a source has a record: it is not also another talk of that source.
const keysOf = (source: string) => sql`array(select key from imported where imported.video_id = video.id and imported.source = ${source})`

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
          select place, identity, source_number(identity) as number from known
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
