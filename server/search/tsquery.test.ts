import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildPartialTsquery, buildTsquery, type QueryUnit } from './tsquery.ts'

const unit = (word: string, weight: number, kind: QueryUnit['kind'] = 'words'): QueryUnit => ({
  kind,
  words: [{ word, stems: [], isStop: false, talks: 1 }],
  synonyms: [],
  hasSynonymGroup: false,
  weight,
})

/** Tells whether a record with these words matches a tsquery of words, and, or, not. */
function matches(tsquery: string, words: ReadonlySet<string>): boolean {
  const tokens = tsquery.match(/'[^']*'|[()&|!]/g) ?? []
  let index = 0
  const either = (): boolean => {
    let result = both()
    while (tokens[index] === '|') {
      index++
      const other = both()
      result = result || other
    }
    return result
  }
  const both = (): boolean => {
    let result = single()
    while (tokens[index] === '&') {
      index++
      const other = single()
      result = result && other
    }
    return result
  }
  const single = (): boolean => {
    const token = tokens[index++] as string
    if (token === '!') return !single()
    if (token !== '(') return words.has(token.slice(1, -1))
    const result = either()
    index++
    return result
  }
  return either()
}

function subsets(words: readonly string[]): Set<string>[] {
  return Array.from(
    { length: 2 ** words.length },
    (_, bits) => new Set(words.filter((_word, index) => bits & (2 ** index))),
  )
}

test('matches exactly the records whose words weigh enough', () => {
  const weights = { a: 8.1, b: 5.5, c: 5.5, d: 3, e: 1.7, f: 0.2 }
  const names = Object.keys(weights) as (keyof typeof weights)[]
  const units = [names.map((name) => unit(name, weights[name]))]
  const all = Object.values(weights).reduce((sum, weight) => sum + weight, 0)
  for (const share of [0.2, 0.4, 0.6, 0.8, 0.95]) {
    const { match = '' } = buildPartialTsquery(units, new Set(), (total) => share * total)
    for (const words of subsets(names)) {
      const weight = names.reduce((sum, name) => sum + (words.has(name) ? weights[name] : 0), 0)
      assert.equal(matches(match, words), weight >= share * all - 1e-9, [...words].join())
    }
  }
})

test('requires phrases and exclusions of partial matches, and no more words than six', () => {
  const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  const units = [
    [
      ...words.map((word, index) => unit(word, 10 - index)),
      unit('phrase', 1, 'phrase'),
      unit('not', 1, 'excluded'),
    ],
  ]
  const { match = '' } = buildPartialTsquery(units, new Set(), (total) => 0.5 * total)
  assert.ok(matches(match, new Set(['phrase', ...words])))
  assert.ok(!matches(match, new Set(words)))
  assert.ok(!matches(match, new Set(['phrase', 'not', ...words])))
  assert.doesNotMatch(match, /'[gh]'/)
})

test('has no partial match if all words are needed', () => {
  const units = [[unit('a', 5), unit('b', 5)]]
  const needing = (weight: number) => buildPartialTsquery(units, new Set(), () => weight).match
  assert.equal(needing(5.1), undefined)
  assert.equal(needing(11), undefined)
  assert.ok(matches(needing(5) ?? '', new Set(['b'])))
  assert.equal(buildPartialTsquery([[unit('a', 5)]], new Set(), () => 1).match, undefined)
  assert.equal(buildTsquery(units, new Set()).match, "('a' & 'b')")
})

test('excludes a single word by its stems in their languages', () => {
  const guido: QueryUnit = {
    ...unit('guido', 1, 'excluded'),
    words: [
      { word: 'guido', stems: [{ lexeme: 'guid', languages: [7] }], isStop: false, talks: 1 },
    ],
  }
  const { match = '' } = buildTsquery([[unit('tapir', 1), guido]], new Set())
  assert.ok(matches(match, new Set(['tapir', 'guid'])))
  assert.ok(!matches(match, new Set(['tapir', 'guid', '#language:7'])))
  assert.ok(!matches(match, new Set(['tapir', 'guido'])))
})

test('ranks by the synonyms of a stop word without requiring them', () => {
  const stop: QueryUnit = {
    ...unit('it', 0),
    words: [{ word: 'it', stems: [], isStop: true, talks: 1 }],
    synonyms: [unit('technology', 1).words],
    hasSynonymGroup: true,
  }
  const { match = '', rank } = buildTsquery([[stop, unit('jobs', 1)]], new Set())
  assert.ok(matches(match, new Set(['jobs'])))
  assert.equal(rank, "'technology' | 'jobs'")
})
