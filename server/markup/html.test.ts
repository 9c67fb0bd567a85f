import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { htmlToMarkdown } from './html.ts'

test('text without HTML does not change', () => {
  for (const text of [
    '',
    'Plain text.\n\n  With *signs*, a < b, std::vector<int> and <foo> & &amp; more.',
    '# Markdown\n\n- with [links](https://example.org/) and <https://example.org/>\n',
  ]) {
    assert.equal(htmlToMarkdown(text), text)
  }
})

test('converts paragraphs, headings, lists and quotations', () => {
  const pairs: Record<string, string> = {
    '<p>One\n  two.</p>\n<p>Three.</p>': 'One two.\n\nThree.',
    '<h2>Title</h2><p>Text<br>with a break<br/><br/>and a gap</p>':
      '## Title\n\nText  \nwith a break\n\nand a gap',
    '<ul><li>one</li><li><p>two</p></li></ul><p>end</p>': '- one\n- two\n\nend',
    '<ol><li>one<li>two<ul><li>in it</li></ul></ol>end': '1. one\n2. two\n   - in it\n\nend',
    '<div>a</div><blockquote><p>b</p><p>c</p></blockquote><hr>d': 'a\n\n> b\n> \n> c\n\n---\n\nd',
    '<p>a</p><pre>\n  b &lt;c&gt;\n    d\n</pre>e': 'a\n\n```\n  b <c>\n    d\n```\n\ne',
    '<p><b>bold </b>and <em>soft</em> and <code>x &lt; *y</code></p>':
      '**bold** and *soft* and `x < *y`',
    '<p><b>never closed</p><p>x</i></p>': 'never closed\n\nx',
    '<p>a</p><b><p>b</p></b>c': 'a\n\n**b**\n\nc',
    '<p>a</p><b><p>b</p><p>c</p></b><p>d</p>': 'a\n\nb\n\nc\n\nd',
    '<p>a<!-- hidden <b> --> b</p><style>p { }</style><script>alert(1)</script>': 'a b',
  }
  for (const [html, markdown] of Object.entries(pairs)) assert.equal(htmlToMarkdown(html), markdown)
})

test('escapes characters with a meaning in Markdown', () => {
  assert.equal(
    htmlToMarkdown(
      '<p>__init__, *args, snake_case, [x] and &#42; at https://example.org/a_b_*</p>',
    ),
    '\\_\\_init\\_\\_, \\*args, snake_case, \\[x\\] and \\* at https://example.org/a_b_*',
  )
  assert.equal(htmlToMarkdown('<p>a <<b>b></p>'), 'a \\<b>')
  assert.equal(
    htmlToMarkdown('<p>&lt;script&gt; &amp; a &lt; b &uuml;&nbsp;&#x2014; &unknown; &#0;</p>'),
    '\\<script> & a < b ü — &unknown;',
  )
})

test('converts only the tags in Markdown with a few tags', () => {
  assert.equal(
    htmlToMarkdown('**Bold** and <b>bold</b>,<br>\n`vector<int>` &lt;x&gt;<br>\n\n_soft_'),
    '**Bold** and **bold**,  \n`vector<int>` &lt;x&gt;\n\n_soft_',
  )
})

test('converts links with web and mail URLs, and others to text', () => {
  assert.equal(
    htmlToMarkdown('<a href="https://example.org/a_(b)?x=1&amp;y=2">Here</a>'),
    '[Here](https://example.org/a_%28b%29?x=1&y=2)',
  )
  assert.equal(
    htmlToMarkdown("<a class=x href='mailto:ada@example.org'>Mail</a>"),
    '[Mail](mailto:ada@example.org)',
  )
  assert.equal(
    htmlToMarkdown('<a href=https://example.org/>https://example.org/</a>'),
    'https://example.org/',
  )
  for (const href of [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    '&#106;avascript:alert(1)',
    'data:text/html,x',
    '/relative',
    '',
  ]) {
    assert.equal(htmlToMarkdown(`<p>a <a href="${href}">b</a></p>`), 'a b')
  }
})

test('no known tag is left in any text', () => {
  const bits = fc.constantFrom(
    '<p>',
    '</p>',
    '<b>',
    '</b>',
    '<a href="',
    'javascript:x">',
    '</a>',
    '<ul>',
    '<li>',
    '</ul>',
    '<pre>',
    '</pre>',
    '<',
    '>',
  )
  const more = fc.constantFrom(
    '<!--',
    '-->',
    '<br>',
    '&lt;',
    'p>',
    '<script>',
    '</script>',
    '<code>',
    '`',
    '\n',
    ' ',
    'x',
    '&#60;',
    'b>',
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(bits, more), { maxLength: 30 }), (all) => {
      const markdown = htmlToMarkdown(`<p></p>${all.join('')}`)
      // In code, tags are text.
      if (!/code|pre|`/.test(all.join('')))
        assert.doesNotMatch(markdown, /(?<!\\)<\/?(p|b|a|script)>/i)
      assert.doesNotMatch(markdown, /\]\(\s*javascript/i)
    }),
  )
})

test('expensive texts are converted in linear time', () => {
  const started = performance.now()
  for (const bit of [
    '<!--',
    '<a "',
    '<b>',
    '<b>x</b>',
    '<ul><li>',
    '<p ',
    ' ',
    '&#',
    '</p   ',
    '<a href=',
    '<blockquote>',
    '\n',
  ]) {
    htmlToMarkdown(`<p></p>${bit.repeat(200_000 / bit.length)}`)
  }
  assert.ok(performance.now() - started < 20_000)
})
