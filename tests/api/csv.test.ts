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

// Records that are exported as CSV are imported unchanged.

const character = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...'=+-@\t\r\n\'"",;\\ a:/0é日𝒳\u00a0\ufeff\u2028') },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme-composite', minLength: 1, maxLength: 1 }) },
)
// biome-ignore lint/suspicious/noControlCharactersInRegex: no field of a record takes them
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g
const withoutControls = (value: string) => value.replaceAll(controls, '')
const text = fc.string({ unit: character, maxLength: 20 }).map(withoutControls)
const name = text.map((value) => value.normalize('NFC').trim()).filter((value) => value !== '')
const names = fc.array(name, { maxLength: 4 })
const address = fc.oneof(
  fc.constantFrom(null, '', 'https://example.org/a;b?c=d,"e"'),
  text.map((value) => `https://example.org/${value.replaceAll(/\s/g, '')}`),
)
const orNull = (max: number) => fc.option(fc.integer({ min: 0, max }))
const url = fc.oneof(
  text.map((value) => `https://example.org/${value}`),
  text.filter((value) => value !== ''),
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

/** Returns the fields that CSV keeps: an empty cell cannot tell an empty text from none. */
function expected(record: Video): Record<string, unknown> {
  const isEmpty = (value: unknown) =>
    value === null ||
    (typeof value === 'string' && value.trim() === '') ||
    (Array.isArray(value) && value.length === 0)
  const fields = videoFields.filter(
    (field) => !(readOnlyFields as readonly string[]).includes(field) && !isEmpty(record[field]),
  )
  return Object.fromEntries(fields.map((field) => [field, record[field]]))
}

/** Returns the URLs of facts of a kind, with white space percent-encoded. */
function urlsOf(facts: readonly Fact[], kind: Fact['kind']): string[] {
  return facts.flatMap((item) =>
    item.kind === kind && 'url' in item ? [normalizeUrl(item.url)] : [],
  )
}
const normalizeUrl = (address: string) =>
  address.replaceAll(/\s/g, encodeURIComponent).replaceAll('%3B', ';')

test('reads any record back from CSV as it was written', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(video, fc.array(fact, { maxLength: 3 })), { minLength: 1, maxLength: 4 }),
      async (records) => {
        const bytes = Buffer.from(
          csvHeader() + records.map(([record, facts]) => csvLine(record, facts)).join(''),
        )
        const stream = (async function* () {
          yield bytes
        })()
        const input = await openInput({ stream, name: 'standard input' })
        assert.ok(csv.recognises(input.head, input.firstPath))
        const items: ParsedItem[] = []
        for await (const item of csv.read(input.files, {
          category: undefined,
          language: undefined,
        }))
          items.push(item)
        assert.equal(items.length, records.length)
        for (const [index, [record, facts]] of records.entries()) {
          const item = items[index]
          assert.ok(item && 'fields' in item, JSON.stringify(item))
          assert.deepEqual(
            { place: item.place, id: item.id, notes: item.notes },
            { place: `row ${index + 2}`, id: record.id, notes: [] },
          )
          assert.deepEqual(item.fields, expected(record))
          for (const kind of ['related', 'media'] as const)
            assert.deepEqual(urlsOf(item.facts, kind), urlsOf(facts, kind))
        }
      },
    ),
    { numRuns: 300 },
  )
})
