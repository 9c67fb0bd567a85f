import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { type DeskReply, formTo, signIn } from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Speakers, tags and events at the desk: lists, previews, renames, merges and their undo, splits.

const archive = await startArchive()

const { client: grace } = await signIn(archive, 'Grace', 'editor')
const { client: ada } = await signIn(archive, 'Ada', 'editor')

const read = async (path: string) =>
  (await archive.call('GET', `/api/v2/${path}`, { token: archive.editor })).json
const record = (id: number): Promise<Video> => read(`video/${id}`)
const patch = (path: string, body: object) =>
  archive.call('PATCH', `/api/v2/${path}`, { token: archive.editor, body })
const count = (page: DeskReply, pattern: RegExp) => [...page.html.matchAll(pattern)].length

test('lists names with a search, also of drafts, and similar spellings side by side', async () => {
  await archive.make({ speakers: ['Zoe Kruger', 'Zoë Krüger'], tags: ['list tag'] })
  await archive.make({ speakers: ['Zoe Kruger'] })
  await archive.make({ speakers: ['Only Draft'], state: 2 })
  await patch('speaker/only-draft', { aliases: [{ name: 'Secret Name' }] })
  const all = await grace.get('/desk/speakers')
  assert.match(all.html, /Similar spellings/)
  const group = formTo(all, '/desk/speakers/merge')
  assert.deepEqual(group.fields, { group: 'zoe-kruger,zoe-kruger-1', into: 'zoe-kruger' })
  for (const [q, expected] of [
    ['kruger', ['Zoë Krüger', 'Zoe Kruger']],
    ['only dr', ['Only Draft']],
    ['secret', ['Only Draft']],
    ['Zoey Krueger', ['Zoe Kruger', 'Zoë Krüger']],
    ['100%', []],
    ['_', []],
  ] as const) {
    const { html } = await grace.get(`/desk/speakers?q=${encodeURIComponent(q)}`)
    const found = [...html.matchAll(/<a href="\/desk\/speaker\/[^"]+" dir="auto">([^<]+)/g)]
    assert.deepEqual(found.map(([, name]) => name).sort(), [...expected].sort(), q)
    assert.doesNotMatch(html, /Similar spellings/)
  }
  const used = await grace.get('/desk/speakers?sort=use')
  assert.ok(used.html.indexOf('>Zoe Kruger<') < used.html.indexOf('>Only Draft<'))
  for (const path of ['tags', 'events?page=9', 'events?sort=use&page=x', 'tags?groups=999'])
    assert.equal((await grace.get(`/desk/${path}`)).status, 200, path)
})

test('shows what a merge changes, merges, and takes it back', async () => {
  const first = await archive.make({ title: 'Merged <one>', speakers: ['Anne B', 'Bob C'] })
  const draft = await archive.make({ speakers: ['Anne B'], state: 2 })
  await archive.make({ speakers: ['Ann B'] })
  const before = await record(first.id)

  const page = await grace.get('/desk/speaker/anne-b')
  const merge = formTo(page, '/desk/speakers/merge')
  const query = new URLSearchParams({ ...merge.fields, into: 'Ann B' })
  const preview = await grace.get(`/desk/speakers/merge?${query}`)
  assert.match(preview.html, /2 talks change/)
  assert.match(preview.html, /Merged &lt;one>/)
  assert.deepEqual((await record(first.id)).speakers, ['Anne B', 'Bob C'], 'nothing is written')
  const merged = await grace.submit(preview, '/desk/speakers/merge')
  const target = await grace.follow(merged)
  assert.match(target.html, /Merged\./)
  assert.deepEqual((await record(first.id)).speakers, ['Ann B', 'Bob C'])
  assert.deepEqual((await record(draft.id)).speakers, ['Ann B'])
  const [latest] = (await read(`video/${first.id}/revisions`)).results
  assert.deepEqual([latest.by, latest.via], ['Grace', 'page'])

  await archive.call('PATCH', `/api/v2/video/${draft.id}`, {
    token: archive.editor,
    body: { speakers: ['Bob C'] },
  })
  assert.match(target.html, /Merged by Grace/)
  assert.match(target.html, /href="\/desk\/speaker\/anne-b\/unmerge"/)
  const undo = await grace.get('/desk/speaker/anne-b/unmerge')
  assert.match(undo.html, /Undo and change 1 talk</)
  assert.match(undo.html, /1 talk was edited since and stays as it is/)
  const undone = await grace.submit(undo, '/desk/speaker/anne-b/unmerge')
  assert.match((await grace.follow(undone)).html, /The merge was undone/)
  const { updated: _, ...now } = await record(first.id)
  const { updated: __, ...then } = before
  assert.deepEqual(now, then)
  // The same form again, and the page of a merge that is undone, lead to the speaker.
  for (const reply of [
    await grace.submit(undo, '/desk/speaker/anne-b/unmerge'),
    await grace.get('/desk/speaker/anne-b/unmerge'),
  ])
    assert.equal((await grace.follow(reply)).status, 200)
  await checkInvariants(archive.databaseUrl)
})

test('merges a group of spellings at once', async () => {
  const talk = await archive.make({ tags: ['web-sockets', 'websockets', 'Web Sockets'] })
  const page = await grace.get('/desk/tags')
  const form = page.forms.find(({ fields }) => fields.group?.includes('websockets'))
  const query = new URLSearchParams({ ...form?.fields, into: 'websockets' })
  const preview = await grace.get(`/desk/tags/merge?${query}`)
  await grace.follow(await grace.submit(preview, '/desk/tags/merge'))
  assert.deepEqual((await record(talk.id)).tags, ['websockets'])
})

test('a merge of what changed since the preview shows the new preview', async () => {
  for (const changed of ['stale-from', 'stale-into']) {
    await archive.make({ tags: ['stale from', 'stale into'] })
    const path = '/desk/tags/merge?into=stale-into&group=stale-from'
    const preview = await grace.get(path)
    await patch(`tag/${changed}`, { aliases: [{ name: `${changed} too`, shown: true }] })
    const refused = await grace.submit(preview, '/desk/tags/merge')
    assert.equal(refused.status, 409)
    assert.match(refused.html, /It was changed meanwhile/)
    assert.equal((await read('tag/stale-from')).slug, 'stale-from')
    await patch(`tag/${changed}`, { aliases: [] })
  }
  const again = await grace.get('/desk/tags/merge?into=stale-into&group=stale-from')
  await grace.follow(await grace.submit(again, '/desk/tags/merge'))
  const undo = await grace.get('/desk/tag/stale-from/unmerge')
  await patch('tag/stale-into', { name: 'fresh into' })
  const refused = await grace.submit(undo, '/desk/tag/stale-from/unmerge')
  assert.equal(refused.status, 409)
  assert.match(refused.html, /It was changed meanwhile/)
  await grace.follow(await grace.submit(refused, '/desk/tag/stale-from/unmerge'))
  assert.equal((await read('tag/stale-from')).name, 'stale from')
})

test('refuses a merge into an unknown name or into itself', async () => {
  await archive.make({ tags: ['alone'] })
  const unknown = await grace.get('/desk/tags/merge?into=Nowhere&group=alone')
  assert.match((await grace.follow(unknown)).html, /There is no such name/)
  const same = await grace.get('/desk/tags/merge?into=alone&group=alone')
  assert.match((await grace.follow(same)).html, /both are the same/)
  assert.equal((await grace.get('/desk/tags/merge')).status, 303)
  assert.equal((await grace.get('/desk/tags/merge?into=alone&group=nowhere')).status, 404)
  assert.equal((await grace.get('/desk/tag/nowhere')).status, 404)
})

test('renames with a preview; the old slug leads to the page', async () => {
  const talk = await archive.make({ title: 'Renamed talk', speakers: ['Old Name'] })
  const page = await grace.get('/desk/speaker/old-name')
  const typed = { name: 'New Name', aliases: 'N. Name\r\n', hidden_names: 'Nme' }
  const preview = await grace.submit(page, '/desk/speaker/old-name', typed)
  assert.equal(preview.status, 200)
  assert.match(preview.html, /Rename Old Name to New Name/)
  assert.match(preview.html, /Renamed talk/)
  assert.deepEqual((await record(talk.id)).speakers, ['Old Name'])

  // It is changed between the preview and the write.
  await patch('speaker/old-name', { pronouns: 'she' })
  const stale = await grace.submit(preview, '/desk/speaker/old-name')
  assert.equal(stale.status, 409)
  assert.match(stale.html, /It was changed meanwhile/)
  const saved = await grace.submit(stale, '/desk/speaker/old-name')
  const shown = await grace.follow(saved)
  assert.match(shown.html, /Saved\./)
  assert.deepEqual((await record(talk.id)).speakers, ['New Name'])
  const speaker = await read('speaker/new-name')
  assert.deepEqual(speaker.aliases, [
    { name: 'N. Name', shown: true },
    { name: 'Nme', shown: false },
    { name: 'Old Name', shown: false },
  ])
  assert.equal(speaker.pronouns, 'she')
  const moved = await grace.get('/desk/speaker/old-name')
  assert.equal(moved.headers.location, '/desk/speaker/new-name')

  // Without a new name no talk changes, and there is no preview.
  const retired = await grace.submit(shown, '/desk/speaker/new-name', { retired_slugs: 'old-name' })
  assert.equal(retired.status, 303)
  assert.deepEqual((await read('speaker/new-name')).retired_slugs, ['old-name'])
})

test('shows errors of names at their fields, in the words of the API', async () => {
  await archive.make({ speakers: ['Error Name', 'Taken Name'] })
  const path = '/desk/speaker/error-name'
  const page = await grace.get(path)
  for (const [fields, id] of [
    [{ name: ' ' }, 'name-error'],
    [{ name: 'x'.repeat(256) }, 'name-error'],
    [{ aliases: 'fine\r\nbad\u0007' }, 'aliases-error'],
    [{ aliases: 'fine', hidden_names: 'Error Name' }, 'hidden_names-error'],
    [{ retired_slugs: 'unknown' }, 'retired_slugs-error'],
  ] as const) {
    const refused = await grace.submit(page, path, fields)
    assert.equal(refused.status, 400, JSON.stringify(fields))
    assert.match(refused.html, new RegExp(`id="${id}"`))
    assert.equal(count(refused, /class="error"/g), 1)
  }
  const taken = await grace.submit(page, path, { hidden_names: 'Taken Name' })
  assert.equal(taken.status, 400)
  assert.match(taken.html, /This alias already belongs to speaker taken-name/)
  assert.equal(formTo(taken, path).fields.hidden_names, 'Taken Name')
})

test('splits a speaker by choosing talks', async () => {
  const ids: number[] = []
  for (let number = 0; number < 3; number++)
    ids.push((await archive.make({ speakers: ['Same Name'] })).id)
  const path = '/desk/speaker/same-name/split'
  const page = await grace.get(path)
  const none = await grace.submit(page, path, { name: 'Same Name (Lisbon)' })
  assert.equal(none.status, 400)
  assert.match(none.html, /Choose at least one talk/)
  const chosen = { [`video_${ids[1]}`]: '1' }
  const same = await grace.submit(page, path, { name: 'Same Name', ...chosen })
  assert.equal(same.status, 400)
  assert.match(same.html, /choose one that tells the two apart/)
  const split = await grace.submit(same, path, { name: 'Same Name (Lisbon)' })
  assert.match((await grace.follow(split)).html, /The talks were moved/)
  assert.deepEqual((await record(ids[1] as number)).speakers, ['Same Name (Lisbon)'])
  assert.deepEqual((await record(ids[0] as number)).speakers, ['Same Name'])
  assert.equal((await grace.post(path, {})).status, 403, 'a form without its token')
})

test('more than 100 talks need a fresh sign-in', async () => {
  for (let number = 0; number < 101; number++)
    await archive.make({ title: `Large ${number}`, tags: ['large one'] })
  await archive.make({ tags: ['large two'] })
  await withDatabase(archive.databaseUrl, (query) =>
    query('update session set strong_until = now()'),
  )
  const path = '/desk/tags/merge?into=large-two&group=large-one'
  const preview = await ada.get(path)
  assert.match(preview.html, /101 talks change/)
  assert.match(preview.html, /These are the first 50/)
  assert.equal(count(preview, /href="\/desk\/talk\/\d+"/g), 50)
  const refused = await ada.submit(preview, '/desk/tags/merge')
  assert.match(String(refused.headers.location), /^\/desk\/confirm\?to=%2Fdesk%2Ftags%2Fmerge/)
  assert.equal((await read('tag/large-one')).talks, 101)

  await withDatabase(archive.databaseUrl, (query) =>
    query("update session set strong_until = now() + interval '5 minutes'"),
  )
  await ada.follow(await ada.submit(preview, '/desk/tags/merge'))
  await until('all talks are merged', async () => (await read('tag/large-two')).talks === 102)
  await withDatabase(archive.databaseUrl, (query) =>
    query('update session set strong_until = now()'),
  )
  const undo = await ada.get('/desk/tag/large-one/unmerge')
  assert.match(undo.html, /Confirm that it is you first/)
  const confirm = await ada.submit(undo, '/desk/tag/large-one/unmerge')
  assert.match(String(confirm.headers.location), /^\/desk\/confirm\?to=/)
  await withDatabase(archive.databaseUrl, (query) =>
    query("update session set strong_until = now() + interval '5 minutes'"),
  )
  await ada.follow(await ada.submit(undo, '/desk/tag/large-one/unmerge'))
  await until('all talks are back', async () => (await read('tag/large-one')).talks === 101)
  await checkInvariants(archive.databaseUrl)
})

test('edits the profiles of events and speakers, with errors at their fields', async () => {
  await archive.call('POST', '/api/v2/category', {
    token: archive.editor,
    body: { title: 'Profile Days', description: 'one\r\n\ntwo\n', city: 'Lisbon' },
  })
  const path = '/desk/event/profile-days/profile'
  const page = await grace.get('/desk/event/profile-days')
  const before = await read('category/profile-days')
  await grace.follow(await grace.submit(page, path))
  assert.deepEqual(await read('category/profile-days'), before, 'nothing was changed')
  const invalid = {
    country: 'Portugal',
    start_date: '2026-13-01',
    logo_url: 'javascript:alert(1)',
    colour: 'red',
    links: 'website https://example.org\r\nnothing https://example.org',
    url: 'x',
  }
  const refused = await grace.submit(page, path, invalid)
  assert.equal(refused.status, 400)
  for (const field of Object.keys(invalid))
    assert.match(refused.html, new RegExp(`id="${field}-error"`))
  assert.equal(formTo(refused, path).fields.country, 'Portugal')
  const values = {
    country: 'PT',
    start_date: '2026-05-01',
    end_date: '2026-05-03',
    online: '1',
    series: ' Days ',
    logo_url: 'https://example.org/logo.png',
    colour: '#336699',
    links: 'mastodon https://example.org/@days\r\nhttps://example.org/\r\n',
    url: 'https://example.org/2026',
  }
  assert.match((await grace.follow(await grace.submit(refused, path, values))).html, /Saved\./)
  assert.deepEqual(await read('category/profile-days'), {
    ...before,
    ...values,
    online: true,
    series: 'Days',
    links: [
      { kind: 'mastodon', url: 'https://example.org/@days' },
      { kind: 'website', url: 'https://example.org/' },
    ],
  })
  const stale = await grace.submit(page, path, { city: 'Porto' })
  assert.equal(stale.status, 409)
  assert.match(stale.html, /It was changed meanwhile/)
  const wrongOrder = await grace.get('/desk/event/profile-days')
  const early = await grace.submit(wrongOrder, path, { end_date: '2026-04-01' })
  assert.match(early.html, /is before start_date/)

  await archive.make({ speakers: ['Pro File'] })
  const speaker = await grace.get('/desk/speaker/pro-file')
  const saved = await grace.submit(speaker, '/desk/speaker/pro-file/profile', {
    description: 'First\r\nsecond <b>',
    pronouns: 'they',
    links: 'github https://github.com/example',
  })
  assert.match((await grace.follow(saved)).html, /second &lt;b>/)
  const { description, pronouns, links } = await read('speaker/pro-file')
  assert.deepEqual(
    [description, pronouns, links],
    ['First\nsecond <b>', 'they', [{ kind: 'github', url: 'https://github.com/example' }]],
  )
})

test('shows the pages in Spanish', async () => {
  await archive.make({ speakers: ['Ana'], tags: ['es'] })
  for (const path of [
    'speakers',
    'tags',
    'events',
    'speaker/ana',
    'speaker/ana/split',
    'tags/merge?into=es&group=large-one',
  ]) {
    const { html, status } = await grace.get(`/desk/${path}`, { 'accept-language': 'es' })
    assert.equal(status, 200, path)
    assert.match(html, /<html lang="es"/)
  }
  assert.match((await grace.get(`/desk/event/example-days-2026`)).html, new RegExp(category))
})
