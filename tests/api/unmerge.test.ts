import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { type SeededRandom, seededRandom } from '../../server/pictures/seeded-random.ts'
import { originalIds } from '../../server/videos/ids-before-merge.ts'
import { category, type Reply, spawnServer, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// The undo of merges: entities, their names and slugs, and the records that had them.

const archive = await startArchive()
const { editor: token } = archive
const kinds = ['category', 'speaker', 'tag'] as const
type Kind = (typeof kinds)[number]

const get = (path: string) => archive.call('GET', `/api/v2/${path}`, { token })
const send = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  archive.call(method, `/api/v2/${path}`, { token, headers, ...(body && { body }) })
const record = async (id: number): Promise<Video> => (await get(`video/${id}`)).json
const speakersOf = async (id: number) => (await record(id)).speakers

async function ok(reply: Promise<Reply>): Promise<Reply> {
  const response = await reply
  assert.ok(response.status < 300, response.text)
  return response
}
const merge = (kind: Kind, from: string, into: string) =>
  ok(send('POST', `${kind}/${from}/merge`, { into }))
const unmerge = (kind: Kind, slug: string) => ok(send('POST', `${kind}/${slug}/unmerge`))
const edit = (id: number, body: object) => ok(send('PATCH', `video/${id}`, body))

const noJobs = () =>
  until('all records are updated', async () => {
    const jobs = await withDatabase(archive.databaseUrl, (query) => query('select from rename_job'))
    return jobs.length === 0
  })

/** Returns an entity without what counts its changes. */
async function entity(path: string) {
  const { json, status } = await get(path)
  assert.equal(status, 200, path)
  return json
}

test('a merged speaker lives again with names, slugs and profile, in the same records', async () => {
  const names = ['Jon Doe', 'John Doe', 'Other One']
  const [jon = '', john = ''] = names
  const lists = [[jon], ['Other One', jon], [jon, 'Other One', john], [john, jon], [john]]
  const ids: number[] = []
  for (const speakers of lists) ids.push((await archive.make({ speakers })).id)
  const draft = await archive.make({ speakers: [jon], state: 2 })
  const gone = await archive.make({ speakers: [jon] })
  await ok(
    archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
      token: archive.admin,
      body: { reason: 'asked' },
    }),
  )
  await ok(send('PATCH', 'speaker/jon-doe', { name: 'J. Doe' }))
  await ok(
    send('PATCH', 'speaker/j-doe', {
      name: jon,
      aliases: [{ name: 'Jonny', shown: true }, { name: 'J. Doe' }],
      pronouns: 'he',
      description: 'Builds archives',
    }),
  )
  await ok(send('PATCH', 'speaker/john-doe', { description: 'Own text' }))
  const before = [await entity('speaker/jon-doe'), await entity('speaker/john-doe')]
  const records = await Promise.all(ids.map(record))

  await merge('speaker', 'jon-doe', 'john-doe')
  assert.deepEqual(await speakersOf(ids[2] as number), [john, 'Other One'])
  assert.equal((await entity('speaker/john-doe')).pronouns, 'he')
  assert.equal((await get('speaker/j-doe')).status, 301)
  const etag = String((await get('speaker/john-doe')).headers.etag)
  const stale = await send('POST', 'speaker/jon-doe/unmerge', undefined, {
    'if-match': etag.replace(/\.\d+\./, '.0.'),
  })
  assert.equal(stale.status, 412)
  const { json } = await ok(
    send('POST', 'speaker/jon-doe/unmerge', undefined, { 'if-match': etag }),
  )
  assert.deepEqual([json.slug, json.records_left, json.records_kept], ['jon-doe', 0, 0])

  for (const [index, id] of ids.entries()) {
    const { updated: _, ...now } = await record(id)
    const { updated: __, ...then } = records[index] as Video
    assert.deepEqual(now, then)
  }
  assert.deepEqual(await speakersOf(draft.id), [jon])
  assert.deepEqual([await entity('speaker/jon-doe'), await entity('speaker/john-doe')], before)
  assert.match(String((await get('speaker/j-doe')).headers.location), /\/speaker\/jon-doe$/)
  // A record that was taken down has its speaker again too.
  const [row] = await withDatabase(archive.databaseUrl, (query) =>
    query(
      'select name from video join speaker on speaker.id = speaker_ids[1] where video.id = $1',
      [gone.id],
    ),
  )
  assert.equal(row?.name, jon)
  const { json: history } = await get(`video/${ids[0]}/revisions`)
  assert.equal(history.results.length, 5, 'each record has a revision for each change')
  await checkInvariants(archive.databaseUrl)
})

test('undoes merges of tags and categories', async () => {
  await ok(send('POST', 'category', { title: 'Typo Days', city: 'Lisbon', country: 'PT' }))
  await ok(send('POST', 'category', { title: 'Right Days', series: 'Days' }))
  const talk = await archive.make({ category: 'Typo Days', tags: ['a', 'pyhton', 'python'] })
  const before = [await entity('category/typo-days'), await entity('category/right-days')]
  await merge('category', 'typo-days', 'right-days')
  await merge('tag', 'pyhton', 'python')
  assert.equal((await entity('category/right-days')).city, 'Lisbon')
  assert.deepEqual((await record(talk.id)).tags, ['a', 'python'])
  await unmerge('category', 'typo-days')
  await unmerge('tag', 'pyhton')
  const after = await record(talk.id)
  assert.deepEqual([after.category, after.tags], [talk.category, talk.tags])
  assert.deepEqual(
    [await entity('category/typo-days'), await entity('category/right-days')],
    before,
  )
})

test('keeps what editors changed since the merge', async () => {
  const [from, into] = ['Edited From', 'Edited Into']
  const replaced = await archive.make({ speakers: [from] })
  const extended = await archive.make({ speakers: [from, 'Second'] })
  const reordered = await archive.make({ speakers: [from, 'Second', 'Third'] })
  const moved = await archive.make({ speakers: [into] })
  await merge('speaker', 'edited-from', 'edited-into')
  await edit(replaced.id, { speakers: ['Third'] })
  await edit(extended.id, { speakers: ['New', into, 'Second'], title: 'Changed' })
  await edit(reordered.id, { speakers: ['Third', 'Second', into] })
  await ok(send('PATCH', 'speaker/edited-into', { description: 'Later text' }))
  const { json } = await unmerge('speaker', 'edited-from')
  assert.equal(json.records_kept, 1)
  assert.deepEqual(await speakersOf(replaced.id), ['Third'])
  assert.deepEqual(await speakersOf(extended.id), ['New', from, 'Second'])
  assert.equal((await record(extended.id)).title, 'Changed')
  assert.deepEqual(await speakersOf(reordered.id), ['Third', 'Second', from])
  assert.deepEqual(await speakersOf(moved.id), [into])
  assert.equal((await entity('speaker/edited-into')).description, 'Later text')
})

test('names and slugs that others got since stay there', async () => {
  await archive.make({ speakers: ['Nick Name', 'Full Name'] })
  await ok(send('PATCH', 'speaker/nick-name', { aliases: [{ name: 'Nicky' }, { name: 'Nico' }] }))
  await merge('speaker', 'nick-name', 'full-name')
  // One alias is given to another speaker, one is removed.
  await ok(send('PATCH', 'speaker/full-name', { aliases: [{ name: 'Nick Name' }] }))
  await archive.make({ speakers: ['Nicky'] })
  const { json } = await unmerge('speaker', 'nick-name')
  assert.deepEqual(json.aliases, [])
  assert.equal((await entity('speaker/nicky')).name, 'Nicky')

  await merge('speaker', 'nick-name', 'full-name')
  await ok(send('PATCH', 'speaker/full-name', { aliases: [] }))
  assert.equal(
    (await unmerge('speaker', 'nick-name')).json.name,
    'Nick Name',
    'it is claimed again',
  )

  await merge('speaker', 'nick-name', 'full-name')
  await ok(send('PATCH', 'speaker/full-name', { name: 'Nick Name' }))
  const refused = await send('POST', 'speaker/nick-name/unmerge')
  assert.equal(refused.status, 409)
  assert.match(refused.json.type, /name-taken$/)
  await checkInvariants(archive.databaseUrl)

  await ok(send('PATCH', 'speaker/nick-name', { name: 'Níck Name' }))
  const { json: renumbered } = await unmerge('speaker', 'nick-name')
  assert.deepEqual([renumbered.name, renumbered.slug], ['Nick Name', 'nick-name-1'])
  assert.equal((await entity('speaker/nick-name')).name, 'Níck Name')
  await checkInvariants(archive.databaseUrl)
})

test('refuses what is not merged, and merges of earlier versions', async () => {
  await archive.make({ tags: ['single', 'older', 'newer'] })
  assert.match((await send('POST', 'tag/single/unmerge')).json.type, /not-merged$/)
  assert.equal((await send('POST', 'tag/unknown/unmerge')).status, 404)
  await merge('tag', 'older', 'newer')
  await withDatabase(archive.databaseUrl, (query) =>
    query("update change set before = '{}' where subject = 'tag' and kind = 'merged'"),
  )
  const refused = await send('POST', 'tag/older/unmerge')
  assert.match(refused.json.type, /not-merged$/)
  assert.match(refused.json.detail, /earlier version/)
})

test('undoes merges of merges in any order', async () => {
  const make = (speakers: string[]) => archive.make({ speakers })
  for (const [index, order] of [
    ['a', 'b', 'c'],
    ['c', 'b', 'a'],
    ['b', 'a', 'c'],
    ['b', 'c', 'a'],
  ].entries()) {
    const name = (letter: string) => `${letter} chain ${index}`
    const slug = (letter: string) => name(letter).replaceAll(' ', '-')
    const lists = [['a'], ['b', 'a'], ['a', 'x', 'c'], ['d', 'a', 'b'], ['c', 'd']]
    const records: Video[] = []
    for (const list of lists) records.push(await make(list.map(name)))
    for (const [from, into] of [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'd'],
    ] as const)
      await merge('speaker', slug(from), slug(into))
    assert.deepEqual(await speakersOf((records[3] as Video).id), [name('d')])
    for (const letter of order) await unmerge('speaker', slug(letter))
    for (const { id, speakers } of records) assert.deepEqual(await speakersOf(id), speakers)
    await checkInvariants(archive.databaseUrl)
  }
  const rows = await withDatabase(archive.databaseUrl, (query) =>
    query("select from ids_before_merge where kind = 'speaker'"),
  )
  assert.equal(rows.length, 0, 'nothing is kept of merges that were undone')
})

test('an undone merge that is merged again elsewhere keeps its names there', async () => {
  await archive.make({ speakers: ['leaf q', 'stem q', 'root q'] })
  await merge('speaker', 'leaf-q', 'stem-q')
  await merge('speaker', 'stem-q', 'root-q')
  await unmerge('speaker', 'leaf-q')
  await merge('speaker', 'leaf-q', 'root-q')
  await unmerge('speaker', 'stem-q')
  assert.match(String((await get('speaker/leaf-q')).headers.location), /\/speaker\/root-q$/)
  await checkInvariants(archive.databaseUrl)
  await unmerge('speaker', 'leaf-q')
  await checkInvariants(archive.databaseUrl)
})

test('a split decides which speaker a record has, also after the undo', async () => {
  const { id } = await archive.make({ speakers: ['split from'] })
  await archive.make({ speakers: ['split into'] })
  await merge('speaker', 'split-from', 'split-into')
  await ok(send('POST', 'speaker/split-into/split', { name: 'third person', videos: [id] }))
  await unmerge('speaker', 'split-from')
  assert.deepEqual(await speakersOf(id), ['third person'])
})

test('two undos at a time write once', async () => {
  const { id } = await archive.make({ tags: ['twice from', 'twice into'] })
  await merge('tag', 'twice-from', 'twice-into')
  const replies = await Promise.all([1, 2, 3].map(() => unmerge('tag', 'twice-from')))
  for (const { json } of replies) assert.equal(json.name, 'twice from')
  const { json } = await get(`video/${id}/revisions`)
  assert.equal(json.results.length, 3)
})

test('the undo of a large merge continues in another process after a crash', async () => {
  const [from, into] = ['large from', 'large into']
  const ids: number[] = []
  for (let number = 0; number < 130; number++)
    ids.push((await archive.make({ tags: number % 3 === 0 ? [from, into] : [from] })).id)
  const before = await Promise.all(ids.map(record))
  await merge('tag', 'large-from', 'large-into')
  await noJobs()
  // The process that answers dies before its jobs run.
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
  const reply = await fetch(`${server.url}/api/v2/tag/large-from/unmerge`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  server.process.kill('SIGKILL')
  const json = (await reply.json()) as { records_left: number }
  assert.equal(json.records_left, 80)
  // This process looks for jobs of others now and then; another write wakes it at once.
  await archive.make({ tags: ['wake'] })
  await ok(send('PATCH', 'tag/wake', { name: 'awake' }))
  await noJobs()
  for (const [index, id] of ids.entries())
    assert.deepEqual((await record(id)).tags, before[index]?.tags)
  await checkInvariants(archive.databaseUrl)
})

test('an undo during the merge leaves every record with its own entity', async () => {
  const ids: number[] = []
  for (let number = 0; number < 120; number++)
    ids.push((await archive.make({ tags: ['quick from'] })).id)
  await archive.make({ tags: ['quick into'] })
  for (let round = 0; round < 3; round++) {
    await merge('tag', 'quick-from', 'quick-into')
    await unmerge('tag', 'quick-from')
  }
  await noJobs()
  for (const id of ids) assert.deepEqual((await record(id)).tags, ['quick from'])
  await checkInvariants(archive.databaseUrl)
})

test('original ids follow edits of a list', () => {
  const stored = { entity_ids: [1, 5, 2], shown_as: [2, 5, 2] }
  assert.deepEqual(originalIds([2, 5], stored), [1, 5, 2])
  assert.deepEqual(originalIds([5, 2], stored), [5, 1, 2])
  assert.deepEqual(originalIds([2, 7], stored), [1, 2, 7])
  assert.deepEqual(originalIds([5], stored), [5])
  assert.deepEqual(originalIds([2], undefined), [2])
})

const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)

test(`random merges, edits and undos leave untouched records as they were (${seed})`, async () => {
  for (let round = 0; round < 4; round++)
    await playRound(seededRandom('unmerge', `${seed}`, `${round}`), round)
})

/** Merges, edits and undoes at random, several at a time, and then undoes all that is left. */
async function playRound(random: SeededRandom, round: number): Promise<void> {
  const words = [...'abcdefg'].map((letter) => `${letter} r${round}`)
  const slugOf = (name: string) => name.replaceAll(' ', '-')
  const someNames = () => random.shuffled(words).filter(() => random.next() < 0.4)
  const records: Video[] = []
  for (let number = 0; number < 12; number++)
    records.push(await archive.make({ speakers: someNames(), tags: someNames(), category }))
  await archive.make({ speakers: words, tags: words })
  const touched = new Set<number>()
  const step = async () => {
    const kind = random.pick(['speaker', 'tag'] as const)
    const [from = '', into = ''] = [random.pick(words), random.pick(words)]
    const chance = random.next()
    if (chance < 0.45) return send('POST', `${kind}/${slugOf(from)}/merge`, { into: slugOf(into) })
    if (chance < 0.8) return send('POST', `${kind}/${slugOf(from)}/unmerge`)
    const { id } = random.pick(records)
    touched.add(id)
    return send('PATCH', `video/${id}`, { [`${kind}s`]: someNames() })
  }
  for (let number = 0; number < 15; number++) {
    const replies = await Promise.all([step(), step(), step()])
    for (const { status, text } of replies) assert.ok(status < 500, text)
  }
  for (const kind of ['speaker', 'tag'] as const)
    for (const word of words) await send('POST', `${kind}/${slugOf(word)}/unmerge`)
  await noJobs()
  await checkInvariants(archive.databaseUrl)
  for (const { id, speakers, tags } of records) {
    const now = await record(id)
    if (!touched.has(id)) assert.deepEqual([now.speakers, now.tags], [speakers, tags], `${id}`)
  }
  for (const word of words)
    for (const kind of ['speaker', 'tag'] as const)
      assert.equal((await entity(`${kind}/${slugOf(word)}`)).name, word)
}
