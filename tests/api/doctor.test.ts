import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { runCommand, spawnServer } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// `talkshelf doctor` and `talkshelf health`.

const { url } = await freshDatabase()

test('doctor lists what it checked, and what is missing', async () => {
  const settings = { DATABASE_URL: url, PG_BIN: '/nowhere', PICTURE_DIR: '/proc/nowhere' }
  const { code, stdout } = await runCommand(['doctor', '--json'], settings)
  assert.equal(code, 0, stdout)
  const findings = JSON.parse(stdout) as { check: string; state: string; detail: string }[]
  const states = Object.fromEntries(findings.map(({ check, state }) => [check, state]))
  for (const check of ['Node', 'PostgreSQL', 'Encoding', 'Locale', 'Extensions', 'Clock', 'Schema'])
    assert.equal(states[check], 'ok', stdout)
  for (const check of ['Public URL', 'Backup', 'PICTURE_DIR'])
    assert.equal(states[check], 'warning', stdout)
  // The server of the tests may lose data in a crash.
  const durability = findings.find(({ check }) => check === 'Durability')
  assert.match(durability?.detail ?? '', /A crash loses writes: switch on .*fsync/)
  const [row] = await withDatabase(url, (query) =>
    query(`select current_setting('data_checksums') as checksums`),
  )
  assert.equal(states.Checksums, row?.checksums === 'on' ? 'ok' : 'warning')
})

test('doctor fails if the schema or the database is missing', async () => {
  const { url: empty } = await freshDatabase()
  await withDatabase(empty, (query) => query('drop schema public cascade; create schema public'))
  const pending = await runCommand(['doctor'], { DATABASE_URL: empty })
  assert.equal(pending.code, 1)
  assert.match(pending.stdout, /^ERROR +Schema +0 of \d+: run 'talkshelf migrate'$/m)
  const missing = await runCommand(['doctor'], { DATABASE_URL: `${url}_missing` })
  assert.equal(missing.code, 1)
  assert.match(missing.stdout, /^ERROR +PostgreSQL +Not reached: .*does not exist/m)
  assert.match(missing.stderr, /Errors: 1, warnings: \d/)
})

test('doctor tells a proxy without a leader from a wrong address', async (t) => {
  const proxy = createServer((socket) => socket.on('error', () => {}).end())
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => proxy.close())
  const { port } = proxy.address() as AddressInfo
  const { code, stdout } = await runCommand(['doctor'], {
    DATABASE_URL: `postgres://talkshelf@127.0.0.1:${port}/talkshelf`,
  })
  assert.equal(code, 1)
  assert.match(stdout, /^ERROR +PostgreSQL +Something accepts .* no host leads now/m)
})

test('health asks the server on this machine', async () => {
  const server = await spawnServer({ DATABASE_URL: url })
  const { port } = new URL(server.url)
  const alive = await runCommand(['health'], { DATABASE_URL: url, HOST: '0.0.0.0', PORT: port })
  assert.equal(alive.code, 0, alive.stderr)
  assert.match(alive.stdout, /alive/)
  await server.stop()
  const gone = await runCommand(['health'], { DATABASE_URL: url, PORT: port })
  assert.equal(gone.code, 1)
  assert.match(gone.stderr, /No answer from http:\/\/127\.0\.0\.1:\d+\/healthz/)
})
