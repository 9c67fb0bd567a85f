import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aTalk } from '../tests/support/sample-talk.ts'
import { bibtex, cslJson, plainCitation } from './cite.ts'

const origin = 'https://talks.example.org'
const named = (...names: string[]) => names.map((name, id) => ({ id, slug: 'x', name }))

const textOf = (talk: Parameters<typeof plainCitation>[0]) =>
  plainCitation(talk, origin)
    .map(({ text }) => text)
    .join('')

test('formats a plain citation', () => {
  const cite = (more: object) => textOf({ ...aTalk, ...more })
  assert.equal(
    cite({}),
    'Ada (2026, March 1). Queues [Video]. Days. https://talks.example.org/video/17/queues',
  )
  assert.match(
    cite({ speakers: named('A', 'B', 'C'), recorded: null }),
    /^A, B & C \(n\.d\.\)\. Queues/,
  )
  assert.match(cite({ recorded: '2026-01-01' }), /^Ada \(2026\)\. Queues/, 'only the year is known')
  assert.match(cite({ speakers: [] }), /^Queues \[Video\]\. \(2026, March 1\)\. Days\. https/)
})

test('isolates what can be written from right to left', () => {
  const talk = { ...aTalk, title: 'عنوان', speakers: named('محمد', 'Ada') }
  assert.deepEqual(
    plainCitation(talk, origin)
      .filter(({ isIsolated }) => isIsolated)
      .map(({ text }) => text),
    ['محمد', 'Ada', 'عنوان', 'Days'],
  )
})

test('formats BibTeX with all special characters escaped', () => {
  const talk = {
    ...aTalk,
    title: '50% of {C#} & $x_1^2$ ~ \\o/ “ñ 日本”',
    speakers: named('Ada', 'Bob, Ltd.', 'Anderson and Sons'),
  }
  assert.equal(
    bibtex(talk, origin),
    `@misc{talk-17,
  author = {Ada and {Bob, Ltd.} and {Anderson and Sons}},
  title = {{50\\% of \\textbraceleft{}C\\#\\textbraceright{} \\& \\$x\\_1\\textasciicircum{}2\\$ \\textasciitilde{} \\textbackslash{}o/ “ñ 日本”}},
  howpublished = {Video, Days},
  year = {2026},
  month = {3},
  language = {Spanish},
  url = {https://talks.example.org/video/17/queues}
}
`,
  )
  assert.doesNotMatch(
    bibtex({ ...aTalk, speakers: [], recorded: null }, origin),
    /author|year|month/,
  )
})

test('keeps braces and lines of BibTeX balanced for any title', () => {
  const anyCharacter = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
  const text = fc.string({ unit: fc.oneof(fc.constantFrom(...'{}\\"%@,=#\n$&_^~ '), anyCharacter) })
  fc.assert(
    fc.property(text, fc.array(text, { maxLength: 3 }), text, (title, names, event) => {
      const talk = {
        ...aTalk,
        title,
        speakers: named(...names),
        category: { ...aTalk.category, name: event },
      }
      const entry = bibtex(talk, origin)
      const characters = [...entry.trimEnd()]
      const steps: Record<string, number> = { '{': 1, '}': -1 }
      let depth = 0
      for (const [index, character] of characters.entries()) {
        depth += steps[character] ?? 0
        const isOutside = index < '@misc{'.length || index === characters.length - 1
        assert.ok(depth > 0 || isOutside, entry)
      }
      assert.equal(depth, 0)
      // A comment or a new entry could only start on a line of its own.
      assert.equal(entry.split('\n').length, 9 + (entry.includes('\n  author = ') ? 1 : 0))
      assert.doesNotMatch(entry, /(?<!\\)[%$&#_]/)
      assert.match(entry, /^@misc\{talk-17,\n/)
    }),
    { numRuns: 300 },
  )
})

test('cites the part of a recording that holds several talks', () => {
  const [source] = aTalk.sources
  assert.ok(source)
  const withPart = (end: number | null) => ({
    ...aTalk,
    sources: [{ ...source, part: { recording: source.address, start: 3723, end } }],
  })
  assert.match(textOf(withPart(5110)), / \[Video, 1:02:03–1:25:10\]\. /)
  assert.match(textOf(withPart(null)), / \[Video, from 1:02:03\]\. /)
  assert.match(bibtex(withPart(5110), origin), /^ {2}note = \{1:02:03–1:25:10\},$/m)
  assert.equal(cslJson(withPart(5110), origin).section, '1:02:03–1:25:10')
})

test('formats CSL-JSON', () => {
  assert.deepEqual(cslJson(aTalk, origin), {
    id: 'talk-17',
    type: 'speech',
    title: 'Queues',
    author: [{ literal: 'Ada' }],
    'event-title': 'Days',
    issued: { 'date-parts': [[2026, 3, 1]] },
    medium: 'Video',
    language: 'es',
    URL: 'https://talks.example.org/video/17/queues',
  })
  const { issued } = cslJson({ ...aTalk, recorded: '2026-01-01' }, origin)
  assert.deepEqual(issued, { 'date-parts': [[2026]] })
  const bare = cslJson({ ...aTalk, speakers: [], recorded: null }, origin)
  assert.deepEqual(
    ['author', 'issued'].filter((name) => name in bare),
    [],
  )
})
