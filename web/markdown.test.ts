import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFragment } from 'parse5'
import { payloads } from '../tests/payloads.ts'
import { markdownToHtml, plainText } from './markdown.ts'

// Texts of records become HTML. Whatever stands in them, these elements come out, and these addresses.

const ours = 'a blockquote br code del em h3 hr li ol p pre s strong table tbody td th thead tr ul'.split(' ')

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

test('no payload becomes an element or an address that runs', () => {
  for (const payload of payloads) {
    for (const text of [payload, `a ${payload} b`, `[x](${payload})`, `[x](<${payload}>)`, `![x](${payload})`, `<${payload}>`]) check(text)
    for (const text of [`[x]: ${payload}\n\n[x]`, `> ${payload}`, `* ${payload}`, `# ${payload}`, `\`\`\`${payload}\n${payload}\n\`\`\``])
      check(text)
    check(`[${payload}](https://example.org/ "${payload}")`)
    check(`| a |\n|---|\n| ${payload} |`)
  }
})

test('links are marked as those of somebody else; pictures are not fetched', () => {
  assert.equal(markdownToHtml('[x](https://example.org/)'), '<p><a href="https://example.org/" rel="nofollow noopener ugc">x</a></p>\n')
  assert.ok(!markdownToHtml('![x](https://example.org/x.png)').includes('<img'))
  assert.ok(markdownToHtml('see https://example.org/x').includes('href="https://example.org/x"'))
  assert.ok(!markdownToHtml('see example.org or ada@example.org').includes('href'))
})

test('headings of a text are below those of the page', () => {
  for (const marks of ['#', '##', '######']) assert.equal(markdownToHtml(`${marks} x`), '<h3>x</h3>\n')
})

test('a text of any kind takes no longer than it must', () => {
  const long = ['['.repeat(50_000), '*a '.repeat(20_000), '> '.repeat(2000), '`'.repeat(50_000), '<'.repeat(50_000), '![['.repeat(15_000)]
  for (const text of [...long, '|a'.repeat(20_000), `${'https://'.repeat(8000)}`, '_*'.repeat(25_000), '&#'.repeat(40_000)]) {
    const begin = process.cpuUsage()
    markdownToHtml(text)
    plainText(text, 200)
    // The slowest took 0.2 s of work.
    assert.ok(process.cpuUsage(begin).user < 3_000_000, text.slice(0, 10))
  }
})

test('the first words of a text are without its marks, and end at a letter', () => {
  assert.equal(plainText('# A *b* [c](https://example.org)\n\nd', 100), 'A b cd')
  assert.equal(plainText('x'.repeat(300), 10), `${'x'.repeat(9)}…`)
  assert.equal(plainText('😀'.repeat(30), 10), `${'😀'.repeat(9)}…`)
  assert.equal(plainText('<script>x</script>', 100), '<script>x</script>')
})
