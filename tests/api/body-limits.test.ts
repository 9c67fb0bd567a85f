import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultMaxKeys, endpoints } from '@talkshelf/contract'
import { startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Bodies up to the limits of the contract are accepted, and larger ones are rejected.

const archive = await startArchive()
const { editor: token } = archive

interface Schema {
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly maxItems?: number
}

/** Returns the maximum number of keys in a value of this schema. Untyped values have none. */
function maxKeysOf({ anyOf, properties, items, maxItems = 0 }: Schema): number {
  if (anyOf) return Math.max(...anyOf.map(maxKeysOf))
  if (properties)
    return Object.values(properties).reduce((sum, property) => sum + 1 + maxKeysOf(property), 0)
  return items ? maxItems * maxKeysOf(items) : 0
}

test('accepts as many keys on every endpoint as its schema allows', () => {
  for (const { name, body } of Object.values(endpoints) as {
    name: string
    body?: { schema: Schema; maxKeys?: number }
  }[]) {
    if (!body) continue
    const [needed, allowed] = [maxKeysOf(body.schema), body.maxKeys ?? defaultMaxKeys]
    assert.ok(needed <= allowed, `${name}: ${needed} keys by its schema, ${allowed} are accepted`)
  }
})

test('accepts up to 1,000 facts for a record', async () => {
  const { id } = await archive.make()
  const path = `/api/v2/video/${id}/facts`
  const put = (facts: object[]) => archive.call('PUT', path, { token, body: { facts } })
  const media = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      kind: 'media',
      url: `https://example.org/${n}.mp4`,
      type: 'mp4',
      size: null,
    }))
  for (const count of [60, 64, 250, 1000]) {
    const reply = await put(media(count))
    assert.deepEqual(
      [reply.status, reply.json.facts?.length],
      [200, count],
      reply.text.slice(0, 300),
    )
  }
  assert.equal((await archive.call('GET', path)).json.facts.length, 1000)
  const more = await put(media(1001))
  assert.deepEqual([more.status, more.json.errors?.[0]?.pointer], [400, '/facts'], more.text)
  const tooMany = await put(media(5000))
  assert.deepEqual([tooMany.status, tooMany.json.type.split('/').at(-1)], [400, 'malformed-body'])
})

test('accepts up to 1,000 aliases for a speaker', async () => {
  await archive.make({ speakers: ['Ada'] })
  const aliases = Array.from({ length: 1000 }, (_, n) => ({ name: `Ada ${n}`, shown: n % 2 === 0 }))
  const reply = await archive.call('PATCH', '/api/v2/speaker/ada', { token, body: { aliases } })
  assert.deepEqual(
    [reply.status, reply.json.aliases?.length],
    [200, 1000],
    reply.text.slice(0, 300),
  )
})

test('rejects a record with too many keys before validating it', async () => {
  const body = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`key${n}`, n]))
  const { status, json } = await archive.call('POST', '/api/v2/video', { token, body })
  assert.deepEqual([status, json.type.split('/').at(-1)], [400, 'malformed-body'])
})

test('keeps records, facts and names consistent after all tests', () =>
  checkInvariants(archive.databaseUrl))
