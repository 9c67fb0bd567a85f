import assert from 'node:assert/strict'
import { test } from 'node:test'
import sql from 'sql-template-tag'
import Type from 'typebox'
import { freshDatabase } from '../../../tests/support/database.ts'
import { withDatabase } from '../../../tests/support/invariants.ts'
import { one, Unavailable } from './db.ts'
import { streamRows, withSnapshot } from './snapshot.ts'

const Count = Type.Object({ count: Type.Integer() })
const Row = Type.Object({ number: Type.Integer() })
const tags = sql`select count(*) from tag`
const numbers = (limit: number) =>
  sql`select number from generate_series(1, ${limit}::integer) as number order by number`

test('a snapshot hides later writes, blocks truncation and can be shared', async (t) => {
  const { url } = await freshDatabase(t)
  const write = () =>
    withDatabase(url, (query) =>
      query("insert into tag (slug, name) select 'tag-' || count(*), 'tag ' || count(*) from tag"),
    )
  await write()
  await withSnapshot(url, 'test', async (db) => {
    await write()
    assert.equal((await one(db, Count, tags)).count, 1)
    await withDatabase(url, async (query) => {
      await query('begin isolation level repeatable read')
      await query(`set transaction snapshot '${db.id}'`)
      assert.deepEqual(await query('select count(*)::integer from tag'), [{ count: 1 }])
    })
    // Truncated rows would vanish from the snapshot too, so a lock blocks truncation.
    const truncated = withDatabase(url, (query) =>
      query("set lock_timeout = '100ms'; truncate tag cascade"),
    )
    await assert.rejects(truncated, { code: '55P03' })
  })
  const writing = withSnapshot(url, 'test', (db) =>
    db.run(sql`insert into tag (slug, name) values ('no', 'no')`),
  )
  await assert.rejects(writing, /read-only transaction/)
  await withSnapshot(url, 'test', async (db) => assert.equal((await one(db, Count, tags)).count, 2))
})

test('streamRows yields validated batches in order, also from two cursors at once', async (t) => {
  const { url } = await freshDatabase(t)
  await withSnapshot(url, 'test', async (db) => {
    for (const [limit, size] of [
      [0, 10],
      [9, 10],
      [10, 10],
      [25, 10],
      [3, 1],
    ] as const) {
      const batches: number[][] = []
      for await (const rows of streamRows(db, Row, numbers(limit), size))
        batches.push(rows.map(({ number }) => number))
      assert.deepEqual(
        batches.flat(),
        Array.from({ length: limit }, (_, index) => index + 1),
      )
      assert.ok(batches.every((batch) => batch.length <= size && batch.length > 0))
    }
    const [first, second] = [
      streamRows(db, Row, numbers(4), 2),
      streamRows(db, Row, numbers(6), 3),
    ].map((batches) => batches[Symbol.asyncIterator]())
    assert.deepEqual((await first?.next())?.value, [{ number: 1 }, { number: 2 }])
    assert.deepEqual((await second?.next())?.value, [{ number: 1 }, { number: 2 }, { number: 3 }])
    assert.deepEqual((await first?.next())?.value, [{ number: 3 }, { number: 4 }])
    // Stopping early closes the cursors.
    await Promise.all([first?.return?.(), second?.return?.()])
    assert.equal((await one(db, Count, sql`select count(*) from pg_cursors`)).count, 0)
    await assert.rejects(
      streamRows(db, Type.Object({ number: Type.String() }), numbers(1), 1)
        [Symbol.asyncIterator]()
        .next(),
      /does not match its schema/,
    )
  })
})

test('a snapshot is not subject to the statement timeout of the pool', async (t) => {
  const { url } = await freshDatabase(t)
  await withSnapshot(url, 'test', (db) => db.run(sql`select pg_sleep(4.5)`))
})

test('an unreachable database is reported as unavailable', async () => {
  await assert.rejects(
    withSnapshot('postgres://nobody@127.0.0.1:1/nothing', 'test', async () => {}),
    Unavailable,
  )
})
