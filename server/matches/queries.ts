import { type MatchVerdict, matchVerdicts, RecordingStatus } from '@talkshelf/contract'
import sql, { raw } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { ParsedItem } from '../imports/imports.ts'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'

// SQL of matches: their files, and what people decided.

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

const MatchRow = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  event: Type.String(),
  talk_source: Type.String(),
  recording_source: Type.String(),
  import_id: MaybeInteger,
  actor: Type.String(),
  created: Type.String(),
})
export type MatchRow = Static<typeof MatchRow>

const matchColumns = sql`
  id, name, event, talk_source, recording_source, import_id, actor,
  to_char(created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as created`

export type NewMatch = Omit<MatchRow, 'id' | 'created' | 'import_id'>

/** Creates a match. */
export function insertMatch(tx: Db, match: NewMatch) {
  const { name, event, talk_source, recording_source, actor } = match
  return writeReturning(
    tx,
    MatchRow,
    sql`insert into match (name, event, talk_source, recording_source, actor)
        values (${name}, ${event}, ${talk_source}, ${recording_source}, ${actor})
        returning ${matchColumns}`,
  )
}

export const findMatch = (db: Db, id: number) =>
  maybe(db, MatchRow, sql`select ${matchColumns} from match where id = ${id}`)

/** Lists matches with an id below `before`, newest first. */
export const selectMatches = (db: Db, before: number, limit: number) =>
  many(
    db,
    MatchRow,
    sql`select ${matchColumns} from match where id < ${before} order by id desc limit ${limit}`,
  )

/** Saves the import that was planned. */
export const saveImport = (db: Db, id: number, importId: number) =>
  execute(db, sql`update match set import_id = ${importId} where id = ${id}`)

const Pattern = Type.Object({ pattern: Type.String() })

/** Finds how the titles of a series were written the last time. */
export const findPattern = (db: Db, source: string, series: string) =>
  maybe(
    db,
    Pattern,
    sql`select pattern from match_pattern where recording_source = ${source} and series = ${series}`,
  )

/** Saves how the titles of a series are written. */
export const savePattern = (db: Db, source: string, series: string, pattern: string) =>
  execute(
    db,
    sql`insert into match_pattern (recording_source, series, pattern)
        values (${source}, ${series}, ${pattern})
        on conflict (recording_source, series) do update set pattern = excluded.pattern`,
  )

/** Deletes a match with its files. What was decided stays. */
export const deleteMatch = (db: Db, id: number) =>
  execute(db, sql`delete from match where id = ${id}`)

/** Deletes a match that was created more than this many days ago. Returns 0 if there is none. */
export const deleteOldMatches = (db: Db, days: number) =>
  execute(
    db,
    sql`delete from match
        where id in (
          select id from match
          where created < now() - make_interval(days => ${days})
          order by id
          limit 1
        )`,
  )

/** Deletes some of the decisions that were replaced or undone in matches that were deleted. */
export const deleteReplacedDecisions = (db: Db, limit: number) =>
  execute(
    db,
    sql`delete from match_decision
        where id in (
          select id from match_decision
          where match_id is null and replaced_by is not null
          order by id
          limit ${limit}
        )`,
  )

export type MatchSide = 'talk' | 'recording'

const ItemRow = Type.Object({
  side: Type.Unsafe<MatchSide>(Type.String()),
  key: MaybeText,
  item: Type.Unsafe<ParsedItem>({}),
})
export type ItemRow = Static<typeof ItemRow>

/** Stores a part of the items of a file. */
export const insertItems = (
  tx: Db,
  matchId: number,
  items: readonly (ItemRow & { readonly position: number })[],
) =>
  execute(
    tx,
    sql`insert into match_item (match_id, side, position, key, item)
        select ${matchId}, side, position, key, item
        from json_to_recordset(${JSON.stringify(items)}::json)
             as item (side text, position integer, key text, item jsonb)`,
  )

/** Reads the items of both files, in their order. */
export const findItems = (db: Db, matchId: number) =>
  many(
    db,
    ItemRow,
    sql`select side, key, item from match_item where match_id = ${matchId} order by side, position`,
  )

const DecisionRow = Type.Object({
  id: Type.Integer(),
  step: Type.Integer(),
  verdict: Type.Unsafe<MatchVerdict>(Type.Union(matchVerdicts.map((name) => Type.Literal(name)))),
  talk_key: MaybeText,
  recording_key: MaybeText,
  talk_title: MaybeText,
  recording_title: MaybeText,
  status: Type.Union([RecordingStatus, Type.Null()]),
  start_seconds: MaybeInteger,
  end_seconds: MaybeInteger,
})
export type DecisionRow = Static<typeof DecisionRow>

export type Sources = Pick<MatchRow, 'talk_source' | 'recording_source'>

const decisionColumns = sql`
  id, step, verdict, talk_key, recording_key, talk_title, recording_title, status, start_seconds,
  end_seconds`

/** Finds the decisions about these talks and recordings of two sources, in their order. */
export const findDecisions = (
  db: Db,
  { talk_source, recording_source }: Sources,
  talkKeys: readonly string[],
  recordingKeys: readonly string[],
) =>
  many(
    db,
    DecisionRow,
    sql`select ${decisionColumns}
        from match_decision
        where talk_source = ${talk_source}
          and recording_source = ${recording_source}
          and replaced_by is null
          and (
            talk_key = any (${talkKeys}::text[])
            or recording_key = any (${recordingKeys}::text[])
          )
        order by id`,
  )

/** Lets only one transaction at a time decide about the talks and recordings of two sources. */
export const lockDecisions = (tx: Db, { talk_source, recording_source }: Sources) =>
  execute(
    tx,
    sql`select pg_advisory_xact_lock(
          hashtextextended(${JSON.stringify(['match', talk_source, recording_source])}, 0)
        )`,
  )

const Step = Type.Object({ step: Type.Integer() })

/** Returns a new step: the next id of a decision. */
export const newStep = (tx: Db) =>
  one(
    tx,
    Step,
    sql`select nextval(pg_get_serial_sequence('match_decision', 'id'))::integer as step`,
  )

/** Saves a decision of a step. */
export const insertDecision = (
  tx: Db,
  match: MatchRow,
  decision: Omit<DecisionRow, 'id' | 'step'>,
  { step, actor }: { readonly step: number; readonly actor: string },
) =>
  execute(
    tx,
    sql`insert into match_decision (
          step, match_id, talk_source, recording_source, verdict, talk_key, recording_key,
          talk_title, recording_title, status, start_seconds, end_seconds, actor
        )
        values (
          ${step},
          ${match.id}, ${match.talk_source}, ${match.recording_source}, ${decision.verdict},
          ${decision.talk_key}, ${decision.recording_key}, ${decision.talk_title},
          ${decision.recording_title}, ${decision.status}, ${decision.start_seconds},
          ${decision.end_seconds}, ${actor}
        )`,
  )

/** Marks decisions as replaced by those of a step. */
export const replaceDecisions = (tx: Db, ids: readonly number[], replacedBy: number) =>
  execute(
    tx,
    sql`update match_decision set replaced_by = ${replacedBy} where id = any (${ids}::bigint[])`,
  )

/** Finds the last step that was made in a match and still holds. */
export const findLastStep = (tx: Db, matchId: number) =>
  maybe(
    tx,
    Step,
    sql`select step
        from match_decision
        where match_id = ${matchId} and replaced_by is null
        order by step desc
        limit 1`,
  )

/** Finds the decisions that those of a step replaced. */
export const findReplacedBy = (tx: Db, step: number) =>
  many(
    tx,
    DecisionRow,
    sql`select ${decisionColumns}
        from match_decision
        where replaced_by = ${step} and step <> ${step}
        order by id`,
  )

/** Undoes the decisions of a step. These ones hold again. */
export const undoStep = (tx: Db, step: number, restored: readonly number[]) =>
  execute(
    tx,
    sql`update match_decision
        set replaced_by = case when step = ${step} then ${step}::bigint end
        where step = ${step} or id = any (${restored}::bigint[])`,
  )

/** Replaces the hash of a title in decisions about talks or recordings with one of these keys. */
export function updateTitleHash(
  tx: Db,
  side: ItemRow['side'],
  keys: readonly string[],
  before: string,
  after: string,
) {
  const [key, title] = [raw(`${side}_key`), raw(`${side}_title`)]
  return execute(
    tx,
    sql`update match_decision set ${title} = ${after}
        where ${key} = any (${keys}::text[]) and ${title} = ${before}`,
  )
}
