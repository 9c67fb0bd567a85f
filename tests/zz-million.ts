import pg from 'pg'
import {
  countPausedHosts,
  countSourcesByState,
  listReplacements,
  oldestDueSeconds,
  readExaminedSources,
  readUnhealthyHosts,
} from '/work/h/desk/server/links/links.ts'
import { openPool } from '/work/h/desk/server/platform/db/pool.ts'
import { timeoutsFor } from '/work/h/desk/server/platform/timeouts.ts'
import { readFindings } from '/work/h/desk/server/quality/quality.ts'
import { startPostgres } from '/work/h/desk/tests/support/postgres.ts'

const n = Number(process.argv[2] ?? 1000000)
const postgres = await startPostgres({ version: 15 })
try {
  const url = await postgres.createDatabase('million', 'talkshelf')
  const { migrate } = await import('/work/h/desk/server/platform/db/migrate.ts')
  await migrate(url, '/work/h/desk/server')
  const su = new URL(postgres.url('million'))
  const client = new pg.Client({ connectionString: su.href })
  await client.connect()
  const q = (sql: string, v: unknown[] = []) => client.query(sql, v)
  await q(`set session_replication_role = replica`)
  await q(
    `insert into category (id, revision, title, slug) overriding system value select c, 1, 'Event ' || c, 'event-' || c from generate_series(1, 2000) c`,
  ).catch(async (e) => {
    console.log(e.message)
    throw e
  })
  const t = performance.now()
  for (let from = 1; from <= n; from += 100000) {
    await q(`
    insert into video (id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids,
                       title, summary, description, quality_notes, copyright_text, embed,
                       video_ogv_download_only, video_mp4_download_only,
                       video_webm_download_only, video_flv_download_only, whiteboard, recorded,
                       added, updated, source_url, duration)
    overriding system value
    select n, 1, 'talk-' || n, 1, 1 + n % 2000,
           (select id from language where code = 'en'), '{1}', '{}', 'Talk ' || n, 'x', 'y',
           '', 'CC', '', false, false, false, false, '',
           date '2010-01-01' + (n % 4000), now(), now(), 'https://www.youtube.com/watch?v=' || lpad(n::text, 11, 'a'), 1800 + n % 2000
    from generate_series(${from}::int, ${Math.min(n, from + 99999)}) as n`)
    console.log(from, Math.round(performance.now() - t))
  }
  await q(`insert into source (id, key, url, host, operator, state, since, last_check, health, next_check)
    overriding system value
    select n, md5(n::text)::uuid, 'https://www.youtube.com/watch?v=' || lpad(n::text, 11, 'a'),
      case when n % 16 = 0 then 'archive.org' when n % 50 = 0 then 'host' || (n % 3000) || '.example' else 'www.youtube.com' end,
      case when n % 16 = 0 then 'archive.org' when n % 50 = 0 then 'host' || (n % 3000) || '.example' else 'youtube.com' end,
      case when n % 50 = 1 then (array['gone','private','removed','closed'])[1 + (n / 50) % 4] when n % 200 = 2 then 'suspect' when n % 500 = 3 then 'region' else 'ok' end,
      now(), now(), jsonb_build_object('strikes', null, 'looks', jsonb_build_array(jsonb_build_object('at', 1767225600000, 'verdict', 'ok')), 'refusals', '[]'::jsonb, 'goodLooks', 0, 'returns', '[]'::jsonb),
      now() + random() * interval '28 days'
    from generate_series(1, ${Math.round(n * 1.07)}) n`)
  await q(
    `insert into video_source select n, n from generate_series(1, ${n}) n union all select (n - ${n}) * 13 + 1, n from generate_series(${n + 1}, ${Math.round(n * 1.07)}) n`,
  )
  await q(
    `insert into replacement (video_id, source_id, url, key, finder) select n, n, 'https://archive.org/details/' || n, md5('r' || n)::uuid, 'wayback' from generate_series(1, ${n}, 500) n`,
  )
  await q(
    `insert into link_host (host, pace, next_turn) select distinct host, '{"pausedUntil": 0}'::jsonb, now() from source`,
  )
  await q('vacuum analyze')
  console.log('seeded', Math.round(performance.now() - t))
  const pool = openPool({ url, connections: 4, applicationName: 'm', times: timeoutsFor(60) })
  const time = async (name: string, work: () => Promise<unknown>) => {
    const times: number[] = []
    for (let i = 0; i < 5; i++) {
      const s = performance.now()
      await work()
      times.push(performance.now() - s)
    }
    console.log(name.padEnd(40), times.map((x) => x.toFixed(1)).join(' '))
  }
  const cursor = (rule: string, key: string, way = 'next') =>
    Buffer.from(JSON.stringify({ ordering: rule, way, keys: [key] })).toString('base64url')
  for (const rule of ['source-away', 'source-suspect', 'one-host', 'replacement-open']) {
    await time(`${rule} first`, () =>
      readFindings(pool.lists, rule, { cursor: '', page_size: 50 }, String),
    )
    await time(`${rule} middle`, () =>
      readFindings(
        pool.lists,
        rule,
        { cursor: cursor(rule, String(n / 2)), page_size: 50 },
        String,
      ),
    )
    await time(`${rule} back`, () =>
      readFindings(
        pool.lists,
        rule,
        { cursor: cursor(rule, String(n / 2), 'previous'), page_size: 50 },
        String,
      ),
    )
    const page = await readFindings(pool.lists, rule, { cursor: '', page_size: 50 }, String)
    console.log('   count', page.count, page.isExact)
  }
  await time('desk first page', () => readExaminedSources(pool.lists, { size: 50 }))
  await time('desk state+host', () =>
    readExaminedSources(pool.lists, { size: 50, state: 'gone', host: 'archive.org' }),
  )
  await time('desk rare host', () =>
    readExaminedSources(pool.lists, { size: 50, host: 'host50.example' }),
  )
  await time('desk event', () => readExaminedSources(pool.lists, { size: 50, event: 7 }))
  await time('desk hosts', () => readUnhealthyHosts(pool.lists))
  await time('replacements', () =>
    listReplacements(pool.lists, { page_size: 10 }, { role: 'editor', name: '', token: null }),
  )
  await time('replacements of event', () =>
    listReplacements(
      pool.lists,
      { page_size: 10 },
      { role: 'editor', name: '', token: null, events: [7] },
    ),
  )
  await time('countSourcesByState', () => countSourcesByState(pool.lists))
  await time('oldestDue', () => oldestDueSeconds(pool.lookups))
  await time('paused', () => countPausedHosts(pool.lookups))
  // adverse: every talk has two operators
  await q(
    `update source set state = 'gone', operator = operator where id <= ${n} and id % 1000 <> 0`,
  )
  await q('vacuum analyze source')
  await time('one-host adverse (0.1 % of talks)', () =>
    readFindings(
      pool.lists,
      'one-host',
      { cursor: cursor('one-host', String(n / 2)), page_size: 50 },
      String,
    ),
  )
  await time('source-away adverse', () =>
    readFindings(pool.lists, 'source-away', { cursor: '', page_size: 50 }, String),
  )
  await time('desk first page adverse', () => readExaminedSources(pool.lists, { size: 50 }))
  await time('desk hosts adverse', () => readUnhealthyHosts(pool.lists))
  await pool.close()
  await client.end()
} finally {
  await postgres.stop()
}
