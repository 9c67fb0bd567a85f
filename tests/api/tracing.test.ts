import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, root, spawnServer, startArchive } from '../support/harness.ts'

test('emits a span for each request and each write to an attached OpenTelemetry SDK', async () => {
  const archive = await startArchive()
  const { id } = await archive.make()
  const server = await spawnServer({
    DATABASE_URL: archive.databaseUrl,
    NODE_OPTIONS: `--import ${join(root, 'tests', 'support', 'tracing.ts')}`,
  })
  let output = ''
  server.process.stderr?.on('data', (data) => (output += data))
  const spans = async (request: Promise<unknown>, minCount: number) => {
    output = ''
    await request
    const spansSoFar = (): string[] => output.match(/^span .*$/gm) ?? []
    for (let tries = 0; tries < 100 && spansSoFar().length < minCount; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20))
    return spansSoFar()
  }
  const read = `/api/v2/video/${id}`
  // Span kind 1 is a server, 2 a client.
  assert.deepEqual(await spans(call(server.url, 'GET', read), 1), ['span 1 GET /api/v2/video/{id}'])
  assert.deepEqual(await spans(call(server.url, 'GET', `${read}/`), 1), [
    'span 1 GET /api/v2/video/{id}',
  ])
  const written = await spans(
    call(server.url, 'PATCH', read, { token: archive.editor, body: { summary: 'Seen' } }),
    2,
  )
  // Lookups by key have no spans of their own: many share one query.
  assert.ok(written.includes('span 2 postgresql'), written.join('\n'))
  assert.equal(written.filter((line) => line === 'span 1 PATCH /api/v2/video/{id}').length, 1)
})
