import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { freshDatabase } from '../support/database.ts'
import { signIn } from '../support/desk-client.ts'
import { feedIsComplete } from '../support/feed-replay.ts'
import { openArchive, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { startReceiver, withStatus } from '../support/webhook-receiver.ts'

// The pages of webhooks, without scripts.

const archive = await startArchive({ WEBHOOK_PRIVATE: '127.0.0.0/8', RESUME_SECONDS: '1' })
await feedIsComplete(archive)
const { client } = await signIn(archive, 'Ada', 'admin')
const receiver = await startReceiver()
after(() => receiver.close())

const secretIn = (html: string) => /whsec_[A-Za-z0-9+/]{43}=/.exec(html)?.[0]

test('an administrator creates, uses and deletes a webhook', async () => {
  const page = await client.get('/desk/webhooks')
  assert.match(page.html, /There are no webhooks/)
  const values = { url: receiver.url, kind: 'video', category: '', speaker: '', tag: '' }
  const refused = await client.submit(page, '/desk/webhooks', { ...values, category: 'x' })
  assert.equal(refused.status, 400)
  assert.match(refused.html, /Enter a number/)
  assert.ok(refused.html.includes(receiver.url), 'what was typed is kept')
  const wrong = await client.submit(page, '/desk/webhooks', { ...values, url: 'ftp://x' })
  assert.match(wrong.html, /Enter a URL that starts with https/)

  const created = await client.submit(page, '/desk/webhooks', values)
  const secret = secretIn(created.html) ?? assert.fail('no secret')
  assert.equal(secretIn((await client.get('/desk/webhooks')).html), undefined, 'it is shown once')
  const [path = ''] = /\/desk\/webhooks\/\d+/.exec(created.html) ?? []
  const submit = async (action: string, fields: Record<string, string> = {}) =>
    client.follow(await client.submit(await client.get(path), `${path}${action}`, fields))

  const fresh = await client.get(path)
  assert.ok(!fresh.forms.some(({ action }) => action === `${path}/disable`), 'it is new')
  receiver.answer = withStatus(500)
  assert.match((await submit('/ping')).html, /The ping was not delivered/)
  receiver.answer = (response) => response.end('Hello <b>there</b>')
  const pinged = await submit('/ping')
  assert.match(pinged.html, /The ping was delivered/)
  assert.match(pinged.html, /Active/)
  assert.match(pinged.html, /Hello &lt;b>there|Hello &lt;b&gt;there/)
  for (const { body, headers } of receiver.messages)
    new Webhook(secret).verify(body, headers as Record<string, string>)
  const { id } = await archive.make()
  const isReceived = () => receiver.entries().some((entry) => entry.id === id)
  await until('the entry', isReceived)

  const rotated = await client.submit(await client.get(path), `${path}/secret`)
  assert.notEqual(secretIn(rotated.html), secret)
  assert.match(rotated.html, /The old secret signs until/)
  assert.equal(secretIn((await client.get(path)).html), undefined)

  receiver.messages.length = 0
  const invalid = await client.submit(await client.get(path), `${path}/replay`, { since: 'then' })
  assert.deepEqual([invalid.status, /Enter a time such as/.test(invalid.html)], [400, true])
  const impossible = { since: '2026-13-01' }
  const month = await client.submit(await client.get(path), `${path}/replay`, impossible)
  assert.deepEqual([month.status, /Enter a time such as/.test(month.html)], [400, true])
  const foreign = { since: `1.${'0'.repeat(16)}` }
  const other = await client.submit(await client.get(path), `${path}/replay`, foreign)
  assert.match(other.html, /not part of the history/)
  assert.match((await submit('/replay', { since: '0' })).html, /The changes are sent again/)
  await until('the entry again', isReceived)

  assert.match((await submit('', { kind: '', tag: '7' })).html, /Saved/)
  const api = await archive.call('GET', `/api/v2/webhook/${path.split('/').at(-1)}`, {
    token: archive.admin,
  })
  assert.deepEqual([api.json.url, api.json.filter], [receiver.url, { tag: 7 }])
  assert.match((await client.get(path)).html, /Active/)
  assert.match((await submit('/disable')).html, /The webhook is disabled/)
  await archive.make()
  await feedIsComplete(archive)
  assert.match((await client.get(path)).html, /\d entries behind/)
  assert.match((await submit('/enable', { from: 'now' })).html, /Up to date/)
  const unknown = `update webhook set filter = '{"language":"en"}'`
  await withDatabase(archive.databaseUrl, (run) => run(unknown))
  for (const shown of ['/desk/webhooks', path])
    assert.match((await client.get(shown)).html, /The filter is not valid in this version/)
  assert.match((await submit('', { kind: '', tag: '' })).html, /Saved/)
  assert.doesNotMatch((await client.get(path)).html, /The filter is not valid/)
  const spanish = await client.get(path, { 'accept-language': 'es' })
  assert.match(spanish.html, /Últimos envíos/)
  assert.match((await submit('/delete')).html, /The webhook was deleted/)
  assert.equal((await client.get(path)).status, 404)
  assert.match((await client.get('/desk/audit')).html, /deleted a webhook/)
})

test('deliveries are on several pages', async () => {
  const { json } = await archive.call('POST', '/api/v2/webhook', {
    token: archive.admin,
    body: { url: receiver.url },
  })
  const path = `/desk/webhooks/${json.webhook.id}`
  receiver.answer = withStatus(204)
  for (let count = 0; count < 51; count++)
    await archive.call('POST', `/api/v2/webhook/${json.webhook.id}/ping`, { token: archive.admin })
  const first = await client.get(path)
  const [, older] = /href="(\/desk\/webhooks\/\d+\?before=\d+)"/.exec(first.html) ?? []
  const rows = (html: string) => html.match(/<td>ping<\/td>/g)?.length
  assert.deepEqual([rows(first.html), rows((await client.get(String(older))).html)], [50, 1])
})

test('without a key, the page says what to do', async (t) => {
  const database = await freshDatabase(t)
  const keyless = await openArchive(database.url, { WEBHOOK_KEY: '' })
  try {
    const { client: admin } = await signIn(keyless, 'Ada', 'admin')
    const page = await admin.get('/desk/webhooks')
    assert.match(page.html, /Set WEBHOOK_KEY to at least 32 random characters/)
    assert.ok(!page.forms.some(({ action }) => action === '/desk/webhooks'))
  } finally {
    await keyless.close()
  }
})
