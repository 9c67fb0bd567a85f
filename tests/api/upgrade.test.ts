import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { migrate, schemaStatus } from '../../server/platform/db/migrate.ts'
import { withSnapshot } from '../../server/platform/db/snapshot.ts'
import { root, startArchive } from '../support/harness.ts'

// An archive that answers while the schema of the next release is applied, and afterwards.

const archive = await startArchive()
const { call, editor, make, databaseUrl } = archive

const nextRelease = mkdtempSync(join(tmpdir(), 'next-'))
after(() => rmSync(nextRelease, { recursive: true }))
cpSync(join(root, 'server/migrations'), join(nextRelease, 'migrations'), { recursive: true })
const files = {
  '9990.do.views.sql': 'alter table video add column views integer',
  '9991.fill.views.sql': `update video set views = 0 where id in (
      select id from video where views is null limit 5 for update)`,
  '9992.index.views.sql': 'create index concurrently if not exists video_views on video (views)',
  '9993.do.known.sql': `alter table video
      add constraint views_known check (views is not null) not valid`,
  '9994.do.forgotten.sql': 'alter table video drop constraint views_known',
}
for (const [file, text] of Object.entries(files))
  writeFileSync(join(nextRelease, 'migrations', file), text)

/** Reads and writes as clients do. Returns the time that the slowest request took. */
async function useArchive(id: number): Promise<number> {
  let slowestMs = 0
  const send = async (...request: Parameters<typeof call>) => {
    const startMs = performance.now()
    const reply = await call(...request)
    slowestMs = Math.max(slowestMs, performance.now() - startMs)
    assert.ok(reply.status === 200, `${request.join(' ')}: ${reply.text}`)
  }
  await send('GET', `/api/v2/video/${id}/related`)
  await send('GET', '/api/v2/video?page_size=5')
  await send('GET', '/api/v2/video?q=talk')
  const title = `Title ${performance.now()}`
  await send('PATCH', `/api/v2/video/${id}`, { token: editor, body: { title } })
  return slowestMs
}

test('requests are answered while a migration waits for an export, and after it', {
  timeout: 300_000,
}, async () => {
  const talks = []
  for (let number = 0; number < 12; number++) talks.push(await make())
  const id = talks[0]?.id ?? 0
  const exported = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const exporting = withSnapshot(databaseUrl, 'talkshelf export', async () => {
    opened.resolve()
    await exported.promise
  })
  await opened.promise
  let blocked = 0
  const migrating = migrate(databaseUrl, nextRelease, { onBlocked: () => blocked++ })
  let [slowestMs, rounds] = [0, 0]
  // Three attempts take seconds, in which requests would queue behind the first one.
  for (; blocked < 3; rounds++) slowestMs = Math.max(slowestMs, await useArchive(id))
  console.log(`${rounds} rounds of requests, the slowest ${Math.round(slowestMs)} ms`)
  assert.ok(rounds > 1)
  exported.resolve()
  await exporting
  const names = ['9990 views', '9991 views', '9992 views', '9993 known', '9994 forgotten']
  let isDone = false
  const migrated = migrating.finally(() => {
    isDone = true
  })
  while (!isDone) await useArchive(id)
  assert.deepEqual(await migrated, names)

  // The server of this release goes on with the schema of the next one, and would start on it.
  await useArchive(id)
  await make()
  const { isPending } = await schemaStatus(databaseUrl, join(root, 'server'))
  assert.equal(isPending, false)
})
