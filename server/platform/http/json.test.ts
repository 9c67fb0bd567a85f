import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@talkshelf/contract'
import { canonicalJson, fromJson, toJson } from './json.ts'

const parse = (text: string) => fromJson(Buffer.from(text))
const assertRejected = (text: string | Buffer) =>
  assert.throws(
    () => fromJson(Buffer.from(text)),
    (error) => error instanceof Problem && error.problem === 'malformed-body',
    String(text),
  )

test('toJson writes ASCII without < > &, and JSON.parse restores the value', () => {
  const value = { a: '<script>&é漢😀\u2028\u007f\ud83d\ude00', 'ключ>': ['</b>'] }
  const text = toJson(value)
  assert.match(text, /^[\x20-\x7e]+$/)
  assert.doesNotMatch(text, /[<>&]/)
  assert.deepEqual(JSON.parse(text), value)
})

test('fromJson parses ordinary JSON', () => {
  assert.deepEqual(
    parse(' {"a":[1,-2,0,1.5,{"b":null,"c":true}],"a:b":"x:\\"y\\":{[1e400","é":"\\u00e9"} '),
    {
      a: [1, -2, 0, 1.5, { b: null, c: true }],
      'a:b': 'x:"y":{[1e400',
      é: 'é',
    },
  )
  assert.deepEqual(parse('{"a":{"x":1},"b":{"x":1}}'), { a: { x: 1 }, b: { x: 1 } })
  assert.deepEqual(parse(`{"constructor":{"prototype":1}}`), { constructor: { prototype: 1 } })
  assert.deepEqual(parse(`{"a":${'['.repeat(7)}${']'.repeat(7)}}`), { a: [[[[[[[]]]]]]] })
})

test('fromJson rejects what is not an object, too deep or changed by JSON.parse', () => {
  for (const text of [
    '',
    ' ',
    '{',
    '[]',
    'null',
    '"x"',
    '1',
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"x":{"a":1,"a":1}}',
    '{"__proto__":1}',
    '{"x":[{"__proto__":{}}]}',
    '\ufeff{}',
  ])
    assertRejected(text)
  for (const number of [
    '1e400',
    '9007199254740993',
    '-0',
    '1.0',
    '1e3',
    '0.1000',
    '1E-7',
    '123456789012345678901',
  ])
    assertRejected(`{"a":${number}}`)
  assertRejected(`{"a":${'['.repeat(8)}${']'.repeat(8)}}`)
  assertRejected(`{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`)
  assertRejected(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))
})

test('fromJson parses or rejects expensive bodies of a megabyte quickly', () => {
  for (const text of [
    `{"a":"${'\\"'.repeat(500_000)}`,
    `{"a":"${'\\"'.repeat(500_000)}"}`,
    '{"a":'.repeat(200_000),
    `{"a":[${'0,'.repeat(500_000)}0]}`,
    `{${Array.from({ length: 90_000 }, (_, n) => `"${n}":0`)}}`,
  ]) {
    const start = performance.now()
    try {
      parse(text)
    } catch {}
    assert.ok(performance.now() - start < 60_000)
  }
})

test('canonicalJson ignores the order of keys', () => {
  assert.equal(
    canonicalJson({ b: [{ d: 1, c: 2 }], a: null }),
    canonicalJson({ a: null, b: [{ c: 2, d: 1 }] }),
  )
  assert.notEqual(canonicalJson({ a: [1, 2] }), canonicalJson({ a: [2, 1] }))
})
