import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import fc from 'fast-check'
import { createToken, findEvent } from '../../server/auth/auth.ts'
import { category, type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Reverts single changes: which values return, which are left alone, and what is refused.

const archive = await startArchive()
const otherCategory = 'Other Days 2026'
await archive.call('POST', '/api/v2/category', {
  token: archive.editor,
  body: { title: otherCategory },
})

type Person = 'editor' | 'admin'

const patch = async (id: number, body: object, person: Person = 'editor'): Promise<Video> => {
  const reply = await archive.call('PATCH', `/api/v2/video/${id}`, { token: archive[person], body })
  assert.equal(reply.status, 200, reply.text)
  return reply.json
}
const read = async (id: number): Promise<Video> =>
  (await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })).json
const revert = (
  id: number,
  revision: number,
  fields?: readonly string[],
  { person = 'editor', headers = {} }: { person?: Person; headers?: Record<string, string> } = {},
): Promise<Reply> =>
  archive.call('POST', `/api/v2/video/${id}/revisions/${revision}/revert`, {
    token: archive[person],
    body: fields ? { fields } : {},
    headers,
  })
const reverted = async (...call: Parameters<typeof revert>): Promise<Video> => {
  const reply = await revert(...call)
  assert.equal(reply.status, 200, reply.text)
  return reply.json
}
const revisionsOf = async (id: number) =>
  (await archive.call('GET', `/api/v2/video/${id}/revisions`, { token: archive.editor })).json

/** Asserts that a revert is refused because of these fields, and writes nothing. */
async function assertChangedSince(fields: string[], ...call: Parameters<typeof revert>) {
  const [id] = call
  const before = await read(id)
  const { status, json } = await revert(...call)
  assert.equal(status, 409)
  assert.equal(json.type, `${archive.url}/api/problems/fields-changed`)
  assert.deepEqual(json.fields, fields)
  assert.deepEqual(await read(id), before)
}

test('reverts the fields of an old change and keeps later changes of other fields', async () => {
  const { id } = await archive.make({ title: 'One', summary: 'First', duration: 60 })
  await patch(id, { title: 'Two', duration: null })
  await patch(id, { summary: 'Second' }, 'admin')
  const readers = () => archive.call('GET', `/api/v2/video/${id}`)
  assert.equal((await readers()).json.title, 'Two')
  const record = await reverted(id, 2)
  assert.deepEqual([record.title, record.duration, record.summary], ['One', 60, 'Second'])
  assert.equal((await readers()).json.title, 'One', 'the cache forgets the record')
  const { count, results } = await revisionsOf(id)
  assert.equal(count, 4)
  const { kind, by, via, fields } = results[0]
  assert.deepEqual([kind, by, via], ['restored', 'Edith', 'api'])
  assert.deepEqual(fields, ['duration', 'title'])
})

test('reverts only the named fields, and can revert a revert', async () => {
  const { id } = await archive.make({ title: 'One', summary: 'First' })
  await patch(id, { title: 'Two', summary: 'Second' })
  assert.deepEqual((await reverted(id, 2, ['title', 'title'])).summary, 'Second')
  const record = await reverted(id, 3)
  assert.deepEqual([record.title, record.summary], ['Two', 'Second'])
})

test('refuses fields that were changed since, and lists them', async () => {
  const { id } = await archive.make({ title: 'One', summary: 'First', quality_notes: 'None' })
  await patch(id, { title: 'Two', summary: 'Second', quality_notes: 'Some' })
  await patch(id, { title: 'Three', quality_notes: 'Many' }, 'admin')
  await assertChangedSince(['quality_notes', 'title'], id, 2)
  await assertChangedSince(['title'], id, 2, ['summary', 'title'])
  assert.equal((await reverted(id, 2, ['summary'])).summary, 'First')
  await patch(id, { title: 'Two', quality_notes: 'Some' })
  assert.equal((await reverted(id, 2)).title, 'One', 'it has the value of the change again')
})

test('writes nothing if the fields have their old values', async () => {
  const { id } = await archive.make({ title: 'One' })
  await patch(id, { title: 'Two' })
  const first = await reverted(id, 2)
  assert.deepEqual(await reverted(id, 2), first)
  assert.equal((await revisionsOf(id)).count, 3)
})

test('reverts speakers and tags by element', async () => {
  const { id } = await archive.make({ speakers: ['Ada', 'Bo'], tags: ['x'] })
  await patch(id, { speakers: ['Ada', 'Cleo'], tags: [] })
  await patch(id, { speakers: ['Dora', 'Ada', 'Cleo'], tags: ['y'] })
  const record = await reverted(id, 2)
  assert.deepEqual(record.speakers, ['Dora', 'Ada', 'Bo'])
  assert.deepEqual(record.tags, ['x', 'y'])

  const { id: ordered } = await archive.make({ speakers: ['Ada', 'Bo', 'Cleo'] })
  await patch(ordered, { speakers: ['Cleo', 'Bo', 'Ada'] })
  await patch(ordered, { speakers: ['Bo', 'Cleo', 'Ada'] })
  await assertChangedSince(['speakers'], ordered, 2)
  assert.deepEqual((await reverted(ordered, 3)).speakers, ['Cleo', 'Bo', 'Ada'])
  assert.deepEqual((await reverted(ordered, 2)).speakers, ['Ada', 'Bo', 'Cleo'])
})

test('refuses a list that would become too long', async () => {
  const tags = (name: string) => Array.from({ length: 60 }, (_, index) => `${name} ${index}`)
  const { id } = await archive.make({ tags: tags('old') })
  await patch(id, { tags: [] })
  await patch(id, { tags: tags('new') })
  await assertChangedSince(['tags'], id, 2)
})

test('compares entities by id and returns their current names', async () => {
  const rename = async (path: string, body: object) => {
    const reply = await archive.call('PATCH', `/api/v2/${path}`, { token: archive.editor, body })
    assert.equal(reply.status, 200, reply.text)
  }
  const titles = ['Hidden Days', 'Moved Days']
  for (const title of titles)
    await archive.call('POST', '/api/v2/category', { token: archive.editor, body: { title } })
  const { id } = await archive.make({ category: 'Hidden Days', speakers: ['Hidden Name'] })
  await patch(id, { category: 'Moved Days', speakers: ['Other Name'] })
  await rename('speaker/hidden-name', { name: 'Current Name' })
  await rename('category/hidden-days', { title: 'Current Days' })
  await rename('speaker/other-name', { name: 'Another Name' })
  await rename('category/moved-days', { title: 'Later Days' })
  assert.deepEqual((await read(id)).speakers, ['Another Name'])
  const { count, results } = await revisionsOf(id)

  // A rename is a revision of the record too, but there is nothing to revert.
  for (const { revision } of results.slice(0, count - 2))
    assert.deepEqual(await reverted(id, revision), await read(id))
  assert.equal((await revisionsOf(id)).count, count)

  const reply = await revert(id, 2)
  assert.equal(reply.json.category, 'Current Days')
  assert.deepEqual(reply.json.speakers, ['Current Name'])
  assert.doesNotMatch(reply.text, /Hidden/)

  await archive.call('POST', '/api/v2/speaker/current-name/merge', {
    token: archive.editor,
    body: { into: 'another-name' },
  })
  assert.deepEqual((await reverted(id, 2)).speakers, ['Another Name'], 'both are one now')
})

test('refuses to revert the creation, unknown revisions and other fields', async () => {
  const { id } = await archive.make()
  await patch(id, { title: 'Two' })
  const creation = await revert(id, 1)
  assert.equal(creation.status, 409)
  assert.equal(creation.json.type, `${archive.url}/api/problems/not-revertible`)
  assert.match(creation.json.detail, /created the record/)
  assert.equal((await revert(id, 3)).status, 404)
  assert.equal((await revert(999_999, 2)).status, 404)
  for (const fields of [['summary'], ['title', 'updated'], ['nonsense'], ['__proto__'], []]) {
    const { status, json } = await revert(id, 2, fields)
    assert.equal(status, 400)
    assert.match(json.errors[0].pointer, /^\/fields/)
  }
  assert.equal((await revert(id, 2, Array(51).fill('title'))).status, 400)
  assert.equal((await read(id)).title, 'Two')
})

test('answers 410 for a record that was taken down', async () => {
  const { id } = await archive.make()
  await patch(id, { title: 'Two' })
  const body = { reason: 'The speaker asked for it' }
  await archive.call('POST', `/api/v2/video/${id}/takedown`, { token: archive.admin, body })
  for (const revision of [1, 2, 3]) assert.equal((await revert(id, revision)).status, 410)
})

test('checks If-Match, and a repeated request has one effect', async () => {
  const { id } = await archive.make({ title: 'One' })
  const { headers } = await archive.call('PATCH', `/api/v2/video/${id}`, {
    token: archive.editor,
    body: { title: 'Two' },
  })
  const stale = { 'if-match': `"${id}.1.old"` }
  assert.equal((await revert(id, 2, undefined, { headers: stale })).status, 412)
  const current = { headers: { 'if-match': String(headers.etag) } }
  const first = await reverted(id, 2, undefined, current)
  assert.deepEqual(await reverted(id, 2, undefined, current), first)
  assert.equal((await revisionsOf(id)).count, 3)
})

test('an editor of an event can not move a talk back to a foreign event', async () => {
  const { id: eventId } = await findEvent(archive.pool, category)
  const options = { name: 'Of the event', role: 'editor', days: 1, eventId } as const
  const { token } = await createToken(archive.pool, options)
  const { id } = await archive.make({ category: otherCategory, title: 'One' })
  await patch(id, { category, title: 'Two' })
  const path = `/api/v2/video/${id}/revisions/2/revert`
  assert.equal((await archive.call('POST', path, { token, body: {} })).status, 403)
  const title = await archive.call('POST', path, { token, body: { fields: ['title'] } })
  assert.deepEqual([title.json.title, title.json.category], ['One', category])
})

test('concurrent reverts of the same change write once', async () => {
  for (let round = 0; round < 15; round++) {
    const { id } = await archive.make({ title: 'One', speakers: ['Ada'], tags: ['x'] })
    await patch(id, { title: 'Two', speakers: [`New ${round}`], tags: ['x', 'y'] })
    const people = Array.from({ length: 8 }, (_, index) => (index % 2 ? 'admin' : 'editor'))
    const replies = await Promise.all(people.map((person) => revert(id, 2, undefined, { person })))
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
    assert.equal((await revisionsOf(id)).count, 3)
    const { title, speakers, tags } = await read(id)
    assert.deepEqual([title, speakers, tags], ['One', ['Ada'], ['x']])
  }
})

test('a concurrent edit of the same field is never lost', async () => {
  for (let round = 0; round < 15; round++) {
    const { id } = await archive.make({ title: 'One', tags: ['x'] })
    await patch(id, { title: 'Two', tags: ['y'] })
    const [reply] = await Promise.all([revert(id, 2), patch(id, { title: 'Three' }, 'admin')])
    assert.ok(reply.status === 200 || reply.status === 409, reply.text)
    const { title, tags } = await read(id)
    assert.equal(title, 'Three')
    assert.deepEqual(tags, reply.status === 200 ? ['x'] : ['y'])
  }
})

const names = ['Ada', 'Bo', 'Cleo', 'Dora']
const edit = fc
  .record(
    {
      title: fc.constantFrom('One', 'Two', 'Three'),
      summary: fc.constantFrom('', 'First', 'Second'),
      duration: fc.constantFrom(null, 60, 120),
      recorded: fc.constantFrom(null, '2026-01-01'),
      state: fc.constantFrom(1, 2),
      language: fc.constantFrom('English', 'Spanish'),
      category: fc.constantFrom(category, otherCategory),
      speakers: fc.shuffledSubarray(names),
      tags: fc.shuffledSubarray(names),
    },
    { requiredKeys: [] },
  )
  .map((body) => ({ body }))
/** Reverts a revision, counted from the end, and some of its fields or all. */
const revertStep = fc.record({
  back: fc.constantFrom(0, 1, 1, 2, 2, 3, 4),
  fields: fc.option(fc.array(fc.nat(8), { minLength: 1, maxLength: 3 }), { nil: undefined }),
})
const steps = fc.array(
  fc.tuple(fc.constantFrom('editor', 'admin'), fc.oneof(edit, edit, revertStep)),
  { minLength: 3, maxLength: 16 },
)

type Fields = Record<string, unknown>
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** Returns whether a field was changed since, so that a revert must be refused. */
function isChangedSince(old: unknown, made: unknown, current: unknown): boolean {
  if (!Array.isArray(old)) return !same(current, made) && !same(current, old)
  const lists = [old, made, current] as string[][]
  const orders = lists.map((list) =>
    String(list.filter((name) => lists.every((other) => other.includes(name)))),
  )
  return new Set(orders).size === 3
}

test('any edits of two people and reverts: only what the change did is reverted', async (t) => {
  const counts = { edits: 0, reverts: 0, refused: 0, latest: 0 }
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { id } = await archive.make({ title: 'One', speakers: ['Ada', 'Bo'] })
      const versions: Fields[] = [{ ...(await read(id)) }]
      const push = (next: Fields) => {
        const { updated: _, ...before } = versions.at(-1) as Fields
        const { updated: __, ...after } = next
        if (!same(before, after)) versions.push(next)
      }
      for (const [person, step] of sequence) {
        if ('body' in step) {
          counts.edits++
          push({ ...(await patch(id, step.body, person)) })
          continue
        }
        const revision = versions.length - step.back
        if (revision < 2) continue
        const [old, made] = [versions[revision - 2], versions[revision - 1]] as [Fields, Fields]
        const current = versions.at(-1) as Fields
        const changed = Object.keys(made).filter(
          (field) => field !== 'updated' && !same(old[field], made[field]),
        )
        const fields = step.fields?.map((index) => changed[index % changed.length] as string)
        const reply = await revert(id, revision, fields, { person })
        const requested = (fields ?? changed).filter(
          (field, index, all) => all.indexOf(field) === index,
        )
        const refused = requested.filter((field) =>
          isChangedSince(old[field], made[field], current[field]),
        )
        counts.reverts++
        if (refused.length > 0) {
          counts.refused++
          assert.equal(reply.status, 409)
          assert.deepEqual(reply.json.fields, refused.sort())
          assert.deepEqual(await read(id), current)
          continue
        }
        assert.equal(reply.status, 200, reply.text)
        const next: Fields = { ...reply.json }
        for (const field of Object.keys(next).filter((field) => field !== 'updated')) {
          const isList = Array.isArray(old[field])
          if (!requested.includes(field)) assert.deepEqual(next[field], current[field], field)
          else if (!isList || step.back === 0) assert.deepEqual(next[field], old[field], field)
          else {
            const [before, after, now] = [old[field], made[field], current[field]] as string[][]
            const expected = names.filter((name) =>
              before?.includes(name) === after?.includes(name)
                ? now?.includes(name)
                : before?.includes(name),
            )
            assert.deepEqual([...(next[field] as string[])].sort(), expected, field)
          }
        }
        if (step.back === 0) counts.latest++
        push(next)
      }
      assert.equal((await revisionsOf(id)).count, versions.length)
    }),
    { numRuns: 100, seed: 20_261_117 },
  )
  t.diagnostic(JSON.stringify(counts))
  assert.ok(
    Object.values(counts).every((count) => count > 20),
    JSON.stringify(counts),
  )
  await checkInvariants(archive.databaseUrl)
})
