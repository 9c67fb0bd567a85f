import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inkOn } from './colour.ts'

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
