import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refreshFrequencies, talksOfLexemes } from '../../server/search/search.ts'
import { signIn } from '../support/desk-client.ts'
import { startArchive } from '../support/harness.ts'
import { insertTalks } from '../support/insert-talks.ts'
import { withDatabase } from '../support/invariants.ts'

// Which words a search asks for, and what they weigh.

const archive = await startArchive()
const countWords = (isStopped = () => false) => refreshFrequencies(archive.pool, isStopped)

test('counts the live talks of each word, by language', async () => {
  const before = await talksOfLexemes(archive.pool, ['wombatik'])
  assert.deepEqual([before.total, before.talks('wombatik')], [0, 1], 'a new archive has no counts')
  const english = await archive.make({ title: 'Wombatik', tags: ['wombatik'] })
  await archive.make({ title: 'Rodents', description: 'Among them the wombatik.' })
  await archive.make({ title: 'Un wombatik', language: 'Spanish' })
  await archive.make({ title: 'El wombatik', language: 'Spanish' })
  await archive.make({ title: 'Another wombatik', state: 2 })
  await countWords()
  const counted = await talksOfLexemes(archive.pool, ['wombatik', 'unheard'])
  const byLanguage = [...counted.languages.keys()].map((language) =>
    counted.talksInLanguage('wombatik', language),
  )
  assert.deepEqual([counted.total, counted.talks('wombatik'), byLanguage], [4, 4, [2, 2]])
  assert.equal(counted.talks('unheard'), 1)
  const body = { title: 'No such animal', tags: [] }
  await archive.call('PATCH', `/api/v2/video/${english.id}`, { token: archive.editor, body })
  await countWords(() => true)
  assert.equal((await talksOfLexemes(archive.pool, ['wombatik'])).talks('wombatik'), 4)
  assert.ok((await countWords()) > 0, 'words of a single talk are dropped')
  assert.equal((await talksOfLexemes(archive.pool, ['wombatik'])).talks('wombatik'), 2)
})

test('estimates the talks of each word from a part of a large archive', async () => {
  const own = await startArchive()
  await withDatabase(own.databaseUrl, (query) =>
    insertTalks(query, 3000, `case n % 3 when 0 then 'Common pelican' else 'Common stork' end`),
  )
  await refreshFrequencies(own.pool, () => false, 500)
  const { total, talks } = await talksOfLexemes(own.pool, ['common', 'pelican'])
  assert.equal(total, 3000)
  assert.ok(Math.abs(talks('common') - 3000) < 60, String(talks('common')))
  assert.ok(Math.abs(talks('pelican') - 1000) < 60, String(talks('pelican')))
})

const { editor: token } = archive
type Body = Record<string, unknown>
const find = async (q: string, more = '') => {
  const reply = await archive.call('GET', `/api/v2/video?q=${encodeURIComponent(q)}${more}`)
  assert.equal(reply.status, 200, reply.text)
  return reply.json
}
const titlesOf = async (q: string, more = ''): Promise<string[]> =>
  (await find(q, more)).results.map(({ title }: { title: string }) => title)
/** The titles of the results that have all words. */
const strictTitles = async (q: string, more = '&spelling=exact'): Promise<string[]> => {
  const { results, search } = await find(q, more)
  return results.slice(0, search.all_words).map(({ title }: { title: string }) => title)
}
const readPages = async (path: string) => {
  const read = async (language: string) => {
    const headers = { accept: 'text/html', 'accept-language': language }
    const { status, text } = await archive.call('GET', path, { headers })
    assert.equal(status, 200, text)
    return text.replaceAll(/<!-- -->/g, '')
  }
  return { english: await read('en'), spanish: await read('es') }
}
const makeEvent = (title: string) =>
  archive.call('POST', '/api/v2/category', { token, body: { title } })

test('ignores the stop words of the language of the query only', async () => {
  await makeEvent('PyCon ES 2018')
  await makeEvent('PyCon DE 2018')
  await archive.make({ title: 'Spheres', category: 'PyCon ES 2018', language: 'Spanish' })
  await archive.make({ title: 'Kreise', category: 'PyCon DE 2018', language: 'German' })
  for (const title of ['Circles', 'Lines']) await archive.make({ title, category: 'PyCon DE 2018' })
  await archive.make({ title: 'Musica per tutti', language: 'Italian' })
  for (let number = 0; number < 6; number++) await archive.make({ title: `Music ${number}` })
  await archive.make({ title: 'AI music' })
  await archive.make({ title: 'Música de las esferas', language: 'Spanish' })
  await countWords()
  assert.deepEqual((await strictTitles('pycon de 2018 ')).sort(), ['Circles', 'Kreise', 'Lines'])
  assert.deepEqual(await strictTitles('pycon es 2018 '), ['Spheres'], 'a stop word of its language')
  assert.deepEqual(await strictTitles('ai music '), ['AI music'], 'an Italian stop word')
  assert.deepEqual(await strictTitles('the circles of the '), ['Circles'])
  assert.deepEqual(await strictTitles('la musica de esferas '), ['Música de las esferas'])
})

test('takes names with signs and version numbers for words', async () => {
  await archive.make({ title: 'C# in general' })
  assert.deepEqual((await find('f# ')).search.corrected, [], 'a name is not a misspelled other')
  const titles = ['C++ widgets', 'C# widgets', 'F# widgets', '.NET widgets', 'C widgets']
  for (const title of [...titles, 'Widgets in 3.11', 'Widgets in python3.12.4', 'PEP 8 widgets'])
    await archive.make({ title })
  await archive.make({ title: 'Widgets, 3 of 11' })
  await archive.make({ title: 'The net of widgets', description: 'asp.net' })
  await archive.make({ title: 'node.js widgets' })
  await countWords()
  for (const title of titles) assert.deepEqual(await strictTitles(`${title} `), [title], title)
  assert.deepEqual(await strictTitles('widgets 3.11 '), ['Widgets in 3.11'])
  assert.deepEqual(await strictTitles('widgets python 3.12 '), ['Widgets in python3.12.4'])
  assert.deepEqual(await strictTitles('pep 8 widgets '), ['PEP 8 widgets'])
  assert.deepEqual(await strictTitles('pep8 widgets '), ['PEP 8 widgets'], 'by a synonym')
  for (const q of ['C++ ', 'f# ', '.net ', '3.11 ']) {
    const { snippets } = await find(`widgets ${q}`, '&include=snippets')
    const hits = snippets[0].title.filter(({ hit }: Body) => hit).map(({ text }: Body) => text)
    assert.ok(
      hits.some((text: string) => text.toLowerCase() === q.trim().toLowerCase()),
      q,
    )
  }
  for (const q of ['node.js widgets ', 'nodejs widgets '])
    assert.deepEqual(await strictTitles(q), ['node.js widgets'], q)
})

test('matches every unfinished word as a prefix', async () => {
  await archive.make({ title: 'Zymurgy and fermentation chemistry' })
  assert.deepEqual(await strictTitles('zymu ferment chem'), ['Zymurgy and fermentation chemistry'])
  assert.deepEqual(await strictTitles('zymu fermen '), ['Zymurgy and fermentation chemistry'])
  assert.deepEqual(await strictTitles('zy fermen '), [], 'two letters are too few')
})

test('ranks the words of the query in sequence in the title first', async () => {
  await archive.make({
    title: 'Kestrel nests: nests of a kestrel, kestrel kestrel',
    tags: ['nest'],
  })
  await archive.make({
    title: 'A very long title about everything, and at last about kestrel nests',
  })
  const [first = ''] = await titlesOf('kestrel nests ')
  assert.match(first, /^Kestrel nests/)
  await archive.make({ title: 'Heron and stork', tags: ['heron', 'stork'], summary: 'stork heron' })
  await archive.make({ title: 'What we know of the stork heron of the far south, in many words' })
  assert.match((await titlesOf('stork heron '))[0] ?? '', /^What we know/)
})

test('adds talks with some of the words, the rarest first, also old ones', async () => {
  const own = await startArchive()
  await withDatabase(own.databaseUrl, (query) =>
    insertTalks(
      query,
      2400,
      `case n when 12 then 'Accessibility of charts' when 24 then 'Blind web'
              else 'Common web talk for users' end`,
    ),
  )
  await refreshFrequencies(own.pool, () => false)
  const ask = async (more: string) => {
    const q = encodeURIComponent('web accessibility for blind users ')
    return (await own.call('GET', `/api/v2/video?q=${q}${more}`)).json
  }
  const all = await ask('')
  const found = all.results.map(({ title }: { title: string }) => title)
  // Both are from 2010: thousands of newer ones have the common words.
  assert.deepEqual(found, ['Blind web', 'Accessibility of charts'])
  assert.deepEqual([all.count, all.search.all_words, all.search.loose], [2, 0, true])
})

test('keeps talks with all words first and apart on every page and in every order', async () => {
  for (const title of ['Gannet colonies', 'Gannet', 'Colonies of puffins', 'Puffin'])
    await archive.make({ title, tags: title === 'Puffin' ? ['seabirds'] : [] })
  await countWords()
  const { results, count, search } = await find('gannet colonies ')
  assert.equal(results[0].title, 'Gannet colonies')
  assert.deepEqual([count, search.all_words, search.loose], [3, 1, false])
  const second = await find('gannet colonies ', '&page_size=1&page=2')
  assert.deepEqual([second.count, second.search.all_words], [3, 1])
  assert.equal(second.results[0].id, results[1].id)
  const walked: number[] = []
  for (let path = '/api/v2/video?q=gannet+colonies+&page_size=1&cursor='; path; ) {
    const { json } = await archive.call('GET', path)
    walked.push(...json.results.map(({ id }: { id: number }) => id))
    path = json.next?.slice(archive.url.length)
  }
  assert.deepEqual(
    walked,
    results.map(({ id }: { id: number }) => id),
    'by cursor',
  )
  assert.deepEqual(await titlesOf('gannet colonies ', '&ordering=title'), ['Gannet colonies'])
  const { facets } = await find('gannet colonies ', '&include=facets')
  assert.equal(
    facets.category.reduce((sum: number, { talks }: Body) => sum + Number(talks), 0),
    3,
  )
  const feed = await archive.call('GET', '/search/json?q=gannet+colonies')
  assert.equal(feed.status, 200, feed.text)
  assert.doesNotMatch(feed.text, /puffins/)
  const { english, spanish } = await readPages('/search?q=gannet+colonies')
  assert.match(english, /One talk matches all of these words\./)
  assert.match(spanish, /Una charla contiene todas estas palabras\./)
  assert.deepEqual(await titlesOf('"gannet colonies" '), ['Gannet colonies'], 'phrases stay whole')
  assert.deepEqual(await titlesOf('gannet colonies -puffins '), ['Gannet colonies', 'Gannet'])
})

test('finds synonyms and both spellings of -ise and -ize', async () => {
  await archive.make({ title: 'Kubernetes for marmots' })
  await archive.make({ title: 'Marmots on k8s' })
  await archive.make({ title: 'Machine learning of marmots' })
  await archive.make({ title: 'ML with marmots' })
  await archive.make({ title: 'Marmots: a machine, and learning' })
  await archive.make({ title: 'Optimising marmots' })
  await archive.make({ title: 'Marmots and the internet of things' })
  const both = ['Kubernetes for marmots', 'Marmots on k8s']
  for (const q of ['k8s marmots ', 'marmots kubernetes '])
    assert.deepEqual((await strictTitles(q)).sort(), both, q)
  const learning = ['ML with marmots', 'Machine learning of marmots']
  assert.deepEqual((await strictTitles('marmots ml ')).sort(), learning, 'a phrase stays whole')
  assert.ok((await strictTitles('machine learning marmots ')).includes('ML with marmots'))
  assert.deepEqual(await strictTitles('optimized marmots '), ['Optimising marmots'])
  assert.deepEqual(await strictTitles('iot marmots '), ['Marmots and the internet of things'])
  assert.deepEqual(await strictTitles('internet of things marmot '), [
    'Marmots and the internet of things',
  ])
  const { snippets } = await find('k8s marmots ', '&include=snippets')
  assert.match(JSON.stringify(snippets), /"text":"Kubernetes","hit":true/)
})

test('lets editors replace the synonyms', async () => {
  const path = '/api/v2/synonym'
  const put = (body: object, headers: Record<string, string> = {}, as = token) =>
    archive.call('PUT', path, { token: as, body, headers })
  const before = await archive.call('GET', path)
  assert.ok(before.json.groups.some((group: string[]) => group.join() === 'k8s,kubernetes'))
  const etag = String(before.headers.etag)
  assert.equal(
    (await archive.call('GET', path, { headers: { 'if-none-match': etag } })).status,
    304,
  )

  await archive.make({ title: 'Woodchucks in winter' })
  await archive.make({ title: 'Groundhogs in winter' })
  assert.deepEqual(await strictTitles('groundhog winter '), ['Groundhogs in winter'])
  const groups = [...before.json.groups, ['groundhog', 'woodchuck']]
  const replaced = await put({ groups }, { 'if-match': etag })
  assert.deepEqual([replaced.status, replaced.json.groups], [200, groups], replaced.text)
  assert.equal((await strictTitles('groundhogs winter ')).length, 2)
  assert.equal((await put({ groups: [] }, { 'if-match': etag })).status, 412)
  assert.equal((await put({ groups }, { 'if-match': etag })).status, 200, 'a repeated request')
  assert.equal((await put({ groups }, {}, '')).status, 401)

  const errorsOf = async (invalid: unknown) => {
    const reply = await put({ groups: invalid })
    assert.equal(reply.status, 400, reply.text)
    return reply.json.errors.map(({ pointer, code }: Body) => `${pointer} ${code}`)
  }
  assert.deepEqual(
    await errorsOf([
      ['one', 'two'],
      ['three', 'ONES'],
    ]),
    ['/groups/1/1 duplicate'],
  )
  assert.deepEqual(
    await errorsOf([
      ['one', '?!'],
      ['a b c d e', 'x'],
    ]),
    ['/groups/0/1 invalid', '/groups/1/0 invalid'],
  )
  await errorsOf([['alone']])
  await errorsOf(Array.from({ length: 501 }, (_, number) => [`a${number}`, `b${number}`]))
  const { json } = await archive.call('GET', '/api/v2/audit', { token: archive.admin })
  const event = json.results.find(({ kind }: Body) => kind === 'synonyms-changed')
  assert.deepEqual(event.detail, { added: ['groundhog, woodchuck'], removed: [] })
})

test('corrects a word of few talks if far more have the correction with the others', async () => {
  for (let number = 0; number < 12; number++)
    await archive.make({ title: `Wolverine tracking ${number}` })
  await archive.make({ title: 'Wolverne tracking, misspelled' })
  await countWords()
  const { count, search, results } = await find('wolverne tracking ')
  assert.deepEqual(search.corrected, [{ from: 'wolverne', to: 'wolverine' }])
  assert.deepEqual([search.all_words, results[0].title.slice(0, 9)], [12, 'Wolverine'])
  assert.ok(count >= 12)
  const exact = await find('wolverne tracking ', '&spelling=exact')
  assert.deepEqual([exact.search.corrected, exact.search.all_words], [[], 1])
  assert.equal(exact.results[0].title, 'Wolverne tracking, misspelled')
  const { english, spanish } = await readPages('/search?q=Wolverne+tracking')
  const instead = '<a href="/search?q=Wolverne+tracking&amp;spelling=exact"'
  const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, '')
  for (const [html, text] of [
    [english, 'Showing results for wolverine tracking. Search instead for Wolverne tracking.'],
    [spanish, 'Mostrando resultados de wolverine tracking. Buscar en su lugar Wolverne tracking.'],
  ] as const)
    assert.ok(html.includes(instead) && textOf(html).includes(text), text)
  const page = await readPages('/search?q=Wolverne+tracking&spelling=exact')
  assert.doesNotMatch(page.english, /Showing results for/)
  const refused = await archive.call('GET', '/api/v2/video?q=x&spelling=no')
  assert.equal(refused.status, 400)
})

test('corrects known words in the name of a speaker', async () => {
  await archive.make({ title: 'Love your code', speakers: ['Allison Kaptur'] })
  for (let number = 0; number < 4; number++)
    await archive.make({ title: `Other talks ${number}`, speakers: ['Alison Baker'] })
  const { search, results } = await find('alison kaptar code ')
  assert.deepEqual(search.corrected, [
    { from: 'alison', to: 'allison' },
    { from: 'kaptar', to: 'kaptur' },
  ])
  assert.equal(results[0].title, 'Love your code')
  assert.deepEqual((await find('alison baker ')).search.corrected, [])
})

test('corrects two letters that were swapped in a short word', async () => {
  await archive.make({ title: 'Packaging', speakers: ['Kenneth Zeitz'] })
  await archive.make({ title: 'Other boxes', speakers: ['Ann Zetz'] })
  const { search, results } = await find('kenneth zietz ')
  assert.deepEqual(search.corrected, [{ from: 'zietz', to: 'zeitz' }])
  assert.equal(results[0].title, 'Packaging')
})

test('does not correct the words of talks that have all of them', async () => {
  await archive.make({ title: 'Ocelott, a rare word' })
  for (let number = 0; number < 12; number++)
    await archive.make({ title: `Ocelot ${number < 3 ? 'word' : 'photo'} ${number}` })
  const { search, results } = await find('ocelott word ')
  assert.deepEqual([search.corrected, results[0].title], [[], 'Ocelott, a rare word'])
  for (let number = 0; number < 12; number++)
    await archive.make({ title: `Iterator and generator ${number}` })
  await archive.make({ title: 'Iteratory i generatory', language: 'Polish' })
  const polish = await find('iteratory generatory ')
  assert.deepEqual(
    [polish.search.corrected, polish.results[0].title],
    [[], 'Iteratory i generatory'],
    'two words are not misspelled in the same talk by accident',
  )
})

test('matches prefixes with words, not with the keys of filters', async () => {
  await archive.make({ title: 'Axolotls in public', speakers: ['Xo'], tags: ['amphibia'] })
  await archive.make({ title: 'Axolotls speaking in public', speakers: ['Xo'] })
  assert.deepEqual(await strictTitles('axolotls speak'), ['Axolotls speaking in public'])
  for (const q of ['axolotls categ ', 'axolotls dura', 'axolotls langu'])
    assert.deepEqual(await strictTitles(q), [], q)
  assert.deepEqual(await titlesOf('categ ', '&spelling=exact'), [])
})

test('lets editors find and follow the words as they are typed', async () => {
  for (let number = 0; number < 12; number++)
    await archive.make({ title: `Capybara swimming ${number}` })
  const { id } = await archive.make({ title: 'Capibara swimming, misspelled' })
  await countWords()
  const search = (await find('capibara swimming ')).search
  assert.deepEqual(search.corrected, [{ from: 'capibara', to: 'capybara' }])
  const { client: desk } = await signIn(archive, 'Ada', 'editor')
  const { html } = await desk.get('/desk/talks?q=capibara+swimming')
  assert.ok(html.includes('Capibara swimming, misspelled') && !html.includes('Capybara'), html)
  assert.match(html, /Edit all 1|all=1/)
  const form = await desk.get('/desk/edit?q=capibara+swimming&state=live&all=1')
  assert.match(form.html, /1 talk is selected\./)
  const feed = await archive.call('GET', '/search/json?q=capibara+swimming')
  assert.deepEqual(
    JSON.parse(feed.text).items.map(({ url }: { url: string }) => url.includes(`/${id}/`)),
    [true],
  )
  const { english } = await readPages('/search?q=capibara+swimming')
  assert.match(english, /href="[^"]*capybara[^"]*" rel="nofollow"/, 'follows the corrected words')
})

test('adopts a correction only if it has results', async () => {
  for (let number = 0; number < 12; number++) await archive.make({ title: `Pangolin ${number}` })
  await makeEvent('Empty Days')
  await archive.make({ title: 'Something else', category: 'Empty Days' })
  assert.deepEqual((await find('pangolni ')).search.corrected, [
    { from: 'pangolni', to: 'pangolin' },
  ])
  const { search, count } = await find('pangolni ', '&category=empty-days')
  assert.deepEqual([search.corrected, count], [[], 0])
})

test('weighs the unfinished words of a corrected query as prefixes', async () => {
  const own = await startArchive()
  // A few talks have a word that begins with "quok"; the rarest word of the query is "numbat".
  for (let number = 0; number < 30; number++) await own.make({ title: `Quokkaville ${number}` })
  for (let number = 0; number < 12; number++) await own.make({ title: `Numbat ${number}` })
  await refreshFrequencies(own.pool, () => false)
  const { json } = await own.call('GET', '/api/v2/video?q=numbta+quok')
  assert.deepEqual(json.search.corrected, [{ from: 'numbta', to: 'numbat' }])
  assert.match(json.results[0].title, /^Numbat/)
})

test('applies synonyms in scripts without spaces', async () => {
  const { json } = await archive.call('GET', '/api/v2/synonym')
  const added = [
    ['numerical taxonomy', '人工知能'],
    ['ocelotology', '人工'],
    ['caracal', '自然言語処理'],
    ['servalisation', '継続的インテグレーション'],
  ]
  const reply = await archive.call('PUT', '/api/v2/synonym', {
    token,
    body: { groups: [...json.groups, ...added] },
  })
  assert.equal(reply.status, 200, reply.text)
  await archive.make({ title: '人工知能入門', language: 'Japanese' })
  await archive.make({ title: 'Numerical taxonomy' })
  await archive.make({ title: 'Caracal' })
  await archive.make({ title: 'Servalisation' })
  const both = ['Numerical taxonomy', '人工知能入門']
  assert.deepEqual((await strictTitles('人工知能 ')).sort(), both)
  assert.deepEqual((await strictTitles('numerical taxonomy ')).sort(), both)
  assert.deepEqual(await strictTitles('自然言語処理 '), ['Caracal'])
  assert.deepEqual(await strictTitles('継続的インテグレーション '), ['Servalisation'])
  await archive.make({ title: 'サーバー構築', language: 'Japanese' })
  assert.deepEqual(await strictTitles('サーバー '), ['サーバー構築'], 'a long vowel at the end')
  const refused = await archive.call('PUT', '/api/v2/synonym', {
    token,
    body: { groups: [['one', '人工知能人工知能人工知能人工']] },
  })
  assert.equal(refused.status, 400)
})

test('applies synonyms of stop words', async () => {
  const { json } = await archive.call('GET', '/api/v2/synonym')
  const added = [
    ['it', 'information technology'],
    ['okapi', 'before'],
  ]
  const reply = await archive.call('PUT', '/api/v2/synonym', {
    token,
    body: { groups: [...json.groups, ...added] },
  })
  assert.equal(reply.status, 200, reply.text)
  await archive.make({ title: 'Information technology vacancies' })
  for (let number = 0; number < 3; number++)
    await archive.make({ title: `Vacancies everywhere ${number}` })
  const [first] = await strictTitles('it vacancies ')
  assert.equal(first, 'Information technology vacancies')
  assert.deepEqual(await strictTitles('it '), ['Information technology vacancies'])
  await archive.make({ title: 'Okapi' })
  for (let number = 0; number < 3; number++) await archive.make({ title: `Giraffe ${number}` })
  await countWords()
  assert.equal((await titlesOf('giraffe okapi '))[0], 'Okapi', 'the rarer word weighs more')
})

test('does not correct a word with synonyms', async () => {
  const { json } = await archive.call('GET', '/api/v2/synonym')
  const groups = [...json.groups, ['bonobi', 'pan paniscus']]
  await archive.call('PUT', '/api/v2/synonym', { token, body: { groups } })
  for (let number = 0; number < 12; number++)
    await archive.make({ title: `Bonobo climbing ${number}` })
  await archive.make({ title: 'Pan paniscus climbing' })
  await countWords()
  const { search } = await find('bonobi climbing ')
  assert.deepEqual([search.corrected, search.all_words], [[], 1])
  for (let number = 0; number < 12; number++)
    await archive.make({ title: `Vulcanize rubber ${number}` })
  assert.deepEqual((await find('vulcanzie ')).search.corrected, [
    { from: 'vulcanzie', to: 'vulcanize' },
  ])
  const { search: respelled } = await find('vulcamise ')
  assert.equal(respelled.corrected.length, 1, 'a rule for spellings is no synonym')
})

test('shows a corrected word in place of the typed one, whatever its letters', async () => {
  for (let number = 0; number < 12; number++)
    await archive.make({ title: `Straßenbahn ${number}`, language: 'German' })
  const { search } = await find('Straßenbhan ')
  assert.deepEqual(search.corrected, [{ from: 'strassenbhan', to: 'strassenbahn' }])
  const { english } = await readPages(`/search?q=${encodeURIComponent('Straßenbhan -bhan')}`)
  const text = english.replaceAll(/<[^>]*>/g, '')
  assert.match(text, /Showing results for strassenbahn -bhan\. Search instead for Stra[^ s]+bhan/)
})

test('takes only the last term for unfinished', async () => {
  await archive.make({ title: 'Margay' })
  await archive.make({ title: 'Margayoid' })
  const both = ['Margay', 'Margayoid']
  assert.deepEqual((await strictTitles('margay')).sort(), both)
  for (const q of ['margay -android', 'margay for', 'margay or', 'margay '])
    assert.deepEqual(await strictTitles(q), ['Margay'], q)
})

test('excludes the stem of a word in the talks of its language only', async () => {
  await archive.make({ title: 'Tapiri', speakers: ['Guido'], language: 'Italian' })
  await archive.make({ title: 'A guide to tapirs' })
  await archive.make({ title: 'Tapirs', speakers: ['Guido'] })
  assert.deepEqual(await strictTitles('tapirs -guido '), ['A guide to tapirs'])
  assert.deepEqual(await strictTitles('tapirs -guides '), ['Tapirs'])
})

test('corrects a word of many talks if ten times as many have the correction', async () => {
  const own = await startArchive()
  await withDatabase(own.databaseUrl, (query) =>
    insertTalks(
      query,
      400,
      `case when n <= 30 then 'Lemurid' when n = 31 then 'Lemurix dance' else 'Lemurix' end`,
    ),
  )
  await refreshFrequencies(own.pool, () => false)
  const { json } = await own.call('GET', '/api/v2/video?q=lemurid+dance+')
  assert.deepEqual(json.search.corrected, [{ from: 'lemurid', to: 'lemurix' }])
})

test('keeps ordering and exact spelling when all filters are cleared', async () => {
  const { english } = await readPages(
    '/search?q=margay&tag=x&year=2017&ordering=title&spelling=exact',
  )
  const [, link = ''] = /href="([^"]*)">Clear all/.exec(english) ?? []
  assert.equal(link, '/search?q=margay&amp;spelling=exact&amp;ordering=title')
})
