/**
 * Inserts many live talks at once, spread over twelve years. `title` is an SQL expression of `n`,
 * the id of the talk.
 */
export async function insertTalks(
  query: (text: string) => Promise<unknown>,
  count: number,
  title: string,
): Promise<void> {
  await query(`
    insert into video (id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids,
                       title, summary, description, quality_notes, copyright_text, embed,
                       video_ogv_download_only, video_mp4_download_only,
                       video_webm_download_only, video_flv_download_only, whiteboard, recorded,
                       added, updated)
    select n, 1, 'talk-' || n, 1, (select id from category limit 1),
           (select id from language where code = 'en'), '{}', '{}', ${title}, '', '',
           '', '', '', false, false, false, false, '',
           date '2010-01-01' + (n % 12) * 365, now(), now()
    from generate_series(1, ${count}) as n`)
  await query(`
    insert into video_body (id, revision, etag, live, updated, body)
    select id, 1, 'x', true, updated,
           json_build_object('id', id, 'title', title, 'recorded', recorded)::text
    from video`)
  await query('analyze')
}
