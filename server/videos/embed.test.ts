import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embedHtml } from './embed.ts'

test('returns the player markup of the v2 API for a URL on a known host', () => {
  for (const url of [
    'https://www.youtube.com/watch?v=abcdefghijk',
    'http://youtube.com/watch?feature=x&v=abcdefghijk&t=1',
    'https://youtu.be/abcdefghijk?t=5',
    'https://www.youtube.com/embed/abcdefghijk',
    'https://m.youtube.com/shorts/abcdefghijk',
  ]) {
    const html = embedHtml(url)
    const movie = 'http://www.youtube.com/v/abcdefghijk?version=3&amp;hl=en_US'
    const start = `<object width="640" height="390"><param name="movie" value="${movie}"></param>`
    assert.ok(html.startsWith(start), html)
    assert.match(
      html,
      /name="allowFullScreen".*name="allowscriptaccess".*<embed src=.*<\/embed><\/object>$/,
    )
  }
  assert.match(embedHtml('http://vimeo.com/11980200'), /clip_id=11980200&amp;server=vimeo\.com/)
})

test('returns an empty string for any other URL', () => {
  for (const url of [
    null,
    undefined,
    '',
    'nonsense',
    'https://example.org/watch?v=abcdefghijk',
    'https://youtube.com.example.org/watch?v=abcdefghijk',
    'https://www.youtube.com/watch?v=short',
    'https://www.youtube.com/watch?v=abcdefghijklm',
    'https://www.youtube.com/watch?v="><script>',
    'https://vimeo.com/channels/x',
  ])
    assert.equal(embedHtml(url), '', String(url))
})
