import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { refreshFrequencies } from '../../server/search/search.ts'
import { openArchive, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

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
/** Counts the talks of each word, as maintenance does once a day. */
const countWords = () => refreshFrequencies(archive.pool, () => false)

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
    similar: ['Creme brulee fur alle', 'Something else', 'Burning sugar for everybody'],
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
  await countWords()
  const { similar } = titles(await related(talk.id))
  assert.deepEqual(similar?.slice(0, 2), ['An okapi and a wombat', 'Only an okapi'])
})

test('counts a word of the title half that is no subject of the text', async () => {
  const about = (
    subject: string,
  ) => `${'We look at many parts of the wide field of '.repeat(3)} ${subject}
    with examples from practice, measurements, mistakes, and questions that remain open today.`
  const talk = await archive.make({
    title: 'Quolls for giggles',
    category: 'Here',
    description: about('quolls'),
  })
  await archive.make({ title: 'Taxes for giggles', description: about('taxes') })
  await archive.make({ title: 'Marsupials', description: about('quolls') })
  await countWords()
  assert.deepEqual(titles(await related(talk.id)).similar?.slice(0, 2), [
    'Marsupials',
    'Taxes for giggles',
  ])
})

test('lists no talk of its event and speakers as similar, and each title once', async () => {
  const fields = { tags: ['bilby', 'burrow'], category: 'Elsewhere' }
  const talk = await archive.make({ ...fields, title: 'Bilby burrow', speakers: ['Flo'] })
  await archive.make({ ...fields, title: 'Bilby burrow at the same event' })
  await archive.make({
    ...fields,
    title: 'Bilby burrow again',
    category: 'Here',
    speakers: ['Flo'],
  })
  for (let times = 0; times < 3; times++)
    await archive.make({ ...fields, title: 'Burrow of a bilby', category: 'Here' })
  assert.deepEqual(titles(await related(talk.id)).similar, ['Burrow of a bilby'])
})

test('computes similar talks again only after a change, and never shows a hidden one', async () => {
  const talk = await archive.make({ title: 'Cassowary running', category: 'Here' })
  const other = await archive.make({ title: 'Running from a cassowary' })
  const similar = async () => titles(await related(talk.id)).similar
  assert.deepEqual(await similar(), ['Running from a cassowary'])
  await archive.make({ title: 'A cassowary is running' })
  assert.deepEqual(await similar(), ['Running from a cassowary'])
  await archive.call('PATCH', `/api/v2/video/${other.id}`, { token, body: { state: 2 } })
  assert.deepEqual(await similar(), [])
  const body = { title: 'The cassowary is running' }
  await archive.call('PATCH', `/api/v2/video/${talk.id}`, { token, body })
  assert.deepEqual(await similar(), ['A cassowary is running'])
  await archive.call('PATCH', `/api/v2/video/${other.id}`, { token, body: { state: 1 } })
  await until('the new result to be stored', () => hasStored(talk.id))
  await withDatabase(archive.databaseUrl, (query) =>
    query(`update similar_talk set computed = now() - interval '8 days'`),
  )
  assert.deepEqual((await similar())?.toSorted(), [
    'A cassowary is running',
    'Running from a cassowary',
  ])
})

/** Tells whether the similar talks of the current revision of a talk are stored. */
const hasStored = (id: number) =>
  withDatabase(archive.databaseUrl, async (query) => {
    const rows = await query(
      `select from similar_talk join video using (id, revision) where id = ${id}`,
    )
    return rows.length === 1
  })

/** Tells whether a statement of an archive waits for a lock. */
const isBlocked = () =>
  withDatabase(
    archive.databaseUrl,
    async (query) =>
      (
        await query(`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`)
      ).length > 0,
  )

/** Runs the work while words cannot be counted, so that no talks can be compared. */
const withoutCounts = <T>(work: () => Promise<T>) =>
  withDatabase(archive.databaseUrl, async (query) => {
    await query('begin')
    await query('lock table search_lexeme')
    return work()
  })

const storedIds = (id: number) =>
  withDatabase(
    archive.databaseUrl,
    async (query) => (await query('select ids from similar_talk where id = $1', [id]))[0],
  )

test('does not wait for a slow comparison, and stores its result later', async () => {
  const talk = await archive.make({ title: 'Dunnart tracking', category: 'Here' })
  await archive.make({ title: 'Tracking a dunnart' })
  const hasty = await openArchive(archive.databaseUrl, { ANSWER_SECONDS: '12' })
  try {
    const path = `/api/v2/video/${talk.id}/related`
    const first = await withoutCounts(() => hasty.call('GET', path))
    assert.deepEqual([first.status, first.json.similar], [200, []])
    await until('the result to be stored', () => storedIds(talk.id))
    assert.equal((await hasty.call('GET', path)).json.similar.length, 1)
  } finally {
    await hasty.close()
  }
})

test('compares a talk once for concurrent requests', async () => {
  const talk = await archive.make({ title: 'Kultarr jumping', category: 'Here' })
  await archive.make({ title: 'Jumping like a kultarr' })
  await withDatabase(archive.databaseUrl, (query) =>
    query(`
      create sequence comparison;
      create function count_comparison() returns trigger
        language plpgsql as $$begin perform nextval('comparison'); return new; end$$;
      create trigger count_comparison before insert on similar_talk
        for each row execute function count_comparison()`),
  )
  const responses = await withoutCounts(async () => {
    const requests = Array.from({ length: 6 }, () => related(talk.id))
    await until('the comparison to begin', isBlocked)
    return { requests }
  })
  for (const { similar } of await Promise.all(responses.requests)) assert.equal(similar.length, 1)
  await until('the result to be stored', () => storedIds(talk.id))
  const comparisons = await withDatabase(archive.databaseUrl, (query) =>
    query('select last_value::integer as count from comparison'),
  )
  await withDatabase(archive.databaseUrl, (query) =>
    query(`
      drop trigger count_comparison on similar_talk;
      drop function count_comparison;
      drop sequence comparison`),
  )
  assert.deepEqual(comparisons, [{ count: 1 }])
})

test('leaves a talk alone for a while that took too long to compare', async () => {
  const talk = await archive.make({ title: 'Mulgara digging', category: 'Here' })
  await archive.make({ title: 'Digging by a mulgara' })
  const hasty = await openArchive(archive.databaseUrl, { ANSWER_SECONDS: '12' })
  try {
    const path = `/api/v2/video/${talk.id}/related`
    await withoutCounts(async () => {
      assert.deepEqual((await hasty.call('GET', path)).json.similar, [])
      await until('the statement to time out', async () => !(await isBlocked()))
    })
    assert.deepEqual((await hasty.call('GET', path)).json.similar, [])
    // Another process may try, and a new revision is another talk.
    assert.equal((await related(talk.id)).similar.length, 1)
    await until('the result to be stored', () => storedIds(talk.id))
    assert.equal((await hasty.call('GET', path)).json.similar.length, 1)
  } finally {
    await hasty.close()
  }
})

test('lists similar talks if they cannot be stored', async () => {
  const talk = await archive.make({ title: 'Ningaui hunting', category: 'Here' })
  await archive.make({ title: 'Hunting with a ningaui' })
  await withDatabase(archive.databaseUrl, (query) =>
    query(`
      create function refuse_similar() returns trigger language plpgsql
        as $$begin raise exception using errcode = '42501', message = 'refused'; end$$;
      create trigger refuse_similar before insert on similar_talk
        for each statement execute function refuse_similar()`),
  )
  try {
    for (let times = 0; times < 3; times++)
      assert.deepEqual(titles(await related(talk.id)).similar, ['Hunting with a ningaui'])
    const { status, text } = await archive.call('GET', `/video/${talk.id}/${talk.slug}`)
    assert.equal(status, 200)
    assert.match(text, /Hunting with a ningaui/)
    // Until it is tried again, the result is remembered.
    await archive.make({ title: 'A ningaui is hunting' })
    assert.deepEqual(titles(await related(talk.id)).similar, ['Hunting with a ningaui'])
  } finally {
    await withDatabase(archive.databaseUrl, (query) =>
      query('drop trigger refuse_similar on similar_talk; drop function refuse_similar'),
    )
  }
})

test('lists the next similar talk in place of a hidden one', async () => {
  const talk = await archive.make({ title: 'Planigale climbing', category: 'Here' })
  for (let number = 0; number < 9; number++)
    await archive.make({ title: `Planigale climbing number ${number}` })
  const { similar } = await related(talk.id)
  assert.equal(similar.length, 6)
  await until('the result to be stored', () => storedIds(talk.id))
  for (const { id } of similar.slice(0, 2))
    await archive.call('PATCH', `/api/v2/video/${id}`, { token, body: { state: 2 } })
  const left = await related(talk.id)
  assert.equal(left.similar.length, 6)
  assert.deepEqual(left.similar.slice(0, 4), similar.slice(2))
})

test('lists no similar talk whose event or speaker was merged with its own', async () => {
  for (const title of ['Merged Days', 'Kept Days'])
    await archive.call('POST', '/api/v2/category', { token, body: { title } })
  const talk = await archive.make({
    title: 'Phascogale nesting',
    category: 'Kept Days',
    speakers: ['Gil Kept'],
    recorded: '2015-05-05',
  })
  // The lists of the event and of the speaker are full.
  for (const letter of 'abcdwxyz') {
    const fields = { title: letter.repeat(3), recorded: '2015-05-05' }
    await archive.make({ ...fields, category: 'Kept Days' })
    await archive.make({ ...fields, category: 'Elsewhere', speakers: ['Gil Kept'] })
  }
  await archive.make({ title: 'Nesting of a phascogale', category: 'Merged Days' })
  await archive.make({ title: 'The phascogale nesting', speakers: ['Gil Merged'] })
  const other = await archive.make({ title: 'Phascogale nesting elsewhere' })
  assert.equal((await related(talk.id)).similar.length, 3)
  await until('the result to be stored', () => storedIds(talk.id))
  for (const [path, into] of [
    ['category/merged-days/merge', 'kept-days'],
    ['speaker/gil-merged/merge', 'gil-kept'],
  ]) {
    const { status } = await archive.call('POST', `/api/v2/${path}`, { token, body: { into } })
    assert.ok(status === 200 || status === 202)
  }
  await until('the merges to be done', () =>
    withDatabase(
      archive.databaseUrl,
      async (query) => (await query('select from rename_job')).length === 0,
    ),
  )
  assert.deepEqual(
    (await related(talk.id)).similar.map(({ id }) => id),
    [other.id],
  )
})

test('compares a new talk again after a day, and an old one after a week', async () => {
  const subject = { title: 'Antechinus', category: 'Here' }
  const talks = [await archive.make(subject), await archive.make(subject)] as const
  await countWords()
  for (const { id } of talks) {
    assert.deepEqual((await related(id)).similar, [])
    await until('the result to be stored', () => storedIds(id))
  }
  await archive.make({ title: 'The antechinus' })
  await countWords()
  const [fresh, old] = talks
  /** Moves the last change of the old talk, without a new revision. */
  const moveUpdated = (interval: string) =>
    withDatabase(archive.databaseUrl, async (query) => {
      await query('alter table video disable trigger user')
      for (const table of ['video', 'video_body'])
        await query(`update ${table} set updated = updated + $2::interval where id = $1`, [
          old.id,
          interval,
        ])
      await query('alter table video enable trigger user')
    })
  await moveUpdated('-9 days')
  await withDatabase(archive.databaseUrl, (query) =>
    query(`update similar_talk set computed = now() - interval '25 hours'`),
  )
  assert.deepEqual(titles(await related(fresh.id)).similar, ['The antechinus'])
  assert.deepEqual(titles(await related(old.id)).similar, [])
  await moveUpdated('9 days')
})

test('ignores names of people and events and numbers for similarity', async () => {
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Numbat Days' } })
  const talk = await archive.make({ title: 'Numbat 17', speakers: [] })
  await archive.make({ title: 'Something of a person', speakers: ['Numbat Smith'] })
  await archive.make({ title: 'Something at an event', category: 'Numbat Days' })
  await archive.make({ title: 'Part 17', category: 'Numbat Days' })
  assert.deepEqual((await related(talk.id)).similar, [])
  const named = await archive.make({ title: 'Boxes, by Ximena Chen', speakers: ['Ximena Chen'] })
  await archive.make({ title: 'Ximena Chen and others', category: 'Numbat Days' })
  assert.deepEqual((await related(named.id)).similar, [])
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
