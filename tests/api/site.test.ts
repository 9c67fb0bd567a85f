import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import sharp from 'sharp'
import { readSite, SiteError } from '../../server/site/site.ts'
import { call, root, runCommand, spawnServer, startArchive } from '../support/harness.ts'

// The operator's own texts, pictures and colours: SITE_DIR and SITE_CONTACT.

const example = join(root, 'docs/examples/site')
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-site-'))
after(() => rmSync(folder, { recursive: true }))
/** Creates a folder with these files. */
function siteFolder(name: string, files: Readonly<Record<string, string | Buffer>>): string {
  const path = join(folder, name)
  mkdirSync(path)
  for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content)
  return path
}
const problemsOf = async (path: string): Promise<string[]> => {
  const error = await readSite(path, '').then(
    () => assert.fail('The folder was accepted'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof SiteError, String(error))
  return error.message.split('\n').slice(1, -1)
}

const archive = await startArchive({
  SITE_DIR: example,
  SITE_NAME: 'Tidal Talks',
  SITE_CONTACT: 'talks@tidaldays.example',
})
const plain = await startArchive()
const withContact = await startArchive({ SITE_CONTACT: 'talks@tidaldays.example' })
const mounted = await startArchive({
  SITE_DIR: example,
  PUBLIC_URL: 'https://talks.example.org/archive',
})
const talk = await archive.make({ title: 'Waves' })

const get = async (path: string, headers: Record<string, string> = {}, from = archive) => {
  const reply = await from.call('GET', path, { headers: { accept: 'text/html', ...headers } })
  return { ...reply, text: Buffer.from(reply.text, 'latin1').toString() }
}
const spanish = { 'accept-language': 'es' }

test('the texts of the operator are pages, linked in the footer', async () => {
  const home = (await get('/')).text
  for (const [path, title, text] of [
    ['/imprint', 'Imprint', '12345 Example'],
    ['/privacy', 'Privacy', 'Replace this text'],
    ['/contact', 'Contact', 'href="mailto:talks@tidaldays.example"'],
  ] as const) {
    const page = await get(path)
    assert.equal(page.status, 200)
    assert.match(page.text, new RegExp(`<title>${title} · Tidal Talks</title>`))
    assert.equal(page.text.match(/<h1/g)?.length, 1)
    assert.ok(page.text.includes(text), path)
    assert.ok(home.includes(`<a href="${path}">${title}</a>`), path)
    assert.ok(page.text.includes(`<link rel="canonical" href="${archive.url}${path}"`))
    assert.ok(Buffer.byteLength(page.text) < 60_000)
  }
  assert.match(home, /Operated by <a href="https:\/\/tidaldays\.example\/">Tidal Days e\. V\.<\/a>/)
  assert.match(home, /<h1>Every talk about the sea/)
  const sitemap = (await get('/sitemap/page.xml')).text
  assert.match(sitemap, /\/imprint<.*\/privacy</s)
})

test('texts are in the language of the page if there is one, and say theirs', async () => {
  const about = (await get('/about', spanish)).text
  assert.match(about, /<h1 dir="auto">Acerca de Tidal Talks<\/h1>/)
  assert.match((await get('/about')).text, /<h1 dir="auto">About Tidal Talks<\/h1>/)
  const imprint = (await get('/imprint', spanish)).text
  assert.match(imprint, /<h1 lang="en" dir="auto">Imprint<\/h1><div lang="en" dir="auto">/)
  assert.match((await get('/', spanish)).text, /<h1>Todas las charlas sobre el mar/)
})

test('nothing is linked that does not exist', async () => {
  const { text } = await get('/', {}, plain)
  assert.doesNotMatch(text, /imprint|privacy|contact|Operated by|logo|theme\./i)
  for (const path of ['/imprint', '/privacy', '/contact'])
    assert.equal((await get(path, {}, plain)).status, 404)
  assert.match((await get('/about', {}, plain)).text, /<h1 dir="auto">About this archive<\/h1>/)
})

test('the contact is where readers report mistakes', async () => {
  const gone = await archive.make({ title: 'Gone' })
  await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'Asked for' },
  })
  for (const path of ['/suggest', `/video/${talk.id}/${talk.slug}/suggest`, `/video/${gone.id}/x`])
    assert.match((await get(path)).text, /<main.*href="\/contact">Contact the operator/s, path)
  const mail = 'href="mailto:talks@tidaldays.example"'
  const { text } = await get('/suggest', {}, withContact)
  assert.ok(text.includes(`<a ${mail}>Contact the operator`))
  assert.ok(text.includes(`<a ${mail}>Contact</a>`), 'in the footer')
  assert.doesNotMatch((await get('/suggest', {}, plain)).text, /Contact the operator/)
  const { json } = await withContact.call('GET', '/api/v2/openapi.json')
  assert.deepEqual(json.info.contact, { email: 'talks@tidaldays.example' })
})

test('logo, icon and colours are served with a hash, and nothing in them can run', async () => {
  const { text, headers } = await get('/')
  assert.match(headers['content-security-policy'] as string, /manifest-src 'self'/)
  const paths = [...new Set(text.match(/\/site\/[\w.-]+/g))]
  assert.deepEqual(
    paths.map((path) => path.replace(/\.[0-9a-f]{12}\./, '.')).sort(),
    ['/site/favicon.svg', '/site/logo-dark.svg', '/site/logo.svg', '/site/theme.css'].sort(),
  )
  for (const path of paths) {
    const file = await get(path)
    assert.equal(file.status, 200)
    assert.equal(file.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.match(
      file.headers['content-security-policy'] as string,
      /^default-src 'none';.*sandbox$/,
    )
    assert.equal(file.headers['x-content-type-options'], 'nosniff')
    const type = path.endsWith('.svg') ? 'image/svg+xml' : 'text/css; charset=utf-8'
    assert.equal(file.headers['content-type'], type)
  }
  assert.equal((await get('/site/logo.000000000000.svg')).status, 404)
  const light = (await get('/', { cookie: 'theme=light' })).text
  assert.doesNotMatch(light, /logo-dark/)
  const dark = (await get('/', { cookie: 'theme=dark' })).text
  assert.match(dark, /<img class="logo" src="\/site\/logo-dark\./)
})

test('the icon is the favicon, and in the web manifest', async () => {
  const ico = await archive.call('GET', '/favicon.ico')
  const bytes = Buffer.from(ico.text, 'latin1')
  assert.equal(bytes.readUInt16LE(2), 1)
  const small = await sharp(bytes.subarray(22)).raw().toBuffer({ resolveWithObject: true })
  assert.deepEqual([small.info.width, small.info.height, small.info.channels], [32, 32, 4])
  const middle = small.data.subarray((5 * 32 + 16) * 4, (5 * 32 + 16) * 4 + 4)
  assert.deepEqual([...middle], [0x0e, 0x74, 0x90, 255], 'the colour of the icon')
  assert.match((await get('/favicon.svg')).text, /#a5f3fc/)
  const manifest = await archive.call('GET', '/site.webmanifest')
  assert.equal(manifest.headers['content-type'], 'application/manifest+json')
  assert.equal(manifest.json.name, 'Tidal Talks')
  assert.deepEqual(
    manifest.json.icons.map(({ sizes }: { sizes: string }) => sizes),
    ['any', '192x192', '512x512'],
  )
  for (const { src, sizes } of manifest.json.icons.slice(1)) {
    const icon = Buffer.from((await archive.call('GET', src)).text, 'latin1')
    const { width, height, format } = await sharp(icon).metadata()
    assert.deepEqual([`${width}x${height}`, format], [sizes, 'png'])
  }
  const feed = await archive.call('GET', '/video/json')
  assert.match(feed.json.icon, /\/site\/icon-512\.[0-9a-f]{12}\.png$/)
  const other = await plain.call('GET', '/site.webmanifest')
  assert.deepEqual(other.json.icons[0].src, '/favicon.svg')
})

test('links have the base path', async () => {
  const { text } = await get('/archive/about', {}, mounted)
  assert.match(text, /<a href="\/archive\/suggest">Tell us/)
  assert.match(text, /href="\/archive\/imprint"/)
  assert.match(text, /src="\/archive\/site\/logo\./)
  const manifest = await mounted.call('GET', '/archive/site.webmanifest')
  assert.equal(manifest.json.start_url, '/archive/')
  assert.ok(manifest.json.icons.every(({ src }: { src: string }) => src.startsWith('/archive/')))
})

test('pictures are encoded again, without what else is in the file', async () => {
  const pixels = {
    create: { width: 800, height: 200, channels: 4, background: '#0e749080' },
  } as const
  const png = await sharp(pixels)
    .withExif({ IFD0: { Copyright: 'a secret' } })
    .png()
    .toBuffer()
  assert.ok(png.includes('a secret'))
  const path = siteFolder('raster', { 'logo.png': png, 'favicon.png': png })
  const site = await readSite(path, '')
  assert.deepEqual([site.logo?.width, site.logo?.height], [512, 128])
  const [name = ''] = site.files.keys()
  assert.match(name, /^logo\.[0-9a-f]{12}\.webp$/)
  for (const { body } of site.files.values()) assert.ok(!body.includes('a secret'))
  assert.equal(site.icon?.type, 'image/png')
  assert.equal(site.icon?.svg, undefined)
})

test('hostile texts become harmless', async () => {
  const path = siteFolder('hostile', {
    'imprint.md':
      '# <b>Imprint</b>\n\n#### Deep\n\n<script>alert(1)</script> [x](javascript:alert(1)) ' +
      '[y](data:text/html,x) [z](//evil.example) ![](https://evil.example/a.png) [w](/privacy)',
  })
  const site = await readSite(path, '/base')
  const text = site.text('imprint', 'en')
  assert.equal(text?.title, '<b>Imprint</b>')
  assert.doesNotMatch(text.html, /<script|href="(javascript|data|\/\/)|<img/)
  assert.match(text.html, /<h2>Deep<\/h2>/)
  assert.match(text.html, /href="\/base\/privacy"/)
})

test('every mistake in the folder is reported at once', async () => {
  const path = siteFolder('mistakes', {
    'site.json': '{"accent": "green", "tagline": {"fr": "x"}, "logo": "a.png"}',
    'impressum.md': 'x',
    'about.fr.md': 'x',
    'privacy.es.md': 'x',
    'imprint.md': '  ',
    'contact.md': Buffer.from([0xff, 0xfe, 0x41]),
    'about.md': 'x'.repeat(60_001),
    'logo.png': 'not a picture',
    'logo-dark.gif': 'x',
    'favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>',
    'README.md': 'ignored',
    '.hidden': 'ignored',
  })
  const problems = (await problemsOf(path)).join('\n')
  for (const expected of [
    /site\.json accent must/,
    /site\.json tagline\/fr /,
    /site\.json logo /,
    /impressum\.md is not a page of the archive/,
    /about\.fr\.md has a language/,
    /privacy\.es\.md needs privacy\.md/,
    /imprint\.md is empty/,
    /contact\.md is not UTF-8/,
    /about\.md has more than 60000 bytes/,
    /logo\.png is not a picture/,
    /logo-dark\.gif is not used/,
    /favicon\.svg has a <script> element/,
    /favicon\.svg has neither a viewBox/,
  ])
    assert.match(problems, expected)
  assert.doesNotMatch(problems, /README|hidden/)
})

test('broken files are refused, whatever they are', async () => {
  assert.match((await problemsOf(join(folder, 'nowhere'))).join(), /cannot be read/)
  const files = siteFolder('odd', { 'site.json': '{', 'x.txt': 'ignored' })
  mkdirSync(join(files, 'about.md'))
  execFileSync('mkfifo', [join(files, 'imprint.md')])
  symlinkSync('/dev/zero', join(files, 'privacy.md'))
  symlinkSync('nowhere', join(files, 'contact.md'))
  const problems = (await problemsOf(files)).join('\n')
  assert.match(problems, /site\.json is not JSON/)
  for (const name of ['about', 'imprint', 'privacy'])
    assert.match(problems, new RegExp(`${name}\\.md is not a file`))
  assert.match(problems, /contact\.md cannot be read/)
})

test('a server with a broken folder does not start; a corrected one is read at the next start', async () => {
  const path = join(folder, 'restart')
  cpSync(example, path, { recursive: true })
  writeFileSync(join(path, 'site.json'), '{"accent": 1}')
  const environment = { DATABASE_URL: plain.databaseUrl, SITE_DIR: path }
  for (const args of [['serve'], ['serve', '--processes', '2']]) {
    const { code, stderr, stdout } = await runCommand(args, environment)
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^SITE_DIR has mistakes:\n {2}site\.json accent .*\nSee docs\/site\.md\.\n$/,
    )
    assert.equal(stdout, '')
  }
  writeFileSync(join(path, 'site.json'), '{}')
  const server = await spawnServer(environment)
  const read = async () => (await call(server.url, 'GET', '/imprint')).text
  assert.match(await read(), /Harbour Street/)
  writeFileSync(join(path, 'imprint.md'), 'Another')
  assert.match(await read(), /Harbour Street/, 'files are read at the start')
})

test('a contact that is neither a mail address nor a URL stops the server', async () => {
  for (const contact of [
    'nobody',
    'http://example.org/',
    'javascript:alert(1)',
    'a@b.c?bcc=d@e.f',
  ]) {
    const settings = { DATABASE_URL: plain.databaseUrl, SITE_CONTACT: contact }
    const { code, stderr } = await runCommand(['config'], settings)
    assert.equal(code, 1, contact)
    assert.match(stderr, /SITE_CONTACT must be/)
  }
})
