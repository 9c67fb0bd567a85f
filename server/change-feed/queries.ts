import { feedKinds, feedStates, unavailableStates } from '@talkshelf/contract'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { thisDatabase } from '../platform/db/database-identity.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'

// SQL of the change feed: what is public now, the entries, and how far the feed is.

export type FeedKind = (typeof feedKinds)[number]

/** A record or an entity. */
export interface FeedSubject {
  readonly kind: FeedKind
  readonly id: number
}

const Kind = Type.Unsafe<FeedKind>(Type.Union(feedKinds.map((kind) => Type.Literal(kind))))
const State = Type.Unsafe<(typeof feedStates)[number]>(
  Type.Union(feedStates.map((state) => Type.Literal(state))),
)
const Subject = Type.Object({ kind: Kind, id: Type.Integer() })

const digestText = (digest: Sql) => sql`lpad(to_hex(${digest}), 16, '0')`

const Head = Type.Object({
  seq: Type.Integer(),
  digest: Type.String(),
  isReady: Type.Boolean(),
  isBehind: Type.Boolean(),
})
export type Head = Static<typeof Head>

/**
 * Reads how far the feed is. `isReady` is false while all that is public is compared with the feed;
 * `isBehind` tells that there are changes to read.
 */
export function readHead(db: Db) {
  return one(
    db,
    Head,
    sql`select seq, ${digestText(sql`digest`)} as digest,
               database = identity and comparing is null as "isReady",
               database <> identity
                 or comparing is not null
                 or reading is not null
                 -- In this order the index is used. With exists(), all changes would be read: the
                 -- planner expects a match among the first of them.
                 or (select true
                     from change
                     where xid >= pg_snapshot_xmin(read)
                       and not pg_visible_in_snapshot(xid, read)
                       -- In a copied database, ids of the old server may be in the future.
                       and pg_visible_in_snapshot(xid, pg_current_snapshot())
                     order by xid, change.position
                     limit 1) is not null
                   as "isBehind"
        from feed_head
        cross join (select ${thisDatabase} as identity) as this`,
  )
}

const FeedWindow = Type.Object({
  read: Type.String(),
  reading: Type.String(),
  position: Type.Integer(),
  comparing: Type.Union([Kind, Type.Null()]),
  compared: Type.Integer(),
})
export type FeedWindow = Static<typeof FeedWindow>

/**
 * Starts the next window, unless one has been started: the changes between two snapshots. Starts to
 * compare all public state with the feed if this is a copy of another database. Returns how far
 * both are.
 */
export async function startWindow(tx: Db) {
  await execute(
    tx,
    sql`update feed_head
        set database = ${thisDatabase}, read = pg_current_snapshot(), reading = null, position = 0,
            comparing = ${feedKinds[0]}, compared = 0
        where database <> ${thisDatabase}`,
  )
  await execute(
    tx,
    sql`update feed_head set reading = pg_current_snapshot(), position = 0 where reading is null`,
  )
  return one(
    tx,
    FeedWindow,
    sql`select read::text, reading::text, position, comparing, compared from feed_head`,
  )
}

const Id = Type.Object({ id: Type.Integer() })

const Change = Type.Object({
  kind: Type.Union([Kind, Type.Literal('source')]),
  id: Type.Integer(),
  position: Type.Integer(),
})

/**
 * Lists what the next changes of the window have changed, oldest first. Facts are of records. The
 * snapshots are parameters, so that the planner knows how few of all changes are in the window.
 */
export function listNextChanges(tx: Db, { read, reading, position }: FeedWindow, limit: number) {
  return many(
    tx,
    Change,
    sql`select case subject when 'facts' then 'video' else subject end as kind,
               subject_id as id, position
        from change
        where xid >= pg_snapshot_xmin(${read}::pg_snapshot)
          and not pg_visible_in_snapshot(xid, ${read}::pg_snapshot)
          and pg_visible_in_snapshot(xid, ${reading}::pg_snapshot)
          and position > ${position}::bigint
        order by position
        limit ${limit}::integer`,
  )
}

/** Lists the records that have one of these sources. */
export async function listVideosWith(tx: Db, sourceIds: readonly number[]): Promise<number[]> {
  const rows = await many(
    tx,
    Id,
    sql`select distinct video_id as id
        from video_source
        where source_id = any (${sourceIds}::bigint[])
        order by 1`,
  )
  return rows.map(({ id }) => id)
}

/** Remembers how far the window was read; without a position all of it. */
export function finishChanges(tx: Db, position: number | undefined) {
  return execute(
    tx,
    position === undefined
      ? sql`update feed_head set read = reading, reading = null, position = 0`
      : sql`update feed_head set position = ${position}`,
  )
}

/** Remembers which public state has been compared; null if all of it was. */
export function finishComparison(tx: Db, kind: FeedKind | null, id: number) {
  return execute(tx, sql`update feed_head set comparing = ${kind}::text, compared = ${id}`)
}

/** Lists the next ids of a kind, also of drafts and merged ones. */
export async function listIds(tx: Db, kind: FeedKind, after: number, limit: number) {
  const rows = await many(
    tx,
    Id,
    sql`select id
        from ${raw(kind)}
        where id > ${after}::bigint
        order by id
        limit ${limit}::integer`,
  )
  return rows.map(({ id }) => id)
}

/**
 * Lists all whose public state can depend on these records and entities: also records that were
 * merged into them, and the entities that they have or had.
 */
export function listDependents(
  tx: Db,
  videoIds: readonly number[],
  entities: readonly FeedSubject[],
) {
  return many(
    tx,
    Subject,
    sql`with changed_video as materialized (
          select id from unnest(${videoIds}::bigint[]) as id
          union
          select merged.id
          from unnest(${videoIds}::bigint[]) as target
          cross join lateral merged_videos(target) as merged (id)
        ), changed_entity as materialized (
          select kind, id
          from unnest(${entities.map(({ kind }) => kind)}::text[],
                      ${entities.map(({ id }) => id)}::bigint[]) as changed (kind, id)
          union
          select owner.kind, owner.id
          from changed_video
          join video using (id)
          cross join lateral (
            select 'category' as kind, category_id as id
            union all
            select 'speaker', unnest(speaker_ids)
            union all
            select 'tag', unnest(tag_ids)
          ) as owner
          union
          select split_part(owner, ':', 1), split_part(owner, ':', 2)::bigint
          from changed_video
          cross join lateral (
            select belongs_to
            from feed_entry
            where feed_entry.kind = 'video' and feed_entry.id = changed_video.id
            order by seq desc
            limit 1
          ) as latest
          cross join lateral unnest(latest.belongs_to) as owner
          where owner not like 'language:%'
        )
        select 'video' as kind, id from changed_video
        union all
        select kind, id from changed_entity
        union
        select 'category', category.id
        from changed_entity join category on category.merged_into = changed_entity.id
        where changed_entity.kind = 'category'
        union
        select 'speaker', speaker.id
        from changed_entity join speaker on speaker.merged_into = changed_entity.id
        where changed_entity.kind = 'speaker'
        union
        select 'tag', tag.id
        from changed_entity join tag on tag.merged_into = changed_entity.id
        where changed_entity.kind = 'tag'`,
  )
}

/** Hashes a value with the key of the feed: a version must not confirm a guess of its content. */
const keyedHash = (value: Sql) =>
  sql`left(encode(sha256((select secret from feed_head) || convert_to((${value})::text, 'UTF8')),
                  'hex'), 16)`

/**
 * Selects the public state of records: what an anonymous GET returns, and which of its sources
 * cannot be watched. Without any of these, the version is the one that it was before sources were
 * checked.
 */
const videoStates = (ids: readonly number[]) => sql`
  select 'video' as kind, own.id, computed.state,
         case when computed.state = 'live' then
           own.id || '.' || own.revision || '.'
           || ${keyedHash(
             sql`jsonb_build_array(own.etag, facts.facts)
                 || coalesce(unavailable.sources, '[]')`,
           )}
         end as version,
         case when computed.state = 'merged' then target.id end as merged_into,
         case when computed.state = 'live' then
           array['category:' || coalesce(category.merged_into, category.id)]
           || array(select 'speaker:' || coalesce(merged_into, id)
                    from speaker where id = any (speaker_ids) order by 1)
           || array(select 'tag:' || coalesce(merged_into, id)
                    from tag where id = any (tag_ids) order by 1)
           || array['language:' || language.code]
         else '{}' end as belongs_to
  from video_body as own
  join video_body as target
    on target.id = case when own.merged_into is null then own.id else merge_target(own.id) end
  join video on video.id = own.id
  join category on category.id = category_id
  join language on language.id = language_id
  left join lateral (
    select jsonb_agg(fact order by ordinal) as facts
    from video_facts
    cross join lateral jsonb_array_elements(facts) with ordinality as fact (fact, ordinal)
    where video_facts.id = own.id and fact ->> 'kind' <> 'said'
  ) as facts on true
  left join lateral (
    select jsonb_agg(array[source.id::text, source.state] order by source.id) as sources
    from video_source
    join source on source.id = source_id
    where video_source.video_id = own.id
      and source.state = any (${[...unavailableStates]}::text[])
  ) as unavailable on true
  cross join lateral (
    select case
             when target.taken_down is not null then 'taken-down'
             when not target.live then 'hidden'
             when target.id <> own.id then 'merged'
             else 'live'
           end as state
  ) as computed
  where own.id = any (${ids}::bigint[])`

/** Selects the public state of entities. A speaker or tag is public while it has live talks. */
function entityStates(kind: Exclude<FeedKind, 'video'>, ids: readonly number[]): Sql {
  const [table, isCategory] = [raw(kind), kind === 'category']
  const talks = sql`
    exists (select
            from talk_count
            where talk_count.kind = ${kind}
              and talk_count.entity_id = coalesce(entity.merged_into, entity.id)
            having sum(talks) > 0)`
  const described = isCategory
    ? sql`, title, description, url, start_date, end_date, profile`
    : sql`, name ${kind === 'speaker' ? sql`, profile` : empty}`
  return sql`
    select ${kind} as kind, entity.id, state,
           case when state = 'live' then
             ${keyedHash(
               sql`jsonb_build_array(
                     slug,
                     array(select other.slug
                           from entity_slug as other
                           where other.kind = ${kind}
                             and other.entity_id = entity.id
                             and not retired
                           order by other.slug collate "C"),
                     array(select other.name
                           from entity_name as other
                           where other.kind = ${kind} and other.entity_id = entity.id and shown
                           order by other.name collate "C")
                     ${described})`,
             )}
           end as version,
           case when state = 'merged' then merged_into end as merged_into,
           '{}'::text[] as belongs_to
    from ${table} as entity
    cross join lateral (
      select case
               when not ${isCategory ? sql`true` : talks} then 'hidden'
               -- In a mirror: a row without content.
               when merged_into = entity.id then 'hidden'
               when merged_into is not null then 'merged'
               else 'live'
             end as state
    ) as computed
    where entity.id = any (${ids}::bigint[])`
}

/**
 * Appends an entry for each of these whose public state differs from its newest entry. Entities
 * come before the records that name them, and leave after them.
 */
export async function appendEntries(tx: Db, subjects: readonly FeedSubject[]): Promise<void> {
  const idsOf = (wanted: FeedKind) =>
    subjects.filter(({ kind }) => kind === wanted).map(({ id }) => id)
  const states = join(
    [
      videoStates(idsOf('video')),
      entityStates('category', idsOf('category')),
      entityStates('speaker', idsOf('speaker')),
      entityStates('tag', idsOf('tag')),
    ],
    ' union all ',
  )
  await execute(
    tx,
    sql`with input as (
          select kind, id, ordinal
          from unnest(${subjects.map(({ kind }) => kind)}::text[],
                      ${subjects.map(({ id }) => id)}::bigint[])
            with ordinality as input (kind, id, ordinal)
        ), changed as (
          select current.*,
                 case latest.state
                   when 'live' then latest.belongs_to
                   -- Followers of a category also hear of a takedown after it was hidden.
                   else coalesce(latest.belonged_to, '{}')
                 end as belonged_before,
                 feed_hash(current.kind, current.id, current.state, current.version,
                           current.merged_into)
                 # feed_hash(latest.kind, latest.id, latest.state, latest.version,
                             latest.merged_into) as difference,
                 row_number() over (
                   order by
                     case
                       when current.kind = 'video' then 1
                       when current.state = 'live' then 0
                       else 2
                     end,
                     input.ordinal
                 ) as number
          from (${states}) as current
          join input using (kind, id)
          left join lateral (
            select *
            from feed_entry
            where feed_entry.kind = current.kind and feed_entry.id = current.id
            order by seq desc
            limit 1
          ) as latest on true
          where (current.state, current.version, current.merged_into)
                is distinct from (coalesce(latest.state, 'hidden'), latest.version,
                                  latest.merged_into)
        ), added as (
          insert into feed_entry (
            seq, kind, id, state, version, merged_into, belongs_to, belonged_to, at, digest)
          select head.seq + number, kind, id, state, version, merged_into, belongs_to,
                 array(select unnest(belonged_before) except select unnest(belongs_to) order by 1),
                 greatest(head.at, clock_timestamp()),
                 head.digest # bit_xor(difference) over (order by number)
          from changed
          cross join feed_head as head
          returning seq, at, digest
        )
        update feed_head as head
        set (seq, at, digest) = (latest.seq, latest.at, latest.digest)
        from (select * from added order by seq desc limit 1) as latest`,
  )
}

/**
 * Appends two entries for a record that is taken down: hidden, and taken down again. Its state does
 * not tell that its reason has changed, and followers read the reason with each takedown.
 */
export function appendTakedownAgain(tx: Db, id: number) {
  return execute(
    tx,
    sql`with latest as (
          select *
          from feed_entry
          where kind = 'video' and id = ${id}
          order by seq desc
          limit 1
        ), added as (
          insert into feed_entry (seq, kind, id, state, belongs_to, belonged_to, at, digest)
          select head.seq + number, latest.kind, latest.id, again.state, latest.belongs_to,
                 latest.belonged_to, greatest(head.at, clock_timestamp()),
                 head.digest
                 # case again.state
                     when 'hidden' then feed_hash('video', latest.id, latest.state, null, null)
                     else 0
                   end
          from latest
          cross join (values (1, 'hidden'), (2, 'taken-down')) as again (number, state)
          cross join feed_head as head
          where latest.state = 'taken-down'
          returning seq, at
        )
        update feed_head as head
        set (seq, at) = (newest.seq, newest.at)
        from (select * from added order by seq desc limit 1) as newest`,
  )
}

const Entry = Type.Object({
  seq: Type.Integer(),
  at: Type.String(),
  kind: Kind,
  id: Type.Integer(),
  state: State,
  version: Type.Union([Type.String(), Type.Null()]),
  merged_into: Type.Union([Type.Integer(), Type.Null()]),
  belongs_to: Type.Array(Type.String()),
  belonged_to: Type.Array(Type.String()),
  digest: Type.String(),
  isLatest: Type.Boolean(),
})
export type EntryRow = Static<typeof Entry>

const entryColumns = sql`
  seq, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as at,
  kind, id, state, version, merged_into, belongs_to, belonged_to,
  ${digestText(sql`digest`)} as digest,
  not exists (select
              from feed_entry as later
              where later.kind = entry.kind and later.id = entry.id and later.seq > entry.seq)
    as "isLatest"`

/** Lists entries after a number, oldest first. */
export function listEntries(db: Db, after: number, limit: number) {
  return many(
    db,
    Entry,
    sql`select ${entryColumns}
        from feed_entry as entry
        where seq > ${after}::bigint
        order by seq
        limit ${limit}::integer`,
  )
}

/** Lists the newest entry of each of these, oldest first. */
export function listNewestEntries(db: Db, kind: FeedKind, ids: readonly number[]) {
  return many(
    db,
    Entry,
    sql`select ${entryColumns}
        from unnest(${ids}::bigint[]) as wanted (wanted_id)
        cross join lateral (
          select *
          from feed_entry
          where feed_entry.kind = ${kind} and feed_entry.id = wanted_id
          order by seq desc
          limit 1
        ) as entry
        order by seq`,
  )
}

/** Lists what entries after a number have removed: hidden, merged or taken down. */
export function listRemoved(db: Db, after: number, limit: number) {
  return many(
    db,
    Subject,
    sql`select distinct kind, id
        from feed_entry
        where seq > ${after}::bigint and state <> 'live'
        limit ${limit}::integer`,
  )
}

const Position = Type.Object({ seq: Type.Integer(), digest: Type.String() })
export type Position = Static<typeof Position>

/** Finds an entry by its number. */
export function findPosition(db: Db, seq: number) {
  return maybe(
    db,
    Position,
    sql`select seq, ${digestText(sql`digest`)} as digest from feed_entry where seq = ${seq}`,
  )
}

/** Finds the newest entry up to a time. */
export function findPositionAt(db: Db, time: string) {
  return maybe(
    db,
    Position,
    sql`select seq, ${digestText(sql`digest`)} as digest
        from feed_entry
        where at <= ${time}::timestamptz
        order by at desc, seq desc
        limit 1`,
  )
}
