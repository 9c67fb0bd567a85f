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
  problemExample,
  videoExample,
} from './examples.ts'
import { Html, type HtmlPart, html, prose } from './html.ts'
import { referenceStyle } from './style.ts'

// The reference says what the contract says: calls, fields and problems are read from it. Only the
// introduction is written here.

const styleHash = createHash('sha256').update(referenceStyle).digest('base64')
export const referencePolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`

const all: readonly Endpoint[] = [...Object.values(endpoints), ...Object.values(streamEndpoints)]

// Rendering takes some milliseconds. The address of the archive does not change while a process
// runs, so there is one page to keep.
const kept = new Map<string, string>()

/** `base` is the address of the archive, without a slash at its end. */
export function referencePage(base: string): string {
  const page = kept.get(base) ?? renderReference(base)
  kept.set(base, page)
  return page
}

export function problemReferencePage(name: ProblemName, base: string): string {
  const { status, title, explain } = problems[name]
  const reference = `${root(base)}/api`
  const calls = all.filter((it) => problemsOf(it).includes(name))
  const content = html`
<main id="main" class="alone">
  <p class="route"><span class="status">${status} ${STATUS_CODES[status]}</span> <code>${name}</code></p>
  <h1>${title}</h1>
  <h2 class="part">What happened</h2>
  <p>${prose(explain)}</p>
  <h2 class="part">What to do next</h2>
  <p>${prose(advice[status] ?? advice.other)}</p>
  ${figure('An answer of this kind, application/problem+json', problemExample(name, base))}
  <h2 class="part">Calls that can be answered so</h2>
  ${
    calls.length > 0
      ? html`<ul class="chips">${calls.map((it) => html`<li><a href="${reference}#${it.name}">${method(it)} ${it.summary}</a></li>`)}</ul>`
      : html`<p>Any, before it is known which call it is.</p>`
  }
  <footer><a href="${reference}">Back to the reference</a>, or to <a href="${reference}#problems">all problems</a></footer>
</main>`
  return page(`${title} (${name})`, base, content, html`<a href="${reference}">Reference</a>`)
}

function renderReference(base: string): string {
  const groups = Map.groupBy<string, Endpoint>(all, ({ path }) => path.split('/')[3] ?? path)
  const titleOf = (group: string) => groupTitles[group] ?? group
  const entry = (id: string, text: HtmlPart) => html`<li><a href="#${id}">${text}</a></li>`
  const content = html`
<header class="hero two"><div class="say">
  <h1>Talkshelf API</h1>
  <p class="lead">Records of recorded talks: read them, correct them, keep every version. This is version 2 of the interface; it never
  changes in a way that breaks a client.</p>
  <p>For tools, the same as an OpenAPI 3.1 file: <a href="${root(base)}${endpoints.readOpenapi.path}">openapi.json</a>.</p>
</div><div class="show">${figure('Try it', curlExample(endpoints.readVideo, base), 'command')}</div></header>
<nav id="contents" aria-label="Contents">
  <h2>Start</h2>
  <ul>${Object.entries(chapters).map(([id, { title }]) => entry(id, title))}</ul>
  ${[...groups].map(
    ([group, them]) => html`<h2>${titleOf(group)}</h2>
  <ul>${them.map((it) => entry(it.name, [method(it), ' ', it.summary]))}</ul>`,
  )}
  <h2>Look up</h2>
  <ul>${[...records.values()].map(({ id, title }) => entry(id, title))}${entry('problems', 'All problems')}</ul>
</nav>
<main id="main">
${Object.entries(chapters).map(([id, chapter]) => chapterSection(id, chapter, base))}
${[...groups].map(([group, them]) => html`<h2 class="group">${titleOf(group)}</h2>${them.map((it) => endpointSection(it, base))}`)}
<h2 class="group">Look up</h2>
${[...records].map(([schema, record]) => recordSection(schema, record))}
${problemsSection(base)}
<footer>Talkshelf ${version}. This page is made from the definitions that check every request.</footer>
</main>`
  return page(
    'Talkshelf API v2',
    base,
    content,
    html`<a class="contents-link" href="#contents">Contents</a>`,
  )
}

// By status: mostly, whether to send the same request again.
const advice: Record<number, string> & { other: string } = {
  401: 'Check the token. Until it is right, the same request gets the same answer.',
  403: 'Ask the people who run the archive for a token with the role that the call needs.',
  404: 'Check the address. Each entity has exactly one: ids have no leading zeros, slugs are lowercase.',
  408: 'Send the request again, in one go.',
  410: 'Remove the record from what you keep. Asking again gets the same answer.',
  412: 'Read the record again, look at what changed, and repeat your change with the new ETag in `If-Match`.',
  500: 'Try again later. If it stays, tell the people who run the archive the `instance` of the answer.',
  503: 'Wait for the seconds in `Retry-After`, then send the same request again.',
  other: 'Change the request and send it again. As it is, it gets the same answer each time.',
}

const groupTitles: Record<string, string> = {
  video: 'Videos',
  category: 'Categories',
  speaker: 'Speakers',
  tag: 'Tags',
  language: 'Languages',
  suggest: 'Suggestions',
  quality: 'Quality',
  import: 'Imports',
  'export.ndjson': 'Exports',
  'openapi.json': 'This interface',
}

interface Chapter {
  readonly title: string
  readonly text: readonly string[]
  readonly shows?: (base: string) => Html
}

const chapters: Record<string, Chapter> = {
  authentication: {
    title: 'Authentication',
    text: [
      'Everyone may read what is live. To change something, send a token: `Authorization: Token <key>` or `Authorization: Bearer <key>`.',
      'A token has a role. An **editor** changes records and sees drafts and history; an **admin** can do that too, and take records down. ' +
        'The role that each call needs stands beside its address.',
      'The people who run the archive make tokens with `talkshelf token create`. A wrong token is refused everywhere, also where none is needed.',
    ],
    shows: () =>
      figure(
        'Once in each terminal, for the commands on this page',
        "printf 'Token: '; read -r TOKEN",
        'command',
      ),
  },
  forms: {
    title: 'text/html or application/json',
    text: [
      'Every body is JSON. For the sake of old clients it is declared `text/html` unless you ask: send `Accept: application/json`, or add ' +
        '`?format=json` to the address. The bytes are the same.',
      'Who accepts neither of the two is answered 406, before anything is written.',
      'Every address that takes GET takes HEAD, and all of them take OPTIONS. Any web page may read, without credentials (CORS).',
    ],
    shows: (base) =>
      figure('Without a header', curlExample(endpoints.readVideo, base, '?format=json'), 'command'),
  },
  versions: {
    title: 'ETag and If-Match',
    text: [
      'An answer with an `ETag` names the version that you got. Send it back in `If-None-Match`, and as long as nothing has changed you get 304 and no body.',
      'Send it in `If-Match` with a change, and only that version is changed. If somebody else was first, you get 412 and are told ' +
        'who changed which fields. Without `If-Match` the last writer wins; every version is kept, and can be restored.',
      'When an answer gets lost on the way, send the same request again: with `If-Match` or an `Idempotency-Key` it has one effect.',
    ],
    shows: () => figure('Read, then change what you read', conversationExample),
  },
  errors: {
    title: 'Errors',
    text: [
      'Whatever goes wrong is answered as `application/problem+json` (RFC 9457). `type` is the address of a page that explains it; the last ' +
        'part of it is the name to look for in a program. `detail` is for people, and `instance` finds the request in the log of the archive.',
      'One answer names every wrong field in `errors`. Nothing of a refused request is ever written.',
    ],
    shows: (base) => figure('400 Bad Request', problemExample('invalid-fields', base)),
  },
  json: {
    title: 'JSON, to the byte',
    text: [
      'Answers are pure ASCII. Other characters are written as `\\uXXXX`, and `<`, `>` and `&` as `\\u003c`, `\\u003e` and `\\u0026`, so that a body ' +
        'declared text/html can never become a page. Any JSON parser gives back the original.',
      'A body that you send is one JSON object in UTF-8, at most 1 MiB and 8 levels deep, without a key twice. Lengths count code points. ' +
        'Texts are kept as written; newline, carriage return and tab are their only control characters.',
      'The read-only fields of a record may be sent back as they were read: they are ignored. Fields that do not exist are errors.',
    ],
    shows: () => figure('Zoë, <b> and Q&A, as they are sent', escapingExample()),
  },
}

interface RecordInfo {
  readonly id: string
  readonly title: string
  readonly example?: () => string
}

// What several calls share is shown once, and linked.
const records = new Map<unknown, RecordInfo>([
  [Video, { id: 'video-record', title: 'The video record', example: videoExample }],
  [RevisionSummary, { id: 'revision', title: 'A revision' }],
  [Category, { id: 'category', title: 'The category' }],
  [QualityFinding, { id: 'finding', title: 'A finding' }],
])

function chapterSection(id: string, { title, text, shows }: Chapter, base: string): Html {
  return html`<section class="two" id="${id}"><div class="say">
  <h2>${anchor(id, title)}</h2>
  ${text.map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
</div><div class="show">${shows?.(base)}</div></section>
`
}

function endpointSection(it: Endpoint, base: string): Html {
  const path = it.path
    .split(/(\{\w+\})/)
    .map((part) => (part.startsWith('{') ? html`<i>${part}</i>` : part))
  return html`<section class="two" id="${it.name}"><div class="say">
  <h3>${anchor(it.name, it.summary)}</h3>
  <p class="route">${method(it)} <code>${path}</code> <span class="role">${it.role}</span></p>
  ${it.description && html`<p>${prose(it.description)}</p>`}
  ${it.params && html`<h4>Path parameters</h4>${fields(it.params)}`}
  ${it.query && Object.keys(it.query).length > 0 && html`<h4>Query parameters, all optional</h4>${fields(it.query)}`}
  ${it.requestHeaders && html`<h4>Request headers, all optional</h4>${pairs(it.requestHeaders.map((name) => [html`<code>${name}</code>`, requestHeaders[name]]))}`}
  ${it.body && body(it.body.schema, it.body.types)}
  ${answer(it)}
  <h4>Problems</h4>
  <ul class="chips">${problemsOf(it).map((name) => html`<li>${problemLink(name, base)}</li>`)}</ul>
</div><div class="show">${figure('Run it', curlExample(it, base), 'command')}</div></section>
`
}

function body(schema: TSchema, types: readonly string[]): Html {
  const { description, properties = {}, required = [] } = schema as Shape
  const table = fields(properties, required, schema === VideoInput ? videoDefaults : {})
  const count = Object.keys(properties).length
  const summary = `All ${count} fields, ${required.length === 0 ? 'none' : required.length} of them required`
  return html`<h4>Body</h4>
  <p>Sent as ${types.map((type, at) => html`${at > 0 && ' or '}<code>${type}</code>`)}. ${description && `${description}.`}</p>
  ${count > 12 ? html`<details><summary>${summary}</summary>${table}</details>` : table}`
}

function answer({ response, summary, requestHeaders: heard }: Endpoint): Html {
  const { status, schema, etag, location } = response
  const { description = summary, properties = {} } = schema as Shape
  const known = records.has(schema)
  const headers = [etag && 'ETag', location && 'Location'].filter((name) => name !== undefined)
  return html`<h4>Answer</h4>
  <p><span class="status good">${status}</span> ${known ? typeOf(schema as Shape) : description}${headers.map(
    (name, at) => html`${at > 0 ? ' and ' : ', with '}<code>${name}</code>`,
  )}${heard?.includes('If-None-Match') && html`<br><span class="status good">304</span> Nothing changed since the version that you have`}</p>
  ${!known && Object.keys(properties).length > 0 && fields(properties)}`
}

function recordSection(schema: unknown, { id, title, example }: RecordInfo): Html {
  return html`<section class="two" id="${id}"><div class="say">
  <h3>${anchor(id, title)}</h3>
  <p>All fields are always there, in this order.</p>
  ${fields((schema as Shape).properties ?? {})}
</div><div class="show">${example && figure('As it is sent, but for the line breaks', example())}</div></section>
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

/** `required` is for what is sent; in what is answered, everything is there. */
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
<tr role="row"><td role="cell"><code>${name}</code> ${mark}</td><td role="cell">${typeOf(shape)} ${rules.map((rule) => html`<small>${rule}</small> `)}</td>
<td role="cell">${prose(shape.description ?? '')}</td></tr>`
  })
  const headings = ['Name', 'Type and rule', 'Meaning'].map(
    (name) => html`<th role="columnheader">${name}</th>`,
  )
  // The roles say what CSS takes away: on a narrow screen the rows are no longer laid out as a
  // table.
  return html`<table class="fields" role="table"><thead role="rowgroup"><tr role="row">${headings}</tr></thead><tbody role="rowgroup">${rows}</tbody></table>`
}

function pairs(entries: readonly (readonly [Html, string])[]): Html {
  return html`<table class="pairs"><tbody>${entries.map(([name, text]) => html`<tr><td>${name}</td><td>${prose(text)}</td></tr>`)}</tbody></table>`
}

// The members of JSON Schema that the contract uses.
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
  const record = records.get(shape)
  if (record) return html`<a href="#${record.id}">${record.title}</a>`
  if (shape.anyOf) return html`${shape.anyOf.map((one, at) => [at > 0 && ' or ', typeOf(one)])}`
  if (shape.items) return html`array of ${typeOf(shape.items)}`
  return html`${shape.const === undefined ? (shape.type ?? 'any') : toJson(shape.const)}`
}

const formats: Record<string, string> = {
  address: 'http or https address, or empty',
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
    rules.push(html`${minLength ? `${minLength} to` : 'at most'} ${counted(maxLength)} characters`)
  if (minimum !== undefined)
    rules.push(
      html`${maximum === undefined ? 'from ' : ''}${counted(minimum)}${maximum !== undefined && ` to ${counted(maximum)}`}`,
    )
  if (maxItems !== undefined) rules.push(html`at most ${counted(maxItems)}`)
  if (formats[format]) rules.push(html`${formats[format]}`)
  if (pattern !== undefined && !readOnly) rules.push(html`<code>${pattern}</code>`)
  return [
    ...rules,
    ...anyOf.flatMap(ruleOf),
    ...(items && !records.has(items) ? ruleOf(items).map((rule) => html`each ${rule}`) : []),
  ]
}

const counted = (value: number) =>
  value === Number.MAX_SAFE_INTEGER ? '2⁵³ − 1' : value.toLocaleString('en-US')

const figure = (caption: string, text: string, kind = 'text') =>
  html`<figure><figcaption>${caption}</figcaption><pre class="${kind}" tabindex="0"><code>${text}</code></pre></figure>`
const method = (it: Endpoint) =>
  html`<span class="method ${it.method.toLowerCase()}">${it.method}</span>`
const anchor = (id: string, title: string) => html`<a class="anchor" href="#${id}">${title}</a>`
const problemLink = (name: ProblemName, base: string) =>
  html`<a href="${root(base)}/api/problems/${name}" title="${problems[name].title}"><b>${problems[name].status}</b> ${name}</a>`

// Links have no host in them, so that they also work where a tunnel or a proxy gives the archive
// another name.
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
<a class="skip" href="#main">Skip to the text</a>
<div class="bar">
<a class="brand" href="${root(base)}/api"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 3h4v14H3zM9 6h3v11H9zM14.2 4.800l3-.8 3.400 12.700-3 .8zM1 19h22v2H1z"/></svg>
Talkshelf <span>API v2</span></a>
${link}
</div>
<div class="layout">${content}</div>
</body>
</html>
`.text
}
