import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countLetters, createReplacer, nameKey } from './name-replacer.ts'

const names = new Map<string, string | null>([
  [nameKey('Adam Lovelace'), 'Ada King'],
  [nameKey('Adam'), 'Ada'],
  [nameKey('山田太郎'), '山田花子'],
  [nameKey('Smith'), 'Smith-Jones'],
  [nameKey('Smith-Jones'), null],
  [nameKey('Ada King'), null],
])
const options = {
  find: (key: string) => names.get(key),
  wordCounts: [1, 2, 4],
  ownUrl: 'https://own.example',
}
const replacer = createReplacer({ ...options, inLinks: false })
const inLinks = createReplacer({ ...options, inLinks: true })

test('replaces a name as whole words, however it is written', () => {
  for (const [text, expected] of [
    ['By Ádám LÖVELACE’s friend', 'By Ada King’s friend'],
    ['ADAM LOVELACE', 'ADA KING'],
    ['adam-lovelace-keynote', 'ada-king-keynote'],
    ['Adam_Lovelace.mp4', 'Ada_King.mp4'],
    ['Adam\n  Lovelace', 'Ada King'],
    ['**Adam** Lovelace', '**Ada King**'],
    ['Adam, Lovelace', 'Ada King'],
    ['Adam\n\nLovelace', 'Ada\n\nLovelace'],
    ['Adamant Lovelace', 'Adamant Lovelace'],
    ['Madam Lovelace', 'Madam Lovelace'],
    ['昨日の山田太郎さん', '昨日の山田花子さん'],
    ['山田 太郎', '山田花子'],
    ['', ''],
  ] as const)
    assert.equal(replacer.text(text), expected)
})

test('changes nothing a second time, even if the new name contains the old one', () => {
  for (const text of ['Smith', 'John Smith', 'Adam Lovelace', 'Adam']) {
    const once = replacer.text(text)
    assert.notEqual(once, text)
    assert.equal(replacer.text(once), once)
  }
  assert.equal(replacer.text('Smith'), 'Smith-Jones')
})

test('leaves links to other sites alone unless that is wanted', () => {
  const text = 'Adam Lovelace: https://x.example/Adam%20Lovelace.mp4'
  assert.equal(replacer.text(text), 'Ada King: https://x.example/Adam%20Lovelace.mp4')
  assert.equal(inLinks.text(text), 'Ada King: https://x.example/Ada%20King.mp4')
  assert.equal(
    replacer.text('https://own.example/speaker/1/adam-lovelace'),
    'https://own.example/speaker/1/ada-king',
  )
  // A key or a file name is no link, whatever it looks like.
  assert.equal(replacer.label('https://x.example/adam-lovelace'), 'https://x.example/ada-king')
})

test('replaces names in JSON, except in fields that are kept', () => {
  const value = {
    slug: 'adam-lovelace-talks',
    description: 'Adam Lovelace',
    list: [{ key: 'https://x.example/adam-lovelace' }, 'Adam', 1, null],
  }
  assert.deepEqual(replacer.value(value, new Set(['description'])), {
    slug: 'ada-king-talks',
    description: 'Adam Lovelace',
    list: [{ key: 'https://x.example/ada-king' }, 'Ada', 1, null],
  })
  const others = { text: 'nothing', list: [1] }
  assert.equal(replacer.value(others), others)
})

test('takes linear time, whatever the text consists of', () => {
  const length = 100_000
  const cpuTime = (text: string) => {
    const times = [1, 2, 3].map(() => {
      const before = process.cpuUsage()
      assert.ok(replacer.text(text) === text)
      const { user, system } = process.cpuUsage(before)
      return user + system
    })
    return Math.min(...times)
  }
  const plain = cpuTime('The quick brown fox jumps. '.repeat(length / 27))
  for (const text of [
    '\u0301'.repeat(length),
    `a${'\u0301\u0323'.repeat(length / 2)}`,
    `${'a\u0301'.repeat(120)} `.repeat(length / 241),
    'é'.repeat(length),
    'x'.repeat(length),
    `Anna ${'_.,'.repeat(length / 3)}Lovelace`,
  ])
    assert.ok(cpuTime(text) < 20 * Math.max(plain, 5000), text.slice(0, 10))
})

test('does not take the end of a very long word for a name', () => {
  for (const long of ['x'.repeat(1024), 'é'.repeat(1024), '𝐚'.repeat(1024), 'é'.repeat(16 << 20)])
    assert.equal(replacer.text(`${long}Adam`), `${long}Adam`)
})

test('replaces names in lists only as a whole, if that is wanted', () => {
  const whole = createReplacer({
    find: (key) => (key === 'ann lee' ? 'Max Lee' : undefined),
    findWhole: (key) => ({ 'ann lee': 'Max Lee', sam: 'Alex Doe', 'max lee': null })[key],
    wordCounts: [2],
    inLinks: false,
  })
  const speakers = ['Mary Ann Lee', 'Ann Lee Smith', 'ANN-LEE', 'Lee, Ann', 'Sam', 'Sam Smith']
  const replaced = ['Mary Ann Lee', 'Ann Lee Smith', 'Max Lee', 'Max Lee', 'Alex Doe', 'Sam Smith']
  assert.deepEqual(
    whole.value({ speakers, tags: ['Sam'], title: 'Uncle Sam', summary: 'Dr. Ann Lee' }),
    { speakers: replaced, tags: ['Alex Doe'], title: 'Uncle Sam', summary: 'Dr. Max Lee' },
  )
  // The names of a speaker, but not the title of an event.
  const entity = { name: 'Ann Lee Days', aliases: [{ name: 'Mary Ann Lee', shown: true }] }
  assert.deepEqual(whole.value({ kind: 'speaker', ...entity }), { kind: 'speaker', ...entity })
  assert.equal(whole.value({ kind: 'category', ...entity }).name, 'Max Lee Days')
  assert.equal(whole.text('Tom Lee, Ann Smith'), 'Tom Lee, Ann Smith')
})

test('leaves a single word in keys and names of files', () => {
  assert.equal(replacer.label('talks/adam-intro.mp4'), 'talks/adam-intro.mp4')
  assert.deepEqual(replacer.value({ key: 'talks/adam-x', title: 'Adam' }), {
    key: 'talks/adam-x',
    title: 'Ada',
  })
})

test('replaces in links only the names for which that is wanted', () => {
  const some = createReplacer({ ...options, inLinks: (key) => key === nameKey('山田太郎') })
  const text = 'https://x.example/山田太郎/adam-lovelace'
  assert.match(some.text(text), /E5%AD%90\/adam-lovelace$/)
  assert.equal(some.text('https://x.example/adam-lovelace'), 'https://x.example/adam-lovelace')
})

test('keeps the escapes of links', () => {
  for (const [url, expected] of [
    ['https://x.example/adam%20lovelace%2Fslides', 'https://x.example/Ada%20King%2Fslides'],
    ['https://x.example/%2Fadam-lovelace%2520%C3%A9', 'https://x.example/%2Fada-king%2520%C3%A9'],
    ['https://x.example/%FF/adam-lovelace', 'https://x.example/%FF/ada-king'],
    ['https://x.example/a%2Fb%20c', 'https://x.example/a%2Fb%20c'],
  ] as const) {
    assert.equal(inLinks.text(url), expected)
    assert.equal(replacer.label(url), expected)
  }
})

test('takes links without a scheme and mail addresses for links', () => {
  for (const link of [
    'www.example.org/adam-lovelace',
    '//cdn.example/adam-lovelace.mp4',
    'mailto:adam.lovelace@x.example',
    'adam.lovelace@x.example',
    'ftp://x.example/adam-lovelace',
  ]) {
    assert.equal(replacer.text(`See ${link}, Adam Lovelace`), `See ${link}, Ada King`)
    assert.match(inLinks.text(link), /ada.king/)
  }
})

test('replaces a name in a slug only once', () => {
  const growing = createReplacer({
    find: (key) => ({ 'jo ann': 'Мария Jo Ann', 'мария jo ann': null })[key],
    wordCounts: [2, 3],
    inLinks: false,
  })
  const { slug } = growing.value({ slug: 'jo-ann-talk' })
  assert.equal(slug, 'mariya-jo-ann-talk')
  assert.equal(growing.value({ slug }).slug, slug)
})

test('finds a name with invisible characters and spaces of HTML', () => {
  for (const text of [
    'Adam&nbsp;Lovelace',
    'Adam&#160;Lovelace',
    'Ad\u00ADam Love\u00ADlace',
    'Adam\u200B Lovel\u200Bace',
    'Adam \uFEFFLovelace',
  ])
    assert.equal(replacer.text(`By ${text}.`), 'By Ada King.')
})

test('counts two characters of a script without spaces as a long name', () => {
  assert.deepEqual(['Li', 'Zoé', '王伟', '김구', '王'].map(countLetters), [2, 3, 4, 4, 2])
})
