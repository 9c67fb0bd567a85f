import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatReading, formatTime, formatWork, openProgressDisplay } from './progress.ts'

function terminal(isTTY: boolean, columns = 40) {
  const written: string[] = []
  let time = 0
  const out = { isTTY, columns, write: (text: string) => written.push(text) }
  return {
    written,
    progress: openProgressDisplay(out, isTTY, () => time),
    pass: (ms: number) => (time += ms),
  }
}

test('redraws one line at most ten times a second, and erases it at the end', () => {
  const { written, progress, pass } = terminal(true)
  for (let tick = 0; tick < 100; tick++) {
    progress.show((width) => `${tick} `.padEnd(width + 20, 'x'))
    pass(10)
  }
  assert.equal(written.length, 10)
  for (const text of written) assert.match(text, /^\r[^\r\n]{1,39}$/)
  progress.end()
  assert.equal(written.join('').at(-1), '\r')
  for (const sign of ['\n', '\x1b']) assert.ok(!written.join('').includes(sign))
})

test('overwrites all of a longer line', () => {
  const { written, progress, pass } = terminal(true)
  progress.show(() => 'twelve signs')
  pass(200)
  progress.show(() => 'five')
  assert.equal(written.at(-1), `\rfive${' '.repeat(8)}`)
})

test('prints a line every five seconds without a terminal', () => {
  const { written, progress, pass } = terminal(false)
  for (let tick = 0; tick < 120; tick++) {
    progress.show(() => `line ${tick}`)
    pass(100)
  }
  progress.end()
  assert.deepEqual(written, ['line 50\n', 'line 100\n'])
})

test('formats progress, rate and remaining time', () => {
  const work = { verb: 'Applying', done: 900, total: 2000, before: 100, seconds: 4 }
  assert.equal(formatWork(work, 0), 'Applying 45 %  900 of 2,000, 200/s, 5.5 s left')
  assert.match(
    formatWork(work, 79),
    /^Applying \[#+\.+\] {2}45 % {2}900 of 2,000, 200\/s, 5\.5 s left$/,
  )
  for (let width = 50; width < 200; width++)
    assert.ok(formatWork(work, width).length <= width, String(width))
  assert.equal(
    formatWork({ ...work, done: 0, before: 0, seconds: 0.2 }, 0),
    'Applying 0 %  0 of 2,000',
  )
  assert.equal(formatWork({ ...work, done: 0, total: 0, before: 0 }, 0), 'Applying 100 %  0 of 0')
  assert.equal(
    formatReading({ new: 1200, changed: 0, unchanged: 50, conflict: 0, refused: 1 }, 2),
    'Reading: 1,251 talks, 626/s (1,200 new, 50 unchanged, 1 refused)',
  )
  assert.deepEqual([0, 9.94, 59.4, 60, 3700].map(formatTime), [
    '0.1 s',
    '9.9 s',
    '59 s',
    '1 min 0 s',
    '1 h 1 min',
  ])
})
