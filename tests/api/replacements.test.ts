import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fact, Replacement, Source, SourceState, Video } from '@talkshelf/contract'
import { createToken, findEvent } from '../../server/auth/auth.ts'
import { proposeReplacement } from '../../server/links/links.ts'
import { category, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { untilWaiting } from '../support/writer.ts'

// Replacements: copies of videos that programs propose and editors accept or refuse.

const archive = await startArchive()
const { call, editor: token, pool, databaseUrl } = archive
const other = 'Other Days 2026'
await call('POST', '/api/v2/category', { token, body: { title: other } })

let made = 0
/** Creates a talk whose video is at a URL of its own. */
function make(fields: Partial<Video> = {}): Promise<Video> {
  made++
  return archive.make({
    title: `Talk ${made}`,
    source_url: `https://videos.example/${made}.mp4`,
    ...fields,
  })
}
const copyOf = ({ id }: Video) => `https://archive.org/details/copy-${id}`

const read = async (id: number): Promise<Video> =>
  (await call('GET', `/api/v2/video/${id}`, { token })).json
const factsOf = async (id: number): Promise<Fact[]> =>
  (await call('GET', `/api/v2/video/${id}/facts`, { token })).json.facts
const patch = (id: number, body: object) => call('PATCH', `/api/v2/video/${id}`, { token, body })
const sourcesOf = async (id: number): Promise<Source[]> =>
  (await call('GET', `/api/v2/video/${id}/sources`, { token })).json.results

/** Returns the id of the source that a record has for a URL, in the given state. */
async function sourceIn(state: SourceState, { id }: Video, url?: string): Promise<number> {
  const sources = await sourcesOf(id)
  const source = url === undefined ? sources[0] : sources.find((each) => each.url === url)
  assert.ok(source)
  await withDatabase(databaseUrl, (query) =>
    query(`update source set state = $1, since = now() where id = $2`, [state, source.id]),
  )
  return source.id
}

const propose = (source: number, url: string, more: { video?: number } = {}) =>
  proposeReplacement(pool, { source, url, finder: 'archive.org', evidence: 'An item', ...more })

async function list(query = ''): Promise<Replacement[]> {
  const reply = await call('GET', `/api/v2/replacement?page_size=100&${query}`, { token })
  assert.equal(reply.status, 200, reply.text)
  return reply.json.results
}
const ofVideo = async ({ id }: Video, query = '') => list(`video=${id}&${query}`)

/** Creates a talk whose video is gone, with an open replacement. */
async function makeLost(fields: Partial<Video> = {}) {
  const video = await make(fields)
  const source = await sourceIn('gone', video)
  assert.equal(await propose(source, copyOf(video)), 1)
  const [replacement] = await ofVideo(video)
  assert.ok(replacement)
  return { video, source, replacement }
}

const decide = (action: 'accept' | 'refuse', { id }: { id: number }, by = token) =>
  call('POST', `/api/v2/replacement/${id}/${action}`, { token: by })

const changesOf = async (id: number): Promise<number> => {
  const [row] = await withDatabase(databaseUrl, (query) =>
    query(
      `select count(*)::int as count from change
       where subject in ('video', 'facts') and subject_id = $1`,
      [id],
    ),
  )
  return Number(row?.count)
}

test('an accepted copy takes the place of a video that is gone, as a change that can be reverted', async () => {
  const { video, source, replacement } = await makeLost()
  assert.equal(replacement.source.id, source)
  assert.deepEqual(
    { ...replacement, source: null, created: null },
    {
      ...{ id: replacement.id, video: video.id, title: video.title, source: null },
      ...{ url: copyOf(video), finder: 'archive.org', evidence: 'An item', state: 'open' },
      ...{ effect: 'replaces', created: null, decided: null, decided_by: null },
    },
  )
  const accepted = await decide('accept', replacement)
  assert.equal(accepted.status, 200, accepted.text)
  assert.deepEqual(
    [accepted.json.state, accepted.json.decided_by, accepted.json.effect],
    ['accepted', 'Edith', 'nothing'],
  )
  assert.equal((await read(video.id)).source_url, copyOf(video))
  assert.deepEqual(await factsOf(video.id), [])
  assert.deepEqual(
    (await sourcesOf(video.id)).map(({ url, state }) => [url, state]),
    [[copyOf(video), 'new']],
  )
  const revision = await call('GET', `/api/v2/video/${video.id}/revisions/2`, { token })
  assert.deepEqual([revision.json.by, revision.json.fields], ['Edith', ['source_url']])
  const reverted = await call('POST', `/api/v2/video/${video.id}/revisions/2/revert`, {
    token,
    body: {},
  })
  assert.equal(reverted.json.source_url, video.source_url)
  await checkInvariants(databaseUrl)
})

test('a copy is added beside a video that can be watched, or that is one of several', async () => {
  const safe = await make()
  await propose(await sourceIn('ok', safe), copyOf(safe))
  const limited = await make()
  await propose(await sourceIn('region', limited), copyOf(limited))
  const several = await make({ video_mp4_url: 'https://files.example/several.mp4' })
  const file = await sourceIn('gone', several, 'https://files.example/several.mp4')
  await call('PUT', `/api/v2/video/${several.id}/facts`, {
    token,
    body: { facts: [{ kind: 'address', path: 'old/1' }] },
  })
  await propose(file, copyOf(several))
  for (const video of [safe, limited, several]) {
    const [replacement] = await ofVideo(video)
    assert.equal(replacement?.effect, 'adds')
    assert.equal((await decide('accept', replacement)).status, 200)
    assert.equal((await read(video.id)).source_url, video.source_url)
    assert.deepEqual(
      (await factsOf(video.id)).filter(({ kind }) => kind === 'media'),
      [{ kind: 'media', url: copyOf(video), type: 'archive.org', size: null }],
    )
  }
  assert.equal((await factsOf(several.id)).length, 2)
  await checkInvariants(databaseUrl)
})

test('each copy is proposed once for each talk that has the source and not the copy', async () => {
  const source_url = 'https://www.youtube.com/watch?v=shared00001'
  const [first, second, third] = [
    await make({ source_url }),
    await make({ source_url: 'https://youtu.be/shared00001?t=90', state: 2 }),
    await make({ source_url, video_mp4_url: 'https://archive.org/download/shared/shared.mp4' }),
  ]
  const gone = await make({ source_url })
  await call('POST', `/api/v2/video/${gone.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
  const source = await sourceIn('gone', first, source_url)
  const copy = 'https://archive.org/details/shared'
  assert.equal(await propose(source, copy), 2)
  assert.equal(await propose(source, copy), 0)
  assert.equal(await propose(source, 'http://www.archive.org/details/shared/'), 0, 'the same copy')
  const [ofSecond] = await ofVideo(second)
  assert.ok(ofSecond)
  assert.equal((await ofVideo(first)).length, 1)
  assert.deepEqual(await ofVideo(third), [])
  assert.equal((await decide('refuse', ofSecond)).json.state, 'refused')
  assert.equal(await propose(source, copy), 0, 'refused is not proposed again')
  assert.equal(await propose(source, 'https://archive.org/details/other', { video: first.id }), 1)
  for (const url of [
    '',
    'ftp://archive.org/x',
    'https://',
    `https://a.example/${'x'.repeat(2100)}`,
  ])
    assert.equal(await propose(source, url), 0, url.slice(0, 30))
})

test('a decision is made once, and repeating it changes nothing', async () => {
  const { video, replacement } = await makeLost()
  assert.equal((await decide('accept', replacement)).status, 200)
  const changes = await changesOf(video.id)
  const again = await decide('accept', replacement)
  assert.deepEqual([again.status, again.json.state], [200, 'accepted'])
  assert.equal(await changesOf(video.id), changes)
  const refused = await decide('refuse', replacement)
  assert.equal(refused.status, 409)
  assert.equal(refused.json.detail, 'Edith has accepted this replacement. Nothing was changed')
  const { replacement: unwanted, video: kept } = await makeLost()
  assert.equal((await decide('refuse', unwanted)).status, 200)
  assert.equal((await decide('refuse', unwanted)).status, 200)
  assert.equal((await decide('accept', unwanted)).status, 409)
  assert.equal((await read(kept.id)).source_url, kept.source_url)
  assert.equal((await decide('accept', { id: 999_999 })).status, 404)
  assert.deepEqual(await ofVideo(video), [])
  assert.equal((await ofVideo(video, 'state=accepted')).length, 1)
  assert.equal((await ofVideo(kept, 'state=refused')).length, 1)
})

test('what the record no longer has, and what was taken down, needs no decision', async () => {
  const { video, source, replacement } = await makeLost()
  await propose(source, 'https://archive.org/details/second')
  assert.equal((await ofVideo(video)).length, 2)
  await decide('accept', replacement)
  assert.deepEqual(await ofVideo(video), [], 'the other copies of the lost source')

  const edited = await makeLost()
  await patch(edited.video.id, { source_url: 'https://videos.example/by-hand.mp4' })
  assert.equal((await decide('accept', edited.replacement)).status, 404)

  const known = await makeLost()
  await patch(known.video.id, { video_mp4_url: copyOf(known.video) })
  const [now] = await ofVideo(known.video)
  assert.equal(now?.effect, 'nothing')
  const changes = await changesOf(known.video.id)
  assert.equal((await decide('accept', now)).json.state, 'accepted')
  assert.equal(await changesOf(known.video.id), changes)

  const { video: removed, replacement: ofRemoved } = await makeLost()
  await call('POST', `/api/v2/video/${removed.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
  assert.equal((await decide('accept', ofRemoved)).status, 404)
  const rows = await withDatabase(databaseUrl, (query) =>
    query('select from replacement where video_id = $1', [removed.id]),
  )
  assert.deepEqual(rows, [], 'nothing of it is kept')
})

test('a replacement of a talk that was merged is one of its target', async () => {
  const { video, replacement } = await makeLost()
  const target = await make({ title: video.title })
  const merged = await call('POST', `/api/v2/video/${video.id}/merge`, {
    token,
    body: { into: target.id },
  })
  assert.equal(merged.status, 200, merged.text)
  for (const each of [video, target]) {
    const [found] = await ofVideo(each)
    assert.deepEqual([found?.id, found?.video], [replacement.id, target.id])
  }
  assert.equal((await decide('accept', replacement)).status, 200)
  const urls = (await sourcesOf(target.id)).map(({ url }) => url)
  assert.ok(urls.includes(copyOf(video)), urls.join(' '))
  await checkInvariants(databaseUrl)
})

test('editors of single events see and decide those of their talks only', async () => {
  const event = await findEvent(pool, category)
  const name = { name: 'Evi', role: 'editor', days: 1, eventId: event.id } as const
  const { token: own } = await createToken(pool, name)
  const [mine, foreign] = [await makeLost(), await makeLost({ category: other })]
  const visible = await call('GET', '/api/v2/replacement?page_size=100', { token: own })
  const ids = visible.json.results.map(({ id }: Replacement) => id)
  assert.ok(ids.includes(mine.replacement.id))
  assert.ok(!ids.includes(foreign.replacement.id))
  assert.equal(visible.json.count, ids.length)
  for (const action of ['accept', 'refuse'] as const)
    assert.equal((await decide(action, foreign.replacement, own)).status, 403)
  assert.equal((await read(foreign.video.id)).source_url, foreign.video.source_url)
  assert.equal((await decide('accept', mine.replacement, own)).status, 200)
})

test('lists open replacements by page and by cursor, oldest first', async () => {
  for (let index = 0; index < 5; index++) await makeLost()
  const all = (await list()).map(({ id }) => id)
  assert.deepEqual(
    all,
    all.toSorted((a, b) => a - b),
  )
  for (const start of ['page_size=2', 'page_size=2&cursor=']) {
    const seen: number[] = []
    for (let path: string | undefined = `/api/v2/replacement?${start}`; path; ) {
      const { json }: Awaited<ReturnType<typeof call>> = await call('GET', path, { token })
      assert.equal(json.count, all.length)
      seen.push(...json.results.map(({ id }: Replacement) => id))
      path = json.next?.slice(archive.url.length)
    }
    assert.deepEqual(seen, all)
  }
  for (const query of ['state=x', 'video=0', 'page=0', 'cursor=x', 'q=x'])
    assert.equal((await call('GET', `/api/v2/replacement?${query}`, { token })).status, 400, query)
})

test('editors who decide at once make one change, and nothing is lost of what others edit', async () => {
  const { token: second } = await createToken(pool, { name: 'Grace', role: 'editor', days: 1 })
  for (let round = 0; round < 15; round++) {
    const { video, replacement } = await makeLost()
    const before = await changesOf(video.id)
    const edit = patch(video.id, { summary: `Edited ${round}` })
    const replies = await Promise.all([
      decide('accept', replacement),
      decide('accept', replacement, second),
      edit,
    ])
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200, 200],
      replies.map(({ text }) => text).join('\n'),
    )
    const { source_url, summary } = await read(video.id)
    assert.deepEqual([source_url, summary], [copyOf(video), `Edited ${round}`])
    assert.equal(await changesOf(video.id), before + 2, 'one of the copy, one of the edit')
  }
  for (let round = 0; round < 15; round++) {
    const video = await make()
    await propose(await sourceIn('ok', video), copyOf(video))
    const [replacement] = await ofVideo(video)
    assert.ok(replacement)
    const related = { kind: 'related', url: `https://slides.example/${round}`, label: null }
    const replies = await Promise.all([
      decide('accept', replacement),
      decide('accept', replacement, second),
      call('PUT', `/api/v2/video/${video.id}/facts`, { token, body: { facts: [related] } }),
    ])
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200, 200],
    )
    const copies = (await factsOf(video.id)).filter(({ kind }) => kind === 'media')
    // The list of facts may have been replaced after the copy was added.
    assert.ok(copies.length <= 1, JSON.stringify(copies))
    const [row] = await withDatabase(databaseUrl, (query) =>
      query(
        `select count(*)::int as count from change
         where subject = 'facts' and subject_id = $1 and after::text like '%archive.org%'
           and before::text not like '%archive.org%'`,
        [video.id],
      ),
    )
    assert.equal(row?.count, 1, 'the copy was added once')
  }
  await checkInvariants(databaseUrl)
})

test('of two editors who disagree one wins, and the record shows which', async () => {
  const { token: second } = await createToken(pool, { name: 'Mary', role: 'editor', days: 1 })
  for (let round = 0; round < 15; round++) {
    const { video, replacement } = await makeLost()
    const replies = await Promise.all([
      decide('accept', replacement),
      decide('refuse', replacement, second),
    ])
    const statuses = replies.map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [200, 409], JSON.stringify(statuses))
    const [decided] = await ofVideo(video, `state=${statuses[0] === 200 ? 'accepted' : 'refused'}`)
    assert.equal(decided?.id, replacement.id)
    const { source_url } = await read(video.id)
    assert.equal(source_url, statuses[0] === 200 ? copyOf(video) : video.source_url)
  }
})

test('a copy that is proposed during a takedown waits for its end', async () => {
  const { video, source } = await makeLost()
  await withDatabase(databaseUrl, (first) =>
    withDatabase(databaseUrl, async (second) => {
      await first('begin')
      await first(
        `update video
         set taken_down = current_date, takedown_reason = 'asked for', revision = revision + 1
         where id = $1`,
        [video.id],
      )
      const proposed = propose(source, `https://archive.org/details/late-${video.id}`)
      await untilWaiting(second, 1, [proposed])
      await first('rollback')
      assert.equal(await proposed, 1, 'it was not taken down')
    }),
  )
})

test('a takedown at the same time leaves neither a copy nor a replacement', async () => {
  for (let round = 0; round < 10; round++) {
    const { video, source, replacement } = await makeLost()
    const [accepted, takenDown, proposed] = await Promise.all([
      decide('accept', replacement),
      call('POST', `/api/v2/video/${video.id}/takedown`, {
        token: archive.admin,
        body: { reason: 'asked for' },
      }),
      propose(source, `https://archive.org/details/late-${video.id}`),
    ])
    assert.equal(takenDown.status, 200, takenDown.text)
    assert.ok([200, 404, 410].includes(accepted.status), accepted.text)
    assert.ok(proposed <= 1)
    const rows = await withDatabase(databaseUrl, (query) =>
      query('select from replacement where video_id = $1', [video.id]),
    )
    assert.deepEqual(rows, [])
  }
  await checkInvariants(databaseUrl)
})
