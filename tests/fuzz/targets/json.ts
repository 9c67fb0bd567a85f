import { Problem, VideoInput, VideoPatch, validationErrors } from '@talkshelf/contract'
import { parseOrdering } from '../../../server/catalogue/ordering.ts'
import { readCursor, writeCursor } from '../../../server/platform/http/cursor.ts'
import { canonicalJson, fromJson, toJson } from '../../../server/platform/http/json.ts'
import { normalizeVideoInput } from '../../../server/videos/wire.ts'
import { assertProperty, decodeInput, type FuzzTarget, inputWords } from '../target.ts'

export const talkJson = JSON.stringify({
  title: 'Ten years of tiny queues',
  category: 'Example Days 2026',
  language: 'English',
  speakers: ['Ada Lovelace'],
  tags: ['queues'],
  state: 1,
  summary: 'How to **wait**.',
  description: 'Line one\n\n- a list',
  duration: 2700,
  recorded: '2026-05-17',
  source_url: 'https://www.youtube.com/watch?v=exampleAAA1',
  video_mp4_url: 'https://example.org/a.mp4',
  video_mp4_length: 1048576,
  video_mp4_download_only: false,
})

export const jsonTokens = inputWords(`
  { } [ ] {} [] "" null true 1e5 -1 "a": ,"title":"x" "__proto__":{} \\u0000 \\ud800 "title":
  "category": "language": "speakers": "tags": "state": "duration": "recorded": "source_url":
`)

const ordering = '-recorded,title'
const order = parseOrdering(ordering)

export const jsonTargets: readonly FuzzTarget[] = [
  {
    name: 'JSON body',
    seeds: [talkJson, '{}', '{"speakers":[]}', '{"a":{"b":[1,2,{"c":null}]}}'],
    dictionary: jsonTokens,
    refusals: [Problem],
    run(input) {
      const value = fromJson(input)
      assertProperty(
        canonicalJson(JSON.parse(toJson(value))) === canonicalJson(value),
        'parsing and serializing is not lossless',
      )
      const body = normalizeVideoInput(value)
      for (const schema of [VideoInput, VideoPatch]) {
        for (const { pointer, code, detail } of validationErrors(schema, body)) {
          assertProperty(
            pointer.isWellFormed() && code !== '' && detail !== '',
            'an error without details',
            {
              pointer,
              code,
            },
          )
        }
      }
    },
  },
  {
    name: 'cursor',
    seeds: [
      JSON.stringify({ ordering, way: 'next', keys: ['2026-05-17', 'Ten years', '1'] }),
      JSON.stringify({ ordering, way: 'previous', keys: ['-infinity', '', '9007199254740991'] }),
    ],
    dictionary: [
      ...jsonTokens,
      '"ordering":',
      '"way":"next"',
      '"keys":',
      'infinity',
      '-infinity',
      '0001-01-01',
      '9999-12-31',
    ],
    run(input) {
      for (const text of [input.toString('base64url'), decodeInput(input)]) {
        const cursor = readCursor(text, ordering, order)
        if (cursor === undefined) continue
        const again = readCursor(writeCursor(cursor), ordering, order)
        assertProperty(
          canonicalJson(again) === canonicalJson(cursor),
          'reading and writing a cursor is not lossless',
        )
      }
    },
  },
]
