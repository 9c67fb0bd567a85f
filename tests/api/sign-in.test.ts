import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLinkFor, endSessions, invitePerson, setDisabled } from '../../server/auth/auth.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import { createDeskClient, formTo, passkeyOptions } from '../support/desk-client.ts'
import { runCommand, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// People sign in with a link and then with a passkey; whatever is replayed, expired, scanned, sent
// by another site or meant for another site is refused.

const archive = await startArchive()
const operator = { actor: 'root (terminal)', person: null, request: 'test' }
const origin = 'http://localhost'

const invite = (name: string, role: 'suggester' | 'editor' | 'admin' = 'editor') =>
  invitePerson(archive.pool, { name, mail: null, role }, operator)

const query = <T>(text: string, values: unknown[] = []) =>
  withDatabase(archive.databaseUrl, (run) => run(text, values)) as Promise<T[]>

/** Invites a person who signs in with a new passkey. */
async function signedIn(name: string, role: 'suggester' | 'editor' | 'admin' = 'editor') {
  const { id, link } = await invite(name, role)
  const client = createDeskClient(archive)
  const passkey = createAuthenticator(origin)
  const path = `/desk/link/${link.secret}`
  const page = await client.get(path)
  const reply = await client.submit(page, path, {
    credential: passkey.create(passkeyOptions(page, path)),
  })
  assert.equal(reply.status, 303, reply.html)
  return { id, client, passkey, path }
}

test('signs in with an invitation, and again with the passkey', async () => {
  const { client, passkey } = await signedIn('Ada')
  const home = await client.get('/desk')
  assert.equal(home.status, 200)
  assert.match(home.html, /Welcome, Ada/)
  assert.equal(home.headers['cache-control'], 'private, no-store')
  assert.equal(home.headers['access-control-allow-origin'], undefined)
  assert.equal(home.headers['cross-origin-resource-policy'], 'same-origin')
  assert.match(String(home.headers['content-security-policy']), /frame-ancestors 'none'/)

  const signedOut = await client.submit(home, '/desk/sign-out')
  assert.match(String(signedOut.headers['set-cookie']), /^desk=; Path=\/; Max-Age=0/)
  const closed = await client.get('/desk')
  assert.equal(closed.status, 303)
  assert.equal(closed.headers.location, '/desk/sign-in?to=%2Fdesk')

  const page = await client.follow(closed)
  const reply = await client.submit(page, '/desk/sign-in', {
    credential: passkey.get(passkeyOptions(page, '/desk/sign-in')),
  })
  assert.equal(reply.headers.location, '/desk')
  assert.match((await client.get('/desk')).html, /Welcome, Ada/)
})

test('an ended session ends at once, also in another browser', async () => {
  const { client, passkey } = await signedIn('Grace')
  const other = createDeskClient(archive)
  const page = await other.get('/desk/sign-in')
  await other.submit(page, '/desk/sign-in', {
    credential: passkey.get(passkeyOptions(page, '/desk/sign-in')),
  })
  assert.equal((await other.get('/desk/account')).status, 200)
  const account = await client.get('/desk/account')
  const ended = await client.submit(account, '/desk/account/end-other-sessions')
  assert.match((await client.follow(ended)).html, /The sessions were ended/)
  assert.equal((await other.get('/desk/account')).status, 303)
})

test('a link survives scanners and works once', async () => {
  const { link } = await invite('Edsger')
  const path = `/desk/link/${link.secret}`
  const scanner = createDeskClient(archive)
  assert.equal((await archive.call('HEAD', path)).status, 200)
  const scanned = await scanner.get(path)
  // A scanner that runs scripts sends the forms, without a passkey or the code.
  for (let time = 1; time <= 10; time++)
    for (const { action, fields } of scanned.forms)
      assert.equal((await scanner.post(action, fields)).status, 403)
  assert.equal(scanner.cookie, '')

  const client = createDeskClient(archive)
  const passkey = createAuthenticator(origin)
  const page = await client.get(path)
  const credential = passkey.create(passkeyOptions(page, path))
  assert.equal((await client.post(path, { credential })).status, 303)
  // Neither the link nor the response of the passkey works a second time.
  const again = await createDeskClient(archive).post(path, { credential })
  assert.equal(again.status, 403)
  assert.match(again.html, /no longer works/)
  assert.equal((await createDeskClient(archive).get(path)).status, 403)
})

test('a link with its code needs no passkey and no scripts', async () => {
  const { link } = await invite('Barbara')
  const path = `/desk/link/${link.secret}`
  const client = createDeskClient(archive)
  const page = await client.get(path)
  const wrong = await client.submit(page, `${path}/code`, { code: '12' })
  assert.equal(wrong.status, 403)
  assert.match(wrong.html, /The code is wrong/)
  const spaced = `${link.code.slice(0, 3)} ${link.code.slice(3)}`
  assert.equal((await client.submit(wrong, `${path}/code`, { code: spaced })).status, 303)
  const home = await client.get('/desk')
  assert.match(home.html, /Add a passkey/)
})

test('five wrong codes end a link', async () => {
  const { link } = await invite('Alan')
  const path = `/desk/link/${link.secret}`
  const client = createDeskClient(archive)
  const wrong = link.code === '000000' ? '000001' : '000000'
  for (let attempt = 1; attempt <= 5; attempt++)
    assert.equal((await client.post(`${path}/code`, { code: wrong })).status, 403)
  const right = await client.post(`${path}/code`, { code: link.code })
  assert.equal(right.status, 403)
  assert.match(right.html, /no longer works/)
})

test('disabling a person and ending their sessions end their links too', async () => {
  const { id, link } = await invite('Adele')
  const client = createDeskClient(archive)
  await setDisabled(archive.pool, id, true, operator)
  await setDisabled(archive.pool, id, false, operator)
  assert.equal((await client.get(`/desk/link/${link.secret}`)).status, 403)
  const newer = await createLinkFor(archive.pool, id, operator)
  await endSessions(archive.pool, id, operator)
  assert.equal((await client.get(`/desk/link/${newer.secret}`)).status, 403)
})

test('talkshelf person link --reset removes passkeys, accounts and sessions', async () => {
  const { id, client, passkey } = await signedIn('Lotte')
  await query("insert into openid_identity values ('https://id.example.org', 'lotte', $1)", [id])
  const settings = { DATABASE_URL: archive.databaseUrl, PUBLIC_URL: 'http://localhost' }
  const kept = await runCommand(['person', 'link', String(id)], settings)
  assert.equal(kept.code, 0, kept.stderr)
  assert.equal((await client.get('/desk')).status, 200)
  const { stdout, stderr, code } = await runCommand(
    ['person', 'link', String(id), '--reset'],
    settings,
  )
  assert.equal(code, 0, stderr)
  assert.match(stderr, /Lotte is signed out everywhere/)
  assert.equal((await client.get('/desk')).status, 303)
  for (const table of ['passkey', 'session', 'openid_identity'])
    assert.deepEqual(await query(`select from ${table} where person_id = $1`, [id]), [], table)
  const page = await client.get('/desk/sign-in')
  const credential = passkey.get(passkeyOptions(page, '/desk/sign-in'))
  assert.equal((await client.submit(page, '/desk/sign-in', { credential })).status, 403)
  assert.equal((await client.get(new URL(stdout.trim()).pathname)).status, 200)
})

test('a sign-in that began before a person was disabled is refused', async () => {
  const { passkey, id } = await signedIn('Margaret')
  const client = createDeskClient(archive)
  const page = await client.get('/desk/sign-in')
  const credential = passkey.get(passkeyOptions(page, '/desk/sign-in'))
  await setDisabled(archive.pool, id, true, operator)
  assert.equal((await client.submit(page, '/desk/sign-in', { credential })).status, 403)
  assert.deepEqual(await query('select from session where person_id = $1', [id]), [])
})

test('a session that is no longer strong adds no passkey and offers none', async () => {
  const { client, id } = await signedIn('Radia')
  const page = await client.get('/desk/account')
  const options = passkeyOptions(page, '/desk/account/add-passkey')
  await query("update session set strong_until = now() - interval '1 s' where person_id = $1", [id])
  const weak = await client.get('/desk/account')
  assert.ok(!weak.forms.some(({ action }) => /passkey/.test(action)))
  assert.match(weak.html, /Confirm that it is you/)
  const credential = createAuthenticator(origin).create(options)
  const sent = await client.submit(page, '/desk/account/add-passkey', { credential })
  assert.equal(sent.headers.location, '/desk/confirm?to=%2Fdesk%2Faccount')
})

test('a flood of visits to the sign-in page does not end the challenge of a person', async () => {
  const { link } = await invite('Whitfield')
  const client = createDeskClient(archive)
  const path = `/desk/link/${link.secret}`
  const page = await client.get(path)
  await query(
    `insert into one_time_token (hash, purpose, expires)
     select sha256(('flood ' || n)::bytea), 'challenge', now() + interval '5 minutes'
     from generate_series(1, 10100) n`,
  )
  for (let time = 1; time <= 20; time++) await createDeskClient(archive).get('/desk/sign-in')
  const credential = createAuthenticator(origin).create(passkeyOptions(page, path))
  assert.equal((await client.submit(page, path, { credential })).status, 303)
})

test('refuses large forms before they are parsed', async () => {
  const headers = {
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
    host: 'localhost',
  }
  for (const raw of ['a&'.repeat(30_000), 'a&'.repeat(500_000), `a=${'x'.repeat(70_000)}`]) {
    const usedBefore = process.cpuUsage()
    const { status } = await archive.call('POST', '/desk/sign-in', { raw, headers })
    assert.equal(status, 413)
    // Parsing the second one would take seconds. The rest of this process takes much less.
    assert.ok(process.cpuUsage(usedBefore).user < 2_000_000)
  }
})

test('without PUBLIC_URL, the desk is for this machine only', async () => {
  for (const host of ['talks.example.org', 'localhost.example.org', '10.0.0.1', '%', 'x:99999']) {
    const client = createDeskClient(archive, { host })
    for (const path of ['/desk', '/desk/sign-in', '/desk/people'])
      assert.equal((await client.get(path)).status, 403, `${host} ${path}`)
  }
  assert.equal(
    (await createDeskClient(archive, { host: '[::1]:80' }).get('/desk/sign-in')).status,
    200,
  )
})

test('refuses passkeys with certificates, which were not requested', async () => {
  const { link } = await invite('Shafi')
  const client = createDeskClient(archive)
  const path = `/desk/link/${link.secret}`
  for (const format of ['packed', 'apple', 'android-safetynet']) {
    const page = await client.get(path)
    const options = passkeyOptions(page, path)
    const credential = createAuthenticator(origin).create(options, { attestation: format })
    assert.equal((await client.submit(page, path, { credential })).status, 403, format)
  }
  assert.equal((await client.get(path)).status, 200)
})

test('a new link replaces the earlier one; expired links and disabled people are refused', async () => {
  const { id, link } = await invite('Niklaus')
  const newer = await createLinkFor(archive.pool, id, operator)
  const client = createDeskClient(archive)
  assert.equal((await client.get(`/desk/link/${link.secret}`)).status, 403)
  assert.equal((await client.get(`/desk/link/${newer.secret}`)).status, 200)
  await query('update person set disabled = now() where id = $1', [id])
  assert.equal((await client.get(`/desk/link/${newer.secret}`)).status, 403)
  await query('update person set disabled = null where id = $1', [id])
  await query("update one_time_token set expires = now() - interval '1 s' where person_id = $1", [
    id,
  ])
  assert.equal((await client.get(`/desk/link/${newer.secret}`)).status, 403)
})

test('refuses passkeys that lie or are replayed', async () => {
  const { passkey, id } = await signedIn('Donald')
  const client = createDeskClient(archive)
  const attempt = async (
    answer: (options: ReturnType<typeof passkeyOptions>) => string,
  ): Promise<number> => {
    const page = await client.get('/desk/sign-in')
    const credential = answer(passkeyOptions(page, '/desk/sign-in'))
    return (await client.submit(page, '/desk/sign-in', { credential })).status
  }
  const lies = {
    'another origin': { origin: 'http://localhost.example.org' },
    'another type': { type: 'webauthn.create' },
    'another challenge': { challenge: Buffer.alloc(32).toString('base64url') },
    'another host': { rpId: 'example.org' },
    'no user verification': { flags: 0b0000_0001 },
    'no user': { flags: 0b0000_0100 },
    'a wrong signature': { signature: Buffer.alloc(70, 1) },
  }
  for (const [name, lie] of Object.entries(lies))
    assert.equal(await attempt((options) => passkey.get(options, lie)), 403, name)
  assert.equal(await attempt(() => 'no JSON'), 403)
  assert.equal(await attempt(() => '[]'), 403)
  assert.equal(await attempt(() => 'x'.repeat(30_000)), 403)
  assert.equal(await attempt((options) => createAuthenticator(origin).get(options)), 403)

  let sent = ''
  assert.equal(
    await attempt((options) => {
      sent = passkey.get(options)
      return sent
    }),
    303,
  )
  client.cookie = ''
  assert.equal(await attempt(() => sent), 403, 'a replay')
  assert.equal(
    await attempt((options) => passkey.get(options, { counter: 1 })),
    403,
    'a counter that goes back',
  )
  await query("update passkey set rp_id = 'old.example.org' where person_id = $1", [id])
  assert.equal(await attempt((options) => passkey.get(options)), 403, 'a passkey of another host')
})

test('a synchronized passkey keeps its counter at 0', async () => {
  const { link } = await invite('Tim')
  const client = createDeskClient(archive)
  const passkey = createAuthenticator(origin)
  const path = `/desk/link/${link.secret}`
  const page = await client.get(path)
  const credential = passkey.create(passkeyOptions(page, path), { counter: 0 })
  assert.equal((await client.submit(page, path, { credential })).status, 303)
  for (let time = 1; time <= 2; time++) {
    const other = createDeskClient(archive)
    const page = await other.get('/desk/sign-in')
    const credential = passkey.get(passkeyOptions(page, '/desk/sign-in'), { counter: 0 })
    assert.equal((await other.submit(page, '/desk/sign-in', { credential })).status, 303)
    const replay = await createDeskClient(archive).post('/desk/sign-in', { credential })
    assert.equal(replay.status, 403, 'the challenge is used up')
  }
})

test('of several copies of a passkey with the same counter, one signs in', async () => {
  const { passkey } = await signedIn('Linus')
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const client = createDeskClient(archive)
      const page = await client.get('/desk/sign-in')
      const credential = passkey.get(passkeyOptions(page, '/desk/sign-in'), { counter: 7 })
      return (await client.submit(page, '/desk/sign-in', { credential })).status
    }),
  )
  assert.deepEqual(statuses.sort(), [303, ...Array(9).fill(403)])
})

test('a challenge for one person does not sign another one in', async () => {
  const victim = await signedIn('Victor')
  const attacker = await signedIn('Mallory')
  await query("update session set strong_until = now() - interval '1 s' where person_id = $1", [
    victim.id,
  ])
  const page = await victim.client.get('/desk/confirm?to=/desk/account')
  const credential = attacker.passkey.get(passkeyOptions(page, '/desk/confirm'))
  assert.equal((await victim.client.submit(page, '/desk/confirm', { credential })).status, 403)
})

test('a form is accepted from this site only: 24 combinations', async () => {
  const { client, passkey } = await signedIn('Carol')
  const second = createDeskClient(archive)
  const signIn = await second.get('/desk/sign-in')
  await second.submit(signIn, '/desk/sign-in', {
    credential: passkey.get(passkeyOptions(signIn, '/desk/sign-in')),
  })
  const target = '/desk/account/end-other-sessions'
  const token = formTo(await client.get('/desk/account'), target).fields.form_token
  const { cookie } = client
  const sites: [string, Record<string, string>, boolean][] = [
    ['same site', { 'sec-fetch-site': 'same-site', origin: 'http://localhost' }, false],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'http://localhost' }, false],
    ['another Origin', { origin: 'http://localhost:8000' }, false],
    ['neither', {}, false],
    ['same origin', { 'sec-fetch-site': 'same-origin' }, true],
    ['Origin', { origin: 'http://localhost' }, true],
  ]
  const tokens: [string, string, boolean][] = [
    ['no token', '', false],
    ['token', String(token), true],
  ]
  const cookies: [string, string, boolean][] = [
    ['no cookie', '', false],
    ['cookie', cookie, true],
  ]
  let combinations = 0
  let wasAccepted = false
  for (const [site, headers, isSameOrigin] of sites)
    for (const [form, form_token, hasToken] of tokens)
      for (const [jar, value, hasCookie] of cookies) {
        client.cookie = value
        const { status, headers: answer } = await client.post(target, { form_token }, headers)
        const name = `${site}, ${form}, ${jar}`
        combinations++
        if (!isSameOrigin || (hasCookie && !hasToken)) assert.equal(status, 403, name)
        else {
          assert.equal(status, 303, name)
          const page = hasCookie
            ? '/desk/account?done=sessions-ended'
            : '/desk/sign-in?to=%2Fdesk%2Faccount'
          assert.equal(answer.location, page, name)
        }
        const isAccepted = isSameOrigin && hasToken && hasCookie
        const open = (await second.get('/desk')).status === 200
        if (!isAccepted && !wasAccepted) assert.ok(open, `${name}: nothing was done`)
        if (isAccepted) {
          assert.ok(!open, `${name}: done`)
          wasAccepted = true
        }
      }
  assert.equal(combinations, 24)
})

test('the token of one form is of no use for another form or session', async () => {
  const { client } = await signedIn('Dave')
  const other = await signedIn('Erin')
  const account = await client.get('/desk/account')
  const token = account.forms.find(({ action }) => action === '/desk/sign-out')?.fields.form_token
  const fields = { form_token: String(token) }
  assert.equal((await client.post('/desk/account/end-other-sessions', fields)).status, 403)
  assert.equal((await other.client.post('/desk/sign-out', fields)).status, 403)
  assert.equal((await other.client.get('/desk')).status, 200)
})

test('the API knows no cookies', async () => {
  const { client } = await signedIn('Frank', 'admin')
  for (const [method, path] of [
    ['POST', '/api/v2/video'],
    ['GET', '/api/v2/import'],
    ['GET', '/api/v2/quality'],
  ] as const) {
    const headers = { cookie: client.cookie, 'sec-fetch-site': 'same-origin' }
    const reply = await archive.call(method, path, {
      headers,
      ...(method === 'POST' && { body: { title: 'x' } }),
    })
    assert.equal(reply.status, 401, path)
  }
})

test('dangerous pages ask for the passkey again after ten minutes', async () => {
  const { client, passkey, id } = await signedIn('Heidi', 'admin')
  assert.equal((await client.get('/desk/people')).status, 200)
  await query("update session set strong_until = now() - interval '1 s' where person_id = $1", [id])
  const asked = await client.get('/desk/people')
  assert.equal(asked.headers.location, '/desk/confirm?to=%2Fdesk%2Fpeople')
  const before = client.cookie
  const page = await client.follow(asked)
  const reply = await client.submit(page, '/desk/confirm', {
    credential: passkey.get(passkeyOptions(page, '/desk/confirm')),
  })
  assert.equal(reply.headers.location, '/desk/people')
  assert.notEqual(client.cookie, before)
  assert.equal((await client.get('/desk/people')).status, 200)
  // The earlier secret of the session no longer works.
  client.cookie = before
  assert.equal((await client.get('/desk')).status, 303)
})

test('redirects stay on this site', async () => {
  const { passkey } = await signedIn('Ivan')
  for (const to of ['https://example.org/', '//example.org', '/\\example.org', 'javascript:1']) {
    const client = createDeskClient(archive)
    const page = await client.get(`/desk/sign-in?to=${encodeURIComponent(to)}`)
    const reply = await client.submit(page, '/desk/sign-in', {
      credential: passkey.get(passkeyOptions(page, '/desk/sign-in')),
    })
    assert.equal(reply.status, 303)
    const target = new URL(String(reply.headers.location), 'http://localhost/')
    assert.equal(target.origin, 'http://localhost', to)
  }
})

test('the database has no secret that can be used', async () => {
  const { link } = await invite('Judy')
  const { client } = await signedIn('Ken')
  const secrets = [link.secret, client.cookie.split('=')[1] as string]
  const tables = [
    'person',
    'passkey',
    'openid_identity',
    'session',
    'one_time_token',
    'audit_event',
  ]
  for (const table of tables)
    for (const { row } of await query<{ row: string }>(`select t::text as row from ${table} t`))
      for (const secret of secrets) {
        assert.ok(!row.includes(secret), table)
        const hex = Buffer.from(secret, 'base64url').toString('hex')
        assert.ok(!row.includes(hex), table)
      }
})

test('challenges of strangers are bounded', async () => {
  await query("delete from one_time_token where purpose = 'challenge'")
  await query(
    `insert into one_time_token (hash, purpose, created, expires)
     select sha256(n::text::bytea), 'challenge', now() - interval '1 minute',
            now() + interval '5 minutes'
     from generate_series(1, 10020) n`,
  )
  for (let time = 1; time <= 30; time++) await createDeskClient(archive).get('/desk/sign-in')
  const [row] = await query<{ count: string }>(
    "select count(*) from one_time_token where purpose = 'challenge'",
  )
  assert.ok(Number(row?.count) <= 10_005, row?.count)
})
