import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { after, test } from 'node:test'
import { keptDeliveries, maxWebhooks } from '@talkshelf/contract'
import { Webhook } from 'standardwebhooks'
import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { hostileAddresses } from '../../server/platform/net/hostile-addresses.ts'
import { parseRetryAfter } from '../../server/platform/net/retry-after.ts'
import { retryDelayMs } from '../../server/webhooks/attempt.ts'
import { readBatch, startDeliveries } from '../../server/webhooks/deliver.ts'
import { freshDatabase } from '../support/database.ts'
import { feedIsComplete, readFeed } from '../support/feed-replay.ts'
import { type OpenArchive, openArchive, type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { type Receiver, startReceiver, withStatus } from '../support/webhook-receiver.ts'

// Webhooks with real receivers on this machine.

const settings = { WEBHOOK_PRIVATE: '127.0.0.0/8', RESUME_SECONDS: '1' }
const archive = await startArchive(settings)
const { admin, editor, databaseUrl } = archive

const send = (method: string, path: string, body?: object) =>
  archive.call(method, `/api/v2/${path}`, { token: admin, ...(body && { body }) })
async function ok(reply: Promise<Reply>): Promise<Reply['json']> {
  const response = await reply
  assert.ok(response.status < 300, response.text)
  return response.json
}
const query = (text: string) => withDatabase(databaseUrl, (run) => run(text))

const receivers: Receiver[] = []
after(() => Promise.all(receivers.map((receiver) => receiver.close())))

async function openReceiver(): Promise<Receiver> {
  const receiver = await startReceiver()
  receivers.push(receiver)
  return receiver
}

/** Leaves messages without a response. Returns the responses, in the order of the messages. */
function holdResponses(receiver: Receiver): ServerResponse[] {
  const held: ServerResponse[] = []
  receiver.answer = (response) => held.push(response)
  return held
}

/** Creates a record and leaves its message without a response. */
async function holdMessage(receiver: Receiver): Promise<ServerResponse[]> {
  const held = holdResponses(receiver)
  await archive.make()
  await until('the message', () => held.length === 1)
  return held
}

/** Creates a webhook that begins now, with a receiver of its own, and enables it by a ping. */
async function openWebhook(input: object = {}) {
  await feedIsComplete(archive)
  const receiver = await openReceiver()
  const created = await ok(send('POST', 'webhook', { url: receiver.url, ...input }))
  const { id } = created.webhook as { id: number }
  const path = `webhook/${id}`
  const { outcome } = await ok(send('POST', `${path}/ping`))
  assert.equal(outcome, 'delivered')
  receiver.messages.length = 0
  return {
    id,
    receiver,
    secret: created.secret as string,
    read: () => ok(send('GET', path)),
    post: (action: string, body?: object) => ok(send('POST', `${path}/${action}`, body)),
    deliveries: async () => (await ok(send('GET', `${path}/deliveries?page_size=100`))).results,
    /** Waits until all entries of the feed were delivered. */
    async isUpToDate() {
      await feedIsComplete(archive)
      await until('the webhook to be up to date', async () => {
        const { behind } = await ok(send('GET', path))
        return behind === 0
      })
    },
    async inState(state: string) {
      await until(`the state ${state}`, async () => {
        const webhook = await ok(send('GET', path))
        assert.equal(webhook.state, state)
        return true
      })
    },
    remove: () => ok(send('POST', `${path}/delete`)),
  }
}

const seqs = (receiver: Receiver) => receiver.entries().map(({ seq }) => seq)
const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)
const seqOf = (cursor: string) => Number.parseInt(cursor, 10)

test('a new webhook gets entries after a ping succeeds, signed', async () => {
  const receiver = await openReceiver()
  await feedIsComplete(archive)
  const { webhook, secret } = await ok(send('POST', 'webhook', { url: receiver.url }))
  assert.equal(webhook.state, 'new')
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const { id: videoId } = await archive.make({ title: 'Before the ping' })
  receiver.answer = withStatus(500)
  const failed = await ok(send('POST', `webhook/${webhook.id}/ping`))
  assert.deepEqual([failed.outcome, failed.status, failed.entries], ['refused', 500, 0])
  assert.equal((await ok(send('GET', `webhook/${webhook.id}`))).state, 'new')
  const refused = await send('POST', `webhook/${webhook.id}/enable`, { from: 'cursor' })
  assert.deepEqual([refused.status, /ping/.test(refused.json.detail)], [409, true])
  receiver.answer = withStatus(204)
  await ok(send('POST', `webhook/${webhook.id}/ping`))
  await until('the entries', () =>
    receiver.entries().some(({ kind, id }) => kind === 'video' && id === videoId),
  )
  assert.deepEqual(
    receiver.messages.slice(0, 2).map(({ type }) => type),
    ['ping', 'ping'],
  )
  const verifier = new Webhook(secret)
  for (const { body, headers } of receiver.messages)
    verifier.verify(body, headers as Record<string, string>)
  const message = receiver.messages[2] ?? assert.fail()
  const { entries } = await readFeed(archive, webhook.cursor)
  assert.deepEqual(message.changes, entries.slice(0, message.changes.length))
  const { type, timestamp, data } = JSON.parse(message.body)
  assert.deepEqual([type, timestamp, data.since], ['changes', `${entries[0]?.at}Z`, webhook.cursor])
  const [end, digest] = data.cursor.split('.')
  assert.equal(message.id, `msg_${webhook.id}_${entries[0]?.seq}_${end}_${digest.slice(0, 8)}`)
  const { json } = await archive.call('GET', `/api/v2/changes?since=${data.cursor}`)
  assert.ok(Array.isArray(json.results), 'the cursor is one of the feed')
  // What was changed on the way is refused.
  const { body, headers } = message
  const signed = headers as Record<string, string>
  const later = String(Number(signed['webhook-timestamp']) + 1)
  for (const [changedBody, changedHeaders] of [
    [body.replace('live', 'hidden'), {}],
    [body, { 'webhook-id': 'msg_1_1_1' }],
    [body, { 'webhook-timestamp': later }],
    [body, { 'webhook-signature': 'v1,AAAA' }],
  ] as const)
    assert.throws(() => verifier.verify(changedBody, { ...signed, ...changedHeaders }))
  const wrong = new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`)
  assert.throws(() => wrong.verify(body, signed))
  await ok(send('POST', `webhook/${webhook.id}/delete`))
})

test('a rotated secret and the one before both sign, until the old one expires', async () => {
  const webhook = await openWebhook()
  const { secret: second } = await webhook.post('secret')
  assert.notEqual(second, webhook.secret)
  const verifies = (secret: string) => {
    const message = webhook.receiver.messages.at(-1) ?? assert.fail()
    try {
      new Webhook(secret).verify(message.body, message.headers as Record<string, string>)
      return true
    } catch {
      return false
    }
  }
  await archive.make()
  await webhook.isUpToDate()
  assert.deepEqual([verifies(webhook.secret), verifies(second)], [true, true])
  const { old_secret_until: until24 } = await webhook.read()
  const hours = (Date.parse(`${until24}Z`) - Date.now()) / 3_600_000
  assert.ok(hours > 23 && hours <= 24, `${hours} hours`)
  await query(`update webhook set old_secret_until = now() where id = ${webhook.id}`)
  await archive.make()
  await webhook.isUpToDate()
  assert.deepEqual([verifies(webhook.secret), verifies(second)], [false, true])
  const { secret: third } = await webhook.post('secret')
  await webhook.post('ping')
  assert.deepEqual(
    [verifies(webhook.secret), verifies(second), verifies(third)],
    [false, true, true],
  )
  await webhook.remove()
})

test('entries arrive in order, in batches of at most 100 entries and 20 kB', async () => {
  const webhook = await openWebhook()
  const first = seqOf((await webhook.read()).cursor) + 1
  await webhook.post('disable')
  // Small entries first, of which 100 have less than 20 kB, then large ones.
  const tags = range(1, 15).map((number) => `shared ${number}`)
  for (const fields of [...Array(6).fill({}), ...Array(5).fill({ tags })])
    await Promise.all(Array.from({ length: 20 }, () => archive.make(fields)))
  await feedIsComplete(archive)
  assert.equal(webhook.receiver.messages.length, 0, 'nothing is sent while it is disabled')
  await webhook.post('enable', { from: 'cursor' })
  await webhook.isUpToDate()
  const last = seqOf((await webhook.read()).cursor)
  assert.deepEqual(seqs(webhook.receiver), range(first, last))
  const { messages } = webhook.receiver
  assert.equal(Math.max(...messages.map(({ changes }) => changes.length)), 100)
  const bytes = messages.map(({ changes }) => JSON.stringify(changes).length)
  assert.ok(Math.max(...bytes) > 19_000 && Math.max(...bytes) < 20_200, `${bytes} bytes`)
  await webhook.remove()
})

test('a filter selects entries, and a record that leaves is sent too', async () => {
  const title = 'Hook Days'
  const { id: category } = await ok(send('POST', 'category', { title }))
  const webhook = await openWebhook({ filter: { kind: 'video', category } })
  const { id } = await archive.make({ category: title })
  await archive.make()
  await archive.make({ category: title })
  // Changes that follow at once can be one entry.
  await webhook.isUpToDate()
  await ok(send('PATCH', `video/${id}`, { category: 'Example Days 2026' }))
  await webhook.isUpToDate()
  const entries = webhook.receiver.entries()
  assert.equal(entries.length, 3)
  assert.deepEqual(
    entries.map((entry) => entry.belongs_to?.includes(`category:${category}`)),
    [true, true, false],
  )
  assert.ok(entries[2]?.belonged_to?.includes(`category:${category}`))
  const changed = await ok(send('PATCH', `webhook/${webhook.id}`, { filter: { kind: 'tag' } }))
  assert.deepEqual(changed.filter, { kind: 'tag' })
  await archive.make({ tags: ['only tags'] })
  await webhook.isUpToDate()
  assert.deepEqual(
    webhook.receiver.entries().map(({ kind }) => kind),
    ['video', 'video', 'video', 'tag'],
  )
  await webhook.remove()
})

test('a filter that this version does not know stops no other webhook', async () => {
  const unknown = await openWebhook()
  const other = await openWebhook()
  await query(`update webhook set filter = '{"language":"en"}' where id = ${unknown.id}`)
  await archive.make()
  await other.isUpToDate()
  await unknown.inState('failing')
  await archive.make()
  await other.isUpToDate()
  const { results } = await ok(send('GET', 'webhook'))
  const shown = results.find(({ id }: { id: number }) => id === unknown.id)
  assert.deepEqual([shown.filter, shown.error], [{}, 'invalid-filter'])
  assert.equal((await other.read()).error, null)
  assert.equal(unknown.receiver.messages.length, 0)
  // Nothing was lost.
  const first = seqOf(shown.cursor) + 1
  const changed = await ok(send('PATCH', `webhook/${unknown.id}`, { filter: {} }))
  assert.equal(changed.error, null)
  await unknown.isUpToDate()
  assert.deepEqual(seqs(unknown.receiver), range(first, seqOf((await unknown.read()).cursor)))
  for (const webhook of [unknown, other]) await webhook.remove()
})

test('after a restore neither the ids of messages nor new secrets repeat', async (t) => {
  const database = await freshDatabase(t)
  const receiver = await openReceiver()
  const restored = await openArchive(database.url, settings)
  const run = (text: string) => withDatabase(database.url, (execute) => execute(text))
  try {
    await feedIsComplete(restored)
    const post = (path: string, body?: object) =>
      ok(
        restored.call('POST', `/api/v2/webhook${path}`, {
          token: restored.admin,
          ...(body && { body }),
        }),
      )
    const { webhook, secret } = await post('', { url: receiver.url })
    await post(`/${webhook.id}/ping`)
    receiver.messages.length = 0
    const [row] = await run(`select * from webhook`)
    const { secret: second } = await post(`/${webhook.id}/secret`)
    await restored.make({ title: 'Before the restore' })
    await feedIsComplete(restored)
    const isUpToDate = () =>
      until('the webhook to be up to date', async () => {
        const [state] = await run('select seq = (select seq from feed_head) as done from webhook')
        return state?.done === true
      })
    await isUpToDate()
    const [before] = receiver.messages.slice(-1)
    // As after a restore: the same position and numbers, and other entries.
    await run(
      `update webhook set seq = ${row?.seq}, salt = '${row?.salt}', old_salt = null,
                          old_secret_until = null, state = 'disabled';
       update feed_entry set digest = digest # 1311768467463790320 where seq > ${row?.seq};
       update webhook set state = 'active'`,
    )
    await isUpToDate()
    const [after] = receiver.messages.slice(-1)
    assert.ok(before && after)
    assert.deepEqual(
      after.changes.map(({ seq }) => seq),
      before.changes.map(({ seq }) => seq),
    )
    assert.notEqual(after.id, before.id)
    assert.equal(JSON.parse(after.body).data.since, webhook.cursor)
    const { secret: third } = await post(`/${webhook.id}/secret`)
    assert.equal(new Set([secret, second, third]).size, 3)
    const { body, headers } = after
    new Webhook(secret).verify(body, headers as Record<string, string>)
  } finally {
    await restored.close()
  }
})

test('a new webhook that is disabled, or changed, is enabled by a ping only', async () => {
  const receiver = await openReceiver()
  await feedIsComplete(archive)
  const { webhook } = await ok(send('POST', 'webhook', { url: receiver.url }))
  const path = `webhook/${webhook.id}`
  assert.equal((await ok(send('POST', `${path}/disable`))).state, 'new')
  assert.equal((await send('POST', `${path}/enable`, { from: 'now' })).status, 409)
  // A ping that is running does not enable another URL.
  const held = holdResponses(receiver)
  const pinging = send('POST', `${path}/ping`)
  await until('the ping', () => held.length === 1)
  const other = await openReceiver()
  await ok(send('PATCH', path, { url: other.url }))
  held[0]?.writeHead(204).end()
  assert.equal((await ok(pinging)).outcome, 'delivered')
  assert.equal((await ok(send('GET', path))).state, 'new')
  await ok(send('POST', `${path}/ping`))
  assert.equal((await ok(send('GET', path))).state, 'active')
  for (const state of ['active', 'disabled']) {
    if (state === 'disabled') await ok(send('POST', `${path}/disable`))
    const same = await ok(send('PATCH', path, { url: other.url }))
    assert.equal(same.state, state, 'the same URL changes nothing')
    assert.equal((await ok(send('PATCH', path, { url: receiver.url }))).state, 'new')
    assert.equal((await send('POST', `${path}/enable`, { from: 'now' })).status, 409)
    await ok(send('PATCH', path, { url: other.url }))
    await ok(send('POST', `${path}/ping`))
  }
  await ok(send('POST', `${path}/delete`))
})

test('a late answer of the old URL does not count for the new one', async () => {
  for (const status of [204, 410]) {
    const webhook = await openWebhook()
    const { receiver } = webhook
    const held = await holdMessage(receiver)
    const [sent] = receiver.messages
    const { cursor } = await webhook.read()
    const other = await openReceiver()
    await ok(send('PATCH', `webhook/${webhook.id}`, { url: other.url }))
    held[0]?.writeHead(status).end()
    await until('the end of the attempt', async () =>
      (await webhook.deliveries()).some(({ message }: { message: string }) => message === sent?.id),
    )
    const state = await webhook.read()
    assert.deepEqual(
      [state.cursor, state.state, state.attempt, state.failing_since, state.next_attempt],
      [cursor, 'new', 0, null, null],
    )
    await webhook.post('ping')
    await webhook.isUpToDate()
    const [repeated] = other.messages.filter(({ type }) => type === 'changes')
    assert.deepEqual([repeated?.id, repeated?.body], [sent?.id, sent?.body])
    await webhook.remove()
  }
})

test('a change of the filter interrupts no message, and composes a failed batch anew', async () => {
  const webhook = await openWebhook()
  const { receiver } = webhook
  const patch = (filter: object) => ok(send('PATCH', `webhook/${webhook.id}`, { filter }))
  const row = async () => {
    const [found] = await query(
      `select lease, batch_end, replays, next_attempt from webhook where id = ${webhook.id}`,
    )
    return found
  }
  const held = holdResponses(receiver)
  await archive.make({ tags: ['a tag before the change'] })
  await until('the message', () => held.length === 1)
  const before = await row()
  await patch({})
  assert.deepEqual(await row(), before, 'the same filter changes nothing')
  await patch({ kind: 'video' })
  assert.deepEqual(await row(), before, 'the lease and the batch stay')
  // Another webhook that is served afterwards shows that this one was not due.
  const other = await openWebhook()
  await archive.make({ tags: ['a tag after the change'] })
  await other.isUpToDate()
  assert.equal(receiver.messages.length, 1, 'one message at a time')
  receiver.answer = withStatus(204)
  held[0]?.writeHead(500, { 'retry-after': '600' }).end()
  await webhook.inState('failing')
  await query(`update webhook set next_attempt = null where id = ${webhook.id}`)
  await webhook.isUpToDate()
  const [first, ...later] = receiver.messages
  assert.ok(first?.changes.some(({ kind }) => kind === 'tag'))
  assert.ok(later.length > 0)
  const entries = later.flatMap(({ changes }) => changes)
  assert.deepEqual([...new Set(entries.map(({ kind }) => kind))], ['video'])
  assert.equal(entries.length, 2)
  assert.ok(later.every(({ id }) => id !== first?.id && id.endsWith('_r1')))
  // What is delivered while the filter is changed stays delivered.
  held.length = 0
  receiver.answer = (response) => held.push(response)
  await archive.make()
  await until('the message', () => held.length === 1)
  const count = receiver.messages.length
  await patch({ kind: 'tag' })
  receiver.answer = withStatus(204)
  held[0]?.writeHead(204).end()
  await webhook.isUpToDate()
  assert.equal(receiver.messages.length, count)
  for (const each of [webhook, other]) await each.remove()
})

test('a lease begins when it is written; a batch claimed too slowly is not sent', async (t) => {
  const webhook = await openWebhook()
  const held = await holdMessage(webhook.receiver)
  const lease = "leased_until > attempted + interval '30 seconds' as later"
  const [row] = await query(`select ${lease} from webhook where id = ${webhook.id}`)
  assert.equal(row?.later, true)
  held[0]?.writeHead(204).end()
  await webhook.remove()

  const database = await freshDatabase(t)
  const one = await openArchive(database.url, { ...settings, WEBHOOK_KEY: '' })
  const receiver = await openReceiver()
  try {
    await feedIsComplete(one)
    const run = (text: string) => withDatabase(database.url, (execute) => execute(text))
    await run(
      `insert into webhook (url, filter, state, seq) values ('${receiver.url}', '{}', 'active', 0)`,
    )
    const errors: unknown[] = []
    const runner = startDeliveries(one.pool, {
      key: 'a key of this test, which is no secret',
      isOpened: () => true,
      userAgent: () => 'Talkshelf',
      archive: undefined,
      everyMs: 1000,
      maxClaimMs: 0,
      onAttempt: () => {},
      onDisabled: () => {},
      onError: (error) => errors.push(error),
    })
    await until('a claim', async () => {
      const [state] = await run('select batch_end is not null as claimed from webhook')
      return state?.claimed === true
    })
    await runner.stop()
    assert.deepEqual(await run('select lease, attempt from webhook'), [{ lease: null, attempt: 0 }])
    assert.deepEqual([receiver.messages.length, errors], [0, []])
  } finally {
    await one.close()
  }
})

test('messages name the archive only if PUBLIC_URL is set', async (t) => {
  const webhook = await openWebhook()
  await webhook.post('ping')
  await archive.make()
  await webhook.isUpToDate()
  for (const { body } of webhook.receiver.messages) assert.ok(!('archive' in JSON.parse(body).data))
  await webhook.remove()
  const database = await freshDatabase(t)
  const url = 'https://talks.example.org'
  const named = await openArchive(database.url, { ...settings, PUBLIC_URL: url })
  try {
    await feedIsComplete(named)
    const receiver = await openReceiver()
    const body = { url: receiver.url }
    const created = await named.call('POST', '/api/v2/webhook', { token: named.admin, body })
    const path = `/api/v2/webhook/${created.json.webhook.id}/ping`
    await ok(named.call('POST', path, { token: named.admin }))
    await named.make()
    await until('the entries', () => receiver.entries().length > 0)
    for (const message of receiver.messages)
      assert.equal(JSON.parse(message.body).data.archive, url)
  } finally {
    await named.close()
  }
})

test('the reason of a failure is stored', async () => {
  const gone = await startReceiver()
  await gone.close()
  const { webhook } = await ok(send('POST', 'webhook', { url: gone.url }))
  const ping = await ok(send('POST', `webhook/${webhook.id}/ping`))
  assert.deepEqual([ping.outcome, ping.status, ping.answer], ['unreachable', null, 'ECONNREFUSED'])
  await ok(send('POST', `webhook/${webhook.id}/delete`))
})

test('a read-only copy sends nothing', async (t) => {
  const database = await freshDatabase(t)
  const keyless = await openArchive(database.url, { WEBHOOK_KEY: '' })
  const receiver = await openReceiver()
  await feedIsComplete(keyless)
  await withDatabase(database.url, (run) =>
    run(
      `insert into webhook (url, filter, state, seq) values ('${receiver.url}', '{}', 'active', 0)`,
    ),
  )
  await keyless.close()
  const config = readConfig({
    ...settings,
    DATABASE_URL: database.url,
    WEBHOOK_KEY: 'a key of this test, which is no secret',
  })
  const pool = openPool({ url: database.url, connections: 4, applicationName: 'tests' })
  try {
    // It would send at once. `close` waits for attempts that are running.
    const copy = createApp(config, pool, false, {}, 'https://talks.example.org')
    await copy.ready()
    await copy.close()
    assert.equal(receiver.messages.length, 0)
    const original = createApp(config, pool, false)
    await original.ready()
    await until('the entries', () => receiver.entries().length > 0)
    await original.close()
  } finally {
    await pool.close()
  }
})

test('a batch without a filter reads only what it can send', async () => {
  await Promise.all(Array.from({ length: 20 }, () => archive.make()))
  await feedIsComplete(archive)
  let read = 0
  const counting: Parameters<typeof readBatch>[0] = {
    async run(...args) {
      const result = await archive.pool.run(...args)
      read += result.rows.length
      return result
    },
  }
  const [head] = await query('select seq::integer as seq from feed_head')
  assert.ok(Number(head?.seq) > 150)
  await readBatch(counting, { id: 1, seq: 0, batchEnd: null, filter: {} })
  assert.equal(read, 101)
  await readBatch(counting, { id: 1, seq: 0, batchEnd: null, filter: { kind: 'category' } })
  assert.ok(read > 250)
})

test('a failed batch is sent again with the same bytes, and nothing overtakes it', async () => {
  const webhook = await openWebhook()
  const { receiver } = webhook
  receiver.answer = withStatus(500, { 'retry-after': '600' })
  await archive.make()
  await webhook.inState('failing')
  await archive.make()
  await feedIsComplete(archive)
  const { attempt, next_attempt: next } = await webhook.read()
  assert.deepEqual([attempt, typeof next], [1, 'string'])
  // The connection is closed without an answer.
  receiver.answer = (response) => {
    receiver.answer = withStatus(200)
    response.destroy()
  }
  const tryNow = () => query(`update webhook set next_attempt = now() where id = ${webhook.id}`)
  await tryNow()
  await until('the end of the second attempt', async () => (await webhook.read()).attempt !== 1)
  await tryNow()
  await webhook.isUpToDate()
  assert.equal((await webhook.read()).state, 'active')
  const [one, two, three, ...others] = receiver.messages
  assert.ok(one && two && three && others.length > 0)
  assert.deepEqual([two.id, three.id], [one.id, one.id])
  assert.deepEqual([two.body, three.body], [one.body, one.body])
  assert.ok(others.every(({ id }) => id !== one.id))
  const outcomes = (await webhook.deliveries()).map(({ outcome }: { outcome: string }) => outcome)
  const [ping, ...attempts] = outcomes.reverse()
  assert.equal(ping, 'delivered')
  assert.deepEqual(attempts.slice(0, 3), ['refused', 'unreachable', 'delivered'])
  await webhook.remove()
})

test('the receiver can ask for a later attempt', async () => {
  const webhook = await openWebhook()
  webhook.receiver.answer = withStatus(503, { 'retry-after': '600' })
  await archive.make()
  await webhook.inState('failing')
  const { next_attempt: next } = await webhook.read()
  const seconds = (Date.parse(`${next}Z`) - Date.now()) / 1000
  assert.ok(seconds > 500 && seconds <= 600, `${seconds} s`)
  await webhook.remove()
})

test('delays grow, and Retry-After is bounded', () => {
  const seconds = [1, 2, 3, 4, 5, 6, 7, 100].map(
    (n) => retryDelayMs(n, undefined, () => 0.5) / 1000,
  )
  assert.deepEqual(seconds, [5, 30, 120, 600, 1800, 3600, 3600, 3600])
  assert.equal(
    retryDelayMs(1, undefined, () => 0),
    4000,
  )
  assert.ok(retryDelayMs(1, undefined, () => 0.999_999) < 6000)
  assert.equal(
    retryDelayMs(1, 7000, () => 0.5),
    7000,
  )
  assert.equal(
    retryDelayMs(2, 7000, () => 0.5),
    30_000,
  )
  const now = Date.parse('2026-11-15T10:00:00Z')
  const day = 24 * 3_600_000
  for (const [text, expected] of [
    ['7', 7000],
    ['0', 0],
    ['Sun, 15 Nov 2026 10:00:30 GMT', 30_000],
    ['Sun, 15 Nov 2020 10:00:30 GMT', 0],
    ['999999999', day],
    ['Sun, 15 Nov 2099 10:00:30 GMT', day],
    ['9'.repeat(50), undefined],
    ['soon', undefined],
    ['-5', 0],
    [undefined, undefined],
  ] as const)
    assert.equal(parseRetryAfter(text, now, day), expected, text)
})

test('a redirect is not followed', async () => {
  const webhook = await openWebhook()
  const target = await openReceiver()
  webhook.receiver.answer = withStatus(307, { location: target.url })
  await archive.make()
  await webhook.inState('failing')
  const [delivery] = await webhook.deliveries()
  assert.deepEqual([delivery.outcome, delivery.status], ['refused', 307])
  assert.equal(target.messages.length, 0)
  await webhook.remove()
})

test('status 410, or five days of failures, disable a webhook', async () => {
  const webhook = await openWebhook()
  const { receiver } = webhook
  receiver.answer = withStatus(410)
  await archive.make()
  await webhook.inState('disabled')
  await feedIsComplete(archive)
  receiver.answer = withStatus(500)
  await webhook.post('enable', { from: 'now' })
  await archive.make()
  await webhook.inState('failing')
  const old = "failing_since = now() - interval '5 days 1 second'"
  await query(`update webhook set next_attempt = null, ${old} where id = ${webhook.id}`)
  await webhook.inState('disabled')
  const { results } = await ok(send('GET', 'audit?page_size=100'))
  const reasons = results
    .filter(
      ({ kind, detail }: { kind: string; detail: { webhook: number } }) =>
        kind === 'webhook-disabled' && detail.webhook === webhook.id,
    )
    .map(({ detail }: { detail: { reason: string } }) => detail.reason)
  assert.deepEqual(reasons, ['failing for 5 days', 'status 410'])
  // It continues where it was.
  receiver.answer = withStatus(200)
  receiver.messages.length = 0
  const { cursor } = await webhook.read()
  await archive.make()
  await webhook.post('enable', { from: 'cursor' })
  await webhook.isUpToDate()
  const end = seqOf((await webhook.read()).cursor)
  assert.deepEqual(seqs(receiver), range(seqOf(cursor) + 1, end))
  await webhook.remove()
})

test('a webhook that is enabled from now on skips what it missed', async () => {
  const webhook = await openWebhook()
  await webhook.post('disable')
  await archive.make()
  await feedIsComplete(archive)
  const { behind } = await webhook.read()
  assert.ok(behind > 0)
  assert.equal((await webhook.post('enable', { from: 'now' })).behind, 0)
  const { id } = await archive.make()
  await webhook.isUpToDate()
  assert.deepEqual(
    webhook.receiver.entries().map((entry) => entry.id),
    [id],
  )
  await webhook.remove()
})

test('a replay sends entries again, with other ids', async () => {
  const webhook = await openWebhook()
  const { receiver } = webhook
  const { cursor } = await webhook.read()
  await archive.make()
  await webhook.isUpToDate()
  const before = seqs(receiver)
  const ids = receiver.messages.map(({ id }) => id)
  receiver.messages.length = 0
  await webhook.post('replay', { since: cursor })
  await webhook.isUpToDate()
  assert.deepEqual(seqs(receiver), before)
  assert.ok(receiver.messages.every(({ id }) => id.endsWith('_r1') && !ids.includes(id)))
  receiver.messages.length = 0
  await webhook.post('replay', { since: '0' })
  await webhook.isUpToDate()
  assert.deepEqual(seqs(receiver), range(1, before.at(-1) ?? 0))
  assert.ok(receiver.messages.every(({ id }) => id.endsWith('_r2')))
  const other = await send('POST', `webhook/${webhook.id}/replay`, { since: `1.${'0'.repeat(16)}` })
  assert.deepEqual([other.status, other.json.type.split('/').at(-1)], [410, 'other-history'])
  await webhook.remove()
})

test('an attempt that is running when a webhook is moved or disabled', async () => {
  const webhook = await openWebhook()
  const { receiver } = webhook
  const held = await holdMessage(receiver)
  const [outdated] = receiver.messages.slice(-1)
  await webhook.post('replay', { since: '0' })
  await until('the first message of the replay', () => held.length === 2)
  // The answer to the message from before the replay does not move the webhook.
  held[0]?.writeHead(204).end()
  await until('the end of the first attempt', async () =>
    (await webhook.deliveries()).some(
      ({ message }: { message: string }) => message === outdated?.id,
    ),
  )
  assert.equal(seqOf((await webhook.read()).cursor), 0)
  receiver.answer = withStatus(204)
  held[1]?.writeHead(204).end()
  await webhook.isUpToDate()
  const { cursor } = await webhook.read()
  const replayed = receiver.messages.filter(({ id }) => id.endsWith('_r1'))
  const numbers = replayed.flatMap(({ changes }) => changes.map(({ seq }) => seq))
  assert.deepEqual(numbers, range(1, seqOf(cursor)))

  held.length = 0
  receiver.answer = (response) => held.push(response)
  await archive.make()
  const [second] = await until('the message', () => held.length > 0 && held)
  receiver.answer = withStatus(204)
  assert.equal((await webhook.post('disable')).state, 'disabled')
  second?.writeHead(204).end()
  // What was delivered is not sent again, but the webhook stays disabled.
  await webhook.isUpToDate()
  assert.equal((await webhook.read()).state, 'disabled')
  await webhook.remove()
})

test('a process that stops hands its batch to another one', async (t) => {
  const database = await freshDatabase(t)
  const [one, other] = [
    await openArchive(database.url, settings),
    await openArchive(database.url, settings),
  ]
  let third: OpenArchive | undefined
  const receiver = await openReceiver()
  try {
    await feedIsComplete(one)
    const post = (path: string, body?: object) =>
      one.call('POST', `/api/v2/webhook${path}`, { token: one.admin, ...(body && { body }) })
    const { id } = (await post('', { url: receiver.url })).json.webhook
    await post(`/${id}/ping`)
    receiver.messages.length = 0
    receiver.answer = () => {}
    await one.make()
    await until('the message', () => receiver.messages.length === 1)
    receiver.answer = withStatus(204)
    // Either of them is sending. Both stop, and a third one need not wait for the lease to expire.
    await Promise.all([one.close(), other.close()])
    const [row] = await withDatabase(database.url, (run) =>
      run('select lease, batch_end is not null as "hasBatch" from webhook'),
    )
    assert.deepEqual(row, { lease: null, hasBatch: true })
    third = await openArchive(database.url, settings)
    await until('the same message', () => receiver.messages.length >= 2)
  } finally {
    await Promise.allSettled([one.close(), other.close(), third?.close()])
  }
  assert.equal(receiver.messages[0]?.id, receiver.messages[1]?.id)
})

test('a receiver that does not respond delays no other', async () => {
  const slow = await Promise.all(Array.from({ length: 3 }, () => openWebhook()))
  for (const { receiver } of slow) receiver.answer = () => {}
  const quick = await openWebhook()
  await archive.make()
  await until('the messages', () => slow.every(({ receiver }) => receiver.messages.length > 0))
  await quick.isUpToDate()
  // The first attempt of each slow one ends after that of the quick one, if it has ended at all.
  const [delivered] = await quick.deliveries()
  for (const { deliveries, read } of slow) {
    const ended = (await deliveries()).filter(({ entries }: { entries: number }) => entries > 0)
    assert.ok(ended.every(({ id }: { id: number }) => id > delivered.id))
    assert.ok((await read()).behind > 0)
  }
  for (const webhook of [...slow, quick]) await webhook.remove()
})

test('failing webhooks have at most half of the attempts at once', async () => {
  const failing = await Promise.all(Array.from({ length: 6 }, () => openWebhook()))
  for (const { receiver } of failing) receiver.answer = withStatus(500, { 'retry-after': '600' })
  await archive.make()
  for (const webhook of failing) await webhook.inState('failing')
  let [open, most] = [0, 0]
  for (const { receiver } of failing)
    receiver.answer = (response) => {
      most = Math.max(most, ++open)
      response.on('close', () => open--)
    }
  const quick = await openWebhook()
  const ids = failing.map(({ id }) => id).join()
  await query(`update webhook set next_attempt = null where id in (${ids})`)
  await until('the attempts', () => open === 4)
  // There is still a place for others, and two failing ones are due.
  await archive.make()
  await quick.isUpToDate()
  assert.equal(most, 4)
  for (const webhook of [...failing, quick]) await webhook.remove()
})

test('an answer that is huge, endless or not text is bounded', async () => {
  const webhook = await openWebhook()
  const { receiver } = webhook
  const chunk = Buffer.from('<b>\u0000\u001b[31m é \n'.repeat(1000))
  receiver.answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    const flood = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', flood)
    flood()
  }
  await archive.make()
  await webhook.isUpToDate()
  // An answer whose body never comes counts too: the status is known.
  receiver.answer = (response) => response.writeHead(200).flushHeaders()
  await archive.make()
  await webhook.isUpToDate()
  const [silent, endless] = await webhook.deliveries()
  assert.deepEqual([silent.outcome, silent.answer], ['delivered', ''])
  assert.equal(endless.outcome, 'delivered')
  assert.ok(endless.answer.length > 500 && Buffer.byteLength(endless.answer) <= 1100)
  assert.doesNotMatch(endless.answer, /\p{C}/u)
  await webhook.remove()
})

test('no hostile address is reached', async (t) => {
  const database = await freshDatabase(t)
  // Only a network without receivers is opened, so that all addresses get as far as possible.
  const strict = await openArchive(database.url)
  const opened = await openArchive(database.url, { WEBHOOK_PRIVATE: '10.77.0.0/16' })
  const internal = await openReceiver()
  const { port } = new URL(internal.url)
  let tried = 0
  try {
    await feedIsComplete(strict)
    for (const hostile of [strict, opened])
      for (const address of Object.values(hostileAddresses).flat()) {
        const url = address.replaceAll('PORT', port)
        // The tests of postOutbound try names, without DNS.
        const host = URL.parse(url)?.hostname.replaceAll(/[[\]]/g, '') ?? ''
        if (isIP(host) === 0 && /[a-z]/i.test(host)) continue
        tried++
        const call = (path: string, body?: object) =>
          hostile.call('POST', `/api/v2/webhook${path}`, {
            token: hostile.admin,
            ...(body && { body }),
          })
        const created = await call('', { url })
        assert.ok([201, 400].includes(created.status), `${address}: ${created.text}`)
        if (created.status === 400) continue
        const { id } = created.json.webhook
        const { json } = await call(`/${id}/ping`)
        assert.equal(json.outcome, 'address-refused', address)
        await call(`/${id}/delete`)
      }
  } finally {
    await strict.close()
    await opened.close()
  }
  assert.ok(tried > 250, `${tried} addresses`)
  assert.equal(internal.messages.length, 0)
})

test('only the last attempts are kept', async () => {
  const webhook = await openWebhook()
  await query(
    `insert into webhook_delivery (webhook_id, message, entries, outcome, duration_ms, answer)
     select ${webhook.id}, 'msg', 1, 'refused', 1, '' from generate_series(1, 500)`,
  )
  await archive.make()
  await webhook.isUpToDate()
  const count = `select count(*)::int as count, max(message) as latest
                 from webhook_delivery where webhook_id = ${webhook.id}`
  assert.equal((await query(count))[0]?.count, keptDeliveries)
  await webhook.post('ping')
  assert.equal((await query(count))[0]?.count, keptDeliveries)
  const page = await ok(send('GET', `webhook/${webhook.id}/deliveries?page_size=2`))
  assert.equal(page.results[0].entries, 0)
  const path = new URL(page.next).pathname + new URL(page.next).search
  const next = (await archive.call('GET', path, { token: admin })).json
  assert.ok(next.results[0].id < page.results[1].id)
  await webhook.remove()
})

test('wrong input is refused', async () => {
  const { id, receiver, remove } = await openWebhook()
  for (const [path, body, pointer] of [
    ['webhook', {}, '/url'],
    ['webhook', { url: 'ftp://example.org/' }, '/url'],
    ['webhook', { url: 'http://ada:secret@127.0.0.1/' }, '/url'],
    ['webhook', { url: `http://127.0.0.1/${'a'.repeat(2048)}` }, '/url'],
    ['webhook', { url: receiver.url, filter: { kind: 'person' } }, '/filter/kind'],
    ['webhook', { url: receiver.url, filter: { category: 0 } }, '/filter/category'],
    ['webhook', { url: receiver.url, filter: { compact: 'true' } }, '/filter/compact'],
    ['webhook', { url: receiver.url, since: 'yesterday' }, '/since'],
    ['webhook', { url: receiver.url, since: '2026-13-01' }, '/since'],
    ['webhook', { url: receiver.url, state: 'active' }, '/state'],
    [`webhook/${id}/replay`, {}, '/since'],
    [`webhook/${id}/replay`, { since: '2026-13-01' }, '/since'],
    [`webhook/${id}/enable`, { from: 'then' }, '/from'],
  ] as const) {
    const { status, json, text } = await send('POST', path, body)
    assert.deepEqual([status, json.type.split('/').at(-1)], [400, 'invalid-fields'], text)
    assert.deepEqual(
      json.errors.map((error: { pointer: string }) => error.pointer),
      [pointer],
      text,
    )
  }
  const patched = await send('PATCH', `webhook/${id}`, { url: 'nowhere' })
  assert.equal(patched.status, 400)
  for (const path of ['webhook/999999', 'webhook/999999/deliveries'])
    assert.equal((await send('GET', path)).status, 404)
  for (const action of ['delete', 'ping', 'secret', 'disable'])
    assert.equal((await send('POST', `webhook/999999/${action}`)).status, 404, action)
  const denied = await archive.call('GET', '/api/v2/webhook', { token: editor })
  assert.equal(denied.status, 403)
  await remove()
})

test('without opened networks, only https on port 443 is accepted', async (t) => {
  const database = await freshDatabase(t)
  const closed = await openArchive(database.url)
  try {
    await feedIsComplete(closed)
    for (const [url, status] of [
      ['http://hooks.example.org/', 400],
      ['https://hooks.example.org:8443/', 400],
      ['https://hooks.example.org/', 201],
    ] as const) {
      const body = { url }
      const reply = await closed.call('POST', '/api/v2/webhook', { token: closed.admin, body })
      assert.equal(reply.status, status, reply.text)
    }
  } finally {
    await closed.close()
  }
})

test('without a key, webhooks cannot be created', async (t) => {
  const database = await freshDatabase(t)
  const keyless = await openArchive(database.url, { WEBHOOK_KEY: '' })
  try {
    const body = { url: 'https://hooks.example.org/' }
    const reply = await keyless.call('POST', '/api/v2/webhook', { token: keyless.admin, body })
    assert.equal(reply.status, 409)
    assert.match(reply.json.detail, /Set WEBHOOK_KEY/)
  } finally {
    await keyless.close()
  }
  await assert.rejects(openArchive(database.url, { WEBHOOK_KEY: 'short' }), /at least 32/)
  for (const networks of ['10.0.0.0', '10.0.0.0/33', 'localhost', '10.0.0.0/8,', '0x0a.0.0.0/8'])
    await assert.rejects(openArchive(database.url, { WEBHOOK_PRIVATE: networks }), /networks/)
})

test('there is a limit of webhooks', async (t) => {
  const database = await freshDatabase(t)
  const full = await openArchive(database.url)
  try {
    await feedIsComplete(full)
    const body = { url: 'https://hooks.example.org/' }
    const create = () => full.call('POST', '/api/v2/webhook', { token: full.admin, body })
    const replies = await Promise.all(Array.from({ length: maxWebhooks + 5 }, create))
    const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length
    assert.deepEqual([count(201), count(409)], [maxWebhooks, 5])
  } finally {
    await full.close()
  }
})

test('every action is in the audit log, and the secret is nowhere', async () => {
  const webhook = await openWebhook()
  const { secret: second } = await webhook.post('secret')
  await webhook.post('replay', { since: 'now' })
  await webhook.post('disable')
  await webhook.post('enable', { from: 'cursor' })
  await ok(send('PATCH', `webhook/${webhook.id}`, { url: `${webhook.receiver.url}?key=hush` }))
  await webhook.post('ping')
  await archive.make()
  await webhook.isUpToDate()
  const tables = await query(
    `select string_agg(query_to_xml('select * from ' || quote_ident(tablename), true, false, '')::text,
                       '') as dump
     from pg_tables where schemaname = 'public'`,
  )
  const dump = String(tables[0]?.dump)
  assert.ok(dump.includes('key=hush'), 'the dump has the webhook')
  for (const secret of [webhook.secret, second]) {
    const bytes = Buffer.from(secret.slice(6), 'base64')
    for (const form of [secret.slice(6), bytes.toString('hex'), bytes.toString('base64url')])
      assert.ok(!dump.includes(form))
  }
  await webhook.remove()
  const { results } = await ok(send('GET', 'audit?page_size=100'))
  const own = results.filter(
    ({ detail }: { detail: { webhook?: number } }) => detail.webhook === webhook.id,
  )
  assert.deepEqual(own.map(({ kind }: { kind: string }) => kind).reverse(), [
    'webhook-created',
    'webhook-pinged',
    'webhook-secret-rotated',
    'webhook-replayed',
    'webhook-disabled',
    'webhook-enabled',
    'webhook-changed',
    'webhook-pinged',
    'webhook-deleted',
  ])
  assert.ok(!JSON.stringify(own).includes('hush'), 'the audit log has no path')
})

test('metrics show how far webhooks are behind, and how attempts ended', async () => {
  const webhook = await openWebhook()
  await archive.make()
  await webhook.isUpToDate()
  const { text } = await archive.call('GET', '/metrics')
  assert.match(text, new RegExp(`talkshelf_webhook_behind_seconds\\{webhook="${webhook.id}"\\} 0`))
  assert.match(text, /talkshelf_webhook_attempts_total\{outcome="delivered"\} \d+/)
  await webhook.remove()
})

test('the archive is consistent', () => checkInvariants(databaseUrl))
