import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import sql, { type Sql } from 'sql-template-tag'
import { freshDatabase } from '../../../tests/support/database.ts'
import type { Db } from './db.ts'
import { openPool } from './pool.ts'
import { freeSlug } from './slugs.ts'

const { url } = await freshDatabase()
const pool = openPool({ url, connections: 2, applicationName: 'slugs' })
after(() => pool.close())

/** Calls freeSlug as the first attempt of a writer. 'video' would replace an empty base. */
const findSlug = (db: Db, table: Sql, base: string) => freeSlug(db, table, base, 'video', 1)
/** The numbers that are probed first: 0 is the slug itself. */
const powers = [0, ...Array.from({ length: 30 }, (_, power) => 2 ** power)]
const takenSlugs = (slugs: readonly string[]) => sql`unnest(${slugs}::text[]) as taken (slug)`
const slugsOf = (numbers: readonly number[]) =>
  numbers.map((number) => (number === 0 ? 'foo' : `foo-${number}`))

test('finds a free slug in at most ten statements, whichever numbers are taken', {
  timeout: 300_000,
}, async () => {
  const upTo = (limit: number) => Array.from({ length: limit }, (_, number) => number)
  for (const [name, numbers, expected] of [
    ['none', [], 'foo'],
    ['the slug itself', [0], 'foo-1'],
    ['a thousand', upTo(1000), 'foo-1000'],
    ['all powers of two', powers, undefined],
    ['a thousand, and all powers of two', [...upTo(1000), ...powers], undefined],
    ['a gap before the last power', powers.slice(0, -1), undefined],
  ] as const) {
    let statements = 0
    const db: Db = {
      run(...statement) {
        statements++
        return pool.run(...statement)
      },
    }
    const slugs = slugsOf(numbers)
    const slug = await findSlug(db, takenSlugs(slugs), 'foo')
    assert.ok(!slugs.includes(slug), `${name}: ${slug} is taken`)
    assert.match(slug, /^foo(-[1-9]\d*)?$/, name)
    if (expected) assert.equal(slug, expected, name)
    assert.ok(statements <= 10, `${name}: ${statements} statements`)
  }
  const long = 'x'.repeat(50)
  assert.equal(await findSlug(pool, takenSlugs([long]), long), `${'x'.repeat(48)}-1`)
})

test('terminates although a concurrent writer takes every slug that it finds', {
  timeout: 300_000,
}, async () => {
  await pool.run(sql`create table taken (slug text)`)
  let statements = 0
  const contended: Db = {
    async run(statement, ifLost) {
      statements++
      const result = await pool.run(statement, ifLost)
      // The first parameter is the list of slugs that freeSlug probes.
      await pool.run(sql`insert into taken select unnest(${statement.values[0]}::text[])`)
      return result
    },
  }
  await pool.run(sql`insert into taken values ('foo'), ('foo-1'), ('foo-2')`)
  assert.match(await findSlug(contended, sql`taken`, 'foo'), /^foo-\d+$/)
  assert.ok(statements <= 10, `${statements} statements`)
  await pool.run(sql`drop table taken`)
})
