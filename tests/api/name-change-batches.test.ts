import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '@talkshelf/contract'
import {
  applyNameChange,
  beginNameChange,
  choosePlaces,
  nextNameChangeBatch,
  readNameChange,
} from '../../server/name-changes/name-changes.ts'
import type { Pool } from '../../server/platform/db/pool.ts'
import { operator } from '../support/desk-client.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// How name changes are planned and applied: interruptions, places that are kept, links, refusals.

// No process but this test runs batches.
const archive = await startArchive({ RESUME_SECONDS: '0' })
const { pool, url } = archive

const idOf = async (slug: string): Promise<number> =>
  (await archive.call('GET', `/api/v2/speaker/${slug}`, { token: archive.editor })).json.id
const titleOf = async (id: number): Promise<string> =>
  (await archive.call('GET', `/api/v2/video/${id}`)).json.title

interface Names {
  readonly speaker: string
  readonly name: string
  readonly oldNames: readonly string[]
  readonly inLinks?: boolean
}

async function begin({ speaker, inLinks = false, ...names }: Names): Promise<number> {
  return beginNameChange(pool, { ...names, speaker: await idOf(speaker), inLinks }, operator)
}

/** Runs batches until there is none. Returns how many there were. */
async function runBatches(on: Pool = pool): Promise<number> {
  for (let count = 0; count < 10_000; count++)
    if (!(await nextNameChangeBatch(on, url))) return count
  throw new Error('The name change does not end')
}

async function planAndApply(names: Names): Promise<number> {
  const id = await begin(names)
  await runBatches()
  await applyNameChange(pool, id, operator)
  await runBatches()
  return id
}

/** Returns a pool that breaks every other transaction of a batch just before its end. */
function breakingPool(): Pool & { readonly broken: () => number } {
  let calls = 0
  let broken = 0
  return {
    ...pool,
    run: pool.run,
    broken: () => broken,
    transaction: (work) =>
      pool.transaction(async (tx) => {
        const result = await work(tx)
        if (++calls % 2 === 0) return result
        broken++
        throw new Error('interrupted')
      }),
  }
}

test('a batch that is interrupted is repeated, and changes nothing twice', async () => {
  const talks = []
  for (let count = 0; count < 5; count++)
    talks.push(await archive.make({ title: `Roy Old ${count}`, speakers: ['Roy Old'] }))
  const id = await begin({ speaker: 'roy-old', name: 'Roy Old Winter', oldNames: ['Roy Old'] })
  const breaking = breakingPool()
  await assert.rejects(runBatches(breaking), /interrupted/)
  assert.equal((await readNameChange(pool, id, 0, 1)).change.problem, 'failed')
  for (let tries = 0; tries < 2000; tries++)
    try {
      await runBatches(breaking)
      break
    } catch (error) {
      assert.match(String(error), /interrupted/)
    }
  await applyNameChange(pool, id, operator)
  for (let tries = 0; tries < 2000; tries++)
    try {
      await runBatches(breaking)
      break
    } catch (error) {
      assert.match(String(error), /interrupted/)
    }
  assert.ok(breaking.broken() > 20)
  const { change } = await readNameChange(pool, id, 0, 10)
  assert.deepEqual([change.state, change.names, change.problem], ['applied', null, null])
  for (const [index, talk] of talks.entries())
    assert.equal(await titleOf(talk.id), `Roy Old Winter ${index}`)
  assert.equal((await archive.call('GET', '/api/v2/speaker/roy-old-winter')).status, 200)
  await checkInvariants(archive.databaseUrl)
})

test('a batch runs in one process; another one takes over when the lease has expired', async () => {
  await archive.make({ speakers: ['Fay Marsh'] })
  const id = await begin({ speaker: 'fay-marsh', name: 'Fox Marsh', oldNames: ['Fay Marsh'] })
  const lease = (until: string) =>
    withDatabase(archive.databaseUrl, (query) =>
      query(
        `update name_change set lease = gen_random_uuid(), leased_until = now() + $1::interval
             where id = $2`,
        [until, id],
      ),
    )
  await lease('1 hour')
  assert.equal(await nextNameChangeBatch(pool, url), undefined)
  await lease('-1 second')
  assert.ok((await runBatches()) > 10)
  assert.equal((await readNameChange(pool, id, 0, 1)).change.state, 'planned')
})

test('keeps the places that an editor has chosen, with their history', async () => {
  const own = await archive.make({ title: 'Kim Past at home', speakers: ['Kim Past'] })
  const other = await archive.make({ title: 'Kim Past, a namesake', summary: 'Kim Past' })
  await archive.call('PATCH', `/api/v2/video/${other.id}`, {
    token: archive.editor,
    body: { title: 'Kim Past, another person' },
  })
  const id = await begin({ speaker: 'kim-past', name: 'Kim Now', oldNames: ['Kim Past'] })
  await runBatches()
  const { places } = await readNameChange(pool, id, 0, 1000)
  const isKept = ({ subject_id, field }: (typeof places)[number]) =>
    subject_id === other.id && (field === 'title' || field === 'slug')
  assert.equal(places.filter(isKept).length, 2)
  const taken = places.filter((place) => !isKept(place)).map(({ position }) => position)
  await choosePlaces(pool, id, { from: 1, to: 10_000, taken })
  await applyNameChange(pool, id, operator)
  await runBatches()
  assert.equal(await titleOf(own.id), 'Kim Now at home')
  const { json } = await archive.call('GET', `/api/v2/video/${other.id}`)
  assert.deepEqual(
    [json.title, json.summary, json.slug],
    ['Kim Past, another person', 'Kim Now', other.slug],
  )
  const rows = await withDatabase(archive.databaseUrl, (query) =>
    query(`select after ->> 'title' as title from change
           where subject = 'video' and subject_id = ${other.id} and after ? 'title'
           order by revision`),
  )
  assert.deepEqual(
    rows.map(({ title }) => title),
    ['Kim Past, a namesake', 'Kim Past, another person'],
  )
})

test('changes links to other sites only if that is wanted', async () => {
  const source = 'https://videos.example/lou-before.mp4'
  const talk = await archive.make({
    speakers: ['Lou Before'],
    source_url: source,
    summary: `Lou Before: ${source}`,
  })
  const read = async () => (await archive.call('GET', `/api/v2/video/${talk.id}`)).json
  const id = await planAndApply({
    speaker: 'lou-before',
    name: 'Lou After',
    oldNames: ['Lou Before'],
  })
  assert.deepEqual(
    [(await read()).source_url, (await read()).summary],
    [source, `Lou After: ${source}`],
  )
  const { places } = await readNameChange(pool, id, 0, 100)
  assert.deepEqual(
    places.map(({ subject_id, field, refusal, before }) => [subject_id, field, refusal, before]),
    [[talk.id, 'source_url', 'link', '']],
  )
  await planAndApply({
    speaker: 'lou-after',
    name: 'Lou After',
    oldNames: ['Lou Before'],
    inLinks: true,
  })
  assert.equal((await read()).source_url, 'https://videos.example/lou-after.mp4')
})

test('refuses names of another speaker, spellings, and names that are too short', async () => {
  await archive.make({ speakers: ['Max One', 'Eve Two'] })
  const refusals: [Omit<Names, 'speaker'>, string][] = [
    [{ name: 'Eve Two', oldNames: ['Max One'] }, '/name'],
    [{ name: 'Max New', oldNames: ['Eve Two'] }, '/old_names'],
    [{ name: 'Máx ONE', oldNames: ['Max One'] }, '/old_names'],
    [{ name: 'Max New', oldNames: ['Li'] }, '/old_names'],
    [{ name: 'Max New', oldNames: [] }, '/old_names'],
    [{ name: '!', oldNames: ['Max One'] }, '/name'],
  ]
  for (const [names, pointer] of refusals)
    await assert.rejects(begin({ speaker: 'max-one', ...names }), (error: Problem) => {
      assert.equal(error.problem, 'invalid-fields')
      assert.equal((error.more.errors as { pointer: string }[])[0]?.pointer, pointer)
      return true
    })
})

test('replaces a part of the name by a part, but not in later imports', async () => {
  const talk = await archive.make({
    title: 'Brianna and Brian',
    summary: 'Brian explains. Brian Parts too',
    speakers: ['Brian Parts'],
  })
  await planAndApply({
    speaker: 'brian-parts',
    name: 'Bea Parts',
    oldNames: ['Brian Parts', 'Brian => Bea'],
  })
  const { json } = await archive.call('GET', `/api/v2/video/${talk.id}`)
  assert.deepEqual([json.title, json.summary], ['Brianna and Bea', 'Bea explains. Bea Parts too'])
  const other = await archive.make({ speakers: ['Brian'] })
  assert.deepEqual(other.speakers, ['Brian'])
})
