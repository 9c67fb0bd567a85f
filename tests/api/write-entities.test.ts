import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExportedEntity } from '@talkshelf/contract'
import { nextRenameBatch } from '../../server/directory/directory.ts'
import {
  changeEntity,
  createCategory,
  createMissingEntities,
  lookUpAndLockNames,
  mergeEntities,
  restoreEntities,
} from '../../server/entities/entities.ts'
import type { Db } from '../../server/platform/db/db.ts'
import {
  advanceVideoIds,
  type BodyRow,
  countVideosOfEntity,
  findVideoIdsOfEntity,
  lockAndReadBodies,
  lockCurrent,
  refreshNames,
  writeLockedVersion,
} from '../../server/videos/videos.ts'
import { category } from '../support/harness.ts'
import { emptyEventProfile } from '../support/profiles.ts'
import { until } from '../support/until.ts'
import {
  assertOk,
  assertWriteRefused,
  context,
  ifMatch,
  isFree,
  startWriter,
  untilWaiting,
} from '../support/writer.ts'

// Writes of speakers, tags and categories, and of the records that show them.

const writer = await startWriter()
const { archive, pool, admin, get, patch, post, sql, sound, createMany, heldOpen, recordOf } =
  writer

test('renames a speaker, changes aliases and assigns a slug for each name', async () => {
  await archive.make({ speakers: ['Pat Smith', 'Sam Smith'], tags: ['pat'] })
  const speaker = async (slug: string) => (await get(`speaker/${slug}`)).json
  const before = await get('speaker/pat-smith')
  // Created with a record and never changed since: there is no change to report.
  const never = patch('speaker/pat-smith', { name: 'x' }, ifMatch('"1.1.AAAAAAAA"'))
  const { current } = (await assertWriteRefused(never, 412, /stale-revision/)).json
  assert.deepEqual(
    [current.revision, current.by, current.updated, current.fields],
    [0, null, null, null],
  )
  const same = await assertOk(patch('speaker/pat-smith', { name: 'Pat Smith', aliases: [] }))
  assert.equal(String(same.headers.etag).split('~')[0], String(before.headers.etag).split('~')[0])
  // A change of case keeps the slug.
  assert.equal(
    (await assertOk(patch('speaker/pat-smith', { name: 'PAT Smith' }))).json.slug,
    'pat-smith',
  )
  const renamed = await assertOk(
    patch('speaker/pat-smith', {
      name: 'Kim Jones',
      aliases: [{ name: 'Patty', shown: true }, { name: 'Pat S.' }],
    }),
  )
  assert.deepEqual(
    [renamed.json.slug, renamed.json.aliases.map(({ name }: { name: string }) => name)],
    ['kim-jones', ['PAT Smith', 'Pat S.', 'Patty']],
  )
  const open = await archive.call('GET', '/api/v2/speaker/kim-jones')
  assert.deepEqual(open.json.aliases, [{ name: 'Patty', shown: true }])
  // The list replaces all aliases.
  await assertOk(
    patch('speaker/kim-jones', {
      aliases: [{ name: 'Patty' }, { name: 'PAT Smith', shown: true }],
    }),
  )
  assert.deepEqual((await speaker('kim-jones')).aliases, [
    { name: 'PAT Smith', shown: true },
    { name: 'Patty', shown: false },
  ])
  assert.deepEqual((await archive.make({ speakers: ['Pat S.'] })).speakers, ['Pat S.'])
  const back = await assertOk(patch('speaker/kim-jones', { name: 'PAT Smith' }))
  assert.deepEqual(
    [back.json.slug, back.json.aliases],
    [
      'pat-smith',
      [
        { name: 'Kim Jones', shown: false },
        { name: 'Patty', shown: false },
      ],
    ],
  )
  // A slug that another speaker has or had, and a name that gives no slug.
  assert.equal(
    (await assertOk(patch('speaker/sam-smith', { name: 'Kim-Jones' }))).json.slug,
    'kim-jones-1',
  )
  assert.equal(
    (await assertOk(patch('speaker/kim-jones-1', { name: '???' }))).json.slug,
    'speaker-1',
  )
  await assertWriteRefused(
    patch('speaker/speaker-1', { name: 'Patty' }),
    409,
    /This name already belongs to speaker pat-smith/,
  )
  await assertWriteRefused(
    patch('speaker/speaker-1', { aliases: [{ name: 'Kim Jones' }] }),
    409,
    /This alias already belongs to speaker pat-smith/,
  )
  await assertWriteRefused(
    patch('speaker/speaker-1', { aliases: [{ name: '???' }] }),
    400,
    /is already the main name/,
  )
  await assertWriteRefused(
    patch('speaker/speaker-1', { name: 'Zed', aliases: [{ name: 'a' }, { name: 'Zed' }] }),
    400,
    /aliases.1.name/,
  )
  await assertWriteRefused(
    patch('speaker/nobody', { name: 'x' }),
    404,
    /This speaker does not exist/,
  )
  assert.equal((await archive.call('GET', '/api/v2/speaker/kim-jones')).status, 301)
})

test('creates all names with the same slug and numbers the slugs', async () => {
  const record = await archive.make({
    speakers: ['Slug Same', 'slug same', 'Slug-Same', '!', '?'],
    tags: ['C#', 'c', 'C'],
  })
  assert.deepEqual([record.speakers.length, record.tags], [5, ['C#', 'c', 'C']])
  const rows = await sql((query) =>
    query(
      `select slug from speaker
       where name in ('Slug Same', 'slug same', 'Slug-Same', '!', '?')
       order by 1`,
    ),
  )
  assert.deepEqual(
    rows.map(({ slug }) => String(slug)).filter((slug) => slug.startsWith('slug')),
    ['slug-same', 'slug-same-1', 'slug-same-2'],
  )
  const others = rows.map(({ slug }) => String(slug)).filter((slug) => !slug.startsWith('slug'))
  assert.ok(
    others.length === 2 && others.every((slug) => /^speaker-\d+$/.test(slug)),
    String(others),
  )
})

test('keeps a tag and a speaker with the same name and id separate', async () => {
  const [lastSpeaker] = await sql((query) => query('select max(id)::int as id from speaker'))
  await sql((query) =>
    query(`select setval(pg_get_serial_sequence('tag', 'id'), ${lastSpeaker?.id} - 1)`),
  )
  await archive.make({ tags: ['Clash'] })
  const [made] = await createMany([{ record: { title: 'Clash', speakers: ['Clash'] } }])
  assert.deepEqual((await recordOf((made as { id: number }).id)).speakers, ['Clash'])
})

test('creates a category once, patches it and reserves its old titles', async () => {
  const about = {
    description: 'Two days',
    url: 'https://example.org',
    start_date: '2026-01-02',
    end_date: '2026-01-03',
  }
  const created = await assertOk(post('category', { title: 'Full Days', ...about }))
  assert.deepEqual(
    { ...created.json, id: 0 },
    {
      id: 0,
      title: 'Full Days',
      slug: 'full-days',
      ...about,
      ...emptyEventProfile,
      talks: 0,
      aliases: [],
    },
  )
  assert.equal((await assertOk(post('category', { title: 'Full-Days' }))).json.slug, 'full-days-1')
  await assertWriteRefused(post('category', { title: 'Full Days' }), 409, /category-exists/)
  const changed = await assertOk(
    patch('category/full-days', { description: 'Three', end_date: null }),
  )
  assert.deepEqual(
    [changed.json.description, changed.json.url, changed.json.end_date],
    ['Three', about.url, null],
  )
  const talk = await archive.make({ category: 'Full Days', tags: ['full'] })
  await assertOk(patch('category/full-days', { title: 'Renamed Days' }))
  assert.equal((await recordOf(talk.id)).category, 'Renamed Days')
  await assertOk(patch('tag/full', { name: 'fuller' }))
  assert.deepEqual((await recordOf(talk.id)).tags, ['fuller'])
  await assertWriteRefused(post('category', { title: 'Full Days' }), 409, /category-exists/)
  const again = (await assertOk(patch('category/renamed-days', { description: 'Three' }))).json
  assert.equal(again.description, 'Three')
  const [row] = await sql((query) =>
    query(`select revision from category where title = 'Renamed Days'`),
  )
  assert.equal(row?.revision, 3)
  assert.equal((await archive.call('GET', '/api/v2/category/full-days')).status, 301)
  // A category without talks is public; a speaker without live talks is visible to editors only.
  assert.equal((await archive.call('GET', '/api/v2/category/renamed-days')).status, 200)
  await archive.make({ speakers: ['Only Drafted'], state: 2 })
  assert.equal((await archive.call('GET', '/api/v2/speaker/only-drafted')).status, 404)
  assert.equal((await get('speaker/only-drafted')).status, 200)
})

test('redirects names, slugs and records of a merged speaker to the target', async () => {
  const both = await archive.make({ speakers: ['Merge A', 'Merge B', 'Merge C'], tags: ['m1'] })
  const draft = await archive.make({ speakers: ['Merge A'], state: 2 })
  const gone = await archive.make({ speakers: ['Merge A'] })
  await assertOk(post(`video/${gone.id}/takedown`, { reason: 'asked' }, { token: admin }))
  await assertOk(
    patch('speaker/merge-a', { aliases: [{ name: 'Shown A', shown: true }, { name: 'Hidden A' }] }),
  )
  const merged = await assertOk(post('speaker/merge-a/merge', { into: 'merge-b' }))
  assert.deepEqual(merged.json.aliases, [
    { name: 'Hidden A', shown: false },
    { name: 'Merge A', shown: false },
    { name: 'Shown A', shown: true },
  ])
  assert.deepEqual([merged.json.records_left, merged.json.talks], [0, 1])
  assert.deepEqual((await recordOf(both.id)).speakers, ['Merge B', 'Merge C'])
  assert.deepEqual((await recordOf(draft.id)).speakers, ['Merge B'])
  // Repeated because the first response was lost.
  const again = await assertOk(post('speaker/merge-a/merge', { into: 'merge-b' }))
  assert.equal(again.json.name, 'Merge B')
  await assertWriteRefused(
    post('speaker/merge-b/merge', { into: 'merge-b' }),
    400,
    /is the speaker to be merged/,
  )
  await assertWriteRefused(
    post('speaker/merge-b/merge', { into: 'merge-a' }),
    400,
    /is the speaker to be merged/,
  )
  await assertWriteRefused(
    post('speaker/merge-b/merge', { into: 'nobody' }),
    400,
    /not the slug of a speaker/,
  )
  await assertWriteRefused(
    post('speaker/nobody/merge', { into: 'merge-b' }),
    404,
    /This speaker does not exist/,
  )
  await assertOk(post('speaker/merge-b/merge', { into: 'merge-c' }))
  assert.deepEqual((await recordOf(both.id)).speakers, ['Merge C'])
  assert.deepEqual((await archive.make({ speakers: ['Merge A', 'Shown A', 'Merge B'] })).speakers, [
    'Merge C',
  ])
  assert.deepEqual((await get(`video/${both.id}/revisions/1`)).json.record.speakers, ['Merge C'])
  const rows = await sql((query) =>
    query(`select distinct merged_into from speaker where name in ('Merge A', 'Merge B')`),
  )
  assert.equal(rows.length, 1)
  const [counts] = await sql((query) =>
    query(`
      select count(*)::int as n
      from change c join speaker s on s.id = c.subject_id
      where c.subject = 'speaker' and c.kind = 'merged' and s.name like 'Merge _'`),
  )
  assert.equal(counts?.n, 2)
  await sound()
})

test('moves some records of a speaker to another one by a split', async () => {
  const [one, two, other] = [
    await archive.make({ speakers: ['Split X', 'Beside'] }),
    await archive.make({ speakers: ['Split X'] }),
    await archive.make({ speakers: ['Beside'] }),
  ]
  await assertOk(patch('speaker/split-x', { aliases: [{ name: 'Split Y' }, { name: 'Split Z' }] }))
  const split = (name: string, videos: number[]) => post('speaker/split-x/split', { name, videos })
  const refused = await assertWriteRefused(
    split('Split Y', [one.id, other.id, 999999]),
    400,
    /not-theirs/,
  )
  assert.deepEqual(
    refused.json.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/videos/1', '/videos/2'],
  )
  await assertWriteRefused(split('Split X', [one.id]), 400, /tells the two apart/)
  await assertWriteRefused(
    post('speaker/nobody/split', { name: 'x', videos: [1] }),
    404,
    /This speaker does not exist/,
  )
  const done = await assertOk(split('Split Y', [one.id]))
  assert.deepEqual([done.json.name, done.json.aliases], ['Split Y', []])
  assert.deepEqual(
    [(await recordOf(one.id)).speakers, (await recordOf(two.id)).speakers],
    [['Split Y', 'Beside'], ['Split X']],
  )
  assert.deepEqual((await get('speaker/split-x')).json.aliases, [{ name: 'Split Z', shown: false }])
  // Repeated because the response was lost, and split off to an existing speaker.
  await assertOk(split('Split Y', [one.id]))
  await assertOk(split('Beside', [two.id]))
  assert.deepEqual((await recordOf(two.id)).speakers, ['Beside'])
})

/** Asserts that the records of a speaker after the first 50 are counted and found in order. */
async function assertBatchesOf(name: string, ids: readonly number[]): Promise<void> {
  const { lists } = pool
  await sql(async (query) => {
    // Keeps the background workers from claiming jobs.
    await query('begin')
    await query(`lock table rename_job in share mode`)
    const [row] = await query(`select id from speaker where name = '${name}'`)
    const entity = Number(row?.id)
    assert.equal(await countVideosOfEntity(lists, 'speaker', entity, ids[49] as number), 51)
    assert.deepEqual(
      await findVideoIdsOfEntity(lists, 'speaker', entity, ids[49] as number, 3),
      ids.slice(50, 53),
    )
    assert.deepEqual(
      await findVideoIdsOfEntity(lists, 'speaker', entity, ids[58] as number, 3),
      ids.slice(59, 62),
    )
    await query('rollback')
  })
}

test('two renames at a time reach all records of both', async () => {
  const created = await createMany(
    Array.from({ length: 220 }, (_, n) => ({
      record: { title: `D ${n}`, ...(n % 2 ? { tags: ['double'] } : { speakers: ['Double One'] }) },
    })),
  )
  const ids = created.map(({ id }) => id)
  await sql(async (query) => {
    await query('begin')
    await query(`select from video where id = ${ids[100]} for update`)
    await assertOk(patch('speaker/double-one', { name: 'Double Two' }))
    await untilWaiting(query, 1)
    const second = await assertOk(patch('tag/double', { name: 'double tag' }))
    assert.equal(second.json.records_left, 60)
    await query('commit')
  })
  const jobs = () => sql((query) => query('select from rename_job'))
  await until('both renames', async () => (await jobs()).length === 0)
  const bodies = await sql((query) =>
    query('select body from video_body where id = any ($1)', [ids]),
  )
  const names = bodies.flatMap(({ body }) => {
    const { speakers, tags } = JSON.parse(String(body))
    return [...speakers, ...tags]
  })
  assert.deepEqual([...new Set(names)].sort(), ['Double Two', 'double tag'])
  assert.equal(names.length, 220)
})

test('renames 50 records at once and the rest in batches', async () => {
  const renameJobs = () =>
    sql((query) => query('select entity_id, done_up_to, actor, via, request_id from rename_job'))
  const countShowing = async (name: string) =>
    (await sql((query) => query(`select id from video_body where body like $1`, [`%"${name}"%`])))
      .length
  const created = await createMany(
    Array.from({ length: 50 }, (_, n) => ({
      record: { title: `B ${n}`, speakers: ['Batch One'], tags: ['batch'] },
    })),
  )
  const all = await assertOk(patch('speaker/batch-one', { name: 'Batch Two' }))
  assert.equal(all.json.records_left, 0)
  assert.deepEqual(await renameJobs(), [])
  assert.equal(await countShowing('Batch Two'), 50)
  created.push(
    ...(await createMany(
      Array.from({ length: 51 }, (_, n) => ({
        record: { title: `C ${n}`, speakers: ['Batch Two'], tags: ['batch'] },
      })),
    )),
  )
  const ids = created.map(({ id }) => id).sort((a, b) => a - b)
  await assertOk(patch(`video/${ids[60]}`, { state: 2 }))
  await assertBatchesOf('Batch Two', ids)
  // Locks the first record of the second batch, so that the batch waits.
  await sql(async (query) => {
    await query('begin')
    await query(`select from video where id = ${ids[50]} for update`)
    const renamed = await assertOk(patch('speaker/batch-two', { name: 'Batch Three' }))
    assert.equal(renamed.json.records_left, 51)
    await untilWaiting(query, 1)
    assert.equal(await countShowing('Batch Three'), 50)
    const [row] = await renameJobs()
    assert.deepEqual([Number(row?.done_up_to), row?.actor, row?.via], [ids[49], 'Edith', 'api'])
    // Another worker finds the job claimed.
    assert.equal(await nextRenameBatch(pool), undefined)
    // A second rename of the same records is a job of its own.
    const second = await assertOk(patch('tag/batch', { name: 'batch tag' }))
    assert.equal(second.json.records_left, 51)
    assert.equal((await renameJobs()).length, 2)
    await query('rollback')
  })
  while ((await renameJobs()).length > 0);
  assert.deepEqual([await countShowing('Batch Three'), await countShowing('batch tag')], [101, 101])
  const requests = await sql((query) =>
    query(
      `select distinct actor, token_id, via, request_id, request_hash
       from change
       where subject = 'video'
         and subject_id = any ($1)
         and after->'speakers' = '["Batch Three"]'`,
      [ids],
    ),
  )
  assert.equal(requests.length, 1)
})

const entity = (fields: Partial<ExportedEntity>): ExportedEntity =>
  ({
    kind: 'speaker',
    id: 100_000,
    name: 'Back',
    slug: 'back',
    revision: 0,
    aliases: [],
    old_slugs: [],
    ...fields,
  }) as ExportedEntity
const restore = (...entities: ExportedEntity[]) =>
  pool.transaction((tx) => restoreEntities(tx, entities, context))

test('restores exported entities with all ids, names and slugs that are free', async () => {
  const back = entity({
    revision: 4,
    aliases: [
      { name: 'Backy', shown: true },
      { name: 'Backer', shown: false },
    ],
    old_slugs: ['back-then'],
  })
  assert.equal(await restore(), 0)
  assert.equal(await restore(back), 1)
  assert.deepEqual((await get('speaker/back')).json.aliases, [
    { name: 'Backer', shown: false },
    { name: 'Backy', shown: true },
  ])
  assert.equal(await restore(entity({ id: 100_001, name: 'Back', slug: 'free' })), 0)
  // Ids, slugs and aliases that are taken are replaced or left out; the rest is restored.
  const freeAlias = { name: 'Own', shown: true }
  const takenAlias = { name: 'Backy', shown: true }
  const oldSlugs = ['back-then', 'own-then']
  const conflicting = [
    entity({ name: 'Same id', slug: 'same-id' }),
    entity({ id: 100_050, name: 'Same slug', slug: 'back' }),
    entity({
      id: 100_051,
      name: 'Same alias',
      slug: 'same-alias',
      aliases: [takenAlias, freeAlias],
    }),
    entity({ id: 100_052, name: 'Same old slug', slug: 'same-old-slug', old_slugs: oldSlugs }),
    entity({ id: 100_052, name: 'Same old slug', slug: 'twice' }),
  ]
  assert.equal(await restore(...conflicting), 4)
  assert.notEqual((await get('speaker/same-id')).json.id, 100_000)
  assert.equal((await get('speaker/back')).json.name, 'Back')
  assert.equal((await get('speaker/back-1')).json.name, 'Same slug')
  assert.deepEqual((await get('speaker/same-alias')).json.aliases, [freeAlias])
  assert.deepEqual((await get('speaker/same-old-slug')).json.old_slugs, ['own-then'])
  // Each kind has its own ids, names and slugs. Only new entities are created.
  const day = { description: 'd', url: null, start_date: '2026-01-01', end_date: null }
  const made = await restore(
    entity({ kind: 'tag' }),
    entity({ kind: 'category', revision: 2, ...day } as Partial<ExportedEntity>),
    entity({ id: 90_000, name: 'Lower', slug: 'lower' }),
    back,
  )
  assert.equal(made, 3)
  assert.equal((await get('category/back')).json.start_date, '2026-01-01')
  await archive.make({ speakers: ['Next Number'], tags: ['next number'], category: 'Back' })
  const rows = await sql((query) =>
    query(
      `select id::int from speaker where name = 'Next Number'
       union all
       select id::int from tag where name = 'next number'`,
    ),
  )
  assert.deepEqual(
    rows.map(({ id }) => id),
    [100_053, 100_001],
  )
  const changes = await sql((query) =>
    query(`select subject, revision, kind from change where subject_id = 100000 order by subject`),
  )
  assert.deepEqual(changes, [
    { subject: 'category', revision: 2, kind: 'created' },
    { subject: 'speaker', revision: 4, kind: 'created' },
  ])
})

test('waits for a running merge or rename and uses its result', async () => {
  await archive.make({ speakers: ['Race A', 'Race B', 'Race C'], tags: ['race'] })
  const { id } = await archive.make({ speakers: ['Race C'] })
  const merge = (tx: Db) => mergeEntities(tx, 'speaker', 'race-a', 'race-b', context)
  const replies = await heldOpen(merge, () => [
    post('video', { title: 'R', category, language: 'en', speakers: ['Race A'] }),
    patch(`video/${id}`, { speakers: ['Race A', 'Race C'] }),
    post('video', {
      title: 'R',
      category,
      language: 'en',
      speakers: ['Race A'],
      tags: ['made by race'],
    }),
    patch('speaker/race-a', { name: 'Race D' }),
    post('speaker/race-a/split', { name: 'Race A', videos: [id] }),
  ])
  assert.deepEqual(
    replies.map(({ status }) => status < 300 || status === 400),
    [true, true, true, true, true],
    replies.map(({ text }) => text).join('\n'),
  )
  assert.equal(replies[3]?.json.name, 'Race D')
  const rename = (tx: Db) => changeEntity(tx, 'speaker', 'race-c', { name: 'Race E' }, context)
  const lookups = await heldOpen(rename, () => [
    pool.transaction((tx) =>
      lookUpAndLockNames(tx, {
        category: [],
        language: [],
        speaker: ['Race C'],
        tag: ['new by race'],
      }),
    ),
    pool.transaction((tx) =>
      lookUpAndLockNames(tx, { category: [category], language: [], speaker: ['Race C'], tag: [] }),
    ),
  ])
  for (const lookup of lookups) assert.equal(lookup.speaker.get('Race C')?.name, 'Race E')
  await pool.transaction((tx) => refreshNames(tx, [id], context))
  const all = await sql((query) =>
    query(
      `select id from video
       where speaker_ids && array(select id from speaker where name = 'Race E')`,
    ),
  )
  await pool.transaction((tx) =>
    refreshNames(
      tx,
      all.map((row) => Number(row.id)),
      context,
    ),
  )
})

test('waits for a record write before a rename or a split changes the record', async () => {
  const { id } = await archive.make({ speakers: ['Busy One'] })
  const write = async (tx: Db) => {
    const row = (await lockAndReadBodies(tx, [id])).get(id) as BodyRow
    const names = await lookUpAndLockNames(tx, { category: [], language: [], speaker: [], tag: [] })
    await writeLockedVersion(tx, row, { title: `Busy ${row.revision}` }, names, 'updated', context)
  }
  const [renamed] = await heldOpen(write, () => [patch('speaker/busy-one', { name: 'Busy Two' })])
  assert.equal(renamed?.status, 200, renamed?.text)
  const [split] = await heldOpen(write, () => [
    post('speaker/busy-two/split', { name: 'Busy Three', videos: [id] }),
  ])
  assert.equal(split?.status, 200, split?.text)
  const { title, speakers } = await recordOf(id)
  assert.deepEqual([title, speakers], ['Busy 3', ['Busy Three']])
  const follow = () => pool.transaction((tx) => refreshNames(tx, [id], context))
  assert.deepEqual([await follow(), await follow()], [[], []])
})

test('leaves entities of other kinds with the same names and slugs unchanged', async () => {
  // Gives the kinds different ids, so that a mix-up shows.
  await createMany([{ record: { title: 'Apart', speakers: ['Apart A', 'Apart B', 'Apart C'] } }])
  await assertOk(post('category', { title: 'Twin' }))
  const talk = await archive.make({ category: 'Twin', speakers: ['Twin'], tags: ['Twin'] })
  const all = async (slug: string) =>
    (await Promise.all(['category', 'speaker', 'tag'].map((kind) => get(`${kind}/${slug}`)))).map(
      ({ status, json }) => (status === 200 ? (json.title ?? json.name) : status),
    )
  assert.deepEqual(await all('twin'), ['Twin', 'Twin', 'Twin'])
  await assertOk(
    patch('speaker/twin', { name: 'Twin S', aliases: [{ name: 'Twin' }, { name: 'T' }] }),
  )
  await assertOk(patch('tag/twin', { aliases: [{ name: 'T' }, { name: 'TT' }] }))
  assert.deepEqual(await all('twin'), ['Twin', 301, 'Twin'])
  await assertOk(patch('tag/twin', { name: 'Twin T', aliases: [] }))
  assert.deepEqual((await get('speaker/twin-s')).json.aliases.length, 2)
  const { category: title, speakers, tags } = await recordOf(talk.id)
  assert.deepEqual([title, speakers, tags], ['Twin', ['Twin S'], ['Twin T']])
  await archive.make({ speakers: ['Twin T'], tags: ['Twin S'] })
  await assertOk(post('speaker/twin-t/merge', { into: 'twin-s' }))
  assert.deepEqual((await recordOf(talk.id)).tags, ['Twin T'])
  await assertOk(post('tag/twin-s/merge', { into: 'twin-t' }))
  await assertOk(patch('category/twin', { title: 'Twin S' }))
  await assertOk(post('speaker/twin-s/split', { name: 'Twin C', videos: [talk.id] }))
  assert.deepEqual(
    [(await recordOf(talk.id)).category, (await recordOf(talk.id)).speakers],
    ['Twin S', ['Twin C']],
  )
})

test('normalizes names and rejects wrong types', async () => {
  await archive.make({ speakers: ['Tidy'] })
  const tidy = await assertOk(
    patch('speaker/tidy', { name: ' Tidie\u0301 ', aliases: [{ name: ' T. ' }] }),
  )
  assert.deepEqual([tidy.json.name, tidy.json.aliases[0].name], ['Tidi\u00e9', 'T.'])
  for (const body of [
    { name: 7 },
    { name: null },
    { aliases: 'T' },
    { aliases: ['T'] },
    { aliases: [null] },
    { aliases: [{}] },
    { aliases: [{ name: 7 }] },
  ])
    await assertWriteRefused(patch(`speaker/${tidy.json.slug}`, body), 400, /invalid-fields/)
})

test('stores the previous and the new state of a name in its history', async () => {
  await archive.make({ speakers: ['Told One'] })
  await assertOk(patch('speaker/told-one', { name: 'Told Two' }))
  await assertOk(
    patch('speaker/told-two', { name: 'Told One', aliases: [{ name: 'Told Two', shown: true }] }),
  )
  const aliases = (name: string, shown = false) => [{ name, shown }]
  const changes = await sql((query) =>
    query(`select change.revision, before, after from change join speaker on id = subject_id
           where subject = 'speaker' and name = 'Told One' order by 1`),
  )
  const [one, two] = [
    { name: 'Told One', slug: 'told-one' },
    { name: 'Told Two', slug: 'told-two' },
  ]
  assert.deepEqual(
    changes.map(({ before }) => before),
    [
      { ...one, aliases: [] },
      { ...two, aliases: aliases('Told One') },
    ],
  )
  assert.deepEqual(
    changes.map(({ after }) => after),
    [
      { ...two, aliases: aliases('Told One') },
      { ...one, aliases: aliases('Told Two', true) },
    ],
  )
})

test('creates new names in a fixed order, the first with the plain slug', async () => {
  await archive.make({ speakers: ['Zz Order', 'order same', 'Order Same', 'Aa Order'] })
  const rows = await sql((query) =>
    query(`select name, slug from speaker where name ilike '%order%' order by id`),
  )
  assert.deepEqual(
    rows.map(({ name }) => name),
    ['Aa Order', 'Order Same', 'order same', 'Zz Order'],
  )
  assert.deepEqual(
    rows.map(({ slug }) => slug),
    ['aa-order', 'order-same', 'order-same-1', 'zz-order'],
  )
})

test('numbers the slug of the second of two concurrent names', async () => {
  await archive.make({ speakers: ['Slug Racer'] })
  const makeSpeaker = (name: string) => (tx: Db) =>
    createMissingEntities(tx, 'speaker', [name], [null])
  const [renamed] = await heldOpen(makeSpeaker('Race!Slug'), () => [
    patch('speaker/slug-racer', { name: 'Race Slug' }),
  ])
  assert.equal(renamed?.json.slug, 'race-slug-1')
  const [made] = await heldOpen(makeSpeaker('Num!Ber'), () => [
    post('video', { title: 'N', category, language: 'en', speakers: ['Num Ber'] }),
  ])
  assert.deepEqual(made?.json.speakers, ['Num Ber'])
  assert.equal((await get('speaker/num-ber-1')).json.name, 'Num Ber')
  const makeCategory = (tx: Db) => createCategory(tx, { title: 'Cat!Race' }, context)
  const [beside, same] = await heldOpen(makeCategory, () => [
    post('category', { title: 'Cat Race' }),
    post('category', { title: 'Cat!Race' }),
  ])
  // From the second attempt on the suffix is chosen at random.
  assert.match(beside?.json.slug, /^cat-race-[12]$/)
  assert.equal(same?.status, 409)
  // Another error of the database is passed on.
  const impossible = { title: 'Impossible', start_date: '2020-02-30' }
  await assert.rejects(createCategory(pool, impossible, context), /date/)
})

test('waits for a change of the target before a split or a merge', async () => {
  const { id } = await archive.make({ speakers: ['Wait X', 'Wait Y', 'Wait Z'] })
  const alone = await archive.make({ speakers: ['Wait X'] })
  const merge = (tx: Db) => mergeEntities(tx, 'speaker', 'wait-y', 'wait-z', context)
  const [split] = await heldOpen(merge, () => [
    post('speaker/wait-x/split', { name: 'Wait Y', videos: [alone.id] }),
  ])
  assert.equal(split?.json.name, 'Wait Z')
  assert.deepEqual((await recordOf(alone.id)).speakers, ['Wait Z'])
  await pool.transaction((tx) => refreshNames(tx, [id], context))
  const lockTarget = (tx: Db) => changeEntity(tx, 'speaker', 'wait-z', { aliases: [] }, context)
  for (const [path, body] of [
    ['split', { name: 'Wait Z', videos: [id] }],
    ['merge', { into: 'wait-z' }],
  ] as const) {
    const [reply] = await heldOpen(lockTarget, () => [post(`speaker/wait-x/${path}`, body)])
    assert.equal(reply?.status, 200, reply?.text)
  }
})

test('holds exactly the locks of a write until it commits', async () => {
  const { id } = await archive.make({ speakers: ['Held One'], tags: ['held'] })
  const other = await archive.make({ speakers: ['Held Two'], tags: ['held two'] })
  await post('category', { title: 'Held Days' })
  const [one, two] = [`speaker where name = 'Held One'`, `speaker where name = 'Held Two'`]
  const [tag, days] = [`tag where name = 'held'`, `category where title = 'Held Days'`]
  const [record, beside] = [`video where id = ${id}`, `video where id = ${other.id}`]
  await sql(async (query) => {
    const free = async (...rows: string[]) => {
      const all: boolean[] = []
      for (const row of rows) all.push(await isFree(query, row))
      return all
    }
    await query('begin')
    await query(`select from video where id = ${id} for update`)
    const fields = { speakers: ['Held Two', 'Made Meanwhile'], tags: ['held two'] }
    const write = patch(`video/${id}`, { ...fields, category: 'Held Days' })
    await untilWaiting(query, 1, [write])
    const assigned = [two, `tag where name = 'held two'`, days]
    assert.deepEqual(await free(...assigned, one), [false, false, false, true])
    await query('rollback')
    await assertOk(write)

    await query('begin')
    await pool.transaction(async (tx) => {
      const names = { language: [], speaker: ['Held One'], tag: ['held'] }
      await lookUpAndLockNames(tx, { category: ['Held Days'], ...names })
      assert.deepEqual(await free(one, tag, days, two), [false, false, false, true])
      await advanceVideoIds(tx, 1)
      const [lock] = await query(
        "select pg_try_advisory_xact_lock_shared(hashtext('numbers of records')) as free",
      )
      assert.equal(lock?.free, false)
    })
    await pool.transaction(async (tx) => {
      await changeEntity(tx, 'speaker', 'held-one', { aliases: [] }, context)
      assert.deepEqual([await isFree(query, one, 'share'), await isFree(query, two)], [false, true])
    })
    await pool.transaction(async (tx) => {
      await lockAndReadBodies(tx, [id])
      assert.deepEqual(await free(record, beside), [false, true])
    })
    await pool.transaction(async (tx) => {
      await lockCurrent(tx, id)
      assert.deepEqual(await free(record, beside), [false, true])
    })
    await query('rollback')
  })
})

test('keeps the archive consistent after all tests', sound)
