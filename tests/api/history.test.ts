import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startArchive } from '../support/harness.ts'

// The history of a record has its own changes only: categories, speakers, tags and facts have the
// same ids.

const archive = await startArchive()
const send = async (method: string, path: string, body?: object) => {
  const reply = await archive.call(method, `/api/v2/${path}`, { body, token: archive.admin })
  assert.ok(reply.status < 300, reply.text)
  return reply.json
}

test('revisions of a record are not mixed with those of others with its id', async () => {
  const { id } = await archive.make({ title: 'One', speakers: ['Ada'], tags: ['queues'] })
  assert.equal(id, 1, 'the first record, as the first category, speaker and tag')
  await send('PATCH', 'category/example-days-2026', { description: 'Of the category' })
  await send('PATCH', 'speaker/ada', { description: 'Of the speaker' })
  await send('PATCH', 'tag/queues', { name: 'Queues' })
  await send('PUT', `video/${id}/facts`, { facts: [{ kind: 'address', path: 'old/1' }] })
  await send('PATCH', `video/${id}`, { title: 'Two' })

  const { count, results } = await send('GET', `video/${id}/revisions`)
  assert.equal(count, results.length)
  const numbers = results.map(({ revision }: { revision: number }) => revision)
  assert.deepEqual(numbers, [...new Set(numbers)], 'each revision once')
  assert.deepEqual(results[0].fields, ['title'])
  for (const revision of numbers) {
    const { record } = await send('GET', `video/${id}/revisions/${revision}`)
    assert.equal(record.description, '', `revision ${revision}`)
    assert.equal(record.title, revision === numbers[0] ? 'Two' : 'One')
    assert.equal(record.facts, undefined)
    assert.equal(record.name, undefined)
  }
})
