import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Video } from '@talkshelf/contract'
import { call, category, type Reply, spawnServer, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { emptyPersonProfile } from '../support/profiles.ts'
import { untilWaiting } from '../support/writer.ts'

// Renames, aliases, merges and splits of speakers, categories and tags, with every record that
// shows them.

const archive = await startArchive()
const { editor: token } = archive
const get = (path: string, as?: string) =>
  archive.call('GET', `/api/v2/${path}`, as ? { token: as } : {})
const patch = (path: string, body: object, headers: Record<string, string> = {}) =>
  archive.call('PATCH', `/api/v2/${path}`, { token, body, headers })
const post = (path: string, body: object) =>
  archive.call('POST', `/api/v2/${path}`, { token, body })
const takeDown = (id: number) =>
  archive.call('POST', `/api/v2/video/${id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked' },
  })
const record = async (id: number): Promise<Video> => (await get(`video/${id}`, token)).json

async function ok(reply: Promise<Reply>): Promise<Reply> {
  const response = await reply
  assert.ok(response.status < 300, response.text)
  return response
}

/** Asserts that no word is in the headers or the body, in any case. */
function assertAbsent(words: readonly string[], reply: Reply): void {
  const all = JSON.stringify([reply.headers, reply.text, reply.json ?? '']).toLowerCase()
  for (const word of words) assert.ok(!all.includes(word.toLowerCase()), `${word} is in ${all}`)
}

async function waitForRenames(): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (
      (await withDatabase(archive.databaseUrl, (query) => query('select from rename_job')))
        .length === 0
    )
      return
    await setTimeout(20)
  }
  assert.fail('a rename is not done after 20 s')
}

test('renames a speaker in every record with a revision of each', async () => {
  const live = await archive.make({ speakers: ['First', 'Dora Deadname', 'Last'] })
  const draft = await archive.make({ speakers: ['Dora Deadname'], state: 2 })
  const gone = await archive.make({ speakers: ['Dora Deadname'] })
  await takeDown(gone.id)
  const { headers } = await get(`video/${live.id}`)
  const etag = String((await get('speaker/dora-deadname')).headers.etag)

  const { json } = await ok(
    patch('speaker/dora-deadname', { name: ' Nora Newname ' }, { 'if-match': etag }),
  )
  const { id } = json
  const aliases = [{ name: 'Dora Deadname', shown: false }]
  assert.deepEqual(json, {
    id,
    name: 'Nora Newname',
    slug: 'nora-newname',
    ...emptyPersonProfile,
    talks: 1,
    aliases,
    old_slugs: ['dora-deadname'],
    records_left: 0,
  })

  const after = await record(live.id)
  assert.deepEqual(after.speakers, ['First', 'Nora Newname', 'Last'])
  assert.ok(after.updated > live.updated)
  assert.deepEqual((await record(draft.id)).speakers, ['Nora Newname'])
  assert.deepEqual((await get(`video/${live.id}`)).json, after)
  assert.equal(
    (
      await archive.call('GET', `/api/v2/video/${live.id}`, {
        headers: { 'if-none-match': String(headers.etag) },
      })
    ).status,
    200,
  )
  const { json: revisions } = await get(`video/${live.id}/revisions`, token)
  assert.deepEqual(
    [revisions.count, revisions.results[0].kind, revisions.results[0].by],
    [2, 'updated', 'Edith'],
  )
  assert.deepEqual(revisions.results[0].fields, ['speakers'])
  await withDatabase(archive.databaseUrl, async (query) => {
    const changes = await query(`
      select subject, request_id, before, after
      from change
      where request_id = (select request_id from change
                          where subject = 'speaker' and subject_id = ${id} and revision = 1)
      order by subject, subject_id`)
    assert.deepEqual(
      changes.map(({ subject }) => subject),
      ['speaker', 'video', 'video'],
    )
    assert.deepEqual(changes[1]?.before, { speakers: ['First', 'Dora Deadname', 'Last'] })
  })
  assert.equal((await get(`video/${gone.id}`)).status, 410)
  await checkInvariants(archive.databaseUrl)
})

test('redirects an old slug without leaking the old name', async () => {
  const dead = ['dora', 'deadname']
  for (const method of ['GET', 'HEAD'])
    for (const [query, as] of [
      ['', undefined],
      ['?format=json', undefined],
      ['?format=json', token],
    ] as const) {
      const reply = await archive.call(
        method,
        `/api/v2/speaker/dora-deadname${query}`,
        as ? { token: as } : {},
      )
      assert.equal(reply.status, 301)
      assert.equal(reply.headers.location, `${archive.url}/api/v2/speaker/nora-newname${query}`)
      assert.equal(reply.headers['cache-control'], as ? 'private, no-store' : 'public, max-age=60')
      assert.equal(reply.text, '')
      assertAbsent(dead, reply)
    }
  const reader = await get('speaker/nora-newname')
  assert.deepEqual(reader.json.aliases, [])
  assertAbsent(dead, reader)
  const listed = await get('video?speaker=dora-deadname&page_size=1&cursor=')
  assert.deepEqual(listed.json.results[0].speakers, ['First', 'Nora Newname', 'Last'])
  await archive.make({ speakers: ['Nora Newname'] })
  const more = await get('video?speaker=dora-deadname&page_size=1&cursor=')
  assert.equal(more.json.count, 2)
  assert.ok(more.json.next.includes('speaker=nora-newname'))
  for (const path of ['speaker', 'speaker?page_size=100', 'video'])
    assertAbsent(dead, await get(path))
  assertAbsent(dead, more)
  // After a second rename the first slug redirects to the last one directly.
  await ok(patch('speaker/dora-deadname', { name: 'Nora Third' }))
  for (const slug of ['dora-deadname', 'nora-newname'])
    assert.equal(
      (await get(`speaker/${slug}`)).headers.location,
      `${archive.url}/api/v2/speaker/nora-third`,
    )
  await ok(patch('speaker/nora-third', { name: 'Nora Newname' }))
  assert.equal((await get('speaker/nora-newname')).status, 200)
})

test('shows current names in old revisions, restores and repeated responses', async () => {
  const body = {
    title: 'Once',
    category,
    language: 'English',
    speakers: ['Hilda History', 'Other Person'],
    tags: ['old tag'],
    state: 1,
  }
  const key = { 'idempotency-key': 'history' }
  const { json } = await archive.call('POST', '/api/v2/video', { token, body, headers: key })
  await ok(patch(`video/${json.id}`, { speakers: ['Other Person'], tags: [] }))
  await ok(patch('speaker/hilda-history', { name: 'Hilda Today' }))
  await ok(patch('tag/old-tag', { name: 'fresh' }))
  const first = await get(`video/${json.id}/revisions/1`, token)
  assert.deepEqual(first.json.record.speakers, ['Hilda Today', 'Other Person'])
  assert.deepEqual(first.json.record.tags, ['fresh'])
  assertAbsent(['Hilda History', 'old tag'], first)
  assertAbsent(
    ['Hilda History'],
    await archive.call('POST', '/api/v2/video', { token, body, headers: key }),
  )
  await ok(post('speaker/hilda-today/merge', { into: 'other-person' }))
  assert.deepEqual((await get(`video/${json.id}/revisions/1`, token)).json.record.speakers, [
    'Other Person',
  ])
  const restored = await ok(
    archive.call('POST', `/api/v2/video/${json.id}/revisions/1/restore`, { token }),
  )
  assert.deepEqual([restored.json.speakers, restored.json.tags], [['Other Person'], ['fresh']])
  await checkInvariants(archive.databaseUrl)
})

test('resolves old names and aliases to one person with the current name', async () => {
  const { id } = await archive.make({
    speakers: ['Alva Before'],
    tags: ['js'],
    title: 'To be put back',
  })
  const read = (await get(`video/${id}`, token)).json
  await ok(
    patch('speaker/alva-before', {
      name: 'Alva After',
      aliases: [{ name: 'A. After', shown: true }],
    }),
  )
  await ok(patch('tag/js', { name: 'JavaScript' }))
  assert.deepEqual((await get('speaker/alva-after')).json.aliases, [
    { name: 'A. After', shown: true },
  ])
  assert.deepEqual((await get('speaker/alva-after', token)).json.aliases, [
    { name: 'A. After', shown: true },
    { name: 'Alva Before', shown: false },
  ])

  const made = await archive.make({
    speakers: ['A. After', 'Alva Before', 'Alva After', 'New Face'],
    tags: ['js', 'JavaScript'],
  })
  assert.deepEqual([made.speakers, made.tags], [['Alva After', 'New Face'], ['JavaScript']])
  // A PUT of what was read before the rename changes nothing.
  const put = await archive.call('PUT', `/api/v2/video/${id}`, { token, body: read })
  assert.deepEqual([put.json.speakers, put.json.tags], [['Alva After'], ['JavaScript']])
  assert.equal((await get(`video/${id}/revisions`, token)).json.count, 3)
  const patched = await ok(
    patch(`video/${id}`, { speakers: ['New Face', 'Alva Before', 'A. After'] }),
  )
  assert.deepEqual(patched.json.speakers, ['New Face', 'Alva After'])
  // A removed alias belongs to a new speaker from then on.
  await ok(patch('speaker/alva-after', { aliases: [] }))
  const other = await archive.make({ speakers: ['Alva Before'] })
  assert.deepEqual(other.speakers, ['Alva Before'])
  assert.notEqual(
    (await get('speaker/alva-before-1')).json.id,
    (await get('speaker/alva-after')).json.id,
  )
  await checkInvariants(archive.databaseUrl)
})

test('renames a category in records, lists and filters and accepts its old title', async () => {
  await post('category', { title: 'Old Days', description: 'Days' })
  const { id } = await archive.make({ category: 'Old Days' })
  const { json } = await ok(
    patch('category/old-days', { title: 'New Days', url: 'https://example.org/' }),
  )
  assert.deepEqual(
    [json.title, json.slug, json.description, json.url],
    ['New Days', 'new-days', 'Days', 'https://example.org/'],
  )
  assert.equal((await record(id)).category, 'New Days')
  assert.equal(
    (await get('category/old-days')).headers.location,
    `${archive.url}/api/v2/category/new-days`,
  )
  assert.equal((await get('video?category=old-days')).json.count, 1)
  assert.equal((await archive.make({ category: 'Old Days' })).category, 'New Days')
  assert.equal((await post('category', { title: 'Old Days' })).status, 409)
  const titles = (await get('category?page_size=100')).json.results.map(
    (entry: { title: string }) => entry.title,
  )
  assert.ok(titles.includes('New Days') && !titles.includes('Old Days'))
  const unknown = await post('video', { title: 'x', category: 'Old Day', language: 'en' })
  assert.equal(unknown.status, 400)
  assertAbsent(['Old Days'], unknown)
  await checkInvariants(archive.databaseUrl)
})

test('merges a speaker everywhere and removes duplicates within a record', async () => {
  const both = await archive.make({ speakers: ['Mia One', 'Between', 'Mia Two'] })
  const turned = await archive.make({ speakers: ['Mia Two', 'Mia One'] })
  const draft = await archive.make({ speakers: ['Mia One'], state: 2 })
  const gone = await archive.make({ speakers: ['Mia One', 'Mia Two'] })
  await takeDown(gone.id)
  await ok(patch('speaker/mia-one', { aliases: [{ name: 'Mia Pen', shown: true }] }))
  const { json } = await ok(post('speaker/mia-one/merge', { into: 'mia-two' }))
  assert.deepEqual([json.name, json.talks, json.records_left], ['Mia Two', 2, 0])
  assert.deepEqual(json.aliases, [
    { name: 'Mia One', shown: false },
    { name: 'Mia Pen', shown: true },
  ])
  assert.deepEqual((await record(both.id)).speakers, ['Mia Two', 'Between'])
  assert.deepEqual((await record(turned.id)).speakers, ['Mia Two'])
  assert.deepEqual((await record(draft.id)).speakers, ['Mia Two'])
  assert.equal(
    (await get('speaker/mia-one')).headers.location,
    `${archive.url}/api/v2/speaker/mia-two`,
  )
  const listed = (await get('speaker?page_size=100')).json.results.map(
    (entry: { name: string }) => entry.name,
  )
  assert.ok(listed.includes('Mia Two') && !listed.includes('Mia One'))
  assert.deepEqual((await archive.make({ speakers: ['Mia Pen', 'Mia One'] })).speakers, ['Mia Two'])
  // A repeated merge has no effect.
  const again = await ok(post('speaker/mia-one/merge', { into: 'mia-two' }))
  assert.deepEqual([again.json.id, again.json.talks], [json.id, 3])
  // The target takes the name and the slug of the merged speaker, and gives them up again.
  assert.equal((await ok(patch('speaker/mia-two', { name: 'Mia One' }))).json.slug, 'mia-one')
  assert.deepEqual((await record(draft.id)).speakers, ['Mia One'])
  await ok(patch('speaker/mia-one', { name: 'Mia Two' }))
  // After another merge, all names resolve to the third speaker.
  await archive.make({ speakers: ['Mia Three'] })
  await ok(post('speaker/mia-two/merge', { into: 'mia-three' }))
  assert.equal(
    (await get('speaker/mia-one')).headers.location,
    `${archive.url}/api/v2/speaker/mia-three`,
  )
  assert.deepEqual((await get(`video/${both.id}/revisions/1`, token)).json.record.speakers, [
    'Mia Three',
    'Between',
  ])
  await checkInvariants(archive.databaseUrl)
})

test('merges tags and categories', async () => {
  await post('category', { title: 'Twin A' })
  await post('category', { title: 'Twin B', description: 'The one that stays' })
  const { id } = await archive.make({ category: 'Twin A', tags: ['postgres', 'PostgreSQL', 'sql'] })
  await ok(post('tag/postgres/merge', { into: 'postgresql' }))
  const { json } = await ok(post('category/twin-a/merge', { into: 'twin-b' }))
  assert.deepEqual([json.title, json.description, json.talks], ['Twin B', 'The one that stays', 1])
  const { category: title, tags } = await record(id)
  assert.deepEqual([title, tags], ['Twin B', ['PostgreSQL', 'sql']])
  assert.equal((await get('tag/postgres')).headers.location, `${archive.url}/api/v2/tag/postgresql`)
  assert.equal((await get('tag/postgresql')).json.talks, 1)
  assert.equal((await archive.make({ category: 'Twin A' })).category, 'Twin B')
  await checkInvariants(archive.databaseUrl)
})

test('splits two people who share a name', async () => {
  const mine = await archive.make({ speakers: ['Jane Smith', 'Chair'] })
  const hers = await archive.make({ speakers: ['Chair', 'Jane Smith'] })
  const draft = await archive.make({ speakers: ['Jane Smith'], state: 2 })
  const { json } = await ok(
    post('speaker/jane-smith/split', {
      name: 'Jane Smith (physicist)',
      videos: [hers.id, draft.id],
    }),
  )
  assert.deepEqual([json.slug, json.talks], ['jane-smith-physicist', 1])
  assert.deepEqual((await record(hers.id)).speakers, ['Chair', 'Jane Smith (physicist)'])
  assert.deepEqual((await record(draft.id)).speakers, ['Jane Smith (physicist)'])
  assert.deepEqual((await record(mine.id)).speakers, ['Jane Smith', 'Chair'])
  assert.equal((await get('speaker/jane-smith')).json.talks, 1)
  const again = await ok(
    post('speaker/jane-smith/split', { name: 'Jane Smith (physicist)', videos: [hers.id] }),
  )
  assert.equal(again.json.id, json.id)
  assert.equal((await get(`video/${hers.id}/revisions`, token)).json.count, 2)

  const wrong = await post('speaker/jane-smith/split', {
    name: 'Somebody',
    videos: [mine.id, 999_999, (await archive.make()).id],
  })
  assert.equal(wrong.status, 400)
  assert.deepEqual(
    wrong.json.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
    [
      ['/videos/1', 'not-theirs'],
      ['/videos/2', 'not-theirs'],
    ],
  )
  await withDatabase(archive.databaseUrl, async (query) =>
    assert.deepEqual(
      await query("select from entity_name where name = 'Somebody'"),
      [],
      'a refused split made a speaker',
    ),
  )
  // A split undoes a wrong merge: the alias becomes a speaker again.
  await ok(post('speaker/jane-smith-physicist/merge', { into: 'jane-smith' }))
  assert.deepEqual((await record(hers.id)).speakers, ['Chair', 'Jane Smith'])
  await ok(post('speaker/jane-smith/split', { name: 'Jane Smith (physicist)', videos: [hers.id] }))
  assert.deepEqual((await record(hers.id)).speakers, ['Chair', 'Jane Smith (physicist)'])
  assert.deepEqual((await get('speaker/jane-smith', token)).json.aliases, [])
  await checkInvariants(archive.databaseUrl)
})

/** Sends invalid requests, each with its expected status and message. */
const sendInvalid = (): [Promise<Reply>, number, RegExp][] => [
  [
    patch('speaker/wanda-wrong', { name: 'Rita Right' }),
    409,
    /name already belongs to speaker rita-right/,
  ],
  [
    patch('speaker/wanda-wrong', { name: 'Rita R.' }),
    409,
    /name already belongs to speaker rita-right/,
  ],
  [
    patch('speaker/wanda-wrong', { aliases: [{ name: 'Rita R.' }] }),
    409,
    /alias already belongs to speaker rita-right/,
  ],
  [patch('speaker/wanda-wrong', { name: '  ' }), 400, /"\/name"/],
  [patch('speaker/wanda-wrong', { aliases: ['Wanda W.'] }), 400, /must be an object/],
  [
    patch('speaker/wanda-wrong', { aliases: [{ name: 'Wanda Wrong' }] }),
    400,
    /is already the main name/,
  ],
  [patch('speaker/wanda-wrong', { title: 'x' }), 400, /is not a field of this resource/],
  [patch('speaker/nobody', { name: 'x' }), 404, /This speaker does not exist/],
  [patch('tag/nothing', { name: 'x' }), 404, /This tag does not exist/],
  [patch('speaker/wanda-wrong', { name: 'x' }, { 'if-match': '"1.9.old"' }), 412, /stale-revision/],
  [post('speaker/wanda-wrong/merge', { into: 'wanda-wrong' }), 400, /is the speaker to be merged/],
  [post('speaker/wanda-wrong/merge', { into: 'nobody' }), 400, /is not the slug of a speaker/],
  [post('speaker/nobody/merge', { into: 'wanda-wrong' }), 404, /This speaker does not exist/],
  [
    post('speaker/wanda-wrong/split', { name: 'Wanda Wrong', videos: [1] }),
    400,
    /choose one that tells the two apart/,
  ],
  [
    post('speaker/wanda-wrong/split', { name: 'x', videos: [] }),
    400,
    /must be a list of 1 to 200 whole numbers/,
  ],
  [
    post('speaker/wanda-wrong/split', {
      name: 'x',
      videos: Array.from({ length: 201 }, () => 1),
    }),
    400,
    /1 to 200/,
  ],
  [get('speaker/nobody'), 404, /This speaker does not exist/],
  [get('tag/nothing'), 404, /This tag does not exist/],
]

test('rejects invalid renames, merges and splits without changing anything', async () => {
  await archive.make({ speakers: ['Wanda Wrong', 'Rita Right'], tags: ['Wanda Wrong'] })
  await ok(patch('speaker/rita-right', { aliases: [{ name: 'Rita R.' }] }))
  const state = () =>
    withDatabase(archive.databaseUrl, (query) =>
      query('select (select count(*) from change), (select count(*) from entity_name)'),
    )
  const before = await state()
  for (const [request, status, message] of sendInvalid()) {
    const reply = await request
    assert.equal(reply.status, status, reply.text)
    assert.match(reply.text, message)
  }
  assert.deepEqual(await state(), before)
})

test('renames only the version in If-Match, and only once', async () => {
  await archive.make({ speakers: ['Vera Version'] })
  const etag = String((await get('speaker/vera-version', token)).headers.etag)
  // Another talk changes the ETag, but not the version of the speaker.
  await archive.make({ speakers: ['Vera Version'] })
  assert.notEqual((await get('speaker/vera-version', token)).headers.etag, etag)
  const rename = () =>
    patch('speaker/vera-version', { name: 'Vera Versioned' }, { 'if-match': etag })
  const first = await ok(rename())
  const again = await ok(rename())
  assert.deepEqual(again.json, first.json)
  const stale = await patch('speaker/vera-versioned', { name: 'Vera Late' }, { 'if-match': etag })
  assert.equal(stale.status, 412)
  assert.deepEqual([stale.json.current.revision, stale.json.current.by], [1, 'Edith'])
  assert.deepEqual(stale.json.current.fields, ['aliases', 'name', 'slug'])
  // A speaker that was never changed has no author of a change.
  await archive.make({ speakers: ['Vera Untouched'] })
  const never = await patch(
    'speaker/vera-untouched',
    { name: 'Vera Late' },
    { 'if-match': '"1.1.x"' },
  )
  assert.deepEqual([never.status, never.json.current.by], [412, null])
  await ok(patch('speaker/vera-untouched', { name: 'Vera Touched' }, { 'if-match': '*' }))
})

test('renames 450 records in batches without blocking readers or losing writes', async (t) => {
  const made = await createRecordsOf('Ben Before', 450)
  const started = performance.now()
  let slowestMs = 0
  let isRenamed = false
  const reader = (async () => {
    while (!isRenamed) {
      const began = performance.now()
      const id = made[Math.floor(Math.random() * made.length)] as number
      assert.equal((await get(`video/${id}`)).status, 200)
      slowestMs = Math.max(slowestMs, performance.now() - began)
    }
  })()
  const writers = Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (let number = lane; number < 40; number += 8) {
        const id = made[number * 11] as number
        await ok(retryUnavailable(() => patch(`video/${id}`, { summary: `kept ${number}` })))
        await ok(
          retryUnavailable(() =>
            patch(`video/${id}`, { speakers: ['Ben Before', `Guest ${number}`] }),
          ),
        )
        await ok(retryUnavailable(() => patch(`video/${id}`, { whiteboard: `kept ${number}` })))
      }
    }),
  )
  const { json } = await ok(
    retryUnavailable(() => patch('speaker/ben-before', { name: 'Ben After' })),
  )
  assert.equal(json.records_left, 400)
  const answeredMs = performance.now() - started
  await waitForRenames()
  const doneMs = performance.now() - started
  await writers
  isRenamed = true
  await reader
  t.diagnostic(
    [
      `answered after ${answeredMs.toFixed()} ms`,
      `all done after ${doneMs.toFixed()} ms`,
      `slowest read ${slowestMs.toFixed()} ms`,
    ].join(', '),
  )
  for (const [number, id] of made.entries()) {
    const { speakers, summary, whiteboard } = await record(id)
    if (number % 11 > 0 || number / 11 >= 40) assert.deepEqual(speakers, ['Ben After'])
    else
      assert.deepEqual(
        [speakers, summary, whiteboard],
        [['Ben After', `Guest ${number / 11}`], `kept ${number / 11}`, `kept ${number / 11}`],
      )
  }
  assert.equal((await get('speaker/ben-after')).json.talks, 450)
  await checkInvariants(archive.databaseUrl)
})

test('resumes a rename after the server was killed', async () => {
  const made = await createRecordsOf('Kim Killed', 650)
  const first = await spawnServer({ DATABASE_URL: archive.databaseUrl, RESUME_SECONDS: '0' })
  // Locks a record of the second batch, so that the batch cannot finish before the kill.
  await withDatabase(archive.databaseUrl, async (query) => {
    await query('begin')
    await query(`select from video where id = ${made[75]} for update`)
    const reply = await archive.call('GET', '/api/v2/speaker/kim-killed')
    assert.equal(reply.status, 200)
    const renamed = await patchOn(first.url, 'speaker/kim-killed', { name: 'Kim Alive' })
    assert.deepEqual([renamed.status, renamed.json.records_left], [200, 600])
    first.process.kill('SIGKILL')
    await query('rollback')
  })
  const countRenamed = async () =>
    withDatabase(archive.databaseUrl, async (query) =>
      Number(
        (
          await query(`select count(*)::int as n from video_body where body like '%"Kim Alive"%'`)
        )[0]?.n,
      ),
    )
  assert.equal(await countRenamed(), 50)
  await checkInvariants(archive.databaseUrl)
  // Until the rename is resumed, a write accepts both names.
  const id = made[300] as number
  assert.deepEqual(
    (await ok(patch(`video/${id}`, { speakers: ['Kim Alive', 'Kim Killed'] }))).json.speakers,
    ['Kim Alive'],
  )
  const second = await spawnServer({ DATABASE_URL: archive.databaseUrl, RESUME_SECONDS: '1' })
  await waitForRenames()
  await second.stop()
  assert.equal(await countRenamed(), 650)
  await checkInvariants(archive.databaseUrl)
})

test('waits for a running rename and writes the new name', async () => {
  const { id } = await archive.make({ speakers: ['Lea Late'], tags: ['late'] })
  await ok(patch(`video/${id}`, { speakers: [], tags: [] }))
  await post('category', { title: 'Late Days' })
  await withDatabase(archive.databaseUrl, async (query) => {
    // Does what a rename does, and keeps the transaction open before its commit.
    await query('begin')
    for (const [kind, column, old, fresh] of [
      ['speaker', 'name', 'Lea Late', 'Lea Later'],
      ['tag', 'name', 'late', 'later'],
      ['category', 'title', 'Late Days', 'Later Days'],
    ]) {
      const [entity] = await query(
        `update ${kind} set ${column} = '${fresh}' where ${column} = '${old}' returning id`,
      )
      await query(`update entity_name set shown = false where kind = '${kind}' and name = '${old}'`)
      await query(`insert into entity_name values ('${kind}', '${fresh}', ${entity?.id}, true)`)
      await query(
        `update ${kind}
         set slug = '${fresh?.toLowerCase().replace(' ', '-')}'
         where id = ${entity?.id}`,
      )
      await query(
        `insert into entity_slug select '${kind}', slug, id from ${kind} where id = ${entity?.id}`,
      )
    }
    const fields = { speakers: ['Lea Late'], tags: ['late'], category: 'Late Days' }
    const writes = [
      archive.make(fields),
      patch(`video/${id}`, fields),
      patch(`video/${id}`, { ...fields, summary: 'x' }),
    ]
    await untilWaiting(query, writes.length, writes)
    await query('commit')
    await Promise.all(writes)
  })
  const { json } = await get('video?speaker=lea-later', token)
  assert.equal(json.count, 2)
  for (const video of [...json.results, await record(id)])
    assert.deepEqual([video.speakers, video.tags], [['Lea Later'], ['later']])
  assert.equal((await record(id)).category, 'Later Days')
  await checkInvariants(archive.databaseUrl)
})

test('leaves current names in every record after concurrent renames and merges', async (t) => {
  const people = Array.from({ length: 6 }, (_, number) => `Racer ${number}`)
  const made = await Promise.all(
    people.map((name) => archive.make({ speakers: [name], tags: [name] })),
  )
  for (let round = 0; round < 6; round++) {
    const work: (() => Promise<Reply>)[] = []
    for (const [number, name] of people.entries()) {
      work.push(() =>
        patch(`speaker/racer-${number}`, { name: `${name} ${'x'.repeat(round + 1)}` }),
      )
      for (const { id } of made)
        work.push(() =>
          patch(`video/${id}`, { speakers: [name, `Racer ${(number + round) % 6}`], tags: [name] }),
        )
      work.push(() =>
        post('video', {
          title: 'Race',
          category,
          language: 'en',
          speakers: [`${name} ${'x'.repeat(round + 1)}`, name],
          state: 1,
        }),
      )
    }
    if (round > 3)
      work.push(
        () => post(`speaker/racer-${round}/merge`, { into: 'racer-0' }),
        () => post(`tag/racer-${round}/merge`, { into: 'racer-0' }),
      )
    // A record may create the name that a rename needs: then the rename is refused. With an unknown
    // outcome the write may or may not be there; only the final state counts.
    for (const { status, text, json } of await Promise.all(work.map(retryUnavailable)))
      assert.ok([200, 201, 409].includes(status) || json.outcome === 'unknown', text)
  }
  await waitForRenames()
  await checkInvariants(archive.databaseUrl)
  const [row] = await withDatabase(archive.databaseUrl, (query) =>
    query('select deadlocks::int as n from pg_stat_database where datname = current_database()'),
  )
  t.diagnostic(`${row?.n} deadlocks`)
})

/**
 * Repeats a request that timed out without being applied. On a slow machine one of many conflicting
 * writers may wait too long.
 */
async function retryUnavailable(work: () => Promise<Reply>): Promise<Reply> {
  for (let times = 1; ; times++) {
    const reply = await work()
    if (reply.status !== 503 || reply.json.outcome !== 'not-applied' || times === 10) return reply
  }
}

/** Creates live records of one new speaker. Returns their ids in order. */
async function createRecordsOf(name: string, count: number): Promise<number[]> {
  const made: number[] = []
  for (let first = 0; first < count; first += 25)
    made.push(
      ...(await Promise.all(
        Array.from(
          { length: 25 },
          async (_, index) =>
            (
              await archive.make({ speakers: [name], title: `${name} ${first + index}` })
            ).id,
        ),
      )),
    )
  return made.sort((a, b) => a - b)
}

function patchOn(url: string, path: string, body: object): Promise<Reply> {
  return call(url, 'PATCH', `/api/v2/${path}`, { token, body })
}
