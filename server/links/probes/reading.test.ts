import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ProbeAnswer } from '../../platform/net/probe.ts'
import { details, isPage, parseJson, parseUrl, textAt, valueAt } from './reading.ts'

const answer = (body: string, more: Partial<ProbeAnswer> = {}): ProbeAnswer => ({
  status: 200,
  headers: {},
  finalUrl: 'https://example.org/',
  redirects: [],
  body,
  isCut: false,
  ...more,
})

test('reads the beginning of JSON that was cut anywhere', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.nat(), (text, position) => {
      const body = text.slice(0, position % (text.length + 1))
      const whole = JSON.parse(text)
      const read = parseJson(answer(body, { isCut: true }))
      // Values of simple types have no beginning.
      if (read === undefined) assert.ok(typeof whole !== 'object' || !/[[{]/.test(body))
      else assertBeginning(read, whole)
    }),
    { numRuns: 5000 },
  )
  const cut = '{"a":1,"b":{"c":[1,2,{"d":"x\\"}]'
  assert.deepEqual(parseJson(answer(cut, { isCut: true })), { a: 1, b: { c: [1, 2, {}] } })
  assert.equal(parseJson(answer(cut)), undefined)
})

/** Asserts that all that was read is in the whole value, at the same place. */
function assertBeginning(read: unknown, whole: unknown): void {
  if (typeof read !== 'object' || read === null) assert.deepEqual(read, whole)
  else {
    assert.equal(Array.isArray(read), Array.isArray(whole))
    for (const [key, value] of Object.entries(read))
      assertBeginning(value, (whole as Record<string, unknown>)[key])
  }
}

test('any value can be asked for any path', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.string()), (value, path) => {
      valueAt(value, ...path)
      const text = textAt(value, 10, ...path)
      assert.ok(text === undefined || (text !== '' && [...text].length <= 10))
    }),
  )
  assert.equal(valueAt({}, 'constructor'), undefined)
  assert.equal(valueAt(JSON.parse('{"__proto__":{"a":1}}'), 'a'), undefined)
  assert.equal(valueAt([[1]], '0', '0'), 1)
  assert.equal(valueAt('text', 'length'), undefined)
})

test('texts of hosts are short, in one line and without control characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (title) => {
      const found = details({ title, owner: title })
      for (const text of [found.title, found.owner])
        if (text !== undefined) {
          assert.ok(text.isWellFormed() && text === text.trim() && text !== '')
          assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
        }
      assert.ok([...(found.owner ?? '')].length <= 200 && [...(found.title ?? '')].length <= 500)
    }),
  )
  assert.deepEqual(details({ title: ' a\u0000b\n\u202ec\ud800 ', owner: '\u0000' }), {
    title: 'a b c',
  })
  assert.deepEqual(details({ seconds: 1.6 }), { seconds: 2 })
  for (const seconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12, '5', null])
    assert.deepEqual(details({ seconds }), {})
})

test('tells pages from short texts that are called HTML', () => {
  const html = { headers: { 'content-type': 'text/html' } }
  for (const body of ['<!DOCTYPE html>', '\n <HTML>', '\ufeff<html>', '<!-- x -->', '<title>x'])
    assert.equal(isPage(answer(body)), true, body)
  assert.equal(isPage(answer('<p>Sorry', html)), true)
  for (const body of ['Not Found', '', '{"a":"<html>"}'])
    assert.equal(isPage(answer(body, html)), false)
  assert.equal(isPage(answer('<?xml version="1.0"?><Error>')), false)
})

test('takes plain http and https URLs only', () => {
  assert.equal(parseUrl('https://example.org/a?b#c')?.href, 'https://example.org/a?b#c')
  for (const text of [
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://a:b@example.org/',
    'https://example.org/\na',
    'https://example.org\\a',
    '//example.org/',
    `https://example.org/${'ä'.repeat(1000)}`,
  ])
    assert.equal(parseUrl(text), undefined, text)
})
