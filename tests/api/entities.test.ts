import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { listEntities } from '../../server/directory/directory.ts'
import { findPublicEntities, findPublicEntity } from '../../server/entities/entities.ts'
import { type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { emptyEventProfile, emptyPersonProfile } from '../support/profiles.ts'

// Lists of categories, speakers, tags and languages with exact counts of live talks.

const archive = await startArchive()
const { editor: token } = archive
const { lookups } = archive.pool
const get = (path: string, headers: Record<string, string> = {}) =>
  archive.call('GET', path, { headers })
const patch = (id: number, body: object) =>
  archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
const talksOf = async (kind: string): Promise<Record<string, number>> => {
  const { json } = await get(`/api/v2/${kind}?page_size=100`)
  return Object.fromEntries(
    json.results.map((entity: Record<string, string>) => [
      entity.name ?? entity.title,
      entity.talks,
    ]),
  )
}

test('lists entities of live talks by name with counts that follow every write', async () => {
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Álamo Days' } })
  const { id } = await archive.make({
    speakers: ['Zoë', 'ada'],
    tags: ['b', 'Ä'],
    language: 'French',
  })
  const other = await archive.make({ speakers: ['Zoë'], tags: ['b'] })
  assert.deepEqual(Object.entries(await talksOf('category')), [
    ['Álamo Days', 0],
    ['Example Days 2026', 2],
  ])
  assert.deepEqual(Object.entries(await talksOf('speaker')), [
    ['ada', 1],
    ['Zoë', 2],
  ])
  assert.deepEqual(Object.entries(await talksOf('tag')), [
    ['Ä', 1],
    ['b', 2],
  ])
  assert.deepEqual(await talksOf('language'), { English: 1, French: 1 })

  await patch(id, { state: 2 })
  assert.deepEqual(await talksOf('speaker'), { Zoë: 1 })
  assert.deepEqual(await talksOf('language'), { English: 1 })
  assert.equal((await get('/api/v2/speaker/ada')).status, 404)
  await patch(id, { state: 1, speakers: ['ada'], category: 'Álamo Days' })
  assert.deepEqual((await get('/api/v2/speaker/ada')).json, {
    id: 1,
    name: 'ada',
    slug: 'ada',
    ...emptyPersonProfile,
    talks: 1,
    aliases: [],
  })
  assert.deepEqual(await talksOf('category'), { 'Álamo Days': 1, 'Example Days 2026': 1 })
  await archive.call('POST', `/api/v2/video/${other.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
  assert.deepEqual(await talksOf('speaker'), { ada: 1 })
  await checkInvariants(archive.databaseUrl)
})

test('returns 304 for an unchanged list and 200 after a count changed', async () => {
  const { headers } = await get('/api/v2/speaker')
  assert.equal(
    (await get('/api/v2/speaker', { 'if-none-match': String(headers.etag) })).status,
    304,
  )
  await archive.make({ speakers: ['ada'] })
  assert.equal(
    (await get('/api/v2/speaker', { 'if-none-match': String(headers.etag) })).status,
    200,
  )
})

test('paginates lists by page and by cursor in both directions', async () => {
  for (let number = 0; number < 12; number++)
    await archive.make({ tags: [`page ${number}`, 'all'] })
  const walk = async (start: string, direction: 'next' | 'previous') => {
    const pages: string[][] = []
    let path: string | undefined = start
    let last = start
    while (path) {
      const { json }: Reply = await get(path)
      pages.push(json.results.map(({ name }: { name: string }) => name))
      last = path
      path = json[direction]?.slice(archive.url.length)
    }
    return { seen: pages, last }
  }
  const all = (await get('/api/v2/tag?page_size=100')).json.results.map(
    ({ name }: { name: string }) => name,
  )
  assert.deepEqual((await walk('/api/v2/tag?page_size=5', 'next')).seen.flat(), all)
  const forth = await walk('/api/v2/tag?page_size=5&cursor=', 'next')
  assert.deepEqual(forth.seen.flat(), all)
  assert.deepEqual((await walk(forth.last, 'previous')).seen.reverse().flat(), all)
  assert.equal((await get('/api/v2/tag?page=9')).status, 404)
  assert.equal((await get('/api/v2/tag?page=201')).status, 400)
  assert.equal((await get('/api/v2/tag?q=x')).status, 400)
})

test('keeps all counts equal to a full scan after random concurrent writes', async () => {
  const random = randomFrom(20261115)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const randomNames = (word: string) => [
    ...new Set(
      Array.from({ length: Math.floor(random() * 4) }, () => `${word} ${Math.floor(random() * 6)}`),
    ),
  ]
  const made: Video[] = []
  for (let round = 0; round < 25; round++) {
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const fields = {
          speakers: randomNames('speaker'),
          tags: randomNames('tag'),
          language: pick(['English', 'French', 'German']),
        }
        const chance = random()
        if (made.length < 10 || chance < 0.3)
          made.push(await archive.make({ ...fields, state: pick([1, 2]) }))
        else if (chance < 0.9) {
          const { status } = await patch(
            pick(made).id,
            pick([
              fields,
              { state: 1 },
              { state: 2 },
              { category: pick(['Álamo Days', 'Example Days 2026']) },
              { summary: 'x' },
            ]),
          )
          assert.ok(status === 200 || status === 410)
        } else
          await archive.call('POST', `/api/v2/video/${pick(made).id}/takedown`, {
            token: archive.admin,
            body: { reason: 'asked' },
          })
      }),
    )
    if (round % 8 === 7) await checkInvariants(archive.databaseUrl)
  }
  await checkInvariants(archive.databaseUrl)
  // The rows are compacted at random, and a recount gives the same.
  await withDatabase(archive.databaseUrl, async (query) => {
    const sums = `
      select kind, entity_id, sum(talks)::int as talks
      from talk_count
      group by 1, 2
      having sum(talks) <> 0
      order by 1, 2`
    const counts = await query(sums)
    await query('select recount_talks()')
    assert.deepEqual(await query(sums), counts)
  })
})

test('finds an entity by id with its current name and its public aliases', async () => {
  const { json: about } = await archive.call('POST', '/api/v2/category', {
    token,
    body: {
      title: 'Shown Days',
      description: 'Days',
      url: 'https://example.org/',
      start_date: '2026-01-01',
      end_date: '2026-01-02',
    },
  })
  const { id } = await archive.make({
    speakers: ['Old Owl'],
    tags: ['seen', 'scene'],
    category: 'Shown Days',
  })
  const before = await findPublicEntities(lookups, {
    category: [],
    speaker: ['Old Owl'],
    tag: ['seen', 'scene'],
    language: [],
  })
  const [owl, seen, scene] = [
    before.speaker.get('Old Owl'),
    before.tag.get('seen'),
    before.tag.get('scene'),
  ].map((entity) => entity?.id ?? 0)
  const aliases = [{ name: 'Mister Owl', shown: true }, { name: 'O.' }]
  await archive.call('PATCH', '/api/v2/speaker/old-owl', { token, body: { name: 'Owl', aliases } })
  await archive.call('POST', '/api/v2/tag/scene/merge', { token, body: { into: 'seen' } })
  const expectedOwl = {
    slug: 'owl',
    name: 'Owl',
    about: null,
    profile: emptyPersonProfile,
    aliases: ['Mister Owl'],
    talks: 1,
  }
  assert.deepEqual(await findPublicEntity(lookups, 'speaker', owl as number), {
    id: owl,
    ...expectedOwl,
  })
  const tag = {
    id: seen,
    slug: 'seen',
    name: 'seen',
    about: null,
    profile: {},
    aliases: [],
    talks: 1,
  }
  assert.deepEqual(await findPublicEntity(lookups, 'tag', seen as number), tag)
  assert.deepEqual(await findPublicEntity(lookups, 'tag', scene as number), tag)
  const { description, url, start_date, end_date } = about
  const category = {
    id: about.id,
    slug: 'shown-days',
    name: 'Shown Days',
    about: { description, url, start_date, end_date },
    profile: emptyEventProfile,
    aliases: [],
  }
  assert.deepEqual(await findPublicEntity(lookups, 'category', about.id), { ...category, talks: 1 })

  // An old name, as in a record that a rename has not reached yet, resolves to the entity too.
  const entities = await findPublicEntities(lookups, {
    category: ['Shown Days', 'Nowhere'],
    speaker: ['Owl', 'Old Owl', 'Owl', 'Nobody'],
    tag: ['scene', 'Owl'],
    language: ['English', 'French', 'Klingonese'],
  })
  const shownOwl = { id: owl, slug: 'owl', name: 'Owl' }
  assert.deepEqual(entities, {
    category: new Map([['Shown Days', { id: about.id, slug: 'shown-days', name: 'Shown Days' }]]),
    speaker: new Map(['Owl', 'Old Owl'].map((name) => [name, shownOwl])),
    tag: new Map([['scene', { id: seen, slug: 'seen', name: 'seen' }]]),
    language: new Map([
      ['English', { code: 'en', slug: 'english', name: 'English' }],
      ['French', { code: 'fr', slug: 'french', name: 'French' }],
    ]),
  })

  await patch(id, { state: 2 })
  assert.equal(await findPublicEntity(lookups, 'speaker', owl as number), undefined)
  assert.equal(await findPublicEntity(lookups, 'tag', scene as number), undefined)
  assert.deepEqual(await findPublicEntity(lookups, 'category', about.id), { ...category, talks: 0 })
  for (const unknownId of [0, -1, 999_999, 1.5, 2 ** 60])
    assert.equal(await findPublicEntity(lookups, 'category', unknownId), undefined)
})

test('finds every name that records show', async () => {
  const { json } = await get('/api/v2/video?page_size=100')
  const records: Video[] = json.results
  const names = {
    category: records.map((record) => record.category),
    speaker: records.flatMap((record) => record.speakers),
    tag: records.flatMap((record) => record.tags),
    language: records.map((record) => record.language),
  }
  const entities = await findPublicEntities(lookups, names)
  for (const kind of ['category', 'speaker', 'tag', 'language'] as const) {
    assert.deepEqual(new Set(entities[kind].keys()), new Set(names[kind]))
    for (const [name, entity] of entities[kind]) assert.equal(entity.name, name)
  }
})

test('starts a list at a letter and counts only from there', async () => {
  for (const speakers of [['Émile', 'emil'], ['Fé'], ['zz', 'Žofie'], ['Ωmega'], ['1st speaker']])
    await archive.make({ speakers })
  const all = (await get('/api/v2/speaker?page_size=100')).json.results.map(
    ({ name }: { name: string }) => name,
  )
  const listFrom = async (letter: string, page: number) =>
    listEntities(archive.pool.lists, 'speaker', { page, page_size: 3 }, { from: letter })
  for (const letter of ['', '1', 'e', 'É', 'f', 'y', 'z', 'zzz']) {
    const fold = (name: string) => name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
    const expected = all.filter((name: string) => fold(name) >= fold(letter))
    assert.ok(expected.length > 0)
    const listed: string[] = []
    for (let page = 1; ; page++) {
      const { entries, count, isExact, next } = await listFrom(letter, page)
      assert.deepEqual([count, isExact], [expected.length, true])
      listed.push(...entries.map(({ name }) => name))
      if (!next) break
    }
    assert.deepEqual(listed, expected, letter)
  }
  assert.deepEqual((await listFrom('\u{10ffff}', 1)).entries, [])
  const firstPage = await listEntities(
    archive.pool.lists,
    'speaker',
    { cursor: '', page_size: 2 },
    { from: 'e' },
  )
  const { cursor } = firstPage.next as { cursor: string }
  const secondPage = await listEntities(
    archive.pool.lists,
    'speaker',
    { cursor, page_size: 2 },
    { from: 'e' },
  )
  const { cursor: toFirst } = secondPage.previous as { cursor: string }
  const firstAgain = await listEntities(
    archive.pool.lists,
    'speaker',
    { cursor: toFirst, page_size: 2 },
    { from: 'e' },
  )
  assert.deepEqual([firstAgain.entries, firstAgain.previous], [firstPage.entries, undefined])
})
