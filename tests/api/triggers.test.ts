import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { migrate } from '../../server/platform/db/migrate.ts'
import { ruleColumn } from '../../server/quality/rule.ts'
import { rules } from '../../server/quality/rules.ts'
import { freshDatabase } from '../support/database.ts'

// Triggers and constraints of the database, tested in plain SQL without the server: counts, search
// rows, search words and duplicate candidates follow every write to `video`.

const schemaFolder = fileURLToPath(new URL('../../server', import.meta.url))

let url: string
let db: pg.Client

before(async () => {
  url = (await freshDatabase()).url
  db = await connectClient()
  await db.query(entities)
})

const entities = `
  insert into category (id, slug, title)
  values (1, 'days', 'Example Days'), (2, 'nights', 'Short Nights');
  insert into speaker (id, slug, name)
  values (1, 'ada', 'Ada Lovelace'), (2, 'bob', 'Bob Doe'), (3, 'cleo', 'Cleo 1st');
  insert into tag (id, slug, name)
  values (1, 'queues', 'queues'), (2, 'c-1', 'C++'), (3, 'go', 'go')`

after(() => db.end())

async function connectClient(database = url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database })
  client.on('error', () => {})
  await client.connect()
  return client
}

const english = 38
let german = 0
let undetermined = 0

test('assigns the stemming dictionary of a language, or the simple one', async () => {
  const { rows } = await db.query(
    `select id, code, dictionary
     from language
     where code in ('de', 'en', 'pt-BR', 'ja', 'und')
     order by code collate "C"`,
  )
  assert.deepEqual(
    rows.map(({ code, dictionary }) => `${code} ${dictionary}`),
    ['de german', 'en english', 'ja simple', 'pt-BR portuguese', 'und simple'],
  )
  german = rows[0].id
  undetermined = rows[4].id
  assert.equal(rows[1].id, english)
})

interface Row {
  id?: number
  state: number
  category_id: number
  language_id: number
  speaker_ids: number[]
  tag_ids: number[]
  title: string
  summary: string
  description: string
  recorded: string | null
  duration: number | null
  source_url: string | null
  taken_down: string | null
  takedown_reason: string | null
}

const defaults: Row = {
  state: 1,
  category_id: 1,
  language_id: english,
  speaker_ids: [1, 2],
  tag_ids: [1, 2],
  title: 'Tiny queues',
  summary: 'Waiting lines',
  description: 'All about queueing',
  recorded: '2019-05-04',
  duration: 900,
  source_url: null,
  taken_down: null,
  takedown_reason: null,
}

let lastId = 0

/** Inserts a record with a single statement, bypassing the server. */
async function insert(fields: Partial<Row> = {}, client = db): Promise<number> {
  const id = ++lastId
  const row = { ...defaults, ...fields }
  await client.query(
    `insert into video (id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids,
                        title, summary, description, recorded, duration, source_url, taken_down,
                        takedown_reason, quality_notes, copyright_text, embed,
                        video_ogv_download_only, video_mp4_download_only,
                        video_webm_download_only, video_flv_download_only, whiteboard, added,
                        updated)
     values ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, '', '', '',
             false, false, false, false, '', now(), now())`,
    [
      id,
      `talk-${id}`,
      row.state,
      row.category_id,
      row.language_id,
      row.speaker_ids,
      row.tag_ids,
      row.title,
      row.summary,
      row.description,
      row.recorded,
      row.duration,
      row.source_url,
      row.taken_down,
      row.takedown_reason,
    ],
  )
  return id
}

const takenDown = { taken_down: '2026-01-01', takedown_reason: 'asked for' }

async function searchRow(id: number): Promise<Record<string, string>> {
  const { rows } = await db.query(
    `select year_key, recorded::text, category_id::int as category, language_id as language,
            speaker_ids::text as speakers, tag_ids::text as tags, length, keys::text, head::text,
            text::text
     from video_search
     where id = $1`,
    [id],
  )
  assert.equal(rows.length, 1, `one search row for record ${id}`)
  return rows[0]
}

test('indexes a live record with ids, stems and weights', async () => {
  assert.deepEqual(await searchRow(await insert()), {
    year_key: 3000 - 2019,
    recorded: '2019-05-04',
    category: 1,
    language: english,
    speakers: '{1,2}',
    tags: '{1,2}',
    length: 2,
    keys:
      `'#category:1' '#duration:2' '#language:${english}' '#speaker:1' '#speaker:2' ` +
      `'#tag:1' '#tag:2'`,
    head:
      "'ada':3B 'bob':5B 'cplusplus':8C 'day':10 'doe':6B 'exampl':9 " +
      "'lovelace':4B 'queue':2A,7C 'tini':1A",
    text: "'line':2A 'queue':5B 'wait':1A",
  })
})

test('indexes a record without speakers, tags, date and duration', async () => {
  const bare = await searchRow(
    await insert({
      speaker_ids: [],
      tag_ids: [],
      recorded: null,
      duration: null,
      summary: '',
      description: '',
    }),
  )
  assert.deepEqual(
    {
      year_key: bare.year_key,
      length: bare.length,
      keys: bare.keys,
      head: bare.head,
      text: bare.text,
    },
    {
      year_key: 32767,
      length: 0,
      keys: `'#category:1' '#duration:0' '#language:${english}'`,
      head: "'day':4 'exampl':3 'queue':2A 'tini':1A",
      text: '',
    },
  )
})

test('indexes all records again in batches while others are written', async (t) => {
  const ids: number[] = []
  for (let number = 0; number < 120; number++) ids.push(await insert())
  const draft = await insert({ state: 2 })
  const [first = 0, second = 0] = ids
  const { keys } = await searchRow(first)
  await db.query(`update video_search set keys = '', text = '' where id = any ($1)`, [ids])
  await db.query('delete from video_search where id = $1', [second])
  // Another client has changed a record, and has not committed yet.
  const writer = await connectClient()
  await writer.query('begin')
  await writer.query(`update video set title = 'Written meanwhile' where id = $1`, [first])
  const undone = await db.query('delete from schema_version where version >= 43 returning *')
  const blocked = Promise.withResolvers<void>()
  const migrated = migrate(url, migrationsUpTo(t, 43), { onBlocked: () => blocked.resolve() })
  await blocked.promise
  await writer.query('commit')
  await writer.end()
  assert.deepEqual(await migrated, ['43 search-rules'])
  await db.query(
    `insert into schema_version
     select * from jsonb_populate_recordset(null::schema_version, $1) where version > 43`,
    [JSON.stringify(undone.rows)],
  )
  assert.match((await searchRow(first)).head as string, /'meanwhil'/)
  assert.equal((await searchRow(ids.at(-1) as number)).keys, keys)
  const { rows } = await db.query('select id from video_search where id = $1', [draft])
  assert.deepEqual(rows, [])
  await checkDerived('indexed again')
})

const changeSql = (subject: string, kind: string, via = 'api', revision = 900) =>
  `insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor, via,
                       request_id, request_hash)
   values ('${subject}', 1, ${revision}, '${kind}', '{}', '{}', '{}', now(), 'Edith', '${via}',
           'x', '')`
const importSql = (state: string, via: string) =>
  `insert into import (state, name, format, source, options, actor, via, request_id)
   values ('${state}', '', '', 's', '{}', '', '${via}', '')`
const importByRoleSql = (role: string, batch: number) =>
  `insert into import (state, name, format, source, options, actor, via, request_id, apply_role,
                       batch_size)
   values ('planned', '', '', 's', '{}', '', 'api', '', '${role}', ${batch})`
const renameSql = (kind: string, via: string) =>
  `insert into rename_job (kind, entity_id, done_up_to, actor, via, request_id, request_hash)
   values ('${kind}', 1, 0, '', '${via}', '', '')`
const importRowSql = (values: string) =>
  `insert into import_row (import_id, position, place, bytes, verdict, outcome, undone)
   values (${values})`
const keySql = (videoId: number) =>
  `insert into idempotency_key (token_id, key, request_hash, video_id)
   select max(id), 'k', '', ${videoId} from token`
const tokenSql = (role: string, hash: string) =>
  `insert into token (name, role, hash, expires) values ('Edith', '${role}', '${hash}', now())`

const validRows = [
  ...['video', 'category', 'speaker', 'tag', 'facts'].map((subject) =>
    changeSql(subject, 'created'),
  ),
  ...['updated', 'restored', 'taken-down', 'merged'].map((kind, index) =>
    changeSql('video', kind, 'command', 901 + index),
  ),
  tokenSql('editor', 'x'),
  keySql(1),
  `insert into entity_name (kind, name, entity_id)
   values ('tag', 'Ada', 1), ('speaker', 'Ada', 1)`,
  `insert into entity_slug (kind, slug, entity_id)
   values ('tag', 'ada', 1), ('speaker', 'ada', 1)`,
  ...['category', 'speaker', 'tag'].map((kind) => renameSql(kind, 'page')),
  ...['reading', 'failed', 'planned', 'applying', 'stopped', 'applied', 'undoing', 'undone'].map(
    (state) => importSql(state, 'api'),
  ),
  importByRoleSql('editor', 1),
  importByRoleSql('admin', 100),
  `insert into maintenance values ('sweep', now(), now())`,
  importRowSql(`1, 1, '', 0, 'new', 'created', 'undone'`),
  importRowSql(`1, 2, '', 0, 'refused', 'refused', 'touched'`),
  `insert into import_entity values (1, 1, '', '{}', 0)`,
  `insert into source_record values ('s', 'k', 1, '{}')`,
  `insert into video_facts values (1, 1, '[]')`,
  `insert into video_body values (1, 1, 't', true, now(), '')`,
  `insert into duplicate_candidate values ('same-talk', 1)`,
  `insert into fingerprint values (1)`,
]

/** Statements that a constraint rejects, with the SQLSTATE. */
const invalidRows: [statement: string, code: string][] = [
  [changeSql('nonsense', 'created'), '23514'],
  [changeSql('video', 'nonsense', 'api', 950), '23514'],
  [changeSql('video', 'created', 'nonsense', 950), '23514'],
  [changeSql('video', 'updated'), '23505'],
  [`update video set state = 3 where id = 1`, '23514'],
  [`update video set state = 0 where id = 1`, '23514'],
  [`update video set taken_down = now() where id = 1`, '23514'],
  [`update video set takedown_reason = 'x' where id = 1`, '23514'],
  [`update video set slug = 'talk-2' where id = 1`, '23505'],
  ...['', 'Talk', 'a talk', '-talk', 'talk-', 'a--b', '../talk', 'tälk'].map(
    (slug): [string, string] => [`update video set slug = '${slug}' where id = 1`, '23514'],
  ),
  [`insert into video_body values (1, 1, 't', true, now(), '')`, '23505'],
  [tokenSql('reader', 'y'), '23514'],
  [tokenSql('admin', 'x'), '23505'],
  [keySql(2), '23505'],
  [`insert into language (id, code, name, slug) values (9001, 'en', 'A', 'a')`, '23505'],
  [`insert into language (id, code, name, slug) values (9001, 'xx', 'ENGLISH', 'a')`, '23505'],
  [`insert into language (id, code, name, slug) values (9001, 'xx', 'A', 'english')`, '23505'],
  [`insert into talk_count values ('nonsense', 1, 1)`, '23514'],
  [`insert into search_word select min(word) from search_word`, '23505'],
  [`insert into video_search select * from video_search limit 1`, '23505'],
  [`insert into entity_name (kind, name, entity_id) values ('nonsense', 'x', 1)`, '23514'],
  [`insert into entity_name (kind, name, entity_id) values ('tag', 'Ada', 2)`, '23505'],
  [`insert into entity_slug (kind, slug, entity_id) values ('nonsense', 'x', 1)`, '23514'],
  [`insert into entity_slug (kind, slug, entity_id) values ('tag', 'ada', 2)`, '23505'],
  [renameSql('language', 'api'), '23514'],
  [renameSql('tag', 'nonsense'), '23514'],
  [`insert into fingerprint values (1)`, '23505'],
  [`insert into duplicate_candidate values ('nonsense', 1)`, '23514'],
  [`insert into duplicate_candidate values ('same-talk', 1)`, '23505'],
  [`insert into video_facts values (1, 1, '[]')`, '23505'],
  [importSql('nonsense', 'api'), '23514'],
  [importSql('planned', 'nonsense'), '23514'],
  [importByRoleSql('reader', 1), '23514'],
  [importByRoleSql('editor', 0), '23514'],
  [`insert into maintenance values ('sweep', now(), now())`, '23505'],
  [`insert into import_entity values (1, 1, '', '{}', 0)`, '23505'],
  [importRowSql(`1, 3, '', 0, 'nonsense', null, null`), '23514'],
  [importRowSql(`1, 3, '', 0, 'new', 'nonsense', null`), '23514'],
  [importRowSql(`1, 3, '', 0, 'new', null, 'nonsense'`), '23514'],
  [importRowSql(`1, 1, '', 0, 'new', null, null`), '23505'],
  [`insert into source_record values ('s', 'k', 2, '{}')`, '23505'],
]

test('rejects invalid rows by constraint', async () => {
  await db.query('begin')
  for (const statement of validRows) await db.query(statement)
  for (const [statement, code] of invalidRows) {
    await db.query('savepoint valid')
    await assert.rejects(
      db.query(statement),
      (error: { code?: string }) => error.code === code,
      `not rejected: ${statement}`,
    )
    await db.query('rollback to valid')
  }
  await db.query('rollback')
})

test('stores each year in its own partition', async () => {
  const days = ['2046-01-01', '2045-12-31', '2019-01-01', '2005-01-01', '2004-12-31', null]
  const tables: string[] = []
  for (const recorded of days) {
    const id = await insert({ recorded })
    const { rows } = await db.query(
      'select tableoid::regclass::text as name from video_search where id = $1',
      [id],
    )
    tables.push(rows[0].name.replace('video_search_', ''))
  }
  assert.deepEqual(tables, ['later', '2045', '2019', '2005', 'earlier', 'earlier'])
})

test('groups durations into ranges', async () => {
  const { rows } = await db.query(
    `select duration_range_of(seconds) as step
     from unnest(array[null, 0, 1, 599, 600, 1799, 1800, 3599, 3600, 9000]) as seconds`,
  )
  assert.deepEqual(
    rows.map(({ step }) => step),
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
  )
})

test('normalizes case, accents, width and punctuation and pairs CJK characters', async () => {
  const plain = async (text: string) =>
    (await db.query('select normalized_words($1) as words', [text])).rows[0].words
  assert.equal(await plain('C# and C++, e-mail'), 'csharp and cplusplus e mail')
  assert.equal(
    await plain('F#, .NET 4.8, asp.net and python3.12.1'),
    'fsharp dotnet 4dot8 asp net and python 3dot12 1',
  )
  assert.equal(await plain('Ünï Ｗｉｄｅ'), 'uni wide')
  assert.equal(await plain('日本語'), '日本 本語 語')
  assert.equal(await plain('Queue 日本 x'), 'queue  日本 本  x')
  assert.equal(await plain(''), '')
  // Punctuation does not count towards the length limit of a text.
  const { rows } = await db.query("select normalized_words(repeat('.', 30) || 'word', 5) as words")
  assert.equal(rows[0].words, ' word')
})

/** Compares search rows and counts with a full scan of the records. */
async function checkDerived(change: string): Promise<void> {
  const wrong = await db.query(`
    (select id
     from (select * from video_search except all select * from search_source) as superfluous)
    union all
    (select id
     from (select * from search_source except all select * from video_search) as missing)
    union all
    (select id
     from video_search
     full join (select id from video where state = 1 and taken_down is null) as live using (id)
     group by id
     having count(year_key) <> 1 or count(live.id) <> 1)`)
  assert.deepEqual(wrong.rows, [], `${change}: the search rows differ`)
  const miscounted = await db.query(`
    with live as (select * from video where state = 1 and taken_down is null),
    plain as (select 'category' as kind, category_id as entity_id from live
              union all
              select 'language', language_id from live
              union all
              select 'speaker', unnest(speaker_ids) from live
              union all
              select 'tag', unnest(tag_ids) from live),
    scanned as (select kind, entity_id, count(*)::int as talks
                from plain
                group by kind, entity_id),
    counted as (select kind, entity_id, sum(talks)::int as talks
                from talk_count
                where entity_id < 1000
                group by kind, entity_id
                having sum(talks) <> 0)
    select kind, entity_id, counted.talks, scanned.talks as scanned
    from counted full join scanned using (kind, entity_id)
    where counted.talks is distinct from scanned.talks`)
  assert.deepEqual(miscounted.rows, [], `${change}: a count is wrong`)
  const { rows: zeros } = await db.query('select kind, entity_id from talk_count where talks = 0')
  assert.deepEqual(zeros, [], `${change}: a row of a count adds zero`)
  assert.deepEqual(await wrongCells(), [], `${change}: a cell of the cube is wrong`)
}

/** Compares the cube with a full scan of the records. */
async function wrongCells(client = db): Promise<unknown[]> {
  const { rows } = await client.query(`
    select year_key, language_id, length, sum(talks) as difference
    from (select year_key, language_id, length, talks
          from talk_cube
          where language_id < 1000
          union all
          select coalesce(3000 - extract(year from recorded), 32767), language_id,
                 width_bucket(coalesce(nullif(duration, 0), -1), array[0, 600, 1800, 3600]), -1
          from video
          where state = 1 and taken_down is null) as both_sides
    group by year_key, language_id, length
    having sum(talks) <> 0`)
  return rows
}

/** Changes of a record, one after the other, with their names. */
const singleChanges = (): [string, Partial<Row>][] => [
  ['a title', { title: 'Large queues' }],
  ['a summary', { summary: 'Nothing waits' }],
  ['a description', { description: 'Other words' }],
  [
    'the language',
    { language_id: german, title: 'Große Schlangen', description: 'Alles über Schlangen' },
  ],
  ['only the language', { language_id: english }],
  ['the category', { category_id: 2 }],
  ['one speaker', { speaker_ids: [1] }],
  ['other speakers', { speaker_ids: [3, 2] }],
  ['other tags', { tag_ids: [3] }],
  ['no speakers', { speaker_ids: [] }],
  ['no tags', { tag_ids: [] }],
  ['the day, within the year', { recorded: '2019-12-31' }],
  ['the year', { recorded: '2020-01-01' }],
  ['no day', { recorded: null }],
  ['a day again', { recorded: '1999-01-01' }],
  ['the length', { duration: 5000 }],
  ['a draft', { state: 2 }],
  ['the words of a draft', { title: 'Drafted', speaker_ids: [2], tag_ids: [2], category_id: 1 }],
  ['live again', { state: 1 }],
  ['taken down', takenDown],
  ['back', { taken_down: null, takedown_reason: null }],
  ['a draft that is taken down', { state: 2, ...takenDown }],
  ['a draft that is back', { taken_down: null, takedown_reason: null }],
  [
    'both at once',
    {
      state: 1,
      title: 'Everything',
      speaker_ids: [1, 2, 3],
      tag_ids: [1, 3],
      recorded: '2021-01-01',
      duration: 3,
    },
  ],
  ['taken down, and a draft then', takenDown],
  ['a draft', { state: 2 }],
  ['a draft no longer', { state: 1 }],
  ['back at last', { taken_down: null, takedown_reason: null }],
]

test('updates counts and search rows when any single column changes', async () => {
  await insert({ title: 'Of the same year', recorded: '2019-07-01' })
  await insert({ state: 2 })
  await insert(takenDown)
  await insert({ state: 2, ...takenDown })
  await checkDerived('new records')
  const id = await insert()
  for (const [change, fields] of singleChanges()) {
    const columns = Object.keys(fields)
    const set = columns.map((column, index) => `${column} = $${index + 2}`).join(', ')
    await db.query(`update video set ${set} where id = $1`, [id, ...Object.values(fields)])
    await checkDerived(change)
  }
  // A change of several records at once, and one that affects neither counts nor words.
  await db.query(`update video set category_id = 3 - category_id, tag_ids = '{2}'`)
  await checkDerived('many at once')
  await db.query(`update video set whiteboard = 'seen'`)
  await checkDerived('another column')
})

test('leaves search rows alone when unrelated columns change', async () => {
  const id = await insert()
  const version = async () =>
    (
      await db.query('select xmin::text || ctid::text as version from video_search where id = $1', [
        id,
      ])
    ).rows[0].version
  const before = await version()
  await db.query(
    `update video set whiteboard = 'x', quality_notes = 'x', duration = 901 where id = $1`,
    [id],
  )
  assert.equal(await version(), before)
  const rows = async () =>
    Number(
      (await db.query(`select count(*) from talk_count where kind = 'tag' and entity_id = 1`))
        .rows[0].count,
    )
  // The rows of a count are compacted at random, but a change that affects it adds at least one row
  // first.
  const countBefore = await rows()
  await db.query(`update video set title = 'Other' where id = $1`, [id])
  assert.equal(await rows(), countBefore)
})

test('leaves the cube alone when neither year, language nor range of duration change', async () => {
  const id = await insert()
  const rows = async () =>
    (await db.query('select sum(abs(talks)), count(*) from talk_cube')).rows[0] as object
  const before = await rows()
  await db.query(
    `update video set recorded = '2019-11-11', duration = 902, title = 'Other' where id = $1`,
    [id],
  )
  assert.deepEqual(await rows(), before)
})

test('reindexes texts only when they or the language change', async () => {
  const id = await insert()
  await db.query(`update video_search set text = 'kept:1' where id = $1`, [id])
  await db.query(`update video set title = 'Still the same texts' where id = $1`, [id])
  assert.equal((await searchRow(id)).text, "'kept':1")
  for (const [column, value] of [
    ['summary', 'New'],
    ['description', 'New'],
    ['language_id', undetermined],
  ]) {
    await db.query(`update video_search set text = 'kept:1' where id = $1`, [id])
    await db.query(`update video set ${column} = $2 where id = $1`, [id, value])
    await checkDerived(`a change of ${column}`)
  }
})

async function words(): Promise<string[]> {
  return (await db.query('select word from search_word order by word')).rows.map(({ word }) => word)
}

test('recreates a missing or misplaced search row on the next write', async () => {
  for (const damage of [
    'delete from video_search where id = $1',
    'update video_search set year_key = year_key + 1 where id = $1',
  ]) {
    const id = await insert()
    const before = await searchRow(id)
    await db.query(damage, [id])
    await db.query(`update video set whiteboard = 'x', category_id = 2 where id = $1`, [id])
    assert.deepEqual((await searchRow(id)).year_key, before.year_key)
    assert.deepEqual((await searchRow(id)).text, before.text)
  }
})

test('blanks the import rows of a taken-down record and no others', async () => {
  const [gone, other] = [await insert(), await insert()]
  const { rows } = await db.query(`${importSql('applied', 'api')} returning id`)
  const importId = rows[0].id
  const add = (position: number, video: number, before: object | null) =>
    db.query(
      `insert into import_row (import_id, position, place, bytes, verdict, item, changes, notes,
                               before, video_id)
       values ($1, $2, 'line', 1, 'new', '{"title": "Secret"}', '{"title": 1}', '[]', $4, $3)`,
      [importId, position, video, before && JSON.stringify(before)],
    )
  await add(1, gone, null)
  await add(2, gone, { said: 'Secret' })
  await add(3, other, { said: 'Open' })
  for (const video of [gone, other])
    await db.query(
      `insert into source_record values ('taken', 'k${video}', ${video}, '{"fields": {"a": 1}}')`,
    )
  const importRows = async () =>
    (
      await db.query(
        `select place, item is not null as has_item, before
         from import_row
         where import_id = $1
         order by position`,
        [importId],
      )
    ).rows
  const all = await importRows()
  const sourceStates = async () =>
    (
      await db.query(`select state from source_record where source = 'taken' order by video_id`)
    ).rows.map((row) => row.state)
  const touch = (id: number) => db.query(`update video set whiteboard = 'x' where id = $1`, [id])
  await touch(gone)
  assert.deepEqual(await importRows(), all)
  await db.query(
    `update video set taken_down = '2026-01-01', takedown_reason = 'asked' where id = $1`,
    [gone],
  )
  assert.deepEqual(await importRows(), [
    { place: 'row 1', has_item: false, before: null },
    {
      place: 'row 2',
      has_item: false,
      before: { previousState: null, revision: null, facts: null },
    },
    all[2],
  ])
  assert.deepEqual(await sourceStates(), [{ fields: {}, facts: [] }, { fields: { a: 1 } }])
  // Only the takedown does this, not every write after it.
  await add(4, gone, null)
  await touch(gone)
  assert.deepEqual((await importRows())[3], { place: 'line', has_item: true, before: null })
})

test('records every word of a title, name or event for spelling correction', async () => {
  await db.query('truncate search_word')
  const id = await insert({
    title: `Ab abc ${'x'.repeat(40)} ${'y'.repeat(41)} a1b 日本語 Queue`,
    category_id: 2,
    speaker_ids: [3],
    tag_ids: [3, 1],
  })
  assert.deepEqual(await words(), [
    'abc',
    'cleo',
    'nights',
    'queue',
    'queues',
    'short',
    'x'.repeat(40),
  ])
  await db.query(`update video set title = 'Zebra', speaker_ids = '{2}' where id = $1`, [id])
  assert.ok((await words()).includes('zebra') && (await words()).includes('bob'))
  // A write adds only the words of its own record.
  await db.query(`delete from search_word where word = 'zebra'`)
  await insert({ title: 'Giraffe' })
  await insert({ title: 'Giraffe' })
  assert.ok((await words()).includes('giraffe') && !(await words()).includes('zebra'))
  // Words of drafts and taken-down records are not public and must not be suggested.
  const draft = await insert({ title: 'Hidden', state: 2 })
  const takenDownId = await insert({ title: 'Withdrawn', ...takenDown })
  await db.query(`update video set title = title || ' still' where id = any ($1)`, [
    [draft, takenDownId],
  ])
  await db.query('select reindex_videos($1)', [[draft, takenDownId]])
  assert.ok(!(await words()).some((word) => ['hidden', 'withdrawn', 'still'].includes(word)))
  await db.query('update video set state = 1 where id = $1', [draft])
  assert.ok((await words()).includes('hidden'))
  await db.query('update video set state = 2 where id = $1', [draft])
})

test('reindexes the names of renamed entities and keeps the texts', async () => {
  const [one, other] = [await insert({ speaker_ids: [3] }), await insert({ speaker_ids: [3] })]
  await db.query(`update video_search set text = 'kept:1' where id = any ($1)`, [[one, other]])
  await db.query(`update speaker set name = 'Cleopatra' where id = 3`)
  await db.query('select reindex_videos($1)', [[one]])
  assert.match((await searchRow(one)).head as string, /'cleopatra':3B/)
  assert.equal((await searchRow(one)).text, "'kept':1")
  assert.doesNotMatch((await searchRow(other)).head as string, /cleopatra/)
  assert.ok((await words()).includes('cleopatra'))
  await db.query('select reindex_videos(array(select id from video))')
  await db.query(`update video set summary = summary || '!' where id = any ($1)`, [[one, other]])
  await checkDerived('a rename')
})

test('rebuilds the same counts, words and duplicate candidates from scratch', async () => {
  await insert({ source_url: 'https://example.org/one' })
  await insert({ source_url: 'https://example.org/one/' })
  await insert({ title: 'The only one of its kind', source_url: 'https://example.org/only' })
  const candidates = async () =>
    (await db.query('select rule, key from duplicate_candidate order by 1, 2')).rows
  const before = await candidates()
  assert.ok(
    before.some(({ rule }) => rule === 'same-source') &&
      before.some(({ rule }) => rule === 'same-talk'),
  )
  await db.query(`
    truncate talk_count, talk_cube, search_word, duplicate_candidate, fingerprint;
    insert into talk_count values ('tag', 77, 5);
    insert into talk_cube values (981, 38, 1, 5);
    insert into search_word values ('nonsense');
    insert into duplicate_candidate values ('same-talk', 1);
    update video_search set head = 'nonsense:1';
    delete from video_search where id = (select min(id) from video_search)`)
  await db.query('select recount_talks()')
  await db.query('call rebuild_search()')
  await db.query('select rebuild_fingerprints()')
  await checkDerived('from scratch')
  const now = await words()
  assert.ok(now.includes('giraffe') && now.includes('example'))
  assert.ok(!now.includes('nonsense') && !now.includes('withdrawn') && !now.includes('hidden'))
  assert.deepEqual(await candidates(), before)
  // A duplicate is still detected after the rebuild.
  const { rows } = await db.query(
    `select same_source from video where source_url = 'https://example.org/one'`,
  )
  await db.query(`delete from duplicate_candidate where key = $1`, [rows[0].same_source])
  await insert({ source_url: 'https://www.example.org/one' })
  assert.deepEqual(await candidates(), before)
})

test('marks records with the same source or the same title and speakers', async () => {
  const countCandidates = async (rule: string) =>
    (await db.query('select key from duplicate_candidate where rule = $1', [rule])).rowCount ?? 0
  const [sources, talks] = [
    await countCandidates('same-source'),
    await countCandidates('same-talk'),
  ]
  await insert({ title: 'A', speaker_ids: [], source_url: 'https://example.org/a' })
  await insert({ title: 'A', speaker_ids: [], source_url: null })
  await insert({ title: 'B', source_url: 'https://example.org/b' })
  assert.deepEqual(
    [await countCandidates('same-source'), await countCandidates('same-talk')],
    [sources, talks],
  )
  const third = await insert({ title: 'C', source_url: 'https://example.org/a' })
  assert.deepEqual(
    [await countCandidates('same-source'), await countCandidates('same-talk')],
    [sources + 1, talks],
  )
  await db.query(`update video set title = 'B' where id = $1`, [third])
  assert.deepEqual(
    [await countCandidates('same-source'), await countCandidates('same-talk')],
    [sources + 1, talks + 1],
  )
  await db.query(
    `update video set source_url = 'https://example.org/b', summary = 'new' where id = $1`,
    [third],
  )
  assert.deepEqual(
    [await countCandidates('same-source'), await countCandidates('same-talk')],
    [sources + 2, talks + 1],
  )
  // A record is no duplicate of its own earlier version.
  const changing = await insert({
    title: 'D',
    speaker_ids: [],
    source_url: 'https://example.org/d',
  })
  await db.query(`update video set title = 'E', speaker_ids = '{3}' where id = $1`, [changing])
  await db.query(`update video set summary = 'F', source_url = null where id = $1`, [changing])
  assert.deepEqual(
    [await countCandidates('same-source'), await countCandidates('same-talk')],
    [sources + 2, talks + 1],
  )
})

test('computes the quality flags of a record on write', async () => {
  const id = await insert({ source_url: 'https://example.org/flags' })
  const flags = rules.flatMap((rule) => (rule.finds === 'records' ? ruleColumn(rule) : []))
  const flagsOf = async (fields: Record<string, unknown>): Promise<string> => {
    const set = Object.keys(fields).map((column, index) => `${column} = $${index + 2}`)
    await db.query('begin')
    const good = `copyright_text = 'CC0', thumbnail_url = 'https://example.org/a.jpg'`
    await db.query(`update video set ${good} where id = $1`, [id])
    const { rows } = await db.query(
      `update video set ${set.join(', ')} where id = $1 returning ${flags.join(', ')}`,
      [id, ...Object.values(fields)],
    )
    await db.query('rollback')
    return flags.filter((flag) => rows[0][flag]).join(' ')
  }
  const cases: [Record<string, unknown>, string][] = [
    [{ whiteboard: 'fine' }, ''],
    [{ speaker_ids: [] }, 'no_speaker'],
    [{ copyright_text: '' }, 'no_licence'],
    [{ copyright_text: ' \n' }, 'no_licence'],
    [{ duration: null }, 'no_duration'],
    [{ duration: 0 }, 'no_duration'],
    [{ duration: 1 }, 'duration_in_minutes'],
    [{ duration: 29 }, 'duration_in_minutes'],
    [{ duration: 31 }, ''],
    [{ duration: 35 }, 'duration_in_minutes'],
    [{ duration: 200 }, 'duration_in_minutes'],
    [{ duration: 201 }, ''],
    [{ duration: 205 }, ''],
    [{ duration: -5 }, ''],
    [{ duration: 21_600 }, ''],
    [{ duration: 21_601 }, 'duration_too_long'],
    [{ recorded: null }, 'no_date'],
    [{ summary: '', description: ' ' }, 'no_description'],
    [{ summary: '' }, ''],
    [{ description: '' }, ''],
    [{ thumbnail_url: null }, 'no_thumbnail'],
    [{ thumbnail_url: '' }, 'no_thumbnail'],
  ]
  for (const [fields, expected] of cases)
    assert.equal(await flagsOf(fields), expected, JSON.stringify(fields))
  const { rows } = await db.query(
    `select count(*)::int as unknown
     from video
     where duration_in_minutes is null or no_duration is null or no_thumbnail is null`,
  )
  assert.equal(rows[0].unknown, 0)
})

test('derives one identity from every spelling of a URL', async () => {
  const cases: [string, string][] = [
    ['https://www.youtube.com/watch?v=abcdefghijk', 'youtube:abcdefghijk'],
    ['http://youtube.com/watch?v=abcdefghijk', 'youtube:abcdefghijk'],
    ['https://m.youtube.com/watch?t=3&v=abcdefghijk&x=1', 'youtube:abcdefghijk'],
    ['https://youtu.be/abcdefghijk?t=3', 'youtube:abcdefghijk'],
    ['https://www.youtube-nocookie.com/embed/abcdefghijk', 'youtube:abcdefghijk'],
    ['https://www.youtube.com/playlist?list=abc/', 'https://www.youtube.com/playlist?list=abc/'],
    ['https://vimeo.com/12345', 'vimeo:12345'],
    ['https://player.vimeo.com/video/12345?x', 'vimeo:12345'],
    ['https://vimeo.com/about/', 'https://vimeo.com/about/'],
    ['https://archive.org/details/thing/more', 'archive.org:thing'],
    ['http://www.archive.org/embed/entity', 'archive.org:entity'],
    ['https://www.Example.org/Talk/?utm_source=x&a=1#t=3', 'example.org/Talk/?a=1'],
    ['http://example.org/talk/', 'example.org/talk'],
    ['ftp://example.org/talk/', 'ftp://example.org/talk/'],
  ]
  for (const [address, identity] of cases) {
    const { rows } = await db.query('select source_identity($1) as identity', [address])
    assert.equal(rows[0].identity, identity, address)
  }
})

test('derives the same key from the same talk and the same spelling', async () => {
  const keysOf = async (fields: Partial<Row>) => {
    const id = await insert(fields)
    return (await db.query('select same_talk, same_source from video where id = $1', [id])).rows[0]
  }
  const talk = await keysOf({ title: 'Café', speaker_ids: [1, 2] })
  assert.equal((await keysOf({ title: 'CAFE', speaker_ids: [2, 1] })).same_talk, talk.same_talk)
  for (const other of [{ speaker_ids: [1] }, { title: 'Other', speaker_ids: [1, 2] }])
    assert.notEqual((await keysOf({ title: 'Café', ...other })).same_talk, talk.same_talk)
  assert.equal((await keysOf({ speaker_ids: [] })).same_talk, null)
  assert.deepEqual([talk.same_source, (await keysOf({ source_url: '' })).same_source], [null, null])
  await db.query(`
    insert into speaker (id, slug, name)
    values (10, 'x1', 'Dr. Zoë  Ång-Li'), (11, 'x2', '!');
    insert into tag (id, slug, name)
    values (10, 'x1', '#Machine-Learning'), (11, 'x2', '-'), (12, 'x3', 'C++ ')`)
  const spelling = async (table: string) =>
    (await db.query(`select spelling from ${table} where id >= 10 order by id`)).rows.map(
      (row) => row.spelling,
    )
  assert.deepEqual(await spelling('speaker'), ['zoeangli', null])
  assert.deepEqual(await spelling('tag'), ['machinelearning', null, 'c++'])
})

test('compacts the rows of one count at random without waiting for locks', async () => {
  const rowsOf = async (id: number) =>
    Number(
      (await db.query('select count(*) from talk_count where entity_id = $1', [id])).rows[0].count,
    )
  // Starts with two rows. They may be compacted at once, at random: then there is only one.
  while ((await rowsOf(5001)) !== 2) {
    await db.query('delete from talk_count where entity_id = 5001')
    await db.query(`insert into talk_count values ('tag', 5001, 1), ('tag', 5001, 1)`)
  }
  const addMany = (id: number) =>
    `do $$ begin
       for i in 1..800 loop
         insert into talk_count values ('tag', ${id}, 1);
       end loop;
     end $$`
  await db.query(addMany(5002))
  assert.equal(
    Number(
      (await db.query('select sum(talks) from talk_count where entity_id = 5002')).rows[0].sum,
    ),
    800,
  )
  assert.ok((await rowsOf(5002)) < 800, 'the rows were never compacted')
  assert.equal(await rowsOf(5001), 2)
  // Rows that cancel out leave no row behind.
  await db.query('delete from talk_count where entity_id = 5003')
  await db.query(
    `do $$ begin
       for i in 1..800 loop
         insert into talk_count values ('tag', 5003, 1), ('tag', 5003, -1);
       end loop;
     end $$`,
  )
  assert.equal(
    Number(
      (await db.query('select count(*) from talk_count where entity_id = 5003 and talks = 0'))
        .rows[0].count,
    ),
    0,
  )

  const other = await connectClient()
  await other.query('begin')
  await other.query('select from talk_count where entity_id = 5002 for update')
  await db.query(`set lock_timeout = '10s'`)
  await db.query(addMany(5002))
  await db.query('reset lock_timeout')
  await other.query('rollback')
  await other.end()
  assert.equal(
    Number(
      (await db.query('select sum(talks) from talk_count where entity_id = 5002')).rows[0].sum,
    ),
    1600,
  )
  await db.query('delete from talk_count where entity_id > 5000')
})

test('compacts the rows of one cell at random', async () => {
  const cell = 'year_key = 1 and language_id = 5001 and length = 1'
  await db.query(
    `do $$ begin
       for i in 1..800 loop
         insert into talk_cube values (1, 5001, 1, 2), (1, 5001, 1, -1), (1, 5002, 1, 1),
                                      (1, 5002, 1, -1);
       end loop;
     end $$`,
  )
  const read = async (condition: string) =>
    (await db.query(`select sum(talks)::int, count(*)::int from talk_cube where ${condition}`))
      .rows[0]
  const { sum, count } = await read(cell)
  assert.equal(sum, 800)
  assert.ok(count < 1600, 'the rows were never compacted')
  assert.equal((await read('talks = 0')).count, 0)
  await db.query('insert into talk_cube values (1, 5001, 1, 1), (1, 5003, 1, 1), (1, 5003, 1, -1)')
  await db.query('select compact_all_cells()')
  assert.deepEqual(await read('language_id > 5000'), { sum: 801, count: 1 })
  await db.query('delete from talk_cube where language_id > 5000')
})

/** Returns whether a statement waits for the work of an open transaction. Ends both. */
async function waitsFor(
  work: string | ((client: pg.Client) => Promise<unknown>),
  statement: string,
): Promise<boolean> {
  const [first, second] = [await connectClient(), await connectClient()]
  await first.query('begin')
  if (typeof work === 'string') await first.query(work)
  else await work(first)
  const { rows } = await second.query('select pg_backend_pid() as pid')
  let isDone = false
  const running = second.query(statement).then(() => (isDone = true))
  let isWaiting = false
  while (!isDone && !isWaiting) {
    const { rows: locks } = await db.query('select from pg_locks where pid = $1 and not granted', [
      rows[0].pid,
    ])
    isWaiting = locks.length > 0
  }
  await first.query('commit')
  await running
  await Promise.all([first.end(), second.end()])
  return isWaiting
}

test('waits for open writes before it rebuilds counts or duplicate candidates', async () => {
  assert.ok(await waitsFor((client) => insert({ state: 2 }, client), 'select recount_talks()'))
  await insert({ source_url: 'https://example.org/race' })
  assert.ok(
    await waitsFor(
      (client) => insert({ source_url: 'https://example.org/race' }, client),
      'select rebuild_fingerprints()',
    ),
  )
  assert.ok(await waitsFor((client) => insert({}, client), 'call rebuild_search()'))
  await checkDerived('after waiting')
})

/** Writes a folder with the migrations up to a version, and of the triggers only the search's. */
function migrationsUpTo(t: { after(done: () => void): void }, version: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'schema-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(join(schemaFolder, 'migrations'), join(folder, 'migrations'), {
    recursive: true,
    filter: (path) => Number(/^\d{4}/.exec(basename(path))?.[0] ?? 0) <= version,
  })
  cpSync(join(schemaFolder, 'search/triggers.sql'), join(folder, 'search/triggers.sql'))
  return folder
}

test('counts talks that are written at any time of an upgrade', async (t) => {
  const { url: database } = await freshDatabase(t)
  const client = await connectClient(database)
  t.after(() => client.end())
  await client.query('drop schema public cascade; create schema public')
  await migrate(database, migrationsUpTo(t, 25))
  await client.query(entities)
  const ids = [
    await insert({}, client),
    await insert({ recorded: '2001-02-03' }, client),
    await insert({ state: 2 }, client),
  ]
  /** Inserts and changes talks as servers of the release before do. */
  const write = async () => {
    await insert({ duration: 5000 }, client)
    await insert({ recorded: null }, client)
    await client.query(
      'update video set recorded = recorded + 400, state = 3 - state where id = any ($1)',
      [ids],
    )
  }
  // The table is there, and neither the triggers of the catalogue nor the older talks.
  await migrate(database, migrationsUpTo(t, 26))
  await write()
  await migrate(database, migrationsUpTo(t, 39))
  await write()
  assert.notDeepEqual(await wrongCells(client), [])
  let isDone = false
  const migrated = migrate(database, schemaFolder).finally(() => {
    isDone = true
  })
  do await write()
  while (!isDone)
  assert.ok((await migrated).includes('40 talk-cube'))
  assert.deepEqual(await wrongCells(client), [])
  await write()
  assert.deepEqual(await wrongCells(client), [])
})
