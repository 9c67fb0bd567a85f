import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { type Video, videoFields } from '@talkshelf/contract'
import { startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// 2,644 records of the previous service, written through POST and read through GET.

const file = fileURLToPath(new URL('../../../shared/data/v2-era.ndjson.gz', import.meta.url))
const skip = existsSync(file) ? false : 'the records are not at hand'

/** Allowed differences between input and output, and the number of records that have them. */
const deviations: Record<string, { count: number; expected(value: never): unknown }> = {
  'white space around the title': { count: 27, expected: (title: string) => title.trim() },
  'a speaker trimmed, composed or named twice': { count: 0, expected: normalizeNames },
  'a tag trimmed, composed or named twice': { count: 42, expected: normalizeNames },
}
const rules: Partial<Record<keyof Video, string>> = {
  title: 'white space around the title',
  speakers: 'a speaker trimmed, composed or named twice',
  tags: 'a tag trimmed, composed or named twice',
}

test('returns every value of the records of the old service unchanged', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const archive = await startArchive()
  const records: (Video & { related_urls?: unknown })[] = gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(records.length, 2644)
  for (const title of new Set(records.map((record) => record.category)))
    assert.equal(
      (await archive.call('POST', '/api/v2/category', { body: { title }, token: archive.editor }))
        .status,
      201,
      title,
    )

  const counts = Object.fromEntries(Object.keys(deviations).map((name) => [name, 0]))
  const queue = [...records]
  const load = async () => {
    for (let record = queue.shift(); record; record = queue.shift()) {
      // The API does not have this field, which the last release of the previous service added.
      const { related_urls: _, ...body } = record
      const made = await archive.call('POST', '/api/v2/video', {
        body: { ...body, state: 1 },
        token: archive.editor,
      })
      assert.equal(made.status, 201, `${body.title}: ${made.text}`)
      const { json } = await archive.call('GET', `/api/v2/video/${made.json.id}`)
      assert.deepEqual(Object.keys(json), videoFields)
      for (const field of Object.keys(body) as (keyof typeof body)[]) {
        const name = rules[field]
        if (name === undefined)
          assert.deepEqual(json[field], body[field], `${field} of ${body.title}`)
        else {
          assert.deepEqual(
            json[field],
            deviations[name]?.expected(body[field] as never),
            `${field} of ${body.title}`,
          )
          if (JSON.stringify(json[field]) !== JSON.stringify(body[field]))
            counts[name] = (counts[name] ?? 0) + 1
        }
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, load))
  for (const [name, count] of Object.entries(counts))
    t.diagnostic(`${count} of ${records.length}: ${name}`)
  assert.deepEqual(
    counts,
    Object.fromEntries(Object.entries(deviations).map(([name, { count }]) => [name, count])),
  )
  await checkInvariants(archive.databaseUrl)
})

function normalizeNames(names: string[]): string[] {
  return [...new Set(names.map((name) => name.normalize('NFC').trim()))]
}
