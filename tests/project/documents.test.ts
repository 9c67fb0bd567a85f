import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import {
  type Endpoint,
  endpoints,
  problems,
  requestHeaders,
  streamEndpoints,
} from '@talkshelf/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type DefaultTreeAdapterTypes, parse } from 'parse5'
import pg from 'pg'
import {
  configurationMd,
  documentPath,
  findPgDump,
  openapiJson,
  schemaMajor,
  schemaSql,
  talkshelfManPage,
} from '../../scripts/write-docs.ts'
import { proposeReplacement } from '../../server/links/links.ts'
import { problemReferencePage, referencePage } from '../../server/reference/page.ts'
import { referenceScript } from '../../server/reference/script.ts'
import { callPath, prepareCall, prepareImport } from '../support/endpoint-calls.ts'
import { type CallOptions, type Reply, startArchive, type TestArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { descriptionTools, httpMethods } from '../support/openapi.ts'
import { blackPng } from '../support/picture-archive.ts'
import { eventProfile } from '../support/profiles.ts'
import { until } from '../support/until.ts'

// What we say about the service is what the service does.

const archive = await startArchive()
const untouched = await startArchive()
const mounted = await startArchive({ PUBLIC_URL: 'https://talks.example.org/archive' })
const { json: description } = await archive.call('GET', '/api/v2/openapi.json')

function same(name: string, expected: string): void {
  assert.equal(
    readFileSync(documentPath(name), 'utf8'),
    expected,
    `docs/${name} is not what the code says: run npm run docs`,
  )
}

test('docs/openapi.json matches the contract', () => same('openapi.json', openapiJson()))

test('docs/configuration.md matches the settings', () =>
  same('configuration.md', configurationMd()))

test('docs/talkshelf.1 matches the commands and the settings', () =>
  same('talkshelf.1', talkshelfManPage()))

test('docs/schema.sql matches the migrations', async (t) => {
  const client = new pg.Client({ connectionString: archive.databaseUrl })
  await client.connect()
  const { rows } = await client.query(
    "select current_setting('server_version_num')::integer / 10000 as major",
  )
  await client.end()
  const pgDump = await findPgDump()
  if (rows[0].major !== schemaMajor || !pgDump)
    return t.skip(`PostgreSQL ${schemaMajor} and its pg_dump are needed to compare`)
  same('schema.sql', await schemaSql(pgDump, archive.databaseUrl))
})

test('the description is valid OpenAPI, with the URL of the server', async () => {
  const { valid, errors } = await new Validator().validate(description)
  assert.ok(valid, JSON.stringify(errors))
  assert.deepEqual(description.servers, [{ url: archive.url }])
  assert.deepEqual({ ...description, servers: [{ url: '/' }] }, JSON.parse(openapiJson()))
})

const allEndpoints: readonly Endpoint[] = [
  ...Object.values(endpoints),
  ...Object.values(streamEndpoints),
]

const { operations, resolve } = descriptionTools(description)

test('every path and method of the description is answered', async () => {
  for (const [path, item] of Object.entries<Record<string, unknown>>(description.paths)) {
    const ofPath = allEndpoints.filter((endpoint) => endpoint.path === path)
    const [anyOfPath] = ofPath
    assert.ok(anyOfPath, path)
    const described = httpMethods.filter((method) => method in item)
    assert.deepEqual(Object.keys(item).sort(), [...described, 'x-allow'].sort(), path)
    // HTTP defines these two, so they are not operations of the description.
    const implied = ['OPTIONS', ...('get' in item ? ['HEAD'] : [])]
    for (const method of [...described.map((name) => name.toUpperCase()), ...implied]) {
      const endpoint = ofPath.find((endpoint) => endpoint.method === method)
      const { params } = await prepareCall(archive, endpoint ?? anyOfPath)
      const address = callPath(anyOfPath, params)
      // An empty body is refused, but only after the path, the method and the token were accepted.
      const [type = ''] = endpoint?.body?.types ?? []
      const empty = endpoint?.body && { raw: '', headers: { 'content-type': type } }
      const { status, headers } = await archive.call(method, address, {
        token: archive.admin,
        ...empty,
      })
      const expected = empty ? 400 : (endpoint?.response.status ?? 200)
      assert.equal(status, method === 'OPTIONS' ? 204 : expected, `${method} ${address}`)
      if (method === 'OPTIONS') assert.equal(headers.allow, item['x-allow'], path)
    }
    const missing = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find(
      (method) => !(method.toLowerCase() in item),
    ) as string
    const address = callPath(anyOfPath, (await prepareCall(archive, anyOfPath)).params)
    assert.equal((await archive.call(missing, address)).status, 405, `${missing} ${address}`)
  }
})

const ajv = new Ajv2020({ allErrors: true })
ajv.addVocabulary(['components'])
ajv.addSchema({
  $id: 'https://example.org/openapi.json',
  components: { schemas: description.components.schemas },
})
for (const format of ['text', 'address', 'web-url', 'https-url', 'country', 'colour'])
  ajv.addFormat(format, true)
ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/)
ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/)

/**
 * Asserts that the description documents an answer of this endpoint: status, headers, type and
 * every field.
 */
function assertDescribed(endpoint: Endpoint, reply: Reply): void {
  const { name: endpointName, path, method } = endpoint
  const message = `${endpointName}: ${reply.status} ${reply.text}`
  const response = resolve(description.paths[path][method.toLowerCase()].responses[reply.status])
  assert.ok(response, `The description does not have this answer. ${message}`)
  for (const name of Object.keys(response.headers ?? {}))
    assert.ok(reply.headers[name.toLowerCase()], `${name} is missing. ${message}`)
  if (!response.content) {
    assert.equal(reply.text, '', message)
    return
  }
  const [type = ''] = (reply.headers['content-type'] ?? '').split(';')
  assert.ok(response.content[type], `The description does not have ${type}. ${message}`)
  const { schema } = response.content[type]
  // A reference is compiled once. All others of the document would be read again for each answer.
  const check =
    schema.$ref === undefined
      ? ajv.compile({ components: description.components, ...schema })
      : (ajv.getSchema(`https://example.org/openapi.json${schema.$ref}`) ?? assert.fail(message))
  assert.ok(check(reply.json), `${JSON.stringify(check.errors)} ${message}`)
}

test('answers match the description in all fields', async () => {
  const tried = new Set<string>()
  async function tryOut(
    it: Endpoint,
    params: Record<string, unknown>,
    status: number,
    options: CallOptions & { query?: string } = {},
  ) {
    const address = callPath(it, params) + (options.query ?? '')
    const reply = await archive.call(it.method, address, { token: archive.admin, ...options })
    assert.equal(reply.status, status, reply.text)
    assertDescribed(it, reply)
    if (status < 300) tried.add(it.name)
    else if (status >= 400)
      assert.equal(
        (await archive.call('GET', new URL(reply.json.type).pathname)).status,
        200,
        reply.json.type,
      )
    return reply
  }
  const {
    readVideo,
    replaceVideo,
    patchVideo,
    createVideo,
    takeDownVideo,
    listRevisions,
    listVideos,
    readRevision,
    restoreRevision,
    revertRevision,
  } = endpoints
  const { createCategory, readCategory, patchCategory, mergeCategory, readOpenapi } = endpoints
  const {
    listCategories,
    listSpeakers,
    listTags,
    listLanguages,
    readSynonyms,
    replaceSynonyms,
    suggest,
    listRules,
    listFindings,
  } = endpoints
  const {
    readRelated,
    readFacts,
    readPublication,
    schedulePublication,
    replaceFacts,
    createImport,
    listImports,
    readImport,
    listImportedTalks,
    decideTalk,
  } = endpoints
  const { applyImport, stopImport, undoImport } = endpoints
  const { readSpeaker, patchSpeaker, splitSpeaker, mergeSpeaker, readTag, patchTag, mergeTag } =
    endpoints

  await tryOut(createCategory, {}, 201, {
    body: {
      title: 'Document Days',
      url: 'https://example.org/',
      start_date: '2026-01-31',
      ...eventProfile,
    },
  })
  await tryOut(createCategory, {}, 409, { body: { title: 'Document Days' } })
  await tryOut(createCategory, {}, 400, {
    body: { title: '', start_date: '2026-02-30', colour: 'red', odd: 1 },
  })
  const slug = 'document-days'
  await tryOut(patchCategory, { slug }, 200, { body: { end_date: '2026-02-01' } })
  await tryOut(patchCategory, { slug }, 412, {
    body: { end_date: null },
    headers: { 'if-match': '"1.1.old"' },
  })
  const { headers } = await tryOut(readCategory, { slug }, 200)
  await tryOut(readCategory, { slug }, 304, { headers: { 'if-none-match': String(headers.etag) } })
  await tryOut(readCategory, { slug: 'nowhere' }, 404)

  const body = { title: 'A talk', category: 'Document Days', language: 'English' }
  const full = {
    ...{
      ...body,
      speakers: ['Zoë'],
      tags: ['one'],
      state: 1,
      duration: 60,
      thumbnail_url: '',
      recorded: '2026-01-31',
    },
    ...{
      video_mp4_length: 2 ** 53 - 1,
      video_mp4_url: 'https://example.org/a.mp4',
      source_url: 'https://youtu.be/dQw4w9WgXcQ',
    },
  }
  const { json: made } = await tryOut(createVideo, {}, 201, { body })
  await tryOut(createVideo, {}, 201, { body: full, headers: { 'idempotency-key': 'once' } })
  await tryOut(createVideo, {}, 409, { body, headers: { 'idempotency-key': 'once' } })
  await tryOut(createVideo, {}, 400, { body, headers: { 'idempotency-key': 'not one word' } })
  await tryOut(createVideo, {}, 400, { raw: '{"title": 1, "title": 2}' })
  await tryOut(createVideo, {}, 413, { raw: JSON.stringify({ title: 'x'.repeat(2 ** 20) }) })
  await tryOut(createVideo, {}, 415, {
    raw: 'title=A',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  const { id } = made
  await tryOut(replaceVideo, { id }, 200, { body: { ...made, ...full } })
  await tryOut(replaceVideo, { id }, 412, { body, headers: { 'if-match': `"${id}.1.old"` } })
  await tryOut(patchVideo, { id }, 200, { body: { tags: [] } })
  await tryOut(patchVideo, { id }, 400, { body: { tags: [1], duration: -1, state: 3 } })
  await tryOut(patchVideo, { id: 999_999 }, 404, { body: {} })

  const { headers: version } = await tryOut(readVideo, { id }, 200)
  await tryOut(readVideo, { id }, 304, { headers: { 'if-none-match': String(version.etag) } })
  await tryOut(readVideo, { id }, 200, { headers: { accept: 'application/json' } })
  await tryOut(readVideo, { id }, 200, { query: '?format=json' })
  await tryOut(readVideo, { id }, 406, { headers: { accept: 'image/png' } })
  await tryOut(readVideo, { id }, 401, { token: 'wrong' })

  for (const list of [listCategories, listSpeakers, listTags, listLanguages])
    await tryOut(list, {}, 200)
  await archive.make({
    speakers: ['Dora', 'Else'],
    tags: ['one', 'two'],
    category: 'Document Days',
  })
  await tryOut(readSpeaker, { slug: 'dora' }, 200)
  await tryOut(readSpeaker, { slug: 'missing' }, 404)
  await tryOut(readTag, { slug: 'one' }, 200)
  const { json: listed } = await archive.call('GET', '/api/v2/video?speaker=dora')
  await tryOut(patchSpeaker, { slug: 'dora' }, 200, {
    body: { name: 'Nora', aliases: [{ name: 'N.', shown: true }] },
  })
  await tryOut(patchSpeaker, { slug: 'nora' }, 409, { body: { name: 'Else' } })
  await tryOut(patchSpeaker, { slug: 'nora' }, 400, { body: { name: '', aliases: [{ shown: 1 }] } })
  await tryOut(patchSpeaker, { slug: 'nora' }, 412, {
    body: { name: 'Dora' },
    headers: { 'if-match': '"1.0.old"' },
  })
  await tryOut(readSpeaker, { slug: 'dora' }, 301)
  await tryOut(readSpeaker, { slug: 'nora' }, 200)
  await tryOut(splitSpeaker, { slug: 'nora' }, 200, {
    body: { name: 'Nora the second', videos: [listed.results[0].id] },
  })
  await tryOut(splitSpeaker, { slug: 'nora' }, 400, {
    body: { name: 'Nora the third', videos: [999_999] },
  })
  await tryOut(mergeSpeaker, { slug: 'nora' }, 200, { body: { into: 'else' } })
  await tryOut(mergeSpeaker, { slug: 'else' }, 400, { body: { into: 'nobody' } })
  await tryOut(patchTag, { slug: 'one' }, 200, { body: { name: 'One' } })
  await tryOut(mergeTag, { slug: 'two' }, 200, { body: { into: 'one' } })
  await tryOut(readTag, { slug: 'two' }, 301)
  await tryOut(createCategory, {}, 201, { body: { title: 'Documents Days' } })
  await tryOut(patchCategory, { slug: 'documents-days' }, 409, { body: { title: 'Document Days' } })
  await tryOut(mergeCategory, { slug: 'documents-days' }, 200, { body: { into: slug } })
  await tryOut(readCategory, { slug: 'documents-days' }, 301)

  await tryOut(listVideos, {}, 200)
  await tryOut(listVideos, {}, 200, { query: '?page_size=1&cursor=' })
  await tryOut(listVideos, {}, 200, { query: '?q=tlak&include=facets,snippets' })
  await tryOut(listVideos, {}, 200, { query: '?q=nothing+has+this+word' })
  await tryOut(listVideos, {}, 400, { query: '?q=talk&include=everything' })
  await tryOut(suggest, {}, 200, { query: '?q=a' })
  await tryOut(suggest, {}, 400, { query: '?word=a' })
  const { headers: synonyms } = await tryOut(readSynonyms, {}, 200)
  await tryOut(readSynonyms, {}, 304, { headers: { 'if-none-match': String(synonyms.etag) } })
  await tryOut(replaceSynonyms, {}, 400, { body: { groups: [['alone']] } })
  await tryOut(replaceSynonyms, {}, 412, {
    body: { groups: [['one', 'two']] },
    headers: { 'if-match': '"1.1.old"' },
  })
  await tryOut(replaceSynonyms, {}, 200, { body: { groups: [['one', 'two']] } })
  await tryOut(listVideos, {}, 200, { query: '?q=tlak&spelling=exact' })
  await tryOut(listVideos, {}, 400, { query: '?page=0' })
  await tryOut(listVideos, {}, 404, { query: '?page=400' })
  await tryOut(createVideo, {}, 201, { body: { ...full, speakers: ['Zoe'] } })
  const { json: rules } = await tryOut(listRules, {}, 200)
  for (const { rule } of rules.results)
    await tryOut(listFindings, { rule }, 200, { query: '?page_size=1&cursor=' })
  await tryOut(listRules, {}, 401, { token: 'wrong' })
  await tryOut(listFindings, { rule: 'no-such-rule' }, 404)
  await tryOut(listFindings, { rule: 'no-licence' }, 404, { query: '?page=400' })
  await tryOut(listFindings, { rule: 'no-licence' }, 400, { query: '?page=0' })
  await tryOut(listRevisions, { id }, 200)
  await tryOut(listRevisions, { id }, 400, { query: '?page=0' })
  await tryOut(listRevisions, { id }, 404, { query: '?page=2' })
  await tryOut(readRevision, { id, revision: 1 }, 200)
  await tryOut(readRevision, { id, revision: 9 }, 404)
  await tryOut(restoreRevision, { id, revision: 2 }, 200)
  await tryOut(revertRevision, { id, revision: 1 }, 409, { body: {} })
  await tryOut(revertRevision, { id, revision: 9 }, 404, { body: {} })
  await tryOut(revertRevision, { id, revision: 2 }, 400, { body: { fields: ['slug'] } })

  const { headers: beside } = await tryOut(readRelated, { id }, 200)
  await tryOut(readRelated, { id }, 304, { headers: { 'if-none-match': String(beside.etag) } })
  await tryOut(readRelated, { id: 999_999 }, 404)
  await tryOut(readRelated, { id }, 400, { query: '?page=2' })
  await tryOut(readFacts, { id }, 200)
  await tryOut(replaceFacts, { id }, 400, { body: { facts: [{ kind: 'media' }] } })
  await tryOut(replaceFacts, { id }, 412, {
    body: { facts: [] },
    headers: { 'if-match': `"${id}.9.old"` },
  })
  const { headers: attached } = await tryOut(replaceFacts, { id }, 200, {
    body: {
      facts: [
        { kind: 'media', url: 'https://media.example.org/2.mp4', type: 'mp4', size: null },
        { kind: 'said', source: 'x', field: 'y', value: { z: [1] } },
      ],
    },
  })
  await tryOut(readFacts, { id }, 304, { headers: { 'if-none-match': String(attached.etag) } })

  await tryOut(readPublication, { id }, 200)
  await tryOut(readPublication, { id: 999_999 }, 404)
  const later = { publish_at: `${new Date().getUTCFullYear() + 2}-01-01T09:00:00+01:00` }
  await tryOut(schedulePublication, { id }, 409, { body: later })
  await tryOut(schedulePublication, { id }, 400, { body: { publish_at: 'tomorrow' } })
  const draft = await archive.make({ state: 2, category: 'Document Days' })
  await tryOut(schedulePublication, { id: draft.id }, 200, { body: later })
  await tryOut(readPublication, { id: draft.id }, 200)

  const untilImportIs = ({ id }: { id: number }, state: string) =>
    until(
      `import ${id} to be ${state}`,
      async () => (await tryOut(readImport, { id }, 200)).json.state === state,
    )
  const { json: planned } = await tryOut(createImport, {}, 201, {
    body: { text: 'title\nLoaded\n', format: 'csv', category: 'Document Days', language: 'en' },
  })
  await untilImportIs(planned, 'planned')
  await tryOut(createImport, {}, 400, { body: { text: 'Dear archive' } })
  await tryOut(createImport, {}, 400, { body: {} })
  await tryOut(readImport, planned, 200)
  await tryOut(readImport, { id: 999_999 }, 404)
  await tryOut(listImports, {}, 200, { query: '?page_size=1' })
  await tryOut(listImportedTalks, planned, 200, { query: '?verdict=new' })
  await tryOut(decideTalk, { ...planned, position: 1 }, 200, { body: { take: ['title'] } })
  await tryOut(decideTalk, { ...planned, position: 9 }, 404, { body: { take: ['title'] } })
  await tryOut(stopImport, planned, 409)
  await tryOut(undoImport, planned, 409)
  await tryOut(applyImport, planned, 200)
  await untilImportIs(planned, 'applied')
  await tryOut(applyImport, planned, 409)
  await tryOut(undoImport, planned, 200)
  const { json: other } = await tryOut(createImport, {}, 201, {
    body: { text: 'title\nStopped\n', format: 'csv', category: 'Document Days', language: 'en' },
  })
  await untilImportIs(other, 'planned')
  await tryOut(applyImport, other, 200)
  const { status } = await archive.call('POST', `/api/v2/import/${other.id}/stop`, {
    token: archive.admin,
  })
  assert.ok(status === 200 || status === 409, 'it may be done already')
  tried.add(stopImport.name)

  await tryOut(takeDownVideo, { id }, 403, { body: { reason: 'Asked' }, token: archive.editor })
  await tryOut(takeDownVideo, { id }, 200, { body: { reason: 'Asked' } })
  for (const it of [readVideo, listRevisions, readRelated, readFacts, readPublication])
    await tryOut(it, { id }, 410)
  await tryOut(schedulePublication, { id }, 410, { body: later })
  await tryOut(replaceFacts, { id }, 410, { body: { facts: [] } })
  await tryOut(readRevision, { id, revision: 1 }, 410)
  await tryOut(restoreRevision, { id, revision: 1 }, 410)
  await tryOut(revertRevision, { id, revision: 2 }, 410, { body: {} })
  await tryOut(patchVideo, { id }, 410, { body: {} })
  await tryOut(replaceVideo, { id }, 410, { body })
  await tryOut(takeDownVideo, { id }, 410, { body: { reason: 'Again' } })

  await tryOut(readOpenapi, {}, 200)
  // Endpoints that have no case above.
  for (const it of Object.values<Endpoint>(endpoints).filter(({ name }) => !tried.has(name))) {
    const { params, body } = await prepareCall(archive, it)
    await tryOut(it, params, it.response.status, { ...(body && { body }) })
  }
})

type Element = DefaultTreeAdapterTypes.Element

function elementsIn(node: DefaultTreeAdapterTypes.Node): Element[] {
  const inside = 'childNodes' in node ? node.childNodes.flatMap(elementsIn) : []
  return 'tagName' in node ? [node, ...inside] : inside
}

const elementsOf = (html: string) => elementsIn(parse(html))

const attribute = (element: Element, name: string) =>
  element.attrs.find((it) => it.name === name)?.value

function textOf(node: DefaultTreeAdapterTypes.Node): string {
  if (node.nodeName === '#text') return (node as DefaultTreeAdapterTypes.TextNode).value
  return 'childNodes' in node ? node.childNodes.map(textOf).join('') : ''
}

/** Runs only the inline script of the policy, and requests nothing from anywhere. */
function keepsToItself(html: string): void {
  const scripts = elementsOf(html).filter(({ tagName }) => tagName === 'script')
  assert.deepEqual(scripts.map(textOf), [referenceScript])
  for (const element of elementsOf(html)) {
    assert.ok(
      !['link', 'img', 'iframe', 'object', 'embed', 'base', 'form'].includes(element.tagName),
      element.tagName,
    )
    for (const { name, value } of element.attrs) {
      assert.doesNotMatch(name, /^(on.*|src|style|srcset)$/, element.tagName)
      assert.doesNotMatch(value, /^\s*([a-z]+:|\/\/)/i, `${element.tagName} ${name}`)
    }
    if (element.tagName === 'style') assert.doesNotMatch(textOf(element), /url\(|@import/i)
  }
}

const htmlOf = ({ text }: Reply) => Buffer.from(text, 'latin1').toString('utf8')

test('the reference loads nothing else, and shows every endpoint and every problem', async () => {
  const reply = await archive.call('GET', '/api')
  assert.equal(reply.status, 200)
  assert.equal(reply.headers['content-type'], 'text/html; charset=utf-8')
  const html = htmlOf(reply)
  keepsToItself(html)
  const elements = elementsOf(html)
  const [style, ...more] = elements.filter((element) => element.tagName === 'style').map(textOf)
  assert.equal(more.length, 0)
  const hashOf = (text: string) => createHash('sha256').update(text).digest('base64')
  assert.equal(
    reply.headers['content-security-policy'],
    `default-src 'none'; script-src 'sha256-${hashOf(referenceScript)}'; ` +
      `style-src 'sha256-${hashOf(String(style))}'; frame-ancestors 'none'; ` +
      "base-uri 'none'; form-action 'none'",
  )
  for (const it of Object.values<Endpoint>(endpoints)) {
    const section = elements.find((element) => attribute(element, 'id') === it.name)
    assert.ok(section, it.name)
    const text = textOf(section)
    for (const part of [
      it.summary,
      `${it.method} ${it.path} ${it.role}`,
      ...(it.requestHeaders ?? []).map((name) => requestHeaders[name]),
    ])
      assert.ok(text.includes(part), `${it.name}: ${part}`)
    const fields = Object.keys(
      (it.body?.schema as { properties?: object } | undefined)?.properties ?? {},
    )
    for (const name of [...Object.keys({ ...it.params, ...it.query }), ...fields])
      assert.ok(text.includes(name), `${it.name}: ${name}`)
  }
  const all = elements.find((element) => attribute(element, 'id') === 'problems')
  const links = all && elementsIn(all).map((element) => attribute(element, 'href'))
  for (const name of Object.keys(problems))
    assert.ok(links?.includes(`/api/problems/${name}`), name)
})

test('the reference shows a golden response wherever OpenAPI has one', async () => {
  const page = parse(htmlOf(await archive.call('GET', '/api')))
  const shown = []
  for (const { operationId, responses } of operations) {
    const examples = Object.values(responses).flatMap((response) =>
      Object.values(resolve(response).content?.['application/json']?.examples ?? {}),
    )
    const text = textInSection(page, operationId, 'text sample')
    assert.deepEqual(
      text === undefined ? [] : [JSON.parse(text)],
      examples.slice(0, 1).map((example) => resolve(example).value),
      operationId,
    )
    if (text !== undefined) shown.push(operationId)
  }
  assert.ok(shown.length >= 10, `${shown}`)
})

test('every link of the reference works, also with a base path', async () => {
  for (const [{ call }, root] of [
    [archive, ''],
    [mounted, '/archive'],
  ] as [TestArchive, string][]) {
    const visited = new Map<string, { ids: string[]; links: string[] }>()
    const visit = async (address: string) => {
      const reply = await call('GET', address)
      assert.equal(reply.status, 200, address)
      const all = (name: string) =>
        elementsOf(htmlOf(reply)).flatMap((element) => attribute(element, name) ?? [])
      const page = { ids: all('id'), links: all('href') }
      visited.set(address, page)
      return page
    }
    const pages = [
      `${root}/api`,
      ...Object.keys(problems).map((name) => `${root}/api/problems/${name}`),
    ]
    for (const page of pages) await visit(page)
    for (const page of pages)
      for (const link of visited.get(page)?.links ?? []) {
        const [path, fragment] = link.split('#', 2)
        const there = visited.get(path || page) ?? (await visit(path ?? ''))
        if (fragment) assert.ok(there.ids.includes(fragment), `${page} links to ${link}`)
      }
    // The problems and the reference, both ways, and the OpenAPI file.
    assert.deepEqual([...visited.keys()].sort(), [...pages, `${root}/api/v2/openapi.json`].sort())
  }
})

test('each kind of problem has a page with an explanation and an example', async () => {
  for (const [name, { status, title }] of Object.entries(problems)) {
    const html = htmlOf(await mounted.call('GET', `/archive/api/problems/${name}`))
    keepsToItself(html)
    const example = elementsOf(html).find(({ tagName }) => tagName === 'pre')
    assert.ok(example, name)
    const document = JSON.parse(textOf(example))
    assert.deepEqual(
      [document.type, document.title],
      [`https://talks.example.org/archive/api/problems/${name}`, title],
    )
    assert.equal(document.status, status)
    const problem = 'https://example.org/openapi.json#/components/schemas/Problem'
    const check = ajv.getSchema(problem) ?? assert.fail(problem)
    assert.ok(check(document), name)
  }
})

test('values in a page are escaped', () => {
  const base = `https://example.org/'"><script>alert(1)</script>&amp;`
  for (const html of [referencePage(base), problemReferencePage('not-found', base)]) {
    keepsToItself(html)
    assert.ok(textOf(parse(html)).includes('<script>alert(1)</script>&amp;'))
  }
})

/** Returns the text of an element with this class in the section of an endpoint. */
function textInSection(page: Parameters<typeof elementsIn>[0], name: string, className: string) {
  const section = elementsIn(page).find((element) => attribute(element, 'id') === name)
  const element =
    section && elementsIn(section).find((element) => attribute(element, 'class') === className)
  return element && textOf(element)
}

test('no command of the reference changes a record that the reader did not choose', async () => {
  const page = parse(htmlOf(await untouched.call('GET', '/api')))
  const warned = []
  for (const { name, method } of Object.values(endpoints)) {
    if (textInSection(page, name, 'warning')) warned.push(name)
    if (method === 'GET') continue
    const command = textInSection(page, name, 'command') ?? assert.fail(`${name} has no command`)
    assert.doesNotMatch(
      command,
      /\/(video|import|webhook|followed-source|suggestion|source|replacement|match)\/\d/,
      name,
    )
    if (!command.includes('_ID')) continue
    // It ends before curl is run.
    const { status, stderr } = spawnSync('sh', ['-c', `curl() { echo called >&2; }\n${command}`], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, TOKEN: 'x' },
    })
    assert.notEqual(status, 0, name)
    assert.match(stderr, /(VIDEO|IMPORT|WEBHOOK|SOURCE|SUGGESTION|REPLACEMENT|MATCH)_ID/)
    assert.doesNotMatch(stderr, /called/)
  }
  const destructive = ['takeDownVideo', 'undoImport']
  assert.deepEqual(warned.sort(), destructive.sort())
  for (const { name, path, method } of Object.values(endpoints))
    if (destructive.includes(name))
      assert.match(description.paths[path][method.toLowerCase()].description, /^\*\*Warning:\*\* /)
  // A page that calls the API from the description must not fill in the id of a record.
  for (const { operationId, parameters = [] } of operations)
    assert.doesNotMatch(JSON.stringify(parameters.map(resolve)), /"examples?":/, operationId)
})

/** Gives the first record a source and an open replacement. Returns their ids. */
async function prepareLinks({ call, editor: token, pool }: TestArchive) {
  const body = { source_url: 'https://videos.example.org/1' }
  await call('PATCH', '/api/v2/video/1', { token, body })
  const { json: sources } = await call('GET', '/api/v2/video/1/sources')
  const source = sources.results.find(({ url }: { url: string }) => url === body.source_url).id
  const url = `https://copies.example.org/${randomUUID()}`
  await proposeReplacement(pool, { source, url, finder: 'wayback', evidence: null })
  const { json: open } = await call('GET', '/api/v2/replacement', { token })
  return { SOURCE_ID: String(source), REPLACEMENT_ID: String(open.results[0].id) }
}

test('the commands of the reference work in a shell', async (t) => {
  if (spawnSync('curl', ['--version']).status !== 0) return t.skip('curl is not installed')
  const page = parse(htmlOf(await untouched.call('GET', '/api')))
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-reference-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'logo.png'), blackPng(16))
  const first = ['createCategory', 'createVideo']
  const last = ['discardImport', 'takeDownVideo']
  const between = Object.keys(endpoints).filter((name) => ![...first, ...last].includes(name))
  // Quietly, and with an exit code that tells of a refusal.
  const prelude = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }\n'
  for (const name of [...first, ...between, ...last]) {
    const command = textInSection(page, name, 'command') ?? assert.fail(`${name} has no command`)
    const { path } = endpoints[name as keyof typeof endpoints]
    if (path.includes('/import/{id}')) await prepareImport(untouched, 1, name)
    const linkIds = /\/(source|replacement)\//.test(path) ? await prepareLinks(untouched) : {}
    // Its ping was refused, so it is still new.
    if (name === 'enableWebhook')
      await withDatabase(untouched.databaseUrl, (query) =>
        query("update webhook set state = 'disabled'"),
      )
    // A suggestion is decided once.
    if (name === 'declineSuggestion')
      await untouched.call('POST', '/api/v2/suggestion/1/reopen', { token: untouched.editor })
    const isDraft = name === 'schedulePublication'
    const setState = (state: number) =>
      untouched.call('PATCH', '/api/v2/video/1', { body: { state }, token: untouched.editor })
    if (isDraft) await setState(2)
    // The time of publication must be in the future.
    const script = (prelude + command)
      .replace('2027-', `${new Date().getUTCFullYear() + 1}-`)
      // The ping and the fetch are refused at once.
      .replace(/https:\/\/(hooks|schedule)\.example\.org\//, 'https://127.0.0.1/')
    // The other commands need the first record, so another one is merged into it.
    const { id } = name === 'mergeVideo' ? await untouched.make() : { id: 1 }
    const { stdout } = await promisify(execFile)('sh', ['-c', script], {
      cwd: folder,
      env: {
        ...process.env,
        TOKEN: untouched.admin,
        VIDEO_ID: String(id),
        IMPORT_ID: '1',
        WEBHOOK_ID: '1',
        FOLLOWED_SOURCE_ID: '1',
        SUGGESTION_ID: '1',
        MATCH_ID: '1',
        ...linkIds,
      },
    })
    if (isDraft) await setState(1)
    const answer = JSON.parse(stdout)
    if (name === 'createVideo') assert.deepEqual([answer.id, answer.speakers], [1, ['Zoë Example']])
  }
})
