import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { call, root, spawnServer, startArchive } from '../support/harness.ts'

test('whoever attaches an OpenTelemetry SDK gets a span for each request, whichever way it goes, and for each write', async () => {
  const archive = await startArchive()
  const { id } = await archive.make()
  const server = await spawnServer({
    DATABASE_URL: archive.databaseUrl,
    NODE_OPTIONS: `--import ${join(root, 'tests', 'support', 'tracing.ts')}`,
  })
  let said = ''
  server.process.stderr?.on('data', (data) => (said += data))
  const spans = async (request: Promise<unknown>, least: number) => {
    said = ''
    await request
    const found = (): string[] => said.match(/^span .*$/gm) ?? []
    for (let tries = 0; tries < 100 && found().length < least; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20))
    return found()
  }
  const read = `/api/v2/video/${id}`
  // 1 is a server, 2 a client.
  assert.deepEqual(await spans(call(server.url, 'GET', read), 1), ['span 1 GET /api/v2/video/{id}'])
  assert.deepEqual(await spans(call(server.url, 'GET', `${read}/`), 1), [
    'span 1 GET /api/v2/video/{id}',
  ])
  const written = await spans(
    call(server.url, 'PATCH', read, { token: archive.editor, body: { summary: 'Seen' } }),
    2,
  )
  // Lookups by key are not told one by one: many share one question.
  assert.ok(written.includes('span 2 postgresql'), written.join('\n'))
  assert.equal(written.filter((line) => line === 'span 1 PATCH /api/v2/video/{id}').length, 1)
})
