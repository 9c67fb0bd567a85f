import { Alias, type Fact, type Profile } from '@talkshelf/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, many, one } from '../platform/db/db.ts'
import { fieldColumnNames } from '../videos/videos.ts'

// Reads batches of rows, each after the last id of the one before: the first rows come at once, and
// the database never sorts.

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

/** Which records and names are exported. */
export interface ExportScope {
  readonly drafts: boolean
  readonly takenDown: boolean
  /** Only these. */
  readonly ids?: readonly number[] | undefined
}

const Names = Type.Array(Type.String())
const FileLength = Type.Unsafe<number | null>(MaybeInteger)
const VideoRow = Type.Object({
  id: Type.Integer(),
  revision: Type.Integer(),
  category: Type.String(),
  language: Type.String(),
  slug: Type.String(),
  speakers: Names,
  tags: Names,
  state: Type.Union([Type.Literal(1), Type.Literal(2)]),
  title: Type.String(),
  summary: Type.String(),
  description: Type.String(),
  quality_notes: Type.String(),
  copyright_text: Type.String(),
  embed: Type.String(),
  thumbnail_url: MaybeText,
  duration: MaybeInteger,
  video_ogv_length: FileLength,
  video_ogv_url: MaybeText,
  video_ogv_download_only: Type.Boolean(),
  video_mp4_length: FileLength,
  video_mp4_url: MaybeText,
  video_mp4_download_only: Type.Boolean(),
  video_webm_length: FileLength,
  video_webm_url: MaybeText,
  video_webm_download_only: Type.Boolean(),
  video_flv_length: FileLength,
  video_flv_url: MaybeText,
  video_flv_download_only: Type.Boolean(),
  source_url: MaybeText,
  whiteboard: Type.String(),
  recorded: MaybeText,
  added: Type.String(),
  updated: Type.String(),
  taken_down: MaybeText,
  takedown_reason: MaybeText,
  merged_into: Type.Union([Type.Integer(), Type.Null()]),
  facts: Type.Union([Type.Array(Type.Unsafe<Fact>({})), Type.Null()]),
})
export type VideoRow = Static<typeof VideoRow>

/**
 * Lists records from their rows, not from the cached bodies: those that were taken down have no
 * body, and until a rename is done a body still has the old name.
 */
export function listExportedVideos(
  db: Db,
  after: number,
  upTo: number,
  { drafts, takenDown }: ExportScope,
  limit: number,
) {
  return many(
    db,
    VideoRow,
    sql`select video.*, category.title as category, language.name as language,
               ${namesOf('speaker')} as speakers,
               ${namesOf('tag')} as tags,
               (select facts from video_facts where video_facts.id = video.id) as facts
        from (select id, revision, slug, category_id, language_id, speaker_ids, tag_ids,
                     ${fieldColumnNames},
                     ${utcText(sql`added`)} as added, ${utcText(sql`updated`)} as updated,
                     taken_down, takedown_reason, merged_into
              from video
              where id > ${after}::bigint
                and id <= ${upTo}::bigint
                ${drafts ? empty : sql`and state = 1`}
                ${takenDown ? empty : sql`and taken_down is null`}
              order by id
              limit ${limit}::integer) as video
        join category as stored on stored.id = category_id
        join category on category.id = coalesce(stored.merged_into, stored.id)
        join language on language.id = language_id
        order by video.id`,
  )
}

const Ids = Type.Array(Type.Integer())
const LiveVideo = Type.Object({
  revision: Type.Integer(),
  body: Type.String(),
  facts: Type.Union([Type.Array(Type.Unsafe<Fact>({})), Type.Null()]),
  /** The entities behind the names. */
  ids: Type.Object({ category: Type.Integer(), speakers: Ids, tags: Ids }),
})

export type LiveVideo = Static<typeof LiveVideo>

/** Lists live records as anyone reads them: by their cached bodies. */
export function listLiveVideos(db: Db, ids: readonly number[]) {
  return many(
    db,
    LiveVideo,
    sql`select video_body.revision, body,
               (select facts from video_facts where video_facts.id = video.id) as facts,
               jsonb_build_object('category', coalesce(stored.merged_into, stored.id),
                                  'speakers', ${targetsOf('speaker', sql`target.id`)},
                                  'tags', ${targetsOf('tag', sql`target.id`)}) as ids
        from video_body
        join video using (id)
        join category as stored on stored.id = category_id
        where video_body.id = any (${ids}::bigint[]) and live
        order by video_body.id`,
  )
}

const namesOf = (kind: 'speaker' | 'tag') => targetsOf(kind, sql`target.name`)

/** Selects a column of the entities of a record: for a merged one that of its target. */
function targetsOf(kind: 'speaker' | 'tag', column: Sql): Sql {
  const [table, ids] = [raw(kind), raw(`${kind}_ids`)]
  return sql`array(select ${column}
                     from unnest(${ids}) with ordinality as reference (id, ordinal)
                     join ${table} as stored using (id)
                     join ${table} as target on target.id = coalesce(stored.merged_into, stored.id)
                     order by ordinal)`
}

const utcText = (column: Sql) =>
  sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`

const About = Type.Object({
  description: Type.String(),
  url: MaybeText,
  start_date: MaybeText,
  end_date: MaybeText,
})
const EntityRow = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
  old_slugs: Names,
  retired_slugs: Names,
  aliases: Type.Array(Alias),
  revision: Type.Integer(),
  about: Type.Union([About, Type.Null()]),
  profile: Type.Unsafe<Profile>(Type.Object({})),
})
export type EntityRow = Static<typeof EntityRow>

export const exportedKinds = ['category', 'speaker', 'tag'] as const
export type ExportedKind = (typeof exportedKinds)[number]

/**
 * Lists the entities of a kind. Without drafts it leaves out what is not public: speakers and
 * tags without live talks, hidden aliases, and old slugs, which may contain a hidden name.
 */
export function listExportedEntities(
  db: Db,
  kind: ExportedKind,
  after: number,
  { drafts, ids }: ExportScope,
  limit: number,
) {
  const name = raw(kind === 'category' ? 'title' : 'name')
  const about =
    kind === 'category'
      ? sql`jsonb_build_object('description', description, 'url', url,
                                  'start_date', start_date, 'end_date', end_date)`
      : sql`null::jsonb`
  const andHasTalks =
    drafts || kind === 'category'
      ? empty
      : sql`and (select sum(talks)
               from talk_count
               where talk_count.kind = ${kind} and talk_count.entity_id = entity.id) > 0`
  const slugs = (condition: Sql) =>
    drafts
      ? sql`array(select entity_slug.slug
                     from entity_slug
                     where entity_slug.kind = ${kind}
                       and entity_slug.entity_id = entity.id
                       and ${condition}
                     order by 1)`
      : sql`'{}'::text[]`
  return many(
    db,
    EntityRow,
    sql`select id, ${name} as name, slug, revision,
               ${about} as about,
               ${kind === 'tag' ? sql`'{}'::jsonb` : sql`profile`} as profile,
               ${slugs(sql`entity_slug.slug <> entity.slug and not retired`)} as old_slugs,
               ${slugs(sql`retired`)} as retired_slugs,
               (select coalesce(jsonb_agg(jsonb_build_object('name', other.name,
                                                             'shown', other.shown)
                                          order by other.name collate "C"), '[]')
                from entity_name as other
                where other.kind = ${kind}
                  and other.entity_id = entity.id
                  and other.name <> entity.${name}
                  ${drafts ? empty : sql`and other.shown`}) as aliases
        from ${raw(kind)} as entity
        where id > ${after}::bigint
          ${ids ? sql`and id = any (${ids}::bigint[])` : empty}
          and merged_into is null
          ${andHasTalks}
        order by id
        limit ${limit}::integer`,
  )
}

const Now = Type.Object({ now: Type.String() })

/** Returns the time at which the transaction started. */
export async function readSnapshotTime(db: Db): Promise<string> {
  return (await one(db, Now, sql`select ${utcText(sql`now()`)} as now`)).now
}

const Withdrawal = Type.Object({ at: MaybeText })

/**
 * Returns when public data was last withdrawn: by a takedown, a merge, a talk that became a draft,
 * a name that was changed or hidden, or a profile of a speaker that was changed. The conditions are
 * those of the index change_withdrawn.
 */
export async function findLastWithdrawal(db: Db): Promise<Date | undefined> {
  const { at } = await one(
    db,
    Withdrawal,
    sql`select ${utcText(sql`greatest(max(at), (select max(applied) from name_change))`)} as at
        from change
        where kind in ('taken-down', 'merged')
          or subject = 'video' and before @> '{"state": 1}' and after @> '{"state": 2}'
          or subject in ('category', 'speaker', 'tag')
             and (before ?| '{name,title}'
                  or jsonb_path_exists(before, '$.aliases[*] ? (@.shown == true)'))
          or subject = 'speaker'
             and (before ->> 'description' <> ''
                  or before ->> 'pronouns' <> ''
                  or before ->> 'picture_url' <> ''
                  or jsonb_path_exists(before, '$.links[*]'))`,
  )
  return at === null ? undefined : new Date(`${at}Z`)
}
