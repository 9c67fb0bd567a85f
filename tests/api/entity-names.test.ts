import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExportedEntity, VideoInput } from '@talkshelf/contract'
import {
  createMissingEntities,
  currentNames,
  findPublicEntities,
  findPublicEntity,
  lookUpAndLockNames,
  lookUpNames,
  restoreEntities,
} from '../../server/entities/entities.ts'
import {
  findCurrentEntities,
  findEntitiesByName,
  findTaken,
  insertEntities,
  insertEntity,
  isSlugRetired,
  nextEntityIds,
  releaseName,
} from '../../server/entities/queries.ts'
import { versionEtag } from '../../server/platform/http/conditional.ts'
import { toJson } from '../../server/platform/http/json.ts'
import {
  countVideosOfEntity,
  createVideos,
  findVideoIdsOfEntity,
} from '../../server/videos/videos.ts'
import { category } from '../support/harness.ts'
import {
  assertOk,
  assertWriteRefused,
  context,
  ifMatch,
  startWriter,
  watched,
} from '../support/writer.ts'

// Ids, names and slugs of speakers, tags and categories. Each kind has its own, even where they are
// equal.

const { archive, pool, admin, get, patch, post, sql, sound, createMany, recordOf } =
  await startWriter()

const noNames = { category: [], language: [], speaker: [], tag: [] }
const idOf = async (kind: 'speaker' | 'tag', name: string) =>
  (await findEntitiesByName(pool, kind, [name])).get(name)?.id
const exported = (fields: Partial<ExportedEntity>): ExportedEntity =>
  ({ revision: 0, aliases: [], old_slugs: [], ...fields }) as ExportedEntity
const restore = (...entities: ExportedEntity[]) =>
  pool.transaction((tx) => restoreEntities(tx, entities, context))

test('keeps imported ids and never assigns them again', async () => {
  const [first] = await createMany([{ record: { title: 'First' }, id: 40 }])
  assert.equal(first?.id, 40)
  await restore(
    exported({ kind: 'speaker', id: 5, name: 'Kept', slug: 'kept' }),
    exported({ kind: 'tag', id: 7, name: 'kept', slug: 'kept' }),
  )
  const next = await archive.make({ speakers: ['Next'], tags: ['next'] })
  assert.deepEqual([next.id, await idOf('speaker', 'Next'), await idOf('tag', 'next')], [41, 6, 8])
  // Ids that were reserved and never used are not assigned again either.
  assert.deepEqual(await nextEntityIds(pool, 'tag', 3, new Set()), [9, 10, 11])
  await restore(exported({ kind: 'tag', id: 3, name: 'low', slug: 'low' }))
  assert.deepEqual(await nextEntityIds(pool, 'tag', 2, new Set([12, 14])), [13, 15])
  assert.deepEqual(await nextEntityIds(pool, 'tag', 0, new Set([1])), [])
  await archive.make({ tags: ['later'] })
  assert.equal(await idOf('tag', 'later'), 16)
})

test('keeps ids, names, slugs and counts of each kind separate', async () => {
  for (const kind of ['category', 'speaker', 'tag'])
    await sql((query) => query(`select setval(pg_get_serial_sequence('${kind}', 'id'), 1000)`))
  await assertOk(post('category', { title: 'Same' }))
  await assertOk(post('category', { title: 'Same Too' }))
  const both = { speakers: ['Same', 'Same Too'], tags: ['Same', 'Same Too'] }
  const talk = await archive.make({ ...both, category: 'Same' })
  await archive.make({ speakers: ['Same'] })
  await archive.make({ speakers: ['Same'], tags: ['Same Too'], category: 'Same Too' })
  const getAll = async (slug: string) =>
    Promise.all(['category', 'speaker', 'tag'].map(async (kind) => get(`${kind}/${slug}`)))
  const same = (await getAll('same')).map(({ json }) => [json.id, json.talks, json.aliases])
  assert.deepEqual(same, [
    [1001, 1, []],
    [1001, 3, []],
    [1001, 1, []],
  ])
  // A change of one kind does not affect the others with the same id.
  const speaker = await assertOk(
    patch('speaker/same', { name: 'Own', aliases: [{ name: 'Mine' }] }),
  )
  assert.deepEqual([speaker.json.slug, speaker.json.old_slugs], ['own', ['same']])
  await assertOk(patch('tag/same', { aliases: [{ name: 'Mine' }] }))
  await assertOk(patch('category/same', { title: 'Days', retired_slugs: ['same'] }))
  await assertWriteRefused(get('category/same'), 410, /slug-retired/)
  assert.deepEqual(
    (await getAll('same')).map(({ status }) => status),
    [410, 301, 200],
  )
  await assertOk(patch('tag/same', { name: 'label', retired_slugs: ['same'] }))
  await assertOk(patch('speaker/own', { retired_slugs: ['same'] }))
  await assertOk(patch('speaker/same-too', { name: 'Own Too', retired_slugs: ['same-too'] }))
  await assertWriteRefused(get('speaker/same'), 410, /slug-retired/)
  await assertOk(patch('speaker/own', { retired_slugs: [] }))
  assert.deepEqual(
    (await getAll('same')).map(({ status }) => status),
    [410, 301, 410],
  )
  await assertWriteRefused(get('speaker/same-too'), 410, /slug-retired/)
  await assertWriteRefused(get('speaker/never'), 404, /This speaker does not exist/)
  await assertWriteRefused(get('tag/same-too-1'), 404, /This tag does not exist/)
  await assertWriteRefused(get('tag/never'), 404, /This tag does not exist/)
  assert.equal(await isSlugRetired(pool, 'speaker', 'own'), false)
  assert.deepEqual((await get('tag/label')).json.aliases, [
    { name: 'Mine', shown: false },
    { name: 'Same', shown: false },
  ])
  assert.deepEqual((await get('tag/label')).json.retired_slugs, ['same'])
  assert.equal((await get('tag/label')).json.old_slugs, undefined)
  // A retired slug stays retired and is not assigned to another speaker.
  assert.deepEqual((await archive.make({ speakers: ['Same Too!'] })).speakers, ['Same Too!'])
  assert.equal((await get('speaker/same-too-1')).json.name, 'Same Too!')
  await assertOk(post('speaker/own-too/merge', { into: 'own' }))
  const { tags, speakers } = await recordOf(talk.id)
  assert.deepEqual([speakers, tags], [['Own'], ['label', 'Same Too']])
  assert.equal((await get('tag/same-too')).json.name, 'Same Too')
  assert.deepEqual((await archive.make({ tags: ['Same', 'Same Too'] })).tags, ['label', 'Same Too'])
  // Taking an old name back also takes its slug back, even a retired one.
  const back = await assertOk(patch('tag/label', { name: 'Same' }))
  assert.deepEqual([back.json.slug, back.json.retired_slugs], ['same', undefined])
  await assertWriteRefused(patch('tag/same', { retired_slugs: ['same'] }), 400, /retired_slugs.0/)
  await assertWriteRefused(
    patch('tag/same', { retired_slugs: ['label', 'x'] }),
    400,
    /retired_slugs.1/,
  )
})

test('looks up only the requested ids, names and slugs of the requested kind', async () => {
  await archive.make({ speakers: ['Asked', 'Not Asked'], tags: ['Only Tag', 'asked'] })
  const id = (await idOf('speaker', 'Asked')) as number
  const names = ['Asked', 'Only Tag', 'Nobody']
  assert.deepEqual(
    await findTaken(pool, 'speaker', [id, 9999], names, ['asked', 'only-tag', 'x']),
    {
      ids: [id],
      names: ['Asked'],
      slugs: ['asked'],
    },
  )
  const entities = await findPublicEntities(pool, {
    ...noNames,
    speaker: names,
    language: ['English', 'x'],
  })
  assert.deepEqual(
    [[...entities.speaker.values()].map((entity) => entity.name), [...entities.language.keys()]],
    [['Asked'], ['English']],
  )
  const otherKinds = await findPublicEntities(pool, {
    ...noNames,
    speaker: ['label'],
    category: ['label'],
  })
  assert.deepEqual([otherKinds.speaker.size, otherKinds.category.size], [0, 0])
  const rows = await findCurrentEntities(pool, { category: [], speaker: [id], tag: [] })
  assert.deepEqual(rows, [{ kind: 'speaker', was: id, id, name: 'Asked' }])
  assert.equal((await findPublicEntity(pool, 'speaker', 1002))?.name, 'Own')
  assert.equal((await findPublicEntity(pool, 'speaker', id))?.name, 'Asked')
  assert.equal(await findPublicEntity(pool, 'speaker', 999_999), undefined)
  const namesOf = await currentNames(pool, [{ category: 1, speakers: [id, 99_999], tags: [] }])
  const { category: event, speakers } = namesOf({
    category: 1,
    speakers: [id, 99_999, id],
    tags: [],
  })
  assert.deepEqual([event?.name, speakers], [category, [{ id, name: 'Asked' }]])
})

test('turns a claimed name into one entity and releases it only for its owner', async () => {
  const state = () =>
    sql((query) => query(`select kind, name, entity_id from entity_name where name like 'Claim%'`))
  await archive.make({ speakers: ['Claim There'], tags: ['Claim A'] })
  await pool.transaction(async (tx) => {
    const claims = ['Claim B', 'Claim A'].map((name) => ({ name, slug: '' }))
    await insertEntities(tx, 'speaker', claims)
    await insertEntity(tx, 'speaker', 'Claim A', 'claim-a')
    await insertEntity(tx, 'speaker', 'Claim There', 'claim-there-2')
    const made = await findEntitiesByName(tx, 'speaker', ['Claim A', 'Claim B', 'Claim There'])
    assert.deepEqual([...made].map(([name, { slug }]) => `${name} ${slug}`).sort(), [
      'Claim A claim-a',
      'Claim There claim-there',
    ])
    await insertEntity(tx, 'speaker', 'Claim B', 'claim-b')
  })
  const before = await state()
  const [a, tag] = ['speaker', 'tag'].map((kind) =>
    before.find((row) => row.kind === kind && row.name === 'Claim A'),
  )
  await releaseName(pool, 'speaker', Number(a?.entity_id) + 1000, 'Claim A')
  await releaseName(pool, 'speaker', Number(a?.entity_id), 'Claim B')
  await releaseName(pool, 'speaker', Number(tag?.entity_id), 'Claim A')
  assert.deepEqual(await state(), before)
  await sql((query) =>
    query(`
      insert into entity_name (kind, name, entity_id)
      select kind, 'Claim C', entity_id
      from (values ('speaker'), ('tag')) as k (kind),
           (select entity_id from entity_name
            where kind = 'speaker' and name = 'Claim A') as a`),
  )
  await releaseName(pool, 'speaker', Number(a?.entity_id), 'Claim C')
  const remaining = (await state()).filter(({ name }) => name === 'Claim C')
  assert.deepEqual(
    remaining.map(({ kind }) => kind),
    ['tag'],
  )
  await sql((query) => query(`delete from entity_name where name = 'Claim C'`))
  await sound()
})

test('creates new names in the order of their slugs, then of their names', async () => {
  const speakers = [
    'Order-Same',
    'ORDER SAME',
    'order same',
    'abc order',
    '(Zed) order',
    'bcd order',
  ]
  await archive.make({ speakers })
  const rows = await sql((query) =>
    query(`select name, slug from speaker where name ilike '%order%' order by id`),
  )
  assert.deepEqual(
    rows.map(({ name, slug }) => `${name}: ${slug}`),
    [
      'abc order: abc-order',
      'bcd order: bcd-order',
      'ORDER SAME: order-same',
      'Order-Same: order-same-1',
      'order same: order-same-2',
      '(Zed) order: zed-order',
    ],
  )
  // A slug number that a tag has is free for a speaker.
  await archive.make({ tags: ['Num Kind', 'num kind'], speakers: ['num kind'] })
  await archive.make({ speakers: ['Num Kind'] })
  assert.equal((await get('speaker/num-kind-1')).json.name, 'Num Kind')
  // A change of case keeps the slug, including its number.
  assert.equal(
    (await assertOk(patch('speaker/num-kind-1', { name: 'NUM Kind' }))).json.slug,
    'num-kind-1',
  )
})

test('uses no id for a known name and reports the slug of its owner', async () => {
  for (const kind of ['speaker', 'tag'])
    await sql((query) => query(`select setval(pg_get_serial_sequence('${kind}', 'id'), 5000)`))
  await archive.make({ tags: ['Taken T'], speakers: ['First S'] })
  await archive.make({ speakers: ['First S', 'Taken T'] })
  await archive.make({ speakers: ['Taken T', 'Third S', 'First S'] })
  const numbers = ['First S', 'Taken T', 'Third S'].map((name) => idOf('speaker', name))
  assert.deepEqual(await Promise.all(numbers), [5001, 5002, 5003])
  await assertWriteRefused(
    patch('speaker/third-s', { aliases: [{ name: 'Fine' }, { name: 'Taken T' }] }),
    409,
    /This alias already belongs to speaker taken-t/,
  )
})

test('suggests similar categories and languages except merged ones', async () => {
  const wrong = (fields: object) =>
    assertWriteRefused(
      post('video', { title: 'T', category, language: 'en', ...fields }),
      400,
      /unknown-/,
    )
  await assertOk(post('category', { title: 'Quokka Summit' }))
  await assertOk(post('category', { title: 'Quokka Sumit' }))
  await assertOk(post('category/quokka-sumit/merge', { into: 'quokka-summit' }))
  const { json } = await wrong({ category: 'Quokka Summitt', language: 'Englisch!' })
  assert.deepEqual(
    json.errors.map(({ detail }: { detail: string }) => detail.replace(/.*: /, '')),
    ['Quokka Summit', 'English, Old English, British English'],
  )
  const far = await wrong({ category: 'Zzzz', language: 'qqqq' })
  assert.match(far.text, /create it: POST .api.v2.category/)
  assert.match(far.text, /try its ISO 639 code/)
})

test('looks up a language by name first, then by code', async () => {
  const spellings = ['ga', 'Ga', 'GERMAN', 'de_LI', 'pt-br', 'nonsense!']
  const { language } = await lookUpNames(pool, { ...noNames, language: spellings })
  assert.deepEqual([...language].map(([name, match]) => `${name}: ${match.name}`).sort(), [
    'GERMAN: German',
    'Ga: Ga',
    'de_LI: German',
    'ga: Ga',
    'pt-br: Brazilian Portuguese',
  ])
  for (const [name, expected] of [
    ['Ga', 'Ga'],
    ['pt_br', 'Brazilian Portuguese'],
  ])
    assert.equal((await archive.make({ language: name as string })).language, expected)
})

test('repeats the response of a merge for the merged entity only', async () => {
  await archive.make({ speakers: ['Gone A', 'Gone B', 'Stays C', 'Stays D', 'Beside'] })
  const etag = async (slug: string) => String((await get(`speaker/${slug}`)).headers.etag)
  const merge = (from: string, into: string, version: string) =>
    post(`speaker/${from}/merge`, { into }, ifMatch(version))
  const [a, b] = [await etag('gone-a'), await etag('gone-b')]
  await assertWriteRefused(merge('gone-a', 'stays-c', b), 412, /stale-revision/)
  for (const again of ['first', 'second', 'third'])
    assert.equal((await assertOk(merge('gone-a', 'stays-c', a))).json.name, 'Stays C', again)
  await assertOk(merge('gone-b', 'stays-c', b))
  await assertOk(merge('gone-b', 'stays-c', b))
  // Another version or another request is refused.
  const stale = await assertWriteRefused(merge('gone-a', 'stays-c', b), 412, /stale-revision/)
  assert.deepEqual([stale.json.current.revision, stale.json.current.fields], [1, null])
  await assertWriteRefused(
    post('speaker/gone-a/merge', { into: 'stays-c' }, ifMatch('"1.1.A"')),
    412,
    /stale/,
  )
  // An old slug of an entity that still exists resolves to it.
  await assertOk(patch('speaker/stays-d', { name: 'Stays E' }))
  await assertOk(merge('stays-d', 'stays-e', await etag('stays-e')))
  await assertWriteRefused(merge('stays-d', 'stays-e', a), 412, /stale-revision/)
  // The target took the name of the first speaker and was merged too: the slug is now the target's.
  await assertOk(patch('speaker/stays-c', { name: 'Gone A' }))
  const c = await etag('gone-a')
  const first = (
    await sql((query) => query(`select min(id) from speaker where name = 'Gone A'`))
  )[0]
  for (const again of ['first', 'second']) {
    assert.equal((await assertOk(merge('gone-a', 'stays-e', c))).json.name, 'Stays E', again)
    // Changes of other entities do not matter, even of one with the same id.
    await assertOk(patch('speaker/beside', { aliases: [{ name: again }] }))
    const id = Number(first?.min)
    await restore(exported({ kind: 'tag', id, revision: 1, name: again, slug: `gone-${again}` }))
  }
  await assertWriteRefused(merge('gone-a', 'stays-e', a), 412, /stale-revision/)
})

test('changes nothing when a rename or a split is repeated', async () => {
  const { id } = await archive.make({ speakers: ['Lost One', 'Lost Four'] })
  const version = String((await get('speaker/lost-one')).headers.etag)
  const change = () =>
    patch('speaker/lost-one', { name: 'Lost Two', aliases: [{ name: 'L' }] }, ifMatch(version))
  const first = await assertOk(change())
  // The old slug resolves to the renamed speaker.
  const again = await assertOk(change())
  assert.equal(again.text, first.text)
  assert.equal(again.headers.etag, first.headers.etag)
  const split = () =>
    post('speaker/lost-two/split', { name: 'L', videos: [id] }, ifMatch(first.headers.etag))
  assert.equal((await assertOk(split())).json.name, 'L')
  await assertOk(patch(`video/${id}`, { speakers: ['Lost Two'] }))
  assert.equal((await assertOk(split())).json.name, 'L')
  assert.deepEqual((await recordOf(id)).speakers, ['Lost Two'])
  await assertWriteRefused(
    post('speaker/lost-two/split', { name: 'M', videos: [id] }, ifMatch(version)),
    412,
    /stale-revision/,
  )
  // Splitting off a name that is no alias leaves the speaker unchanged.
  const before = (await get('speaker/lost-two')).headers.etag
  await assertOk(post('speaker/lost-two/split', { name: 'Lost Three', videos: [id] }))
  const after = (await get('speaker/lost-two')).headers.etag
  assert.equal(String(after).split('~')[0], String(before).split('~')[0])
})

test('finds each record of an entity once, in every state', async () => {
  await assertOk(post('category', { title: 'Found Days' }))
  const names = { category: 'Found Days', speakers: ['Found'], tags: ['found'] }
  await archive.make()
  const live = await archive.make(names)
  const draft = await archive.make({ ...names, state: 2 })
  const gone = await archive.make(names)
  const goneDraft = await archive.make({ ...names, state: 2 })
  for (const { id } of [gone, goneDraft])
    await assertOk(post(`video/${id}/takedown`, { reason: 'asked' }, { token: admin }))
  await archive.make()
  const ids = [live, draft, gone, goneDraft].map(({ id }) => id)
  const { json: event } = await get('category/found-days')
  const entities = [
    ['category', event.id],
    ['speaker', await idOf('speaker', 'Found')],
    ['tag', await idOf('tag', 'found')],
  ] as const
  for (const [kind, id] of entities) {
    assert.deepEqual(await findVideoIdsOfEntity(pool, kind, id as number, 0, 10), ids)
    assert.deepEqual(
      await findVideoIdsOfEntity(pool, kind, id as number, live.id, 2),
      ids.slice(1, 3),
    )
    assert.equal(await countVideosOfEntity(pool, kind, id as number, 0), 4)
    assert.equal(await countVideosOfEntity(pool, kind, id as number, draft.id), 2)
  }
  // A taken-down record shows no names, but a merge still updates its ids.
  await assertOk(post('category', { title: 'Last Days' }))
  const last = await archive.make({ category: 'Last Days', speakers: ['Last'], tags: ['last'] })
  const idsOf = (id: number) =>
    sql(async (query) => {
      const [row] = await query(
        `select category_id, speaker_ids, tag_ids from video where id = ${id}`,
      )
      return row
    })
  const revision = (
    await sql((query) => query(`select revision from video where id = ${gone.id}`))
  )[0]
  const target = (await idsOf(last.id)) as Record<string, unknown>
  const expected: Record<string, unknown> = { ...(await idsOf(gone.id)) }
  for (const [kind, column] of [
    ['tag', 'tag_ids'],
    ['category', 'category_id'],
    ['speaker', 'speaker_ids'],
  ] as const) {
    const [from, into] = kind === 'category' ? ['found-days', 'last-days'] : ['found', 'last']
    await assertOk(post(`${kind}/${from}/merge`, { into }))
    expected[column] = target[column]
    assert.deepEqual(await idsOf(gone.id), expected, kind)
  }
  assert.deepEqual(
    (await sql((query) => query(`select revision from video where id = ${gone.id}`)))[0],
    revision,
  )
})

test('reserves imported slugs within a batch of new records', async () => {
  await archive.make({ title: 'Clash' })
  const timestamp = '2001-01-01T00:00:00.000'
  const original = { slug: 'clash-1', added: timestamp, updated: timestamp, revision: 1 }
  const created = await createMany([
    { record: { title: 'Clash' } },
    { record: { title: 'Clash' } },
    { record: { title: 'Clash 1' } },
    { record: { title: 'Other' }, kept: original },
    { record: { title: 'Clash 1' } },
  ])
  assert.deepEqual(
    created.map(({ slug }) => slug),
    ['clash-2', 'clash-3', 'clash-1-2', 'clash-1', 'clash-1-3'],
  )
  await assert.rejects(
    createMany([{ record: { title: 'T', category: 'Unknown Days' } }]),
    /A category was not looked up/,
  )
  // Without a conflict, one query checks the slugs of all records.
  const db = watched(pool)
  const names = { ...noNames, category: [category], language: ['English'] }
  const records = ['Asked 1', 'Asked 2'].map((title) => ({
    record: { title, category, language: 'English' } as VideoInput,
  }))
  await db.transaction(async (tx) =>
    createVideos(tx, records, await lookUpAndLockNames(tx, names), context),
  )
  assert.equal(db.statements.filter((text) => /select slug from video/.test(text)).length, 1)
})

test('computes the ETag of a reader from public aliases only', async () => {
  await archive.make({ speakers: ['Tagged'] })
  const aliases = [{ name: 'Open', shown: true }]
  await assertOk(
    patch('speaker/tagged', { aliases: [...aliases, { name: 'Hidden', shown: false }] }),
  )
  const { json, headers } = await archive.call('GET', '/api/v2/speaker/tagged')
  const { talks: _, ...version } = json
  assert.deepEqual(json.aliases, aliases)
  const etag = versionEtag(json.id, 1, toJson(version))
  assert.equal(String(headers.etag).split('~')[0], `"${etag}`)
})

test('creates nothing after the deadline of the request', async () => {
  const late = { untilMs: performance.now() - 1 }
  const make = pool.transaction((tx) =>
    createMissingEntities(tx, 'tag', ['too late'], [null], late),
  )
  await assert.rejects(make, /The caller has been answered/)
})

test('keeps the archive consistent after all tests', sound)
