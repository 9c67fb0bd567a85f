import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedEntry, FeedPage, Webhook } from '@talkshelf/contract'
import { createToken } from '../../server/auth/auth.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import {
  type Database,
  type Fault,
  startDatabase,
  startFaultService,
} from '../faults/environment.ts'
import { call } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { startReceiver } from '../support/webhook-receiver.ts'
import { feedEnds } from './feed.ts'
import { createRecords, startWriters } from './writers.ts'

// Webhooks while the processes that send entries are killed again and again, and receivers refuse
// messages or close connections. Every receiver gets every entry, in order; few of them twice.

const maxBatch = 100

export const webhooksUnderFaults: Fault = {
  name: 'webhooks: four receivers that fail, kills of the service',
  limitS: { quick: 240, full: 7200 },
  async run(environment) {
    const { quick, token } = environment
    const changes = quick ? 6000 : 300_000
    const maxKills = quick ? 6 : 50
    const database = await startDatabase(environment, { settings: { max_connections: '100' } })
    const variables = {
      DATABASE_URL: database.serviceUrl,
      ANSWER_SECONDS: '30',
      RESUME_SECONDS: '1',
      PUBLIC_URL: 'https://talks.example.org',
    }
    const sending = {
      ...variables,
      WEBHOOK_KEY: 'the key of webhooks in this fault, which is no secret',
      WEBHOOK_PRIVATE: '127.0.0.0/8',
    }
    // It sends nothing, and is never killed.
    const reader = await startFaultService(environment, { ...variables, WEBHOOK_KEY: '' })
    const killed = [
      await startFaultService(environment, sending),
      await startFaultService(environment, sending),
    ]
    const admin = await createAdmin(database)
    const ids = await createRecords(reader.url, token, 500)
    await feedEnds(reader.url, database)
    const [first = assert.fail()] = killed
    const filters: { kind?: string }[] = [{}, {}, {}, { kind: 'video' }]
    const followers = await Promise.all(
      filters.map((filter) => openFollower(first.url, admin, filter)),
    )
    environment.atEnd(() => Promise.all(followers.map(({ close }) => close())))
    const allDelivered = () =>
      until(
        'all entries to be delivered',
        async () => {
          const { json } = await call(reader.url, 'GET', '/api/v2/webhook', { token: admin })
          return (json.results as Webhook[]).every(({ behind }) => behind === 0)
        },
        { limitMs: quick ? 180_000 : 600_000, pauseMs: 200 },
      )

    // Without faults, for the time until an entry arrives.
    await allDelivered()
    const calm = startWriters(database.serviceUrl, ids, { pauseMs: 100 })
    for (const follower of followers) follower.startTiming()
    await until('the changes without faults', () => calm.count() >= (quick ? 500 : 10_000), {
      limitMs: 300_000,
    })
    await calm.stop()
    await feedEnds(reader.url, database)
    await allDelivered()
    const delays = followers.flatMap(({ stopTiming }) => stopTiming()).sort((a, b) => a - b)
    const delay = (share: number) => (delays[Math.floor(delays.length * share)] ?? 0).toFixed()

    for (const follower of followers) follower.startFailing()
    const writers = startWriters(database.serviceUrl, ids, { pauseMs: 20 })
    let kills = 0
    // Spread evenly over the changes.
    while (kills < maxKills) {
      const due = (changes * (kills + 1)) / (maxKills + 1)
      await until('changes', () => writers.count() >= due, { limitMs: 600_000 })
      // At any moment of a delivery.
      await sleep(Math.random() * 200)
      const service = killed[kills % killed.length]
      await service?.kill()
      await service?.start()
      kills++
    }
    await until('all changes', () => writers.count() >= changes, { limitMs: 600_000 })
    const written = await writers.stop()
    await feedEnds(reader.url, database)
    await allDelivered()
    const entries = await readEntries(reader.url)
    const totals = { entries: 0, repeated: 0, refused: 0 }
    for (const [index, follower] of followers.entries()) {
      const { kind } = filters[index] ?? {}
      const expected = entries
        .filter(
          (entry) => entry.seq > follower.after && (kind === undefined || entry.kind === kind),
        )
        .map(({ seq }) => seq)
      assert.deepEqual(follower.accepted, expected, `receiver ${index + 1}: entries in order`)
      totals.entries += expected.length
      totals.repeated += follower.repeated()
      totals.refused += follower.refused()
    }
    const share = totals.repeated / totals.entries
    const max = totals.entries / 1000 + (quick ? kills * maxBatch : 0)
    assert.ok(totals.repeated <= max, `${totals.repeated} of ${totals.entries} entries twice`)
    return (
      `${written.length} changes, ${kills} kills, ${totals.entries} entries delivered to 4 ` +
      `receivers, ${totals.refused} messages refused: 0 missing, 0 out of order, ` +
      `${totals.repeated} (${(share * 100).toFixed(3)} %) twice; without faults they arrived ` +
      `after ${delay(0.5)} ms, p99 ${delay(0.99)} ms`
    )
  },
}

async function createAdmin({ serviceUrl }: Database): Promise<string> {
  const pool = openPool({ url: serviceUrl, connections: 1, applicationName: 'faults' })
  try {
    return (await createToken(pool, { name: 'Ada', role: 'admin', days: 1 })).token
  } finally {
    await pool.close()
  }
}

/** Opens a receiver with a webhook. It checks that each message has always the same bytes. */
async function openFollower(url: string, token: string, filter: object) {
  const receiver = await startReceiver()
  const accepted: number[] = []
  const known = new Set<number>()
  const bodies = new Map<string, string>()
  const delays: number[] = []
  let [repeated, refused, isFailing, isTiming] = [0, 0, false, false]

  receiver.answer = (response, { id, type, body, changes }) => {
    receiver.messages.length = 0
    const before = bodies.get(id)
    // An assertion here would only end the request.
    if (before !== undefined && before !== body) repeated = Number.POSITIVE_INFINITY
    bodies.set(id, body)
    const chance = Math.random()
    if (isFailing && type === 'changes' && chance < 0.02) {
      refused++
      if (chance < 0.01) response.destroy()
      else response.writeHead(500).end()
      return
    }
    for (const { seq, at } of changes) {
      if (known.has(seq)) repeated++
      else {
        accepted.push(seq)
        if (isTiming) delays.push(Math.max(0, Date.now() - Date.parse(`${at}Z`)))
      }
      known.add(seq)
    }
    response.writeHead(204).end()
    // Only messages that may be repeated.
    if (bodies.size > 20) bodies.delete([...bodies.keys()][0] ?? '')
  }

  const body = { url: receiver.url, filter }
  const created = await call(url, 'POST', '/api/v2/webhook', { token, body })
  assert.equal(created.status, 201, created.text)
  const { id, cursor } = created.json.webhook as Webhook
  const ping = await call(url, 'POST', `/api/v2/webhook/${id}/ping`, { token })
  assert.equal(ping.json.outcome, 'delivered', ping.text)
  return {
    after: Number.parseInt(cursor, 10),
    /** The numbers of the entries in the order of their first arrival. */
    accepted,
    /** Entries that arrived again after they had been accepted. */
    repeated: () => repeated,
    refused: () => refused,
    startFailing: () => (isFailing = true),
    startTiming: () => (isTiming = true),
    stopTiming() {
      isTiming = false
      return delays
    },
    close: () => receiver.close(),
  }
}

async function readEntries(url: string): Promise<FeedEntry[]> {
  const entries: FeedEntry[] = []
  for (let cursor = '0'; ; ) {
    const { json, status, text } = await call(
      url,
      'GET',
      `/api/v2/changes?since=${cursor}&limit=1000`,
    )
    assert.equal(status, 200, text)
    const page = json as FeedPage
    entries.push(...page.results)
    cursor = page.cursor
    if (!page.more) return entries
  }
}
