import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { assertTimeRatio } from '../../tests/support/processor-time.ts'
import { rstToMarkdown } from './rst.ts'

const texts = (cases: readonly (readonly [rst: string, markdown: string])[]) => {
  for (const [rst, markdown] of cases) assert.equal(rstToMarkdown(rst), markdown)
}

test('plain prose does not change', () => {
  const prose = [
    '',
    'One line.',
    'Two lines,\nand a “quotation”.\n\nAnother paragraph – with a dash.\n',
    'We use snake_case_names, f(*args, **kwargs), 2 * 3 * 4, AT&T and a < b > c.',
    'See https://example.org/a_b_c?d=1&e=2 or <https://example.org/x> (or mail <a@example.org>).',
    'Two  spaces  \nat an end, a tab\there, #hashtags and C#.',
    '*emphasis*, **strong**, ``code``, `code` and _this_.',
    '- one\n- two\n  goes on\n\n  and has a second paragraph\n\n* three\n\n  * four\n+ five',
    '1. one\n2. two\n\n    - nested\n\n1) one\n2) two',
    'Title\n=====\n\nSubtitle\n--------\n\nText\n\n----\n\nMore',
    'L. Wittgenstein and\nJ. Doe, e.g. in\n1999. Or 3.5 of them.',
    'Pictures are 😀 and 日本語 and [in brackets] and [1].',
    'An escaped \\*star\\* and a C:\\Path.',
  ]
  for (const text of prose) assert.equal(rstToMarkdown(text), text)
})

test('normalizes line breaks', () => {
  texts([
    ['a\r\nb\rc\nd', 'a\nb\nc\nd'],
    ['a\r\n\r\nb\n\n\rc', 'a\n\nb\n\nc'],
  ])
})

test('converts all kinds of links', () => {
  texts([
    [
      'See `the site <https://example.org/a_(b)>`_ now',
      'See [the site](<https://example.org/a_(b)>) now',
    ],
    [
      '`a\nb <https://exam\nple.org>`__, `c\\_d [e] <mailto:x@example.org>`__',
      '[a\nb](https://example.org), [c\\_d \\[e\\]](mailto:x@example.org)',
    ],
    ['`https://example.org/x <https://example.org/x>`__', '<https://example.org/x>'],
    ['```code`` <https://example.org>`__', '[``code``](https://example.org)'],
    [
      'Python_ and `two words`_\n\n' +
        '.. _Python: https://example.org/p\n.. _`two words`: https://example.org/t',
      '[Python] and [two words]\n\n' +
        '[Python]: https://example.org/p\n[two words]: https://example.org/t',
    ],
    [
      '`one`__ and `two`__\n\n__ https://example.org/1\n.. __: https://example.org/2',
      '[one](https://example.org/1) and [two](https://example.org/2)\n',
    ],
    [
      '`programme </schedule/>`__ and `x <javascript:alert(1)>`_',
      'programme (/schedule/) and x (javascript:alert(1))',
    ],
    [
      'https://example.org/a\\_b, https://example.org/_c_/.',
      '<https://example.org/a_b>, <https://example.org/_c_/>.',
    ],
    ['nothing_ and `nothing`_ lead nowhere', 'nothing_ and `nothing` lead nowhere'],
    ['A note [1]_ and [#]_.\n\n.. [1] The note.', 'A note [1] and [#].\n\n[1] The note.'],
  ])
})

test('converts titles, rules, lists and quotations', () => {
  texts([
    ['Title\n~~~~~\n\nSub\n^^^\n\nTitle\n~~~~~', '# Title\n\n## Sub\n\n# Title'],
    ['=====\nTitle\n=====\n\n1. Sub\n-------', '# Title\n\n## 1. Sub'],
    ['a\n\n~~~~~~~~\n\nb\n\n========', 'a\n\n---\n\nb\n\n---'],
    ['one\ntwo\n-----\nthree', 'one\ntwo\n\n-----\nthree'],
    ['• one\n•two', '- one\n- two'],
    ['#. one\n#. two\n   goes on', '1. one\n2. two\n   goes on'],
    ['a) one\nb) two\n\n(1) one\n(2) two', '- a) one\n- b) two\n\n- (1) one\n- (2) two'],
    ['Text.\n\n    Quoted\n    words.\n\nText.', 'Text.\n\n> Quoted\n> words.\n\nText.'],
    [
      '-  item with `a <https://example.org>`__\n   that goes on\n\n   ::\n\n       code',
      '-  item with [a](https://example.org)\n   that goes on\n\n   ```\n   code\n   ```',
    ],
    ['term\n    what it means', 'term\\\nwhat it means'],
    ['| one\n| two\n  goes on\n|\n| three', 'one\\\ntwo\ngoes on\n\nthree'],
    [':Author: Somebody\n:Level: easy', '**Author:** Somebody\\\n**Level:** easy'],
  ])
})

test('converts code', () => {
  texts([
    ['So::\n\n    a = *b*\n\n      c\n\nText', 'So:\n\n```\na = *b*\n\n  c\n```\n\nText'],
    ['::\n\n  ```\n  x', '````\n```\nx\n````'],
    ['.. code-block:: python\n   :linenos:\n\n   x = 1', '```python\nx = 1\n```'],
    ['>>> 1 + 1\n2\n\nText', '```\n>>> 1 + 1\n2\n```\n\nText'],
    ['==  ==\na   b\n==  ==', '```\n==  ==\na   b\n==  ==\n```'],
    [':math:`x_1` and ``y``\\ s', '`x_1` and ``y``s'],
  ])
})

test('converts pictures and notes, and removes comments', () => {
  texts([
    [
      '.. image:: https://example.org/a.png\n   :alt: A boat',
      '![A boat](https://example.org/a.png)',
    ],
    [
      '|boat|\n\n.. |boat| image:: https://example.org/a.png',
      '![boat]\n\n[boat]: https://example.org/a.png',
    ],
    [
      '.. figure:: https://example.org/a.png\n\n   A *boat*.',
      '![](https://example.org/a.png)\n\nA *boat*.',
    ],
    ['.. note:: Bring a\n   laptop.', '**Note:** Bring a\n\nlaptop.'],
    ['a\n\n.. not for readers\n   at all\n\nb', 'a\n\n\nb'],
  ])
})

test('escapes text that has a meaning in Markdown only', () => {
  texts([
    ['# 1 in the list\n#2', '\\# 1 in the list\n#2'],
    ['<script>alert(1)</script> & <b>', '\\<script>alert(1)\\</script> & \\<b>'],
    ['__init__ or 2*3*4 (*) and (*)', '\\_\\_init\\_\\_ or 2\\*3\\*4 (\\*) and (\\*)'],
    ['a line\n- that has a dash\nand\n+ a plus', 'a line\n\\- that has a dash\nand\n\\+ a plus'],
    ['2019. A year.\n\nin section\n1) it says', '2019\\. A year.\n\nin section\n1\\) it says'],
    ['abc\n--\nd\n=\ne', 'abc\n\\--\nd\n\\=\ne'],
    ['```\nnever closed', '\\```\nnever closed'],
    ['more\n> less', 'more\n\\> less'],
  ])
})

test('Markdown does not change', () => {
  const text =
    '# Title\n\n## Part\n\nA [link](https://example.org/a_b_) and _this_.\n\n' +
    '    code\n\n```python\nx = __init__\n```\n\n1. one\n    - two\n'
  assert.equal(rstToMarkdown(text), text)
  assert.equal(
    rstToMarkdown('## Part\n\n__init__ in <b> and `<b>`'),
    '## Part\n\n\\_\\_init\\_\\_ in \\<b> and `<b>`',
  )
})

test('converting a result again does not change it', () => {
  const results = [
    '# \\# x',
    'a\n\\- b',
    '\\_\\_init\\_\\_',
    '\\<b>',
    '[a](https://example.org/x)',
    'a\\\nb',
    '1\\) x',
    '> quoted\n> words',
  ]
  for (const text of results)
    assert.equal(rstToMarkdown(text), text.startsWith('# ') ? `\\${text}` : text)
})

const markup = fc.constantFrom(
  ...[
    '`',
    '``',
    '*',
    '**',
    '_',
    '__',
    '`_',
    '`__',
    '<',
    '>',
    '|',
    '\\',
    '::',
    ':',
    '.. ',
    '- ',
    '* ',
    '+ ',
    '• ',
    '1. ',
    '#. ',
    'a) ',
    '# ',
    '=',
    '-',
    '~',
    '+--+',
    '```',
    '~~~',
  ],
  ...[
    '\n',
    '\n\n',
    '\r',
    '\n   ',
    '\n        ',
    '\t',
    ' ',
    '[1]_',
    '[',
    ']',
    '](https://',
    'https://a.example/_b_',
    '.. _a: https://b.example',
    '.. image:: x',
    '>>> ',
    'word',
    'a_',
    '日本',
  ],
)
const written = fc
  .array(fc.oneof(markup, fc.string({ unit: 'grapheme' })), { maxLength: 60 })
  .map((parts) => parts.join(''))

test('any text is converted, and the result is not much longer', () => {
  fc.assert(
    fc.property(written, (text) => {
      assert.ok(rstToMarkdown(text).length <= 3 * text.length + 100)
    }),
    { numRuns: 3000 },
  )
})

const word = fc.stringMatching(/^[\p{L}\p{N}]{1,12}$/u)
const sign = fc.constantFrom(
  ' ',
  ' ',
  ' ',
  ', ',
  '. ',
  '\n',
  '\n\n',
  ' – ',
  ' (',
  ') ',
  '* ',
  ' *',
  '_',
  ' _',
  '"',
  ' # ',
  '#',
  '/',
  ' < ',
  '<',
  '> ',
  '& ',
  ': ',
)

test('every word of prose is kept', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(word, sign), { maxLength: 40 }), (parts) => {
      const text = parts.flat().join('')
      const words = (content: string) => content.match(/[\p{L}\p{N}]+/gu) ?? []
      assert.deepEqual(words(rstToMarkdown(text)), words(text))
    }),
    { numRuns: 1000 },
  )
})

const signs = [
  '`',
  '*',
  '_',
  '=',
  '-',
  '<',
  '[',
  '|',
  '\\',
  '\n',
  ' ',
  '~',
  '#',
  ':',
  '.',
  '+',
  '>',
  '\t',
  '\r',
  '* ',
  '- ',
  '`a',
  '*a',
  '_a',
  '<a',
  'a_ ',
  '`a <',
  '`a <b>`_ ',
  '``` ',
  '[1]_ ',
  ' ',
  ' \n',
  '\n\n',
  '- \n',
  '- x\n\n',
  '::\n\n x\n',
  '.. x::\n\n',
  '.. _a: ',
  '```\n',
  '~~~\n```x\n',
  '| x\n',
  ':a: b\n',
  'https://',
  'https://a_ ',
  'a:',
  '+-',
  '= ',
  '((',
  'a) b\n',
  '1. ',
  '    ',
  '\n  x',
  '"*',
  '*(',
  ' *)',
  '_.',
  '- * ',
  '1. - ',
  '](https:',
]

test('texts of markup characters are converted in linear time', () => {
  const length = 100_000
  const many = (part: string) => part.repeat(Math.ceil(length / part.length)).slice(0, length)
  const rising = (sign: string) =>
    Array.from({ length: 440 }, (_, index) => sign.repeat(index + 1)).join(' ')
  const stairs = Array.from({ length: 440 }, (_, index) => `${' '.repeat(index)}- x`).join('\n')
  const definitions = 'x_\n\n.. _x: https://a.example\n\n.. |x| image:: https://a.example\n\n'
  const texts = [
    ...signs.map(many),
    ...signs.filter((sign) => /[_|`]/.test(sign)).map((sign) => `${definitions}${many(sign)}`),
    rising('`'),
    rising('*'),
    rising('_'),
    stairs,
    stairs.split('\n').reverse().join('\n'),
    `.. x::\n\n${many('\n')}\n   x`,
  ]
  const ordinary = many('ordinary `text` *here* ')
  rstToMarkdown(ordinary)
  for (const text of texts) {
    const label = JSON.stringify(text.slice(0, 20))
    assertTimeRatio(
      () => assert.ok(rstToMarkdown(text).length <= 3 * text.length + 100, label),
      () => rstToMarkdown(ordinary),
      30,
      label,
    )
  }
})
