import { awayStates, limitedStates, type SourceState, type Verdict } from '@talkshelf/contract'
import sql, { empty, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, many } from '../../platform/db/db.ts'
import { SourceRow, sourceColumns, utc } from '../queries.ts'

// SQL of what editors see of sources: unhealthy ones, and their hosts. Reads only.

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])

/** The predicate of the index source_by_state. */
const isUnhealthy = sql`source.state not in ('new', 'ok')`

const hasTalk = sql`
  exists (select
          from video_source
          join video on video.id = video_id
          where source_id = source.id and taken_down is null and merged_into is null)`

const ExaminedSource = Type.Object({
  ...SourceRow.properties,
  evidence: nullable(Type.String()),
  next_check: Type.String(),
  /** The last checks, the newest at the end. */
  checks: Type.Array(Type.Object({ at: Type.String(), verdict: Type.Unsafe<Verdict>({}) })),
  /** At most 10. */
  talks: Type.Array(
    Type.Object({
      id: Type.Integer(),
      title: Type.String(),
      event: Type.String(),
      is_live: Type.Boolean(),
    }),
  ),
})
export type ExaminedSource = Static<typeof ExaminedSource>

export interface ExaminedFilter {
  /** States other than `new` and `ok`. */
  readonly states: readonly SourceState[]
  readonly host?: string | undefined
  /** Id of a category. */
  readonly event?: number | undefined
  /** Id of a record: all of its sources, in any state. */
  readonly talk?: number | undefined
  /** Only those after this source. */
  readonly after: number
  readonly limit: number
}

/** Each state is read in the order of its index, so that a page reads few rows of any archive. */
function unhealthySources({ states, host, after, limit }: ExaminedFilter): Sql {
  return sql`
    select source.*
    from unnest(${[...states]}::text[]) as wanted (state)
    cross join lateral (
      select *
      from source
      where source.state = wanted.state
        and ${isUnhealthy}
        and source.id > ${after}::bigint
        and ${hasTalk}
        ${host === undefined ? empty : sql`and source.host = ${host}`}
      order by source.id
      limit ${limit}::integer
    ) as source`
}

/** Live talks and others have an index each. */
const sourcesOfEvent = ({ states, host, event, after }: ExaminedFilter): Sql => sql`
  select distinct on (source.id) source.*
  from (select id from live_video where category_id = ${event}::bigint
        union all
        select id
        from video
        where category_id = ${event}::bigint
          and (state <> 1 or taken_down is not null)
          and taken_down is null
          and merged_into is null) as talk
  join video_source on video_id = talk.id
  join source on source.id = source_id
  where source.state = any (${[...states]}::text[])
    and source.id > ${after}::bigint
    ${host === undefined ? empty : sql`and source.host = ${host}`}`

const sourcesOfTalk = (talk: number, after: number): Sql => sql`
  select source.*
  from video_source
  join source on source.id = source_id
  where video_id = ${talk}::bigint and source.id > ${after}::bigint`

function selectExamined(filter: ExaminedFilter): Sql {
  if (filter.talk !== undefined) return sourcesOfTalk(filter.talk, filter.after)
  return filter.event === undefined ? unhealthySources(filter) : sourcesOfEvent(filter)
}

/** Lists unhealthy sources, or those of a record, with what their checks found. */
export function listExaminedSources(db: Db, filter: ExaminedFilter) {
  const { limit } = filter
  return many(
    db,
    ExaminedSource,
    sql`select found.*, talks
        from (
          select ${sourceColumns({ isEditor: true })}, source.evidence,
                 ${utc(sql`source.next_check`)} as next_check,
                 array(
                   select jsonb_build_object(
                            'at', ${utc(sql`to_timestamp((look ->> 'at')::bigint / 1000)`)},
                            'verdict', look ->> 'verdict')
                   from jsonb_array_elements(source.health -> 'looks') as look
                 ) as checks
          from (${selectExamined(filter)}) as source
          order by source.id
          limit ${limit}::integer
        ) as found
        cross join lateral (
          select coalesce(jsonb_agg(to_jsonb(talk) order by talk.id), '[]') as talks
          from (select video.id, video.title, category.title as event, state = 1 as is_live
                from video_source
                join video on video.id = video_id and taken_down is null and merged_into is null
                join category on category.id = category_id
                where source_id = found.id
                order by video.id
                limit 10) as talk
        ) as used
        order by found.id`,
  )
}

const UnhealthyHost = Type.Object({
  host: Type.String(),
  suspect: Type.Integer(),
  unreachable: Type.Integer(),
  limited: Type.Integer(),
  away: Type.Integer(),
  paused_until: nullable(Type.String()),
})
export type UnhealthyHost = Static<typeof UnhealthyHost>

/** Lists the hosts with the most unhealthy sources, among the first ones, and paused hosts. */
export function listUnhealthyHosts(db: Db, limit: number, maxSources: number) {
  const count = (states: readonly SourceState[]) =>
    sql`count(*) filter (where state = any (${[...states]}::text[]))::integer`
  return many(
    db,
    UnhealthyHost,
    sql`select found.*,
               case
                 when (pace ->> 'pausedUntil')::bigint > extract(epoch from now()) * 1000
                 then ${utc(sql`to_timestamp((pace ->> 'pausedUntil')::bigint / 1000)`)}
               end as paused_until
        from (
          select host, ${count(['suspect'])} as suspect, ${count(['unreachable'])} as unreachable,
                 ${count(limitedStates)} as limited, ${count(awayStates)} as away
          from (
            (select host, state
             from source
             where ${isUnhealthy} and ${hasTalk}
             limit ${maxSources}::integer)
            union all
            (select host, null
             from link_host
             where (pace ->> 'pausedUntil')::bigint > extract(epoch from now()) * 1000
               and exists (select from source where source.host = link_host.host and ${hasTalk})
             limit ${maxSources}::integer)
          ) as source
          group by host
          order by count(*) desc, host
          limit ${limit}::integer
        ) as found
        left join link_host using (host)
        order by suspect + unreachable + limited + away desc, host`,
  )
}
