import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importClient } from '../support/import-client.ts'
import {
  emptyEventProfile,
  emptyPersonProfile,
  eventProfile,
  personProfile,
} from '../support/profiles.ts'
import { assertOk, assertWriteRefused, ifMatch, startWriter } from '../support/writer.ts'

// The profiles of events and speakers: writing, history, validation, merging and privacy.

const { archive, get, patch, post, sql } = await startWriter()

interface Change {
  readonly revision: number
  readonly before: Record<string, unknown>
  readonly after: Record<string, unknown>
}

/** Returns the last change of an entity. */
async function lastChange(kind: string, id: number): Promise<Change> {
  const [row] = await sql((query) =>
    query(
      `select revision, before, after from change
       where subject = $1 and subject_id = $2 order by revision desc limit 1`,
      [kind, id],
    ),
  )
  return row as unknown as Change
}

const fieldsOf = (answer: Record<string, unknown>, of: object) =>
  Object.fromEntries(Object.keys(of).map((field) => [field, answer[field]]))

test('stores the profile of an event, with revision, history and If-Match', async () => {
  const { json: bare, headers } = await assertOk(post('category', { title: 'Plain Days' }))
  assert.deepEqual(fieldsOf(bare, emptyEventProfile), emptyEventProfile)
  const stale = ifMatch(String(headers.etag))
  const { json } = await assertOk(patch('category/plain-days', eventProfile, stale))
  assert.deepEqual(fieldsOf(json, eventProfile), eventProfile)
  await assertWriteRefused(patch('category/plain-days', { city: 'Oslo' }, stale), 412, /revision/)
  assert.deepEqual(await lastChange('category', json.id), {
    revision: 2,
    before: emptyEventProfile,
    after: eventProfile,
  })
  // The order of the keys of a link is no change, and neither is the same value.
  const links = eventProfile.links.map(({ kind, url }) => ({ url, kind }))
  await assertOk(
    patch('category/plain-days', { links, city: ' Ło\u0301dz\u0301 '.normalize('NFD') }),
  )
  assert.equal((await lastChange('category', json.id)).revision, 2)
  // null removes a field, as in any merge patch.
  await assertOk(patch('category/plain-days', { country: null, links: [] }))
  assert.deepEqual(await lastChange('category', json.id), {
    revision: 3,
    before: { country: 'PL', links: eventProfile.links },
    after: { country: null, links: [] },
  })
  const { json: listed } = await get('category?page_size=100')
  const row = listed.results.find(({ slug }: { slug: string }) => slug === 'plain-days')
  assert.deepEqual(fieldsOf(row, eventProfile), { ...eventProfile, country: null, links: [] })
  const created = await assertOk(post('category', { title: 'Full Profile Days', ...eventProfile }))
  assert.deepEqual(fieldsOf(created.json, eventProfile), eventProfile)
  assert.deepEqual((await get('category/full-profile-days')).text, created.text)
})

test('stores the profile of a speaker, and none for tags', async () => {
  await archive.make({ speakers: ['Ze Bridge'], tags: ['bridge'] })
  const bare = (await get('speaker/ze-bridge')).json
  assert.deepEqual(fieldsOf(bare, emptyPersonProfile), emptyPersonProfile)
  const { json } = await assertOk(patch('speaker/ze-bridge', personProfile))
  assert.deepEqual(fieldsOf(json, personProfile), personProfile)
  assert.deepEqual(await lastChange('speaker', json.id), {
    revision: 1,
    before: emptyPersonProfile,
    after: personProfile,
  })
  // A rename keeps it.
  const renamed = await assertOk(patch('speaker/ze-bridge', { name: 'Ze Tunnel' }))
  assert.deepEqual(fieldsOf(renamed.json, personProfile), personProfile)
  await assertWriteRefused(patch('tag/bridge', { pronouns: 'it' }), 400, /unknown-field/)
  await assertWriteRefused(patch('speaker/ze-tunnel', { city: 'Oslo' }), 400, /unknown-field/)
})

const badUrls = [
  '',
  'javascript:alert(1)',
  'data:image/png;base64,AAAA',
  'file:///etc/passwd',
  '//example.org/',
  'https://',
  'https://exa mple.org/',
  'https://user@example.org/',
  'https://user:word@example.org/',
  'https:\\\\example.org',
  'https://example.org\\@example.com/',
  `https://example.org/${'x'.repeat(2048)}`,
]

test('refuses values outside of their range and hostile addresses', async () => {
  await assertOk(post('category', { title: 'Range Days' }))
  await archive.make({ speakers: ['Range Speaker'] })
  const refuse = (path: string, body: object, reason = /invalid-fields/) =>
    assertWriteRefused(patch(path, body), 400, reason)
  for (const url of badUrls) {
    await refuse('category/range-days', { logo_url: url }, /\/logo_url/)
    await refuse('speaker/range-speaker', { picture_url: url }, /\/picture_url/)
    await refuse('category/range-days', { links: [{ kind: 'code', url }] }, /\/links\/0\/url/)
  }
  const plain = { kind: 'website', url: 'http://example.org/' }
  await refuse('category/range-days', { links: [plain] }, /https URL/)
  const link = { kind: 'website', url: 'https://example.org/' }
  await refuse('category/range-days', { links: Array(21).fill(link) }, /at most 20/)
  await refuse('category/range-days', { links: [{ ...link, kind: 'odd' }] }, /website or blog or/)
  await refuse('category/range-days', { links: [{ ...link, label: 'x' }] }, /unknown-field/)
  await refuse('category/range-days', { links: null }, /\/links/)
  for (const country of ['XX', 'de', 'DEU', 'UK', ''])
    await refuse('category/range-days', { country }, /ISO 3166-1/)
  for (const colour of ['red', '#fff', '#12345g', '#1234567', 'url(x)', ''])
    await refuse('category/range-days', { colour }, /#rrggbb/)
  await refuse('category/range-days', { city: 'x'.repeat(101), online: 'yes' }, /\/online/)
  await refuse('category/range-days', { series: 'x'.repeat(256) }, /1 to 255 characters/)
  await refuse('category/range-days', { city: '  ' }, /1 to 100 characters/)
  await refuse('speaker/range-speaker', { pronouns: 'x'.repeat(51) }, /1 to 50 characters/)
  await refuse('speaker/range-speaker', { description: 'x'.repeat(20_001) }, /20000 characters/)
  await refuse('speaker/range-speaker', { description: null }, /\/description/)
  await assertOk(patch('category/range-days', { links: Array(20).fill(link), colour: '#ABCDEF' }))
})

test('an event cannot end before it starts', async () => {
  const late = { start_date: '2025-06-12', end_date: '2025-06-11' }
  await assertWriteRefused(post('category', { title: 'Early Days', ...late }), 400, /end_date/)
  await assertOk(post('category', { title: 'Early Days', start_date: '2025-06-12' }))
  await assertWriteRefused(
    patch('category/early-days', { end_date: '2025-06-01' }),
    400,
    /end_date/,
  )
  await assertOk(patch('category/early-days', { end_date: '2025-06-12' }))
  await assertWriteRefused(
    patch('category/early-days', { start_date: '2025-07-01' }),
    400,
    /before/,
  )
})

test('a merge keeps the profile of the target and fills its empty fields', async () => {
  await archive.make({ speakers: ['Merge From', 'Merge Into'] })
  await assertOk(patch('speaker/merge-from', personProfile))
  await assertOk(patch('speaker/merge-into', { pronouns: 'they' }))
  const { json } = await assertOk(post('speaker/merge-from/merge', { into: 'merge-into' }))
  assert.deepEqual(fieldsOf(json, personProfile), { ...personProfile, pronouns: 'they' })
  const change = await lastChange('speaker', json.id)
  const { pronouns: _, ...taken } = personProfile
  assert.deepEqual(fieldsOf(change.after, taken), taken)
  assert.equal('pronouns' in change.after, false)

  const dates = { start_date: '2026-01-01', end_date: '2026-01-02' }
  await assertOk(
    post('category', { title: 'Merge A', ...eventProfile, ...dates, url: 'https://a.example/' }),
  )
  await assertOk(post('category', { title: 'Merge B', country: 'NO', end_date: '2026-03-01' }))
  const merged = (await assertOk(post('category/merge-a/merge', { into: 'merge-b' }))).json
  // A place or a date is never made of two events.
  const expected = { ...eventProfile, city: null, country: 'NO', online: false }
  assert.deepEqual(fieldsOf(merged, eventProfile), expected)
  assert.deepEqual(
    [merged.start_date, merged.end_date, merged.url],
    [null, '2026-03-01', 'https://a.example/'],
  )
})

test('hides the profile of a speaker without live talks', async () => {
  const { id } = await archive.make({ speakers: ['Shy Speaker'] })
  await assertOk(patch('speaker/shy-speaker', personProfile))
  const read = async (path: string) => (await archive.call('GET', path)).text
  const places = ['/api/v2/speaker/shy-speaker', '/api/v2/speaker', '/api/v2/export.ndjson']
  assert.match(await read('/api/v2/export.ndjson'), /ze\/hir/)
  await assertOk(patch(`video/${id}`, { state: 2 }))
  for (const path of places) assert.doesNotMatch(await read(path), /Shy Speaker/, path)
  assert.equal((await archive.call('GET', '/api/v2/speaker/shy-speaker')).status, 404)
  assert.deepEqual(fieldsOf((await get('speaker/shy-speaker')).json, personProfile), personProfile)
})

test('an import of a schedule describes new speakers, but no existing ones', async () => {
  await archive.make({ speakers: ['Kim Known'] })
  const persons = [
    { public_name: 'Nia New', biography: 'Builds *bridges*.', avatar: '/nia.png' },
    { public_name: 'Kim Known', biography: 'Another person of that name.' },
    { public_name: 'Ed Empty', biography: '', avatar: 'javascript:alert(1)' },
  ]
  const events = [
    { id: 1, title: 'A closing talk', start: '10:00', persons },
    { id: 2, title: 'The opening talk', start: '09:15', persons },
  ]
  const conference = {
    acronym: 'sched',
    title: 'Schedule Days',
    base_url: 'https://schedule.example.org',
    days: [{ index: 1, date: '2025-06-01', rooms: { Hall: events } }],
  }
  const client = importClient(archive, archive.editor)
  const text = JSON.stringify({ schedule: { conference } })
  const { id } = await client.plan({
    text,
    format: 'schedule',
    name: 'schedule.json',
    language: 'en',
  })
  await client.apply(id)
  const nia = await assertOk(get('speaker/nia-new'))
  assert.deepEqual(fieldsOf(nia.json, personProfile), {
    ...emptyPersonProfile,
    description: 'Builds *bridges*.',
    picture_url: 'https://schedule.example.org/nia.png',
  })
  for (const slug of ['kim-known', 'ed-empty'])
    assert.deepEqual(
      fieldsOf((await assertOk(get(`speaker/${slug}`))).json, personProfile),
      emptyPersonProfile,
    )
  const { json: event } = await assertOk(get('category/schedule-days'))
  const { text: page } = await archive.call('GET', `/category/${event.id}/schedule-days`)
  assert.match(page, /The opening talk[\s\S]*A closing talk/)
})
