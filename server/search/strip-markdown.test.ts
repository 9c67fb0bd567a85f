import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripMarkdown } from './strip-markdown.ts'

test('removes the markup of Markdown', () => {
  const texts: [string, string][] = [
    ['A *map*, **Django** and ***both***', 'A map, Django and both'],
    ['**strong *and* more**, _one_, __two__', 'strong and more, one, two'],
    ['Read [the *docs*](https://example.org/a_(b) "Docs") now', 'Read the docs now'],
    ['![a picture](https://example.org/a.png)', 'a picture'],
    ['See <https://example.org/a_b_c>', 'See https://example.org/a_b_c'],
    ['Run `npm test`, ~~never~~', 'Run npm test, never'],
    ['# Title\n\n> quoted\n\n* one\n- two\n\n---\nEnd', 'Title\n\nquoted\n\n• one\n• two\n\n\nEnd'],
    ['1 \\* 2 \\_', '1 * 2 _'],
  ]
  for (const [source, expected] of texts) assert.equal(stripMarkdown(source), expected)
})

test('keeps what only looks like markup', () => {
  for (const text of [
    '',
    'Plain text - with a dash',
    '2 * 3 * 4',
    'f(*args, **kwargs)',
    'snake_case_name',
    'C# and F#',
    'a < b > c [1] (2)',
    'an open *end',
  ])
    assert.equal(stripMarkdown(text), text)
})

test('takes linear time', () => {
  for (const part of ['*', '* ', '*a', '**a ', '_', '_a', ' _', '[', '[a](', '![', '`', '`a', '~~'])
    for (const end of ['', 'x', '\n'])
      for (const text of [part.repeat(20_000 / part.length) + end, (part + end).repeat(6000)]) {
        const start = performance.now()
        stripMarkdown(text)
        const took = performance.now() - start
        assert.ok(took < 300, `${JSON.stringify(part + end)}: ${took} ms`)
      }
})
