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

// Concurrent changes between two statements of a write, and which statements a write runs.

const { archive, pool, token, admin, get, patch, post, sql, sound, recordOf, revisionOf } =
  await startWriter()

const noNames = { category: [], language: [], speaker: [], tag: [] }
const withFields = (fields: Partial<Video>) => (before: Video) => ({ ...before, ...fields })
const input = (fields: object = {}) =>
  ({ title: 'T', category, language: 'English', ...fields }) as VideoInput
const recordLock = /from video where id = \$1 for no key update/
const entityLock = /for no key update/
const slugLookup = /from entity_slug join/

/** Returns for each row whether another transaction has locked it. */
const areLocked = (...rows: string[]) =>
  sql(async (query) => {
    const all: boolean[] = []
    await query('begin')
    for (const row of rows) all.push(!(await isFree(query, row)))
    await query('rollback')
    return all
  })
const speaker = (name: string) => `speaker where name = '${name}'`
const tag = (name: string) => `tag where name = '${name}'`

test('locks exactly the names a change assigns, before it locks the record', async () => {
  const { id } = await archive.make({ speakers: ['Hold A', 'Hold B'], tags: ['hold a'] })
  await archive.make({ speakers: ['Hold C'], tags: ['hold c'] })
  await assertOk(post('category', { title: 'Hold Days' }))
  const days = `category where title = 'Hold Days'`
  const rows = [speaker('Hold A'), speaker('Hold B'), speaker('Hold C'), tag('hold a'), days]
  const lockStates: boolean[][] = []
  const change = async (fields: Partial<Video>) => {
    const db: Pool & { statements: readonly string[] } = interrupted(pool, recordLock, async () => {
      lockStates.push(await areLocked(...rows, tag('hold c')))
      assert.ok(db.statements.some((text) => text.includes('insert into entity_name')))
    })
    await changeVideo(db, id, context, withFields(fields))
  }
  await change({ speakers: ['Hold A', 'Hold C', 'Hold New'] })
  await change({ tags: ['hold c', 'hold new'], category: 'Hold Days' })
  assert.deepEqual(lockStates, [
    [true, false, true, false, false, false],
    [false, false, false, false, true, true],
  ])
})

test('rejects a category alias that is removed during the write and creates nothing', async () => {
  const { id } = await archive.make()
  await assertOk(post('category', { title: 'Way Days' }))
  await assertOk(patch('category/way-days', { aliases: [{ name: 'Way' }] }))
  const remove = () => assertOk(patch('category/way-days', { aliases: [] }))
  const write = changeVideo(
    interrupted(pool, /left join lateral/, remove, 2),
    id,
    context,
    withFields({ category: 'Way', tags: ['made on the way'] }),
  )
  await assert.rejects(write, ({ problem, more }: Problem) => {
    assert.equal(problem, 'invalid-fields')
    assert.match(JSON.stringify(more), /unknown-category/)
    return true
  })
  assert.equal((await get('tag/made-on-the-way')).status, 404)
})

test('creates a speaker for an alias that is removed during the write', async () => {
  await archive.make({ speakers: ['Alias Of'] })
  await assertOk(patch('speaker/alias-of', { aliases: [{ name: 'Alias Gone' }] }))
  const remove = () => assertOk(patch('speaker/alias-of', { aliases: [] }))
  const db = interrupted(pool, /as given, entity\.id/, remove)
  const created = await db.transaction((tx) =>
    createMissingEntities(tx, 'speaker', ['Alias Gone'], [null]),
  )
  assert.deepEqual(
    created.map(({ name }) => name),
    ['Alias Gone'],
  )
  assert.equal((await get('speaker/alias-gone')).json.name, 'Alias Gone')
})

test('picks another slug if the slug is taken during the write', async () => {
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

test('locks the current entity if a name is merged or renamed before the lock', async () => {
  await archive.make({ speakers: ['Book A', 'Book B', 'Book C', 'Book D'] })
  const lookUp = async (names: string[], meanwhile: () => Promise<unknown>) => {
    const db = interrupted(pool, /for share/, meanwhile, 2)
    const lookup = await db.transaction((tx) =>
      lookUpAndLockNames(tx, { ...noNames, speaker: names }),
    )
    return names.map((name) => lookup.speaker.get(name)?.name)
  }
  const merge = () => assertOk(post('speaker/book-a/merge', { into: 'book-b' }))
  assert.deepEqual(await lookUp(['Book A', 'Book C'], merge), ['Book B', 'Book C'])
  const rename = () => assertOk(patch('speaker/book-d', { name: 'Book E' }))
  assert.deepEqual(await lookUp(['Book C', 'Book D'], rename), ['Book C', 'Book E'])
})

test('locks the final target of a slug or name for a merge or a split', async () => {
  const names = ['End A', 'End B', 'End C', 'End D', 'End E']
  const { id } = await archive.make({ speakers: names })
  const merge = (from: string, into: string) => () =>
    assertOk(post(`speaker/${from}/merge`, { into }))
  const db = interrupted(pool, entityLock, merge('end-b', 'end-c'))
  await db.transaction(async (tx) => {
    const { into } = await mergeEntities(tx, 'speaker', 'end-a', 'end-b', context)
    assert.equal(into, 'end-c')
    assert.deepEqual(await areLocked(speaker('End C'), speaker('End D')), [true, false])
  })
  const splitting = interrupted(pool, entityLock, merge('end-d', 'end-c'), 2)
  await splitting.transaction(async (tx) => {
    const { to: other } = await splitOffSpeaker(tx, 'end-e', 'End D', context)
    assert.equal(other.slug, 'end-c')
    assert.deepEqual(await areLocked(speaker('End C'), speaker('End E')), [true, true])
  })
  await pool.transaction(async (tx) => {
    await splitOffSpeaker(tx, 'end-e', 'End C', context)
    assert.deepEqual(await areLocked(speaker('End C'), speaker('End E')), [true, true])
  })
  await pool.transaction((tx) => refreshNames(tx, [id], context))
})

test('renames the target if the entity is merged during the rename', async () => {
  await archive.make({ speakers: ['Given A', 'Given B'] })
  const merge = () => assertOk(post('speaker/given-a/merge', { into: 'given-b' }))
  const db = interrupted(pool, /insert into entity_name/, merge)
  const { entity } = await patchEntity(db, 'speaker', 'given-a', { name: 'Given C' }, context)
  assert.equal(entity.slug, 'given-c')
  const { aliases } = JSON.parse(entity.body)
  assert.deepEqual(aliases, [
    { name: 'Given A', shown: false },
    { name: 'Given B', shown: false },
  ])
  // A change without a new name releases no name.
  await archive.make({ speakers: ['Given D'] })
  const again = () => assertOk(post('speaker/given-d/merge', { into: 'given-c' }))
  const late = interrupted(pool, entityLock, again)
  await patchEntity(late, 'speaker', 'given-d', { aliases: [] }, context)
  assert.ok(late.statements.every((text) => !/delete from entity_name.* and name = /s.test(text)))
})

test('shows the entity that a name resolves to at the time of the write', async () => {
  for (const mode of ['made', 'changed']) {
    const [a, b, c, d, e] = ['A', 'B', 'C', 'D', 'E'].map((letter) => `${mode} ${letter}`)
    const slug = (name: string | undefined) => `speaker/${mode}-${name?.at(-1)?.toLowerCase()}`
    await archive.make({ speakers: [a, b, c] as string[] })
    let count = 0
    const writtenSpeakers = async (meanwhile: () => Promise<unknown>, ...speakers: unknown[]) => {
      const db = interrupted(pool, /insert into video \(|update video set/, meanwhile)
      // A unique title, so that only the name conflicts at the first attempt.
      const names = { title: `${mode} ${++count} times`, speakers: speakers as string[] }
      const { body } =
        mode === 'made'
          ? await createVideo(db, input(names), context, undefined)
          : await changeVideo(db, (await archive.make()).id, context, withFields(names))
      return JSON.parse(body).speakers
    }
    const merge = () => assertOk(post(`${slug(a)}/merge`, { into: slug(b).slice(8) }))
    assert.deepEqual(await writtenSpeakers(merge, a), [b])
    const rename = () => assertOk(patch(slug(c), { name: d }))
    assert.deepEqual(await writtenSpeakers(rename, a, c), [b, d])
    // Another speaker has the name by the time of the write.
    const replace = async () => {
      await assertOk(patch(slug(d), { name: e }))
      await assertOk(patch(slug(e), { aliases: [] }))
      await archive.make({ speakers: [d] as string[] })
    }
    assert.deepEqual(await writtenSpeakers(replace, d), [d])
    await sound()
  }
})

test('uses no transaction for known names and looks up only changed names', async () => {
  await assertOk(post('category', { title: 'Plain Days' }))
  const names = { speakers: ['Plain A', 'Plain B'], tags: ['plain'] }
  const { id } = await archive.make(names)
  const db = {
    ...watched(pool),
    transaction: () => Promise.reject(new Error('A transaction')),
  } as ReturnType<typeof watched>
  const statements = async (fields: Partial<Video>) => {
    const before = db.statements.length
    await changeVideo(db, id, context, withFields(fields))
    return db.statements.length - before
  }
  assert.equal(await statements({ title: 'Plain' }), 2)
  assert.equal(await statements({ category: 'Plain Days' }), 3)
  const { speakers, tags, category: event } = await recordOf(id)
  assert.deepEqual([speakers, tags, event], [names.speakers, names.tags, 'Plain Days'])
  assert.equal(await statements({ speakers: ['Plain B', 'Plain A'] }), 4)
  const countBefore = db.statements.length
  await createVideo(db, input({ ...names, title: 'Nobody has this' }), context, undefined)
  // One statement each for the names, the id and the record.
  assert.equal(db.statements.length - countBefore, 3)
  assert.equal(await nextRenameBatch(db), undefined)
  // A renamed language stays in a record until the language of the record changes.
  await sql(async (query) => {
    await query(`update language set name = 'Anglais' where name = 'English'`)
    await changeVideo(db, id, context, withFields({ category }))
    await query(`update language set name = 'English' where name = 'Anglais'`)
  })
  assert.equal((await recordOf(id)).language, 'English')
  const unusableDb: Db = { run: () => Promise.reject(new Error('A statement')) }
  const known = [{ id: 1, name: 'There' }]
  assert.deepEqual(await createMissingEntities(unusableDb, 'tag', ['There'], known), known)
  assert.deepEqual(await videoFieldErrors(unusableDb, VideoPatch, { title: 'T' }), [])
  await assert.rejects(videoFieldErrors(unusableDb, VideoPatch, { title: 7 }), /A statement/)
  assert.deepEqual(await findTakenSlugs(pool, ['a-talk', 'nobody-at-all']), ['a-talk'])
})

test('writes nothing for a repeated change even if its names resolve differently', async () => {
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

test('looks up records only for a rename or a first merge', async () => {
  const { id } = await archive.make({ speakers: ['Asks A', 'Asks B'] })
  const countRecordQueries = async (write: (db: Pool) => Promise<unknown>) => {
    const db = watched(pool)
    await write(db)
    return db.statements.filter((text) => /from video where (speaker_ids|.*count)/.test(text))
      .length
  }
  const change = (fields: object) => (db: Pool) =>
    patchEntity(db, 'speaker', 'asks-a', fields, context)
  assert.equal(await countRecordQueries(change({ aliases: [{ name: 'Asked' }] })), 0)
  // One query for the first records. Without further records there is no count of the rest.
  assert.equal(await countRecordQueries(change({ name: 'Asks C' })), 1)
  // Returns the ids of the changed records. A record with current names is not written.
  const renamed = await patchEntity(pool, 'speaker', 'asks-c', { name: 'Asks D' }, context)
  assert.deepEqual([renamed.changed, renamed.left], [[id], 0])
  const refreshDb = watched(pool)
  await refreshDb.transaction((tx) => refreshNames(tx, [id], context))
  assert.ok(refreshDb.statements.every((text) => !text.includes('update video')))
  const merge = (db: Pool) => mergeEntity(db, 'speaker', 'asks-d', 'asks-b', context)
  assert.deepEqual([await countRecordQueries(merge), await countRecordQueries(merge)], [1, 0])
  // Unchanged names and slugs are not written again.
  await assertOk(post('category', { title: 'Asks Days' }))
  const writesNamesOrSlugs = async (fields: EntityPatch) => {
    const db = watched(pool)
    await patchEntity(db, 'category', 'asks-days', fields, context)
    return ['delete from entity_name', 'update entity_slug'].map((text) =>
      db.statements.some((statement) => statement.includes(text)),
    )
  }
  assert.deepEqual(await writesNamesOrSlugs({ about: { description: 'Two days' } }), [false, false])
  assert.deepEqual(await writesNamesOrSlugs({ aliases: [{ name: 'A. D.' }] }), [true, false])
})

test('fails if a record has a revision but no change', async () => {
  const current = { id: 999_999, revision: 2, etag: '999999.2.AAAAAAAA' }
  const request = { ...context, ifMatch: '"999999.1.AAAAAAAA"' }
  await assert.rejects(
    checkPrecondition(pool, 'video', current, request),
    /A record without a change/,
  )
})

test('reports each change exactly once to repeated polling, even if it commits late', async () => {
  const { id } = await archive.make()
  const other = await archive.make()
  const first = await findChangedSince(pool, 'video', undefined)
  assert.deepEqual(first.ids, [])
  let during = first
  await sql(async (query) => {
    await query('begin')
    // Changes of the record and of its facts that are uncommitted during the next poll.
    await query(`
      insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor, via,
                          request_id, request_hash)
      select subject, ${id}, 100 + n, 'updated', '{}', '{}', '{}', now(), 'Edith', 'api', '', ''
      from (values ('video', 1), ('facts', 2)) as inserted (subject, n)`)
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

test('treats an equal body with an older If-Match as a different request', async () => {
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

test('repeats the response of a takedown only for the same request', async () => {
  const { id } = await archive.make()
  const path = `video/${id}/takedown`
  const older = (await get(`video/${id}`)).headers.etag
  await assertOk(patch(`video/${id}`, { title: 'Newer' }))
  const { etag } = (await get(`video/${id}`)).headers
  const takeDown = (reason: string, version: unknown, as = admin) =>
    post(path, { reason }, { token: as, ...(version ? ifMatch(version) : {}) })
  await assertWriteRefused(takeDown('asked', older), 412, /stale-revision/)
  const first = await assertOk(takeDown('asked', etag))
  assert.deepEqual((await assertOk(takeDown('asked', etag))).json, first.json)
  for (const [reason, version] of [
    ['asked', '*'],
    ['asked', undefined],
    ['asked', older],
    ['another reason', etag],
  ])
    await assertWriteRefused(takeDown(reason as string, version), 410, /taken-down/)
  const unknown = post('video/999999/takedown', { reason: 'x' }, { ...ifMatch(etag), token: admin })
  await assertWriteRefused(unknown, 404, /This record does not exist/)
})

test('rolls back a write that finds a locked record changed', async () => {
  const { id } = await archive.make({ speakers: ['Bump One'], title: 'Bump' })
  // Only a statement of the same transaction can change a locked record.
  const withConcurrentUpdate = () =>
    interrupted(pool, /update video set/, (tx) =>
      tx.run(sqlTag`update video set revision = revision + 1 where id = ${id}`),
    )
  const takedown = takeDownVideo(withConcurrentUpdate(), id, 'asked', context)
  await assert.rejects(takedown, /A locked record has changed/)
  const rename = patchEntity(
    withConcurrentUpdate(),
    'speaker',
    'bump-one',
    { name: 'Bump Two' },
    context,
  )
  await assert.rejects(rename, /A locked record has changed/)
  const write = withConcurrentUpdate().transaction(async (tx) => {
    const row = (await lockAndReadBodies(tx, [id])).get(id) as BodyRow
    const names = await lookUpAndLockNames(tx, noNames)
    return writeLockedVersion(tx, row, { title: 'Bumped' }, names, 'updated', context)
  })
  await assert.rejects(write, /A locked record has changed/)
  assert.deepEqual(
    [(await recordOf(id)).title, (await recordOf(id)).speakers],
    ['Bump', ['Bump One']],
  )
})

type Write = (db: Pool, late: WriteContext) => Promise<unknown>
const inTransaction =
  (work: (tx: Db, late: WriteContext) => Promise<unknown>): Write =>
  (db, late) =>
    db.transaction((tx) => work(tx, late))

/** Returns a context without a deadline, and a function that lets it pass. */
function expiringContext() {
  let untilMs = Number.POSITIVE_INFINITY
  const late: WriteContext = {
    ...context,
    get untilMs() {
      return untilMs
    },
  }
  const expire = () => {
    untilMs = performance.now() - 1
  }
  return { late, expire }
}

test('rolls back a write whose deadline passes midway', async () => {
  const { id } = await archive.make({ speakers: ['Answered', 'Answered Too'] })
  const state = () =>
    sql((query) =>
      query(
        'select (select count(*) from change) as changes, (select count(*) from entity_name) as n',
      ),
    )
  const before = await state()
  const fact = { kind: 'address', path: '/late' } as const
  const slug = 'answered'
  const cases: [string, Write, RegExp, number?][] = [
    ['category', (db, late) => createCategory(db, { title: 'Late' }, late), /select slug from/],
    ['record', (db, late) => createVideo(db, input(), late, undefined), /nextval/],
    [
      'change',
      (db, late) => changeVideo(db, id, late, withFields({ title: 'Late' })),
      /from video_body/,
    ],
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
      slugLookup,
      4,
    ],
    [
      'answer',
      (db, late) => patchEntity(db, 'speaker', slug, { aliases: [{ name: 'Late' }] }, late),
      slugLookup,
      3,
    ],
    [
      'answer of a merge',
      (db, late) => mergeEntity(db, 'speaker', slug, 'answered-too', late),
      /reindex_videos/,
    ],
  ]
  for (const [name, write, pattern, nth] of cases) {
    const { late, expire } = expiringContext()
    const db = interrupted(pool, pattern, expire, nth)
    await assert.rejects(write(db, late), /The caller has been answered/, name)
  }
  assert.deepEqual(await state(), before)
})

test('stops retrying at the deadline and after 20 attempts', async () => {
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

test('expires an idempotency key after exactly 24 hours, for its own token only', async () => {
  const [mine] = await sql((query) => query('select min(id)::int as id from token'))
  const [theirs] = await sql((query) => query('select max(id)::int as id from token'))
  const [a, b] = [Number(mine?.id), Number(theirs?.id)]
  const { id } = await archive.make()
  const setAge = async (tx: Db, age: string) => {
    await tx.run(sqlTag`update idempotency_key set created = now() - ${age}::interval`)
  }
  // now() is constant within a transaction.
  await pool.transaction(async (tx) => {
    await insertIdempotencyKey(tx, a, 'exact', context.hash, id)
    await setAge(tx, '24 hours')
    assert.equal(await findIdempotencyKey(tx, a, 'exact'), undefined)
    await deleteExpiredKeys(tx, a, 'other')
    await insertIdempotencyKey(tx, a, 'exact', context.hash, id)
    await setAge(tx, '23 hours 59 minutes 59.999999 seconds')
    assert.equal((await findIdempotencyKey(tx, a, 'exact'))?.video_id, id)
    await deleteExpiredKeys(tx, a, 'exact')
    assert.equal((await findIdempotencyKey(tx, a, 'exact'))?.video_id, id)
    // More expired keys than one batch deletes. The key of the request is always deleted, but only
    // for its own token.
    await setAge(tx, '30 hours')
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

test('uses a concurrently inserted idempotency key only if it conflicts', async () => {
  const [row] = await sql((query) => query('select min(id)::int as id from token'))
  const mine = Number(row?.id)
  const actor = { role: 'editor' as const, name: 'Edith', token: mine }
  const ownContext: WriteContext = { ...context, origin: { ...context.origin, actor } }
  const { id } = await archive.make()
  const write = (key: string, age: string) => () =>
    sql((query) =>
      query(
        `insert into idempotency_key (token_id, key, request_hash, video_id, created)
         values ($1, $2, $3, $4, now() - $5::interval)`,
        [mine, key, ownContext.hash, id, age],
      ),
    )
  const keyInsert = /insert into idempotency_key/
  const first = await createVideo(
    interrupted(pool, keyInsert, write('way-1', '0')),
    input(),
    ownContext,
    'way-1',
  )
  assert.equal(first.id, id)
  // An expired key has no response to repeat, so the conflict is an error.
  const oldKeyDb = interrupted(pool, keyInsert, write('way-2', '25 hours'))
  await assert.rejects(
    createVideo(oldKeyDb, input(), ownContext, 'way-2'),
    /idempotency_key_unique/,
  )
  // A request that is refused for another reason gets that reason.
  const otherErrorDb = interrupted(pool, /left join lateral/, write('way-3', '0'))
  const unknown = input({ category: 'Nowhere' })
  await assert.rejects(
    createVideo(otherErrorDb, unknown, ownContext, 'way-3'),
    ({ problem }: Problem) => problem === 'invalid-fields',
  )
})

test('serializes two writers of the same new name before either locks a record', async () => {
  const [one, two] = [await archive.make(), await archive.make()]
  await sql(async (query) => {
    await query('begin')
    await query(`select from video where id = ${one.id} for update`)
    const first = patch(`video/${one.id}`, { speakers: ['Both New'] }, { token })
    await untilWaiting(query, 1, [first])
    const second = patch(`video/${two.id}`, { speakers: ['Both New'] }, { token })
    await untilWaiting(query, 2, [first, second])
    assert.deepEqual(await areLocked(`video where id = ${two.id}`), [false])
    await query('rollback')
    await Promise.all([assertOk(first), assertOk(second)])
  })
})

test('writes the fingerprints before the search words, on insert and on update', async () => {
  const fields = {
    title: 'Fingerprints Before Words',
    speakers: ['Fay First'],
    recorded: '2020-02-02',
  }
  const other = await archive.make({ ...fields, title: 'Something else' })
  const { id } = await archive.make(fields)
  await archive.make(fields)
  // The tag exists, but readers cannot find it yet.
  await archive.make({ state: 2, tags: ['zyxwords'] })
  await sql(async (query) => {
    // Holds the key that both writes add, as a third write would do. Neither of them may have
    // written the word by then: one that has would deadlock with one that has not.
    await query('begin')
    await query(`set local lock_timeout = '100ms'`)
    await query(`
      with held as (delete from duplicate_candidate where rule = 'same-talk' returning key)
      select * from held where key = (select same_talk from video where id = ${id})`)
    const writes = [
      patch(`video/${other.id}`, { ...fields, tags: ['zyxwords'] }, { token }),
      archive.make({ ...fields, tags: ['zyxwords'] }),
    ]
    await untilWaiting(query, 2, writes)
    await query(`insert into search_word (word) values ('zyxwords')`)
    await query('rollback')
    await Promise.all(writes)
  })
})

test('repeats a statement once that PostgreSQL ends because of a deadlock', async () => {
  const [one, two] = [await archive.make(), await archive.make()]
  const lock = (id: number) => `select from video where id = ${id} for update`
  let wasRepeated = false
  // On a slow machine the other transaction may be the one that is ended, or the repeated statement
  // may be fast enough for another deadlock; then once more.
  for (let attempt = 0; attempt < 20 && !wasRepeated; attempt++)
    await sql(async (query) => {
      await query('begin')
      await query(lock(one.id))
      const statement = archive.pool.run(
        sqlTag`select id from video
               where id = any (${[one.id, two.id]}::bigint[])
               order by id desc
               for update`,
      )
      const settled = Promise.allSettled([statement])
      await untilWaiting(query, 1, [statement])
      const [other] = await Promise.allSettled([query(lock(two.id))])
      await query('rollback')
      const [repeated] = await settled
      if (repeated.status === 'fulfilled') assert.equal(repeated.value.rows.length, 2)
      else assert.match(String(repeated.reason), /deadlock detected/)
      wasRepeated = other.status === 'fulfilled' && repeated.status === 'fulfilled'
    })
  assert.ok(wasRepeated)
})

test('does not count a new timestamp as a change', () => {
  const before = { id: 1, title: 'T', updated: 'then' } as Video
  assert.deepEqual(changedFields(before, { ...before, updated: 'now' }), [])
  assert.deepEqual(changedFields(before, { ...before, title: 'U', updated: 'now' }), ['title'])
})

test('keeps the archive consistent after all tests', sound)
