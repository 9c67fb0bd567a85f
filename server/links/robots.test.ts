import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isAllowedBy, maxRobotsBytes, parseRobots, type Robots, robotsOf } from './robots.ts'

const lines = (...texts: string[]) => texts.join('\n')
const allowed = (text: string, path: string) => isAllowedBy(parseRobots(text), path)

/** Asserts which paths the rules for everybody allow. */
function assertPaths(rules: readonly string[], paths: Readonly<Record<string, boolean>>): void {
  for (const [path, expected] of Object.entries(paths))
    assert.equal(allowed(lines('User-agent: *', ...rules), path), expected, `${rules}: ${path}`)
}

test('takes the group for Talkshelf, in any spelling, and else the one for everybody', () => {
  const general = ['User-agent: *', 'Disallow: /general']
  for (const agent of ['Talkshelf', 'TALKSHELF', 'talkshelf/1.0', 'Talkshelf (a bot)']) {
    const text = lines(...general, '', `User-Agent: ${agent}`, 'Disallow: /own')
    assert.equal(allowed(text, '/own'), false, agent)
    assert.equal(allowed(text, '/general'), true, agent)
  }
  for (const agent of ['Talkshelfbot', 'Talk', 'Other', 'Talkshelf-Bot', '']) {
    const text = lines(...general, `User-agent: ${agent}`, 'Disallow: /own')
    assert.equal(allowed(text, '/own'), true, agent)
    assert.equal(allowed(text, '/general'), false, agent)
  }
  assert.equal(allowed(lines('User-agent: Talkshelf', ...general), '/general'), false)
  assert.equal(allowed(lines(...general, 'User-agent: Talkshelf'), '/general'), true)
})

test('joins the groups of one user agent, and shares the rules of several', () => {
  const text = lines(
    'User-agent: Other',
    'User-agent: Talkshelf',
    'Disallow: /a',
    'Sitemap: https://example.org/sitemap.xml',
    'Disallow: /b',
    'User-agent: Other',
    'Disallow: /c',
    'User-agent: talkshelf',
    'Crawl-delay: 10',
    'Disallow: /d',
  )
  assert.deepEqual(
    ['/a', '/b', '/c', '/d'].map((path) => allowed(text, path)),
    [false, false, true, false],
  )
  // Other lines between user agents do not separate them.
  const listed = lines('User-agent: Talkshelf', 'Sitemap: /x', 'User-agent: Other', 'Disallow: /a')
  assert.equal(allowed(listed, '/a'), false)
  assert.equal(allowed('Disallow: /a', '/a'), true)
})

test('the longest matching rule decides; if two are equally long, the path is allowed', () => {
  assertPaths(['Disallow: /', 'Allow: /talks/', 'Disallow: /talks/private'], {
    '/': false,
    '/talks/1': true,
    '/talks/private/1': false,
  })
  assertPaths(['Allow: /page', 'Disallow: /page'], { '/page': true })
  assertPaths(['Disallow: /*.gif', 'Allow: /a'], { '/a.gif': false, '/a': true })
  assertPaths(['Disallow:'], { '/': true })
  assertPaths(['Disallow: /', 'Allow: /$'], { '/': true, '/a': false })
})

test('understands wildcards and the end of a path', () => {
  assertPaths(['Disallow: /fish*'], { '/fish': false, '/fish/salmon': false, '/a/fish': true })
  assertPaths(['Disallow: /*.php'], { '/a.php': false, '/a/b.php?x=1': false, '/php': true })
  assertPaths(['Disallow: /*.php$'], { '/a.php': false, '/a.php?x=1': true, '/.phpa.php': false })
  assertPaths(['Disallow: /a*b*c$'], {
    '/abc': false,
    '/a1b2c': false,
    '/abcd': true,
    '/acb': true,
  })
  assertPaths(['Disallow: /a**b'], { '/a1b': false })
  assertPaths(['Disallow: *'], { '/a': false })
  assertPaths(['Disallow: /a$b'], { '/a$b': false, '/a': true })
  assertPaths(['Disallow: /ab*ba$'], { '/aba': true, '/abba': false, '/ab1ba': false })
  assertPaths(['Disallow: private'], { '/private': true })
})

test('compares paths in any encoding, as the examples of RFC 9309', () => {
  assertPaths(['Disallow: /foo/bar?baz=quz'], { '/foo/bar?baz=quz': false })
  assertPaths(['Disallow: /foo/bar?baz=https://foo.bar'], {
    '/foo/bar?baz=https%3A%2F%2Ffoo.bar': false,
  })
  assertPaths(['Disallow: /foo/bar/%62%61%7A'], { '/foo/bar/baz': false })
  assertPaths(['Disallow: /foo/bar/ツ'], { '/foo/bar/%E3%83%84': false, '/foo/bar/ツ': false })
  assertPaths(['Disallow: /foo/bar/%e3%83%84'], { '/foo/bar/%E3%83%84': false })
  assertPaths(['Disallow: /foo/%2A'], { '/foo/*': false, '/foo/%2a': false, '/foo/a': true })
  assertPaths(['Disallow: /foo%24'], { '/foo$': false, '/foo': true })
  assertPaths(['Disallow: /100%'], { '/100%': false, '/100%25': false, '/100': true })
})

test('reads any line endings, comments and spaces, and skips what it does not know', () => {
  const text =
    '\ufeff# Robots\r\nUSER-AGENT : *   # all\r\rdisallow:/a # b\n\n  Disallow :  /c  \nNonsense\n:\n'
  assert.deepEqual(parseRobots(text), { allow: [], disallow: ['/a', '/c'] })
})

test('robots.txt itself is always allowed', () => {
  assertPaths(['Disallow: /'], { '/robots.txt': true, '/robots.txt2': false, '/': false })
})

test('a missing file allows everything, and a host that fails says nothing', () => {
  const body = 'User-agent: *\nDisallow: /a'
  const expected = [
    [{ status: 200, body }, false, true],
    [{ status: 404, body }, true, true],
    [{ status: 403, body }, true, true],
    [{ status: 410, body }, true, true],
    [{ status: 302, body }, true, true],
  ] as const
  for (const [answer, a, b] of expected) {
    const robots = robotsOf(answer)
    assert.ok(robots)
    assert.deepEqual([isAllowedBy(robots, '/a'), isAllowedBy(robots, '/b')], [a, b])
  }
  for (const status of [429, 500, 503]) assert.equal(robotsOf({ status, body }), undefined)
})

test('reads 500 KiB and leaves out the line that is cut', () => {
  const start = 'User-agent: *\nDisallow: /first\n'
  const padding = '#'.repeat(maxRobotsBytes - start.length - 12)
  // The limit is behind "Disallow: /x".
  const text = `${start}${padding}\nDisallow: /xyz\nDisallow: /last`
  assert.deepEqual(parseRobots(text).disallow, ['/first'])
  const wide = `${start}${'ä'.repeat(maxRobotsBytes)}\nDisallow: /last`
  assert.deepEqual(parseRobots(wide).disallow, ['/first'])
})

const tokens = fc.constantFrom(
  ...[
    'User-agent: *\n',
    'User-agent: Talkshelf\n',
    'Allow: ',
    'Disallow: ',
    '/',
    '*',
    '$',
    '\n',
    '\r',
  ],
  ...['#', ':', '%', '%2', '%2A', '%41', '%e3%83%84', 'ツ', '\ud83d', '\u0000', 'a', 'b', ' ', '?'],
)
const texts = fc.array(tokens, { maxLength: 60 }).map((parts) => parts.join(''))
const paths = fc.array(tokens, { maxLength: 20 }).map((parts) => `/${parts.join('')}`)

test('stores as ASCII whatever it reads, and means the same afterwards', () => {
  fc.assert(
    fc.property(texts, paths, (text, path) => {
      const robots = parseRobots(text)
      const json = JSON.stringify(robots)
      assert.match(json, /^[\x20-\x7e]*$/)
      const stored = JSON.parse(json) as Robots
      assert.equal(isAllowedBy(stored, path), isAllowedBy(robots, path))
    }),
    { numRuns: 2000 },
  )
})

test('matches as a regular expression does', () => {
  const pattern = fc.array(fc.constantFrom('a', 'b', '/', '*', '%41', 'A'), { maxLength: 8 })
  const path = fc.array(fc.constantFrom('a', 'b', '/', 'A'), { maxLength: 12 })
  fc.assert(
    fc.property(pattern, fc.boolean(), path, (parts, isAnchored, octets) => {
      const rule = `/${parts.join('')}${isAnchored ? '$' : ''}`
      const decoded = parts.map((part) => (part === '%41' ? 'A' : part)).join('')
      const expression = new RegExp(`^/${decoded.replaceAll('*', '.*')}${isAnchored ? '$' : ''}`)
      const text = `/${octets.join('')}`
      assert.equal(
        allowed(`User-agent: *\nDisallow: ${rule}`, text),
        !expression.test(text),
        `${rule} ${text}`,
      )
    }),
    { numRuns: 5000 },
  )
})

test('finds parts that repeat themselves', () => {
  const word = (maxLength: number) =>
    fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength })
  fc.assert(
    fc.property(word(7), word(40), (part, text) => {
      assert.equal(allowed(`User-agent: *\nDisallow: /*${part}`, `/${text}`), !text.includes(part))
    }),
    { numRuns: 5000 },
  )
  assertPaths(['Disallow: /*aabaaaa'], { '/aabaaabaaaa': false })
})

test('reads hostile files in the time of their size', () => {
  const long = 'a'.repeat(2000)
  const rule = (pattern: string) => `Disallow: ${pattern}\n`
  const fill = (line: string) =>
    `User-agent: *\n${line.repeat(Math.floor(maxRobotsBytes / line.length))}`
  const files = [
    fill(rule(`/${'*a'.repeat(500)}b`)),
    fill(rule(`/*${'a'.repeat(900)}b`)),
    fill(rule(`/*b${'a'.repeat(900)}`)),
    fill(rule('/*a$')),
    fill(rule(`/${'%61'.repeat(500)}`)),
    fill('User-agent: Talkshelf\n'),
    fill(':'),
    fill('\r\n'),
    '*'.repeat(maxRobotsBytes),
    fill(`${' '.repeat(1000)}:`),
  ]
  // A search of quadratic time would take longer than the timeout of test files.
  for (const file of files) {
    const robots = parseRobots(file)
    assert.ok(robots.disallow.length <= 10_000)
    isAllowedBy(robots, `/${long}`)
  }
})
