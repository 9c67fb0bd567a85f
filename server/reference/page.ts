import { createHash } from 'node:crypto'
import {
  Category,
  type Endpoint,
  endpoints,
  type ProblemName,
  problems,
  problemsOf,
  QualityFinding,
  RevisionSummary,
  requestHeaders,
  resourceOf,
  schemaName,
  streamEndpoints,
  Video,
  VideoInput,
  videoDefaults,
} from '@talkshelf/contract'
import type { TSchema } from 'typebox'
import { toJson } from '../platform/http/json.ts'
import { STATUS_CODES } from '../platform/http/node-http.ts'
import { version } from '../version.ts'
import {
  conversationExample,
  curlExample,
  escapingExample,
  idVariable,
  openapiExamples,
  problemExample,
  videoExample,
} from './examples.ts'
import { Html, type HtmlPart, html, prose } from './html.ts'
import { referenceScript } from './script.ts'
import { referenceStyle } from './style.ts'

// Renders the API reference from the contract: endpoints, fields and problems. Only the
// introduction is written here.

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64')
export const referencePolicy =
  `default-src 'none'; script-src 'sha256-${hashOf(referenceScript)}'; ` +
  `style-src 'sha256-${hashOf(referenceStyle)}'; ` +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const allEndpoints: readonly Endpoint[] = [
  ...Object.values(endpoints),
  ...Object.values(streamEndpoints),
]

// Rendering takes some milliseconds. The base URL is the same for the life of a process, so the
// cache has one entry.
const pageCache = new Map<string, string>()

/** Returns the reference page. `base` is the URL of the archive without a trailing slash. */
export function referencePage(base: string): string {
  const page = pageCache.get(base) ?? renderReference(base)
  pageCache.set(base, page)
  return page
}

/** Returns the page that explains a kind of problem: the URL in its `type`. */
export function problemReferencePage(name: ProblemName, base: string): string {
  const { status, title, explain } = problems[name]
  const reference = `${root(base)}/api`
  const affected = allEndpoints.filter((endpoint) => problemsOf(endpoint).includes(name))
  const content = html`
<main id="main" class="alone">
  <p class="route"><span class="status">${status} ${STATUS_CODES[status]}</span>
  <code>${name}</code></p>
  <h1>${title}</h1>
  <h2 class="part">What happened</h2>
  <p>${prose(explain)}</p>
  <h2 class="part">What to do next</h2>
  <p>${prose(advice[status] ?? advice.other)}</p>
  ${figure('Example response, application/problem+json', problemExample(name, base))}
  <h2 class="part">Endpoints that can return it</h2>
  ${endpointChips(affected, reference)}
  <footer><a href="${reference}">Back to the reference</a>, or to
  <a href="${reference}#problems">all problems</a></footer>
</main>`
  return page(`${title} (${name})`, base, content, html`<a href="${reference}">Reference</a>`)
}

function endpointChips(endpoints: readonly Endpoint[], reference: string): Html {
  if (endpoints.length === 0) return html`<p>Any, before the request is routed.</p>`
  const chips = endpoints.map((endpoint) => {
    const { name, summary } = endpoint
    return html`<li><a href="${reference}#${name}">${method(endpoint)} ${summary}</a></li>`
  })
  return html`<ul class="chips">${chips}</ul>`
}

function renderReference(base: string): string {
  const groups = Map.groupBy<string, Endpoint>(
    allEndpoints,
    (endpoint) => resourceOf(endpoint).title,
  )
  const entry = (id: string, text: HtmlPart) => html`<li><a href="#${id}">${text}</a></li>`
  const endpointEntry = (endpoint: Endpoint) =>
    entry(endpoint.name, [method(endpoint), ' ', endpoint.summary])
  const content = html`
<section class="hero two" aria-labelledby="title"><div class="say">
  <h1 id="title">Talkshelf API</h1>
  <p class="lead">Read and edit the records of recorded talks. Every version is kept.
  This is version 2 of the API; it never changes in a way that breaks clients.</p>
  <p>Also available as an OpenAPI 3.1 document:
  <a href="${root(base)}${endpoints.readOpenapi.path}">openapi.json</a>.</p>
</div><div class="show">
${figure('Try it', curlExample(endpoints.readVideo, base), 'command')}
</div></section>
<nav id="contents" aria-label="Contents">
  <h2>Getting started</h2>
  <ul>${Object.entries(chapters).map(([id, { title }]) => entry(id, title))}</ul>
  ${[...groups].map(
    ([group, members]) => html`<h2>${group}</h2>
  <ul>${members.map(endpointEntry)}</ul>`,
  )}
  <h2>Schemas and problems</h2>
  <ul>${[...sharedSchemas.values()].map(({ id, title }) => entry(id, title))}
  ${entry('problems', 'All problems')}</ul>
</nav>
<main id="main">
${Object.entries(chapters).map(([id, chapter]) => chapterSection(id, chapter, base))}
${[...groups].map(
  ([group, members]) => html`<h2 class="group">${group}</h2>
${members.map((endpoint) => endpointSection(endpoint, base))}`,
)}
<h2 class="group">Schemas and problems</h2>
${[...sharedSchemas].map(([schema, info]) => schemaSection(schema, info))}
${problemsSection(base)}
<footer>Talkshelf ${version}. This page is generated from the definitions that validate every
request.</footer>
</main>`
  return page(
    'Talkshelf API v2',
    base,
    content,
    html`<a class="contents-link" href="#contents">Contents</a>`,
  )
}

// What to do next, by status.
const advice: Record<number, string> & { other: string } = {
  401: 'Check the token before you retry.',
  403: 'Ask the operators of the archive for a token with the required role.',
  404: 'Check the URL: ids have no leading zeros, and slugs are lowercase.',
  408: 'Send the request again without pauses.',
  410: 'Remove it from your copy. Retrying does not help.',
  412:
    'Read the record again, check what changed, and repeat your change with the new ETag in ' +
    '`If-Match`.',
  500: 'Try again later. If the error persists, report its `instance` to the operators.',
  503: 'Wait for the number of seconds in `Retry-After`, then retry the same request.',
  other: 'Correct the request before you send it again. The same request fails again.',
}

interface Chapter {
  readonly title: string
  readonly text: readonly string[]
  readonly example?: (base: string) => Html
}

const chapters: Record<string, Chapter> = {
  authentication: {
    title: 'Authentication',
    text: [
      'Live records are public. To make changes, send a token: `Authorization: Token <key>` or ' +
        '`Authorization: Bearer <key>`.',
      'A token has a role. An **editor** can change records and see drafts and history; an ' +
        '**admin** can also take records down. The required role is next to the path of each ' +
        'endpoint.',
      'Commands on this page that change a record, an import, a match, a webhook, a followed source ' +
        'or a suggestion take its id from the variable `VIDEO_ID`, `IMPORT_ID`, `MATCH_ID`, ' +
        '`WEBHOOK_ID`, `FOLLOWED_SOURCE_ID` or `SUGGESTION_ID`, and do nothing until you set it.',
      'The operators of the archive create tokens with `talkshelf token create`. An invalid ' +
        'token is always rejected, even if the endpoint does not require one.',
    ],
    example: () =>
      figure(
        'Run this once per terminal to use the commands on this page',
        "printf 'Token: '; read -r TOKEN",
        'command',
      ),
  },
  forms: {
    title: 'text/html or application/json',
    text: [
      'Every body is JSON. For compatibility with old clients, it is sent as `text/html` by ' +
        'default. To get `application/json`, send `Accept: application/json` or add ' +
        '`?format=json` to the URL. The bytes are the same.',
      'A request that accepts neither fails with 406, before anything is written.',
      'Every URL that supports GET also supports HEAD, and all support OPTIONS.',
    ],
    example: (base) =>
      figure('Without a header', curlExample(endpoints.readVideo, base, '?format=json'), 'command'),
  },
  browsers: {
    title: 'Calls from other websites (CORS)',
    text: [
      'Scripts of any website can read what is public: every response has ' +
        '`Access-Control-Allow-Origin: *`. They can also read the headers `ETag`, `Link`, ' +
        '`Location`, `RateLimit`, `Retry-After` and `X-Request-Id`.',
      'They cannot send a token or cookies, and cannot write. A browser first asks with OPTIONS ' +
        'whether it may send `Authorization`, PUT, PATCH or a JSON body, and the answer permits ' +
        'none of them. A token in the script of a page belongs to everyone who opens the page, so ' +
        'keep it on a server, and let your page call that server.',
      'Besides `Accept`, they can send `If-None-Match` and `If-Modified-Since`.',
    ],
    example: (base) =>
      figure('In a page', `const response = await fetch('${base}/api/v2/video?format=json')`),
  },
  versions: {
    title: 'ETag and If-Match',
    text: [
      'The `ETag` of a response identifies its version. Send it in `If-None-Match`, and you ' +
        'get 304 without a body as long as nothing has changed.',
      'Send it in `If-Match` with a change to protect the changes of others: if the record has ' +
        'changed, you get 412 and see who changed which fields. Without `If-Match` the last ' +
        'write wins; every version is kept and can be restored.',
      'If you lose a response, send the same request again: with `If-Match` or an ' +
        '`Idempotency-Key` it takes effect only once.',
    ],
    example: () => figure('Read a record, then change it', conversationExample),
  },
  pages: {
    title: 'Pages of lists',
    text: [
      'A list has `count`, `results`, and the URLs `next` and `previous`, which are null at the ' +
        'ends. Follow `next` instead of counting pages. `page_size` is at most 100.',
      '`page` is for people: if records are added meanwhile, one can appear twice or not at all. ' +
        'To see every record once, begin with an empty `cursor` where the endpoint has one, and ' +
        'follow `next`.',
      'To copy the whole archive, use `/api/v2/export.ndjson`, and then `/api/v2/changes` for what ' +
        'is new.',
    ],
    example: (base) =>
      figure('The first page', curlExample(endpoints.listVideos, base, '?cursor='), 'command'),
  },
  limits: {
    title: 'Limits',
    text: [
      'A read costs 1 point, a list or a search 5, a write 10, and a 304 nothing. If the operators ' +
        'have set a limit of points per minute, responses have `RateLimit-Policy` (`q` points in ' +
        '`w` seconds) and `RateLimit` (`r` points are left, all are back in `t` seconds). Points ' +
        'are counted by token, and without one by IP address.',
      'Beyond the limit you get 429, and while the server is overloaded 503. Both have ' +
        '`Retry-After`: wait for that many seconds. A 503 for a write has `outcome`: ' +
        '`not-applied`, or `unknown`. Then read the record before you repeat the write, or send ' +
        '`If-Match` or an `Idempotency-Key` with it.',
    ],
    example: () =>
      figure(
        'In a response with status 429',
        'RateLimit-Policy: "default";q=600;w=60\nRateLimit: "default";r=0;t=60\nRetry-After: 1',
      ),
  },
  clients: {
    title: 'Clients',
    text: [
      '`@talkshelf/client` is a typed client for Node.js and browsers. It follows pages and the ' +
        'change feed, repeats requests where that is safe, and has an error class for problems.',
      'For other languages, generate a client from the OpenAPI document. Let it send ' +
        '`Accept: application/json` with every request: many clients choose by the type of the ' +
        'response how they read it, and would return a string for text/html.',
    ],
    example: (base) =>
      figure(
        'npm install @talkshelf/client',
        [
          "import { createClient } from '@talkshelf/client'",
          '',
          `const archive = createClient({ baseUrl: ${quoted(base)} })`,
          'for await (const talk of archive.all.listVideos())',
          '  console.log(talk.title)',
        ].join('\n'),
      ),
  },
  errors: {
    title: 'Errors',
    text: [
      'Errors are `application/problem+json` (RFC 9457). `type` is the URL of a page that ' +
        'explains the problem; its last segment is the name to check in programs. `detail` is ' +
        'for people, and `instance` identifies the request in the server log.',
      'All invalid fields are listed in `errors` at once. A rejected request never changes ' +
        'anything.',
    ],
    example: (base) => figure('400 Bad Request', problemExample('invalid-fields', base)),
  },
  json: {
    title: 'JSON encoding',
    text: [
      'Responses are pure ASCII. Other characters are escaped as `\\uXXXX`, and `<`, `>` and ' +
        '`&` as `\\u003c`, `\\u003e` and `\\u0026`, so that a browser never interprets a body ' +
        'sent as text/html as a page. Any JSON parser restores the original.',
      'A request body is a single JSON object in UTF-8, at most 1 MiB and 8 levels deep, ' +
        'without duplicate keys. Lengths are counted in code points. Texts are stored as ' +
        'written; the only control characters allowed are newline, carriage return and tab.',
      'Read-only fields can be sent back and are ignored. Unknown fields are errors.',
    ],
    example: () => figure('Zoë, <b> and Q&A in a response', escapingExample()),
  },
}

interface SharedSchema {
  readonly id: string
  readonly title: string
  readonly example?: () => string
}

// Schemas that several endpoints share are shown once and linked.
const sharedSchemas = new Map<unknown, SharedSchema>([
  [Video, { id: 'video-record', title: 'Video record', example: videoExample }],
  [RevisionSummary, { id: 'revision', title: 'Revision' }],
  [Category, { id: 'category', title: 'Category' }],
  [QualityFinding, { id: 'finding', title: 'Finding' }],
])

function chapterSection(id: string, { title, text, example }: Chapter, base: string): Html {
  return html`<section class="two" id="${id}"><div class="say">
  <h2>${anchor(id, title)}</h2>
  ${text.map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
</div><div class="show">${example?.(base)}</div></section>
`
}

function endpointSection(endpoint: Endpoint, base: string): Html {
  const { name, summary, role, description, warning, params, query, body } = endpoint
  const variable = idVariable(endpoint)
  const caption = variable ? `Example request; set ${variable} first` : 'Example request'
  const path = endpoint.path
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith('{') ? html`<i>${part}</i>` : part))
  const hasQuery = query !== undefined && Object.keys(query).length > 0
  const headers = endpoint.requestHeaders?.map(
    (header) => [html`<code>${header}</code>`, requestHeaders[header]] as const,
  )
  const problemItems = problemsOf(endpoint).map(
    (problem) => html`<li>${problemLink(problem, base)}</li>`,
  )
  return html`<section class="two" id="${name}"><div class="say">
  <h3>${anchor(name, summary)}</h3>
  <p class="route">${method(endpoint)} <code>${path}</code> <span class="role">${role}</span></p>
  ${warning && html`<p class="warning"><strong>Warning:</strong> ${prose(warning)}</p>`}
  ${description && html`<p>${prose(description)}</p>`}
  ${params && html`<h4>Path parameters</h4>${fields(params)}`}
  ${hasQuery && html`<h4>Query parameters, all optional</h4>${fields(query)}`}
  ${headers && html`<h4>Request headers, all optional</h4>${pairs(headers)}`}
  ${body && bodySection(body.schema, body.types)}
  ${responseSection(endpoint)}
  <h4>Problems</h4>
  <ul class="chips">${problemItems}</ul>
</div><div class="show">
${figure(caption, curlExample(endpoint, base), 'command')}
${responseExample(endpoint)}
</div></section>
`
}

/** Shows a golden response of the endpoint, if there is one. */
function responseExample({ response }: Endpoint): Html | false {
  const name = schemaName(response.schema)
  const example = name !== undefined && openapiExamples.responses[name]
  return (
    example !== undefined &&
    example !== false &&
    figure(
      'Example response, with line breaks added',
      JSON.stringify(example, null, 2),
      'text sample',
    )
  )
}

function bodySection(schema: TSchema, types: readonly string[]): Html {
  const { description, properties = {}, required = [] } = schema as Shape
  const table = fields(properties, required, schema === VideoInput ? videoDefaults : {})
  const count = Object.keys(properties).length
  const summary = `${count} fields, ${required.length || 'none'} required`
  const typeNames = types.map((type, index) => html`${index > 0 && ' or '}<code>${type}</code>`)
  return html`<h4>Request body</h4>
  <p>Content type: ${typeNames}. ${description && `${description}.`}</p>
  ${count > 12 ? html`<details><summary>${summary}</summary>${table}</details>` : table}`
}

function responseSection({ response, summary, requestHeaders: supported }: Endpoint): Html {
  const { status, schema, etag, location } = response
  const { description = summary, properties = {} } = schema as Shape
  const isShared = sharedSchemas.has(schema)
  const headers = [etag && 'ETag', location && 'Location'].filter((name) => name !== undefined)
  const headerNames = headers.map(
    (name, index) => html`${index > 0 ? ' and ' : ', with '}<code>${name}</code>`,
  )
  const notModified =
    supported?.includes('If-None-Match') &&
    html`<br><span class="status good">304</span> Not modified since your version`
  const content = isShared ? typeOf(schema as Shape) : description
  return html`<h4>Response</h4>
  <p><span class="status good">${status}</span> ${content}${headerNames}${notModified}</p>
  ${!isShared && Object.keys(properties).length > 0 && fields(properties)}`
}

function schemaSection(schema: unknown, { id, title, example }: SharedSchema): Html {
  return html`<section class="two" id="${id}"><div class="say">
  <h3>${anchor(id, title)}</h3>
  <p>All fields are always present, in this order.</p>
  ${fields((schema as Shape).properties ?? {})}
</div><div class="show">
${example && figure('Example, with line breaks added', example())}
</div></section>
`
}

function problemsSection(base: string): Html {
  const names = Object.keys(problems) as ProblemName[]
  return html`<section id="problems"><div class="say">
  <h3>${anchor('problems', 'All problems')}</h3>
  ${pairs(names.map((name) => [problemLink(name, base), problems[name].title]))}
</div></section>
`
}

/** Renders a table of fields. `required` is for request bodies: responses have all fields. */
function fields(
  shapes: object,
  required: readonly string[] = [],
  defaults: Record<string, unknown> = {},
): Html {
  const rows = Object.entries(shapes).map(([name, shape]: [string, Shape]) => {
    const mark = shape.readOnly
      ? html`<small>read-only</small>`
      : required.includes(name) && html`<small class="required">required</small>`
    const rules = [
      ...ruleOf(shape),
      ...(name in defaults ? [html`default <code>${toJson(defaults[name])}</code>`] : []),
    ]
    return html`
<tr role="row"><td role="cell"><code>${name}</code> ${mark}</td>
<td role="cell">${typeOf(shape)} ${rules.map((rule) => html`<small>${rule}</small> `)}</td>
<td role="cell">${prose(shape.description ?? '')}</td></tr>`
  })
  const headings = ['Name', 'Type and rule', 'Meaning'].map(
    (name) => html`<th role="columnheader">${name}</th>`,
  )
  // On narrow screens CSS changes the layout and removes the table semantics: roles restore it.
  return html`<table class="fields" role="table">
<thead role="rowgroup"><tr role="row">${headings}</tr></thead>
<tbody role="rowgroup">${rows}</tbody></table>`
}

function pairs(entries: readonly (readonly [Html, string])[]): Html {
  const rows = entries.map(([name, text]) => html`<tr><td>${name}</td><td>${prose(text)}</td></tr>`)
  return html`<table class="pairs"><tbody>${rows}</tbody></table>`
}

// The JSON Schema keywords that the contract uses.
interface Shape {
  readonly type?: string
  readonly const?: unknown
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly format?: string
  readonly pattern?: string
  readonly description?: string
  readonly readOnly?: boolean
}

function typeOf(shape: Shape): Html {
  const shared = sharedSchemas.get(shape)
  if (shared) return html`<a href="#${shared.id}">${shared.title}</a>`
  if (shape.anyOf)
    return html`${shape.anyOf.map((branch, index) => [index > 0 && ' or ', typeOf(branch)])}`
  if (shape.items) return html`array of ${typeOf(shape.items)}`
  return html`${shape.const === undefined ? (shape.type ?? 'any') : toJson(shape.const)}`
}

const formats: Record<string, string> = {
  address: 'http or https URL, or empty',
  date: 'YYYY-MM-DD',
}

function ruleOf(shape: Shape): Html[] {
  const {
    minLength,
    maxLength,
    minimum,
    maximum,
    maxItems,
    format = '',
    pattern,
    anyOf = [],
    items,
    readOnly,
  } = shape
  const rules: Html[] = []
  if (maxLength !== undefined)
    rules.push(
      html`${minLength ? `${minLength} to` : 'at most'} ${formatNumber(maxLength)} characters`,
    )
  if (minimum !== undefined && maximum === undefined)
    rules.push(html`from ${formatNumber(minimum)}`)
  if (minimum !== undefined && maximum !== undefined)
    rules.push(html`${formatNumber(minimum)} to ${formatNumber(maximum)}`)
  if (maxItems !== undefined) rules.push(html`at most ${formatNumber(maxItems)}`)
  if (formats[format]) rules.push(html`${formats[format]}`)
  if (pattern !== undefined && !readOnly) rules.push(html`<code>${pattern}</code>`)
  return [
    ...rules,
    ...anyOf.flatMap(ruleOf),
    ...(items && !sharedSchemas.has(items) ? ruleOf(items).map((rule) => html`each ${rule}`) : []),
  ]
}

const formatNumber = (value: number) =>
  value === Number.MAX_SAFE_INTEGER ? '2⁵³ − 1' : value.toLocaleString('en-US')

const quoted = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`
const figure = (caption: string, text: string, kind = 'text') =>
  html`<figure><figcaption>${caption}</figcaption>
<pre class="${kind}" tabindex="0"><code>${text}</code></pre></figure>`
const method = ({ method }: Endpoint) =>
  html`<span class="method ${method.toLowerCase()}">${method}</span>`
const anchor = (id: string, title: string) => html`<a class="anchor" href="#${id}">${title}</a>`
function problemLink(name: ProblemName, base: string): Html {
  const { status, title } = problems[name]
  const url = `${root(base)}/api/problems/${name}`
  return html`<a href="${url}" title="${title}"><b>${status}</b> ${name}</a>`
}

// Links have no host, so that they also work behind a tunnel or a proxy with another name.
const root = (base: string) => (base === '' ? '' : new URL(base).pathname.replace(/\/$/, ''))

function page(title: string, base: string, content: Html, link: Html): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${new Html(referenceStyle)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="bar">
<a class="brand" href="${root(base)}/api"><svg viewBox="0 0 24 24" aria-hidden="true">
<path d="M3 3h4v14H3zM9 6h3v11H9zM14.2 4.800l3-.8 3.400 12.700-3 .8zM1 19h22v2H1z"/></svg>
Talkshelf <span>API v2</span></a>
${link}
</header>
<div class="layout">${content}</div>
<script>${new Html(referenceScript)}</script>
</body>
</html>
`.text
}
