import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Video, validationErrors } from '@talkshelf/contract'
import { installedPostgres } from '../server/platform/db/private-postgres.ts'
import { freshDatabase } from '../tests/support/database.ts'
import { checkInvariants, withDatabase } from '../tests/support/invariants.ts'
import { makeNames, makeRecord } from './records.ts'
import { seed } from './seed.ts'

const bin = installedPostgres().find(({ bin }) => existsSync(join(bin, 'psql')))?.bin

test('generated records conform to the contract', () => {
  const names = makeNames(1000)
  for (let id = 1; id <= 1000; id++)
    assert.deepEqual(validationErrors(Video, makeRecord(id, names).video), [])
  for (const all of Object.values(names)) assert.equal(new Set(all).size, all.length)
  assert.deepEqual(makeRecord(77, names), makeRecord(77, names))
})

test('seeded tables are the same as those that the service writes', {
  skip: bin === undefined && 'there is no psql',
}, async () => {
  const database = await freshDatabase()
  const superuser = new URL(database.url)
  superuser.username = 'postgres'
  await seed(bin as string, superuser.href, 1234, () => {})
  await checkInvariants(database.url)
  await withDatabase(database.url, async (query) => {
    const [row] = await query(`
      select (select count(*)::int from video) as videos,
             (select last_value::int from video_id_seq) as last`)
    assert.deepEqual(row, { videos: 1234, last: 1234 })
  })
  await database.drop()
})
