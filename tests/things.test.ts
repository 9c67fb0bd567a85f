import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../bench/records.ts'
import { type Reply, startArchive } from './harness.ts'
import { checkInvariants, withDatabase } from './invariants.ts'

// Categories, speakers, tags and languages as lists, with counts of live talks that are always right.

const archive = await startArchive()
const { editor: token } = archive
const get = (path: string, headers: Record<string, string> = {}) => archive.call('GET', path, { headers })
const patch = (id: number, body: object) => archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
const talksOf = async (kind: string): Promise<Record<string, number>> => {
  const { json } = await get(`/api/v2/${kind}?page_size=100`)
  return Object.fromEntries(json.results.map((it: Record<string, string>) => [it.name ?? it.title, it.talks]))
}

test('the lists show what live talks have, in the order of the names, with counts that follow every write', async () => {
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Álamo Days' } })
  const { id } = await archive.make({ speakers: ['Zoë', 'ada'], tags: ['b', 'Ä'], language: 'French' })
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
  assert.deepEqual((await get('/api/v2/speaker/ada')).json, { id: 1, name: 'ada', slug: 'ada', talks: 1, aliases: [] })
  assert.deepEqual(await talksOf('category'), { 'Álamo Days': 1, 'Example Days 2026': 1 })
  await archive.call('POST', `/api/v2/video/${other.id}/takedown`, { token: archive.admin, body: { reason: 'asked for' } })
  assert.deepEqual(await talksOf('speaker'), { ada: 1 })
  await checkInvariants(archive.databaseUrl)
})

test('an unchanged list is 304, and a changed count is a change', async () => {
  const { headers } = await get('/api/v2/speaker')
  assert.equal((await get('/api/v2/speaker', { 'if-none-match': String(headers.etag) })).status, 304)
  await archive.make({ speakers: ['ada'] })
  assert.equal((await get('/api/v2/speaker', { 'if-none-match': String(headers.etag) })).status, 200)
})

test('pages, cursors and ends are those of every list', async () => {
  for (let number = 0; number < 12; number++) await archive.make({ tags: [`page ${number}`, 'all'] })
  const walk = async (start: string, way: 'next' | 'previous') => {
    const seen: string[][] = []
    let path: string | undefined = start
    let last = start
    while (path) {
      const { json }: Reply = await get(path)
      seen.push(json.results.map(({ name }: { name: string }) => name))
      last = path
      path = json[way]?.slice(archive.url.length)
    }
    return { seen, last }
  }
  const all = (await get('/api/v2/tag?page_size=100')).json.results.map(({ name }: { name: string }) => name)
  assert.deepEqual((await walk('/api/v2/tag?page_size=5', 'next')).seen.flat(), all)
  const forth = await walk('/api/v2/tag?page_size=5&cursor=', 'next')
  assert.deepEqual(forth.seen.flat(), all)
  assert.deepEqual((await walk(forth.last, 'previous')).seen.reverse().flat(), all)
  assert.equal((await get('/api/v2/tag?page=9')).status, 404)
  assert.equal((await get('/api/v2/tag?page=201')).status, 400)
  assert.equal((await get('/api/v2/tag?q=x')).status, 400)
})

test('after any sequence of writes, many of them at once, every count is what a plain scan gives', async () => {
  const random = randomFrom(20261115)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const some = (word: string) => [...new Set(Array.from({ length: Math.floor(random() * 4) }, () => `${word} ${Math.floor(random() * 6)}`))]
  const made: Video[] = []
  for (let round = 0; round < 25; round++) {
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const fields = { speakers: some('speaker'), tags: some('tag'), language: pick(['English', 'French', 'German']) }
        const chance = random()
        if (made.length < 10 || chance < 0.3) made.push(await archive.make({ ...fields, state: pick([1, 2]) }))
        else if (chance < 0.9) {
          const { status } = await patch(
            pick(made).id,
            pick([fields, { state: 1 }, { state: 2 }, { category: pick(['Álamo Days', 'Example Days 2026']) }, { summary: 'x' }]),
          )
          assert.ok(status === 200 || status === 410)
        } else await archive.call('POST', `/api/v2/video/${pick(made).id}/takedown`, { token: archive.admin, body: { reason: 'asked' } })
      }),
    )
    if (round % 8 === 7) await checkInvariants(archive.databaseUrl)
  }
  await checkInvariants(archive.databaseUrl)
  // The rows are added together now and then, and counting from scratch gives the same.
  await withDatabase(archive.databaseUrl, async (query) => {
    const sums = 'select kind, thing_id, sum(talks)::int as talks from talk_count group by 1, 2 having sum(talks) <> 0 order by 1, 2'
    const kept = await query(sums)
    await query('select recount_talks()')
    assert.deepEqual(await query(sums), kept)
  })
})
