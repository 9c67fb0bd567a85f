import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { languageCodeByName } from './languages.ts'

const sql = readFileSync(new URL('../../migrations/0004.do.languages.sql', import.meta.url), 'utf8')
const languages = [...sql.matchAll(/\(\d+, '([^']+)', '((?:[^']|'')+)', '/g)].map(
  ([, code, name]) => ({
    code: code as string,
    name: (name as string).replaceAll("''", "'"),
  }),
)

test('has a three-letter code for every language of the database', () => {
  assert.ok(languages.length > 600)
  const names = new Intl.DisplayNames(['en'], { type: 'language' })
  for (const { code, name } of languages) {
    const three = languageCodeByName(name)
    assert.match(three, /^[a-z]{3}$/, name)
    assert.equal(languageCodeByName(code), three, name)
    if (!code.includes('-') && code !== 'und') assert.equal(names.of(three), name)
  }
})

test('converts two-letter and regional codes', () => {
  const codes = ['en', 'en-GB', 'pt_BR', 'eng', 'deu', 'ger', 'und'].map(languageCodeByName)
  assert.deepEqual(codes, ['eng', 'eng', 'por', 'eng', 'deu', 'deu', 'und'])
})

test('returns an unknown name as it is', () => {
  assert.equal(languageCodeByName('Quenya of the Shire'), 'Quenya of the Shire')
})
