import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { XmlDocument } from 'libxml2-wasm'
import sharp from 'sharp'
import { compositions } from './compositions.ts'
import { type CoverText, drawCover, drawPreview } from './cover.ts'
import { palettes } from './palettes.ts'
import { textWidth } from './text-layout.ts'

const cover = (title: string, category = 'Example Days 2026', speakers: string[] = []) =>
  drawCover({ title, category, speakers })
const linesOf = (svg: string) =>
  [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = '']) => text)
const groundOf = (svg: string) =>
  palettes.find(({ ink }) => svg.includes(`font-weight="700" fill="${ink}"`))?.ground

test('covers do not change, byte for byte', () => {
  // If you change the design, increase `design` in pictures.ts: the version is part of the URLs.
  const expectedHashes: [CoverText, string][] = [
    [
      { title: 'Speed Up Your Database', category: 'PyCon CA 2012', speakers: ['Ada Lovelace'] },
      'a62c96abe911fbfb',
    ],
    [
      { title: 'Создание Open Source библиотек', category: 'PyCon Belarus 2017', speakers: [] },
      '3aff909dc59e59da',
    ],
    [
      {
        title: 'Pythonコミュニティが私に与えてくれたもの',
        category: 'PyCon Japan 2012',
        speakers: [],
      },
      'cf4f01422026b8ff',
    ],
    [
      { title: 'פייתון במדע הנתונים: מה חדש', category: 'פייקון ישראל 2022', speakers: ['א', 'ב'] },
      '3f421df2e2e62d7d',
    ],
    [
      {
        title:
          'R&D <b>in</b> "quotes" & more, or: how a title of many words comes to its end '.repeat(
            3,
          ),
        category: 'X',
        speakers: [],
      },
      'c12c04f821f1ad62',
    ],
  ]
  assert.deepEqual(
    expectedHashes.map(([talk]) => hash('sha256', drawCover(talk).svg).slice(0, 16)),
    expectedHashes.map(([, expected]) => expected),
  )
  const many = Array.from(
    { length: 100 },
    (_, index) => cover(`Talk ${index}`, `Event ${index % 20}`).svg,
  )
  assert.equal(hash('sha256', many.join('')).slice(0, 16), 'ba8ea6db1d3201eb')
})

test('talks of an event have the same palette but different covers', () => {
  const titles = Array.from({ length: 200 }, (_, index) => `Talk ${index}`)
  const covers = titles.map((title) => cover(title))
  assert.equal(new Set(covers.map(({ svg }) => groundOf(svg))).size, 1)
  assert.equal(new Set(covers.map(({ svg }) => svg)).size, 200)
  assert.equal(
    new Set(covers.map(({ composition }) => composition)).size,
    Object.keys(compositions).length,
  )
  const events = titles.map((title) => groundOf(cover('The same', title).svg))
  assert.equal(new Set(events).size, palettes.length)
  assert.notEqual(cover('The same', 'X', ['Ada']).svg, cover('The same', 'X', ['Grace']).svg)
})

test('the text has a contrast of 4.5:1 with every palette and composition', async () => {
  const text =
    'Understanding the inner workings of a rather complicated machine for making many long titles'
  const words = text.split(' ')
  const seen = new Set<string>()
  for (
    let index = 0;
    seen.size < palettes.length * Object.keys(compositions).length * 2 && index < 20_000;
    index++
  ) {
    const title = `${words.slice(0, 1 + (index % words.length)).join(' ')} ${index}`
    const category = `Event ${index % 97}`
    const { svg, composition } = cover(title, category)
    const kind = `${groundOf(svg)} ${composition} ${linesOf(svg).length > 3}`
    if (seen.has(kind)) continue
    seen.add(kind)
    const drawings = [svg]
    // A preview has more lines, so less space for the drawing.
    if (linesOf(svg).length > 3)
      drawings.push(
        drawPreview({ title, category, speakers: ['Ann Example'] }, 'Talkshelf').replace(
          /^<svg [^>]*>/,
          /^<svg [^>]*>/.exec(svg)?.[0] ?? '',
        ),
      )
    for (const drawing of drawings) {
      const worst = await minContrast(drawing)
      assert.ok(worst >= 4.5, `${kind}: ${worst.toFixed(2)}\n${drawing}`)
    }
  }
  assert.equal(seen.size, palettes.length * Object.keys(compositions).length * 2)
})

test('a title has at most four balanced lines and ends in an ellipsis if it is too long', () => {
  assert.deepEqual(linesOf(cover('Your keyboard').svg), ['Your keyboard', 'Example Days 2026'])
  assert.deepEqual(linesOf(cover('Writing a C extension in 2017').svg).slice(0, -1), [
    'Writing a C',
    'extension in 2017',
  ])
  // No line begins with a dash or a closing bracket.
  assert.ok(
    linesOf(cover('Who is an expert? - Lessons from building a system').svg).every(
      (line) => !line.startsWith('-'),
    ),
  )
  const japanese = linesOf(
    cover('組合せ最適化を体系的に知ってPythonで実行してみよう（ただし「整数」のみ）'.repeat(2)).svg,
  ).slice(0, -1)
  assert.ok(
    japanese.length > 1 && japanese.every((line) => !/^[）」ー]|[（「]$/.test(line)),
    japanese.join('\n'),
  )
  for (const long of [
    'many words '.repeat(40),
    '長'.repeat(255),
    'Donaudampfschifffahrtsgesellschaft'.repeat(7),
    '👩‍👩‍👧‍👦'.repeat(80),
    'ญี่ปุ่น'.repeat(60),
  ]) {
    const { svg } = cover(long, long)
    const size = Number(/font-size="(\d+)"/.exec(svg)?.[1])
    const lines = linesOf(svg)
    assert.equal(lines.length, 5)
    assert.ok(lines.slice(3).every((line) => line.endsWith('…')))
    assert.ok(lines.slice(0, 4).every((line) => textWidth(line) * size <= 512))
  }
})

test('right-to-left text starts at the right margin', () => {
  const texts = [
    ...cover('مقدمة في برمجة بايثون', 'PyCon Egypt 2024').svg.matchAll(/<text ([^>]*)>/g),
  ].map(([, attributes = '']) => attributes)
  assert.match(texts[0] ?? '', /x="604" direction="rtl"/)
  assert.doesNotMatch(texts.at(-1) ?? '', /rtl/)
  assert.doesNotMatch(cover('Python בעברית').svg, /rtl/)
})

test('escapes markup and removes characters that are not allowed in XML', () => {
  const title = '</text><script>alert(1)</script>&amp;<![CDATA[ ]]>"onload="x'
  const { svg } = cover(title, '<image href="x"/>')
  checkXml(svg)
  assert.deepEqual(
    [...svg.matchAll(/<(?!path|\/)(\w+)/g)].filter(
      ([, name]) => !['svg', 'g', 'text', 'circle'].includes(name as string),
    ),
    [],
  )
  assert.equal(
    cover('A\u0000\u0008\u001f\ufffe\uffff\ud800 talk\u202e\u2066').svg,
    cover('A talk').svg,
  )
  assert.deepEqual(linesOf(cover('\u0001\u202e').svg), ['Example Days 2026'])
})

test('a cover of any text is well-formed, small and has no styles or scripts', () => {
  const unit = fc.constantFrom(
    ...'<>&"\'];-= aé漢א',
    '\u0000',
    '\u001b',
    '\ufffe',
    '\ud800',
    '\udc00',
    '</text>',
    '🐍',
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 255 }),
    fc.string({ unit: 'grapheme', maxLength: 100 }),
    fc.string({ unit, maxLength: 60 }),
  )
  fc.assert(
    fc.property(text, text, fc.array(text, { maxLength: 3 }), (title, category, speakers) => {
      const { svg } = drawCover({ title, category, speakers })
      checkXml(svg)
      checkXml(drawPreview({ title, category, speakers }, category))
      assert.doesNotMatch(
        svg.replaceAll(/>[^<]*</g, '><'),
        /style|script|href|url\(|\son\w+=|NaN|undefined|Infinity/,
      )
      assert.ok(Buffer.byteLength(svg) < 4500)
    }),
    { numRuns: 200 },
  )
  for (let index = 0; index < 1000; index++)
    assert.ok(Buffer.byteLength(cover(`A talk of usual length, number ${index}`).svg) < 3072)
})

function checkXml(svg: string): void {
  XmlDocument.fromString(svg).dispose()
}

/** Returns the lowest contrast between the text, in a wide font, and a pixel behind it. */
async function minContrast(svg: string): Promise<number> {
  const drawing = svg.replace(/<g font-family.*<\/g>/, '')
  const { data, info } = await sharp(Buffer.from(drawing), { density: 36 })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const size = Number(/<g font-family="[^"]*" font-size="(\d+)"/.exec(svg)?.[1])
  const ink = /font-weight="700" fill="(#\w+)"/.exec(svg)?.[1] as string
  let min = 21
  for (const [, y, ownSize, colour, text = ''] of svg.matchAll(
    /<text x="36" y="(\d+)"(?: font-size="(\d+)" font-weight="600" fill="(#\w+)")?>([^<]*)</g,
  )) {
    const height = Number(ownSize ?? size)
    const right = Math.min(info.width, 36 + textWidth(text) * height * 1.13)
    const seen = new Set<number>()
    for (let row = Math.floor(Number(y) - height * 0.8); row < Number(y) + height * 0.25; row++)
      for (let column = 34; column < right; column++)
        seen.add(data.readUIntBE((row * info.width + column) * 3, 3))
    for (const pixel of seen)
      min = Math.min(min, contrast(pixel, Number.parseInt((colour ?? ink).slice(1), 16)))
  }
  return min
}

/** Returns the contrast ratio of two colours (WCAG 2). */
function contrast(first: number, second: number): number {
  const luminance = (colour: number) => {
    const parts = [colour >> 16, (colour >> 8) & 255, colour & 255].map((channel) =>
      channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4,
    )
    return (
      0.2126 * (parts[0] as number) +
      0.7152 * (parts[1] as number) +
      0.0722 * (parts[2] as number) +
      0.05
    )
  }
  const [a, b] = [luminance(first), luminance(second)]
  return Math.max(a, b) / Math.min(a, b)
}
