import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invitePerson, openProvider, setDisabled } from '../../server/auth/auth.ts'
import { createDeskClient, type DeskClient, type DeskReply } from '../support/desk-client.ts'
import { openArchive, runCommand, spawnServer, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { startProvider } from '../support/openid.ts'
import { until } from '../support/until.ts'

// People sign in with an account of a real OpenID Connect provider. Whatever is forged, replayed,
// expired or meant for another site or person is refused without a session.

const clientSecret = 'only-for-tests'
const provider = await startProvider(clientSecret, 'http://localhost/desk/openid/callback')
const settings = {
  OPENID_ISSUER: provider.issuer,
  OPENID_CLIENT_ID: 'talkshelf',
  OPENID_CLIENT_SECRET: clientSecret,
}
const archive = await startArchive(settings)
const operator = { actor: 'root (terminal)', person: null, request: 'test' }

const query = (text: string, values: unknown[] = []) =>
  withDatabase(archive.databaseUrl, (run) => run(text, values))

const invite = (name: string, role: 'editor' | 'admin' = 'editor', mail: string | null = null) =>
  invitePerson(archive.pool, { name, mail, role }, operator)

/** Starts a flow with the form of a page. Returns the URL of the provider. */
async function startFlow(client: DeskClient, page: DeskReply, action: string): Promise<string> {
  const started = await client.submit(page, action)
  assert.equal(started.status, 200, started.html)
  const [, url] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(started.html) ?? []
  return String(url).replaceAll('&amp;', '&')
}

/** Runs a flow from the form of a page to the answer of the callback. */
async function runFlow(client: DeskClient, path: string, action: string, account: string) {
  const url = await startFlow(client, await client.get(path), action)
  return client.get(await provider.signIn(url, account))
}

/** Invites a person who accepts with an account of the provider. */
async function connected(name: string, account: string, role: 'editor' | 'admin' = 'editor') {
  const { id, link } = await invite(name, role)
  const client = createDeskClient(archive)
  const path = `/desk/link/${link.secret}`
  const reply = await runFlow(client, path, `${path}/openid`, account)
  assert.equal(reply.status, 303, reply.html)
  return { id, client, path }
}

const signInWith = (client: DeskClient, account: string) =>
  runFlow(client, '/desk/sign-in', '/desk/openid', account)

test('accepts an invitation with an account, and signs in with it again', async () => {
  const { client, path } = await connected('Ada', 'ada')
  assert.match((await client.get('/desk')).html, /Welcome, Ada/)
  assert.ok(!client.cookie.includes('desk-openid'), 'the cookie of the flow is removed')
  assert.equal((await createDeskClient(archive).get(path)).status, 403, 'the link is used up')

  const other = createDeskClient(archive)
  const closed = await other.get('/desk/account')
  const url = await startFlow(other, await other.follow(closed), '/desk/openid')
  const parameters = new URL(url).searchParams
  assert.equal(parameters.get('code_challenge_method'), 'S256')
  assert.equal(parameters.get('scope'), 'openid')
  for (const name of ['state', 'nonce', 'code_challenge'])
    assert.match(String(parameters.get(name)), /^[\w-]{43}$/)
  const reply = await other.get(await provider.signIn(url, 'ada'))
  assert.equal(reply.headers.location, '/desk/account')
  const account = await other.get('/desk/account')
  assert.match(account.html, /Other accounts/)
  assert.match(account.html, /other account/)
})

test('an unknown account is refused, also if a person has its mail address', async () => {
  await invite('Grace', 'editor', 'grace@example.org')
  await provider.tamper({ claims: { email: 'grace@example.org', email_verified: true } })
  const client = createDeskClient(archive)
  const reply = await signInWith(client, 'grace')
  await provider.tamper({})
  assert.equal(reply.status, 403)
  assert.match(reply.html, /Ask an administrator for an invitation/)
  assert.equal((await client.get('/desk')).status, 303)
})

test('a person who is signed in connects and removes an account', async () => {
  const { link } = await invite('Barbara')
  const client = createDeskClient(archive)
  await client.post(`/desk/link/${link.secret}/code`, { code: link.code })
  const reply = await runFlow(client, '/desk/account', '/desk/account/connect', 'barbara')
  assert.equal(reply.headers.location, '/desk/account?done=identity-added')
  assert.match((await client.follow(reply)).html, /The account is connected/)
  assert.equal((await signInWith(createDeskClient(archive), 'barbara')).status, 303)

  const page = await client.get('/desk/account')
  const removed = await client.submit(page, '/desk/account/remove-identity')
  assert.match((await client.follow(removed)).html, /no longer connected/)
  assert.equal((await signInWith(createDeskClient(archive), 'barbara')).status, 403)
  const events = await query(
    "select kind from audit_event where kind like 'identity-%' order by id",
  )
  assert.deepEqual(events.slice(-2), [{ kind: 'identity-added' }, { kind: 'identity-removed' }])
})

test('an account of one person is not connected to another one', async () => {
  await connected('Edsger', 'edsger')
  const { link } = await invite('Mallory')
  const client = createDeskClient(archive)
  const path = `/desk/link/${link.secret}`
  const reply = await runFlow(client, path, `${path}/openid`, 'edsger')
  assert.equal(reply.status, 403)
  assert.match(reply.html, /already belongs to another person/)
  assert.equal((await client.get(path)).status, 200, 'the invitation still works')
})

test('a flow of one person connects nothing to another one', async () => {
  const victim = await connected('Victor', 'victor')
  const attacker = await connected('Trudy', 'trudy')
  const page = await attacker.client.get('/desk/account')
  const url = await startFlow(attacker.client, page, '/desk/account/connect')
  const callback = await provider.signIn(url, 'trudy-second')
  // The attacker brings their flow into the browser of the victim.
  const [flow] = /desk-openid=[^;]+/.exec(attacker.client.cookie) ?? []
  victim.client.cookie = `${victim.client.cookie}; ${flow}`
  assert.equal((await victim.client.get(callback)).status, 403)
  assert.deepEqual(await query("select from openid_identity where subject = 'trudy-second'"), [])
})

test('a disabled person is refused', async () => {
  const { id } = await connected('Margaret', 'margaret')
  await setDisabled(archive.pool, id, true, operator)
  assert.equal((await signInWith(createDeskClient(archive), 'margaret')).status, 403)
  assert.deepEqual(await query('select from session where person_id = $1', [id]), [])
})

test('confirms a session with a recent sign-in of the same account', async () => {
  const { id, client } = await connected('Heidi', 'heidi', 'admin')
  await connected('Ivan', 'ivan')
  const weaken = () =>
    query("update session set strong_until = now() - interval '1 s' where person_id = $1", [id])
  await weaken()
  const asked = await client.get('/desk/people')
  const path = String(asked.headers.location)
  const wrong = await runFlow(client, path, '/desk/confirm/openid', 'ivan')
  assert.equal(wrong.status, 403)
  await provider.tamper({ claims: { auth_time: 1_000_000_000 } })
  const old = await runFlow(client, path, '/desk/confirm/openid', 'heidi')
  await provider.tamper({})
  assert.equal(old.status, 403)
  const before = client.cookie
  const reply = await runFlow(client, path, '/desk/confirm/openid', 'heidi')
  assert.equal(reply.headers.location, '/desk/people')
  assert.notEqual(client.cookie, before)
  assert.equal((await client.get('/desk/people')).status, 200)
})

const now = Math.floor(Date.now() / 1000)
const forged = {
  'another audience': { claims: { aud: 'another-client' } },
  'several audiences': { claims: { aud: ['talkshelf', 'another-client'], azp: 'another-client' } },
  'another issuer': { claims: { iss: 'https://evil.example.org' } },
  'another nonce': { claims: { nonce: 'x'.repeat(43) } },
  'no nonce': { claims: { nonce: null } },
  'an expired token': { claims: { iat: now - 7200, exp: now - 3600 } },
  'no subject': { claims: { sub: '' } },
  'a long subject': { claims: { sub: 'x'.repeat(300) } },
  'alg none': { alg: 'none' },
  'alg HS256': { alg: 'HS256' },
  'a foreign key': { hasForeignKey: true },
  'a large response': { responseBytes: 1_000_000 },
}
await connected('Alan', 'alan')

for (const [name, tampering] of Object.entries(forged))
  test(`refuses an ID token with ${name}`, async () => {
    await provider.tamper(tampering)
    const client = createDeskClient(archive)
    const reply = await signInWith(client, 'alan')
    await provider.tamper({})
    assert.equal(reply.status, 403)
    assert.match(reply.html, /was not accepted/)
    assert.equal((await client.get('/desk')).status, 303)
    assert.equal((await signInWith(createDeskClient(archive), 'alan')).status, 303)
  })

test('refuses a wrong state without ending the flow, and a replay', async () => {
  const client = createDeskClient(archive)
  const url = await startFlow(client, await client.get('/desk/sign-in'), '/desk/openid')
  const callback = await provider.signIn(url, 'alan')
  const wrongState = callback.replace(/state=[\w-]+/, `state=${'x'.repeat(43)}`)
  assert.equal((await client.get(wrongState)).status, 403)
  assert.equal((await client.get(callback.replace(/state=[\w-]+&?/, ''))).status, 403)
  assert.equal((await createDeskClient(archive).get(callback)).status, 403, 'another browser')
  const { cookie } = client
  assert.equal((await client.get(callback)).status, 303)
  client.cookie = cookie
  assert.equal((await client.get(callback)).status, 403, 'the same flow again')
  // A new flow with the code of the first one.
  const [code] = /code=[\w-]+/.exec(callback) ?? []
  const again = createDeskClient(archive)
  const nextUrl = await startFlow(again, await again.get('/desk/sign-in'), '/desk/openid')
  const next = await provider.signIn(nextUrl, 'alan')
  assert.equal((await again.get(next.replace(/code=[\w-]+/, String(code)))).status, 403)
  for (const cookie of ['desk-openid=x', 'desk-openid=sign-in.x.y', 'desk-openid=a.b.c.d']) {
    again.cookie = cookie
    assert.equal((await again.get(next)).status, 403)
  }
})

test('refuses another issuer in the response, an expired flow and a person who declines', async () => {
  const client = createDeskClient(archive)
  const begin = async (account: string) => {
    const url = await startFlow(client, await client.get('/desk/sign-in'), '/desk/openid')
    return provider.signIn(url, account)
  }
  const callback = await begin('alan')
  assert.match(callback, /iss=/)
  const mixedUp = callback.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example.org')
  assert.equal((await client.get(mixedUp)).status, 403)
  const expired = await begin('alan')
  await query("update one_time_token set expires = now() - interval '1 s'")
  assert.equal((await client.get(expired)).status, 403)
  const declined = await begin('denied')
  assert.match(declined, /error=access_denied/)
  assert.equal((await client.get(declined)).status, 403)
  assert.equal((await client.get('/desk')).status, 303)
})

test('the cookie of a flow belongs to the site, and the path stays on it', async () => {
  const client = createDeskClient(archive)
  const page = await client.get('/desk/sign-in')
  const started = await client.submit(page, '/desk/openid', { to: 'https://evil.example.org/' })
  assert.match(
    String(started.headers['set-cookie']),
    /^desk-openid=[\w.-]+; Path=\/; Max-Age=600; SameSite=Lax; HttpOnly$/,
  )
  const [, url] = /content="0; url=([^"]+)"/.exec(started.html) ?? []
  const callback = await provider.signIn(String(url).replaceAll('&amp;', '&'), 'alan')
  assert.equal((await client.get(callback)).headers.location, '/')
})

test('a provider that is down: refused without a session, and found later', async () => {
  const down = await startProvider(clientSecret, 'http://localhost/desk/openid/callback')
  await down.stop()
  const server = await openArchive(archive.databaseUrl, {
    ...settings,
    OPENID_ISSUER: down.issuer,
  })
  try {
    const client = createDeskClient(server)
    const page = await client.get('/desk/sign-in')
    assert.equal(page.status, 200)
    const refused = await client.submit(page, '/desk/openid')
    assert.equal(refused.status, 403)
    assert.match(refused.html, /does not respond/)
    assert.equal(client.cookie, '')
  } finally {
    await server.close()
  }
  const found = openProvider({ issuer: down.issuer, clientId: 'talkshelf', clientSecret }, 0)
  const checks = { redirectUrl: 'http://localhost', state: 's', nonce: 'n', verifier: 'v' }
  await assert.rejects(found.authorizationUrl(checks), { reason: 'openid-unavailable' })
  await startProvider(clientSecret, 'http://localhost', new URL(down.issuer).port)
  await until('the provider', () => found.authorizationUrl(checks))
})

test('logs neither the code of the provider nor the client secret', async () => {
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl, ...settings })
  const client = createDeskClient(server)
  const url = await startFlow(client, await client.get('/desk/sign-in'), '/desk/openid')
  const callback = await provider.signIn(url, 'unknown-account')
  assert.equal((await client.get(callback)).status, 403)
  await until('the log line', () => server.output().includes('/desk/openid/callback'))
  const [, code = ''] = /code=([\w-]+)/.exec(callback) ?? []
  assert.ok(!server.output().includes(code))
  assert.ok(!server.output().includes(clientSecret))
  const { stdout } = await runCommand(['config'], {
    DATABASE_URL: archive.databaseUrl,
    ...settings,
    OPENID_CLIENT_SECRET: 'abc:def',
  })
  assert.match(stdout, /OPENID_CLIENT_SECRET=\*\*\*\n/)
})

test('without a provider there is no button, and settings are checked', async () => {
  const plain = await openArchive(archive.databaseUrl)
  try {
    const client = createDeskClient(plain)
    const page = await client.get('/desk/sign-in')
    assert.ok(!page.forms.some(({ action }) => action === '/desk/openid'))
    assert.equal((await client.post('/desk/openid', {})).headers.location, '/desk/sign-in')
    assert.equal((await client.get('/desk/openid/callback?code=x&state=y')).status, 403)
  } finally {
    await plain.close()
  }
  for (const issuer of ['http://example.org', 'x', 'https://a:b@example.org', 'https://x.org/?a'])
    await assert.rejects(
      openArchive(archive.databaseUrl, { ...settings, OPENID_ISSUER: issuer }),
      /OPENID_ISSUER must be an https/,
    )
  await assert.rejects(
    openArchive(archive.databaseUrl, { ...settings, OPENID_CLIENT_SECRET: '' }),
    /OPENID_CLIENT_SECRET is required/,
  )
})
