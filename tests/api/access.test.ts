import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Endpoint,
  endpoints,
  mayAct,
  type Role,
  roles,
  streamEndpoints,
} from '@talkshelf/contract'
import { createToken, findEvent, revokeToken } from '../../server/auth/auth.ts'
import { callPath, prepareCall } from '../support/endpoint-calls.ts'
import { category, type Reply, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// Calls every endpoint of the contract with every role. A new endpoint is covered as soon as the
// contract has it.

const archive = await startArchive()
const allEndpoints: readonly Endpoint[] = [
  ...Object.values(endpoints),
  ...Object.values(streamEndpoints),
]

async function attempt(endpoint: Endpoint, authorization: string | undefined): Promise<Reply> {
  const { params, body } = await prepareCall(archive, endpoint)
  return archive.call(endpoint.method, callPath(endpoint, params), {
    ...(body && { body }),
    headers: { ...(authorization && { authorization }) },
  })
}

/** Roles that a caller of the API can have. Suggesters use the pages only. */
type ApiRole = Exclude<Role, 'suggester'>
const apiRoles = roles.filter((role): role is ApiRole => role !== 'suggester')

const tokens: Record<ApiRole, string | undefined> = {
  anyone: undefined,
  editor: `Token ${archive.editor}`,
  admin: `Bearer ${archive.admin}`,
}

const verbFor = (role: Role, endpoint: Endpoint) =>
  mayAct(role, endpoint.role) ? 'allows' : 'refuses'

for (const endpoint of allEndpoints)
  for (const role of apiRoles)
    test(`${verbFor(role, endpoint)} ${endpoint.name} as ${role}`, async () => {
      const { status, headers, json } = await attempt(endpoint, tokens[role])
      if (mayAct(role, endpoint.role)) assert.equal(status, endpoint.response.status)
      else if (role === 'anyone') {
        assert.equal(status, 401)
        assert.match(String(headers['www-authenticate']), /^Token realm=/)
      } else {
        assert.equal(status, 403)
        assert.equal(json.type, `${archive.url}/api/problems/forbidden`)
      }
    })

const other = 'Other Days 2026'
await archive.call('POST', '/api/v2/category', { token: archive.editor, body: { title: other } })

/** Creates a token for the talks of one event. */
async function eventToken(title: string): Promise<string> {
  const event = await findEvent(archive.pool, title)
  const token = { name: `Editor of ${title}`, role: 'editor', days: 1, eventId: event.id } as const
  return `Token ${(await createToken(archive.pool, token)).token}`
}
const eventTokens = {
  'this event': await eventToken(category),
  'another event': await eventToken(other),
}

for (const endpoint of allEndpoints)
  for (const [event, token] of Object.entries(eventTokens)) {
    const isAllowed =
      endpoint.role === 'anyone' ||
      (endpoint.role === 'editor' &&
        endpoint.forEventEditors === true &&
        // Only for their own bulk edits, and this import is of another editor.
        !endpoint.path.startsWith('/api/v2/import/') &&
        (event === 'this event' ||
          // What authors say is for those who decide.
          (endpoint.method === 'GET' && !endpoint.path.startsWith('/api/v2/suggestion/'))))
    test(`${isAllowed ? 'allows' : 'refuses'} ${endpoint.name} as editor of ${event}`, async () => {
      const { status, json } = await attempt(endpoint, token)
      if (isAllowed) assert.equal(status, endpoint.response.status)
      else {
        assert.equal(status, 403)
        assert.equal(json.type, `${archive.url}/api/problems/forbidden`)
      }
    })
  }

test('refuses to move a talk into or out of a foreign event', async () => {
  const move = async (token: string, from: string, to: string) => {
    const { id } = await archive.make({ category: from })
    const body = { category: to }
    const headers = { authorization: token }
    const { status } = await archive.call('PATCH', `/api/v2/video/${id}`, { headers, body })
    const { json } = await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })
    assert.equal(json.category, status === 200 ? to : from)
    return status
  }
  const token = eventTokens['this event']
  assert.equal(await move(token, category, other), 403)
  assert.equal(await move(token, other, category), 403)
  assert.equal(await move(token, category, category), 200)
})

test('refuses to restore a revision of a talk that was in a foreign event', async () => {
  const { id } = await archive.make({ category: other })
  const body = { category }
  await archive.call('PATCH', `/api/v2/video/${id}`, { token: archive.editor, body })
  const { status } = await archive.call('POST', `/api/v2/video/${id}/revisions/1/restore`, {
    headers: { authorization: eventTokens['this event'] },
  })
  assert.equal(status, 403)
})

test('an editor of an event edits its talks after a merge, and no longer after a move', async () => {
  const titles = ['Former Days', 'Current Days']
  for (const title of titles)
    await archive.call('POST', '/api/v2/category', { token: archive.editor, body: { title } })
  const authorization = await eventToken('Former Days')
  const { id } = await archive.make({ category: 'Current Days' })
  const patch = async (summary: string) =>
    (
      await archive.call('PATCH', `/api/v2/video/${id}`, {
        headers: { authorization },
        body: { summary },
      })
    ).status
  assert.equal(await patch('before'), 403)
  await archive.call('POST', '/api/v2/category/former-days/merge', {
    token: archive.editor,
    body: { into: 'current-days' },
  })
  assert.equal(await patch('after'), 200)
  const body = { category: other }
  await archive.call('PATCH', `/api/v2/video/${id}`, { token: archive.editor, body })
  assert.equal(await patch('moved'), 403)
})

test('rejects invalid credentials on every endpoint with the same message', async () => {
  const revoked = await createToken(archive.pool, { name: 'Gone', role: 'admin', days: 1 })
  await revokeToken(archive.pool, revoked.id)
  const expired = await createToken(archive.pool, { name: 'Old', role: 'admin', days: 1 })
  await withDatabase(archive.databaseUrl, (query) =>
    query(`update token set expires = now() - interval '1 second' where id = ${expired.id}`),
  )
  const flipped = archive.editor.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
  const wrong = [
    '',
    'Token',
    'Basic Zm9vOmJhcg==',
    `Token ${flipped}`,
    'Token talkshelf_',
    `Token ${'x'.repeat(10_000)}`,
    archive.editor,
    `Token ${archive.editor} x`,
    `Token ${revoked.token}`,
    `Token ${expired.token}`,
  ]
  for (const endpoint of allEndpoints)
    for (const authorization of wrong) {
      const { status, json } = await attempt(endpoint, authorization === '' ? ' ' : authorization)
      assert.equal(status, 401, `${endpoint.name} with ${authorization.slice(0, 40)}`)
      assert.equal(json.detail, 'The token is unknown, expired or revoked')
    }
})

test('hides a draft from readers in every representation', async () => {
  const draft = await archive.make({ state: 2 })
  const { headers } = await archive.call('GET', `/api/v2/video/${draft.id}`, {
    token: archive.editor,
  })
  for (const method of ['GET', 'HEAD'])
    for (const extra of [
      {},
      { 'if-none-match': String(headers.etag) },
      { 'if-none-match': '*' },
      { accept: 'application/json' },
    ]) {
      const reply = await archive.call(method, `/api/v2/video/${draft.id}`, {
        headers: extra as Record<string, string>,
      })
      assert.equal(reply.status, 404)
      assert.equal(reply.headers['cache-control'], 'private, no-store')
    }
})

test('stores only a hash of a token and records when it was last used', async () => {
  await archive.call('GET', '/api/v2/openapi.json', { token: archive.editor })
  await withDatabase(archive.databaseUrl, async (query) => {
    const rows = await query('select t::text as row, last_used from token t where name = $1', [
      'Edith',
    ])
    assert.ok(!String(rows[0]?.row).includes(archive.editor))
    assert.ok(rows[0]?.last_used)
  })
})
