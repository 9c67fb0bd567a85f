import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'
import { type SearchedTable, type TableRule, tableRules } from './tables.ts'

// SQL of name changes. `findRows` and `updateRow` work on any table: a name is removed from all of
// them, whichever feature owns them. The names of tables and columns are those of the schema.

const MaybeText = Type.Union([Type.String(), Type.Null()])
const ReplacedName = Type.Object({ old: Type.String(), new: Type.String() })
export type ReplacedName = Static<typeof ReplacedName>

const NameChange = Type.Object({
  id: Type.Integer(),
  speaker_id: Type.Integer(),
  state: Type.Union([
    Type.Literal('planning'),
    Type.Literal('planned'),
    Type.Literal('applying'),
    Type.Literal('applied'),
    Type.Literal('discarded'),
  ]),
  names: Type.Union([Type.Array(ReplacedName), Type.Null()]),
  in_links: Type.Boolean(),
  pass: Type.Integer(),
  table_name: Type.String(),
  block: Type.Integer(),
  changed: Type.Integer(),
  total: Type.Integer(),
  blocks: Type.Integer(),
  problem: Type.Union([Type.Literal('too-slow'), Type.Literal('failed'), Type.Null()]),
  actor: Type.String(),
  person_id: Type.Union([Type.Integer(), Type.Null()]),
  request_id: Type.String(),
  created: Type.String(),
  applied: MaybeText,
})
export type NameChange = Static<typeof NameChange>

const utc = (column: string) =>
  raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`)
const columns = sql`
  id, speaker_id, state, names, in_links, pass, table_name, block, changed, total, blocks, problem,
  actor, person_id, request_id, ${utc('created')} as created, ${utc('applied')} as applied`

/** Finds a name change. */
export function findNameChange(db: Db, id: number) {
  return maybe(db, NameChange, sql`select ${columns} from name_change where id = ${id}`)
}

/** Lists the name changes of a speaker, the latest first. */
export function listNameChanges(db: Db, speaker: number) {
  return many(
    db,
    NameChange,
    sql`select ${columns} from name_change
        where speaker_id = ${speaker} and state <> 'discarded'
        order by id desc
        limit 20`,
  )
}

const NewId = Type.Object({ id: Type.Integer() })

/** Inserts a name change, which is then planned. */
export async function insertNameChange(
  tx: Db,
  change: Pick<
    NameChange,
    'speaker_id' | 'names' | 'in_links' | 'actor' | 'person_id' | 'request_id'
  >,
): Promise<number> {
  const [row] = await writeReturning(
    tx,
    NewId,
    sql`insert into name_change (speaker_id, names, in_links, actor, person_id, request_id)
        values (${change.speaker_id}, ${JSON.stringify(change.names)}, ${change.in_links},
                ${change.actor}, ${change.person_id}, ${change.request_id})
        returning id`,
  )
  return (row as { id: number }).id
}

const Any = Type.Object({ any: Type.Boolean() })

/** Returns whether a name change is planned or applied at the moment. */
export async function hasRunningChange(db: Db): Promise<boolean> {
  const row = await one(
    db,
    Any,
    sql`select exists (
          select from name_change where state in ('planning', 'applying')
        ) as any`,
  )
  return row.any
}

const RunningCount = Type.Object({ count: Type.Integer() })

/** Returns the number of name changes that are planned or applied at the moment. */
export async function countRunningChanges(db: Db): Promise<number> {
  const row = await one(
    db,
    RunningCount,
    sql`select count(*) from name_change where state in ('planning', 'applying')`,
  )
  return row.count
}

/** Tells whether a speaker was merged into another one. */
export async function isMerged(db: Db, speaker: number): Promise<boolean> {
  const row = await one(
    db,
    Any,
    sql`select exists (
          select from speaker where id = ${speaker} and merged_into is not null
        ) as any`,
  )
  return row.any
}

const isFree = sql`
  state in ('planning', 'applying') and (leased_until is null or leased_until <= now())`

/**
 * Leases a running name change that no process works on: the one that has waited longest, so that
 * one that fails does not block others.
 */
export async function claimNameChange(
  db: Db,
  lease: string,
  seconds: number,
): Promise<NameChange | undefined> {
  const [row] = await writeReturning(
    db,
    NameChange,
    sql`update name_change
        set lease = ${lease}::uuid,
            leased_until = now() + make_interval(secs => ${seconds}::double precision)
        where id = (
          select id from name_change
          where ${isFree}
          order by problem is not null, touched, id
          limit 1
          for no key update skip locked)
        returning ${columns}`,
  )
  return row
}

/** Extends a lease. Returns whether it was still held. */
export async function renewLease(db: Db, id: number, lease: string, seconds: number) {
  const count = await execute(
    db,
    sql`update name_change
        set leased_until = now() + make_interval(secs => ${seconds}::double precision)
        where id = ${id} and lease = ${lease}::uuid`,
  )
  return count === 1
}

/** Ends a lease after a batch that failed, and saves how it failed. */
export function saveProblem(db: Db, id: number, lease: string, problem: NameChange['problem']) {
  return execute(
    db,
    sql`update name_change
        set lease = null, leased_until = null, problem = ${problem}, touched = now()
        where id = ${id} and lease = ${lease}::uuid`,
  )
}

/** Locks a name change. */
export function lockNameChange(tx: Db, id: number) {
  return maybe(tx, NameChange, sql`select ${columns} from name_change where id = ${id} for update`)
}

/**
 * Saves how far a name change is, and ends the lease. Returns whether the lease was still held:
 * otherwise nothing is saved.
 */
export async function saveProgress(
  tx: Db,
  { id, pass, table_name, block, changed, total, blocks }: NameChange,
  lease: string,
): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update name_change
        set pass = ${pass}, table_name = ${table_name}, block = ${block}, changed = ${changed},
            total = ${total}, blocks = ${blocks}, problem = null, lease = null,
            leased_until = null, touched = now()
        where id = ${id} and lease = ${lease}::uuid`,
  )
  return count === 1
}

/** Starts a step over all tables. */
export function startState(tx: Db, id: number, state: NameChange['state']) {
  return execute(
    tx,
    sql`update name_change
        set state = ${state}, pass = 1, table_name = '', block = 0, changed = 0, total = 0,
            blocks = default, problem = null, lease = null, leased_until = null, touched = now()
        where id = ${id}`,
  )
}

/** Ends a name change and deletes the names, and all places except those that were refused. */
export async function endNameChange(
  tx: Db,
  id: number,
  state: 'applied' | 'discarded',
): Promise<void> {
  await execute(
    tx,
    sql`update name_change
        set state = ${state}, names = null, problem = null, lease = null, leased_until = null,
            touched = now(), applied = case when ${state} = 'applied' then now() end
        where id = ${id}`,
  )
  await execute(
    tx,
    sql`delete from name_change_place
        where name_change_id = ${id} and (refusal is null or ${state} = 'discarded')`,
  )
  await execute(
    tx,
    sql`update name_change_place set title = '', before = '', after = ''
        where name_change_id = ${id}`,
  )
}

/** Discards plans that were not applied within 30 days: they have the names in clear text. */
export async function discardOldPlans(db: Db): Promise<number> {
  await execute(
    db,
    sql`delete from name_change
        where state in ('planning', 'planned') and touched < now() - interval '30 days'`,
  )
  return execute(
    db,
    sql`delete from name_change
        where state = 'discarded' and touched < now() - interval '30 days'`,
  )
}

const Place = Type.Object({
  position: Type.Integer(),
  subject: Type.String(),
  subject_id: Type.Integer(),
  field: Type.String(),
  title: Type.String(),
  before: Type.String(),
  after: Type.String(),
  rows: Type.Integer(),
  is_kept: Type.Boolean(),
  refusal: MaybeText,
})
export type Place = Static<typeof Place>

/** Lists places after a position, in the order in which they were found. */
export function listPlaces(db: Db, id: number, after: number, limit: number) {
  return many(
    db,
    Place,
    sql`select position, subject, subject_id, field, title, before, after, rows, is_kept, refusal
        from name_change_place
        where name_change_id = ${id} and position > ${after}::integer
        order by position
        limit ${limit}::integer`,
  )
}

const PlaceCounts = Type.Object({
  places: Type.Integer(),
  rows: Type.Integer(),
  kept: Type.Integer(),
})

/** Counts the places of a name change. */
export function countPlaces(db: Db, id: number) {
  return one(
    db,
    PlaceCounts,
    sql`select count(*) as places, coalesce(sum(rows), 0) as rows,
               count(*) filter (where is_kept) as kept
        from name_change_place
        where name_change_id = ${id}`,
  )
}

const ListedPlace = Type.Object({
  subject: Type.String(),
  subject_id: Type.Integer(),
  field: Type.String(),
  is_kept: Type.Boolean(),
})

/** Lists all places that can be changed, and whether an editor wants to keep them. */
export function listSelection(db: Db, id: number) {
  return many(
    db,
    ListedPlace,
    sql`select subject, subject_id, field, is_kept
        from name_change_place
        where name_change_id = ${id} and refusal is null`,
  )
}

/** Keeps those of the places between two positions that are not in the list. */
export function chooseRows(
  tx: Db,
  id: number,
  { from, to, taken }: { from: number; to: number; taken: readonly number[] },
) {
  return execute(
    tx,
    sql`update name_change_place set is_kept = position <> all (${taken}::integer[])
        where name_change_id = ${id} and position between ${from}::integer and ${to}::integer`,
  )
}

/** Adds places. Rows of a place that is known are added to it. */
export function insertPlaces(tx: Db, id: number, places: readonly Omit<Place, 'position'>[]) {
  return execute(
    tx,
    sql`insert into name_change_place (
          name_change_id, position, subject, subject_id, field, title, before, after, rows, is_kept,
          refusal)
        select ${id}::bigint,
               (select coalesce(max(position), 0) from name_change_place
                where name_change_id = ${id}) + ordinal,
               subject, subject_id, field, title, before, after, rows, is_kept, refusal
        from json_to_recordset(${JSON.stringify(
          places.map((place, index) => ({ ...place, ordinal: index + 1 })),
        )}::json) as input (
          ordinal integer, subject text, subject_id bigint, field text, title text, before text,
          after text, rows integer, is_kept boolean, refusal text)
        on conflict (name_change_id, subject, subject_id, field) do update
          set rows = name_change_place.rows + excluded.rows, refusal = excluded.refusal`,
  )
}

const TextColumn = Type.Object({ table: Type.String(), name: Type.String(), type: Type.String() })

/**
 * Lists the columns of all tables that can contain a name: texts, lists of texts and JSON. Columns
 * with a fixed set of values and generated ones cannot.
 */
export async function listTextColumns(db: Db): Promise<SearchedTable[]> {
  const rows = await many(
    db,
    TextColumn,
    sql`select relname as table, attname as name, format_type(atttypid, null) as type
        from pg_class
        join pg_attribute on attrelid = pg_class.oid
        where relnamespace = current_schema()::regnamespace
          and relkind = 'r'
          and not relispartition
          and attnum > 0
          and not attisdropped
          and attgenerated = ''
          and atttypid in ('text'::regtype, 'varchar'::regtype, 'text[]'::regtype,
                           'jsonb'::regtype, 'json'::regtype)
          and not exists (
            select from pg_constraint
            where conrelid = pg_class.oid
              and contype = 'c'
              and conkey = array[attnum]
              and pg_get_constraintdef(pg_constraint.oid) ~ '= ANY')
        order by relname, attnum`,
  )
  return [...Map.groupBy(rows, ({ table }) => table)].map(([name, found]) => ({
    name,
    columns: found.map((column) => ({ name: column.name, type: column.type })),
  }))
}

const IndexColumn = Type.Object({ name: Type.String() })

/** Lists the columns of an index. */
export async function listIndexColumns(db: Db, index: string): Promise<string[]> {
  const rows = await many(
    db,
    IndexColumn,
    sql`select attname as name
        from pg_class
        join pg_index on indexrelid = pg_class.oid
        join pg_attribute on attrelid = indrelid and attnum = any (indkey)
        where relname = ${index} and relnamespace = current_schema()::regnamespace`,
  )
  return rows.map(({ name }) => name)
}

const Blocks = Type.Object({ blocks: Type.Integer() })

/** Returns how many blocks a table has. */
export async function countBlocks(db: Db, { name }: SearchedTable): Promise<number> {
  const row = await one(
    db,
    Blocks,
    sql`select (pg_relation_size(${identifier(name)}::regclass)
                / current_setting('block_size')::integer)::integer as blocks`,
  )
  return row.blocks
}

const FoundRow = Type.Object({
  ctid: Type.String(),
  subject: MaybeText,
  id: Type.Union([Type.Integer(), Type.Null()]),
  is_direct: Type.Boolean(),
  data: Type.Record(Type.String(), Type.Unknown()),
})
export type FoundRow = Static<typeof FoundRow>

/**
 * Finds the rows in some blocks of a table that have all words of one of the names, wherever. The
 * caller looks closer. Values of bytea and other types are not searched.
 */
export function findRows(
  db: Db,
  table: SearchedTable,
  { from, to }: { from: number; to: number },
  names: readonly (readonly string[])[],
) {
  const rule: TableRule = tableRules[table.name] ?? {}
  const searched = [
    ...table.columns.map(({ name }) => [name, identifier(name)] as const),
    ...Object.entries(rule.others ?? {}),
  ]
  const texts = join(searched.map(([, expression]) => sql`${raw(expression)}::text`))
  const hasWords = names.map(
    (words) => sql`text_of_row.folded_text like all (
      array(select '%' || name_key(word) || '%' from unnest(${words}::text[]) as word))`,
  )
  // Encoded text does not have the words.
  const isFound = rule.forms ? sql`true` : sql`(${join(hasWords, ' or ')})`
  return many(
    db,
    FoundRow,
    sql`select ctid::text,
               ${raw(rule.subject ?? 'null')}::text as subject,
               ${raw(rule.id ?? 'null')}::bigint as id,
               ${raw(rule.isDirect ?? 'true')} as is_direct,
               jsonb_build_object(${join(
                 searched.map(([name, value]) => sql`${raw(literal(name))}, ${raw(value)}`),
               )}) as data
        from ${raw(identifier(table.name))},
             lateral (select name_key(concat_ws(' ', ${texts}))) as text_of_row (folded_text)
        where ctid >= ${`(${from},0)`}::tid
          and ctid < ${`(${to},0)`}::tid
          ${rule.where === undefined ? empty : sql`and ${raw(rule.where)}`}
          and ${isFound}`,
  )
}

const Updated = Type.Object({ ctid: Type.String() })

/**
 * Changes columns of a row, unless they were changed since. Returns where the row is then, or
 * undefined if it is another one by now.
 */
export async function updateRow(
  db: Db,
  table: SearchedTable,
  ctid: string,
  changes: readonly {
    readonly column: string
    readonly before: unknown
    readonly after: unknown
  }[],
): Promise<{ ctid: string } | undefined> {
  const typeOf = (column: string) => table.columns.find(({ name }) => name === column)?.type ?? ''
  const boundValue = (column: string, value: unknown): Sql => {
    const type = typeOf(column)
    const bound = type.startsWith('json') ? JSON.stringify(value) : value
    return sql`${bound}::${raw(type)}`
  }
  const assignments = changes.map(
    ({ column, after }) => sql`${raw(identifier(column))} = ${boundValue(column, after)}`,
  )
  const isUnchanged = changes.map(
    ({ column, before }) => sql`${raw(identifier(column))} = ${boundValue(column, before)}`,
  )
  const [row] = await writeReturning(
    db,
    Updated,
    sql`update ${raw(identifier(table.name))} set ${join(assignments)}
        where ctid = ${ctid}::tid and ${join(isUnchanged, ' and ')}
        returning ctid::text`,
  )
  return row
}

const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`
const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
