import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Where to go on from a talk. What is like it is for people to judge; here is what always holds.

const archive = await startArchive()
const { editor: token } = archive
const get = (id: number, headers: Record<string, string> = {}) =>
  archive.call('GET', `/api/v2/video/${id}/related`, { headers })
const takeDown = (id: number) =>
  archive.call('POST', `/api/v2/video/${id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
const lists = ['also', 'speakers', 'event', 'similar'] as const
type Related = Record<(typeof lists)[number], Video[]>

async function related(id: number): Promise<Related> {
  const { status, json, text } = await get(id)
  assert.equal(status, 200, text)
  return json
}
const titles = (all: Related) =>
  Object.fromEntries(lists.map((list) => [list, all[list].map(({ title }) => title)]))

test('the same talk elsewhere, other talks of its speakers, of its event, and about the same', async () => {
  for (const title of ['Here', 'Elsewhere'])
    await archive.call('POST', '/api/v2/category', { token, body: { title } })
  const talk = await archive.make({
    title: 'Crème brûlée für alle',
    category: 'Here',
    speakers: ['Ada', 'Bo'],
    tags: ['sugar'],
  })
  await archive.make({
    title: 'Creme BRULEE fur alle',
    category: 'Elsewhere',
    speakers: ['Bo', 'Cy'],
  })
  await archive.make({ title: 'Creme brulee fur alle', category: 'Elsewhere', speakers: ['Cy'] })
  await archive.make({
    title: 'Old plans',
    category: 'Elsewhere',
    speakers: ['Bo'],
    recorded: '2001-01-01',
  })
  await archive.make({
    title: 'New plans',
    category: 'Elsewhere',
    speakers: ['Ada'],
    recorded: '2002-01-01',
  })
  await archive.make({ title: 'Brewing', category: 'Here' })
  await archive.make({ title: 'Also of Ada', category: 'Here', speakers: ['Ada'] })
  await archive.make({
    title: 'Burning sugar for everybody',
    category: 'Elsewhere',
    tags: ['creme'],
  })
  await archive.make({
    title: 'Something else',
    category: 'Elsewhere',
    summary: 'With sugar, creme and brulee',
  })
  const all = await related(talk.id)
  assert.deepEqual(titles(all), {
    also: ['Creme BRULEE fur alle'],
    speakers: ['New plans', 'Old plans', 'Also of Ada'],
    event: ['Brewing'],
    similar: ['Creme brulee fur alle', 'Burning sugar for everybody'],
  })
  // They are the records as they are served one by one.
  for (const list of lists)
    for (const it of all[list])
      assert.deepEqual(it, (await archive.call('GET', `/api/v2/video/${it.id}`)).json)
})

test('two words in common come before one, and a rare word before one that many have', async () => {
  const talk = await archive.make({ title: 'Quokka okapi wombat', category: 'Here' })
  await archive.make({ title: 'Only an okapi' })
  for (let number = 0; number < 9; number++)
    await archive.make({ title: `A quokka at number ${number}` })
  await archive.make({ title: 'An okapi and a wombat' })
  const { similar } = titles(await related(talk.id))
  assert.deepEqual(similar?.slice(0, 2), ['An okapi and a wombat', 'Only an okapi'])
})

test('words of people and events do not make two talks alike, and neither do numbers', async () => {
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Numbat Days' } })
  const talk = await archive.make({ title: 'Numbat 17', speakers: [] })
  await archive.make({ title: 'Something of a person', speakers: ['Numbat Smith'] })
  await archive.make({ title: 'Something at an event', category: 'Numbat Days' })
  await archive.make({ title: 'Part 17', category: 'Numbat Days' })
  assert.deepEqual((await related(talk.id)).similar, [])
})

test('a draft is there for editors only, what was taken down for nobody, and neither is shown beside others', async () => {
  const [one, two, three] = [
    await archive.make({ title: 'Thylacine one', speakers: ['Dee'], tags: ['thylacine'] }),
    await archive.make({ title: 'Thylacine two', speakers: ['Dee'], tags: ['thylacine'] }),
    await archive.make({ title: 'Thylacine three', tags: ['thylacine'] }),
  ]
  assert.deepEqual((await related(one.id)).speakers, [two])
  assert.ok((await related(one.id)).event.some(({ id }) => id === three.id))
  await archive.call('PATCH', `/api/v2/video/${two.id}`, { token, body: { state: 2 } })
  await takeDown(three.id)
  const left = await related(one.id)
  const ids = lists.flatMap((list) => left[list].map(({ id }) => id))
  assert.ok(!ids.includes(two.id) && !ids.includes(three.id))
  assert.equal((await get(two.id)).status, 404)
  const draft = await archive.call('GET', `/api/v2/video/${two.id}/related`, { token })
  assert.deepEqual(
    [draft.status, draft.headers['cache-control'], draft.json.similar],
    [200, 'private, no-store', []],
  )
  assert.deepEqual(
    draft.json.speakers.map(({ id }: Video) => id),
    [one.id],
  )
  const gone = await get(three.id)
  assert.deepEqual([gone.status, gone.json.reason], [410, 'asked for'])
  assert.equal((await get(999_999)).status, 404)
})

test('an unchanged answer is 304, and a change of what it shows is a change of it', async () => {
  const talk = await archive.make({ title: 'Potoroo', speakers: ['Eve'] })
  const other = await archive.make({ title: 'Bandicoot', speakers: ['Eve'] })
  const { headers } = await get(talk.id)
  const again = { 'if-none-match': String(headers.etag) }
  assert.equal((await get(talk.id, again)).status, 304)
  await archive.call('PATCH', `/api/v2/video/${other.id}`, { token, body: { summary: 'New' } })
  assert.equal((await get(talk.id, again)).status, 200)
})

test('in any archive, each list is what a plain scan of the live records gives, and no talk is in two', async () => {
  const random = randomFrom(20261115)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const some = (word: string, of: number) => [
    ...new Set(
      Array.from(
        { length: Math.floor(random() * 3) },
        () => `${word} ${Math.floor(random() * of)}`,
      ),
    ),
  ]
  const categories = ['Place 0', 'Place 1', 'Place 2']
  for (const title of categories)
    await archive.call('POST', '/api/v2/category', { token, body: { title } })
  const made: Video[] = []
  for (let round = 0; round < 16; round++)
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        const words = () => pick(['alpha', 'béta', 'Beta', 'GAMMA', 'delta', 'epsilon'])
        const it = await archive.make({
          title: random() < 0.3 ? words() : `${words()} ${words()}`,
          category: pick(categories),
          speakers: some('Person', 9),
          tags: some('topic', 5),
          recorded: pick([null, '2019-01-01', '2019-01-02', '2020-05-05', '1999-09-09']),
          state: random() < 0.1 ? 2 : 1,
        })
        if (random() < 0.1) await takeDown(it.id)
        else if (it.state === 1) made.push(it)
      }),
    )
  const fold = (title: string) => title.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const day = (it: Video) => it.recorded ?? ''
  const compare = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0)
  const inOrder = (a: Video, b: Video) =>
    compare(day(b), day(a)) || compare(fold(a.title), fold(b.title)) || a.id - b.id
  const words = (it: Video) =>
    new Set(
      [it.title, ...it.tags]
        .flatMap((text) => fold(text).split(' '))
        .filter((word) => !/^\d+$/.test(word)),
    )
  let [same, alike] = [0, 0]
  for (const it of made) {
    const all = await related(it.id)
    const shares = (other: Video) =>
      other.id !== it.id && other.speakers.some((name) => it.speakers.includes(name))
    const also = made
      .filter(
        (other) =>
          shares(other) && fold(other.title) === fold(it.title) && other.category !== it.category,
      )
      .sort(inOrder)
    assert.deepEqual(all.also, also.slice(0, 6))
    const shown = new Set(also.slice(0, 6).map(({ id }) => id))
    const bySpeakers = made
      .filter((other) => shares(other) && !shown.has(other.id))
      .sort((a, b) => compare(day(b), day(a)) || b.id - a.id)
    assert.deepEqual(all.speakers, bySpeakers.slice(0, 6))
    for (const { id } of all.speakers) shown.add(id)
    const event = made
      .filter((other) => other.category === it.category && !shown.has(other.id))
      .sort(inOrder)
    const place = event.findIndex(({ id }) => id === it.id)
    const [before, after] = [event.slice(0, place), event.slice(place + 1)]
    const limit = Math.min(6, before.length + after.length)
    const fromBefore = Math.min(before.length, Math.max(3, 6 - after.length))
    const beside = [
      ...before.slice(before.length - fromBefore),
      ...after.slice(0, limit - fromBefore),
    ]
    assert.deepEqual(all.event, beside)
    for (const { id } of all.event) shown.add(id)
    for (const other of all.similar) {
      assert.ok(
        made.some(({ id }) => id === other.id) && other.id !== it.id && !shown.has(other.id),
      )
      assert.ok(
        [...words(other)].some((word) => words(it).has(word)),
        `${it.title}, ${it.tags}: ${other.title}, ${other.tags}`,
      )
    }
    assert.equal(new Set(all.similar.map(({ id }) => id)).size, all.similar.length)
    assert.ok(all.similar.length <= 6)
    same += also.length
    alike += all.similar.length
  }
  assert.ok(same > 10 && alike > 100, `${same} ${alike}: it must be about something`)
  await checkInvariants(archive.databaseUrl)
})
