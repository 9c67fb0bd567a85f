import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { checkSvg } from './svg.ts'

const svg = (content: string, attributes = 'viewBox="0 0 20 10"') =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ${attributes}>${content}</svg>`

test('an SVG as drawing programs write it is accepted', () => {
  const path = new URL('../../docs/examples/site/logo.svg', import.meta.url)
  assert.deepEqual(checkSvg(readFileSync(path, 'utf8')), { problems: [], width: 48, height: 48 })
  const text =
    '<?xml version="1.0" encoding="UTF-8"?><!-- drawn -->' +
    svg(
      '<style>.a{fill:url(#g)}</style><defs><linearGradient id="g"/></defs>' +
        '<use xlink:href="#g"/><image href="data:image/png;base64,AAAA"/><rect class="a"/>',
      'width="20px" height="10"',
    )
  assert.deepEqual(checkSvg(text), { problems: [], width: 20, height: 10 })
})

test('an SVG has the size in which it is drawn', () => {
  const sizes: [attributes: string, width: number, height: number][] = [
    ['width="800px" height="400px" viewBox="0 0 24 12"', 800, 400],
    ['width="1in" height="2.54cm" viewBox="0 0 24 24"', 72, 72],
    ['width="100%" height="1em" viewBox="0 0 24 12"', 24, 12],
  ]
  for (const [attributes, width, height] of sizes)
    assert.deepEqual(checkSvg(svg('', attributes)), { problems: [], width, height }, attributes)
})

test('file names that an editor has left in an SVG do no harm', () => {
  const editor = 'xmlns:i="http://www.inkscape.org/namespaces/inkscape" viewBox="0 0 1 1"'
  const path = svg('<g i:export-filename="C:\\Users\\ada\\logo.png"/>', editor)
  assert.deepEqual(checkSvg(path).problems, [])
})

test('an SVG that could run or load something is refused', () => {
  const hostile: Record<string, RegExp> = {
    '<script>alert(1)</script>': /<script>/,
    '<x:script xmlns:x="http://www.w3.org/2000/svg"/>': /<script>/,
    '<rect onclick="alert(1)"/>': /event handler/,
    '<rect ONLOAD="alert(1)"/>': /event handler/,
    '<foreignObject/>': /<foreignobject>/,
    '<a href="#x"/>': /<a>/,
    '<use href="https://evil.example/x.svg#a"/>': /outside/,
    '<image xlink:href="//evil.example/x.png"/>': /outside/,
    '<image href="data:image/svg+xml;base64,AAAA"/>': /outside/,
    '<image href="&#106;avascript:alert(1)"/>': /outside/,
    '<set attributeName="href" to="javascript:alert(1)"/>': /<set>/,
    '<style>@import "https://evil.example/x.css"</style>': /<style>/,
    '<style><![CDATA[a{background:url(https://evil.example)}]]></style>': /<style>/,
    '<style>a{background:u\\72l(https://evil.example)}</style>': /<style>/,
    '<rect style="fill:url(https://evil.example/#x)"/>': /in style/,
    '<style><g/>@import "https://evil.example/x.css"</style>': /<style>/,
    '<style>@im<!-- -->port "https://evil.example/x.css"</style>': /<style>/,
    '<rect style="fill:image-set(&quot;https://evil.example/x.png&quot; 1x)"/>': /in style/,
    '<x:img xmlns:x="http://www.w3.org/1999/xhtml" srcset="https://evil.example/x.png"/>': /HTML/,
    '<rect>': /well-formed/,
    '&xxe;': /well-formed/,
  }
  for (const [content, problem] of Object.entries(hostile))
    assert.match(checkSvg(svg(content)).problems.join('\n'), problem, content)
  const documents: Record<string, RegExp> = {
    [`<!DOCTYPE svg [<!ENTITY a "b">]>${svg('')}`]: /document type/,
    [`<?xml-stylesheet href="x.css"?>${svg('')}`]: /processing instruction/,
    '<html xmlns="http://www.w3.org/1999/xhtml"/>': /does not start with/,
    [`<?xml version="1.0" encoding="ISO-2022-JP"?>${svg('')}`]: /UTF-8/,
    '<svg viewBox="0 0 1 1"/>': /does not start with/,
    '': /does not start with/,
    [svg('', 'width="100%"')]: /viewBox/,
    [svg('<g>'.repeat(200) + '</g>'.repeat(200))]: /nested/,
  }
  for (const [text, problem] of Object.entries(documents))
    assert.match(checkSvg(text).problems.join('\n'), problem, text)
})
