import assert from 'node:assert/strict'
import type { Video } from '@talkshelf/contract'
import pg from 'pg'
import { renderVideo } from '../../server/videos/wire.ts'

// What must hold in the database whatever happened: read with plain SQL of its own, past the code
// that is tested.

const moment = (column: string) =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as ${column}`

const entities = ['category', 'speaker', 'tag']
  .map(
    (kind) =>
      `select '${kind}' as kind, id, ${kind === 'category' ? 'title' : 'name'} as name, slug, revision, merged_into from ${kind}`,
  )
  .join(' union all ')

// What came back from an export begins with the revision that it had.
const first = (subject: string, id: string) =>
  `coalesce((select min(revision) from change where subject = ${subject} and subject_id = ${id} and kind = 'created' and via = 'import'), 1)`

export async function checkInvariants(databaseUrl: string): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    const wrong = await query(`
      select v.id, v.revision, b.revision as body_revision, c.revisions
      from video v
      left join video_body b using (id)
      left join lateral (select array_agg(revision order by revision) as revisions from change
                         where subject = 'video' and subject_id = v.id) c on true
      where b.revision is distinct from v.revision
         or b.live is distinct from (v.state = 1 and v.taken_down is null)
         or b.updated is distinct from v.updated
         or c.revisions is distinct from array(select generate_series(${first("'video'", 'v.id')}, v.revision))
      union all
      select t.id, t.revision, null, h.revisions
      from (${entities}) t
      left join lateral (select array_agg(revision order by revision) as revisions from change
                         where subject = t.kind and subject_id = t.id) h on true
      where coalesce(h.revisions, '{}') <> array(select generate_series(${first('t.kind', 't.id')}, t.revision))
      union all
      select f.id, f.revision, null, h.revisions
      from video_facts f
      left join lateral (select array_agg(revision order by revision) as revisions from change
                         where subject = 'facts' and subject_id = f.id) h on true
      where coalesce(h.revisions, '{}') <> array(select generate_series(1, f.revision))`)
    assert.deepEqual(wrong, [], 'a record, its body and its changes do not agree')

    const orphans = await query(`
      select subject, subject_id from change
      where (subject = 'video' and subject_id not in (select id from video))
         or (subject = 'facts' and subject_id not in (select id from video_facts))
         or (subject not in ('video', 'facts') and (subject, subject_id) not in (select kind, id from (${entities}) t))`)
    assert.deepEqual(orphans, [], 'a change without its record')

    const miscounted = await query(`
      select kind, entity_id, kept.talks as kept, scanned.talks as scanned
      from (select kind, entity_id, sum(talks)::int as talks from talk_count group by kind, entity_id having sum(talks) <> 0) as kept
      full join (select kind, entity_id, count(*)::int as talks
                 from (select 'category' as kind, category_id as entity_id from video where state = 1 and taken_down is null
                       union all select 'language', language_id from video where state = 1 and taken_down is null
                       union all select 'speaker', unnest(speaker_ids) from video where state = 1 and taken_down is null
                       union all select 'tag', unnest(tag_ids) from video where state = 1 and taken_down is null) as plain
                 group by kind, entity_id) as scanned using (kind, entity_id)
      where kept.talks is distinct from scanned.talks`)
    assert.deepEqual(miscounted, [], 'a count of live talks is not what the records say')

    const strange = await query(`
      select id from video_search full join (select id from video where state = 1 and taken_down is null) as live using (id)
      group by id having count(*) filter (where year_key is not null) <> 1 or count(live.id) <> 1`)
    assert.deepEqual(strange, [], 'the search has other records than the live ones')
    const unsuspected = await query(`
      select rule, key
      from (select 'same-source' as rule, same_source as key from video where taken_down is null
            union all select 'same-talk', same_talk from video where taken_down is null) as plain
      where key is not null group by rule, key having count(*) > 1
      except select rule, key from duplicate_candidate`)
    assert.deepEqual(unsuspected, [], 'records that have the same, and nobody noted it')

    const dangling = await query(`
      select id from video where exists (select from unnest(speaker_ids) as one where one not in (select id from speaker))
                              or exists (select from unnest(tag_ids) as one where one not in (select id from tag))`)
    assert.deepEqual(dangling, [], 'a name that is not there')

    // What an entity is called and its slug lead to it; nothing leads to what was merged, or to what
    // is not there.
    const lost = await query(`
      select kind, id, name, slug from (${entities}) t
      where case when merged_into is null
                 then not exists (select from entity_name k where k.kind = t.kind and k.entity_id = t.id and k.name = t.name and k.shown)
                      or not exists (select from entity_slug k where k.kind = t.kind and k.entity_id = t.id and k.slug = t.slug)
                 else exists (select from (${entities}) o where o.kind = t.kind and o.id = t.merged_into and o.merged_into is not null)
                      or not exists (select from entity_slug k where k.kind = t.kind and k.entity_id = t.merged_into and k.slug = t.slug) end
      union all
      select kind, entity_id, name, null from entity_name
      where (kind, entity_id) not in (select kind, id from (${entities}) t where merged_into is null)
      union all
      select kind, entity_id, null, slug from entity_slug
      where (kind, entity_id) not in (select kind, id from (${entities}) t where merged_into is null)`)
    assert.deepEqual(lost, [], 'a name or a slug leads to the wrong entity, or nowhere')

    // While a rename is on its way, records still show what was before.
    if ((await query('select from rename_job')).length > 0) return
    const left = await query(`
      select v.id from video v
      where exists (select from category c where c.id = v.category_id and c.merged_into is not null)
         or exists (select from speaker s where s.id = any (v.speaker_ids) and s.merged_into is not null)
         or exists (select from tag t where t.id = any (v.tag_ids) and t.merged_into is not null)`)
    assert.deepEqual(left, [], 'a record still has what was merged')

    const outOfStep = await query(`
      select id, 'is there' as but from (select * from video_search except all select * from search_source) as kept
      union all select id, 'is missing' from (select * from search_source except all select * from video_search) as needed`)
    assert.deepEqual(outOfStep, [], 'a row of the search is not what its record says')

    // The body is what the row says, to the byte.
    const rows = await query(`
      select v.*, ${moment('v.added').replace('as v.', 'as ')}, ${moment('v.updated').replace('as v.', 'as ')}, recorded::text,
             c.title as category, l.name as language, b.body, b.tag,
             array(select name from unnest(speaker_ids) with ordinality as s (id, place) join speaker using (id) order by place) as speakers,
             array(select name from unnest(tag_ids) with ordinality as t (id, place) join tag using (id) order by place) as tags
      from video v join category c on c.id = v.category_id join language l on l.id = v.language_id join video_body b on b.id = v.id
      where v.taken_down is null`)
    for (const { body, tag, revision, ...row } of rows) {
      const video = { ...row, id: Number(row.id) } as Record<string, unknown>
      for (const field of Object.keys(video))
        if (field.endsWith('_length') && video[field] !== null) video[field] = Number(video[field])
      assert.deepEqual(
        { body, tag },
        renderVideo(video as Video, Number(revision)),
        `the body of record ${row.id} is not what its row says`,
      )
    }
  })
}

export type Query = (text: string, values?: unknown[]) => Promise<Record<string, never>[]>

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
