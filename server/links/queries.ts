import {
  awayStates,
  type ListedSource,
  missingStates,
  type SourceChange,
  type SourceState,
  sourceStates,
  type UnavailableState,
  unavailableStates,
} from '@talkshelf/contract'
import sql, { empty, join, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChange, insertChanges } from '../changes/changes.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'
import { type HostPace, silentAfterMs } from './host-pace.ts'
import type { Robots } from './robots.ts'
import type { SourceHealth, StateChange } from './source-health.ts'

// SQL of sources: where videos are, and what the link checker found.

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const State = Type.Unsafe<SourceState>(Type.Union(sourceStates.map((state) => Type.Literal(state))))
/** Formats a time as the API does. */
export const utc = (time: Sql) =>
  sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')`
const isUnavailable = sql`source.state = any (${[...unavailableStates]}::text[])`
const isAway = sql`source.state = any (${[...awayStates]}::text[])`
/** A video that plays only at its host, or not for everybody, is still there. */
const isMissing = sql`source.state = any (${[...missingStates]}::text[])`

/** The video is not at this URL any more: a copy takes its place. */
export const movedStates: readonly SourceState[] = [...awayStates, 'moved']

/**
 * Who reads: the last check of a source may be bad without that being certain, and only editors
 * see that.
 */
export interface Reader {
  readonly isEditor: boolean
}

const shownState = ({ isEditor }: Reader) =>
  isEditor
    ? sql`source.state`
    : sql`
        case
          when source.state <> 'suspect' then source.state
          when source.last_good is null then 'new'
          else 'ok'
        end`

/** A suspicion sets the time, and readers must not notice it. Null if there was no change. */
const shownSince = ({ isEditor }: Reader) =>
  isEditor
    ? sql`source.since`
    : sql`
        case
          when ${isUnavailable} then source.since
          else (select at
                from change
                where subject = 'source' and subject_id = source.id
                order by change.revision desc
                limit 1)
        end`

/** Readers do not see that a check was bad before that is certain. */
const shownCheck = ({ isEditor }: Reader) =>
  isEditor
    ? sql`source.last_check`
    : sql`case when source.state = 'suspect' then source.last_good else source.last_check end`

export const SourceRow = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  host: Type.String(),
  state: State,
  since: nullable(Type.String()),
  available: Type.Boolean(),
  last_check: nullable(Type.String()),
  last_good: nullable(Type.String()),
  pinned_until: nullable(Type.String()),
})

/** The columns of a source as the API has it. */
export const sourceColumns = (reader: Reader) => sql`
  source.id, source.url, source.host, ${shownState(reader)} as state,
  ${utc(shownSince(reader))} as since, not ${isUnavailable} as available,
  ${utc(shownCheck(reader))} as last_check, ${utc(sql`source.last_good`)} as last_good,
  ${utc(sql`source.pinned_until`)} as pinned_until`

/** Lists the sources of a record. The caller checks access to the record. */
export function listVideoSources(db: Db, videoId: number, reader: Reader) {
  return many(
    db,
    SourceRow,
    sql`select ${sourceColumns(reader)}
        from video_source
        join source on source.id = source_id
        where video_id = ${videoId}::bigint
        order by source.id`,
  )
}

const isPublic = sql`
  exists (select
          from video_source
          join live_video as video on video.id = video_id
          where source_id = source.id)`

/** Finds a source. Editors also find those that only drafts have. */
export function findSource(db: Db, id: number, reader: Reader) {
  return maybe(
    db,
    SourceRow,
    sql`select ${sourceColumns(reader)}
        from source
        where source.id = ${id}::bigint ${reader.isEditor ? empty : sql`and ${isPublic}`}`,
  )
}

export interface SourceFilter {
  readonly state?: SourceState | undefined
  readonly host?: string | undefined
  /** Slug of a category. */
  readonly category?: string | undefined
}

function matching({ state, host, category }: SourceFilter, reader: Reader): Sql {
  const conditions = [
    isPublic,
    ...(state === undefined ? [] : [sql`${shownState(reader)} = ${state}`]),
    ...(host === undefined ? [] : [sql`source.host = ${host}`]),
    ...(category === undefined
      ? []
      : [
          sql`source.id in (
                select source_id
                from entity_slug
                join live_video as video on category_id = entity_id
                join video_source on video_id = video.id
                where entity_slug.kind = 'category'
                  and entity_slug.slug = ${category}
                  and not retired)`,
        ]),
  ]
  return join(conditions, ' and ')
}

export interface SourceSlice {
  readonly way: 'next' | 'previous'
  readonly after: string | undefined
  readonly offset: number
  readonly limit: number
}

const UnavailableUrl = Type.Object({
  video_id: Type.Integer(),
  url: Type.String(),
  state: Type.Unsafe<UnavailableState>(State),
  since: Type.String(),
  last_good: nullable(Type.String()),
  is_lost: Type.Boolean(),
})
export type UnavailableUrl = Static<typeof UnavailableUrl>

/**
 * Lists the URLs of records whose sources cannot simply be watched, and whether all sources of the
 * record are away. The caller checks access to the records.
 */
export function listUnavailableUrls(db: Db, videoIds: readonly number[]) {
  return many(
    db,
    UnavailableUrl,
    sql`select video.id as video_id, named.url, unavailable.state, unavailable.since,
               unavailable.last_good,
               not exists (select
                           from video_source
                           join source on source.id = source_id
                           where video_id = video.id and not ${isAway}) as is_lost
        from (select video_id, key, state, ${utc(sql`since`)} as since,
                     ${utc(sql`last_good`)} as last_good
              from video_source
              join source on source.id = source_id
              where video_id = any (${videoIds}::bigint[])
                and ${isUnavailable}) as unavailable
        join video on video.id = unavailable.video_id
        left join video_facts on video_facts.id = video.id
        -- A record may have several URLs of the same source.
        cross join lateral (
          select own.url
          from (values (source_url), (video_mp4_url), (video_webm_url), (video_ogv_url),
                       (video_flv_url)) as own (url)
          union
          select fact ->> 'url'
          from jsonb_array_elements(facts) as fact
          where fact ->> 'kind' in ('media', 'part')
        ) as named
        where source_key(named.url) = unavailable.key`,
  )
}

const ListedRow = Type.Object({
  keys: Type.Array(Type.String()),
  source: Type.Unsafe<ListedSource>(Type.Object({})),
})

/** Lists sources of live talks, with the first of their talks. */
export function listSources(db: Db, filter: SourceFilter, slice: SourceSlice, reader: Reader) {
  const { way, after, offset, limit } = slice
  const isNext = way === 'next'
  const comparison = isNext ? sql`>` : sql`<`
  const range = after === undefined ? empty : sql`and source.id ${comparison} ${after}::bigint`
  return many(
    db,
    ListedRow,
    sql`select array[id::text] as keys,
               to_jsonb(found) || jsonb_build_object('videos', videos) as source
        from (
          select ${sourceColumns(reader)}
          from source
          where ${matching(filter, reader)} ${range}
          order by source.id ${isNext ? sql`asc` : sql`desc`}
          limit ${limit}::integer offset ${offset}::integer
        ) as found
        cross join lateral (
          select coalesce(jsonb_agg(to_jsonb(talk) order by talk.id), '[]') as videos
          from (select video.id, video.title
                from video_source
                join live_video as video on video.id = video_id
                where source_id = found.id
                order by video.id
                limit 10) as talk
        ) as talks
        order by id ${isNext ? sql`asc` : sql`desc`}`,
  )
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts sources of live talks, up to a limit. */
export async function countSources(db: Db, filter: SourceFilter, limit: number, reader: Reader) {
  const row = await one(
    db,
    Count,
    sql`select count(*)::integer as count
        from (select from source where ${matching(filter, reader)} limit ${limit}::integer) as found`,
  )
  return row.count
}

const HistoryRow = Type.Object({
  at: Type.String(),
  from: State,
  to: State,
  evidence: nullable(Type.String()),
  by: Type.String(),
})

/** Lists the changes of the state of a source, newest first. Names of editors are for editors. */
export function listSourceChanges(
  db: Db,
  id: number,
  limit: number,
  { isEditor }: Reader,
): Promise<SourceChange[]> {
  const by = isEditor ? sql`actor` : sql`case via when 'check' then actor else 'An editor' end`
  return many(
    db,
    HistoryRow,
    sql`select ${utc(sql`at`)} as at, before ->> 'state' as from, after ->> 'state' as to,
               after ->> 'evidence' as evidence,
               ${by} as by
        from change
        where subject = 'source' and subject_id = ${id}::bigint
        order by revision desc
        limit ${limit}::integer`,
  )
}

// --- the report of what is at risk

/** Selects the next live talks after an id, with the operators that have them and that had them. */
const talkOperators = (after: number, size: number) => sql`
  select video.id, slug, category_id,
         coalesce(array_agg(distinct operator) filter (where not ${isMissing}), '{}') as available,
         coalesce(array_agg(distinct operator) filter (where ${isMissing}), '{}') as unavailable
  from (select id, slug, category_id
        from live_video
        where id > ${after}::bigint
        order by id
        limit ${size}::integer) as video
  left join video_source on video_id = video.id
  left join source on source.id = source_id
  group by video.id, slug, category_id`

const Operators = {
  available: Type.Array(Type.String()),
  unavailable: Type.Array(Type.String()),
}

const RiskGroup = Type.Object({
  category_id: Type.Integer(),
  ...Operators,
  talks: Type.Integer(),
  last_id: Type.Integer(),
})
export type RiskGroup = Static<typeof RiskGroup>

/**
 * Counts the next live talks after an id by their event and by the operators of their available and
 * of their unavailable sources. All talks at once would exceed the statement timeout.
 */
export function countRiskGroups(db: Db, after: number, size: number) {
  return many(
    db,
    RiskGroup,
    sql`select category_id, available, unavailable, count(*)::integer as talks,
               max(id) as last_id
        from (${talkOperators(after, size)}) as talk
        group by category_id, available, unavailable`,
  )
}

const TalkRisk = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  event: Type.String(),
  ...Operators,
})
export type TalkRisk = Static<typeof TalkRisk>

/** Lists the next live talks after an id, with the operators that have them and that had them. */
export function listTalkRisks(db: Db, after: number, size: number) {
  return many(
    db,
    TalkRisk,
    sql`select talk.id, talk.slug, category.title as event, available, unavailable
        from (${talkOperators(after, size)}) as talk
        join category on category.id = category_id
        order by talk.id`,
  )
}

const SourceTotals = Type.Object({
  scanned: Type.Integer(),
  last_id: nullable(Type.Integer()),
  sources: Type.Integer(),
  checked: Type.Integer(),
})

/** Counts those of the next sources after an id that live talks have, and that were checked. */
export function countSourceTotals(db: Db, after: number, size: number) {
  return one(
    db,
    SourceTotals,
    sql`select count(*)::integer as scanned, max(id) as last_id,
               count(*) filter (where is_public)::integer as sources,
               count(*) filter (where is_public and was_checked)::integer as checked
        from (select id, ${isPublic} as is_public,
                     -- Readers do not see the first check if it was bad.
                     last_check is not null and (state <> 'suspect' or last_good is not null)
                       as was_checked
              from source
              where id > ${after}::bigint
              order by id
              limit ${size}::integer) as batch`,
  )
}

const Category = Type.Object({ id: Type.Integer(), title: Type.String(), slug: Type.String() })

/** Finds the categories with these ids. */
export function findCategories(db: Db, ids: readonly number[]) {
  return many(
    db,
    Category,
    sql`select id, title, slug from category where id = any (${ids}::bigint[])`,
  )
}

const Losses = Type.Object({
  month: Type.String(),
  lost: Type.Integer(),
  returned: Type.Integer(),
})

/**
 * Counts by month how many sources went away and came back, the newest first: those of live talks,
 * and those that no talk has any more because it was given another one.
 */
export function countLosses(db: Db, months: number) {
  const wasAway = (column: Sql) => sql`${column} ->> 'state' = any (${[...awayStates]}::text[])`
  return many(
    db,
    Losses,
    sql`select to_char(at at time zone 'UTC', 'YYYY-MM') as month,
               count(*) filter (where is_away)::integer as lost,
               count(*) filter (where was_away)::integer as returned
        from (select at, ${wasAway(sql`before`)} as was_away, ${wasAway(sql`after`)} as is_away,
                     subject_id as id
              from change
              where subject = 'source') as source
        where was_away <> is_away
          and (${isPublic} or not exists (select from video_source where source_id = source.id))
        group by 1
        order by 1 desc
        limit ${months}::integer`,
  )
}

// --- checking. `now` is the time of the caller's clock; without it that of the database, which all
// processes share.

const timeOf = (now: number | undefined) =>
  now === undefined ? sql`clock_timestamp()` : sql`to_timestamp(${now / 1000}::double precision)`
const milliseconds = (time: Sql) => sql`(extract(epoch from ${time}) * 1000)::bigint`
const fromMilliseconds = (time: number | null) =>
  sql`to_timestamp(${time === null ? null : time / 1000}::double precision)`

/** A recursive table of all hosts: one step for each of them, instead of one for each source. */
const everyHost = sql`
  every (host) as (
    (select host from source order by host limit 1)
    union all
    select (select source.host
            from source
            where source.host > every.host
            order by source.host
            limit 1)
    from every
    where every.host is not null
  )`

const Host = Type.Object({ host: Type.String() })

/**
 * Lists hosts with sources that are due and that no process checks, the longest due first. Those of
 * `always` also if they may not be asked now.
 */
export async function listDueHosts(
  db: Db,
  { limit, always }: { readonly limit: number; readonly always: readonly string[] },
  now: number | undefined,
) {
  const rows = await many(
    db,
    Host,
    sql`with recursive ${everyHost}
        select host
        from every
        cross join lateral (
          select next_check
          from source
          where source.host = every.host
          order by next_check
          limit 1
        ) as first
        left join link_host using (host)
        where first.next_check <= ${timeOf(now)}
          and coalesce(leased_until, '-infinity') <= ${timeOf(now)}
          and (coalesce(next_turn, '-infinity') <= ${timeOf(now)}
               or host = any (${[...always]}::text[])
               -- Its sources count as refused, without a request.
               or (pace ->> 'refusingSince')::bigint
                  < ${milliseconds(timeOf(now))} - ${silentAfterMs}::bigint)
        order by first.next_check
        limit ${limit}::integer`,
  )
  return rows.map(({ host }) => host)
}

const Claimed = Type.Object({ now: Type.Integer() })

/** The host whose sources a process checks. */
export interface HostLease {
  readonly host: string
  readonly id: string
  readonly seconds: number
}

/** Leases a host. Returns whether no other process has it. */
export async function claimHost(
  db: Db,
  { host, id, seconds }: HostLease,
  pace: HostPace,
  now: number | undefined,
): Promise<boolean> {
  const rows = await writeReturning(
    db,
    Claimed,
    sql`insert into link_host (host, pace, next_turn, lease, leased_until)
        values (${host}, ${JSON.stringify(pace)}::jsonb, '-infinity', ${id}::uuid,
                ${timeOf(now)} + make_interval(secs => ${seconds}::double precision))
        on conflict (host) do update
        set lease = excluded.lease, leased_until = excluded.leased_until
        where coalesce(link_host.leased_until, '-infinity') <= ${timeOf(now)}
        returning ${milliseconds(timeOf(now))} as now`,
  )
  return rows.length > 0
}

/** Gives a lease back. */
export function releaseHost(db: Db, { host, id }: HostLease) {
  return execute(
    db,
    sql`update link_host
        set lease = null, leased_until = null
        where host = ${host} and lease = ${id}::uuid`,
  )
}

const PaceRow = Type.Object({
  pace: Type.Unsafe<HostPace>(Type.Object({})),
  lease: nullable(Type.String()),
  now: Type.Integer(),
})

/** Locks the pace of a host until the end of the transaction. Adds the host if it is not there. */
export async function lockPace(tx: Db, host: string, pace: HostPace, now: number | undefined) {
  await execute(
    tx,
    sql`insert into link_host (host, pace, next_turn)
        values (${host}, ${JSON.stringify(pace)}::jsonb, '-infinity')
        on conflict (host) do nothing`,
  )
  const [row] = await writeReturning(
    tx,
    PaceRow,
    sql`select pace, lease, ${milliseconds(timeOf(now))} as now
        from link_host
        where host = ${host}
        for no key update`,
  )
  return row as Static<typeof PaceRow>
}

/** Extends a lease. Returns whether this process still has it. */
export async function extendLease(
  db: Db,
  { host, id, seconds }: HostLease,
  now: number | undefined,
): Promise<boolean> {
  const count = await execute(
    db,
    sql`update link_host
        set leased_until = ${timeOf(now)} + make_interval(secs => ${seconds}::double precision)
        where host = ${host} and lease = ${id}::uuid`,
  )
  return count > 0
}

/** Saves the pace of a host that is locked. */
export function savePace(
  tx: Db,
  host: string,
  { pace, nextTurn }: { pace: HostPace; nextTurn: number },
) {
  return execute(
    tx,
    sql`update link_host
        set pace = ${JSON.stringify(pace)}::jsonb, next_turn = ${fromMilliseconds(nextTurn)}
        where host = ${host}`,
  )
}

const AskedHost = Type.Object({
  host: Type.String(),
  lastRefusal: nullable(Type.Integer()),
  lastAnswer: nullable(Type.Integer()),
})

/** Lists the hosts that answered or refused a request since a time. */
export function listAskedHosts(db: Db, since: number) {
  return many(
    db,
    AskedHost,
    sql`select host, (pace ->> 'lastRefusal')::bigint as "lastRefusal",
               (pace ->> 'lastAnswer')::bigint as "lastAnswer"
        from link_host
        where greatest((pace ->> 'lastRefusal')::bigint, (pace ->> 'lastAnswer')::bigint)
              > ${since}::bigint
        order by host`,
  )
}

const RobotsRow = Type.Object({
  robots: nullable(Type.Unsafe<Robots>(Type.Object({}))),
  read: nullable(Type.Integer()),
})

/** Finds the rules of the robots.txt of a host, and when it was read. */
export function findRobots(db: Db, host: string) {
  return maybe(
    db,
    RobotsRow,
    sql`select robots, ${milliseconds(sql`robots_read`)} as read
        from link_host
        where host = ${host}`,
  )
}

/** Saves the rules of the robots.txt of a host, which was asked before. */
export function saveRobots(db: Db, host: string, robots: Robots, now: number) {
  return execute(
    db,
    sql`update link_host
        set robots = ${JSON.stringify(robots)}::jsonb, robots_read = ${fromMilliseconds(now)}
        where host = ${host}`,
  )
}

const StoredHealth = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  host: Type.String(),
  owner: nullable(Type.String()),
  evidence: nullable(Type.String()),
  copiesSearched: nullable(Type.Integer()),
  isUsed: Type.Boolean(),
  state: State,
  since: Type.Integer(),
  lastCheck: nullable(Type.Integer()),
  lastGood: nullable(Type.Integer()),
  pinnedUntil: nullable(Type.Integer()),
  nextCheck: Type.Integer(),
  health: Type.Unsafe<StoredRest>(Type.Object({})),
})
/** What the columns of a source do not have of its health. Empty before the first check. */
type StoredRest = Partial<
  Pick<SourceHealth, 'strikes' | 'looks' | 'refusals' | 'goodLooks' | 'returns'>
>

/** A source as the checker sees it. */
export interface CheckedSource
  extends Pick<
    Static<typeof StoredHealth>,
    'id' | 'url' | 'host' | 'owner' | 'lastCheck' | 'evidence' | 'copiesSearched'
  > {
  /** Whether a talk has it that is not removed. */
  readonly isUsed: boolean
  readonly health: SourceHealth
}

const checkedColumns = sql`
  id, url, host, owner, evidence, state, ${milliseconds(sql`since`)} as since,
  ${milliseconds(sql`last_check`)} as "lastCheck", ${milliseconds(sql`last_good`)} as "lastGood",
  ${milliseconds(sql`pinned_until`)} as "pinnedUntil",
  ${milliseconds(sql`next_check`)} as "nextCheck", health,
  ${milliseconds(sql`copies_searched`)} as "copiesSearched",
  exists (select
          from video_source
          join video on video.id = video_id
          where source_id = source.id and taken_down is null and merged_into is null) as "isUsed"`

function toChecked(row: Static<typeof StoredHealth>): CheckedSource {
  const { id, url, host, owner, evidence, copiesSearched, isUsed, lastCheck, health, ...columns } =
    row
  const { strikes = null, looks = [], refusals = [], goodLooks = 0, returns = [] } = health
  return {
    ...{ id, url, host, owner, evidence, copiesSearched, isUsed, lastCheck },
    health: { ...columns, strikes, looks, refusals, goodLooks, returns },
  }
}

/**
 * Lists sources of a host that are due, the longest due first. Then those that are there and due
 * within the next `aheadMs`: for others the time of a check matters.
 */
export async function listDueSources(
  db: Db,
  host: string,
  { limit, aheadMs }: { readonly limit: number; readonly aheadMs: number },
  now: number | undefined,
): Promise<CheckedSource[]> {
  const rows = await many(
    db,
    StoredHealth,
    sql`select ${checkedColumns}
        from source
        where host = ${host}
          and next_check <= ${timeOf(now)} + ${aheadMs / 1000} * interval '1 s'
          and (next_check <= ${timeOf(now)} or state = 'ok')
        order by next_check, id
        limit ${limit}::integer`,
  )
  return rows.map(toChecked)
}

/** Locks a source until the end of the transaction. */
export async function lockSource(tx: Db, id: number): Promise<CheckedSource | undefined> {
  const [row] = await writeReturning(
    tx,
    StoredHealth,
    sql`select ${checkedColumns} from source where id = ${id}::bigint for no key update`,
  )
  return row && toChecked(row)
}

/**
 * Finds sources of a host and of other owners that have been there for the longest time, to compare
 * its answers with.
 */
export async function listControlSources(
  db: Db,
  { id, host, owner }: Pick<CheckedSource, 'id' | 'host' | 'owner'>,
  limit: number,
): Promise<CheckedSource[]> {
  const rows = await many(
    db,
    StoredHealth,
    sql`select ${checkedColumns}
        from source
        where host = ${host}
          and state = 'ok'
          and pinned_until is null
          and id <> ${id}::bigint
          and (owner is null or owner is distinct from ${owner}::text)
        order by since
        limit ${limit}::integer`,
  )
  return rows.map(toChecked)
}

const OwnerFigures = Type.Object({ known: Type.Integer(), bad: Type.Integer() })

/** Counts the sources of an owner that were checked since a time, and those that were away. */
export function countOfOwner(db: Db, host: string, owner: string, since: number) {
  return one(
    db,
    OwnerFigures,
    sql`select count(*)::integer as known,
               count(*) filter (
                 where health -> 'looks' -> -1 ->> 'verdict' = any (${[...awayStates]}::text[])
               )::integer as bad
        from source
        where host = ${host} and owner = ${owner} and last_check >= ${fromMilliseconds(since)}`,
  )
}

export interface CheckResult {
  readonly id: number
  readonly health: SourceHealth
  readonly owner: string | null
  readonly evidence: string | null
  /** When it was checked; null if only its settings changed. */
  readonly checked: number | null
  readonly at: number
  readonly change?: StateChange | undefined
}

/** Saves what is known of a source that is locked, and the change of its state in the history. */
export function saveSource(
  tx: Db,
  { id, health, owner, evidence, checked, at, change }: CheckResult,
  origin: Origin,
  requestHash: Buffer,
) {
  const { state, since, lastGood, pinnedUntil, nextCheck, ...rest } = health
  const { strikes, looks, refusals, goodLooks, returns } = rest
  const saved = sql`
    update source
    set state = ${state}, since = ${fromMilliseconds(since)},
        revision = revision + ${change ? 1 : 0}::integer,
        owner = ${owner}::text, evidence = ${evidence}::text,
        last_check = coalesce(${fromMilliseconds(checked)}, last_check),
        last_good = ${fromMilliseconds(lastGood)},
        pinned_until = ${fromMilliseconds(pinnedUntil)},
        next_check = ${fromMilliseconds(nextCheck)},
        health = ${JSON.stringify({ strikes, looks, refusals, goodLooks, returns })}::jsonb
    where id = ${id}::bigint`
  if (!change) return execute(tx, saved)
  return execute(
    tx,
    sql`with saved as (${saved} returning id, revision)
        ${insertChange({
          subject: 'source',
          kind: 'updated',
          before: { state: change.from },
          after: { state: change.to, evidence },
          ids: {},
          at: new Date(at).toISOString(),
          origin,
          requestHash,
        })}`,
  )
}

/** Selects sources of a host whose pin is not the given one; without one, those that have a pin. */
const pinnedOtherwise = (host: string, pin: Pin | undefined) => sql`
  host = ${host}
  and ${
    pin
      ? sql`(state <> ${pin.state}
             or pinned_until is distinct from ${fromMilliseconds(pin.until)})`
      : sql`pinned_until is not null`
  }
  and exists (select
              from video_source
              join video on video.id = video_id
              where source_id = source.id and taken_down is null and merged_into is null)`

export interface Pin {
  readonly state: SourceState
  readonly until: number
}

/** Locks the next sources of a host whose pin is not the given one. */
export async function lockPinnedOtherwise(
  tx: Db,
  host: string,
  pin: Pin | undefined,
  limit: number,
): Promise<CheckedSource[]> {
  const rows = await writeReturning(
    tx,
    StoredHealth,
    sql`select ${checkedColumns}
        from source
        where ${pinnedOtherwise(host, pin)}
        order by id
        limit ${limit}::integer
        for no key update`,
  )
  return rows.map(toChecked)
}

/** Counts the sources of a host whose pin is not the given one, up to a limit. */
export async function countPinnedOtherwise(
  db: Db,
  host: string,
  pin: Pin | undefined,
  limit: number,
): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*)::integer as count
        from (select from source where ${pinnedOtherwise(host, pin)} limit ${limit}::integer)
          as found`,
  )
  return row.count
}

/** Saves the pins of sources that are locked, and the changes of their states in the history. */
export function savePins(
  tx: Db,
  sources: readonly Pick<CheckResult, 'id' | 'health' | 'change'>[],
  { at, hasPin }: { readonly at: number; readonly hasPin: boolean },
  origin: Origin,
  requestHash: Buffer,
) {
  const rows = sources.map(({ id, health, change }) => {
    const { state, since, lastGood, pinnedUntil, nextCheck, ...rest } = health
    const { strikes, looks, refusals, goodLooks, returns } = rest
    return {
      ...{ id, state, since, lastGood, pinnedUntil, nextCheck },
      health: { strikes, looks, refusals, goodLooks, returns },
      from: change?.from ?? null,
      to: change?.to ?? null,
    }
  })
  const time = (column: Sql) => sql`to_timestamp(${column} / 1000.0)`
  return execute(
    tx,
    sql`with input as materialized (
          select *
          from json_to_recordset(${JSON.stringify(rows)}::json) as input (
                 id bigint, state text, since bigint, "lastGood" bigint, "pinnedUntil" bigint,
                 "nextCheck" bigint, health jsonb, "from" text, "to" text)
        ), saved as (
          update source
          set state = input.state,
              since = ${time(sql`input.since`)},
              revision = source.revision + (input."to" is not null)::integer,
              evidence = ${hasPin ? sql`null` : sql`source.evidence`},
              last_good = ${time(sql`"lastGood"`)},
              pinned_until = ${time(sql`"pinnedUntil"`)},
              next_check = ${time(sql`"nextCheck"`)},
              health = input.health
          from input
          where source.id = input.id
          returning source.id, source.revision, source.evidence, input."from", input."to"
        )
        ${insertChanges(
          'source',
          'updated',
          origin,
          requestHash,
          sql`select id, revision, jsonb_build_object('state', "from"),
                     jsonb_build_object('state', "to", 'evidence', evidence), '{}'::jsonb,
                     ${fromMilliseconds(at)}
              from saved
              where "to" is not null`,
        )}`,
  )
}

const Only = Type.Object({ isOnly: Type.Boolean() })

/** Tells whether a live talk has this source and none of another operator that is there. */
export async function isOnlyCopy(db: Db, id: number): Promise<boolean> {
  const row = await one(
    db,
    Only,
    sql`select exists (
          select
          from video_source as own
          join live_video as video on video.id = own.video_id
          join source as this on this.id = own.source_id
          where own.source_id = ${id}::bigint
            and not exists (select
                            from video_source as other
                            join source on source.id = other.source_id
                            where other.video_id = own.video_id
                              and source.operator <> this.operator
                              and not ${isMissing})
        ) as "isOnly"`,
  )
  return row.isOnly
}

/** Records when copies of a source were searched. */
export function saveSearch(db: Db, id: number, at: number) {
  return execute(
    db,
    sql`update source set copies_searched = ${fromMilliseconds(at)} where id = ${id}::bigint`,
  )
}

/** Sets when sources are checked next. */
export function putOff(db: Db, ids: readonly number[], until: number, evidence: string | null) {
  return execute(
    db,
    sql`update source
        set next_check = ${fromMilliseconds(until)},
            evidence = coalesce(${evidence}::text, evidence)
        where id = any (${ids}::bigint[])`,
  )
}

/** Makes a source due now. Returns whether there is one. */
export async function makeDue(db: Db, id: number): Promise<boolean> {
  const count = await execute(
    db,
    sql`update source set next_check = least(next_check, now()) where id = ${id}::bigint`,
  )
  return count > 0
}

const StateCount = Type.Object({ state: Type.String(), count: Type.Integer() })

/** Counts the sources that talks have, by state. */
export function countByState(db: Db) {
  return many(
    db,
    StateCount,
    sql`select state, count(*)::integer as count
        from source
        where exists (select from video_source where source_id = source.id)
        group by state`,
  )
}

const Due = Type.Object({ seconds: Type.Number() })

/**
 * Returns for how long the source that is due longest has been due; 0 if none is. Hosts that are
 * paused or whose budget is spent are left out: their sources wait as they should.
 */
export async function oldestDueSeconds(db: Db): Promise<number> {
  const row = await one(
    db,
    Due,
    sql`with recursive ${everyHost}
        select greatest(0, extract(epoch from now() - min(first.next_check)))::double precision
                 as seconds
        from every
        cross join lateral (
          select next_check
          from source
          where source.host = every.host
          order by next_check
          limit 1
        ) as first
        left join link_host using (host)
        where coalesce(next_turn, '-infinity') <= now() + interval '1 minute'`,
  )
  return row.seconds
}

/**
 * Counts the hosts that are not asked for a time because they refused, and answered within the last
 * two weeks: the sources of the others are unreachable meanwhile.
 */
export async function countPausedHosts(db: Db): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*)::integer as count
        from link_host
        where (pace ->> 'pausedUntil')::bigint > ${milliseconds(sql`now()`)}
          and coalesce(
                to_timestamp((pace ->> 'refusingSince')::bigint / 1000.0)
                  > now() - interval '14 days',
                true)`,
  )
  return row.count
}

const Time = Type.Object({ now: Type.Integer() })

/** Reads the time of the database. */
export async function readTime(db: Db): Promise<number> {
  return (await one(db, Time, sql`select ${milliseconds(sql`clock_timestamp()`)} as now`)).now
}
