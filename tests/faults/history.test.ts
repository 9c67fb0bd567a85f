import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contradictions, figures, type Operation, type RecordedChange } from './history.ts'

// The judge of the fault tests is itself tried: histories in which something is wrong, each in one
// way.

const id = 7

function change(
  revision: number,
  value: string,
  more: Partial<RecordedChange> = {},
): RecordedChange {
  const after = revision === 1 ? { title: value, summary: '' } : { summary: value }
  return { id, revision, at: `2026-01-01T00:00:00.00${revision}`, after, ...more }
}

function operation(
  kind: Operation['kind'],
  [start, end]: [number, number],
  value: string,
  more: Partial<Operation> = {},
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
    ...more,
  }
}

const created = operation('create', [0, 10], 'made', { field: 'title', revision: 1 })
const first = operation('compare-and-set', [20, 30], 'first', { from: 1, revision: 2 })
const second = operation('blind', [40, 50], 'second', { revision: 3 })
const changes = [change(1, 'made'), change(2, 'first'), change(3, 'second')]

function found(history: Operation[], rows = changes, staleMs = 0): string {
  return contradictions(history, rows, { staleMs }).join('\n')
}

test('a history in which all is well has no contradictions', () => {
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
  assert.equal(found(history), '')
})

test('a write that was acknowledged and is not there is lost', () => {
  assert.match(
    found([created, first, second], changes.slice(0, 2)),
    /blind second was acknowledged as revision 3 of 7, and is lost/,
  )
})

test('a write that is there with another value is lost', () => {
  const rows = [change(1, 'made'), change(2, 'first'), change(3, 'something else')]
  assert.match(found([created, first, second], rows), /second was acknowledged .* and is lost/)
})

test('a write that was certainly refused must not be there', () => {
  assert.match(
    found([created, first, { ...second, outcome: 'fail' }]),
    /second was refused, but is there: revision 3 of 7/,
  )
})

test('a revision that was acknowledged twice is found', () => {
  const twin = operation('compare-and-set', [20, 30], 'twin', { from: 1, revision: 2 })
  assert.match(
    found([created, first, twin]),
    /revision 2 of 7 was acknowledged twice, as first and as twin/,
  )
})

test('a write that had two effects is found', () => {
  const repeated = { ...first, repeated: true }
  const rows = [change(1, 'made'), change(2, 'first'), change(3, 'first')]
  assert.match(found([created, repeated], rows), /compare-and-set first was written 2 times/)
})

test('a write that never had a definite answer is found', () => {
  const open = operation('blind', [60, 70], 'open', {
    outcome: 'unknown',
    settled: false,
    repeated: true,
  })
  assert.match(found([created, first, open]), /open never had a definite answer/)
})

test('a repeated write that was refused, though it had made the newest revision, is found', () => {
  const refused: Operation = { ...first, outcome: 'unknown', repeated: true, refusedAt: 2 }
  assert.match(found([created, refused], changes.slice(0, 2)), /first was refused when repeated/)
  assert.match(found([created, refused, second]), /first was refused when repeated/)
  assert.equal(found([created, { ...refused, end: 45 }, second]), '', 'overtaken in time')
})

test('a read that shows less than was acknowledged before it began is stale', () => {
  const stale = operation('read', [51, 60], 'first', { revision: 2 })
  assert.match(
    found([created, first, second, stale]),
    /stale read: revision 2 of 7, 1 ms after revision 3 was answered/,
  )
})

test('a read that shows less than an earlier read is stale', () => {
  const [newer, older] = [
    operation('read', [41, 43], 'second', { revision: 3 }),
    operation('read', [44, 46], 'first', { revision: 2 }),
  ]
  assert.match(found([created, first, second, newer, older]), /stale read/)
})

test('an anonymous read may be as old as documented, and no older', () => {
  const cached = operation('anonymous', [150, 151], 'first', { revision: 2 })
  assert.equal(found([created, first, second, cached], changes, 100), '')
  assert.match(
    found([created, first, second, cached], changes, 99),
    /stale anonymous: revision 2 of 7, 100 ms after/,
  )
})

test('a read of what nobody wrote is found', () => {
  assert.match(
    found([created, operation('read', [60, 70], 'x', { revision: 4 })]),
    /showed revision 4 of 7, which is not there/,
  )
  assert.match(
    found([created, operation('read', [60, 70], 'x', { revision: 2 })]),
    /showed x as revision 2 of 7, which is first/,
  )
})

test('writes out of order in real time are found', () => {
  const rows = [change(1, 'made'), change(2, 'second'), change(3, 'first')]
  const history = [created, { ...first, from: 2, revision: 3 }, { ...second, revision: 2 }]
  assert.match(
    found(history, rows),
    /out of order: second became revision 2 of 7, after revision 3 was answered/,
  )
})

test('revisions with a gap are found', () => {
  assert.match(
    found([created], [change(1, 'made'), change(3, 'second')]),
    /revision 3 of 7 stands where revision 2 belongs/,
  )
})

test('a change that is not later than the one before is found', () => {
  const rows = [change(1, 'made'), change(2, 'first', { at: '2026-01-01T00:00:00.001' })]
  assert.match(found([created, first], rows), /revision 2 of 7 is of .* not later than/)
})

test('the figures count what happened', () => {
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
