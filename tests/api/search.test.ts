import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { findTitles } from '../../server/search/queries.ts'
import { type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Words in, records out. How well the search finds what people mean is for tests/relevance; here is
// what always holds.

const archive = await startArchive()
const { editor: token } = archive
const get = (path: string, headers: Record<string, string> = {}) =>
  archive.call('GET', path, { headers })
const ask = (q: string, more = '') => get(`/api/v2/video?q=${encodeURIComponent(q)}${more}`)
const patch = (id: number, body: object) =>
  archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
const titles = ({ status, json, text }: Reply) =>
  status === 200 ? json.results.map(({ title }: Video) => title) : text
const marked = (pieces: { text: string; hit?: true }[]) =>
  pieces.map(({ text, hit }) => (hit ? `[${text}]` : text)).join('')

test('title, speakers, tags, category, summary and description count in this order', async () => {
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
  assert.deepEqual(titles(await ask('quokka')), fields)
})

test('case, accents, endings and wide letters do not matter, in the language of the talk', async () => {
  await archive.make({ title: 'Crème brûlée generators', language: 'English' })
  await archive.make({ title: 'Redes neuronales convolucionales', language: 'Spanish' })
  await archive.make({ title: 'Асинхронные генераторы', language: 'Russian' })
  assert.deepEqual(titles(await ask('CREME BRULEE generator')), ['Crème brûlée generators'])
  assert.deepEqual(titles(await ask('ｃｒｅｍｅ')), ['Crème brûlée generators'])
  assert.deepEqual(titles(await ask('red neuronal')), ['Redes neuronales convolucionales'])
  assert.deepEqual(titles(await ask('асинхронный генератор')), ['Асинхронные генераторы'])
})

test('a stem counts in its own language only', async () => {
  await archive.make({ title: 'A guide to tapirs', language: 'English' })
  await archive.make({ title: 'Tapirs', speakers: ['Guido'], language: 'Italian' })
  assert.deepEqual(titles(await ask('guido tapirs ')), ['Tapirs'])
})

test('any piece of a Japanese, Chinese, Korean or Thai title finds it', async () => {
  await archive.make({ title: 'Pythonで始める機械学習入門', language: 'Japanese' })
  await archive.make({ title: '深度学习实战', language: 'Chinese' })
  await archive.make({ title: '파이썬으로 배우는 인공지능', language: 'Korean' })
  await archive.make({ title: 'การเขียนโปรแกรมภาษาไพธอน', language: 'Thai' })
  for (const piece of ['機械', '機械学習', '入門', '始める', 'python 学習'])
    assert.deepEqual(titles(await ask(piece)), ['Pythonで始める機械学習入門'], piece)
  assert.deepEqual(titles(await ask('学习')), ['深度学习实战'])
  assert.deepEqual(titles(await ask('파이썬')), ['파이썬으로 배우는 인공지능'])
  assert.deepEqual(titles(await ask('지능')), ['파이썬으로 배우는 인공지능'])
  assert.deepEqual(titles(await ask('โปรแกรม')), ['การเขียนโปรแกรมภาษาไพธอน'])
})

test('phrases, exclusions and alternatives', async () => {
  await archive.make({ title: 'Zebra crossing basics' })
  await archive.make({ title: 'Crossing the zebra' })
  await archive.make({ title: 'Giraffe basics' })
  assert.deepEqual(titles(await ask('zebra crossing')).length, 2)
  assert.deepEqual(titles(await ask('"zebra crossing"')), ['Zebra crossing basics'])
  assert.deepEqual(titles(await ask('“zebra crossing”')), ['Zebra crossing basics'])
  assert.deepEqual(titles(await ask('zebra -basics')), ['Crossing the zebra'])
  assert.deepEqual(titles(await ask('zebra -"crossing basics"')), ['Crossing the zebra'])
  assert.deepEqual(titles(await ask('giraffe or zebra')).sort(), [
    'Crossing the zebra',
    'Giraffe basics',
    'Zebra crossing basics',
  ])
  assert.deepEqual(titles(await ask('giraffe OR zebra -basics')).sort(), [
    'Crossing the zebra',
    'Giraffe basics',
  ])
})

test('names with signs are found as people write them', async () => {
  await archive.make({ title: 'Modern C++ for everyone' })
  await archive.make({ title: 'C# and friends' })
  await archive.make({ title: 'scikit-learn and node.js' })
  assert.deepEqual(titles(await ask('c++')), ['Modern C++ for everyone'])
  assert.deepEqual(titles(await ask('c#')), ['C# and friends'])
  for (const q of ['scikit learn', 'scikit-learn', 'node.js', 'node js'])
    assert.deepEqual(titles(await ask(q)), ['scikit-learn and node.js'], q)
})

test('an unfinished word finds what begins so, a finished one does not', async () => {
  await archive.make({ title: 'Xylophone lessons' })
  assert.deepEqual(titles(await ask('xylo')), ['Xylophone lessons'])
  assert.deepEqual(titles(await ask('lessons xyl')), ['Xylophone lessons'])
  assert.deepEqual(titles(await ask('xylo ')), [])
})

test('a mistyped word is corrected, and the answer says to what', async () => {
  await archive.make({ title: 'A keynote', speakers: ['Guido van Rossum'] })
  await archive.make({ title: 'Understanding asyncio' })
  const guido = await ask('guido van rosum')
  assert.deepEqual(titles(guido), ['A keynote'])
  assert.deepEqual(guido.json.search, {
    corrected: [{ from: 'rosum', to: 'rossum' }],
    loose: false,
  })
  const asyncio = await ask('asyncoi')
  assert.deepEqual(titles(asyncio), ['Understanding asyncio'])
  assert.deepEqual(asyncio.json.search.corrected, [{ from: 'asyncoi', to: 'asyncio' }])
  assert.deepEqual((await ask('asyncio')).json.search, { corrected: [], loose: false })
})

test('a word is only suggested while a live talk has it', async () => {
  const { id } = await archive.make({ title: 'About wombatology' })
  assert.deepEqual((await ask('wombatolgy')).json.search.corrected, [
    { from: 'wombatolgy', to: 'wombatology' },
  ])
  await patch(id, { state: 2 })
  const gone = await ask('wombatolgy')
  assert.deepEqual([gone.json.count, gone.json.search.corrected], [0, []])
  assert.doesNotMatch(gone.text, /wombatology/)
})

test('where no talk has all the words, those that have most of them come', async () => {
  await archive.make({ title: 'Platypus husbandry for beginners' })
  const { json } = await ask('platypus husbandry for quokka experts')
  assert.equal(json.results[0].title, 'Platypus husbandry for beginners')
  assert.equal(json.search.loose, true)
})

test('snippets are plain text in pieces, with what was found marked', async () => {
  const description = `${'Nothing here. '.repeat(60)}Then a <b>narwhal</b> & other whales come. ${'Nothing there. '.repeat(60)}`
  await archive.make({ title: 'Narwhals <script>', description })
  const { json } = await ask('narwhal', '&include=snippets')
  const [{ title, excerpt }] = json.snippets
  assert.equal(marked(title), '[Narwhals] <script>')
  assert.match(marked(excerpt), /^… .*a <b>\[narwhal\]<\/b> & other whales come\..* …$/)
  assert.ok(marked(excerpt).length < 300)
  assert.equal(json.snippets.length, json.results.length)
  const japanese = await ask('機械', '&include=snippets')
  assert.match(marked(japanese.json.snippets[0].title), /\[.*機械.*\]/)
})

test('facets count what was found, and go together with every filter', async () => {
  for (const [number, language] of ['English', 'English', 'French'].entries())
    await archive.make({
      title: `Axolotl ${number}`,
      language,
      speakers: number === 0 ? ['Ann', 'Bob'] : ['Ann'],
      tags: ['water'],
      duration: [300, 1200, null][number] ?? null,
      recorded: `202${number}-05-01`,
    })
  const { json } = await ask('axolotl', '&include=facets')
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
  // What a facet counts is what its value finds, with the words and without them.
  for (const [kind, values] of Object.entries(
    json.facets as Record<string, { value: string; talks: number }[]>,
  )) {
    if (!Array.isArray(values)) continue
    for (const { value, talks } of values)
      assert.equal(
        (await ask('axolotl', `&${kind}=${value}`)).json.count,
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
    ['updated_since=2020-01-01T00:00:00Z', 3],
    ['updated_since=2999-01-01T00:00:00Z', 0],
    ['source_url=https%3A%2F%2Fnowhere.example%2F', 0],
  ] as const)
    assert.equal((await ask('axolotl', `&${filter}`)).json.count, count, filter)
})

test('an ordering puts what matches in that order', async () => {
  assert.deepEqual(titles(await ask('axolotl', '&ordering=title')), [
    'Axolotl 0',
    'Axolotl 1',
    'Axolotl 2',
  ])
  assert.deepEqual(titles(await ask('axolotl', '&ordering=-recorded')), [
    'Axolotl 2',
    'Axolotl 1',
    'Axolotl 0',
  ])
  const first = await ask('axolotl', '&ordering=title&page_size=2')
  assert.equal(first.json.count, 3)
  assert.deepEqual(titles(await get(first.json.next.slice(archive.url.length))), ['Axolotl 2'])
})

test('pages and cursors walk through what was found, there and back', async () => {
  for (let number = 0; number < 23; number++)
    await archive.make({ title: `Okapi ${'and more '.repeat(number % 5)}${number}` })
  const all = (await ask('okapi', '&page_size=100')).json.results.map(({ id }: Video) => id)
  assert.equal(all.length, 23)
  const walk = async (start: string, way: 'next' | 'previous') => {
    const seen: number[][] = []
    let last = start
    for (let path: string | undefined = start; path; ) {
      const { json }: Reply = await get(path)
      assert.equal(json.count, 23)
      seen.push(json.results.map(({ id }: Video) => id))
      last = path
      path = json[way]?.slice(archive.url.length)
    }
    return { seen, last }
  }
  assert.deepEqual((await walk('/api/v2/video?q=okapi&page_size=5', 'next')).seen.flat(), all)
  const forth = await walk('/api/v2/video?q=okapi&page_size=5&cursor=', 'next')
  assert.deepEqual(forth.seen.flat(), all)
  assert.deepEqual((await walk(forth.last, 'previous')).seen.reverse().flat(), all)
  assert.equal((await ask('okapi', '&page=9')).status, 404)
  assert.equal((await ask('okapi', '&cursor=eyJ4IjoxfQ')).status, 400)
})

test('what changes is found as it is now, at once; drafts and what was taken down are not', async () => {
  const made = await archive.make({ title: 'Pangolin' })
  const count = async (q: string) => (await ask(`${q} `)).json.count
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

test('an unchanged answer is 304', async () => {
  const { headers } = await ask('okapi', '&include=facets,snippets')
  assert.equal(
    (
      await get('/api/v2/video?q=okapi&include=facets,snippets', {
        'if-none-match': String(headers.etag),
      })
    ).status,
    304,
  )
})

test('suggestions come while somebody types: talks, speakers, events and tags', async () => {
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

test('after any sequence of writes, renames and merges, words, counts and facets find what a plain scan finds', async () => {
  const random = randomFrom(4)
  const own = await startArchive()
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const words = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord', 'gale', 'heath', 'inlet']
  const some = (limit: number) =>
    Array.from({ length: Math.floor(random() * limit) }, () => pick(words)).join(' ')
  const names = (limit: number) => [
    ...new Set(Array.from({ length: Math.floor(random() * limit) }, () => pick(words))),
  ]
  // A language without a dictionary: its words are what they are.
  const fields = () => ({
    title: `Talk ${some(3)}`,
    speakers: names(3),
    tags: names(3),
    summary: some(3),
    description: some(4),
    recorded: pick(['2019-03-04', '2024-01-01', null]),
  })
  const made: number[] = []
  const done = { renames: 0, merges: 0 }
  for (let round = 0; round < 12; round++) {
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        if (made.length < 20 || random() < 0.3)
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
              { title: some(3) || 'x' },
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
    // People and tags are renamed, and sometimes to what another one is called: then they are
    // merged.
    for (const kind of ['speaker', 'tag']) {
      const entities = (await own.call('GET', `/api/v2/${kind}`, { token: own.editor })).json
        .results as { slug: string; name: string }[]
      if (entities.length < 2) continue
      const [entity, other] = [pick(entities), pick(entities)]
      const name = pick(words)
      const isTaken = entities.some((it) => it.name === name)
      if (entity.slug !== other.slug && random() < 0.2) {
        const { status } = await own.call('POST', `/api/v2/${kind}/${entity.slug}/merge`, {
          token: own.editor,
          body: { into: other.slug },
        })
        assert.equal(status, 200)
        done.merges++
      } else if (!isTaken) {
        const { status } = await own.call('PATCH', `/api/v2/${kind}/${entity.slug}`, {
          token: own.editor,
          body: { name },
        })
        assert.ok(status === 200 || status === 409, String(status))
        if (status === 200) done.renames++
      }
    }
    const records = (
      await Promise.all(
        made.map((id) => own.call('GET', `/api/v2/video/${id}`, { token: own.editor })),
      )
    )
      .filter(({ status, json }) => status === 200 && json.state === 1)
      .map(({ json }) => json as Video)
    const textOf = (it: Video) =>
      [it.title, it.speakers, it.tags, it.category, it.summary, it.description]
        .flat()
        .join(' ')
        .toLowerCase()
    for (let times = 0; times < 6; times++) {
      const [one, two, not] = [pick(words), pick(words), pick(words)]
      const cases: [string, (text: string) => boolean][] = [
        [`${one} `, (text) => text.includes(one)],
        [`${one} ${two} `, (text) => text.includes(one) && text.includes(two)],
        [`${one} -${not} `, (text) => text.includes(one) && !text.includes(not)],
        [`${one} or ${two} `, (text) => text.includes(one) || text.includes(two)],
      ]
      for (const [q, holds] of cases) {
        const expected = records.filter((it) => holds(textOf(it)))
        const { json } = await own.call(
          'GET',
          `/api/v2/video?q=${encodeURIComponent(q)}&page_size=100&include=facets`,
          {
            token: own.editor,
          },
        )
        if (expected.length === 0) assert.ok(json.count === 0 || json.search.loose, q)
        else {
          assert.deepEqual(
            json.results.map(({ id }: Video) => id).sort(),
            expected.map(({ id }) => id).sort(),
            q,
          )
          assert.equal(json.count, expected.length)
          for (const kind of ['speakers', 'tags'] as const) {
            const scanned: Record<string, number> = {}
            for (const name of expected.flatMap((it) => it[kind]))
              scanned[name] = (scanned[name] ?? 0) + 1
            const facet = json.facets[kind.slice(0, -1)].map(
              ({ name, talks }: { name: string; talks: number }) => [name, talks],
            )
            assert.deepEqual(Object.fromEntries(facet), scanned)
          }
        }
      }
    }
    await checkInvariants(own.databaseUrl)
  }
  assert.ok(done.renames > 2 && done.merges > 2, JSON.stringify(done))
  // From scratch it is the same.
  await withDatabase(own.databaseUrl, async (query) => {
    const rows = 'select md5(string_agg(s::text, $$,$$ order by id)) as all from video_search as s'
    const before = await query(rows)
    await query('call rebuild_search()')
    assert.deepEqual(await query(rows), before)
  })
})

test('a talk that stops being live between two statements of a suggestion is not suggested', async () => {
  const [live, draft, gone] = [
    await archive.make(),
    await archive.make({ state: 2 }),
    await archive.make(),
  ]
  const takedown = { token: archive.admin, body: { reason: 'asked for' } }
  assert.equal(
    (await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, takedown)).status,
    200,
  )
  const found = await findTitles(archive.pool, [live.id, draft.id, gone.id])
  assert.deepEqual(
    found.map(({ id }) => id),
    [live.id],
  )
})

test('of a common word the newest are put in order, and the count says what it is', async () => {
  const own = await startArchive()
  await withDatabase(own.databaseUrl, async (query) => {
    await query(`insert into video (id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids, title, summary, description, quality_notes,
        copyright_text, embed, video_ogv_download_only, video_mp4_download_only, video_webm_download_only, video_flv_download_only, whiteboard, recorded, added, updated)
      select n, 1, 'talk-' || n, 1, (select id from category limit 1), (select id from language where code = 'en'), '{}', '{}', 'Common talk ' || n, '', '', '',
        '', '', false, false, false, false, '', date '2010-01-01' + (n % 12) * 365, now(), now()
      from generate_series(1, 3000) as n`)
    await query(
      `insert into video_body (id, revision, tag, live, updated, body) select id, 1, 'x', true, updated, json_build_object('id', id, 'recorded', recorded)::text from video`,
    )
    await query('analyze')
  })
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
    'who counts facets has seen all of them',
  )
  // A thousand are looked at, from the newest year on.
  for (const { recorded } of json.results) assert.ok(recorded >= '2017', recorded)
})
