import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fact } from '@talkshelf/contract'
import { freshDatabase } from '../support/database.ts'
import { type Reply, runCommand, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Data that is hidden from readers: raw values of sources, old names, and the slugs of these names.

const archive = await startArchive()
const { editor: token } = archive
const get = (path: string, as?: string) => archive.call('GET', path, as ? { token: as } : {})
const patch = (path: string, body: object, headers: Record<string, string> = {}) =>
  archive.call('PATCH', `/api/v2/${path}`, { token, body, headers })

async function ok(reply: Promise<Reply>): Promise<Reply> {
  const response = await reply
  assert.ok(response.status < 300, response.text)
  return response
}

const related: Fact = { kind: 'related', url: 'https://example.org/slides', label: 'Slides' }

test('returns raw values of sources to editors only', async () => {
  const { id, slug } = await archive.make({ speakers: ['Nora Said'] })
  const rawFacts: Fact[] = ['speakers', 'file', '(others)', 'anything'].map((field) => ({
    kind: 'said',
    source: 'pyvideo',
    field,
    value: { persons: ['Dora Said'] },
  }))
  await ok(
    archive.call('PUT', `/api/v2/video/${id}/facts`, {
      token,
      body: { facts: [...rawFacts, related] },
    }),
  )
  const address = `/api/v2/video/${id}/facts`
  const [reader, editor] = [await get(address), await get(address, token)]
  assert.deepEqual(reader.json, { facts: [related] })
  assert.deepEqual(editor.json, { facts: [...rawFacts, related] })
  assert.notEqual(reader.headers.etag, editor.headers.etag)
  const exported = `/api/v2/export.ndjson?up_to=${id}`
  for (const path of [address, exported, `/video/${id}/${slug}`, `/embed/${id}`])
    assert.doesNotMatch((await get(path)).text, /Dora/, path)
  assert.match((await get(exported, token)).text, /Dora/)
  // Readers get an incomplete list, so its ETag must not allow a replacement.
  const stale = { body: { facts: [related] }, headers: { 'if-match': String(reader.headers.etag) } }
  assert.equal((await archive.call('PUT', address, { token, ...stale })).status, 412)
})

test('answers 410 for a retired slug and hides its connection to the new name', async () => {
  for (const kind of ['speaker', 'tag', 'category'] as const) {
    const title = kind === 'category' ? 'title' : 'name'
    const [oldSlug, newSlug] = [`dora-${kind}`, `nora-${kind}`]
    if (kind === 'category')
      await ok(archive.call('POST', '/api/v2/category', { token, body: { title: oldSlug } }))
    const talk = await archive.make(
      kind === 'category' ? { category: oldSlug } : { [`${kind}s`]: [oldSlug] },
    )
    const { json: renamed } = await ok(patch(`${kind}/${oldSlug}`, { [title]: newSlug }))
    assert.deepEqual([renamed.old_slugs, renamed.retired_slugs], [[oldSlug], undefined])
    assert.equal((await get(`/api/v2/${kind}/${oldSlug}`)).status, 301)
    const etag = String((await get(`/api/v2/${kind}/${newSlug}`, token)).headers.etag)

    const headers = { 'if-match': etag }
    const { json } = await ok(patch(`${kind}/${newSlug}`, { retired_slugs: [oldSlug] }, headers))
    assert.deepEqual([json.old_slugs, json.retired_slugs], [undefined, [oldSlug]])
    assert.equal((await patch(`${kind}/${newSlug}`, { [title]: 'Stale' }, headers)).status, 412)

    const gone = await get(`/api/v2/${kind}/${oldSlug}`)
    assert.deepEqual(
      [gone.status, gone.json.type],
      [410, `${archive.url}/api/problems/slug-retired`],
    )
    assert.ok(!gone.text.includes(newSlug) && gone.headers.location === undefined)
    assert.equal((await get(`/api/v2/${kind}/${oldSlug}`, token)).status, 410)
    assert.equal((await patch(`${kind}/${oldSlug}`, { [title]: 'Elsewhere' })).status, 410)
    const merge = { token, body: { into: newSlug } }
    assert.equal(
      (await archive.call('POST', `/api/v2/${kind}/${oldSlug}/merge`, merge)).status,
      410,
    )
    assert.equal((await get(`/${kind}/-/${oldSlug}`)).status, 410)
    assert.equal((await get(`/api/v2/video?${kind}=${oldSlug}`)).json.count, 0)
    assert.equal((await get(`/api/v2/video?${kind}=${newSlug}`)).json.count, 1)
    assert.doesNotMatch((await get(`/search?${kind}=${oldSlug}`)).text, new RegExp(newSlug))
    // With an id in the URL any wrong slug redirects, even one that was never used.
    for (const slug of [oldSlug, 'never-used'])
      assert.equal((await get(`/${kind}/${json.id}/${slug}`)).status, 301)
    const reader = await get(`/api/v2/${kind}/${newSlug}`)
    assert.ok(!reader.text.includes('slugs') && !reader.text.includes(oldSlug))
    assert.ok(!(await get('/api/v2/export.ndjson')).text.includes(oldSlug))

    // The slug is never assigned again and only comes back with the name of the same entity.
    if (kind === 'category')
      await ok(archive.call('POST', '/api/v2/category', { token, body: { title: `${oldSlug}!` } }))
    else await archive.make({ [`${kind}s`]: [`${oldSlug}!`] })
    assert.equal((await get(`/api/v2/${kind}/${oldSlug}-1`)).status, 200)
    assert.equal((await get(`/api/v2/${kind}/${oldSlug}`)).status, 410)
    await ok(patch(`${kind}/${newSlug}`, { retired_slugs: [] }))
    assert.equal((await get(`/api/v2/${kind}/${oldSlug}`)).status, 301)
    await ok(patch(`${kind}/${newSlug}`, { retired_slugs: [oldSlug] }))
    const { json: back } = await ok(patch(`${kind}/${newSlug}`, { [title]: oldSlug }))
    assert.deepEqual(
      [back.slug, back.old_slugs, back.retired_slugs],
      [oldSlug, [newSlug], undefined],
    )
    assert.equal((await get(`/api/v2/video/${talk.id}`)).status, 200)
  }
})

test('retires the old slug in the same write as the rename', async () => {
  await archive.make({ speakers: ['Dora Once'] })
  const { json } = await ok(
    patch('speaker/dora-once', { name: 'Nora Once', retired_slugs: ['dora-once'] }),
  )
  assert.deepEqual([json.slug, json.retired_slugs], ['nora-once', ['dora-once']])
  assert.equal((await get('/api/v2/speaker/dora-once')).status, 410)
})

test('retires only old slugs of the entity itself', async () => {
  await archive.make({ speakers: ['Ada Current', 'Bob Other'] })
  for (const slug of ['ada-current', 'bob-other', 'never-used']) {
    const { status, json } = await patch('speaker/ada-current', { retired_slugs: [slug] })
    assert.deepEqual([status, json.errors?.[0]?.pointer], [400, '/retired_slugs/0'], slug)
  }
})

test('keeps retired slugs across a merge and an export', async (t) => {
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

test('keeps the archive consistent after all tests', () => checkInvariants(archive.databaseUrl))
