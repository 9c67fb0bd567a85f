import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { mock, test } from 'node:test'
import { type CallOptions, type Reply, startArchive } from '../support/harness.ts'

// Compares responses byte for byte, including headers, with contract/golden.
// `UPDATE_GOLDEN=1 npm test -- golden` rewrites the files; the diff shows what changes for clients.

// A fixed clock, so that times and ETags are always the same.
mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 2, 14, 15, 9, 26, 535) })
const archive = await startArchive({ PUBLIC_URL: 'https://talks.example.org/archive' })
const { editor: token, admin } = archive
const base = '/archive/api/v2'

const talk = {
  title: 'Grüße aus dem Ω-Raum: <b>Escaping</b> & other "arts" 🎤',
  category: 'Example Days 2026',
  language: 'de',
  speakers: ['Zoë Ångström', ' 李 雷 '],
  tags: ['unicode', 'html', 'unicode'],
  state: 1 as const,
  summary: 'Two lines\nand a tab\t.',
  duration: 1832,
  copyright_text: 'CC BY 4.0',
  thumbnail_url: 'https://img.example.org/1.jpg',
  video_mp4_length: 9007199254740991,
  video_mp4_url: 'https://media.example.org/talk.mp4',
  video_ogv_url: '',
  source_url: 'https://www.youtube.com/watch?v=abcdefghijk&t=3',
  recorded: '2026-02-28',
}

interface Exchange {
  name: string
  method: string
  path: string
  options?: CallOptions
}

const exchanges: Exchange[] = [
  { name: '01-create', method: 'POST', path: '/video', options: { token, body: talk } },
  { name: '02-read-as-documented', method: 'GET', path: '/video/1' },
  {
    name: '03-read-as-json',
    method: 'GET',
    path: '/video/1',
    options: { headers: { accept: 'application/json' } },
  },
  { name: '04-read-with-a-token', method: 'GET', path: '/video/1?format=json', options: { token } },
  { name: '05-head', method: 'HEAD', path: '/video/1' },
  { name: '06-options', method: 'OPTIONS', path: '/video/1' },
  {
    name: '07-not-modified',
    method: 'GET',
    path: '/video/1',
    options: { headers: { 'if-none-match': '*' } },
  },
  {
    name: '08-patch',
    method: 'PATCH',
    path: '/video/1',
    options: {
      token,
      body: { summary: '', speakers: ['李 雷'], duration: null },
      headers: { 'if-match': '*' },
    },
  },
  {
    name: '09-stale',
    method: 'PATCH',
    path: '/video/1',
    options: { token, body: { summary: 'late' }, headers: { 'if-match': '"1.1.AAAAAAAA"' } },
  },
  {
    name: '10-wrong-fields',
    method: 'PUT',
    path: '/video/1',
    options: {
      token,
      body: {
        title: ' ',
        category: 'Exampel Days 2026',
        duration: -1,
        speakers: ['', 'Ann'],
        nonsense: true,
      },
    },
  },
  {
    name: '11-malformed',
    method: 'PATCH',
    path: '/video/1',
    options: { token, raw: '{"title":"a","title":"b"}' },
  },
  { name: '12-no-token', method: 'PATCH', path: '/video/1', options: { body: { summary: 'x' } } },
  { name: '13-not-found', method: 'GET', path: '/video/2' },
  { name: '14-method', method: 'DELETE', path: '/video/1' },
  { name: '15-revisions', method: 'GET', path: '/video/1/revisions', options: { token } },
  { name: '16-revision', method: 'GET', path: '/video/1/revisions/1', options: { token } },
  { name: '17-category', method: 'GET', path: '/category/example-days-2026' },
  {
    name: '18-takedown',
    method: 'POST',
    path: '/video/1/takedown',
    options: { token: admin, body: { reason: 'The speaker asked for it' } },
  },
  { name: '19-taken-down', method: 'GET', path: '/video/1' },
]

for (const { name, method, path, options = {} } of exchanges)
  test(`${name.slice(3).replaceAll('-', ' ')}: ${method} ${path}`, async () => {
    const reply = await archive.call(method, base + path, options)
    const file = new URL(`../../contract/golden/${name}.txt`, import.meta.url)
    const text = formatExchange(method, base + path, options, reply)
    if (process.env.UPDATE_GOLDEN) writeFileSync(file, text)
    assert.ok(existsSync(file), `no ${name}.txt yet: UPDATE_GOLDEN=1 npm test -- golden`)
    assert.equal(text, readFileSync(file, 'utf8'))
  })

function formatExchange(
  method: string,
  path: string,
  { token: requestToken, headers = {}, body, raw }: CallOptions,
  reply: Reply,
): string {
  const requestHeaders = Object.entries({
    ...(requestToken !== undefined && { authorization: 'Token ...' }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\n`)
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  // These headers depend on the connection and the time.
  const { date: _, connection: _c, 'keep-alive': _k, ...stableHeaders } = reply.headers
  const responseHeaders = Object.entries(stableHeaders)
    .sort()
    .map(([name, value]) => `${name}: ${value}\n`)
  const id = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
  const requestBody = payload === undefined ? '' : `\n${payload}\n`
  const text = `${method} ${path}
${requestHeaders.join('')}${requestBody}
${'-'.repeat(80)}
${reply.status} ${STATUS_CODES[reply.status]}
${responseHeaders.join('')}
${reply.text}
`
  return text.replaceAll(id, '00000000-0000-0000-0000-000000000000')
}
