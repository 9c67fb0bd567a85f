import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contradictions, figures, type Operation, type RecordedChange } from './history.ts'

// Tests of the checker: histories that are wrong in one way each.

const id = 7

function change(
  revision: number,
  value: string,
  fields: Partial<RecordedChange> = {},
): RecordedChange {
  const after = revision === 1 ? { title: value, summary: '' } : { summary: value }
  return { id, revision, at: `2026-01-01T00:00:00.00${revision}`, after, ...fields }
}

function operation(
  kind: Operation['kind'],
  [start, end]: [number, number],
  value: string,
  fields: Partial<Operation> = {},
): Operation {
  return {
    kind,
    id,
    field: 'summary',
    value,
    start,
    end,
    outcome: 'ok',
    repeated: false,
    settled: true,
    ...fields,
  }
}

const created = operation('create', [0, 10], 'made', { field: 'title', revision: 1 })
const first = operation('compare-and-set', [20, 30], 'first', { from: 1, revision: 2 })
const second = operation('blind', [40, 50], 'second', { revision: 3 })
const changes = [change(1, 'made'), change(2, 'first'), change(3, 'second')]

function problemsOf(history: Operation[], rows = changes, staleMs = 0): string {
  return contradictions(history, rows, { staleMs }).join('\n')
}

test('finds nothing in a correct history', () => {
  const history = [
    created,
    first,
    second,
    operation('read', [31, 45], 'first', { revision: 2 }),
    operation('read', [41, 45], 'second', { revision: 3 }),
    operation('compare-and-set', [42, 52], 'too late', { from: 1, outcome: 'fail' }),
    operation('compare-and-set', [42, 70], 'cut off', {
      from: 2,
      outcome: 'unknown',
      repeated: true,
      refusedAt: 3,
    }),
  ]
  assert.equal(problemsOf(history), '')
})

test('finds an acknowledged write that is missing', () => {
  assert.match(
    problemsOf([created, first, second], changes.slice(0, 2)),
    /blind second was acknowledged as revision 3 of 7, and is lost/,
  )
})

test('finds an acknowledged write with another value', () => {
  const rows = [change(1, 'made'), change(2, 'first'), change(3, 'something else')]
  assert.match(problemsOf([created, first, second], rows), /second was acknowledged .* and is lost/)
})

test('finds a refused write that was written', () => {
  assert.match(
    problemsOf([created, first, { ...second, outcome: 'fail' }]),
    /second was refused, but was written: revision 3 of 7/,
  )
})

test('finds a revision that was acknowledged twice', () => {
  const twin = operation('compare-and-set', [20, 30], 'twin', { from: 1, revision: 2 })
  assert.match(
    problemsOf([created, first, twin]),
    /revision 2 of 7 was acknowledged twice, as first and as twin/,
  )
})

test('finds a write that was written twice', () => {
  const repeated = { ...first, repeated: true }
  const rows = [change(1, 'made'), change(2, 'first'), change(3, 'first')]
  assert.match(problemsOf([created, repeated], rows), /compare-and-set first was written 2 times/)
})

test('finds a write without a definite response', () => {
  const open = operation('blind', [60, 70], 'open', {
    outcome: 'unknown',
    settled: false,
    repeated: true,
  })
  assert.match(problemsOf([created, first, open]), /open never had a definite response/)
})

test('finds a repeated write that was refused though it made the newest revision', () => {
  const refused: Operation = { ...first, outcome: 'unknown', repeated: true, refusedAt: 2 }
  assert.match(
    problemsOf([created, refused], changes.slice(0, 2)),
    /first was refused when repeated/,
  )
  assert.match(problemsOf([created, refused, second]), /first was refused when repeated/)
  assert.equal(problemsOf([created, { ...refused, end: 45 }, second]), '', 'overtaken in time')
})

test('finds a read older than a write that was acknowledged before it began', () => {
  const stale = operation('read', [51, 60], 'first', { revision: 2 })
  assert.match(
    problemsOf([created, first, second, stale]),
    /stale read: revision 2 of 7, 1 ms after revision 3 was returned/,
  )
})

test('finds a read older than an earlier read', () => {
  const [newer, older] = [
    operation('read', [41, 43], 'second', { revision: 3 }),
    operation('read', [44, 46], 'first', { revision: 2 }),
  ]
  assert.match(problemsOf([created, first, second, newer, older]), /stale read/)
})

test('allows an anonymous read to be as old as documented, and no older', () => {
  const cached = operation('anonymous', [150, 151], 'first', { revision: 2 })
  assert.equal(problemsOf([created, first, second, cached], changes, 100), '')
  assert.match(
    problemsOf([created, first, second, cached], changes, 99),
    /stale anonymous: revision 2 of 7, 100 ms after/,
  )
})

test('finds a read of a value that was never written', () => {
  assert.match(
    problemsOf([created, operation('read', [60, 70], 'x', { revision: 4 })]),
    /showed revision 4 of 7, which does not exist/,
  )
  assert.match(
    problemsOf([created, operation('read', [60, 70], 'x', { revision: 2 })]),
    /showed x as revision 2 of 7, which is first/,
  )
})

test('finds writes out of order in real time', () => {
  const rows = [change(1, 'made'), change(2, 'second'), change(3, 'first')]
  const history = [created, { ...first, from: 2, revision: 3 }, { ...second, revision: 2 }]
  assert.match(
    problemsOf(history, rows),
    /out of order: second became revision 2 of 7, after revision 3 was returned/,
  )
})

test('finds gaps between revisions', () => {
  assert.match(
    problemsOf([created], [change(1, 'made'), change(3, 'second')]),
    /expected revision 2, found revision 3 of 7/,
  )
})

test('finds a change that is not later than the one before', () => {
  const rows = [change(1, 'made'), change(2, 'first', { at: '2026-01-01T00:00:00.001' })]
  assert.match(problemsOf([created, first], rows), /revision 2 of 7 has the time .* not later than/)
})

test('counts the outcomes', () => {
  const history = [
    created,
    first,
    operation('compare-and-set', [20, 30], 'refused', { outcome: 'fail' }),
    operation('compare-and-set', [32, 80], 'second', {
      from: 2,
      outcome: 'unknown',
      repeated: true,
    }),
    operation('blind', [32, 85], 'nothing', { outcome: 'unknown', repeated: true, settled: false }),
    operation('read', [90, 95], 'second', { revision: 3 }),
  ]
  assert.deepEqual(figures(history, changes, 0, 100), {
    acknowledged: 2,
    failed: 1,
    unknown: 2,
    applied: 1,
    resolved: 1,
    reads: 1,
    gapMs: 70,
  })
})
