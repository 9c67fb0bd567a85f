import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { invitePerson, requestLink } from '../../server/auth/auth.ts'
import { openMailer } from '../../server/platform/net/mail.ts'
import { createDeskClient, type DeskReply } from '../support/desk-client.ts'
import { openArchive, spawnServer, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { startMailServer } from '../support/mail.ts'
import { until } from '../support/until.ts'

// Sign-in links by mail, with a real mail server: who gets one, where it works, and that neither
// strangers nor a mail server that is down can do harm.

const mailServer = await startMailServer()
const settings = {
  SMTP_URL: `smtp://talks:s3cret%23@127.0.0.1:${mailServer.port}`,
  MAIL_FROM: 'Example Talks <talks@example.org>',
  SITE_NAME: 'Example Talks',
  // Each client of the tests is in a network of its own.
  PROXIES: '1',
}
const archive = await startArchive(settings)
const operator = { actor: 'root (terminal)', person: null, request: 'test' }
let networks = 0
/** Arguments of openssl for a certificate that is valid for two days. */
const newCertificate = [
  ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
  ...['-days', '2', '-subj', '/CN=mail.example', '-addext', 'subjectAltName=IP:0.0.0.0'],
]

const newClient = (network = `198.51.100.${++networks}`) =>
  createDeskClient(archive, { headers: { 'x-forwarded-for': network } })
type Client = ReturnType<typeof newClient>

const query = (text: string, values: unknown[] = []) =>
  withDatabase(archive.databaseUrl, (run) => run(text, values))

async function person(name: string, mail: string, role: 'editor' | 'admin' = 'editor') {
  const { id, link } = await invitePerson(archive.pool, { name, mail, role }, operator)
  return { id, link }
}

/** Asks for a link on the sign-in page. Returns the page that follows. */
async function askForLink(client: Client, mail: string): Promise<DeskReply> {
  const page = await client.get('/desk/sign-in')
  return client.follow(await client.submit(page, '/desk/sign-in/mail', { mail }))
}

const linkIn = (text: string) => /\/desk\/link\/[\w-]{43}/.exec(text)?.[0] ?? assert.fail(text)
const codeIn = ({ html }: DeskReply) => /\b\d{6}\b/.exec(html)?.[0] ?? assert.fail(html)

test('a link by mail works once, in the browser that asked for it', async () => {
  await person('Ada', 'ada@example.org')
  const client = newClient()
  await askForLink(client, ' ADA@example.org ')
  const mail = await mailServer.mailTo('ada@example.org')
  assert.equal(mail.from, 'talks@example.org')
  assert.equal(mail.user, 'talks')
  assert.ok(mail.header.includes('From: Example Talks <talks@example.org>'))
  assert.ok(mail.header.includes('To: ada@example.org'))
  assert.ok(mail.header.includes('Subject: Sign in to Example Talks'))
  assert.ok(mail.header.includes('Auto-Submitted: auto-generated'))
  assert.match(mail.text, /^Hello, Ada,/)
  assert.ok(mail.text.includes('http://localhost/desk/link/'))
  const path = linkIn(mail.text)

  const page = await client.get(path)
  assert.equal(page.status, 200)
  assert.ok(!page.forms.some(({ attributes }) => 'data-passkey' in attributes))
  assert.equal((await client.submit(page, `${path}/code`)).status, 303)
  assert.match((await client.get('/desk')).html, /Welcome, Ada/)
  assert.equal((await client.get(path)).status, 403)
  const [row] = await query(
    `select expires - created <= interval '15 minutes' as is_short from one_time_token
     where browser_hash is not null and used is not null`,
  )
  assert.equal(row?.is_short, true)
})

test('in another browser the link needs the code that the first one shows', async () => {
  await person('Grace', 'grace@example.org')
  const first = newClient()
  const shown = await askForLink(first, 'grace@example.org')
  const { text } = await mailServer.mailTo('grace@example.org')
  assert.ok(!text.includes(codeIn(shown)), 'the mail has no code')
  const path = linkIn(text)

  const other = newClient()
  const page = await other.get(path)
  assert.match(page.html, /You asked for this link in another browser/)
  // A scanner that runs scripts sends the form as it is, any number of times.
  for (let time = 1; time <= 10; time++)
    assert.equal((await other.submit(page, `${path}/code`)).status, 403)
  // It creates no passkey either.
  assert.equal((await other.post(path, { credential: '{}' })).status, 403)
  const wrong = codeIn(shown) === '000000' ? '000001' : '000000'
  assert.equal((await other.submit(page, `${path}/code`, { code: wrong })).status, 403)
  const code = codeIn(shown)
  assert.equal((await other.submit(page, `${path}/code`, { code })).status, 303)
  assert.match((await other.get('/desk')).html, /Welcome, Grace/)
})

test('a browser that asks twice can use both links with one code', async () => {
  await person('Barbara', 'barbara@example.org')
  const client = newClient()
  const first = await askForLink(client, 'barbara@example.org')
  const { text } = await mailServer.mailTo('barbara@example.org')
  const second = await askForLink(client, 'barbara@example.org')
  assert.equal(codeIn(first), codeIn(second))
  await mailServer.mailTo('barbara@example.org')
  const path = linkIn(text)
  assert.equal((await client.submit(await client.get(path), `${path}/code`)).status, 303)
})

test('an unknown or disabled address gets the same answer and no mail', async () => {
  const { id } = await person('Niklaus', 'niklaus@example.org')
  await person('Tony', 'tony@example.org')
  await query('update person set disabled = now() where id = $1', [id])
  const withoutSecrets = ({ status, html, headers }: DeskReply) => ({
    status,
    html: html.replaceAll(/\d{6}/g, ''),
    headers: Object.keys(headers).sort(),
    length: headers['content-length'] ?? '',
  })
  const answers = []
  for (const mail of [
    'tony@example.org',
    'unknown@example.org',
    'niklaus@example.org',
    'not an address',
    `${'x'.repeat(10_000)}@example.org`,
  ]) {
    const client = newClient()
    const page = await client.get('/desk/sign-in')
    const reply = await client.submit(page, '/desk/sign-in/mail', { mail })
    const cookie = String(reply.headers['set-cookie'])
    assert.match(cookie, /^desk-browser=[\w-]{43}; Path=\/; Max-Age=900; SameSite=Lax; HttpOnly$/)
    answers.push([withoutSecrets(reply), withoutSecrets(await client.follow(reply))])
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  await mailServer.mailTo('tony@example.org')
  // Mails are sent in the order of their requests, two at a time.
  for (const mail of ['tony@example.org', 'tony@example.org']) await askForLink(newClient(), mail)
  for (let count = 1; count <= 2; count++) await mailServer.mailTo('tony@example.org')
  assert.deepEqual(mailServer.mails, [])
})

test('the answer waits neither for the database nor for the mail server', async () => {
  const { id } = await person('Frances', 'frances@example.org')
  await withDatabase(archive.databaseUrl, async (run) => {
    await run('begin')
    await run('select from person where id = $1 for update', [id])
    const shown = await askForLink(newClient(), 'frances@example.org')
    assert.equal(shown.status, 200)
    assert.ok(!mailServer.mails.some(({ to }) => to.includes('frances@example.org')))
    await run('commit')
  })
  await mailServer.mailTo('frances@example.org')
})

test('the mail goes to the stored address, also if a typed one has the same lower case', async () => {
  await person('Kelvin', 'kelvin@example.org')
  // The Kelvin sign has the lower case k.
  await askForLink(newClient(), '\u212Aelvin@example.org')
  await askForLink(newClient(), 'KELVIN@example.org')
  const mail = await mailServer.mailTo('kelvin@example.org')
  assert.deepEqual(mail.to, ['kelvin@example.org'])
  assert.ok(!mailServer.mails.some(({ to }) => to.join().includes('\u212A')))
  await query('delete from one_time_token')
})

test('a person gets at most five links in 15 minutes, and invitations stay', async () => {
  const { id, link } = await person('Edsger', 'edsger@example.org')
  const browser = 'x'.repeat(43)
  const requests = Array.from({ length: 20 }, () =>
    requestLink(archive.pool, 'edsger@example.org', browser),
  )
  const links = (await Promise.all(requests)).filter((link) => link !== undefined)
  assert.equal(links.length, 5)
  assert.equal((await newClient().get(`/desk/link/${link.secret}`)).status, 200)
  await query("update one_time_token set expires = now() - interval '1 s' where person_id = $1", [
    id,
  ])
  assert.ok(await requestLink(archive.pool, 'edsger@example.org', browser))
  const [row] = await query(
    `select count(*) from one_time_token
     where person_id = $1 and browser_hash is not null`,
    [id],
  )
  assert.equal(Number(row?.count), 1)
})

test('a network that asks too often is refused, and others are not', async () => {
  const flooder = newClient('203.0.113.1')
  const statuses: number[] = []
  for (let time = 1; time <= 30; time++)
    statuses.push((await flooder.post('/desk/sign-in/mail', { mail: 'x@example.org' })).status)
  assert.equal(statuses[0], 303)
  assert.ok(statuses.filter((status) => status === 429).length >= 10, statuses.join())
  const refused = await flooder.post('/desk/sign-in/mail', { mail: 'x@example.org' })
  assert.match(refused.html, /Too many links were requested/)
  assert.equal((await askForLink(newClient(), 'x@example.org')).status, 200)
})

test('names and addresses add no header and no recipient', async () => {
  const hostile = [
    ['Eve\r\nBcc: evil@example.org', 'eve@example.org'],
    ['Eve\u2028Bcc: x', 'eve2@example.org'],
    ['"Eve" <evil@example.org>, x', 'eve3@example.org'],
  ]
  for (const [name, mail] of hostile) {
    await query("insert into person (name, mail, role) values ($1, $2, 'editor')", [name, mail])
    await askForLink(newClient(), String(mail))
    const received = await mailServer.mailTo(String(mail))
    assert.deepEqual(received.to, [mail])
    assert.ok(received.header.includes(`To: ${mail}`))
    assert.ok(!received.header.some((line) => /^bcc|^cc/i.test(line) || line.includes('evil')))
  }
  // Addresses that this release does not accept, but a database may have.
  for (const mail of [
    'a@example.org\r\nBcc: evil@example.org',
    'a@example.org, evil@example.org',
    'x <evil@example.org>',
    'a@example.org>\r\nRCPT TO:<evil@example.org',
    '"a b"@example.org',
  ]) {
    await query("insert into person (name, mail, role) values ('Eve', $1, 'editor')", [mail])
    await askForLink(newClient(), mail)
  }
  await person('Last', 'last@example.org')
  await askForLink(newClient(), 'last@example.org')
  await mailServer.mailTo('last@example.org')
  const recipients = mailServer.mails.flatMap(({ to }) => to)
  assert.ok(!recipients.some((to) => /evil|^"?a/.test(to)), recipients.join())
  const errors: string[] = []
  const mailer = openMailer({ url: settings.SMTP_URL, from: 'talks@example.org' }, (error) =>
    errors.push(String(error)),
  )
  mailer.enqueue(async () => ({ to: 'a@example.org, b@example.org', subject: 'x', text: 'x' }))
  await mailer.drain()
  assert.deepEqual(errors, ['MailError: The address of the person is not a mail address'])
  for (const mail of ['a@b,c@d', 'a<b@example.org', 'a;b@example.org', 'a@b\u2028c', '"a"@b'])
    await assert.rejects(person('Eve', mail), /The mail address is not valid/)
})

test('an administrator mails invitations and new links, in the language of the page', async () => {
  const { link } = await person('Radia', 'radia@example.org', 'admin')
  const client = newClient()
  await client.post(`/desk/link/${link.secret}/code`, { code: link.code })
  const page = await client.get('/desk/people')
  const invited = await client.submit(page, '/desk/people', {
    name: 'Shafi',
    mail: 'shafi@example.org',
    role: 'editor',
  })
  assert.match(invited.html, /The link is on its way to shafi@example.org/)
  const mail = await mailServer.mailTo('shafi@example.org')
  const path = linkIn(mail.text)
  const [, code] = /passkey: (\d{6})/.exec(mail.text) ?? []
  const shafi = newClient()
  assert.equal((await shafi.post(`${path}/code`, { code: String(code) })).status, 303)

  const [, id] = /\/desk\/people\/(\d+)/.exec(invited.html) ?? []
  const personPage = await client.get(`/desk/people/${id}`)
  const form = personPage.forms.find(({ action }) => action.endsWith('/link'))
  assert.equal(form?.fields.send, '1')
  await client.post(
    `/desk/people/${id}/link`,
    { ...form?.fields },
    {
      'sec-fetch-site': 'same-origin',
      'accept-language': 'es',
    },
  )
  assert.match((await mailServer.mailTo('shafi@example.org')).text, /^Hola, Shafi:/)

  const { send, ...unsent } = form?.fields ?? {}
  assert.equal(send, '1')
  const quiet = await client.post(`/desk/people/${id}/link`, unsent)
  assert.doesNotMatch(quiet.html, /on its way/)
})

test('a refused address or a server that is down is logged, without secrets', async () => {
  const down = await startMailServer()
  await down.stop()
  await query(
    "insert into person (name, mail, role) values ('No', 'refused@example.org', 'editor')",
  )
  for (const [port, cause] of [
    [down.port, /ECONNREFUSED/],
    [mailServer.port, /no such user \(address\)/],
  ] as const) {
    const server = await spawnServer({
      DATABASE_URL: archive.databaseUrl,
      ...settings,
      SMTP_URL: `smtp://talks:s3cret%23@127.0.0.1:${port}`,
    })
    const client = createDeskClient(server)
    const page = await client.get('/desk/sign-in')
    const reply = await client.submit(page, '/desk/sign-in/mail', { mail: 'refused@example.org' })
    assert.match((await client.follow(reply)).html, /Check your mail/)
    await until('the error in the log', () => cause.test(server.output()))
    assert.match(server.output(), /a mail was not sent: check SMTP_URL/)
    assert.doesNotMatch(server.output(), /s3cret|refused@example/)
    assert.equal((await client.get('/desk/sign-in')).status, 200)
    await server.stop()
  }
})

test('a mail server that never answers is left, and the queue is bounded', async () => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => {
    socket.on('error', () => {})
    sockets.push(socket)
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  after(() => silent.close())
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : 0
  const errors: unknown[] = []
  const mailer = openMailer(
    { url: `smtp://127.0.0.1:${port}`, from: 'talks@example.org', timeoutMs: 500 },
    (error) => errors.push(error),
  )
  const mail = { to: 'ada@example.org', subject: 'x', text: 'x' }
  const queued = Array.from({ length: 1000 }, () => mailer.enqueue(async () => mail))
  assert.equal(queued.filter(Boolean).length, 102)
  await until('the first errors', () => errors.length >= 2)
  for (const error of errors) assert.match(String(error), /timeout|did not answer|Greeting/i)
  await until('closed connections', () => sockets.slice(0, 2).every((socket) => socket.destroyed))
  assert.ok(sockets.filter((socket) => !socket.destroyed).length <= 2)
})

test('an encrypted connection is required, except on this machine', async () => {
  const errors: string[] = []
  const mailer = openMailer(
    { url: `smtp://0.0.0.0:${mailServer.port}`, from: 'talks@example.org' },
    (error) => errors.push(String(error)),
  )
  const mail = { to: 'plain@example.org', subject: 'x', text: 'x' }
  mailer.enqueue(async () => mail)
  await mailer.drain()
  assert.equal(errors.length, 1)
  assert.ok(!mailServer.mails.some(({ to }) => to.includes('plain@example.org')))
  const plain = openMailer(
    { url: `smtp://0.0.0.0:${mailServer.port}?tls=off`, from: 'talks@example.org' },
    (error) => errors.push(String(error)),
  )
  plain.enqueue(async () => mail)
  await plain.drain()
  await mailServer.mailTo('plain@example.org')
})

for (const [name, scheme, isFromStart] of [
  ['STARTTLS', 'smtp', '0'],
  ['TLS from the start', 'smtps', '1'],
] as const)
  test(`sends over ${name}, to a server with a trusted certificate only`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mail-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
    if (spawnSync('openssl', [...newCertificate, '-keyout', key, '-out', certificate]).status !== 0)
      return t.skip('openssl is not installed')
    const encrypted = await startMailServer({
      MAIL_KEY: key,
      MAIL_CERTIFICATE: certificate,
      MAIL_TLS: isFromStart,
    })
    const url = `${scheme}://talks:s3cret%23@0.0.0.0:${encrypted.port}`

    const errors: string[] = []
    const mailer = openMailer({ url, from: 'talks@example.org' }, (error) =>
      errors.push(String(error)),
    )
    mailer.enqueue(async () => ({ to: 'untrusted@example.org', subject: 'x', text: 'x' }))
    await mailer.drain()
    assert.match(errors.join(), /certificate/)
    assert.deepEqual(encrypted.mails, [])

    const server = await spawnServer({
      DATABASE_URL: archive.databaseUrl,
      ...settings,
      SMTP_URL: url,
      NODE_EXTRA_CA_CERTS: certificate,
    })
    t.after(() => server.stop())
    const mail = `tls-${scheme}@example.org`
    await person('Tess', mail)
    const client = createDeskClient(server)
    const page = await client.get('/desk/sign-in')
    await client.submit(page, '/desk/sign-in/mail', { mail })
    const { user, isEncrypted } = await encrypted.mailTo(mail)
    assert.deepEqual([user, isEncrypted], ['talks', true])
  })

test('without a mail server, there is no form', async () => {
  const silent = await openArchive(archive.databaseUrl)
  try {
    const client = createDeskClient(silent)
    const page = await client.get('/desk/sign-in')
    assert.ok(!page.forms.some(({ action }) => action === '/desk/sign-in/mail'))
    const reply = await client.post('/desk/sign-in/mail', { mail: 'ada@example.org' })
    assert.equal(reply.headers.location, '/desk/sign-in')
  } finally {
    await silent.close()
  }
})
