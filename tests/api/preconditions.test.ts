import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToken } from '../../server/auth/auth.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// If-Match on the writes that cannot be undone: a merge, a split and a takedown.

const archive = await startArchive()
const { editor, admin } = archive
const { token: secondEditor } = await createToken(archive.pool, {
  name: 'Eve',
  role: 'editor',
  days: 1,
})
const { token: secondAdmin } = await createToken(archive.pool, {
  name: 'Alan',
  role: 'admin',
  days: 1,
})
const post = (path: string, body: object, ifMatch?: string, token = editor) =>
  archive.call('POST', `/api/v2/${path}`, {
    token,
    body,
    headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
  })
const etagOf = async (path: string) =>
  String((await archive.call('GET', `/api/v2/${path}`, { token: editor })).headers.etag)
const patch = (path: string, body: object) =>
  archive.call('PATCH', `/api/v2/${path}`, { token: editor, body })
const changes = () =>
  withDatabase(archive.databaseUrl, async (query) => (await query('select from change')).length)

for (const kind of ['speaker', 'tag', 'category'] as const) {
  const [from, into] = [`${kind}-from`, `${kind}-into`]
  test(`merges a ${kind} only if If-Match is current, and once`, async () => {
    if (kind === 'category') for (const title of [from, into]) await post('category', { title })
    else await archive.make({ [`${kind}s`]: [from, into] })
    const path = `${kind}/${from}`
    const [before, other] = [await etagOf(path), await etagOf(`${kind}/${into}`)]
    assert.equal((await patch(path, { aliases: [{ name: `${from} alias` }] })).status, 200)
    const fresh = await etagOf(path)

    const countBefore = await changes()
    for (const wrong of [before, other, `W/${fresh}`, '"1.1.aaaaaaaa"', '1.1.aaaaaaaa']) {
      const { status, json } = await post(`${path}/merge`, { into }, wrong)
      assert.equal(status, 412, `${wrong}: ${JSON.stringify(json)}`)
      assert.equal(json.current.etag, fresh.replace(/~[^".]*/, ''))
      const isStrong = wrong.startsWith('"')
      assert.match(json.detail, isStrong ? /has changed since/ : /has no strong ETag in quotes/)
    }
    assert.equal(await changes(), countBefore)
    assert.equal((await archive.call('GET', `/api/v2/${path}`, { token: editor })).status, 200)

    const merged = await post(`${path}/merge`, { into }, fresh)
    assert.equal(merged.status, 200, merged.text)
    const countAfter = await changes()
    const again = await post(`${path}/merge`, { into }, fresh)
    assert.deepEqual([again.status, again.json.id], [200, merged.json.id], again.text)
    assert.equal((await post(`${path}/merge`, { into }, fresh, secondEditor)).status, 412)
    assert.equal((await post(`${path}/merge`, { into }, before)).status, 412)
    for (const any of ['*', undefined])
      assert.equal((await post(`${path}/merge`, { into }, any)).status, 200)
    assert.equal(await changes(), countAfter)
  })

  test(`repeats a merge of a ${kind} whose target was merged since`, async () => {
    const names = ['one', 'two', 'three'].map((name) => `${kind}-${name}`)
    const [one, two, three] = names as [string, string, string]
    if (kind === 'category') for (const title of names) await post('category', { title })
    else await archive.make({ [`${kind}s`]: names })
    const etag = await etagOf(`${kind}/${one}`)
    assert.equal((await post(`${kind}/${one}/merge`, { into: two }, etag)).status, 200)
    assert.equal(
      (await post(`${kind}/${two}/merge`, { into: three }, await etagOf(`${kind}/${two}`))).status,
      200,
    )
    const again = await post(`${kind}/${one}/merge`, { into: two }, etag)
    assert.deepEqual([again.status, again.json.slug], [200, three], again.text)
  })
}

test('splits a speaker only if If-Match is current, and once', async () => {
  const { id } = await archive.make({ speakers: ['Kim Lee'] })
  const path = 'speaker/kim-lee'
  const before = await etagOf(path)
  assert.equal((await patch(path, { aliases: [{ name: 'Kim Lee (Oslo)' }] })).status, 200)
  const body = { name: 'Kim Lee (Oslo)', videos: [id] }
  const countBefore = await changes()
  assert.equal((await post(`${path}/split`, body, before)).status, 412)
  assert.equal(await changes(), countBefore)
  const fresh = await etagOf(path)
  assert.equal((await post(`${path}/split`, body, fresh)).status, 200)
  // Moved back by hand: the repeated request does not move it again.
  assert.equal((await patch(`video/${id}`, { speakers: ['Kim Lee'] })).status, 200)
  const countAfter = await changes()
  const again = await post(`${path}/split`, body, fresh)
  assert.deepEqual([again.status, again.json.name], [200, 'Kim Lee (Oslo)'], again.text)
  assert.equal((await post(`${path}/split`, body, fresh, secondEditor)).status, 412)
  assert.equal(await changes(), countAfter)
})

test('takes down a record only if If-Match is current, and once', async () => {
  const { id } = await archive.make()
  const path = `video/${id}`
  const reason = 'asked for'
  const before = await etagOf(path)
  assert.equal((await patch(path, { summary: 'changed since' })).status, 200)
  for (const wrong of [before, '"1.1.aaaaaaaa"']) {
    const stale = await post(`${path}/takedown`, { reason }, wrong, admin)
    assert.equal(stale.status, 412, stale.text)
  }
  const fresh = await etagOf(path)
  assert.equal((await archive.call('GET', `/api/v2/${path}`)).status, 200)
  const taken = await post(`${path}/takedown`, { reason }, fresh, admin)
  assert.equal(taken.status, 200, taken.text)
  const countAfter = await changes()
  const again = await post(`${path}/takedown`, { reason }, fresh, admin)
  assert.deepEqual([again.status, again.json], [200, taken.json])
  for (const [body, ifMatch, token] of [
    [{ reason }, fresh, secondAdmin],
    [{ reason: 'another' }, fresh, admin],
    [{ reason }, before, admin],
    [{ reason }, '*', admin],
    [{ reason }, undefined, admin],
  ] as const)
    assert.equal((await post(`${path}/takedown`, body, ifMatch, token)).status, 410)
  assert.equal(await changes(), countAfter)
  const { id: other } = await archive.make()
  assert.equal((await post(`video/${other}/takedown`, { reason }, '*', admin)).status, 200)
})

test('keeps records, names and changes consistent after all tests', () =>
  checkInvariants(archive.databaseUrl))
