import assert from 'node:assert/strict'
import type { Video } from '@talkshelf/contract'
import pg from 'pg'
import { renderVideo } from '../../server/videos/wire.ts'

// What must hold in the database at all times, read with SQL of its own instead of the code under
// test.

const timestamp = (column: string, name: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as ${name}`

const entities = `
  select 'category' as kind, id, title as name, slug, revision, merged_into from category
  union all
  select 'speaker' as kind, id, name, slug, revision, merged_into from speaker
  union all
  select 'tag' as kind, id, name, slug, revision, merged_into from tag`

const liveVideos = 'select * from video where state = 1 and taken_down is null'

/**
 * Returns an expression for the revisions that a subject must have. A subject that was imported
 * from an export begins with the revision that it had there.
 */
const revisionsOf = (subject: string, id: string, last: string) => `
  array(
    select generate_series(
      coalesce(
        (
          select min(revision)
          from change
          where subject = ${subject} and subject_id = ${id}
            and kind = 'created' and via = 'import'
        ),
        1
      ),
      ${last}
    )
  )`

/** A statement that finds rows that break an invariant, and what to say about them. */
interface Invariant {
  readonly message: string
  readonly sql: string
}

/** Numbers and rows that triggers keep for each live record. */
const counts: readonly Invariant[] = [
  {
    message: 'a count of live talks is not that of the records',
    sql: `
      select kind, entity_id, stored.talks as stored, counted.talks as counted
      from (
        select kind, entity_id, sum(talks)::int as talks
        from talk_count
        group by kind, entity_id
        having sum(talks) <> 0
      ) as stored
      full join (
        select kind, entity_id, count(*)::int as talks
        from (
          select 'category' as kind, category_id as entity_id from (${liveVideos}) v
          union all
          select 'language', language_id from (${liveVideos}) v
          union all
          select 'speaker', unnest(speaker_ids) from (${liveVideos}) v
          union all
          select 'tag', unnest(tag_ids) from (${liveVideos}) v
        ) as uses
        group by kind, entity_id
      ) as counted using (kind, entity_id)
      where stored.talks is distinct from counted.talks`,
  },
  {
    message: 'a count by year, language and duration is not that of the records',
    sql: `
      select year, language_id, length, stored.talks as stored, counted.talks as counted
      from (
        select case when year_key = 32767 then 0 else 3000 - year_key end as year, language_id,
               length::int, sum(talks)::int as talks
        from talk_cube
        group by 1, 2, 3
        having sum(talks) <> 0
      ) as stored
      full join (
        select coalesce(extract(year from recorded), 0)::int as year, language_id,
               case
                 when coalesce(duration, 0) = 0 then 0
                 else 1 + (duration >= 600)::int + (duration >= 1800)::int + (duration >= 3600)::int
               end as length,
               count(*)::int as talks
        from (${liveVideos}) v
        group by 1, 2, 3
      ) as counted using (year, language_id, length)
      where stored.talks is distinct from counted.talks`,
  },
  {
    message: 'the search index has other records than the live ones',
    sql: `
      select id
      from video_search
      full join (select id from (${liveVideos}) v) as live using (id)
      group by id
      having count(*) filter (where year_key is not null) <> 1 or count(live.id) <> 1`,
  },
]

const always: readonly Invariant[] = [
  {
    message: 'an uploaded picture does not have the hash of its content',
    sql: `select hash from uploaded_picture where hash <> encode(sha256(data), 'hex')`,
  },
  {
    message: 'a record that was taken down still has its text',
    sql: `
      select id
      from video
      join video_body using (id)
      where video.taken_down is not null and body <> ''`,
  },
  {
    message: 'a record, its body and its changes do not agree',
    sql: `
      select v.id, v.revision, b.revision as body_revision, c.revisions
      from video v
      left join video_body b using (id)
      left join lateral (
        select array_agg(revision order by revision) as revisions
        from change
        where subject = 'video' and subject_id = v.id
      ) c on true
      where b.revision is distinct from v.revision
         or b.live is distinct from (v.state = 1 and v.taken_down is null)
         or b.updated is distinct from v.updated
         or c.revisions is distinct from ${revisionsOf("'video'", 'v.id', 'v.revision')}`,
  },
  {
    message:
      'a merged record and its body do not agree, or its target was taken down or is a cycle',
    sql: `
      select v.id, v.merged_into
      from video v
      join video_body b using (id)
      left join video target on target.id = v.merged_into
      where b.merged_into is distinct from v.merged_into
         or target.taken_down is not null
         or merge_target(v.id) is null`,
  },
  {
    message: 'an entity and its changes do not agree',
    sql: `
      select t.kind, t.id, t.revision, h.revisions
      from (${entities}) t
      left join lateral (
        select array_agg(revision order by revision) as revisions
        from change
        where subject = t.kind and subject_id = t.id
      ) h on true
      where coalesce(h.revisions, '{}') <> ${revisionsOf('t.kind', 't.id', 't.revision')}`,
  },
  {
    message: 'facts and their changes do not agree',
    sql: `
      select f.id, f.revision, h.revisions
      from video_facts f
      left join lateral (
        select array_agg(revision order by revision) as revisions
        from change
        where subject = 'facts' and subject_id = f.id
      ) h on true
      where coalesce(h.revisions, '{}') <> array(select generate_series(1, f.revision))`,
  },
  {
    message: 'a change without its subject',
    sql: `
      select subject, subject_id
      from change
      where (subject = 'video' and subject_id not in (select id from video))
         or (subject = 'facts' and subject_id not in (select id from video_facts))
         or (subject = 'source' and subject_id not in (select id from source))
         or (
           subject not in ('video', 'facts', 'source')
           and (subject, subject_id) not in (select kind, id from (${entities}) t)
         )`,
  },
  {
    message: 'the history of a source does not have all changes of its state',
    sql: `
      select id, revision
      from source
      where array(select generate_series(1, revision))
            <> array(select revision
                     from change
                     where subject = 'source' and subject_id = source.id
                     order by 1)`,
  },
  {
    message: 'the sources of a record are not those that it names',
    sql: `
      select video_id, key
      from (select video_id, key from video_source join source on source.id = source_id) as stored
      full join (select video_id, key from sources_of(array(select id from video))) as named
        using (video_id, key)
      where stored is null or named is null`,
  },
  ...counts,
  {
    message: 'records with the same fingerprint are not candidates for duplicates',
    sql: `
      select rule, key
      from (
        select 'same-source' as rule, same_source as key from video where taken_down is null
        union all
        select 'same-talk', same_talk from video where taken_down is null
      ) as fingerprints
      where key is not null
      group by rule, key
      having count(*) > 1
      except
      select rule, key from duplicate_candidate`,
  },
  {
    message: 'a record refers to a speaker or tag that does not exist',
    sql: `
      select id
      from video
      where exists (
              select from unnest(speaker_ids) as used where used not in (select id from speaker)
            )
         or exists (select from unnest(tag_ids) as used where used not in (select id from tag))`,
  },
  {
    // The name and the slug of an entity resolve to it; those of a merged entity to its target.
    message: 'a name or a slug does not resolve to its entity',
    sql: `
      select kind, id, name, slug
      from (${entities}) t
      where case
              when merged_into is null then
                not exists (
                  select from entity_name k
                  where k.kind = t.kind and k.entity_id = t.id and k.name = t.name and k.shown
                )
                or not exists (
                  select from entity_slug k
                  where k.kind = t.kind and k.entity_id = t.id and k.slug = t.slug
                )
              else
                exists (
                  select from (${entities}) o
                  where o.kind = t.kind and o.id = t.merged_into and o.merged_into is not null
                )
                or not exists (
                  select from entity_slug k
                  where k.kind = t.kind and k.entity_id = t.merged_into and k.slug = t.slug
                )
            end
      union all
      select kind, entity_id, name, null
      from entity_name
      where (kind, entity_id) not in (
        select kind, id from (${entities}) t where merged_into is null
      )
      union all
      select kind, entity_id, null, slug
      from entity_slug
      where (kind, entity_id) not in (
        select kind, id from (${entities}) t where merged_into is null
      )`,
  },
]

/** While a rename job is running, records still have the former names and ids. */
const withoutRenameJobs: readonly Invariant[] = [
  {
    message: 'a record still refers to a merged entity',
    sql: `
      select v.id
      from video v
      where exists (
              select from category c where c.id = v.category_id and c.merged_into is not null
            )
         or exists (
              select from speaker s where s.id = any (v.speaker_ids) and s.merged_into is not null
            )
         or exists (select from tag t where t.id = any (v.tag_ids) and t.merged_into is not null)`,
  },
  {
    message: 'the ids of a record before merges do not refer to what it shows',
    sql: `
      select b.kind, video_id
      from ids_before_merge b, unnest(entity_ids, shown_as) as pair (original, shown)
      join (${entities}) t on t.id = original
      where t.kind = b.kind
        and coalesce(t.merged_into, t.id) <> shown
        and exists (
          select from video v
          where v.id = video_id
            and shown = any (
              case b.kind
                when 'category' then array[v.category_id]
                when 'speaker' then v.speaker_ids
                else v.tag_ids
              end)
        )
      union all
      select kind, video_id from ids_before_merge where entity_ids = shown_as`,
  },
  {
    message: 'a row of the search index is not that of its record',
    sql: `
      select id, 'unexpected' as problem
      from (select * from video_search except all select * from search_source) as extra
      union all
      select id, 'missing'
      from (select * from search_source except all select * from video_search) as missing`,
  },
]

/** Fails if an invariant of the database does not hold. */
export async function checkInvariants(databaseUrl: string): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    for (const { message, sql } of always) assert.deepEqual(await query(sql), [], message)
    if ((await query('select from rename_job')).length > 0) return
    for (const { message, sql } of withoutRenameJobs)
      assert.deepEqual(await query(sql), [], message)
    await checkBodies(query)
  })
}

/** Fails if a count differs from a plain one. Also for a large archive. */
export async function checkCounts(databaseUrl: string): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    for (const { message, sql } of counts) assert.deepEqual(await query(sql), [], message)
  })
}

/** The stored body of a record is the rendered row, to the byte. */
async function checkBodies(query: Query): Promise<void> {
  const rows = await query(`
    select v.*,
           ${timestamp('v.added', 'added')},
           ${timestamp('v.updated', 'updated')},
           recorded::text,
           c.title as category,
           l.name as language,
           b.body,
           b.etag,
           array(
             select name
             from unnest(speaker_ids) with ordinality as s (id, position)
             join speaker using (id)
             order by position
           ) as speakers,
           array(
             select name
             from unnest(tag_ids) with ordinality as t (id, position)
             join tag using (id)
             order by position
           ) as tags
    from video v
    join category c on c.id = v.category_id
    join language l on l.id = v.language_id
    join video_body b on b.id = v.id
    where v.taken_down is null`)
  for (const { body, etag, revision, ...row } of rows) {
    const video = { ...row, id: Number(row.id) } as Record<string, unknown>
    for (const field of Object.keys(video))
      if (field.endsWith('_length') && video[field] !== null) video[field] = Number(video[field])
    assert.deepEqual(
      { body, etag },
      renderVideo(video as Video, Number(revision)),
      `the body of record ${row.id} is not that of its row`,
    )
  }
}

export type Query = (text: string, values?: unknown[]) => Promise<Record<string, never>[]>

/** Runs statements on a connection of their own. */
export async function withDatabase<T>(
  databaseUrl: string,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(async (text, values) => (await client.query(text, values)).rows)
  } finally {
    await client.end()
  }
}
