import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fact } from '@talkshelf/contract'
import { freshDatabase } from '../support/database.ts'
import { type Reply, runCommand, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// What readers can no longer find: raw values of sources, names that were left behind, and the
// slugs that say them.

const archive = await startArchive()
const { editor: token } = archive
const get = (path: string, as?: string) => archive.call('GET', path, as ? { token: as } : {})
const patch = (path: string, body: object, headers: Record<string, string> = {}) =>
  archive.call('PATCH', `/api/v2/${path}`, { token, body, headers })

async function ok(reply: Promise<Reply>): Promise<Reply> {
  const it = await reply
  assert.ok(it.status < 300, it.text)
  return it
}

const related: Fact = { kind: 'related', url: 'https://example.org/slides', label: 'Slides' }

test('what a source said is for editors: readers find it in no answer', async () => {
  const { id, slug } = await archive.make({ speakers: ['Nora Said'] })
  const said: Fact[] = ['speakers', 'file', '(others)', 'anything'].map((field) => ({
    kind: 'said',
    source: 'pyvideo',
    field,
    value: { persons: ['Dora Said'] },
  }))
  await ok(
    archive.call('PUT', `/api/v2/video/${id}/facts`, {
      token,
      body: { facts: [...said, related] },
    }),
  )
  const address = `/api/v2/video/${id}/facts`
  const [reader, editor] = [await get(address), await get(address, token)]
  assert.deepEqual(reader.json, { facts: [related] })
  assert.deepEqual(editor.json, { facts: [...said, related] })
  assert.notEqual(reader.headers.etag, editor.headers.etag)
  const exported = `/api/v2/export.ndjson?up_to=${id}`
  for (const path of [address, exported, `/video/${id}/${slug}`, `/embed/${id}`])
    assert.doesNotMatch((await get(path)).text, /Dora/, path)
  assert.match((await get(exported, token)).text, /Dora/)
  // A list that a reader got is not the whole one: nothing is replaced by it.
  const stale = { body: { facts: [related] }, headers: { 'if-match': String(reader.headers.etag) } }
  assert.equal((await archive.call('PUT', address, { token, ...stale })).status, 412)
})

test('an editor can retire an old slug: it then answers 410, and readers can no longer link the two names', async () => {
  for (const kind of ['speaker', 'tag', 'category'] as const) {
    const title = kind === 'category' ? 'title' : 'name'
    const [was, is] = [`dora-${kind}`, `nora-${kind}`]
    if (kind === 'category')
      await ok(archive.call('POST', '/api/v2/category', { token, body: { title: was } }))
    const talk = await archive.make(
      kind === 'category' ? { category: was } : { [`${kind}s`]: [was] },
    )
    const { json: renamed } = await ok(patch(`${kind}/${was}`, { [title]: is }))
    assert.deepEqual([renamed.old_slugs, renamed.retired_slugs], [[was], undefined])
    assert.equal((await get(`/api/v2/${kind}/${was}`)).status, 301)
    const etag = String((await get(`/api/v2/${kind}/${is}`, token)).headers.etag)

    const headers = { 'if-match': etag }
    const { json } = await ok(patch(`${kind}/${is}`, { retired_slugs: [was] }, headers))
    assert.deepEqual([json.old_slugs, json.retired_slugs], [undefined, [was]])
    assert.equal((await patch(`${kind}/${is}`, { [title]: 'Stale' }, headers)).status, 412)

    const gone = await get(`/api/v2/${kind}/${was}`)
    assert.deepEqual(
      [gone.status, gone.json.type],
      [410, `${archive.url}/api/problems/slug-retired`],
    )
    assert.ok(!gone.text.includes(is) && gone.headers.location === undefined)
    assert.equal((await get(`/api/v2/${kind}/${was}`, token)).status, 410)
    assert.equal((await patch(`${kind}/${was}`, { [title]: 'Elsewhere' })).status, 410)
    const merge = { token, body: { into: is } }
    assert.equal((await archive.call('POST', `/api/v2/${kind}/${was}/merge`, merge)).status, 410)
    assert.equal((await get(`/${kind}/-/${was}`)).status, 410)
    assert.equal((await get(`/api/v2/video?${kind}=${was}`)).json.count, 0)
    assert.equal((await get(`/api/v2/video?${kind}=${is}`)).json.count, 1)
    assert.doesNotMatch((await get(`/search?${kind}=${was}`)).text, new RegExp(is))
    // With an id in the address any wrong slug redirects, one that was never used as well.
    for (const slug of [was, 'never-used'])
      assert.equal((await get(`/${kind}/${json.id}/${slug}`)).status, 301)
    const reader = await get(`/api/v2/${kind}/${is}`)
    assert.ok(!reader.text.includes('slugs') && !reader.text.includes(was))
    assert.ok(!(await get('/api/v2/export.ndjson')).text.includes(was))

    // The slug is never given out again, and comes back only with the name of the same entity.
    if (kind === 'category')
      await ok(archive.call('POST', '/api/v2/category', { token, body: { title: `${was}!` } }))
    else await archive.make({ [`${kind}s`]: [`${was}!`] })
    assert.equal((await get(`/api/v2/${kind}/${was}-1`)).status, 200)
    assert.equal((await get(`/api/v2/${kind}/${was}`)).status, 410)
    await ok(patch(`${kind}/${is}`, { retired_slugs: [] }))
    assert.equal((await get(`/api/v2/${kind}/${was}`)).status, 301)
    await ok(patch(`${kind}/${is}`, { retired_slugs: [was] }))
    const { json: back } = await ok(patch(`${kind}/${is}`, { [title]: was }))
    assert.deepEqual([back.slug, back.old_slugs, back.retired_slugs], [was, [is], undefined])
    assert.equal((await get(`/api/v2/video/${talk.id}`)).status, 200)
  }
})

test('a rename retires the slug of before in the same write, if it says so', async () => {
  await archive.make({ speakers: ['Dora Once'] })
  const { json } = await ok(
    patch('speaker/dora-once', { name: 'Nora Once', retired_slugs: ['dora-once'] }),
  )
  assert.deepEqual([json.slug, json.retired_slugs], ['nora-once', ['dora-once']])
  assert.equal((await get('/api/v2/speaker/dora-once')).status, 410)
})

test('only old slugs of the entity itself can be retired', async () => {
  await archive.make({ speakers: ['Ada Current', 'Bob Other'] })
  for (const slug of ['ada-current', 'bob-other', 'never-used']) {
    const { status, json } = await patch('speaker/ada-current', { retired_slugs: [slug] })
    assert.deepEqual([status, json.errors?.[0]?.pointer], [400, '/retired_slugs/0'], slug)
  }
})

test('retired slugs stay retired when their entity is merged, and in an archive that is made of an export', async (t) => {
  await archive.make({ speakers: ['Dora Merged', 'Stella Stays'] })
  await ok(patch('speaker/dora-merged', { name: 'Nora Merged', retired_slugs: ['dora-merged'] }))
  await ok(
    archive.call('POST', '/api/v2/speaker/nora-merged/merge', {
      token,
      body: { into: 'stella-stays' },
    }),
  )
  const stella = await ok(get('/api/v2/speaker/stella-stays', token))
  assert.deepEqual(
    [stella.json.old_slugs, stella.json.retired_slugs],
    [['nora-merged'], ['dora-merged']],
  )
  assert.equal((await get('/api/v2/speaker/dora-merged')).status, 410)

  const copy = await freshDatabase(t)
  const environment = { DATABASE_URL: archive.databaseUrl }
  const exported = await runCommand(['export'], environment)
  const args = ['import', '-', '--format', 'v2', '--apply']
  const imported = await runCommand(args, { DATABASE_URL: copy.url }, exported.stdout)
  assert.equal(imported.code, 0, imported.stderr)
  const slugs = 'select kind, slug, entity_id, retired from entity_slug order by 1, 2'
  assert.deepEqual(
    await withDatabase(copy.url, (query) => query(slugs)),
    await withDatabase(archive.databaseUrl, (query) => query(slugs)),
  )
})

test('the archive is sound afterwards', () => checkInvariants(archive.databaseUrl))
