import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FeedEntry, Source, Video } from '@talkshelf/contract'
import { feedIsComplete } from '../support/feed-replay.ts'
import { category, root, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Sources: the places where the videos of talks are. Triggers keep them with every write.

const archive = await startArchive()
const { call, editor: token, databaseUrl } = archive
const query = (sql: string, values: unknown[] = []) =>
  withDatabase(databaseUrl, (run) => run(sql, values))

let made = 0
function make(fields: Partial<Video> = {}): Promise<Video> {
  made++
  return archive.make({
    title: `Talk ${made}`,
    source_url: `https://videos.example/${made}.webm`,
    ...fields,
  })
}

const patch = (id: number, body: object) => call('PATCH', `/api/v2/video/${id}`, { token, body })
const putFacts = (id: number, facts: object[]) =>
  call('PUT', `/api/v2/video/${id}/facts`, { token, body: { facts } })

async function sourcesOf(id: number, as: string | undefined = undefined): Promise<Source[]> {
  const reply = await call('GET', `/api/v2/video/${id}/sources`, as ? { token: as } : {})
  assert.equal(reply.status, 200, reply.text)
  return reply.json.results
}

const urlsOf = async (id: number) => (await sourcesOf(id)).map(({ url }) => url).sort()

async function pin(id: number, state: string | null, until = '2999-12-31') {
  const body = { pin: state === null ? null : { state, until } }
  return call('PATCH', `/api/v2/source/${id}`, { token, body })
}

async function firstSource(id: number): Promise<Source> {
  const [source] = await sourcesOf(id, token)
  assert.ok(source)
  return source
}

test('a record has the sources that its fields and facts name', async () => {
  const { id } = await make({
    source_url: 'https://www.youtube.com/watch?v=AAAAAAAAAAA',
    video_mp4_url: 'https://files.example/a.mp4',
    video_webm_url: 'http://files.example/a.webm',
    thumbnail_url: 'https://files.example/a.jpg',
  })
  const own = [
    'http://files.example/a.webm',
    'https://files.example/a.mp4',
    'https://www.youtube.com/watch?v=AAAAAAAAAAA',
  ]
  assert.deepEqual(await urlsOf(id), own)
  await putFacts(id, [
    { kind: 'media', url: 'https://archive.org/details/item', type: 'mp4', size: null },
    { kind: 'part', url: 'https://vimeo.com/12345', start: 0, end: null },
    { kind: 'related', url: 'https://slides.example/', label: null },
    { kind: 'media', url: 'ftp://files.example/a', type: 'mp4', size: null },
    { kind: 'media', url: 'https://localhost/a.mp4', type: 'mp4', size: null },
  ])
  const copies = ['https://archive.org/details/item', 'https://vimeo.com/12345']
  assert.deepEqual(await urlsOf(id), [...own, ...copies].sort())
  await patch(id, { video_mp4_url: null, title: 'Changed' })
  await putFacts(id, [])
  assert.deepEqual(await urlsOf(id), [own[0], own[2]])
  assert.deepEqual(
    (await sourcesOf(id)).map(({ host, state, available, last_check }) => ({
      ...{ host, state, available, last_check },
    })),
    ['www.youtube.com', 'files.example'].map((host) => ({
      ...{ host, state: 'new', available: true, last_check: null },
    })),
  )
})

test('talks that have the same video share its source, however it is spelled', async () => {
  const spellings = [
    'https://www.youtube.com/watch?v=BBBBBBBBBBB',
    'https://youtu.be/BBBBBBBBBBB?t=90',
    'http://m.youtube.com/watch?feature=x&v=BBBBBBBBBBB',
  ]
  const ids: number[] = []
  for (const url of spellings) ids.push((await make({ source_url: url })).id)
  const found = await Promise.all(ids.map((id) => sourcesOf(id)))
  assert.equal(new Set(found.map(([source]) => source?.id)).size, 1)
  const { json } = await call('GET', '/api/v2/source?host=WWW.youtube.com&cursor=', {})
  const shared = json.results.find((source: Source) => source.id === found[0]?.[0]?.id)
  assert.deepEqual(
    shared.videos.map(({ id }: Video) => id),
    ids,
  )
})

test('hosts and operators are those of the URL', async () => {
  const rows = await query(
    `select url, source_host(url) as host, source_operator(source_host(url)) as operator
     from unnest($1::text[]) as url`,
    [
      [
        'https://youtu.be/CCCCCCCCCCC',
        'https://player.vimeo.com/video/1',
        'https://www.archive.org/download/item/a.mp4',
        'https://ia800.us.archive.org/1/items/x.mp4',
        'https://user:secret@Media.Example.AC.UK:8443/x.mp4',
        'https://videos.example.org./x?y#z',
        'https://team.github.io/talks',
        'https://[::1]/x.mp4',
        'https://localhost/x.mp4',
      ],
    ],
  )
  assert.deepEqual(
    rows.map(({ host, operator }) => [host, operator]),
    [
      ['www.youtube.com', 'youtube.com'],
      ['vimeo.com', 'vimeo.com'],
      ['archive.org', 'archive.org'],
      ['ia800.us.archive.org', 'archive.org'],
      ['media.example.ac.uk', 'example.ac.uk'],
      ['videos.example.org', 'example.org'],
      ['team.github.io', 'team.github.io'],
      [null, null],
      [null, null],
    ],
  )
})

test('a state that readers see is in the history and in the feed, a suspicion is not', async () => {
  const talk = await make()
  const source = await firstSource(talk.id)
  const latest = async (): Promise<FeedEntry> => {
    await feedIsComplete(archive)
    const { json } = await call('GET', `/api/v2/changes?kind=video&id=${talk.id}`, {})
    return json.results[0]
  }
  const before = await latest()
  await query(`update source set state = 'suspect' where id = $1`, [source.id])
  assert.equal((await sourcesOf(talk.id))[0]?.state, 'new')
  assert.equal((await sourcesOf(talk.id, token))[0]?.state, 'suspect')
  const pinned = await pin(source.id, 'private')
  assert.equal(pinned.status, 200, pinned.text)
  assert.equal(pinned.json.available, false)
  const away = await latest()
  assert.ok(away.seq > before.seq)
  assert.notEqual(away.version, before.version)
  assert.equal(away.version?.split('.').slice(0, 2).join('.'), `${talk.id}.1`)
  await pin(source.id, 'ok')
  assert.equal((await latest()).version, before.version)
  for (const [as, name] of [
    [{}, 'An editor'],
    [{ token }, 'Edith'],
  ] as const) {
    const { json } = await call('GET', `/api/v2/source/${source.id}/history`, as)
    assert.deepEqual(
      json.results.map(({ from, to, by }: { from: string; to: string; by: string }) => [
        from,
        to,
        by,
      ]),
      [
        ['private', 'ok', name],
        ['new', 'private', name],
      ],
    )
  }
  await checkInvariants(databaseUrl)
})

test('readers find sources of live talks, and nothing of others', async () => {
  const draft = await make({ state: 2 })
  const taken = await make()
  const source = await firstSource(draft.id)
  const other = await firstSource(taken.id)
  const takedown = { token: archive.admin, body: { reason: 'The speaker asked for it' } }
  await call('POST', `/api/v2/video/${taken.id}/takedown`, takedown)
  for (const id of [source.id, other.id]) {
    assert.equal((await call('GET', `/api/v2/source/${id}/history`, {})).status, 404)
    assert.equal((await call('GET', `/api/v2/source/${id}/history`, { token })).status, 200)
  }
  assert.equal((await call('GET', `/api/v2/video/${draft.id}/sources`, {})).status, 404)
  assert.equal((await call('GET', `/api/v2/video/${taken.id}/sources`, {})).status, 410)
  const { json } = await call('GET', '/api/v2/source?page_size=100', {})
  const ids = json.results.map(({ id }: Source) => id)
  assert.ok(!ids.includes(source.id) && !ids.includes(other.id))
})

test('lists sources by state, host and event, in both directions', async () => {
  const event = 'Days of Sources'
  await call('POST', '/api/v2/category', { token, body: { title: event } })
  const talks = []
  for (let number = 0; number < 5; number++)
    talks.push(await make({ category: event, source_url: `https://list.example/${number}` }))
  const sources = await Promise.all(talks.map(({ id }) => firstSource(id)))
  await pin(sources[1]?.id ?? 0, 'gone')
  await query(`update source set state = 'suspect', last_good = now() where id = $1`, [
    sources[2]?.id,
  ])
  const idsOf = async (search: string, as?: string) => {
    const reply = await call('GET', `/api/v2/source?${search}`, as ? { token: as } : {})
    assert.equal(reply.status, 200, reply.text)
    return reply.json.results.map(({ id }: Source) => sources.findIndex((one) => one.id === id))
  }
  assert.deepEqual(await idsOf('category=days-of-sources'), [0, 1, 2, 3, 4])
  assert.deepEqual(await idsOf('host=list.example&state=gone'), [1])
  assert.deepEqual(await idsOf('host=list.example&state=ok'), [2])
  assert.deepEqual(await idsOf('host=list.example&state=suspect'), [])
  assert.deepEqual(await idsOf('host=list.example&state=suspect', token), [2])
  assert.deepEqual(await idsOf('category=nothing'), [])
  const first = await call('GET', '/api/v2/source?host=list.example&page_size=2&cursor=', {})
  const second = await call('GET', first.json.next.slice(archive.url.length), {})
  assert.deepEqual(
    second.json.results.map(({ id }: Source) => id),
    [sources[2]?.id, sources[3]?.id],
  )
  const back = await call('GET', second.json.previous.slice(archive.url.length), {})
  assert.deepEqual(back.json.results, first.json.results)
})

test('a pin is validated and ends, and a check makes a source due', async () => {
  const source = await firstSource((await make()).id)
  for (const [body, pointer] of [
    [{ pin: { state: 'suspect', until: '2999-01-01' } }, '/pin/state'],
    [{ pin: { state: 'gone', until: '2999-02-30' } }, '/pin/until'],
    [{}, '/pin'],
  ] as const) {
    const reply = await call('PATCH', `/api/v2/source/${source.id}`, { token, body })
    assert.equal(reply.status, 400, reply.text)
    assert.ok(reply.text.includes(pointer), reply.text)
  }
  assert.equal(
    (await pin(source.id, 'gone', '2030-01-31')).json.pinned_until,
    '2030-01-31T23:59:59',
  )
  assert.equal((await pin(source.id, null)).json.pinned_until, null)
  assert.equal((await firstSource((await make()).id)).state, 'new')
  assert.equal((await pin(999_999, 'gone')).status, 404)
  assert.equal((await pin(source.id, 'gone', '2001-01-31')).status, 400, 'it has ended')
  const check = (id: number) => call('POST', `/api/v2/source/${id}/check`, { token })
  assert.equal((await check(source.id)).status, 200)
  const [due] = await query(`select next_check <= now() as yes from source where id = $1`, [
    source.id,
  ])
  assert.ok(due?.yes)
  assert.equal((await check(999_999)).status, 404)
})

test('a source that a talk has again is checked soon', async () => {
  const [first, second] = [await make(), await make()]
  const { id } = await firstSource(first.id)
  const url = String(first.source_url)
  const dueHours = async () => {
    const [row] = await query(
      `select extract(epoch from next_check - now()) / 3600 as hours from source where id = $1`,
      [id],
    )
    return Number(row?.hours)
  }
  await query(`update source set next_check = now() + interval '90 days' where id = $1`, [id])
  await patch(second.id, { source_url: url })
  assert.ok((await dueHours()) > 1000, 'another talk has it')
  for (const talk of [first, second]) await patch(talk.id, { source_url: null })
  assert.ok((await dueHours()) > 1000, 'no talk has it')
  await patch(second.id, { source_url: url })
  assert.ok((await dueHours()) <= 1, 'a talk has it again')
})

test('writers that add the same sources at once do not wait for each other in a circle', async () => {
  const urls = Array.from({ length: 5 }, (_, index) => `https://shared.example/${index}.mp4`)
  const replies = await Promise.all(
    Array.from({ length: 30 }, (_, number) => {
      const [source_url, video_mp4_url, video_webm_url] = urls.map(
        (_url, index) => urls[(index * 3 + number) % urls.length],
      )
      const fields = { title: `Shared ${number}`, category, language: 'English' }
      return call('POST', '/api/v2/video', {
        token,
        body: { ...fields, source_url, video_mp4_url, video_webm_url },
      })
    }),
  )
  assert.deepEqual(
    replies.map(({ status }) => status),
    replies.map(() => 201),
  )
  const [row] = await query(
    `select count(*)::int as sources from source where host = 'shared.example'`,
  )
  assert.equal(row?.sources, 5)
})

test('the migration finds the sources of older records', async () => {
  const links = `
    select video_id, key
    from video_source
    join source on source.id = source_id
    order by video_id, key`
  const before = await query(links)
  assert.ok(before.length > 50)
  await query('truncate video_source, source, replacement')
  const fill = readFileSync(join(root, 'server/migrations/0048.fill.sources.sql'), 'utf8')
  for (let last: unknown = 0; last !== undefined; ) last = (await query(fill, [last])).at(-1)?.id
  assert.deepEqual(await query(links), before)
})
