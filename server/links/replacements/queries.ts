import {
  type Replacement,
  type ReplacementEffect,
  type ReplacementFinder,
  type ReplacementState,
  replacementEffects,
  replacementFinders,
  replacementStates,
  type Source,
} from '@talkshelf/contract'
import sql, { empty, type Sql } from 'sql-template-tag'
import Type from 'typebox'
import { type Db, execute, many, maybe, one } from '../../platform/db/db.ts'
import { movedStates, type SourceSlice, sourceColumns, utc } from '../queries.ts'

// SQL of replacements: copies that were found, and what editors decided.

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const oneOf = <T extends string>(values: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value))))

const ReplacementRow = Type.Object({
  id: Type.Integer(),
  video: Type.Integer(),
  title: Type.String(),
  source: Type.Unsafe<Source>(Type.Object({})),
  url: Type.String(),
  finder: oneOf<ReplacementFinder>(replacementFinders),
  evidence: nullable(Type.String()),
  state: oneOf<ReplacementState>(replacementStates),
  effect: oneOf<ReplacementEffect>(replacementEffects),
  created: Type.String(),
  decided: nullable(Type.String()),
  decided_by: nullable(Type.String()),
})

/** What accepting does to the record, which may be the one into which its own was merged. */
const effect = sql`
  case
    when exists (select
                 from video_source as used
                 join source as known on known.id = used.source_id
                 where used.video_id = video.id and known.key = replacement.key) then 'nothing'
    when source_key(video.source_url) = source.key
         and source.state = any (${[...movedStates]}::text[]) then 'replaces'
    else 'adds'
  end`

const columns = sql`
  replacement.id, video.id as video, video.title,
  (select to_jsonb(found) from (select ${sourceColumns({ isEditor: true })}) as found) as source,
  replacement.url, finder, replacement.evidence, replacement.state, ${effect} as effect,
  ${utc(sql`replacement.created`)} as created, ${utc(sql`decided`)} as decided, decided_by`

const joined = sql`
  replacement
  join source on source.id = source_id
  join video as own on own.id = replacement.video_id
  join video
    on video.id = case when own.merged_into is null then own.id else merge_target(own.id) end
       and video.taken_down is null`

/** Finds a replacement. */
export function findReplacement(db: Db, id: number): Promise<Replacement | undefined> {
  return maybe(
    db,
    ReplacementRow,
    sql`select ${columns} from ${joined} where replacement.id = ${id}::bigint`,
  )
}

export interface ReplacementFilter {
  readonly state: ReplacementState
  readonly video?: number | undefined
  /** Ids of the only events. Undefined: there is no limit. */
  readonly events: readonly number[] | undefined
}

function matching({ state, video, events }: ReplacementFilter): Sql {
  const ofVideo = sql`
    and replacement.video_id in (
      select merge_target(${video}::bigint)
      union all
      select merged_videos(merge_target(${video}::bigint)))`
  const ofEvents = sql`and video.category_id = any (${events}::bigint[])`
  return sql`
    replacement.state = ${state}
    ${video === undefined ? empty : ofVideo}
    ${events === undefined ? empty : ofEvents}`
}

const ListedRow = Type.Object({
  ...ReplacementRow.properties,
  keys: Type.Array(Type.String()),
})

/** Lists replacements in the order in which they were proposed. */
export function listReplacements(db: Db, filter: ReplacementFilter, slice: SourceSlice) {
  const { way, after, offset, limit } = slice
  const isNext = way === 'next'
  const following = isNext
    ? sql`and replacement.id > ${after}::bigint`
    : sql`and replacement.id < ${after}::bigint`
  return many(
    db,
    ListedRow,
    sql`select ${columns}, array[replacement.id::text] as keys
        from ${joined}
        where ${matching(filter)} ${after === undefined ? empty : following}
        order by replacement.id ${isNext ? sql`asc` : sql`desc`}
        limit ${limit}::integer offset ${offset}::integer`,
  )
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts replacements, up to a limit. */
export async function countReplacements(db: Db, filter: ReplacementFilter, limit: number) {
  const row = await one(
    db,
    Count,
    sql`select count(*)::integer as count
        from (select from ${joined} where ${matching(filter)} limit ${limit}::integer) as found`,
  )
  return row.count
}

/** A copy of a video that was found. */
export interface FoundCopy {
  /** Id of the source that is gone, or the only one. */
  readonly source: number
  /** The only record for which it is proposed. Default: all that have the source. */
  readonly video?: number
  readonly url: string
  readonly finder: ReplacementFinder
  readonly evidence: string | null
}

/**
 * Proposes a copy for the records of a source, except those that have it already or for which it was
 * proposed before. Returns their number. The records are locked, so that none is taken down.
 */
export function insertReplacements(db: Db, { source, video, url, finder, evidence }: FoundCopy) {
  return execute(
    db,
    sql`insert into replacement (video_id, source_id, url, key, finder, evidence)
        select id, ${source}::bigint, ${url}::text, source_key(${url}::text), ${finder}::text,
               ${evidence}::text
        from (
          select video.id
          from video
          join video_source on video_id = video.id
          where source_id = ${source}::bigint
            and taken_down is null
            and merged_into is null
            ${video === undefined ? empty : sql`and video.id = ${video}::bigint`}
          order by video.id
          for share of video
        ) as video
        where not exists (
          select
          from video_source
          join source on source.id = source_id
          where video_id = video.id and source.key = source_key(${url}::text)
        )
        on conflict (video_id, key) do nothing`,
  )
}

/** Decides an open replacement. Returns whether it was open. */
export async function saveDecision(
  tx: Db,
  id: number,
  state: 'accepted' | 'refused',
  by: string,
): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update replacement
        set state = ${state}, decided = now(), decided_by = ${by}
        where id = ${id}::bigint and state = 'open'`,
  )
  return count > 0
}
