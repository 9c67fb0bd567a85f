import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Endpoint, endpoints, streamEndpoints } from '@talkshelf/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { openapiJson } from '../../scripts/write-docs.ts'
import responses from '../../server/reference/responses.json' with { type: 'json' }
import { descriptionTools } from '../support/openapi.ts'

// What tools need of the OpenAPI document: names, tags, examples. That it describes what the
// service does is in documents.test.ts.

const description = JSON.parse(openapiJson())
const { operations, resolve } = descriptionTools(description)
const allEndpoints: readonly Endpoint[] = [
  ...Object.values(endpoints),
  ...Object.values(streamEndpoints),
]

const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ $id: 'https://example.org/openapi.json', components: description.components })

test('generators find named types, one tag for each operation, and JSON first', () => {
  const tagNames = description.tags.map(({ name }: { name: string }) => name)
  const ids = new Set<string>()
  for (const { operationId, tags, summary, requestBody, responses } of operations) {
    ids.add(operationId)
    assert.ok(summary, operationId)
    assert.equal(tags.length, 1, operationId)
    assert.ok(tagNames.includes(tags[0]), operationId)
    const contents = Object.values(responses).map((response) => resolve(response).content ?? {})
    for (const content of contents) {
      const types = Object.keys(content)
      if (types.includes('text/html'))
        assert.deepEqual(types, ['application/json', 'text/html'], operationId)
    }
    for (const content of [...contents, requestBody?.content ?? {}])
      for (const [type, { schema }] of Object.entries(content))
        if (/json$/.test(type) && operationId !== 'readOpenapi')
          if (operationId !== 'exportNdjson')
            assert.ok(schema.$ref, `${operationId} has a body without a name: ${type}`)
  }
  assert.deepEqual([...ids].sort(), allEndpoints.map(({ name }) => name).sort())
})

test('no large schema is written twice', () => {
  const seen = new Map<string, string>()
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    const text = JSON.stringify(value)
    if ('type' in value && value.type === 'object' && 'properties' in value && text.length > 200) {
      const first = seen.get(text)
      assert.equal(first, undefined, `contract/schema-names.ts has no name for ${path}`)
      seen.set(text, path)
    }
    for (const [key, inner] of Object.entries(value)) visit(inner, `${path}/${key}`)
  }
  visit({ paths: description.paths, schemas: description.components.schemas }, '')
  assert.ok(seen.size > 50)
})

test('every example matches its schema', () => {
  let count = 0
  for (const { operationId, requestBody, responses } of operations) {
    const contents = Object.values(responses).map((response) => resolve(response).content ?? {})
    for (const content of [requestBody?.content ?? {}, ...contents])
      for (const { schema, example, examples = {} } of Object.values(content)) {
        const values = Object.values(examples).map((it) => resolve(it).value)
        if (example !== undefined) values.push(example)
        if (values.length === 0) continue
        const check =
          ajv.getSchema(`https://example.org/openapi.json${schema.$ref}`) ??
          assert.fail(operationId)
        for (const value of values) {
          assert.ok(check(value), `${operationId}: ${JSON.stringify(check.errors)}`)
          count++
        }
      }
  }
  assert.ok(count > 60, `${count} examples`)
})

/** Returns the body of a golden response. */
function goldenBody(name: string): unknown {
  const url = new URL(`../../contract/golden/${name}.txt`, import.meta.url)
  return JSON.parse(readFileSync(url, 'utf8').trim().split('\n').at(-1) ?? '')
}

test('examples of responses are golden responses', () => {
  const { Video, VideoPage, ...others } = responses
  assert.deepEqual(VideoPage.results, [Video])
  assert.deepEqual(
    { Video, ...others },
    {
      Video: goldenBody('03-read-as-json'),
      RevisionPage: goldenBody('15-revisions'),
      Revision: goldenBody('16-revision'),
      Category: goldenBody('17-category'),
      TakenDownVideo: goldenBody('18-takedown'),
    },
  )
  const shown = operations.flatMap(({ responses }) =>
    Object.keys(responses[200]?.content?.['application/json']?.examples ?? {}),
  )
  assert.deepEqual([...new Set(shown)].sort(), Object.keys(responses).sort())
})
