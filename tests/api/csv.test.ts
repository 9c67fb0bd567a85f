import assert from 'node:assert/strict'
import test from 'node:test'
import {
  type Fact,
  readOnlyFields,
  type Video,
  videoDefaults,
  videoFields,
} from '@talkshelf/contract'
import fc from 'fast-check'
import { csvHeader, csvLine } from '../../server/exports/csv.ts'
import { csv } from '../../server/imports/formats/csv.ts'
import { openInput } from '../../server/imports/input/input.ts'
import type { ParsedItem } from '../../server/imports/item.ts'

// What the archive writes as a table, it reads back.

const character = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...'=+-@\t\r\n\'"",;\\ a:/0é日𝒳\u00a0\ufeff\u2028') },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme-composite', minLength: 1, maxLength: 1 }) },
)
// biome-ignore lint/suspicious/noControlCharactersInRegex: no field of a record takes them
const plain = (it: string) => it.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, '')
const text = fc.string({ unit: character, maxLength: 20 }).map(plain)
const name = text.map((it) => it.normalize('NFC').trim()).filter((it) => it !== '')
const names = fc.array(name, { maxLength: 4 })
const address = fc.oneof(
  fc.constantFrom(null, '', 'https://example.org/a;b?c=d,"e"'),
  text.map((it) => `https://example.org/${it.replaceAll(/\s/g, '')}`),
)
const orNull = (max: number) => fc.option(fc.integer({ min: 0, max }))
const url = fc.oneof(
  text.map((it) => `https://example.org/${it}`),
  text.filter((it) => it !== ''),
)

const formats = ['ogv', 'mp4', 'webm', 'flv'] as const
const media = Object.fromEntries(
  formats.flatMap((format) => [
    [`video_${format}_length`, orNull(Number.MAX_SAFE_INTEGER)],
    [`video_${format}_url`, address],
    [`video_${format}_download_only`, fc.boolean()],
  ]),
)
const video = fc.record({
  ...Object.fromEntries(
    Object.entries(videoDefaults).map(([field, value]) => [
      field,
      value === '' ? text : fc.constant(value),
    ]),
  ),
  ...media,
  category: name,
  language: name,
  title: name,
  slug: fc.constant('a-talk'),
  speakers: names,
  tags: names,
  id: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  state: fc.constantFrom(1, 2),
  thumbnail_url: address,
  source_url: address,
  duration: orNull(2 ** 31 - 1),
  recorded: fc.constantFrom(null, '2031-05-17', '0001-01-01'),
  added: fc.constant('2031-05-17T10:00:00.000'),
  updated: fc.constant('2031-05-17T10:00:00.000'),
}) as unknown as fc.Arbitrary<Video>
const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.record({ kind: fc.constant('related' as const), url, label: fc.constant(null) }),
  fc.record({
    kind: fc.constant('media' as const),
    url,
    type: fc.constant('mp4'),
    size: fc.constant(5),
  }),
)

/** An empty cell says nothing: a table can't tell an empty text from none. */
function expected(it: Video): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    value === null ||
    (typeof value === 'string' && value.trim() === '') ||
    (Array.isArray(value) && value.length === 0)
  const kept = videoFields.filter(
    (field) => !(readOnlyFields as readonly string[]).includes(field) && !isEmpty(it[field]),
  )
  return Object.fromEntries(kept.map((field) => [field, it[field]]))
}

/** White space has no place in an address, and is written as addresses have it. */
function written(facts: readonly Fact[], kind: Fact['kind']): string[] {
  return facts.flatMap((it) => (it.kind === kind && 'url' in it ? [decoded(it.url)] : []))
}
const decoded = (address: string) =>
  address.replaceAll(/\s/g, encodeURIComponent).replaceAll('%3B', ';')

test('any record that is written as a table is read back as it was', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(video, fc.array(fact, { maxLength: 3 })), { minLength: 1, maxLength: 4 }),
      async (records) => {
        const bytes = Buffer.from(
          csvHeader() + records.map(([it, facts]) => csvLine(it, facts)).join(''),
        )
        const stream = (async function* () {
          yield bytes
        })()
        const input = await openInput({ stream, name: 'standard input' })
        assert.ok(csv.recognises(input.begin, input.firstPath))
        const readings: ParsedItem[] = []
        for await (const reading of csv.read(input.files, {
          category: undefined,
          language: undefined,
        }))
          readings.push(reading)
        assert.equal(readings.length, records.length)
        for (const [at, [it, facts]] of records.entries()) {
          const draft = readings[at]
          assert.ok(draft && 'fields' in draft, JSON.stringify(draft))
          assert.deepEqual(
            { place: draft.place, id: draft.id, notes: draft.notes },
            { place: `row ${at + 2}`, id: it.id, notes: [] },
          )
          assert.deepEqual(draft.fields, expected(it))
          for (const kind of ['related', 'media'] as const)
            assert.deepEqual(written(draft.facts, kind), written(facts, kind))
        }
      },
    ),
    { numRuns: 300 },
  )
})
