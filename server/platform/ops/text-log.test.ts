import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatLine } from './text-log.ts'

const entry = { level: 30, time: Date.UTC(2026, 4, 1), pid: 7, hostname: 'h', msg: 'completed' }

test('formats an entry of the log as text', () => {
  const line = JSON.stringify({ ...entry, method: 'GET', status: 200, url: '/a?b=c d' })
  assert.equal(
    formatLine(`${line}\n`),
    '2026-05-01T00:00:00.000Z INFO completed method=GET status=200 url="/a?b=c d"',
  )
})

test('a value cannot begin a new line or look like another value', () => {
  const line = JSON.stringify({ ...entry, url: '/x\n2026 INFO forged status=200' })
  assert.equal(
    formatLine(line),
    '2026-05-01T00:00:00.000Z INFO completed url="/x\\n2026 INFO forged status=200"',
  )
  assert.match(formatLine(JSON.stringify({ ...entry, url: 'a=b' })), / url="a=b"$/)
})

test('shows the stack of an error in indented lines', () => {
  const err = { message: 'It broke', stack: 'Error: It broke\n    at f (a.ts:1:2)' }
  assert.equal(
    formatLine(JSON.stringify({ ...entry, level: 50, err })),
    '2026-05-01T00:00:00.000Z ERROR completed\n  Error: It broke\n  at f (a.ts:1:2)',
  )
})

test('leaves other lines as they are', () => {
  assert.equal(formatLine('not JSON\n'), 'not JSON')
})
