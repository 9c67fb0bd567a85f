import assert from 'node:assert/strict'
import { test } from 'node:test'
import { licenceId, parseDataLicence } from './data-licence.ts'

test('a data licence is found by its SPDX identifier or its URL', () => {
  const cc0 = {
    name: 'CC0 1.0',
    url: 'https://creativecommons.org/publicdomain/zero/1.0/',
    spdx: 'CC0-1.0',
  }
  assert.deepEqual(parseDataLicence('CC0-1.0'), cc0)
  assert.deepEqual(parseDataLicence('cc0-1.0'), cc0)
  assert.deepEqual(parseDataLicence(cc0.url), cc0)
  for (const id of ['CC-BY-4.0', 'CC-BY-SA-4.0', 'CC-BY-NC-SA-3.0', 'ODbL-1.0', 'etalab-2.0']) {
    const licence = parseDataLicence(id)
    assert.equal(licence?.spdx, id)
    assert.equal(parseDataLicence(licence.url)?.spdx, id)
  }
  const own = parseDataLicence('https://talks.example.org/terms?of=data')
  assert.deepEqual(own, {
    name: 'talks.example.org/terms',
    url: 'https://talks.example.org/terms?of=data',
  })
  assert.equal(own && licenceId(own), 'https://talks.example.org/terms?of=data')
  assert.equal(licenceId(cc0), 'CC0-1.0')
})

test('a typing error is not a data licence', () => {
  const wrong = [
    ...['CC-BY', 'CC-BY-4', 'CC-BY-4.1', 'CC BY 4.0', 'CC-BY-SA-4.0 or later', 'open', 'MIT'],
    ...['http://example.org/terms', 'https://', 'https://a:b@example.org/', 'javascript:alert(1)'],
  ]
  for (const text of wrong) assert.equal(parseDataLicence(text), undefined, text)
})
