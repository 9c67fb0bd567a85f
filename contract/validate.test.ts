import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VideoPatch, validationErrors } from './contract.ts'

test('reports each invalid field once, with a well-formed pointer', () => {
  const body = { 'a\ud800': 1, title: 'x', tags: ['\udc00'] }
  const errors = validationErrors(VideoPatch, body).map(({ pointer, code }) => [pointer, code])
  assert.deepEqual(errors, [
    ['/a\ufffd', 'unknown-field'],
    ['/tags/0', 'format'],
  ])
})
