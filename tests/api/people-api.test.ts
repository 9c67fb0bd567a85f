import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToken } from '../../server/auth/auth.ts'
import { createDeskClient } from '../support/desk-client.ts'
import { startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// People and the audit log over the API, for administrators.

const archive = await startArchive()
const token = archive.admin
const path = '/api/v2/person'

const query = (text: string, values: unknown[] = []) =>
  withDatabase(archive.databaseUrl, (run) => run(text, values))
const invite = (body: object) => archive.call('POST', path, { token, body })
const patch = (id: number, body: object) => archive.call('PATCH', `${path}/${id}`, { token, body })

test('invites a person, whose link signs in', async () => {
  const { status, json, headers } = await invite({
    name: 'Ada',
    mail: 'ada@example.org',
    role: 'admin',
  })
  assert.equal(status, 201)
  assert.equal(headers['cache-control'], 'private, no-store')
  const { person, link } = json
  assert.equal(person.mail, 'ada@example.org')
  assert.equal(person.disabled, null)
  const client = createDeskClient(archive)
  const { pathname } = new URL(link.url)
  assert.equal((await client.post(`${pathname}/code`, { code: link.code })).status, 303)
  assert.match((await client.get('/desk')).html, /Welcome, Ada/)
  const next = await archive.call('POST', `${path}/${person.id}/link`, { token })
  assert.equal(next.status, 200)
  assert.notEqual(next.json.url, link.url)
})

test('refuses invalid names and addresses at the field, and taken addresses', async () => {
  await invite({ name: 'Grace', mail: 'grace@example.org', role: 'editor' })
  for (const [body, pointer] of [
    [{ name: 'a\nb', role: 'editor' }, '/name'],
    [{ name: 'a\u202eb', role: 'editor' }, '/name'],
    [{ name: '', role: 'editor' }, '/name'],
    [{ name: 'Eve', mail: 'a@b, c@d', role: 'editor' }, '/mail'],
    [{ name: 'Eve', role: 'owner' }, '/role'],
    [{ name: 'Eve' }, '/role'],
  ] as const) {
    const { status, json } = await invite(body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.equal(json.errors[0].pointer, pointer)
  }
  const taken = await invite({ name: 'Eve', mail: 'GRACE@example.org', role: 'editor' })
  assert.equal(taken.status, 409)
})

test('a token has at most the current role of the person who created it', async () => {
  const { json } = await invite({ name: 'Tara', mail: 'tara@example.org', role: 'admin' })
  const { id } = json.person
  const tokens: string[] = []
  for (const role of ['admin', 'editor'] as const)
    tokens.push((await createToken(archive.pool, { name: role, role, days: 1, person: id })).token)
  const statuses = async () => {
    const read = async (url: string, token: string) =>
      (await archive.call('GET', url, { token })).status
    const found = []
    for (const token of tokens)
      found.push(await read(path, token), await read('/api/v2/import', token))
    return found
  }
  assert.deepEqual(await statuses(), [200, 200, 403, 200])
  await patch(id, { role: 'editor' })
  assert.deepEqual(await statuses(), [403, 200, 403, 200])
  await patch(id, { role: 'suggester' })
  assert.deepEqual(await statuses(), [403, 403, 403, 403])
  await patch(id, { role: 'admin', disabled: true })
  assert.deepEqual(await statuses(), [401, 401, 401, 401])
  await patch(id, { disabled: false })
  assert.deepEqual(await statuses(), [200, 200, 403, 200])
})

test('changes all given fields or none', async () => {
  const { json } = await invite({ name: 'Barbara', mail: 'barbara@example.org', role: 'editor' })
  const { id } = json.person
  const changed = await patch(id, { name: 'Barb', mail: null, role: 'suggester', disabled: true })
  assert.equal(changed.status, 200)
  const { name, mail, role, disabled } = changed.json
  assert.deepEqual([name, mail, role], ['Barb', null, 'suggester'])
  assert.match(disabled, /^\d{4}-/)
  assert.equal((await archive.call('POST', `${path}/${id}/link`, { token })).status, 409)
  const taken = await patch(id, { name: 'Changed', disabled: false, mail: 'grace@example.org' })
  assert.equal(taken.status, 409)
  const [row] = await query(
    'select name, disabled is null as is_enabled from person where id = $1',
    [id],
  )
  assert.deepEqual(row, { name: 'Barb', is_enabled: false })
  assert.equal((await patch(id, { disabled: false })).json.disabled, null)
  assert.equal((await patch(999_999, { name: 'x' })).status, 404)
})

test('a new mail address ends links that were sent to the old one', async () => {
  const { json } = await invite({ name: 'Radia', mail: 'radia@example.org', role: 'editor' })
  const client = createDeskClient(archive)
  const { pathname } = new URL(json.link.url)
  assert.equal((await patch(json.person.id, { name: 'Radia P.' })).status, 200)
  assert.equal((await client.get(pathname)).status, 200)
  assert.equal((await patch(json.person.id, { mail: 'new@example.org' })).status, 200)
  assert.equal((await client.get(pathname)).status, 403)
  const [event] = await query('select detail from audit_event order by id desc limit 1')
  assert.equal(JSON.stringify(event?.detail).includes('"mail":"changed"'), true)
})

test('pages through people and the audit log', async () => {
  for (let number = 1; number <= 5; number++) await invite({ name: `P ${number}`, role: 'editor' })
  for (const [list, table] of [
    [path, 'person'],
    ['/api/v2/audit', 'audit_event'],
  ] as const) {
    const ids: number[] = []
    let next: string | undefined = `${list}?page_size=3`
    while (next) {
      const { status, json } = await archive.call('GET', next, { token })
      assert.equal(status, 200)
      assert.ok(json.results.length <= 3)
      ids.push(...json.results.map(({ id }: { id: number }) => id))
      next = json.next?.slice(archive.url.length)
    }
    const rows = await query(`select id::integer from ${table} order by id`)
    assert.deepEqual(
      [...ids].sort((a, b) => a - b),
      rows.map(({ id }) => id),
    )
  }
})

test('the audit log has no secret', async () => {
  const { json } = await invite({ name: 'Shafi', role: 'editor' })
  const { text } = await archive.call('GET', '/api/v2/audit?page_size=100', { token })
  const secret = json.link.url.split('/').at(-1)
  assert.ok(!text.includes(secret) && !text.includes(json.link.code))
})
