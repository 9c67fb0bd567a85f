import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints, listVideosEndpoint, VideoPatch, validationErrors } from './contract.ts'

test('reports each invalid field once, with a well-formed pointer', () => {
  const body = { 'a\ud800': 1, title: 'x', tags: ['\udc00'] }
  const errors = validationErrors(VideoPatch, body).map(({ pointer, code }) => [pointer, code])
  assert.deepEqual(errors, [
    ['/a\ufffd', 'unknown-field'],
    ['/tags/0', 'format'],
  ])
})

test('errors of query parameters tell what is allowed', () => {
  const { ordering, include, duration } = listVideosEndpoint.query
  const details = [ordering, include, duration].map(
    (schema) => validationErrors(schema, 'foo')[0]?.detail,
  )
  assert.deepEqual(details, [
    'must be one or more of added, recorded, title, updated, duration, separated by commas; ' +
      'a minus sign reverses the order',
    'must be one or more of facets, snippets, separated by commas',
    'must be unknown or under-10 or 10-to-30 or 30-to-60 or over-60',
  ])
  const isPattern = (schema: object) => 'pattern' in schema
  for (const { name, query = {} } of Object.values(endpoints) as {
    name: string
    query?: Record<string, object>
  }[])
    for (const [parameter, schema] of Object.entries(query).filter(([, of]) => isPattern(of))) {
      const [error] = validationErrors(schema, '§')
      assert.equal(error?.code, 'format')
      assert.notEqual(error?.detail, 'must be a string', `${name}, ${parameter}`)
    }
})
