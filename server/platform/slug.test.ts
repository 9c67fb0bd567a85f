import assert from 'node:assert/strict'
import { test } from 'node:test'
import { numberedSlug, slugify } from './slug.ts'

test('slugify transliterates every script to lowercase ASCII words', () => {
  for (const [text, slug] of [
    ['Hello, World!', 'hello-world'],
    ['  --C++ & Python--  ', 'c-python'],
    ['Don’t panic', 'dont-panic'],
    ['Ärger mit Größen', 'arger-mit-grossen'],
    ['Привет, мир', 'privet-mir'],
    ['漢字', 'hanzi'],
    ['🎤 Keynote 🎉', 'keynote'],
    ['!!!', ''],
    ['🎤', ''],
  ] as const)
    assert.equal(slugify(text), slug)
})

test('a slug has at most 50 characters, including its number', () => {
  const long = slugify('word '.repeat(30))
  assert.ok(long.length <= 50 && !long.endsWith('-'), long)
  for (const number of [1, 99, 123_456]) {
    const slug = numberedSlug(long, number)
    assert.ok(slug.length <= 50 && slug.endsWith(`-${number}`) && !slug.includes('--'), slug)
  }
})
