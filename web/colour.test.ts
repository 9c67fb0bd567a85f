import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { accentColours, contrast, grounds, inkOn } from './colour.ts'

test('chooses the ink that is legible on a colour', () => {
  assert.equal(inkOn('#000000'), '#fff')
  assert.equal(inkOn('#FFFFFF'), '#000')
  assert.equal(inkOn('#ffe08a'), '#000')
  assert.equal(inkOn('#1d4ed8'), '#fff')
  // The limit between the two is where both have a contrast of 4.58.
  assert.equal(inkOn('#757575'), '#fff')
  assert.equal(inkOn('#767676'), '#000')
  assert.equal(inkOn('#777777'), '#000')
})

test('knows no ink for anything that is not a colour', () => {
  for (const text of ['', 'red', '#fff', '#12345g', '#1234567', '#}</sty', '#0x0x0'])
    assert.equal(inkOn(text), undefined, text)
})

test('every accent colour is legible on every background of both themes', () => {
  const css = readFileSync(new URL('styles/base.css', import.meta.url), 'utf8')
  for (const [index, theme] of (['light', 'dark'] as const).entries()) {
    const backgrounds = ['paper', 'raised', 'sunken'].map(
      (name) => new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(css)?.[index + 1],
    )
    assert.deepEqual([...grounds[theme]], backgrounds, 'the colours of base.css')
    for (let seed = 0; seed < 500; seed++) {
      const colour = `#${((seed * 8_388_593) % 0x1000000).toString(16).padStart(6, '0')}`
      const { accent, ink, soft } = accentColours(colour)[theme]
      for (const background of [...grounds[theme], soft])
        assert.ok(contrast(accent, background) >= 4.5, `${accent} of ${colour} on ${background}`)
      assert.ok(contrast(accent, ink === '#fff' ? '#ffffff' : '#000000') >= 4.5)
    }
  }
  assert.equal(accentColours('#155e75').light.accent, '#155e75', 'is kept if it is legible')
})
