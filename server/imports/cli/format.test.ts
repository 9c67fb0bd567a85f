import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Import, ImportedTalk } from '@talkshelf/contract'
import fc from 'fast-check'
import {
  collectNotes,
  formatDecision,
  formatImport,
  formatImportList,
  formatNextSteps,
  formatNotes,
  formatTalk,
  isDecidable,
  type NoteGroup,
  shareByVerdict,
} from './format.ts'
import { formatAdditions, formatWarnings } from './format-summary.ts'

const style = {
  paint: (_: string, text: string) => text,
  width: 100,
  importId: 7,
  isOpen: true,
  hasAllNotes: false,
}

const planned: Import = {
  id: 7,
  state: 'planned',
  name: 'talks.csv',
  format: 'csv',
  source: 'csv talks.csv',
  created: '2031-05-17T08:09:10.123',
  by: 'edith',
  followed_source: null,
  rows: 1204,
  done: 0,
  problem: null,
  planned: { new: 1000, changed: 150, unchanged: 50, conflict: 3, refused: 1 },
  outcome: { created: 0, changed: 0, unchanged: 0, kept: 0, refused: 0 },
  undone: { undone: 0, touched: 0 },
  creates: {
    categories: { count: 0, names: [] },
    speakers: { count: 0, names: [] },
    tags: { count: 0, names: [] },
  },
  warnings: {},
  ignored_cells: 0,
}

const talk: ImportedTalk = {
  position: 12,
  place: 'row 13',
  verdict: 'changed',
  title: 'Weirs',
  category: 'Example Days',
  speakers: ['Ann Example'],
  recorded: '2031-05-17',
  duration: 3723,
  video: 99,
  changes: {},
  notes: [],
  outcome: null,
  undone: null,
}

test('formats the counts of an import and the next steps', () => {
  const text = formatImport(planned, style)
  assert.match(text, /started {2}2031-05-17 08:09 UTC by edith/)
  assert.match(text, /new {8}1,000 {2}will be created\n {2}changed {6}150/)
  assert.match(formatNextSteps(planned), /talkshelf imports apply 7$/)
  const stopped: Import = {
    ...planned,
    state: 'stopped',
    done: 400,
    outcome: { ...planned.outcome, created: 399, kept: 1 },
  }
  assert.match(
    formatImport(stopped, style),
    /stopped, 400 of 1,204 talks done[\s\S]*applied {3}399 created, 1 kept as they are here/,
  )
  assert.match(formatNextSteps(stopped), /imports apply 7\n.*imports undo 7$/)
  assert.deepEqual(
    [isDecidable(stopped), isDecidable({ ...planned, state: 'applied' })],
    [true, false],
  )
  const undone: Import = { ...planned, state: 'undone', undone: { undone: 5, touched: 1 } }
  assert.match(formatNextSteps(undone), /imports show 7 --touched/)
  assert.doesNotMatch(
    formatNextSteps({ ...undone, undone: { undone: 5, touched: 0 } }),
    /--touched/,
  )
  const failed: Import = {
    ...planned,
    state: 'failed',
    problem: 'Row 2\x1b[2J is wrong',
    planned: {},
  }
  assert.match(formatImport(failed, style), /problem {2}Row 2\\u001b\[2J is wrong[\s\S]*No talks/)
  assert.match(
    formatImportList([planned]),
    /^ID +STATE.*\n7 +planned +2031-05-17 08:09 UTC +edith +csv +1,204 +talks\.csv$/,
  )
})

test('formats what a new talk will have', () => {
  const added: ImportedTalk = { ...talk, verdict: 'new', video: null }
  assert.equal(
    formatTalk(added, null, style),
    '  + Weirs  #12, row 13\n      Ann Example · 2031-05-17 · 1:02:03 · Example Days',
  )
  const bare = { ...added, speakers: [], recorded: null, duration: null, category: null }
  assert.match(formatTalk(bare, null, style), /no speakers · no date · no length$/)
  const note = { kind: 'warning', code: 'missing-date', field: 'recorded', detail: 'x' } as const
  assert.match(formatTalk({ ...bare, notes: [note] }, null, style), /\n {6}warning: recorded x$/)
})

test('formats the names that an import creates, and its warnings', () => {
  assert.equal(formatAdditions(planned, style), '')
  assert.equal(formatWarnings(planned, style), '')
  const names = Array.from({ length: 200 }, (_, index) => `Person ${index}`)
  const creates = {
    categories: { count: 1, names: ['Example\x1b[2J Days'] },
    speakers: { count: 1234, names },
    tags: { count: 0, names: [] },
  }
  const text = formatAdditions({ ...planned, creates }, style)
  assert.match(text, /New events: 1\n {4}Example\\u001b\[2J Days\n {2}New people: 1,234\n/)
  assert.match(text, /\n {4}and 1,\d\d\d more\n$/)
  assert.doesNotMatch(text, /tags/)
  for (const line of text.split('\n')) assert.ok(line.length <= 100, line)
  const warnings = { 'missing-date': 1, 'long-duration': 1204 }
  assert.match(
    formatWarnings({ ...planned, warnings }, style),
    /1 talk without a date\n {2}1,204 talks longer than six hours\n.*imports show 7 --warnings/,
  )
})

test('formats a change field by field, old and new', () => {
  const long = 'one two three '.repeat(30)
  const changes = {
    title: { old: 'Wiers', new: 'Weirs' },
    summary: { old: '', new: 'Words' },
    description: { old: `${long}red ${long}`, new: `${long}blue ${long}` },
    speakers: { old: ['Ann Example'], new: ['Ann Example', 'Bob Example'] },
    state: { old: 2, new: 1 },
    facts: { old: 1, new: 1 },
  }
  const invisible = { thumbnail_url: { old: null, new: '' } }
  const lines = formatTalk({ ...talk, changes: { ...changes, ...invisible } }, null, style).split(
    '\n',
  )
  assert.equal(lines[0], '  ~ Weirs  #12, row 13, record 99')
  assert.equal(lines[1], '      title        Wiers -> Weirs')
  assert.equal(lines[2], '      summary      (empty) -> Words')
  assert.match(lines[3] ?? '', /^ {6}description {2}- ….*three red one.*…$/)
  assert.match(lines[4] ?? '', /^ {19}\+ ….*three blue one.*…$/)
  assert.equal(lines[5], '      speakers     Ann Example -> Ann Example; Bob Example')
  assert.equal(lines[6], '      state        draft -> live')
  assert.match(lines[7] ?? '', /facts {8}1 fact, changed/)
  for (const line of lines) assert.ok(line.length <= 100, line)
})

test('formats a conflict with both sides, the default and the commands to decide', () => {
  const conflict: ImportedTalk = {
    ...talk,
    verdict: 'conflict',
    changes: {
      title: { old: 'A', new: 'B' },
      summary: { old: 'By hand', new: 'From the file', conflict: true },
    },
  }
  const text = formatTalk(conflict, null, style)
  assert.match(text, /summary {2}here {2}By hand\n +file {2}From the file\n/)
  assert.match(
    text,
    /By default the edit made here is kept: summary\.\s+To take the file's:[\s\S]*talkshelf imports decide 7 12 --take summary$/,
  )
  assert.match(
    formatTalk(conflict, { take: ['summary'] }, style),
    /decided: take summary from the file$/,
  )
  assert.doesNotMatch(
    formatTalk({ ...conflict, outcome: 'changed' }, null, { ...style, isOpen: false }),
    /decide/,
  )

  const question: ImportedTalk = {
    ...talk,
    verdict: 'conflict',
    video: null,
    notes: [{ kind: 'question', field: 'title', detail: 'Is it 5?' }],
  }
  assert.match(
    formatTalk(question, null, style),
    /question: Is it 5\?\n[\s\S]*decide 7 12 --same\n.*decide 7 12 --not-same$/,
  )
  assert.deepEqual([{ same: true, take: ['title'] }, { same: false }, {}].map(formatDecision), [
    'same talk as the record; take title from the file',
    'a new record',
    'keep as it is here',
  ])
})

test('escapes titles, places, fields and reasons', () => {
  const evil = '\x1b[2J\x9b31m\r\n\u202eevil'
  fc.assert(
    fc.property(
      fc.constantFrom('new', 'changed', 'unchanged', 'conflict', 'refused'),
      fc.boolean(),
      (verdict, hasAllNotes) => {
        const formatted = formatTalk(
          {
            ...talk,
            verdict,
            title: evil,
            place: evil,
            changes: { [evil]: { old: evil, new: [evil, { evil }], conflict: true } },
            notes: (['refused', 'question', 'dropped'] as const).map((kind) => ({
              kind,
              field: evil,
              detail: evil,
            })),
          },
          hasAllNotes ? null : { take: [evil] },
          { ...style, hasAllNotes },
        )
        assert.doesNotMatch(formatted.replaceAll('\n', ''), /[\p{Cc}\u202e]/u)
        for (const line of formatted.split('\n')) assert.match(line, /^ {2}/)
      },
    ),
  )
})

test('shows some talks of each verdict, and never more than the limit', () => {
  assert.deepEqual(
    shareByVerdict({ new: 0, changed: 100, unchanged: 5, conflict: 2, refused: 0 }, 30),
    [
      { verdict: 'conflict', share: 2 },
      { verdict: 'changed', share: 28 },
    ],
  )
  const count = fc.oneof(fc.nat(5), fc.nat(1000))
  fc.assert(
    fc.property(
      fc.record({ new: count, changed: count, unchanged: count, conflict: count, refused: count }),
      (counts) => {
        const shares = shareByVerdict(counts, 30)
        assert.ok(shares.reduce((sum, { share }) => sum + share, 0) <= 30)
        for (const { verdict, share } of shares)
          assert.ok(share > 0 && share <= counts[verdict], verdict)
        for (const verdict of ['new', 'changed', 'conflict', 'refused'] as const)
          assert.equal(
            shares.some((other) => other.verdict === verdict),
            counts[verdict] > 0,
          )
      },
    ),
  )
})

test('groups notes by kind and field, with a few examples', () => {
  const groups = new Map<string, NoteGroup>()
  for (let row = 1; row <= 50; row++)
    collectNotes(groups, {
      ...talk,
      place: `row ${row}`,
      notes: [
        {
          kind: 'guessed',
          field: 'language',
          detail: `is not in the file: ${row % 2 ? 'English' : 'Czech'}`,
        },
        ...(row === 9
          ? [{ kind: 'dropped' as const, field: 'color', detail: 'is no\x1b column' }]
          : []),
        { kind: 'refused', field: '', detail: 'is shown with the talk' },
      ],
    })
  const text = formatNotes(groups, undefined, style)
  assert.match(
    text,
    /^Notes\n {2}dropped color, once\n {6}row 9: is no\\u001b column\n {2}guessed language, 50 times/,
  )
  assert.equal(text.match(/is not in the file/g)?.length, 2)
  assert.equal(formatNotes(new Map(), undefined, style), '')
  // A file can have any number of fields.
  for (let field = 0; field < 1000; field++)
    collectNotes(groups, { ...talk, notes: [{ kind: 'dropped', field: `f${field}`, detail: 'x' }] })
  assert.ok(groups.size <= 200)
})

test('formats a bulk edit without a file', () => {
  const edit = { ...planned, format: 'edit', source: 'edit', name: 'set copyright_text' }
  const text = formatImport(edit, style)
  assert.match(text, /^Bulk edit, import 7\n {2}edit {5}set copyright_text\n {2}started/)
  assert.doesNotMatch(text, /file|source|format/)
  const changes = { copyright_text: { old: 'Here', new: 'There', conflict: true as const } }
  const kept = { ...talk, place: 'record 99', verdict: 'conflict' as const, changes }
  const row = formatTalk(kept, null, { ...style, isEdit: true, isOpen: false })
  assert.match(row, /#12, record 99\n/)
  assert.match(row, /copyright_text {2}here {2}Here\n +edit {2}There/)
  const allRefused = { ...edit, planned: { refused: 2 } }
  assert.match(formatNextSteps(allRefused), /Correct the talks and plan the edit again/)
  assert.match(formatNextSteps({ ...edit, state: 'failed' }), /plan the edit again/)
})
