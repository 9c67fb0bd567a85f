import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importFormats } from '@talkshelf/contract'
import { sample, sampleNames, samplesOf } from '../../tests/support/formats.ts'
import { csvTemplate } from './formats/csv.ts'
import { detectFormat, formats } from './formats.ts'
import { InputRefused } from './item.ts'

const detect = (text: string, path: string) => detectFormat(undefined, text.slice(0, 65_536), path)

test('the contract lists every format', () => {
  assert.deepEqual(formats.map(({ name }) => name).sort(), [...importFormats].sort())
})

test('detects the format of every sample', () => {
  const detected = formats.flatMap((format) => {
    for (const name of samplesOf(format)) assert.equal(detect(sample(name), name), format, name)
    return samplesOf(format)
  })
  assert.deepEqual(detected.sort(), sampleNames().sort(), 'a sample begins with no format')
  assert.equal(detect(csvTemplate(), 'x').name, 'csv')
})

test('finds a format by its name, and lists all formats if there is none', () => {
  for (const format of formats) assert.equal(detectFormat(format.name, '', 'x'), format)
  for (const name of ['no-such-format', undefined])
    assert.throws(
      () => detectFormat(name, 'Dear archive', 'x'),
      (error) =>
        error instanceof InputRefused &&
        formats.every((format) => error.message.includes(`  ${format.name} `)),
    )
})
