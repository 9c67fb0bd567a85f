import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from '../../bench/records.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// The longest records that the contract allows, in the scripts that take the most space in the
// search index.

const archive = await startArchive()
const { editor: token } = archive
const random = randomFrom(17)
const pick = (from: number, to: number) =>
  String.fromCodePoint(from + Math.floor(random() * (to - from + 1)))
const chars = (count: number, char: () => string) => Array.from({ length: count }, char).join('')

/** Functions that make a text of `count` characters. */
const scripts: Record<string, (count: number) => string> = {
  'Chinese, without spaces': (count) => chars(count, () => pick(0x4e00, 0x9fff)),
  'characters of four bytes, a word each': (count) =>
    chars(count / 2, () => `${pick(0x20000, 0x2a6df)} `),
  'characters of four bytes, in words of 500': (count) =>
    chars(Math.ceil(count / 501), () => `${chars(500, () => pick(0x20000, 0x2a6df))} `),
  'Latin, in words of three letters': (count) =>
    chars(count / 4, () => `${chars(3, () => pick(0x61, 0x7a))} `),
  'characters that normalize to several': (count) =>
    chars(count / 2, () => `㌖${pick(0x4e00, 0x9fff)}`),
  'characters that normalize to a phrase': (count) =>
    chars(count / 2, () => `ﷺ${pick(0x20000, 0x2a6df)}`),
}

/** Returns a text of exactly `count` code points, without white space around it. */
function exactly(count: number, make: (count: number) => string): string {
  const text = [...make(count + 2)].slice(0, count)
  return text.join('').replace(/^\s|\s$/g, 'x')
}

let number = 0

for (const [script, make] of Object.entries(scripts))
  test(`writes, changes, finds and takes down the longest record in ${script}`, async (t) => {
    const uniqueWord = `zebra${'abcdefghij'[number++]}`
    const category = exactly(255, make)
    const names = () => Array.from({ length: 100 }, () => exactly(255, make))
    assert.equal(
      (await archive.call('POST', '/api/v2/category', { token, body: { title: category } })).status,
      201,
    )
    const body = {
      title: `${uniqueWord} ${exactly(255 - uniqueWord.length - 1, make)}`,
      category,
      language: 'Chinese',
      state: 1,
      speakers: names(),
      tags: names(),
      summary: exactly(20_000, make),
      description: exactly(100_000, make),
    }
    const measured = async (
      label: string,
      status: number,
      method: string,
      path: string,
      options: object,
    ) => {
      const beganMs = performance.now()
      const reply = await archive.call(method, path, { token, ...options })
      t.diagnostic(`${label}: ${Math.round(performance.now() - beganMs)} ms`)
      assert.equal(reply.status, status, `${label}: ${reply.text.slice(0, 300)}`)
      return reply.json
    }
    const { id } = await measured('POST', 201, 'POST', '/api/v2/video', { body })
    await measured('PATCH of the title', 200, 'PATCH', `/api/v2/video/${id}`, {
      body: { title: `${[...body.title].slice(0, -1).join('')}y` },
    })
    await measured('PATCH of the text', 200, 'PATCH', `/api/v2/video/${id}`, {
      body: { description: exactly(100_000, make) },
    })
    const results = await archive.call('GET', `/api/v2/video?q=${uniqueWord}`)
    assert.deepEqual(
      results.json.results.map((video: { id: number }) => video.id),
      [id],
    )
    const [size] = await withDatabase(archive.databaseUrl, (query) =>
      query(
        `select pg_column_size(keys || head || text) - 4 * length(keys || head || text) as bytes
         from video_search
         where id = ${id}`,
      ),
    )
    t.diagnostic(`${size?.bytes} bytes in the index`)
    await measured('takedown', 200, 'POST', `/api/v2/video/${id}/takedown`, {
      token: archive.admin,
      body: { reason: 'asked for' },
    })
  })

test('indexes a text with at most 4 bytes per character', async () => {
  const parts = [
    () => ' ',
    () => pick(0x21, 0x7e),
    () => pick(0x30, 0x39),
    () => pick(0x61, 0x7a),
    () => pick(0xa1, 0x24f),
    () => pick(0x300, 0x36f),
    () => pick(0x400, 0x5ff),
    () => pick(0x620, 0x64a),
    () => pick(0x900, 0xdff),
    () => pick(0xe00, 0x109f),
    () => pick(0x2000, 0x2bff),
    () => pick(0x3040, 0x33ff),
    () => pick(0x4e00, 0x9fff),
    () => pick(0xf900, 0xfdff),
    () => pick(0x1d400, 0x1d7ff),
    () => pick(0x20000, 0x2a6df),
    () => 'ﷺ',
  ]
  const texts = Array.from({ length: 100 }, () => {
    const alphabet = Array.from(
      { length: 1 + Math.floor(random() * 3) },
      () => parts[Math.floor(random() * parts.length)] ?? (() => ' '),
    )
    return chars(1000, () => alphabet[Math.floor(random() * alphabet.length)]?.() ?? '')
  })
  const oversized = await withDatabase(archive.databaseUrl, (query) =>
    query(
      `select number, dictionary, length(plain), bytes
       from unnest($1::text[]) with ordinality as input (text, number),
            unnest(array['simple', 'english', 'russian', 'tamil', 'hindi', 'yiddish', 'turkish',
                         'german']) as dictionary,
            lateral (select normalized_words(text) as plain offset 0) as words,
            lateral (select to_tsvector(dictionary::regconfig, plain) as vector offset 0) as parsed,
            lateral (select pg_column_size(vector) - 8 - 4 * length(vector) as bytes
                     offset 0) as measured
       where bytes > 4 * (length(plain) + 1)`,
      [texts],
    ),
  )
  assert.deepEqual(oversized, [])
})

test('recreates a missing search row when its record changes', async () => {
  const healed: number[] = []
  for (const [field, value] of Object.entries({
    title: 'Quagga again',
    recorded: '2019-05-05',
    summary: 'A quagga',
    state: 2,
  })) {
    const { id } = await archive.make({ title: 'Quagga', recorded: '2021-01-01' })
    await withDatabase(archive.databaseUrl, (query) =>
      query(`delete from video_search where id = ${id}`),
    )
    const changed = await archive.call('PATCH', `/api/v2/video/${id}`, {
      token,
      body: { [field]: value },
    })
    assert.equal(changed.status, 200, changed.text)
    if (field !== 'state') healed.push(id)
  }
  const { json } = await archive.call('GET', '/api/v2/video?q=quagga')
  assert.deepEqual(json.results.map((video: { id: number }) => video.id).sort(), healed.sort())
})

test('keeps the search index consistent after all tests', () =>
  checkInvariants(archive.databaseUrl))
