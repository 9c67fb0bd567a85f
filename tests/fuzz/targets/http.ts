import { ProblemDocument, validatorFor } from '@talkshelf/contract'
import { signs } from '../../support/hostile-queries.ts'
import { type FuzzReply, sendBytes } from '../service.ts'
import {
  assertProperty,
  decodeInput,
  type FuzzTarget,
  inputWords,
  type TargetService,
  textLines,
} from '../target.ts'
import { jsonTokens, talkJson } from './json.ts'

// Requests over real connections to the app and PostgreSQL.

const problem = validatorFor(ProblemDocument)

const pages = textLines(`
  /
  /search?q=queues&year=2019&page=1
  /about
  /category
  /speaker?letter=a&page=1
  /tag
  /video/1/ten-years-of-tiny-queues?t=1m30s
  /embed/1?t=5
  /category/1/example-days-2026
  /speaker/1/ada-lovelace?page=1
  /tag/1
  /language/english
  /year/2019?page=2
  /prefer?locale=es&theme=dark&to=/search
  /video/rss
  /search/rss?q=python
  /sitemap.xml
  /sitemap/pages.xml
  /robots.txt
  /oembed?url=http://localhost/video/1&format=json&maxwidth=100
  /picture/1/320
  /picture/2/preview
  /api
  /healthz
  /favicon.svg
`)
const calls = textLines(`
  /api/v2/video
  /api/v2/video?tag=queues&ordering=-recorded&page=1&page_size=2
  /api/v2/video?q=queues&include=facets,snippets&cursor=
  /api/v2/video?updated_since=2020-01-01T00:00:00Z&recorded_after=2019-01-01
  /api/v2/video?source_url=https://example.org/&duration=short&language=english
  /api/v2/video?category=example-days-2026&speaker=ada-lovelace&year=2019
  /api/v2/video/1
  /api/v2/video/1/revisions
  /api/v2/video/1/revisions/1
  /api/v2/video/1/related
  /api/v2/video/1/facts
  /api/v2/category?page=1
  /api/v2/speaker/ada-lovelace
  /api/v2/tag/queues
  /api/v2/language
  /api/v2/suggest?q=que
  /api/v2/openapi.json
  /api/v2/export.ndjson?after=2
`)
const urlTokens = inputWords(`
  / ? & = % %2f %00 %ff .. ; + # // page= page_size= cursor= ordering=-title q= format=json year=
  letter= tag= [] __proto__= 0 -1 2147483648 9007199254740993 1e3 rss .json
  /api/v2/ /video/ /picture/
`)
const headers = textLines(`
  Accept: application/json
  Accept-Language: es
  Accept-Encoding: br, gzip
  Cookie: locale=es; theme=dark
  If-None-Match: "1.1.x"
  If-Match: "1.1.x"
  If-Modified-Since: Wed, 21 Oct 2026 07:28:00 GMT
  Idempotency-Key: "a"
  Range: bytes=0-1
  Authorization: Token talkshelf_x
  Content-Type: application/merge-patch+json; charset=utf-8
  Content-Encoding: gzip
  X-Forwarded-For: 1.2.3.4
  X-Forwarded-Proto: https
  Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
  Origin: null
  Access-Control-Request-Method: GET
  X-Request-Id: a
  DNT: 1
`)
const headerTokens = [
  ...headers.map((line) => `${line.split(':', 1)[0]}: `),
  ...['\n', '"', 'W/', ';q=', ',', '*', 'bytes=-', '\xff', '-1', 'utf-16'],
]
/** Headers that delimit a request. They are not mutated here, but by `HTTP bytes`. */
const framing =
  /^\s*(host|connection|content-length|transfer-encoding|expect|upgrade|te|trailer|keep-alive)\b/i

const headerRequests = textLines(`
  GET /api/v2/video/1
  GET /api/v2/video
  GET /
  GET /video/rss
  PATCH /api/v2/video/2
  POST /api/v2/video
  GET /sitemap.xml
`)

const writes: readonly (readonly [string, string])[] = [
  ['PATCH /api/v2/video/2', '{"title":"Another","speakers":["A","B"],"description":"x"}'],
  ['PUT /api/v2/video/2', talkJson],
  ['POST /api/v2/video', talkJson],
  [
    'PATCH /api/v2/category/example-days-2026',
    '{"url":"https://example.org/","start_date":"2026-05-17","description":"a","city":"Łódź",' +
      '"country":"PL","online":true,"series":"Days","colour":"#123456",' +
      '"logo_url":"https://example.org/a.png","links":[{"kind":"code","url":"https://a.org/"}]}',
  ],
  [
    'PATCH /api/v2/speaker/maria-jose',
    '{"name":"María José","aliases":[{"name":"M. J."}],"pronouns":"ella","description":"*a*",' +
      '"picture_url":"https://example.org/a.png","links":[]}',
  ],
  ['POST /api/v2/speaker/bjorn-gross/split', '{"name":"Another","videos":[2]}'],
  ['POST /api/v2/tag/gardens/merge', '{"into":"data"}'],
  [
    'PUT /api/v2/video/2/facts',
    '{"facts":[{"kind":"related","url":"https://example.org/","label":null}]}',
  ],
  ['POST /api/v2/video/5/takedown', '{"reason":""}'],
  ['POST /api/v2/video/2/revisions/1/restore', '{}'],
]

const queries = textLines(`
  queues
  ada "tiny queues" -python
  gardens or 機械
  qeues
  the of and
  'a' & !b <-> c:*
  機
  größe -"x
  c++ .net
`)

/** Raw requests; ¶ is a line break. */
const rawRequests = textLines(`
  GET /api/v2/video/1 HTTP/1.1¶Host: a¶Connection: close¶¶
  HEAD / HTTP/1.0¶¶
  POST /api/v2/video HTTP/1.1¶Host: a¶Transfer-Encoding: chunked¶¶5¶{"a":¶2¶1}¶0¶¶
  PATCH /api/v2/video/1 HTTP/1.1¶Host: a¶Content-Length: 2¶Expect: 100-continue¶¶{}
  OPTIONS * HTTP/1.1¶Host: a¶Upgrade: h2c¶Connection: Upgrade¶¶
  GET http://localhost/api/v2/video HTTP/1.1¶Host: a¶Host: b¶¶
`).map((request) => request.replaceAll('¶', '\r\n'))
const rawTokens = textLines(`
  ¶
  ¶¶
  Host: a¶
  Content-Length: 1
  Content-Type: application/json¶
  Transfer-Encoding: chunked¶
  0¶¶
  Connection: close¶
  PRI * HTTP/2.0¶¶SM¶¶
`).map((token) => token.replaceAll('¶', '\r\n'))

export function httpTargets(service: () => TargetService): readonly FuzzTarget[] {
  const send = (method: string, address: string, lines: readonly string[] = [], body?: Buffer) => {
    const all = [`${method} ${address} HTTP/1.1`, 'Host: localhost', ...lines]
    if (body) all.push(`Content-Length: ${body.length}`)
    const head = Buffer.from(`${all.join('\r\n')}\r\nConnection: close\r\n\r\n`, 'latin1')
    return sendBytes(service().port, body ? Buffer.concat([head, body]) : head)
  }
  const get = async (address: string) => checkReply(await send('GET', address), address)
  const json = ['Content-Type: application/json', 'Accept: application/json']

  return [
    {
      name: 'HTTP URL',
      seeds: [...pages, ...calls],
      dictionary: urlTokens,
      share: 0.8,
      // Encoded, because a line break would end the request line.
      run: (input) => get(encodePath(input)),
    },
    {
      name: 'HTTP headers',
      seeds: [
        ...headerRequests.map((first) => `${first}\n${headers.join('\n')}`),
        ...headers.map((line) => `GET /api/v2/video/1\n${line}`),
      ],
      dictionary: headerTokens,
      share: 0.6,
      async run(input) {
        const [first = '', ...lines] = input.toString('latin1').split(/[\r\n]+/)
        const request = headerRequests.includes(first)
          ? first
          : headerRequests[first.length % headerRequests.length]
        const [method = '', address = ''] = request?.split(' ') ?? []
        const others = lines.filter((line) => /^[\w-]+:/.test(line) && !framing.test(line))
        const isWrite = method !== 'GET'
        const token =
          isWrite && !others.some((line) => /^authorization:/i.test(line))
            ? [`Authorization: Token ${service().editor}`]
            : []
        const type =
          isWrite && !others.some((line) => /^content-type:/i.test(line))
            ? ['Content-Type: application/json']
            : []
        const body = isWrite ? Buffer.from('{"summary":"x"}') : undefined
        checkReply(await send(method, address, [...others, ...token, ...type], body), address)
      },
    },
    {
      name: 'HTTP body',
      seeds: writes.map(([first, body]) => `${first}\n${body}`),
      dictionary: [
        ...jsonTokens,
        ...inputWords(
          '"name": "aliases": "videos": "into": "facts": "reason": "url": "start_date":',
        ),
      ],
      share: 0.8,
      async run(input) {
        const end = input.indexOf(10)
        const first = input.toString('latin1', 0, Math.max(0, end))
        const [request] = writes.find(([line]) => line === first) ??
          writes[input.length % writes.length] ?? ['']
        const [method = '', address = ''] = request.split(' ')
        const { admin, editor } = service()
        const token = `Authorization: Token ${address.endsWith('/takedown') ? admin : editor}`
        checkReply(await send(method, address, [...json, token], input.subarray(end + 1)), address)
      },
    },
    {
      name: 'HTTP bytes',
      seeds: rawRequests,
      dictionary: [...inputWords('GET : HTTP/1.1 HTTP/2.0 chunked CONNECT'), ...rawTokens],
      share: 0.2,
      async run(input) {
        const { status } = await sendBytes(service().port, input, false)
        assertProperty(status < 500, 'status 5xx', status)
      },
    },
    {
      name: 'search over HTTP',
      seeds: queries,
      dictionary: [...signs, ...inputWords('<-> :A 機械 ه language:1 queues'), ' or ', ' ', '\t'],
      share: 0.4,
      async run(input) {
        const q = encodeURIComponent(decodeInput(input).slice(0, 300).toWellFormed())
        const path = [
          '/api/v2/video?include=facets,snippets&',
          '/api/v2/suggest?',
          '/search?',
          '/api/v2/video?ordering=title&',
        ][input.length % 4]
        const reply = await send('GET', `${path}q=${q}`)
        checkReply(reply, path ?? '')
        // The archive is tiny: no query may be too expensive.
        assertProperty(!reply.body.includes('too-expensive'), 'a query is too expensive')
      },
    },
    {
      name: 'cursor over HTTP',
      seeds: [
        '{"ordering":"-recorded,title","way":"next","keys":["2019-05-17","Python","2"]}',
        '{"ordering":"title","way":"previous","keys":["State","5"]}',
        '{"ordering":"added","way":"next","keys":["2026-01-01T00:00:00.000Z","1"]}',
        '{"ordering":"duration","way":"next","keys":["-1","1"]}',
      ],
      dictionary: [
        ...jsonTokens,
        ...inputWords(
          '-infinity infinity 0001-01-01 9999-12-31 2147483648 "way":"previous" T24:00:00.000Z',
        ),
      ],
      share: 0.2,
      async run(input) {
        const ordering =
          /"ordering":"([-,a-z]{1,60})"/.exec(input.toString('latin1', 0, 200))?.[1] ?? 'title'
        const cursor = input.toString('base64url').slice(0, 12_000)
        await get(`/api/v2/video?ordering=${ordering}&cursor=${cursor}`)
      },
    },
  ]
}

/** Percent-encodes the bytes that cannot be in a request line. */
function encodePath(input: Buffer): string {
  const path = input
    .toString('latin1')
    .replaceAll(
      /[^!-~]/g,
      (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
    )
  return path.startsWith('/') ? path : `/${path}`
}

function checkReply({ status, headers, body }: FuzzReply, address: string): void {
  assertProperty(status > 0, 'no response')
  // oEmbed requires 501 for an unknown format.
  assertProperty(status < 500 || (status === 501 && address.startsWith('/oembed')), 'status 5xx', {
    status,
    body: body.toString('latin1', 0, 300),
  })
  if (status < 400 || !address.startsWith('/api/v2/')) return
  const type = headers.get('content-type')
  assertProperty(type === 'application/problem+json', 'an error that is not a problem document', {
    status,
    type,
  })
  const document = parseJson(body)
  assertProperty(
    problem.Check(document) && (document as { status: number }).status === status,
    'a malformed problem document',
    document,
  )
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
