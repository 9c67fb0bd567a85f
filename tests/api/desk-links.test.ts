import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Source, Video } from '@talkshelf/contract'
import { setEventEditor } from '../../server/auth/auth.ts'
import { maxPinnedAtOnce, pinHost, proposeReplacement } from '../../server/links/links.ts'
import { type DeskReply, operator, signIn } from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// The page of links and the copies in the inbox, without scripts.

const archive = await startArchive()
const { call, editor: token, databaseUrl, make } = archive
const { client } = await signIn(archive, 'Eva', 'editor')
const query = (sql: string, values: unknown[] = []) =>
  withDatabase(databaseUrl, (run) => run(sql, values))

const sourcesOf = async ({ id }: Video): Promise<Source[]> =>
  (await call('GET', `/api/v2/video/${id}/sources`, { token })).json.results

/** Creates a talk whose video is at a URL and in a state. */
async function makeIn(state: string, source_url: string, fields: Partial<Video> = {}) {
  const video = await make({ title: `At ${source_url}`, source_url, ...fields })
  const [source] = await sourcesOf(video)
  assert.ok(source)
  await query(
    `update source
     set state = $1, evidence = 'status 404', next_check = '2031-02-03 04:05Z',
         health = '{"looks": [{"at": 1767225600000, "verdict": "ok"},
                              {"at": 1769904000000, "verdict": "gone"}]}'
     where id = $2`,
    [state, source.id],
  )
  return { video, source }
}

const listed = ({ html }: DeskReply) =>
  [...html.matchAll(/<a href="([^"]+)" target="_blank" rel="noopener nofollow">/g)].map(
    ([, url]) => url,
  )

const other = 'Other Days 2026'
await call('POST', '/api/v2/category', { token, body: { title: other } })
const urls = {
  suspect: 'https://a.example/suspect.mp4',
  unreachable: 'https://b.example/unreachable.mp4',
  region: 'https://a.example/region.mp4',
  private: 'https://a.example/private.mp4',
}
const suspect = await makeIn('suspect', urls.suspect)
await makeIn('unreachable', urls.unreachable, { category: other })
await makeIn('region', urls.region, { state: 2 })
const away = await makeIn('private', urls.private, { title: 'Lost & <b>found' })
await makeIn('ok', 'https://a.example/ok.mp4')
const removed = await makeIn('gone', 'https://a.example/removed.mp4')
await call('POST', `/api/v2/video/${removed.video.id}/takedown`, {
  token: archive.admin,
  body: { reason: 'asked for' },
})

test('lists unhealthy sources, with their talks, checks and hosts', async () => {
  const home = await client.get('/desk')
  assert.match(home.html, /href="\/desk\/links"/)
  const page = await client.get('/desk/links')
  assert.equal(page.status, 200)
  assert.deepEqual(listed(page).sort(), Object.values(urls).sort())
  assert.match(page.html, /CHECK_LINKS=off/)
  const { id } = away.video
  assert.match(page.html, new RegExp(`href="/desk/talk/${id}"[^>]*>Lost &amp; &lt;b>found<`))
  for (const text of [
    'Not in all countries',
    'status 404',
    'Feb 1, 2026, 12:00 AM UTC: gone',
    'Feb 3, 2031, 4:05 AM UTC',
    other,
    'Draft',
  ])
    assert.ok(page.html.includes(text), text)
  assert.match(page.html, /a\.example<\/a>[\s\S]*<td>1<\/td><td>0<\/td><td>1<\/td><td>1<\/td>/)
  assert.match((await client.get('/desk/links', { 'accept-language': 'es' })).html, /Privada/)
})

test('a host that is paused is listed before a source of it is bad', async () => {
  await makeIn('ok', 'https://paused.example/a.mp4')
  const pauseUntil = (until: string) =>
    withDatabase(archive.databaseUrl, (query) =>
      query(
        `insert into link_host (host, pace, next_turn)
         select 'paused.example',
                jsonb_build_object('pausedUntil', (extract(epoch from $1::timestamptz) * 1000)::bigint),
                '-infinity'
         on conflict (host) do update set pace = excluded.pace`,
        [until],
      ),
    )
  const row = /paused\.example<\/a>[\s\S]*?<td>0<\/td><td>0<\/td><td>0<\/td><td>0<\/td>/
  await pauseUntil('2031-02-03T04:05:06Z')
  assert.match((await client.get('/desk/links')).html, row)
  await pauseUntil('2001-02-03T04:05:06Z')
  assert.doesNotMatch((await client.get('/desk/links')).html, row)
})

test('filters by state, host, event and talk', async () => {
  const at = async (params: Record<string, string>) =>
    listed(await client.get(`/desk/links?${new URLSearchParams(params)}`)).sort()
  assert.deepEqual(await at({ state: 'suspect' }), [urls.suspect])
  assert.deepEqual(await at({ host: 'B.example' }), [urls.unreachable])
  assert.deepEqual(await at({ event: other }), [urls.unreachable])
  assert.deepEqual(await at({ event: other, state: 'suspect' }), [])
  assert.deepEqual(await at({ talk: String(away.video.id) }), [urls.private])
  assert.deepEqual(await at({ state: 'constructor' }), Object.values(urls).sort())
  const unknown = await client.get('/desk/links?event=No+such+event')
  assert.match(unknown.html, /There is no event with this title/)
  assert.deepEqual(listed(unknown), [])
  const paused = `{"pausedUntil": 1932076800000}`
  await query(`insert into link_host (host, pace, next_turn) values ('b.example', $1, now())`, [
    paused,
  ])
  assert.match((await client.get('/desk/links')).html, /is not asked before Mar 24, 2031/)
})

test('an editor asks for a check, pins a state and ends the pin', async () => {
  const { id } = suspect.source
  const page = await client.get('/desk/links?state=suspect')
  const checked = await client.submit(page, `/desk/links/${id}/check`)
  assert.equal(checked.headers.location, '/desk/links?state=suspect&done=check-requested')
  const due = await client.follow(checked)
  assert.match(due.html, /checked as soon as the rate limit for its host allows/)
  assert.match(due.html, /as soon as possible/)

  const pin = (fields: Record<string, string>) =>
    client.submit(page, `/desk/links/${id}/pin`, { state: 'gone', until: '2999-01-31', ...fields })
  for (const fields of [{ until: '2001-01-01' }, { until: 'x' }, { state: 'suspect' }]) {
    const refused = await pin(fields)
    assert.equal(refused.status, 400)
    assert.match(refused.html, /Enter a day that is not in the past/)
    assert.deepEqual(listed(refused), [urls.suspect])
  }
  const pinned = await client.follow(await pin({}))
  assert.match(pinned.html, /The state is pinned/)
  assert.deepEqual(listed(pinned), [], 'it is not suspect any more')
  const { html } = await client.get('/desk/links?state=gone')
  assert.match(html, /Pinned until January 31, 2999/)
  const history = await call('GET', `/api/v2/source/${id}/history`, { token })
  assert.deepEqual(
    history.json.results.map(({ from, to, by }: Record<string, string>) => [from, to, by]),
    [['new', 'gone', 'Eva']],
  )
  const ended = await client.submit(
    await client.get('/desk/links?state=gone'),
    `/desk/links/${id}/pin`,
    { end: '1' },
  )
  assert.match((await client.follow(ended)).html, /The pin has ended/)
  const forged = await pin({ list: 'x=//evil.example' })
  assert.match(String(forged.headers.location), /^\/desk\/links\?done=/)
})

test('the editor of a talk shows where its video is', async () => {
  const page = await client.get(`/desk/talk/${away.video.id}`)
  assert.match(page.html, /Where the video is/)
  assert.ok(page.html.includes(urls.private))
  assert.match(page.html, /class="mark warn">Private</)
  const link = `/desk/links?talk=${away.video.id}`
  assert.ok(page.html.includes(`href="${link}"`))
  const { id, client: limited } = await signIn(archive, 'Otto', 'suggester')
  await setEventEditor(archive.pool, id, category, true, operator)
  const own = await limited.get(`/desk/talk/${away.video.id}`)
  assert.match(own.html, /Where the video is/)
  assert.ok(!own.html.includes(link))
  const empty = await make({ source_url: null })
  const without = await client.get(`/desk/talk/${empty.id}`)
  assert.match(without.html, /no video that could be checked/)
})

test('a host that is gone is one decision, and so is its end', async () => {
  for (let index = 0; index < 130; index++)
    await make({ source_url: `https://dead.example/${index}.mp4` })
  const first = await make({ source_url: 'https://dead.example/first.mp4' })
  const [source] = await sourcesOf(first)
  await query(`update source set state = 'suspect' where id = $1`, [source?.id])
  const page = await client.get('/desk/links')
  const form = page.forms.find(
    ({ fields, action }) => action === '/desk/links/pin-host' && fields.host === 'dead.example',
  )
  assert.ok(form)
  const send = (fields: Record<string, string>) =>
    client.post(form.action, { ...form.fields, state: 'gone', until: '2999-12-31', ...fields })
  assert.equal((await send({ until: '2001-01-01' })).status, 400)
  const done = await client.follow(await send({}))
  assert.match(done.html, /131 sources were changed\. Left: 0\./)
  assert.doesNotMatch(done.html, /Send the form of the host again/)
  const states = () =>
    query(
      `select state, pinned_until::text, count(*)::int, sum(revision)::int as changes
       from source where host = 'dead.example' group by 1, 2`,
    )
  const [row, ...more] = await states()
  assert.deepEqual(more, [])
  assert.deepEqual([row?.state, row?.count, row?.changes], ['gone', 131, 131])
  assert.ok(row?.pinned_until)
  const again = await client.follow(await send({}))
  assert.match(again.html, /0 sources were changed\. Left: 0\./)
  const ended = await client.follow(await send({ end: '1' }))
  assert.match(ended.html, /131 sources were changed\. Left: 0\./)
  const [after] = await states()
  assert.deepEqual([after?.state, after?.pinned_until, after?.changes], ['gone', null, 131])
  await checkInvariants(databaseUrl)
})

test('a request pins at most 1,000 sources and tells how many are left', async () => {
  await query(
    `with talks as (
       insert into source (key, url, host, operator)
       select gen_random_uuid(), 'https://huge.example/' || number, 'huge.example', 'huge.example'
       from generate_series(1, 1234) as number
       returning id
     )
     insert into video_source (video_id, source_id)
     select $1, id from talks`,
    [away.video.id],
  )
  const origin = {
    actor: { role: 'editor', name: 'Eva', token: null },
    via: 'page',
    request: 'test',
  } as const
  const pin = { state: 'gone', until: '2999-12-31' } as const
  const run = (untilMs?: number) =>
    pinHost(archive.pool, 'huge.example', pin, {
      origin,
      ...(untilMs !== undefined && { untilMs }),
    })
  assert.deepEqual(await run(0), { pinned: 0, left: 1234 }, 'the deadline has passed')
  assert.deepEqual(await run(), { pinned: maxPinnedAtOnce, left: 234 })
  const { html } = await client.get('/desk/links?pinned=1000&left=234')
  assert.match(html, /1,000 sources were changed\. Left: 234\..*Send the form of the host again/s)
  assert.deepEqual(await run(), { pinned: 234, left: 0 })
  await query(
    `delete from video_source
     where source_id in (select id from source where host = 'huge.example')`,
  )
  for (const params of ['pinned=x&left=1', 'pinned=-1&left=1', 'pinned=1'])
    assert.doesNotMatch(
      (await client.get(`/desk/links?${params}`)).html,
      /were changed|was changed/,
    )
})

test('copies wait in the inbox with both videos, and are accepted or refused', async () => {
  const before = await client.get('/desk')
  assert.doesNotMatch(before.html, /Copies of videos/)
  const lost = await makeIn('gone', 'https://lost.example/one.mp4', { title: 'The lost one' })
  const kept = await makeIn('ok', 'https://kept.example/two.mp4', { title: 'The kept one' })
  for (const { source, video } of [lost, kept])
    await proposeReplacement(archive.pool, {
      source: source.id,
      url: `https://archive.org/details/copy-${video.id}`,
      finder: 'archive.org',
      evidence: 'archive.org has the item <i>x',
    })
  const home = await client.get('/desk')
  const watch = (url: string) => `href="${url}" target="_blank" rel="noopener nofollow"`
  for (const text of [
    'Copies of videos',
    '2 copies',
    watch('https://lost.example/one.mp4'),
    watch(`https://archive.org/details/copy-${lost.video.id}`),
    'archive.org has the item &lt;i>x',
    'Accepting it replaces the URL of the video',
    'Accepting it adds the copy',
  ])
    assert.ok(home.html.includes(text), text)
  const forms = (action: string) =>
    home.forms.filter((form) => new RegExp(`replacement/\\d+/${action}`).test(form.action))
  const [acceptLost, acceptKept] = forms('accept').map(({ action }) => action)
  const [, refuseKept] = forms('refuse').map(({ action }) => action)
  assert.ok(acceptLost && acceptKept && refuseKept)
  const accepted = await client.follow(await client.submit(home, acceptLost))
  assert.match(accepted.html, /The copy was accepted/)
  const { json } = await call('GET', `/api/v2/video/${lost.video.id}`)
  assert.equal(json.source_url, `https://archive.org/details/copy-${lost.video.id}`)
  const revision = await call('GET', `/api/v2/video/${lost.video.id}/revisions/2`, { token })
  assert.deepEqual([revision.json.by, revision.json.via], ['Eva', 'page'])
  const refused = await client.follow(await client.submit(home, refuseKept))
  assert.match(refused.html, /The copy was refused/)
  assert.doesNotMatch(refused.html, /Copies of videos/)
  const late = await client.submit(home, acceptKept)
  assert.equal(late.status, 409)
  assert.match(late.html, /role="alert">The decision was not saved: <span>Eva has refused this/)
  await checkInvariants(databaseUrl)
})
