import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseRepresentation } from './negotiate.ts'

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

test('chooses text/html if the client has no preference or prefers it', () => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'text/html',
    'text/*',
    browser,
    'application/json;q=0.5, text/html',
    'application/*, text/html',
    '*/*;q=0.1',
    'TEXT/HTML',
  ])
    assert.equal(chooseRepresentation(accept, undefined), 'html', accept)
})

test('chooses application/json if the client names or prefers it', () => {
  for (const accept of [
    'application/json',
    'application/json, text/plain, */*',
    'text/html, application/json',
    'text/html;q=0.5, application/json',
    'application/*',
    'application/json;q=0.1',
    'application/json; indent=4',
    'text/html;q=0, */*',
    'application/*, */*;q=0.1',
    'Application/JSON',
  ])
    assert.equal(chooseRepresentation(accept, undefined), 'json', accept)
  assert.equal(chooseRepresentation('text/html', 'json'), 'json')
})

test('rejects a client that accepts neither', () => {
  for (const accept of [
    'image/png',
    'text/html;q=0, application/json;q=0',
    '*/*;q=0',
    'text/plain',
    'garbage',
    'text/html;q=x',
  ])
    assert.throws(
      () => chooseRepresentation(accept, undefined),
      { problem: 'not-acceptable' },
      accept,
    )
  assert.throws(() => chooseRepresentation('text/html', 'xml'), { problem: 'not-acceptable' })
})
