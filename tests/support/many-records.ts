import { withDatabase } from './invariants.ts'

/** Inserts live records directly into the tables, for tests of reads. No trigger runs. */
export async function insertRecords(databaseUrl: string, count: number): Promise<void> {
  const speakers = Math.ceil(count / 4)
  await withDatabase(databaseUrl, async (query) => {
    await query('alter table video disable trigger user')
    await query("insert into category (title, slug) values ('Many', 'many') on conflict do nothing")
    await query(`
      insert into speaker (name, slug)
      select 'Speaker ' || n, 'speaker-' || n
      from generate_series(1, ${speakers}) as n`)
    await query(`
      insert into tag (name, slug)
      select 'tag ' || n, 'tag-' || n
      from generate_series(1, 50) as n`)
    await query(`
      insert into entity_name (kind, name, entity_id, shown)
      select 'speaker', name, id, true from speaker
      union all
      select 'tag', name, id, true from tag
      union all
      select 'category', title, id, true from category where slug = 'many'`)
    await query(`
      insert into entity_slug (kind, slug, entity_id)
      select 'speaker', slug, id from speaker
      union all
      select 'tag', slug, id from tag
      union all
      select 'category', slug, id from category where slug = 'many'`)
    await query(`
      insert into video (
        revision, slug, state, category_id, language_id, speaker_ids, tag_ids, title, summary,
        description, quality_notes, copyright_text, embed, video_ogv_download_only,
        video_mp4_download_only, video_webm_download_only, video_flv_download_only, whiteboard,
        added, updated
      )
      select 1,
             'talk-' || n,
             1,
             (select max(id) from category),
             38,
             array[1 + n % ${speakers}],
             array[1 + n % 50, 1 + (n * 7 + 1) % 50],
             'Talk ' || n,
             '',
             (
               select string_agg(md5((n * 100 + i)::text), ' ')
               from generate_series(1, 60) as i
             ),
             '', '', '', false, false, false, false, '', now(), now()
      from generate_series(1, ${count}) as n`)
    await query('alter table video enable trigger user')
    await query('select recount_talks()')
    await query('analyze')
  })
}
