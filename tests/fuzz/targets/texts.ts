import { parseFragment } from 'parse5'
import { languageCodeByName } from '../../../server/imports/formats/languages.ts'
import { htmlToMarkdown } from '../../../server/markup/html.ts'
import { rstToMarkdown } from '../../../server/markup/rst.ts'
import { escapeLine } from '../../../server/platform/terminal-escape.ts'
import { parseQuery } from '../../../server/search/parse-query.ts'
import { recogniseLicence } from '../../../web/licence.ts'
import { markdownParts, plainHtml, plainText, renderMarkdownPart } from '../../../web/markdown.ts'
import { assertProperty, decodeInput, type FuzzTarget, inputWords } from '../target.ts'

const rst = [
  `Title\n=====\n\nText with *emphasis*, **strong**, \`\`code\`\` and \`a <https://example.org/>\`_.
\n* one\n* two\n\n  more\n\n1. first\n#. second\n`,
  `.. note:: Look\n   here\n\n.. _name: https://example.org/\n\nA name_ and \`another one\`__.
\n__ https://example.org/2\n\n::\n\n   literal\n     block\n`,
  '+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n',
  '===  ===\na    b\n===  ===\n1    2\n===  ===\n',
  `:Author: A\n:Date: today\n\n| line\n| block\n\n  quote\n\n  -- who\n\n.. image:: x\n   :alt: y
\n|sub| [1]_ [#auto]_ :ref:\`x\`\n\n.. [1] note\n.. |sub| replace:: z\n`,
  'term\n  definition\n\n-o FILE  option\n\n.. code-block:: python\n\n   print(1)\n\n----\n',
  'sub\n---\n\ntext\n',
]
const html = [
  `<p>One <b>two</b> <i>three</i><br>four &amp; &#x27;five&#39; &nbsp;</p>
<ul><li>a</li><li><p>b</p><ol><li>c</ol></ul>`,
  `<h2>Head</h2><a href="https://example.org/?a=1&amp;b=2">link</a>
<a href=javascript:alert(1)>x</a><pre><code>x < y</code></pre>`,
  `Markdown *with* <br/> tags and <!-- a comment --> <script>alert(1)</script>
<table><tr><td>1<td>2</table>`,
  '<blockquote><p>quote</p></blockquote><hr><span class="x">y</span>',
]
const markdown = [
  `# Head\n\nText *a* **b** \`c\` [link](https://example.org "t") ![x](y) <https://example.org>
\n- a\n  - b\n\n1. c\n\n> quote\n`,
  '```js\ncode\n```\n\n    indented\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n',
  '[ref]: https://example.org\n[ref] [a][ref]\n',
  `<script>alert(1)</script> [x](javascript:alert(1)) [y](data:text/html,x)
&lt; &#x3c; \\* ~~s~~\n`,
]
const markdownTokens = [
  ...inputWords('[ ] [a][ [a]( ]( ![ ( ) < > * ** _ ` ``` ~~~ # | |-| \\ &# &amp; https:// www.'),
  ...inputWords('<a href=" javascript: " ~~ *_'),
  ...['> ', '- ', '1. ', '\n', '\n\n', '    ', '\t', '[a]: b\n', '[a][\n'],
]
const rstTokens = [
  ...inputWords('* ** ` `` `_ `__ _ __ | < >`_ :: :a: ===== ----- +---+ [1]_ :ref:` \\ .. note::'),
  ...['.. ', '\n', '\n\n', '  ', '\n  ', '    ', '| ', '* ', '1. ', '#. ', '(a) ', '-- ', '>>> '],
  ...['.. note::', '.. _a: ', '.. [1] ', '\t', '.. |a| '],
]
const htmlTokens = [
  ...inputWords('< > </ /> <p> </p> <br> <ul> <li> </ul> "> </a> <b> </b> <pre> </pre> <!-- -->'),
  ...inputWords('&amp; &# &#x ; &lt; <script> </script> <h1> </h1> <code> <blockquote> ='),
  ...['<a href="', '\n', ' '],
]

/** Asserts that the output is not much longer than the input. */
const checkSize = (text: string, input: Buffer) =>
  assertProperty(text.length <= 50 * input.length + 1000, 'the output is too long', {
    from: input.length,
    to: text.length,
  })

export const textTargets: readonly FuzzTarget[] = [
  {
    name: 'reStructuredText',
    seeds: rst,
    dictionary: rstTokens,
    share: 2,
    run: (input) => checkSize(rstToMarkdown(decodeInput(input)), input),
  },
  {
    name: 'HTML',
    seeds: html,
    dictionary: htmlTokens,
    share: 2,
    run: (input) => checkSize(htmlToMarkdown(decodeInput(input)), input),
  },
  {
    name: 'Markdown',
    seeds: markdown,
    dictionary: markdownTokens,
    share: 2,
    run(input) {
      const text = decodeInput(input)
      const { formatted, rest } = markdownParts(text)
      const page = formatted.map(renderMarkdownPart).join('') + plainHtml(rest)
      // Parsing long pages takes long, and finds no more.
      if (page.length < 20_000) checkHarmless(parseFragment(page) as unknown as HtmlElement)
      const excerpt = plainText(text, 200)
      assertProperty([...excerpt].length <= 200, 'an excerpt that is too long')
    },
  },
  {
    name: 'licence',
    seeds: [
      'CC BY-SA 4.0',
      'https://creativecommons.org/licenses/by/3.0/',
      'Standard YouTube License',
      'MIT',
      'GNU FDL 1.2',
    ],
    dictionary: [
      'cc',
      'by',
      '-sa',
      '-nc',
      '-nd',
      '4.0',
      'creative commons',
      'attribution',
      'licen',
      's',
      'c',
      'e',
      ' ',
      '/',
      'zero',
      'gpl',
      'v3',
    ],
    run(input) {
      const licence = recogniseLicence(decodeInput(input))
      if (licence)
        assertProperty(
          licence.name !== '' && /^https:\/\//.test(licence.url ?? 'https://'),
          'a licence without a name or URL',
        )
    },
  },
  {
    name: 'language',
    seeds: ['en', 'English', 'pt-BR', 'zh-Hans', 'deu', 'Deutsch', 'und', 'x-klingon'],
    dictionary: ['en', '-', '_', 'BR', 'Hans', 'Latn', 'x-', 'u-ca-', 'und', ' '],
    run(input) {
      assertProperty(typeof languageCodeByName(decodeInput(input)) === 'string', 'not a string')
    },
  },
  {
    name: 'search query',
    seeds: [
      'guido "type hints" -mypy',
      'a or b OR c',
      '„Zitat“ -"x y"',
      '機械 学習',
      'c++ .net a:b',
    ],
    dictionary: ['"', '-', ' or ', '|', '“', '«', ' ', '-"', "'", '&', '!', '<->', ':*', '('],
    run(input) {
      const terms = parseQuery(decodeInput(input)).flat()
      assertProperty(terms.length <= 16, 'too many terms')
      assertProperty(
        terms.every(({ text }) => text.trim() !== ''),
        'a term without text',
      )
    },
  },
  {
    name: 'text for a terminal',
    seeds: ['plain', '\u001b[31mred\u001b[0m', '\u202eright to left', 'a\tb\nc\r'],
    dictionary: ['\u001b[', '\u009b', '\u0007', '\u202e', '\u2066', '\u200b', '\r', '\b', '\u0000'],
    run(input) {
      assertProperty(!unsafe.test(escapeLine(decodeInput(input))), 'an unescaped control character')
    },
  },
]

// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left
const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

interface HtmlElement {
  readonly tagName?: string
  readonly attrs?: readonly { readonly name: string; readonly value: string }[]
  readonly childNodes?: readonly HtmlElement[]
}

function checkHarmless({ tagName = '', attrs = [], childNodes = [] }: HtmlElement): void {
  assertProperty(
    !/^(script|style|iframe|object|embed|form|svg|math|img|base|meta|link)$/.test(tagName),
    'an unsafe tag',
    tagName,
  )
  for (const { name, value } of attrs) {
    assertProperty(!/^on|^style$/i.test(name), 'an unsafe attribute', name)
    if (name === 'href' || name === 'src')
      assertProperty(
        /^(https?:|mailto:|[/#?]|[^:]*$)/i.test(value),
        'an unsafe link',
        value.slice(0, 50),
      )
  }
  childNodes.forEach(checkHarmless)
}
