import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFragment } from 'parse5'
import { hostilePayloads } from '../tests/support/payloads.ts'
import { assertTimeRatio } from '../tests/support/processor-time.ts'
import {
  markdownParts,
  maxPartLength,
  plainHtml,
  plainText,
  renderMarkdownPart,
} from './markdown.ts'

// The only elements and URLs in the HTML of a text, whatever the text is.

const ours =
  'a blockquote br code del em h3 hr li ol p pre s strong table tbody td th thead tr ul'.split(' ')

function markdownToHtml(text: string): string {
  const { formatted, rest } = markdownParts(text)
  return formatted.map(renderMarkdownPart).join('') + plainHtml(rest)
}

interface Node {
  readonly nodeName: string
  readonly attrs?: readonly { readonly name: string; readonly value: string }[]
  readonly childNodes?: readonly Node[]
}

function check(text: string): void {
  const look = (node: Node): void => {
    for (const child of node.childNodes ?? []) {
      if (child.nodeName === '#text') continue
      assert.ok(ours.includes(child.nodeName), `${child.nodeName} out of ${text}`)
      for (const { name, value } of child.attrs ?? []) {
        const isKnown = ['href', 'title', 'rel', 'start', 'class', 'style'].includes(name)
        assert.ok(isKnown, `${name} out of ${text}`)
        if (name === 'href') assert.match(value, /^(https?:\/\/|mailto:)/i, text)
        if (name === 'style') assert.match(value, /^text-align:(left|right|center)$/)
        if (name === 'class') assert.match(value, /^language-\S*$/)
      }
      look(child)
    }
  }
  look(parseFragment(markdownToHtml(text)) as unknown as Node)
}

test('renders no payload as an element or a script URL', () => {
  for (const payload of hostilePayloads) {
    for (const text of [
      payload,
      `a ${payload} b`,
      `[x](${payload})`,
      `[x](<${payload}>)`,
      `![x](${payload})`,
      `<${payload}>`,
    ])
      check(text)
    for (const text of [
      `[x]: ${payload}\n\n[x]`,
      `> ${payload}`,
      `* ${payload}`,
      `# ${payload}`,
      `\`\`\`${payload}\n${payload}\n\`\`\``,
    ])
      check(text)
    check(`[${payload}](https://example.org/ "${payload}")`)
    check(`| a |\n|---|\n| ${payload} |`)
  }
})

test('marks links as user content, and loads no images', () => {
  assert.equal(
    markdownToHtml('[x](https://example.org/)'),
    '<p><a href="https://example.org/" rel="nofollow noopener ugc">x</a></p>\n',
  )
  assert.ok(!markdownToHtml('![x](https://example.org/x.png)').includes('<img'))
  assert.ok(markdownToHtml('see https://example.org/x').includes('href="https://example.org/x"'))
  assert.ok(!markdownToHtml('see example.org or ada@example.org').includes('href'))
})

test('puts headings of a text below those of the page', () => {
  for (const marks of ['#', '##', '######'])
    assert.equal(markdownToHtml(`${marks} x`), '<h3>x</h3>\n')
})

/**
 * All of these took 0.3 to 2.4 s, and as long again for an excerpt, when they were rendered at
 * once.
 */
const slow = [
  ...[
    'https://a.b/c',
    '[a\n',
    '[a][\n',
    '[a[b](c)',
    'http://[',
    '![[',
    '*a_',
    '_*',
    '`a``b',
    '<',
    '&#',
    '|a',
  ],
  ...['> - ', '- \n\n', 'a|b\n-|-\n\n', '[a]: b "\n', 'mailto:a@b ', '<http://a', '***a', 'a\n=\n'],
].map((unit) => unit.repeat(Math.ceil(100_000 / unit.length)).slice(0, 100_000))
slow.push('> '.repeat(50) + 'a\n'.repeat(50_000))
slow.push(`${'|a'.repeat(600)}\n${'|-'.repeat(600)}\n${'|\n'.repeat(1200)}`)

test('renders a part of any text in the time of a few ordinary ones', () => {
  const ordinary = 'Some *words* about a [talk](https://example.org/).\n\n'.repeat(100)
  const renderOrdinary = () => {
    for (let count = 0; count < 20; count++) renderMarkdownPart(ordinary)
  }
  renderOrdinary()
  for (const text of slow) {
    const label = JSON.stringify(text.slice(0, 10))
    for (const part of markdownParts(text).formatted)
      assertTimeRatio(() => renderMarkdownPart(part), renderOrdinary, 5, label)
    assertTimeRatio(() => plainText(text, 500), renderOrdinary, 5, label)
  }
})

test('splits a text over 5,000 characters at a paragraph, line or word', () => {
  for (const text of [
    '',
    'a',
    'ab '.repeat(1600),
    ...slow,
    '😀'.repeat(9000),
    `a${'😀'.repeat(9000)}`,
  ]) {
    const { formatted, rest } = markdownParts(text)
    assert.equal(formatted.join('') + rest, text)
    assert.ok(formatted.every((part) => part.length <= maxPartLength && part.isWellFormed()))
    if (rest) assert.ok(formatted.every((part) => part.length > maxPartLength / 2))
    assert.equal(formatted.length === 1, text.length <= maxPartLength)
    assert.ok(formatted.length <= 3 && (rest === '' || formatted.length === 3))
  }
  const firstPart = (text: string) => markdownParts(text).formatted[0] ?? ''
  assert.match(firstPart(`${'Some words.\n'.repeat(20)}\n`.repeat(40)), /[.]\n\n$/)
  assert.match(firstPart('Some words.\n'.repeat(900)), /[.]\n$/)
  assert.match(firstPart('word '.repeat(2000)), /word $/)
})

test('shows the rest of a very long text without formatting', () => {
  const html = markdownToHtml('# *a* <b>\n\n'.repeat(2000))
  assert.match(html, /^<h3><em>a<[/]em> &lt;b&gt;<[/]h3>\n/)
  assert.match(html, /<p># [*]a[*] &lt;b&gt;<[/]p>\n$/)
})

test('renders a table, unless it has too many cells', () => {
  const table = (columns: number, rows: number) =>
    ['a', '-', ...Array(rows).fill('b')].map((cell) => `|${cell}`.repeat(columns)).join('\n')
  assert.match(markdownToHtml(table(8, 40)), /<table>/)
  const html = markdownToHtml(`<b>\n\n${table(60, 1)}${'\n|'.repeat(100)}`)
  assert.match(html, /^<p>&lt;b&gt;/)
  assert.doesNotMatch(html, /<td>/)
})

test('cuts plain text at a character, without markup', () => {
  assert.equal(plainText('# A *b* [c](https://example.org)\n\nd', 100), 'A b c d')
  assert.equal(plainText('What to do.\n\nWho are you?', 100), 'What to do. Who are you?')
  assert.equal(
    plainText('- one\n- two\n\n| a | b |\n|---|---|\n| c | d |', 100),
    'one; two; a b c d',
  )
  assert.equal(
    plainText('Within a year.\n\n- what broke\n- how *often*?\n\n  Very.\n- what next', 100),
    'Within a year. what broke; how often? Very. what next',
  )
  assert.equal(plainText('- a\n  1. b\n  2. c\n- d\0', 100), 'a b; c; d\ufffd')
  assert.equal(plainText('x'.repeat(300), 10), `${'x'.repeat(9)}…`)
  assert.equal(plainText('😀'.repeat(30), 10), `${'😀'.repeat(9)}…`)
  assert.equal(plainText('<script>x</script>', 100), '<script>x</script>')
})
