import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, root, spawnServer, startArchive } from '../support/harness.ts'
import { until } from '../support/until.ts'

test('emits a span for each request and each write to an attached OpenTelemetry SDK', async () => {
  const archive = await startArchive()
  const { id } = await archive.make()
  const server = await spawnServer({
    DATABASE_URL: archive.databaseUrl,
    NODE_OPTIONS: `--import ${join(root, 'tests', 'support', 'tracing.ts')}`,
  })
  let output = ''
  server.process.stderr?.on('data', (data) => (output += data))
  /** Returns the spans since a request, as soon as the expected ones are among them. */
  const spans = async (request: () => Promise<unknown>, ...expected: string[]) => {
    output = ''
    await request()
    const spansSoFar = (): string[] => output.match(/^span .*$/gm) ?? []
    await until('the spans', async () => expected.every((line) => spansSoFar().includes(line)))
    return spansSoFar()
  }
  const count = (lines: readonly string[], start: string) =>
    lines.filter((line) => line.startsWith(start)).length
  const path = `/api/v2/video/${id}`
  // Span kind 1 is a server, 2 a client. Background work has client spans too, at any time.
  for (const read of [path, `${path}/`]) {
    const found = await spans(() => call(server.url, 'GET', read), 'span 1 GET /api/v2/video/{id}')
    assert.equal(count(found, 'span 1'), 1, found.join('\n'))
  }
  // What a client did wrong is no error of the server.
  const attributes = (status: number) =>
    `attributes GET /api/v2/video/{id} ${JSON.stringify({
      'http.request.method': 'GET',
      'http.route': '/api/v2/video/{id}',
      'http.response.status_code': status,
    })}`
  await call(server.url, 'GET', '/api/v2/video/999999')
  await until('the attributes of a missing record', async () => output.includes(attributes(404)))
  const body = { summary: 'Seen' }
  const written = await spans(
    () => call(server.url, 'PATCH', path, { token: archive.editor, body }),
    'span 1 PATCH /api/v2/video/{id}',
    'span 2 postgresql',
  )
  assert.equal(count(written, 'span 1'), 1, written.join('\n'))
})
