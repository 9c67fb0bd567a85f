import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Problem, type Video, type VideoInput, VideoPatch } from '@talkshelf/contract'
import sqlTag from 'sql-template-tag'
import {
  checkPrecondition,
  retryOnConflict,
  type WriteContext,
} from '../../server/changes/changes.ts'
import { findChangedSince } from '../../server/changes/queries.ts'
import { mergeEntity, nextRenameBatch, patchEntity } from '../../server/directory/directory.ts'
import {
  changeEntity,
  createCategory,
  createMissingEntities,
  type EntityPatch,
  lookUpAndLockNames,
  mergeEntities,
  splitOffSpeaker,
} from '../../server/entities/entities.ts'
import { replaceFacts } from '../../server/facts/facts.ts'
import type { Db } from '../../server/platform/db/db.ts'
import type { Pool } from '../../server/platform/db/pool.ts'
import {
  deleteExpiredKeys,
  findIdempotencyKey,
  findTakenSlugs,
  insertIdempotencyKey,
} from '../../server/videos/queries.ts'
import {
  type BodyRow,
  changeVideo,
  createVideo,
  lockAndReadBodies,
  refreshNames,
  takeDownVideo,
  videoFieldErrors,
  writeLockedVersion,
} from '../../server/videos/videos.ts'
import { changedFields } from '../../server/videos/wire.ts'
import { category } from '../support/harness.ts'
import {
  assertOk,
  assertWriteRefused,
  context,
  ifMatch,
  interrupted,
  isFree,
  startWriter,
  untilWaiting,
  watched,
} from '../support/writer.ts'

// What others do between two statements of a write, and what a write asks of the database at all.

const { archive, pool, token, admin, get, patch, post, sql, sound, recordOf, revisionOf } =
  await startWriter()

const nothing = { category: [], language: [], speaker: [], tag: [] }
const to = (fields: Partial<Video>) => (before: Video) => ({ ...before, ...fields })
const input = (fields: object = {}) =>
  ({ title: 'T', category, language: 'English', ...fields }) as VideoInput
const lockOfRecord = /from video where id = \$1 for no key update/
const lockOfEntities = /for no key update/
const findsSlug = /from entity_slug join/

/** Tells which of these rows somebody holds. */
const held = (...rows: string[]) =>
  sql(async (query) => {
    const all: boolean[] = []
    await query('begin')
    for (const it of rows) all.push(!(await isFree(query, it)))
    await query('rollback')
    return all
  })
const speaker = (name: string) => `speaker where name = '${name}'`
const tag = (name: string) => `tag where name = '${name}'`

test('a change holds the names that it gives, new or known, and no others, before the record', async () => {
  const { id } = await archive.make({ speakers: ['Hold A', 'Hold B'], tags: ['hold a'] })
  await archive.make({ speakers: ['Hold C'], tags: ['hold c'] })
  await assertOk(post('category', { title: 'Hold Days' }))
  const days = `category where title = 'Hold Days'`
  const rows = [speaker('Hold A'), speaker('Hold B'), speaker('Hold C'), tag('hold a'), days]
  const found: boolean[][] = []
  const change = async (fields: Partial<Video>) => {
    const during: Pool & { statements: readonly string[] } = interrupted(
      pool,
      lockOfRecord,
      async () => {
        found.push(await held(...rows, tag('hold c')))
        assert.ok(during.statements.some((text) => text.includes('insert into entity_name')))
      },
    )
    await changeVideo(during, id, context, to(fields))
  }
  await change({ speakers: ['Hold A', 'Hold C', 'Hold New'] })
  await change({ tags: ['hold c', 'hold new'], category: 'Hold Days' })
  assert.deepEqual(found, [
    [true, false, true, false, false, false],
    [false, false, false, false, true, true],
  ])
})

test('a name that somebody removes on the way is refused, and nothing is made', async () => {
  const { id } = await archive.make()
  await assertOk(post('category', { title: 'Way Days' }))
  await assertOk(patch('category/way-days', { aliases: [{ name: 'Way' }] }))
  const remove = () => assertOk(patch('category/way-days', { aliases: [] }))
  const write = changeVideo(
    interrupted(pool, /left join lateral/, remove, 2),
    id,
    context,
    to({ category: 'Way', tags: ['made on the way'] }),
  )
  await assert.rejects(write, ({ problem, more }: Problem) => {
    assert.equal(problem, 'invalid-fields')
    assert.match(JSON.stringify(more), /unknown-category/)
    return true
  })
  assert.equal((await get('tag/made-on-the-way')).status, 404)
})

test('an alias that is removed while a record names it becomes a speaker of its own', async () => {
  await archive.make({ speakers: ['Alias Of'] })
  await assertOk(patch('speaker/alias-of', { aliases: [{ name: 'Alias Gone' }] }))
  const remove = () => assertOk(patch('speaker/alias-of', { aliases: [] }))
  const direct = interrupted(pool, /as given, entity\.id/, remove)
  const made = await direct.transaction((tx) =>
    createMissingEntities(tx, 'speaker', ['Alias Gone'], [null]),
  )
  assert.deepEqual(
    made.map(({ name }) => name),
    ['Alias Gone'],
  )
  assert.equal((await get('speaker/alias-gone')).json.name, 'Alias Gone')
})

test('a slug that somebody takes on the way stays theirs', async () => {
  await archive.make({ speakers: ['Way Slug', 'Way Other'] })
  const take = () => archive.make({ speakers: ['Way Slug 1'] })
  const { entity } = await patchEntity(
    interrupted(pool, /insert into entity_slug/, take, 2),
    'speaker',
    'way-other',
    { name: 'Way-Slug' },
    context,
  )
  assert.match(entity.slug, /^way-slug-[23]$/)
  assert.equal((await get('speaker/way-slug-1')).json.name, 'Way Slug 1')
})

test('who is merged or renamed before they are held is held as who they are then', async () => {
  await archive.make({ speakers: ['Book A', 'Book B', 'Book C', 'Book D'] })
  const look = async (names: string[], meanwhile: () => Promise<unknown>) => {
    const direct = interrupted(pool, /for share/, meanwhile, 2)
    const book = await direct.transaction((tx) =>
      lookUpAndLockNames(tx, { ...nothing, speaker: names }),
    )
    return names.map((name) => book.speaker.get(name)?.name)
  }
  const merge = () => assertOk(post('speaker/book-a/merge', { into: 'book-b' }))
  assert.deepEqual(await look(['Book A', 'Book C'], merge), ['Book B', 'Book C'])
  const rename = () => assertOk(patch('speaker/book-d', { name: 'Book E' }))
  assert.deepEqual(await look(['Book C', 'Book D'], rename), ['Book C', 'Book E'])
})

test('a merge or a split holds the one that a slug or a name leads to in the end', async () => {
  const names = ['End A', 'End B', 'End C', 'End D', 'End E']
  const { id } = await archive.make({ speakers: names })
  const merge = (from: string, into: string) => () =>
    assertOk(post(`speaker/${from}/merge`, { into }))
  const during = interrupted(pool, lockOfEntities, merge('end-b', 'end-c'))
  await during.transaction(async (tx) => {
    const { into } = await mergeEntities(tx, 'speaker', 'end-a', 'end-b', context)
    assert.equal(into, 'end-c')
    assert.deepEqual(await held(speaker('End C'), speaker('End D')), [true, false])
  })
  const splitting = interrupted(pool, lockOfEntities, merge('end-d', 'end-c'), 2)
  await splitting.transaction(async (tx) => {
    const { to: other } = await splitOffSpeaker(tx, 'end-e', 'End D', context)
    assert.equal(other.slug, 'end-c')
    assert.deepEqual(await held(speaker('End C'), speaker('End E')), [true, true])
  })
  await pool.transaction(async (tx) => {
    await splitOffSpeaker(tx, 'end-e', 'End C', context)
    assert.deepEqual(await held(speaker('End C'), speaker('End E')), [true, true])
  })
  await pool.transaction((tx) => refreshNames(tx, [id], context))
})

test('a name that is to be given to one who is merged on the way is given to the other', async () => {
  await archive.make({ speakers: ['Given A', 'Given B'] })
  const merge = () => assertOk(post('speaker/given-a/merge', { into: 'given-b' }))
  const during = interrupted(pool, /insert into entity_name/, merge)
  const { entity } = await patchEntity(during, 'speaker', 'given-a', { name: 'Given C' }, context)
  assert.equal(entity.slug, 'given-c')
  const { aliases } = JSON.parse(entity.body)
  assert.deepEqual(aliases, [
    { name: 'Given A', shown: false },
    { name: 'Given B', shown: false },
  ])
  // Who brings no name has none to give back.
  await archive.make({ speakers: ['Given D'] })
  const again = () => assertOk(post('speaker/given-d/merge', { into: 'given-c' }))
  const late = interrupted(pool, lockOfEntities, again)
  await patchEntity(late, 'speaker', 'given-d', { aliases: [] }, context)
  assert.ok(late.statements.every((text) => !/delete from entity_name.* and name = /s.test(text)))
})

test('a record that is made or changed shows who a name leads to when it is written', async () => {
  for (const way of ['made', 'changed']) {
    const [a, b, c, d, e] = ['A', 'B', 'C', 'D', 'E'].map((letter) => `${way} ${letter}`)
    const slug = (name: string | undefined) => `speaker/${way}-${name?.at(-1)?.toLowerCase()}`
    await archive.make({ speakers: [a, b, c] as string[] })
    let times = 0
    const shown = async (meanwhile: () => Promise<unknown>, ...speakers: unknown[]) => {
      const db = interrupted(pool, /insert into video \(|update video set/, meanwhile)
      // A title of its own: at the first attempt only the name is in the way.
      const names = { title: `${way} ${++times} times`, speakers: speakers as string[] }
      const { body } =
        way === 'made'
          ? await createVideo(db, input(names), context, undefined)
          : await changeVideo(db, (await archive.make()).id, context, to(names))
      return JSON.parse(body).speakers
    }
    const merge = () => assertOk(post(`${slug(a)}/merge`, { into: slug(b).slice(8) }))
    assert.deepEqual(await shown(merge, a), [b])
    const rename = () => assertOk(patch(slug(c), { name: d }))
    assert.deepEqual(await shown(rename, a, c), [b, d])
    // Another one has the name by then.
    const replace = async () => {
      await assertOk(patch(slug(d), { name: e }))
      await assertOk(patch(slug(e), { aliases: [] }))
      await archive.make({ speakers: [d] as string[] })
    }
    assert.deepEqual(await shown(replace, d), [d])
    await sound()
  }
})

test('names that are there need no transaction, and what stays is not asked for', async () => {
  await assertOk(post('category', { title: 'Plain Days' }))
  const names = { speakers: ['Plain A', 'Plain B'], tags: ['plain'] }
  const { id } = await archive.make(names)
  const plain = {
    ...watched(pool),
    transaction: () => Promise.reject(new Error('A transaction')),
  } as ReturnType<typeof watched>
  const statements = async (fields: Partial<Video>) => {
    const before = plain.statements.length
    await changeVideo(plain, id, context, to(fields))
    return plain.statements.length - before
  }
  assert.equal(await statements({ title: 'Plain' }), 2)
  assert.equal(await statements({ category: 'Plain Days' }), 3)
  const { speakers, tags, category: event } = await recordOf(id)
  assert.deepEqual([speakers, tags, event], [names.speakers, names.tags, 'Plain Days'])
  assert.equal(await statements({ speakers: ['Plain B', 'Plain A'] }), 4)
  const begun = plain.statements.length
  await createVideo(plain, input({ ...names, title: 'Nobody has this' }), context, undefined)
  // The names, a number, and the record.
  assert.equal(plain.statements.length - begun, 3)
  assert.equal(await nextRenameBatch(plain), undefined)
  // A language that is called something else by now stays in a record until somebody changes it.
  await sql(async (query) => {
    await query(`update language set name = 'Anglais' where name = 'English'`)
    await changeVideo(plain, id, context, to({ category }))
    await query(`update language set name = 'English' where name = 'Anglais'`)
  })
  assert.equal((await recordOf(id)).language, 'English')
  const nobody: Db = { run: () => Promise.reject(new Error('A statement')) }
  const found = [{ id: 1, name: 'There' }]
  assert.deepEqual(await createMissingEntities(nobody, 'tag', ['There'], found), found)
  assert.deepEqual(await videoFieldErrors(nobody, VideoPatch, { title: 'T' }), [])
  await assert.rejects(videoFieldErrors(nobody, VideoPatch, { title: 7 }), /A statement/)
  assert.deepEqual(await findTakenSlugs(pool, ['a-talk', 'nobody-at-all']), ['a-talk'])
})

test('a change that comes a second time writes nothing, whatever its names lead to by now', async () => {
  const { id } = await archive.make({ speakers: ['Twice One'] })
  await assertOk(patch('speaker/twice-one', { aliases: [{ name: 'Twice' }] }))
  const other = await archive.make()
  const { etag } = (await get(`video/${other.id}`)).headers
  const write = () => patch(`video/${other.id}`, { speakers: ['Twice'] }, ifMatch(etag))
  const first = await assertOk(write())
  // A rename that has not reached the record yet.
  const rename = (from: string, name: string) =>
    sql(async (query) => {
      await query(`update speaker set name = '${name}' where name = '${from}'`)
      await query(`update entity_name set name = '${name}' where name = '${from}'`)
    })
  await rename('Twice One', 'Twice Two')
  assert.equal((await assertOk(write())).text, first.text)
  assert.equal(await revisionOf(other.id), 2)
  await rename('Twice Two', 'Twice One')
  assert.deepEqual((await recordOf(id)).speakers, ['Twice One'])
})

test('only a new name, and a merge that is one, asks for records', async () => {
  const { id } = await archive.make({ speakers: ['Asks A', 'Asks B'] })
  const asked = async (write: (db: Pool) => Promise<unknown>) => {
    const db = watched(pool)
    await write(db)
    return db.statements.filter((text) => /from video where (speaker_ids|.*count)/.test(text))
      .length
  }
  const change = (fields: object) => (db: Pool) =>
    patchEntity(db, 'speaker', 'asks-a', fields, context)
  assert.equal(await asked(change({ aliases: [{ name: 'Asked' }] })), 0)
  // The first records; how many are left is not counted where there are no more.
  assert.equal(await asked(change({ name: 'Asks C' })), 1)
  // It tells which records changed. One that shows the right names is left alone.
  const named = await patchEntity(pool, 'speaker', 'asks-c', { name: 'Asks D' }, context)
  assert.deepEqual([named.changed, named.left], [[id], 0])
  const following = watched(pool)
  await following.transaction((tx) => refreshNames(tx, [id], context))
  assert.ok(following.statements.every((text) => !text.includes('update video')))
  const merge = (db: Pool) => mergeEntity(db, 'speaker', 'asks-d', 'asks-b', context)
  assert.deepEqual([await asked(merge), await asked(merge)], [1, 0])
  // What stays is not written again.
  await assertOk(post('category', { title: 'Asks Days' }))
  const written = async (fields: EntityPatch) => {
    const db = watched(pool)
    await patchEntity(db, 'category', 'asks-days', fields, context)
    return ['delete from entity_name', 'update entity_slug'].map((text) =>
      db.statements.some((it) => it.includes(text)),
    )
  }
  assert.deepEqual(await written({ about: { description: 'Two days' } }), [false, false])
  assert.deepEqual(await written({ aliases: [{ name: 'A. D.' }] }), [true, false])
})

test('a record that has a revision and no change is an error, and not stale', async () => {
  const current = { id: 999_999, revision: 2, tag: '999999.2.AAAAAAAA' }
  const asked = { ...context, ifMatch: '"999999.1.AAAAAAAA"' }
  await assert.rejects(
    checkPrecondition(pool, 'video', current, asked),
    /A record without a change/,
  )
})

test('a change is told once to who looks again and again, however long it took', async () => {
  const { id } = await archive.make()
  const other = await archive.make()
  const first = await findChangedSince(pool, 'video', undefined)
  assert.deepEqual(first.ids, [])
  let during = first
  await sql(async (query) => {
    await query('begin')
    // The change and a record of it that is open while somebody looks.
    await query(`insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor, via, request_id, request_hash)
                 select subject, ${id}, 100 + n, 'updated', '{}', '{}', '{}', now(), 'Edith', 'api', '', ''
                 from (values ('video', 1), ('facts', 2)) as it (subject, n)`)
    await assertOk(patch(`video/${other.id}`, { title: 'Seen' }))
    during = await findChangedSince(pool, 'video', first.snapshot)
    assert.deepEqual(during.ids, [other.id])
    await query('commit')
  })
  const next = await findChangedSince(pool, 'video', during.snapshot)
  assert.deepEqual(next.ids, [id])
  assert.deepEqual((await findChangedSince(pool, 'video', next.snapshot)).ids, [])
  assert.deepEqual((await findChangedSince(pool, 'facts', during.snapshot)).ids, [id])
  await sql((query) => query(`delete from change where subject_id = ${id} and revision > 100`))
})

test('the same words as before are another request where If-Match names an older version', async () => {
  const { id } = await archive.make()
  const path = `video/${id}`
  const first = (await get(path)).headers.etag
  await assertOk(patch(path, { title: 'One' }, ifMatch(first)))
  await assertOk(patch(path, { title: 'Two' }))
  await assertOk(patch(path, { title: 'One' }))
  const { json } = await assertWriteRefused(
    patch(path, { title: 'One' }, ifMatch(first)),
    412,
    /stale/,
  )
  assert.deepEqual([json.current.revision, json.current.fields], [4, ['title']])
})

test('a take-down whose answer was lost is answered again, to the same request only', async () => {
  const { id } = await archive.make()
  const path = `video/${id}/takedown`
  const older = (await get(`video/${id}`)).headers.etag
  await assertOk(patch(`video/${id}`, { title: 'Newer' }))
  const { etag } = (await get(`video/${id}`)).headers
  const down = (reason: string, version: unknown, as = admin) =>
    post(path, { reason }, { token: as, ...(version ? ifMatch(version) : {}) })
  await assertWriteRefused(down('asked', older), 412, /stale-revision/)
  const first = await assertOk(down('asked', etag))
  assert.deepEqual((await assertOk(down('asked', etag))).json, first.json)
  for (const [reason, version] of [
    ['asked', '*'],
    ['asked', undefined],
    ['asked', older],
    ['another reason', etag],
  ])
    await assertWriteRefused(down(reason as string, version), 410, /taken-down/)
  const unknown = post('video/999999/takedown', { reason: 'x' }, { ...ifMatch(etag), token: admin })
  await assertWriteRefused(unknown, 404, /no such record/)
})

test('a write that finds a locked record changed fails, and leaves everything as it was', async () => {
  const { id } = await archive.make({ speakers: ['Bump One'], title: 'Bump' })
  // Nothing can do this but a statement of the same transaction.
  const bumped = () =>
    interrupted(pool, /update video set/, (tx) =>
      tx.run(sqlTag`update video set revision = revision + 1 where id = ${id}`),
    )
  const down = takeDownVideo(bumped(), id, 'asked', context)
  await assert.rejects(down, /A locked record has changed/)
  const rename = patchEntity(bumped(), 'speaker', 'bump-one', { name: 'Bump Two' }, context)
  await assert.rejects(rename, /A locked record has changed/)
  const write = bumped().transaction(async (tx) => {
    const row = (await lockAndReadBodies(tx, [id])).get(id) as BodyRow
    const book = await lookUpAndLockNames(tx, nothing)
    return writeLockedVersion(tx, row, { title: 'Bumped' }, book, 'updated', context)
  })
  await assert.rejects(write, /A locked record has changed/)
  assert.deepEqual(
    [(await recordOf(id)).title, (await recordOf(id)).speakers],
    ['Bump', ['Bump One']],
  )
})

test('what was written for a caller who is answered on the way is undone', async () => {
  const { id } = await archive.make({ speakers: ['Answered', 'Answered Too'] })
  const state = () =>
    sql((query) =>
      query(
        'select (select count(*) from change) as changes, (select count(*) from entity_name) as n',
      ),
    )
  const before = await state()
  type Write = (db: Pool, late: WriteContext) => Promise<unknown>
  const inTransaction =
    (work: (tx: Db, late: WriteContext) => Promise<unknown>): Write =>
    (db, late) =>
      db.transaction((tx) => work(tx, late))
  const fact = { kind: 'address', path: '/late' } as const
  const slug = 'answered'
  const cases: [string, Write, RegExp, number?][] = [
    ['category', (db, late) => createCategory(db, { title: 'Late' }, late), /select slug from/],
    ['record', (db, late) => createVideo(db, input(), late, undefined), /nextval/],
    ['change', (db, late) => changeVideo(db, id, late, to({ title: 'Late' })), /from video_body/],
    ['take-down', (db, late) => takeDownVideo(db, id, 'late', late), /from video_body/],
    ['facts', (db, late) => replaceFacts(db, id, [fact], late), /from video_facts/],
    [
      'name',
      inTransaction((tx, late) =>
        changeEntity(tx, 'speaker', slug, { aliases: [{ name: 'Late' }] }, late),
      ),
      /delete from entity_name/,
    ],
    [
      'merge',
      inTransaction((tx, late) => mergeEntities(tx, 'speaker', slug, 'answered-too', late)),
      findsSlug,
      4,
    ],
    [
      'answer',
      (db, late) => patchEntity(db, 'speaker', slug, { aliases: [{ name: 'Late' }] }, late),
      findsSlug,
      3,
    ],
    [
      'answer of a merge',
      (db, late) => mergeEntity(db, 'speaker', slug, 'answered-too', late),
      /reindex_videos/,
    ],
  ]
  for (const [what, write, when, nth] of cases) {
    let untilMs = Number.POSITIVE_INFINITY
    const late: WriteContext = {
      ...context,
      get untilMs() {
        return untilMs
      },
    }
    const answer = () => {
      untilMs = performance.now() - 1
    }
    const db = interrupted(pool, when, answer, nth)
    await assert.rejects(write(db, late), /The caller has been answered/, what)
  }
  assert.deepEqual(await state(), before)
  const late = { untilMs: performance.now() - 1 }
  const never = retryOnConflict(late, () => Promise.reject(new Error('It was tried')))
  await assert.rejects(never, /The caller has been answered/)
  let attempts = 0
  const always = retryOnConflict({}, async () => {
    attempts++
  })
  await assert.rejects(always, /Concurrent writes undid it 20 times/)
  assert.equal(attempts, 20)
})

test('a key is old after exactly 24 hours, and only then, and only for its own token', async () => {
  const [mine] = await sql((query) => query('select min(id)::int as id from token'))
  const [theirs] = await sql((query) => query('select max(id)::int as id from token'))
  const [a, b] = [Number(mine?.id), Number(theirs?.id)]
  const { id } = await archive.make()
  const aged = async (tx: Db, age: string) => {
    await tx.run(sqlTag`update idempotency_key set created = now() - ${age}::interval`)
  }
  // In one transaction the clock stands still.
  await pool.transaction(async (tx) => {
    await insertIdempotencyKey(tx, a, 'exact', context.hash, id)
    await aged(tx, '24 hours')
    assert.equal(await findIdempotencyKey(tx, a, 'exact'), undefined)
    await deleteExpiredKeys(tx, a, 'other')
    await insertIdempotencyKey(tx, a, 'exact', context.hash, id)
    await aged(tx, '23 hours 59 minutes 59.999999 seconds')
    assert.equal((await findIdempotencyKey(tx, a, 'exact'))?.video_id, id)
    await deleteExpiredKeys(tx, a, 'exact')
    assert.equal((await findIdempotencyKey(tx, a, 'exact'))?.video_id, id)
    // More old ones than go at a time: of those with this key, only the own one goes in any case.
    await aged(tx, '30 hours')
    await insertIdempotencyKey(tx, b, 'exact', context.hash, id)
    await tx.run(sqlTag`update idempotency_key set created = now() - interval '30 hours'`)
    await tx.run(sqlTag`
      insert into idempotency_key (token_id, key, request_hash, video_id, created)
      select ${a}, 'older ' || n, '', ${id}, now() - interval '40 hours'
      from generate_series(1, 100) as n`)
    await deleteExpiredKeys(tx, a, 'exact')
    const { rows } = await tx.run(sqlTag`select token_id from idempotency_key`)
    assert.deepEqual(rows, [{ token_id: b }])
    await tx.run(sqlTag`delete from idempotency_key`)
  })
})

test('a key that somebody else writes on the way decides only where it was in the way', async () => {
  const [row] = await sql((query) => query('select min(id)::int as id from token'))
  const mine = Number(row?.id)
  const actor = { role: 'editor' as const, name: 'Edith', token: mine }
  const own: WriteContext = { ...context, origin: { ...context.origin, actor } }
  const { id } = await archive.make()
  const write = (key: string, age: string) => () =>
    sql((query) =>
      query(
        `insert into idempotency_key (token_id, key, request_hash, video_id, created)
         values ($1, $2, $3, $4, now() - $5::interval)`,
        [mine, key, own.hash, id, age],
      ),
    )
  const keyed = /insert into idempotency_key/
  const first = await createVideo(
    interrupted(pool, keyed, write('way-1', '0')),
    input(),
    own,
    'way-1',
  )
  assert.equal(first.id, id)
  // There is no first answer to a key that is too old, and none is made up.
  const old = interrupted(pool, keyed, write('way-2', '25 hours'))
  await assert.rejects(createVideo(old, input(), own, 'way-2'), /idempotency_key_unique/)
  // Who is refused for another reason is told that reason.
  const wrong = interrupted(pool, /left join lateral/, write('way-3', '0'))
  const unknown = input({ category: 'Nowhere' })
  await assert.rejects(
    createVideo(wrong, unknown, own, 'way-3'),
    ({ problem }: Problem) => problem === 'invalid-fields',
  )
})

test('two writers who make the same new name wait for each other before they hold a record', async () => {
  const [one, two] = [await archive.make(), await archive.make()]
  await sql(async (query) => {
    await query('begin')
    await query(`select from video where id = ${one.id} for update`)
    const first = patch(`video/${one.id}`, { speakers: ['Both New'] }, { token })
    await untilWaiting(query, 1, [first])
    const second = patch(`video/${two.id}`, { speakers: ['Both New'] }, { token })
    await untilWaiting(query, 2, [first, second])
    assert.deepEqual(await held(`video where id = ${two.id}`), [false])
    await query('rollback')
    await Promise.all([assertOk(first), assertOk(second)])
  })
})

test('the moment of a change is no change', () => {
  const before = { id: 1, title: 'T', updated: 'then' } as Video
  assert.deepEqual(changedFields(before, { ...before, updated: 'now' }), [])
  assert.deepEqual(changedFields(before, { ...before, title: 'U', updated: 'now' }), ['title'])
})

test('after all of it the archive is sound', sound)
