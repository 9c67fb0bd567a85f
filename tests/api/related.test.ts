import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Related talks: properties that always hold, not how well the suggestions match.

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

test('lists the same talk elsewhere and talks by speaker, event and topic', async () => {
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
  // The lists contain full records.
  for (const list of lists)
    for (const video of all[list])
      assert.deepEqual(video, (await archive.call('GET', `/api/v2/video/${video.id}`)).json)
})

test('ranks more common words first and rare words higher', async () => {
  const talk = await archive.make({ title: 'Quokka okapi wombat', category: 'Here' })
  await archive.make({ title: 'Only an okapi' })
  for (let number = 0; number < 9; number++)
    await archive.make({ title: `A quokka at number ${number}` })
  await archive.make({ title: 'An okapi and a wombat' })
  const { similar } = titles(await related(talk.id))
  assert.deepEqual(similar?.slice(0, 2), ['An okapi and a wombat', 'Only an okapi'])
})

test('ignores names of people and events and numbers for similarity', async () => {
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Numbat Days' } })
  const talk = await archive.make({ title: 'Numbat 17', speakers: [] })
  await archive.make({ title: 'Something of a person', speakers: ['Numbat Smith'] })
  await archive.make({ title: 'Something at an event', category: 'Numbat Days' })
  await archive.make({ title: 'Part 17', category: 'Numbat Days' })
  assert.deepEqual((await related(talk.id)).similar, [])
})

test('returns drafts to editors only and never lists taken-down records', async () => {
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

test('returns 304 until a listed record changes', async () => {
  const talk = await archive.make({ title: 'Potoroo', speakers: ['Eve'] })
  const other = await archive.make({ title: 'Bandicoot', speakers: ['Eve'] })
  const { headers } = await get(talk.id)
  const again = { 'if-none-match': String(headers.etag) }
  assert.equal((await get(talk.id, again)).status, 304)
  await archive.call('PATCH', `/api/v2/video/${other.id}`, { token, body: { summary: 'New' } })
  assert.equal((await get(talk.id, again)).status, 200)
})

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

const fold = (title: string) => title.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
const dayOf = (video: Video) => video.recorded ?? ''
const byDayAndTitle = (a: Video, b: Video) =>
  compare(dayOf(b), dayOf(a)) || compare(fold(a.title), fold(b.title)) || a.id - b.id
const wordsOf = (video: Video) =>
  new Set(
    [video.title, ...video.tags]
      .flatMap((text) => fold(text).split(' '))
      .filter((word) => !/^\d+$/.test(word)),
  )

/** Returns up to six talks of an event before and after a talk of it. */
function neighbours(talk: Video, event: readonly Video[]): Video[] {
  const index = event.findIndex(({ id }) => id === talk.id)
  const [before, after] = [event.slice(0, index), event.slice(index + 1)]
  const limit = Math.min(6, before.length + after.length)
  const fromBefore = Math.min(before.length, Math.max(3, 6 - after.length))
  return [...before.slice(before.length - fromBefore), ...after.slice(0, limit - fromBefore)]
}

/** Computes the lists of a talk, except for the similar talks, which depend on the ranking. */
function expectedRelated(talk: Video, made: readonly Video[]) {
  const sharesSpeaker = (other: Video) =>
    other.id !== talk.id && other.speakers.some((name) => talk.speakers.includes(name))
  const isSameTalk = (other: Video) =>
    fold(other.title) === fold(talk.title) && other.category !== talk.category
  const also = made
    .filter((other) => sharesSpeaker(other) && isSameTalk(other))
    .sort(byDayAndTitle)
    .slice(0, 6)
  const listed = new Set(also.map(({ id }) => id))
  const speakers = made
    .filter((other) => sharesSpeaker(other) && !listed.has(other.id))
    .sort((a, b) => compare(dayOf(b), dayOf(a)) || b.id - a.id)
    .slice(0, 6)
  for (const { id } of speakers) listed.add(id)
  const event = made
    .filter((other) => other.category === talk.category && !listed.has(other.id))
    .sort(byDayAndTitle)
  return { also, speakers, event: neighbours(talk, event) }
}

test('matches a full scan in any archive and lists no talk twice', async () => {
  const random = randomFrom(20261115)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const randomNames = (word: string, count: number) => [
    ...new Set(
      Array.from(
        { length: Math.floor(random() * 3) },
        () => `${word} ${Math.floor(random() * count)}`,
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
        const video = await archive.make({
          title: random() < 0.3 ? words() : `${words()} ${words()}`,
          category: pick(categories),
          speakers: randomNames('Person', 9),
          tags: randomNames('topic', 5),
          recorded: pick([null, '2019-01-01', '2019-01-02', '2020-05-05', '1999-09-09']),
          state: random() < 0.1 ? 2 : 1,
        })
        if (random() < 0.1) await takeDown(video.id)
        else if (video.state === 1) made.push(video)
      }),
    )
  let [sameCount, similarCount] = [0, 0]
  for (const talk of made) {
    const all = await related(talk.id)
    const { similar, ...others } = all
    const expected = expectedRelated(talk, made)
    assert.deepEqual(others, expected)
    const listed = new Set(Object.values(expected).flatMap((list) => list.map(({ id }) => id)))
    for (const other of similar) {
      assert.ok(
        made.some(({ id }) => id === other.id) && other.id !== talk.id && !listed.has(other.id),
      )
      assert.ok(
        [...wordsOf(other)].some((word) => wordsOf(talk).has(word)),
        `${talk.title}, ${talk.tags}: ${other.title}, ${other.tags}`,
      )
    }
    assert.equal(new Set(similar.map(({ id }) => id)).size, similar.length)
    assert.ok(similar.length <= 6)
    sameCount += expected.also.length
    similarCount += similar.length
  }
  assert.ok(
    sameCount > 10 && similarCount > 100,
    `${sameCount} ${similarCount}: too few to test anything`,
  )
  await checkInvariants(archive.databaseUrl)
})
