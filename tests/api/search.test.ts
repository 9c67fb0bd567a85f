import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import type { Db } from '../../server/platform/db/db.ts'
import { refreshFrequencies, suggest, talksOfLexemes } from '../../server/search/search.ts'
import { type Reply, startArchive, type TestArchive } from '../support/harness.ts'
import { insertTalks } from '../support/insert-talks.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Search: properties that always hold. How well results match is measured in tests/relevance.

const archive = await startArchive()
const { editor: token } = archive
const get = (path: string, headers: Record<string, string> = {}) =>
  archive.call('GET', path, { headers })
const search = (q: string, more = '') => get(`/api/v2/video?q=${encodeURIComponent(q)}${more}`)
const patch = (id: number, body: object) =>
  archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
const titles = ({ status, json, text }: Reply) =>
  status === 200 ? json.results.map(({ title }: Video) => title) : text
const marked = (pieces: { text: string; hit?: true }[]) =>
  pieces.map(({ text, hit }) => (hit ? `[${text}]` : text)).join('')

test('ranks title, speakers, tags, category, summary and description in this order', async () => {
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Quokka Days' } })
  await archive.make({ title: 'in the description', description: 'All about the quokka and more.' })
  await archive.make({ title: 'in the summary', summary: 'All about the quokka and more.' })
  await archive.make({ title: 'in the category', category: 'Quokka Days' })
  await archive.make({ title: 'in the tags', tags: ['quokka'] })
  await archive.make({ title: 'in the speakers', speakers: ['Quokka Smith'] })
  await archive.make({ title: 'quokka in the title' })
  const fields = [
    'quokka in the title',
    'in the speakers',
    'in the tags',
    'in the category',
    'in the summary',
    'in the description',
  ]
  assert.deepEqual(titles(await search('quokka')), fields)
})

test('ignores case, accents, inflection and full-width letters', async () => {
  await archive.make({ title: 'Crème brûlée generators', language: 'English' })
  await archive.make({ title: 'Redes neuronales convolucionales', language: 'Spanish' })
  await archive.make({ title: 'Асинхронные генераторы', language: 'Russian' })
  assert.deepEqual(titles(await search('CREME BRULEE generator')), ['Crème brûlée generators'])
  assert.deepEqual(titles(await search('ｃｒｅｍｅ')), ['Crème brûlée generators'])
  assert.deepEqual(titles(await search('red neuronal')), ['Redes neuronales convolucionales'])
  assert.deepEqual(titles(await search('асинхронный генератор')), ['Асинхронные генераторы'])
})

test('applies a stem only to talks in its language', async () => {
  await archive.make({ title: 'A guide to tapirs', language: 'English' })
  await archive.make({ title: 'Tapirs', speakers: ['Guido'], language: 'Italian' })
  const { json } = await search('guido tapirs ')
  assert.deepEqual([json.results[0].title, json.search.all_words], ['Tapirs', 1])
})

test('finds any part of a Japanese, Chinese, Korean or Thai title', async () => {
  await archive.make({ title: 'Pythonで始める機械学習入門', language: 'Japanese' })
  await archive.make({ title: '深度学习实战', language: 'Chinese' })
  await archive.make({ title: '파이썬으로 배우는 인공지능', language: 'Korean' })
  await archive.make({ title: 'การเขียนโปรแกรมภาษาไพธอน', language: 'Thai' })
  for (const piece of ['機械', '機械学習', '入門', '始める', 'python 学習'])
    assert.deepEqual(titles(await search(piece)), ['Pythonで始める機械学習入門'], piece)
  assert.deepEqual(titles(await search('学习')), ['深度学习实战'])
  assert.deepEqual(titles(await search('파이썬')), ['파이썬으로 배우는 인공지능'])
  assert.deepEqual(titles(await search('지능')), ['파이썬으로 배우는 인공지능'])
  assert.deepEqual(titles(await search('โปรแกรม')), ['การเขียนโปรแกรมภาษาไพธอน'])
})

test('supports phrases, exclusions and alternatives', async () => {
  await archive.make({ title: 'Zebra crossing basics' })
  await archive.make({ title: 'Crossing the zebra' })
  await archive.make({ title: 'Giraffe basics' })
  assert.deepEqual(titles(await search('zebra crossing')).length, 2)
  assert.deepEqual(titles(await search('"zebra crossing"')), ['Zebra crossing basics'])
  assert.deepEqual(titles(await search('“zebra crossing”')), ['Zebra crossing basics'])
  assert.deepEqual(titles(await search('zebra -basics')), ['Crossing the zebra'])
  assert.deepEqual(titles(await search('zebra -"crossing basics"')), ['Crossing the zebra'])
  assert.deepEqual(titles(await search('giraffe or zebra')).sort(), [
    'Crossing the zebra',
    'Giraffe basics',
    'Zebra crossing basics',
  ])
  assert.deepEqual(titles(await search('giraffe OR zebra -basics')).sort(), [
    'Crossing the zebra',
    'Giraffe basics',
  ])
})

test('finds names with punctuation such as C++ and node.js', async () => {
  await archive.make({ title: 'Modern C++ for everyone' })
  await archive.make({ title: 'C# and friends' })
  await archive.make({ title: 'scikit-learn and node.js' })
  assert.deepEqual(titles(await search('c++')), ['Modern C++ for everyone'])
  assert.deepEqual(titles(await search('c#')), ['C# and friends'])
  for (const q of ['scikit learn', 'scikit-learn', 'node.js', 'node js'])
    assert.deepEqual(titles(await search(q)), ['scikit-learn and node.js'], q)
})

test('matches an unfinished last word as a prefix', async () => {
  await archive.make({ title: 'Xylophone lessons' })
  assert.deepEqual(titles(await search('xylo')), ['Xylophone lessons'])
  assert.deepEqual(titles(await search('lessons xyl')), ['Xylophone lessons'])
  await archive.make({ title: 'Xyl for beginners' })
  assert.deepEqual(titles(await search('xyl ')), ['Xyl for beginners'], 'a finished word')
})

test('corrects a misspelled word and reports the correction', async () => {
  await archive.make({ title: 'A keynote', speakers: ['Guido van Rossum'] })
  await archive.make({ title: 'Understanding asyncio' })
  const guido = await search('guido van rosum')
  assert.deepEqual(titles(guido), ['A keynote'])
  assert.deepEqual(guido.json.search, {
    corrected: [{ from: 'rosum', to: 'rossum' }],
    loose: false,
    all_words: 1,
  })
  const asyncio = await search('asyncoi')
  assert.deepEqual(titles(asyncio), ['Understanding asyncio'])
  assert.deepEqual(asyncio.json.search.corrected, [{ from: 'asyncoi', to: 'asyncio' }])
  assert.deepEqual((await search('asyncio')).json.search, {
    corrected: [],
    loose: false,
    all_words: 1,
  })
})

test('suggests a correction only while a live talk has the word', async () => {
  const { id } = await archive.make({ title: 'About wombatology' })
  assert.deepEqual((await search('wombatolgy')).json.search.corrected, [
    { from: 'wombatolgy', to: 'wombatology' },
  ])
  await patch(id, { state: 2 })
  const gone = await search('wombatolgy')
  assert.deepEqual([gone.json.count, gone.json.search.corrected], [0, []])
  assert.doesNotMatch(gone.text, /wombatology/)
})

test('falls back to talks with most of the words', async () => {
  await archive.make({ title: 'Platypus husbandry for beginners' })
  const { json } = await search('platypus husbandry for quokka experts')
  assert.equal(json.results[0].title, 'Platypus husbandry for beginners')
  assert.deepEqual([json.search.loose, json.search.all_words], [true, 0])
})

test('returns snippets as plain text with marked matches', async () => {
  const description = [
    'Nothing here. '.repeat(60),
    'Then a <b>narwhal</b> & other whales come. ',
    'Nothing there. '.repeat(60),
  ].join('')
  await archive.make({ title: 'Narwhals <script>', description })
  const { json } = await search('narwhal', '&include=snippets')
  const [{ title, excerpt }] = json.snippets
  assert.equal(marked(title), '[Narwhals] <script>')
  assert.match(marked(excerpt), /^… .*a <b>\[narwhal\]<\/b> & other whales come\..* …$/)
  assert.ok(marked(excerpt).length < 300)
  assert.equal(json.snippets.length, json.results.length)
  const summary = 'The **narwhal** of [*all* maps](https://example.org/narwhal), `a_b_c`.'
  const formatted = await archive.make({ title: 'Formatted', summary })
  const found = (await search('narwhal', '&include=snippets')).json
  const snippet = found.snippets.find(({ id }: { id: number }) => id === formatted.id)
  assert.equal(marked(snippet.excerpt), 'The [narwhal] of all maps, a_b_c.')
  // In Catalan, "users" has the stem "us".
  await archive.make({ title: 'Els usuaris de l’addax', language: 'Catalan' })
  await archive.make({ title: 'Showing us what users of addaxes want' })
  const us = (await search('us addaxes', '&include=snippets')).json
  assert.equal(marked(us.snippets[0].title), 'Showing [us] what users of [addaxes] want')
  const users = (await search('users addaxes', '&include=snippets')).json
  assert.equal(marked(users.snippets[0].title), 'Showing us what [users] of [addaxes] want')
  const unfinished = (await search('addaxes users', '&include=snippets')).json
  assert.deepEqual(unfinished.snippets[0], users.snippets[0])
  const japanese = await search('機械', '&include=snippets')
  assert.match(marked(japanese.json.snippets[0].title), /\[.*機械.*\]/)
})

test('counts facets of the results and combines them with every filter', async () => {
  for (const [number, language] of ['English', 'English', 'French'].entries())
    await archive.make({
      title: `Axolotl ${number}`,
      language,
      speakers: number === 0 ? ['Ann', 'Bob'] : ['Ann'],
      tags: ['water'],
      duration: [300, 1200, null][number] ?? null,
      recorded: `202${number}-05-01`,
    })
  const { json } = await search('axolotl', '&include=facets')
  const counts = (kind: string) =>
    Object.fromEntries(
      json.facets[kind].map(({ value, talks }: { value: string; talks: number }) => [value, talks]),
    )
  assert.equal(json.facets.exact, true)
  assert.deepEqual(counts('language'), { english: 2, french: 1 })
  assert.deepEqual(counts('speaker'), { ann: 3, bob: 1 })
  assert.deepEqual(counts('tag'), { water: 3 })
  assert.deepEqual(counts('year'), { 2020: 1, 2021: 1, 2022: 1 })
  assert.deepEqual(counts('duration'), { 'under-10': 1, '10-to-30': 1, unknown: 1 })
  assert.deepEqual(counts('category'), { 'example-days-2026': 3 })
  // A facet counts what its value finds as a filter, with and without a query.
  for (const [kind, values] of Object.entries(
    json.facets as Record<string, { value: string; talks: number }[]>,
  )) {
    if (!Array.isArray(values)) continue
    for (const { value, talks } of values)
      assert.equal(
        (await search('axolotl', `&${kind}=${value}`)).json.count,
        talks,
        `${kind} ${value}`,
      )
  }
  const all = (await get('/api/v2/video?include=facets')).json.facets
  for (const kind of ['category', 'language', 'year', 'speaker', 'tag', 'duration'])
    for (const { value, talks } of all[kind])
      assert.equal(
        (await get(`/api/v2/video?${kind}=${value}`)).json.count,
        talks,
        `${kind} ${value}`,
      )
  for (const [filter, count] of [
    ['recorded_after=2021-05-01', 2],
    ['recorded_before=2021-05-01', 2],
    ['recorded_after=2020-06-01&recorded_before=2022-04-30', 1],
    ['year=2021', 1],
    ['year=2021&recorded_after=2021-05-02', 0],
    ['year=2020,2022', 2],
    ['year=2022,2020,2020&recorded_after=2020-06-01', 1],
    ['year=2020,2022&language=french', 1],
    ['updated_since=2020-01-01T00:00:00Z', 3],
    ['updated_since=2999-01-01T00:00:00Z', 0],
    ['source_url=https%3A%2F%2Fnowhere.example%2F', 0],
  ] as const)
    assert.equal((await search('axolotl', `&${filter}`)).json.count, count, filter)
})

test('counts years without the filter by year, so that others can be chosen', async () => {
  const years = (json: { facets: { year: { value: string; talks: number }[] } }) =>
    Object.fromEntries(json.facets.year.map(({ value, talks }) => [value, talks]))
  for (const filter of ['year=2021', 'year=2020,2022']) {
    const { json } = await search('axolotl', `&include=facets&${filter}`)
    assert.deepEqual(years(json), { 2020: 1, 2021: 1, 2022: 1 }, filter)
  }
  const inWater = '/api/v2/video?tag=water&include=facets&year=2020,2022'
  const { json } = await get(inWater)
  assert.deepEqual([json.count, years(json)], [2, { 2020: 1, 2021: 1, 2022: 1 }])
  const narrowed = await search('axolotl', '&include=facets&year=2021&language=english')
  assert.deepEqual(years(narrowed.json), { 2020: 1, 2021: 1 }, 'other filters still apply')
  for (const invalid of ['2020,', ',2020', '2020,x', '0', '20201', Array(21).fill(2020).join()])
    assert.equal((await get(`/api/v2/video?year=${invalid}`)).status, 400, invalid)
})

test('orders matches by the requested ordering', async () => {
  assert.deepEqual(titles(await search('axolotl', '&ordering=title')), [
    'Axolotl 0',
    'Axolotl 1',
    'Axolotl 2',
  ])
  assert.deepEqual(titles(await search('axolotl', '&ordering=-recorded')), [
    'Axolotl 2',
    'Axolotl 1',
    'Axolotl 0',
  ])
  const first = await search('axolotl', '&ordering=title&page_size=2')
  assert.equal(first.json.count, 3)
  assert.deepEqual(titles(await get(first.json.next.slice(archive.url.length))), ['Axolotl 2'])
})

test('paginates results by page and by cursor in both directions', async () => {
  for (let number = 0; number < 23; number++)
    await archive.make({ title: `Okapi ${'and more '.repeat(number % 5)}${number}` })
  const all = (await search('okapi', '&page_size=100')).json.results.map(({ id }: Video) => id)
  assert.equal(all.length, 23)
  const walk = async (start: string, direction: 'next' | 'previous') => {
    const pages: number[][] = []
    let last = start
    for (let path: string | undefined = start; path; ) {
      const { json }: Reply = await get(path)
      assert.equal(json.count, 23)
      pages.push(json.results.map(({ id }: Video) => id))
      last = path
      path = json[direction]?.slice(archive.url.length)
    }
    return { seen: pages, last }
  }
  assert.deepEqual((await walk('/api/v2/video?q=okapi&page_size=5', 'next')).seen.flat(), all)
  const forth = await walk('/api/v2/video?q=okapi&page_size=5&cursor=', 'next')
  assert.deepEqual(forth.seen.flat(), all)
  assert.deepEqual((await walk(forth.last, 'previous')).seen.reverse().flat(), all)
  assert.equal((await search('okapi', '&page=9')).status, 404)
  assert.equal((await search('okapi', '&cursor=eyJ4IjoxfQ')).status, 400)
})

test('finds changes at once and hides drafts and taken-down records', async () => {
  const made = await archive.make({ title: 'Pangolin' })
  const count = async (q: string) => (await search(`${q} `)).json.count
  assert.equal(await count('pangolin'), 1)
  await patch(made.id, { title: 'Aardvark', recorded: '2013-01-01' })
  assert.deepEqual([await count('pangolin'), await count('aardvark')], [0, 1])
  await patch(made.id, { state: 2 })
  assert.equal(await count('aardvark'), 0)
  await patch(made.id, { state: 1, summary: 'With a pangolin after all', recorded: null })
  assert.deepEqual([await count('pangolin'), await count('aardvark')], [1, 1])
  await archive.call('POST', `/api/v2/video/${made.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
  assert.deepEqual([await count('pangolin'), await count('aardvark')], [0, 0])
  await checkInvariants(archive.databaseUrl)
})

test('returns 304 for an unchanged response', async () => {
  const { headers } = await search('okapi', '&include=facets,snippets')
  assert.equal(
    (
      await get('/api/v2/video?q=okapi&include=facets,snippets', {
        'if-none-match': String(headers.etag),
      })
    ).status,
    304,
  )
})

test('autocompletes talks, speakers, events and tags', async () => {
  await archive.make({
    title: 'Marmoset care',
    speakers: ['Marta Marmot'],
    tags: ['marsupials'],
    category: 'Quokka Days',
  })
  const { json } = await get('/api/v2/suggest?q=mar')
  assert.deepEqual(json.talks.map(({ title }: Video) => title)[0], 'Marmoset care')
  assert.deepEqual(json.speakers, [{ name: 'Marta Marmot', slug: 'marta-marmot', talks: 1 }])
  assert.deepEqual(json.tags, [{ name: 'marsupials', slug: 'marsupials', talks: 1 }])
  assert.deepEqual((await get('/api/v2/suggest?q=marmot')).json.speakers.length, 1)
  assert.deepEqual((await get('/api/v2/suggest?q=quok')).json.categories, [
    { name: 'Quokka Days', slug: 'quokka-days', talks: 2 },
  ])
  // Words may be in any order, unfinished, and have a typo each.
  for (const q of ['marmot marta', 'marm mart', 'MARTA  mar', 'marmto', 'merta marmo'])
    assert.deepEqual(
      (await get(`/api/v2/suggest?q=${encodeURIComponent(q)}`)).json.speakers,
      [{ name: 'Marta Marmot', slug: 'marta-marmot', talks: 1 }],
      q,
    )
  for (const q of ['days quok', 'quoka days', 'quokkka'])
    assert.deepEqual(
      (await get(`/api/v2/suggest?q=${encodeURIComponent(q)}`)).json.categories,
      [{ name: 'Quokka Days', slug: 'quokka-days', talks: 2 }],
      q,
    )
  for (const q of ['marta+quokka', 'mxrmxt', 'rta'])
    assert.deepEqual((await get(`/api/v2/suggest?q=${q}`)).json.speakers, [], q)
  // An event is also found by its place and its series, after those with a matching title.
  const profile = { city: 'São Tomé', country: 'PL', series: 'Jumping Days' }
  await archive.call('PATCH', '/api/v2/category/quokka-days', { token, body: profile })
  for (const q of ['sao', 'tome', 'JUMP', 'jumping d', 'poland', 'Polonia', 'pol', 'quokka'])
    assert.deepEqual(
      (await get(`/api/v2/suggest?q=${encodeURIComponent(q)}`)).json.categories,
      [{ name: 'Quokka Days', slug: 'quokka-days', talks: 2 }],
      q,
    )
  for (const q of ['ao', 'PL', 'land', 'umping'])
    assert.deepEqual((await get(`/api/v2/suggest?q=${q}`)).json.categories, [], q)
  assert.deepEqual((await get('/api/v2/suggest?q=%25')).json, {
    talks: [],
    speakers: [],
    categories: [],
    tags: [],
  })
  assert.deepEqual((await get('/api/v2/suggest?q=')).json, {
    talks: [],
    speakers: [],
    categories: [],
    tags: [],
  })
  assert.equal((await get(`/api/v2/suggest?q=${'x'.repeat(301)}`)).status, 400)
})

const words = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord', 'gale', 'heath', 'inlet']
type PickRandom = <T>(from: readonly T[]) => T

/** Merges a random speaker or tag into another one, or renames it if the new name is free. */
async function mergeOrRename(
  { call, editor }: TestArchive,
  kind: string,
  random: () => number,
  pick: PickRandom,
): Promise<'merges' | 'renames' | undefined> {
  const { json } = await call('GET', `/api/v2/${kind}`, { token: editor })
  const entities: { slug: string; name: string }[] = json.results
  if (entities.length < 2) return undefined
  const [entity, other] = [pick(entities), pick(entities)]
  const name = pick(words)
  const path = `/api/v2/${kind}/${entity.slug}`
  if (entity.slug !== other.slug && random() < 0.2) {
    const body = { into: other.slug }
    const { status } = await call('POST', `${path}/merge`, { token: editor, body })
    assert.equal(status, 200)
    return 'merges'
  }
  if (entities.some((existing) => existing.name === name)) return undefined
  const { status } = await call('PATCH', path, { token: editor, body: { name } })
  assert.ok(status === 200 || status === 409, String(status))
  return status === 200 ? 'renames' : undefined
}

/** Reads those of the records that are live. */
async function readLive({ call, editor }: TestArchive, ids: readonly number[]): Promise<Video[]> {
  const replies = await Promise.all(
    ids.map((id) => call('GET', `/api/v2/video/${id}`, { token: editor })),
  )
  return replies
    .filter(({ status, json }) => status === 200 && json.state === 1)
    .map(({ json }) => json)
}

/** Returns queries of these words, with the condition that a text must meet. */
const queriesOf = (
  one: string,
  two: string,
  not: string,
): [q: string, matches: (text: string) => boolean][] => [
  [`${one} `, (text) => text.includes(one)],
  [`${one} ${two} `, (text) => text.includes(one) && text.includes(two)],
  [`${one} -${not} `, (text) => text.includes(one) && !text.includes(not)],
  [`${one} or ${two} `, (text) => text.includes(one) || text.includes(two)],
]

const searchedText = (video: Video) =>
  [video.title, video.speakers, video.tags, video.category, video.summary, video.description]
    .flat()
    .join(' ')
    .toLowerCase()

/**
 * Asserts that a search finds exactly these records and counts their speakers and tags. Sorted by
 * relevance, records with some of the words may follow.
 */
async function assertFinds(
  { call, editor }: TestArchive,
  q: string,
  expected: readonly Video[],
): Promise<void> {
  const query = `q=${encodeURIComponent(q)}&spelling=exact&page_size=100&include=facets`
  const { json } = await call('GET', `/api/v2/video?${query}&ordering=title`, { token: editor })
  if (expected.length === 0) {
    assert.ok(json.count === 0 || json.search.loose, q)
    return
  }
  const ids = expected.map(({ id }) => id).sort()
  assert.deepEqual(json.results.map(({ id }: Video) => id).sort(), ids, q)
  assert.deepEqual([json.count, json.search.all_words], [expected.length, expected.length])
  for (const kind of ['speakers', 'tags'] as const) {
    const scanned: Record<string, number> = {}
    for (const name of expected.flatMap((video) => video[kind]))
      scanned[name] = (scanned[name] ?? 0) + 1
    const facet = json.facets[kind.slice(0, -1)].map(
      ({ name, talks }: { name: string; talks: number }) => [name, talks],
    )
    assert.deepEqual(Object.fromEntries(facet), scanned)
  }
  const { json: best } = await call('GET', `/api/v2/video?${query}`, { token: editor })
  const first = best.results.slice(0, best.search.all_words)
  assert.deepEqual(first.map(({ id }: Video) => id).sort(), ids, `${q} by relevance`)
}

/**
 * Asserts that a search for three words finds the records with all of them, and after them, if they
 * are fewer than twenty, exactly those whose words weigh enough. A scan of the records decides.
 */
async function assertBlends(
  { call, editor, pool }: TestArchive,
  asked: readonly string[],
  records: readonly Video[],
): Promise<number> {
  const { total, talks } = await talksOfLexemes(pool, asked)
  const weight = (word: string) =>
    Math.log(1 + (Math.max(total - talks(word), 0) + 0.5) / (talks(word) + 0.5))
  const weightOf = (video: Video) =>
    asked
      .filter((word) => searchedText(video).includes(word))
      .reduce((sum, word) => sum + weight(word), 0)
  const all = asked.reduce((sum, word) => sum + weight(word), 0)
  const idsFrom = (share: number) =>
    records
      .filter((video) => weightOf(video) >= share * all - 1e-9)
      .map(({ id }) => id)
      .sort()
  const strict = idsFrom(1)
  const steps = [strict, idsFrom(0.6), idsFrom(0.4)]
  // Any word, if there is nothing else.
  if (steps.flat().length === 0)
    steps.push(records.filter((video) => weightOf(video) > 0).map(({ id }) => id))
  const expected = (steps.find((ids) => ids.length >= 20) ?? steps.at(-1) ?? []).toSorted()
  const path = `/api/v2/video?q=${encodeURIComponent(`${asked.join(' ')} `)}&spelling=exact&include=facets`
  const { json } = await call('GET', `${path}&page_size=100`, { token: editor })
  const ids: number[] = json.results.map(({ id }: Video) => id)
  assert.deepEqual(ids.toSorted(), expected, path)
  assert.deepEqual([json.count, json.search.all_words], [expected.length, strict.length])
  assert.deepEqual(ids.slice(0, strict.length).sort(), strict, 'those with all words come first')
  const pages: number[] = []
  for (let next = `${path}&page_size=7`; next; ) {
    const page: Reply = await call('GET', next, { token: editor })
    assert.equal(page.json.count, expected.length)
    pages.push(...page.json.results.map(({ id }: Video) => id))
    next = page.json.next?.slice(page.json.next.indexOf('/api/'))
  }
  assert.deepEqual(pages, ids, 'the pages are parts of the whole')
  return expected.length - strict.length
}

async function assertRebuildsSameRows({ databaseUrl }: TestArchive): Promise<void> {
  await withDatabase(databaseUrl, async (query) => {
    const rows = 'select md5(string_agg(s::text, $$,$$ order by id)) as all from video_search as s'
    const before = await query(rows)
    await query('call rebuild_search()')
    assert.deepEqual(await query(rows), before)
  })
}

test('matches a full scan after random writes, renames and merges', async () => {
  const random = randomFrom(4)
  const own = await startArchive()
  const pick: PickRandom = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T
  const otherRandom = randomFrom(5)
  const pickOther: PickRandom = <T>(from: readonly T[]) =>
    from[Math.floor(otherRandom() * from.length)] as T
  const randomText = (limit: number) =>
    Array.from({ length: Math.floor(random() * limit) }, () => pick(words)).join(' ')
  const randomNames = (limit: number) => [
    ...new Set(Array.from({ length: Math.floor(random() * limit) }, () => pick(words))),
  ]
  const fields = () => ({
    title: `Talk ${randomText(3)}`,
    speakers: randomNames(3),
    tags: randomNames(3),
    summary: randomText(3),
    description: randomText(4),
    recorded: pick(['2019-03-04', '2024-01-01', null]),
  })
  const made: number[] = []
  const counts = { renames: 0, merges: 0, partial: 0 }
  for (let round = 0; round < 12; round++) {
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        if (made.length < 20 || random() < 0.3)
          // A language without a stemming dictionary, so that words match literally.
          made.push(
            (await own.make({ ...fields(), language: 'Esperanto', state: pick([1, 1, 2]) })).id,
          )
        else if (random() < 0.95)
          await own.call('PATCH', `/api/v2/video/${pick(made)}`, {
            token: own.editor,
            body: pick([
              fields(),
              { state: 1 },
              { state: 2 },
              { title: randomText(3) || 'x' },
              { recorded: '2021-01-01' },
            ]),
          })
        else
          await own.call('POST', `/api/v2/video/${pick(made)}/takedown`, {
            token: own.admin,
            body: { reason: 'asked' },
          })
      }),
    )
    for (const kind of ['speaker', 'tag']) {
      const change = await mergeOrRename(own, kind, random, pick)
      if (change) counts[change]++
    }
    const records = await readLive(own, made)
    for (let times = 0; times < 6; times++) {
      for (const [q, matches] of queriesOf(pick(words), pick(words), pick(words))) {
        const expected = records.filter((video) => matches(searchedText(video)))
        await assertFinds(own, q, expected)
      }
    }
    await refreshFrequencies(own.pool, () => false)
    for (let times = 0; times < 4; times++) {
      const asked = new Set([pickOther(words), pickOther(words), pickOther(words)])
      counts.partial += await assertBlends(own, [...asked], records)
    }
    await checkInvariants(own.databaseUrl)
  }
  assert.ok(counts.renames > 2 && counts.merges > 2 && counts.partial > 20, JSON.stringify(counts))
  await assertRebuildsSameRows(own)
})

test('suggests no talk, name or word that readers cannot see', async () => {
  const own = await startArchive()
  const suggestions = async (q: string) =>
    (await own.call('GET', `/api/v2/suggest?q=${encodeURIComponent(q)}`)).json
  await own.call('POST', '/api/v2/category', { token: own.editor, body: { title: 'Quay Days' } })
  const fields = { speakers: ['Zelda Quagmire'], tags: ['quaggas'], category: 'Quay Days' }
  const draft = await own.make({ ...fields, title: 'Quantum quarks', state: 2 })
  const gone = await own.make({ ...fields, title: 'Quarry quarks', summary: 'quicksand' })
  await own.make({ title: 'Something else', speakers: ['Zelda Otherwise'] })
  const takedown = { token: own.admin, body: { reason: 'asked for' } }
  await own.call('POST', `/api/v2/video/${gone.id}/takedown`, takedown)
  const hidden = ['quarks', 'qua', 'quag zelda', 'quagmier', 'quaggsa', 'days quay', 'quicksand']
  for (const q of hidden) {
    const { talks, speakers, categories, tags } = await suggestions(q)
    assert.deepEqual({ speakers, categories, tags }, { speakers: [], categories: [], tags: [] }, q)
    const titles = talks.map(({ title }: Video) => title)
    assert.ok(!titles.some((title: string) => title.includes('quarks')), `${q}: ${titles}`)
  }
  // As soon as the draft is published, everything of it is there.
  await own.call('PATCH', `/api/v2/video/${draft.id}`, { token: own.editor, body: { state: 1 } })
  for (const q of ['quarks quantum', 'quarsk', 'quantun'])
    assert.deepEqual(
      (await suggestions(q)).talks.map(({ id }: Video) => id),
      [draft.id],
      q,
    )
  assert.equal((await suggestions('quagmier')).speakers[0].name, 'Zelda Quagmire')
  assert.equal((await suggestions('quaggsa')).tags[0].name, 'quaggas')
  assert.equal((await suggestions('days quay')).categories[0].name, 'Quay Days')
  await checkInvariants(own.databaseUrl)
})

test('suggests a new name at once, and no former or merged one', async () => {
  const own = await startArchive()
  const names = async (q: string) =>
    (await own.call('GET', `/api/v2/suggest?q=${encodeURIComponent(q)}`)).json.speakers.map(
      ({ name }: { name: string }) => name,
    )
  await own.make({ speakers: ['Ada Lovelace'] })
  await own.make({ speakers: ['Augusta Byron'] })
  const rename = { token: own.editor, body: { name: 'Ada King' } }
  assert.equal((await own.call('PATCH', '/api/v2/speaker/ada-lovelace', rename)).status, 200)
  assert.deepEqual(await names('king ad'), ['Ada King'])
  assert.deepEqual(await names('lovelace'), [])
  const merge = { token: own.editor, body: { into: 'ada-lovelace' } }
  assert.equal((await own.call('POST', '/api/v2/speaker/augusta-byron/merge', merge)).status, 200)
  assert.deepEqual(await names('byron'), [])
  assert.deepEqual(await names('ada'), ['Ada King'])
})

test('suggests names with signs, initials, hyphens and scripts without spaces', async () => {
  const own = await startArchive()
  await own.call('POST', '/api/v2/category', { token: own.editor, body: { title: 'Days (2019)' } })
  await own.make({
    title: 'Names',
    speakers: ['Louise O’Connor', 'A. Jesse Jiryu Davis', 'Zac Hatfield-Dodds', '田中 慎太郎'],
    tags: ['C++', '.NET', 'python 3.11', 'Łódź'],
    category: 'Days (2019)',
  })
  const found = async (q: string) => {
    const { json } = await own.call('GET', `/api/v2/suggest?q=${encodeURIComponent(q)}`)
    return [...json.speakers, ...json.tags, ...json.categories].map(
      ({ name }: { name: string }) => name,
    )
  }
  const cases = {
    "louise o'c": 'Louise O’Connor',
    'connor louise': 'Louise O’Connor',
    'a jesse': 'A. Jesse Jiryu Davis',
    'hatfield d': 'Zac Hatfield-Dodds',
    'dodds zac': 'Zac Hatfield-Dodds',
    hatfeild: 'Zac Hatfield-Dodds',
    田中: '田中 慎太郎',
    慎太郎: '田中 慎太郎',
    慎: '田中 慎太郎',
    '太郎 田': '田中 慎太郎',
    'c++': 'C++',
    '.net': '.NET',
    '3.11 python': 'python 3.11',
    '3.1': 'python 3.11',
    lodz: 'Łódź',
    '2019 days': 'Days (2019)',
  }
  for (const [q, name] of Object.entries(cases)) assert.deepEqual(await found(q), [name], q)
})

test('finds talks of autocomplete by words in any order, in the texts, with typos and in part', async () => {
  const own = await startArchive()
  // So many that the index is not asked for all words with their first letters.
  await withDatabase(own.databaseUrl, async (query) => {
    await insertTalks(query, 6000, `'Harbour history ' || n`)
    await query(`select setval(pg_get_serial_sequence('video', 'id'), 6000)`)
  })
  await own.make({ title: 'Walking through marshland', speakers: ['Ida Reed'] })
  await own.make({ title: 'Knots', description: 'How to tie a bowline.' })
  await refreshFrequencies(own.pool, () => false)
  const titles = async (q: string) =>
    (await own.call('GET', `/api/v2/suggest?q=${encodeURIComponent(q)}`)).json.talks.map(
      ({ title }: Video) => title,
    )
  const marsh = ['Walking through marshland']
  for (const q of ['marshland walk', 'through mars', 'reed marsh', 'mrashland', 'walkng marsh'])
    assert.deepEqual(await titles(q), marsh, q)
  for (const q of ['bowline', 'bowl', 'a bowlin']) assert.deepEqual(await titles(q), ['Knots'], q)
  assert.deepEqual(await titles('marshland xyzzyx'), marsh)
  // A prefix of many words is compared with the talks that have the other words.
  assert.deepEqual(await titles('5999 h'), ['Harbour history 5999'])
  assert.equal((await titles('history h')).length, 5)
  assert.equal((await titles('hist')).length, 5)
  assert.deepEqual(await titles('marshland -walking'), [])
})

test('answers hostile input of autocomplete', async () => {
  const inputs = [
    'x'.repeat(300),
    '慎'.repeat(300),
    'a '.repeat(150),
    Array.from({ length: 50 }, (_, index) => `w${index}`).join(' '),
    'a b c d e f g h i j k l m n o p q r s t u v w x y z',
    '!!!???...',
    "' & | ! ( ) :* <->",
    'back\\slash\\',
    "o'; drop table speaker; --",
    '"unfinished phrase',
    '-excluded -only',
    'or or or',
    '%_%_%',
    '\u0000',
    '\u0301\u0301',
    '👩‍💻 🏳️‍🌈',
    '\ud800',
    'ﷺ'.repeat(100),
    '½ ² ﬁ',
    'مرحبا بالعالم',
  ]
  for (const q of inputs) {
    const reply = await get(`/api/v2/suggest?q=${encodeURIComponent(q.toWellFormed())}`)
    assert.ok([200, 400].includes(reply.status), `${q}: ${reply.status} ${reply.text}`)
    if (reply.status === 200)
      for (const list of Object.values(reply.json as Record<string, unknown[]>))
        assert.ok(list.length <= 5, q)
  }
  assert.equal((await get(`/api/v2/suggest?q=${'x'.repeat(500)}`)).status, 400)
})

test('limits the number of statements of a suggestion, whatever is typed', async () => {
  const own = await startArchive()
  await own.make({ title: 'Walking through marshland', speakers: ['Ida Reed'] })
  const words = ['wlaking', 'thruogh', 'marhsland', 'idda', 'reeed', 'qqqqqq', 'zzzzzz', 'vvvvvv']
  for (const q of [words.join(' '), words.join('-').repeat(4), words.join(' or ')]) {
    const statements: string[] = []
    const db = {
      ...own.pool.searches,
      run: (statement: Parameters<Db['run']>[0]) => {
        statements.push(statement.text)
        return own.pool.searches.run(statement)
      },
    }
    await suggest(db, q)
    assert.ok(statements.length <= 15, `${q}: ${statements.length}`)
  }
})

test('ranks the newest matches of a common word and marks the count as an estimate', async () => {
  const own = await startArchive()
  await withDatabase(own.databaseUrl, (query) => insertTalks(query, 3000, `'Common talk ' || n`))
  const { json } = await own.call('GET', '/api/v2/video?q=common&page_size=100')
  assert.equal(json.count_exact, false)
  assert.ok(json.count > 2000 && json.count < 4000, `about ${json.count}`)
  const { json: counted } = await own.call(
    'GET',
    '/api/v2/video?q=common&include=facets&page_size=1',
  )
  assert.deepEqual(
    [counted.count, counted.count_exact],
    [3000, undefined],
    'facets need an exact count',
  )
  // Only a thousand matches are ranked, from the newest year on.
  for (const { recorded } of json.results) assert.ok(recorded >= '2017', recorded)
})
