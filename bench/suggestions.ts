// npm run hostile-suggestions -- [--total 10000] [--minutes 10] [--max-ratio 2]
//
// Sends hostile suggestions from many networks, by forms and by the API, while readers read. Exits
// with 1 if more than 500 are open, or 300 with a low priority, if a response is unexpected, or if
// the p99 of readers is more than --max-ratio times that of the time before.

import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createToken } from '../server/auth/auth.ts'
import { openPool, type Pool } from '../server/platform/db/pool.ts'
import { hashNames, readKeys, signForm } from '../server/suggestions/limits.ts'
import { call, startServer } from '../tests/support/harness.ts'
import { withDatabase } from '../tests/support/invariants.ts'
import { hostilePayloads } from '../tests/support/payloads.ts'
import { migratedDatabase, startPostgres } from '../tests/support/postgres.ts'

const maxOpen = 500
const maxLowPriority = 300
/** Requests of readers in a second. */
const readRate = 20
const talkCount = 50
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      total: { type: 'string', default: '10000' },
      minutes: { type: 'string', default: '10' },
      'max-ratio': { type: 'string', default: '2' },
    },
  })
  const [total, minutes, maxRatio] = [values.total, values.minutes, values['max-ratio']].map(
    Number,
  ) as [number, number, number]
  const postgres = await startPostgres({ version: 15 })
  const databaseUrl = await migratedDatabase(postgres, 'suggestions')
  const pool = openPool({ url: databaseUrl, connections: 2, applicationName: 'hostile' })
  const server = await startServer({
    DATABASE_URL: databaseUrl,
    PROXIES: '1',
    POINTS_PER_MINUTE: '1000000',
  })
  try {
    const { token } = await createToken(pool, { name: 'Edith', role: 'editor', days: 1 })
    const talks = await makeTalks(server.url, token)
    const seconds = minutes * 60
    const calm = await readFor(server.url, talks, seconds / 4)
    const attack = sendHostile(server.url, pool, talks, { total, seconds })
    const busy = await readFor(server.url, talks, seconds)
    const statuses = await attack
    const inboxMs = await readQueue(server.url, token)
    const [{ open, low } = {}] = await withDatabase(databaseUrl, (query) =>
      query(`select count(*)::integer as open, count(*) filter (where low_priority)::integer as low
             from suggestion where state = 'open'`),
    )
    const ratio = percentile(busy, 0.99) / percentile(calm, 0.99)
    console.log(`${total} hostile suggestions in ${minutes} minutes: ${JSON.stringify(statuses)}`)
    console.log(`open: ${open}, of these with a low priority: ${low}`)
    console.log(`the queue is read in ${percentile(inboxMs, 0.5).toFixed(0)} ms (median of 20)`)
    console.log(`readers' p99 is ${ratio.toFixed(2)} times that before`)
    const isExpected = Object.keys(statuses).every((status) =>
      ['201', '303', '200', '400', '409', '429'].includes(status),
    )
    const isFine = isExpected && Number(open) <= maxOpen && Number(low) <= maxLowPriority
    return isFine && ratio <= maxRatio ? 0 : 1
  } finally {
    await server.stop()
    await pool.close()
    await postgres.stop()
    agent.destroy()
  }
}

async function makeTalks(url: string, token: string) {
  const post = (path: string, body: object) => call(url, 'POST', path, { body, token }, agent)
  await post('/api/v2/category', { title: 'Example Days' })
  const talks: { id: number; slug: string }[] = []
  for (let number = 0; number < talkCount; number++) {
    const talk = {
      title: `Talk ${number}`,
      category: 'Example Days',
      language: 'English',
      state: 1,
    }
    talks.push((await post('/api/v2/video', talk)).json)
  }
  return talks
}

/** Reads the queue as an editor. Returns the times in milliseconds. */
async function readQueue(url: string, token: string): Promise<number[]> {
  const times: number[] = []
  for (let number = 0; number < 20; number++) {
    const beganMs = performance.now()
    const { status } = await call(url, 'GET', '/api/v2/suggestion', { token }, agent)
    if (status !== 200) throw new Error(`${status} for the queue`)
    times.push(performance.now() - beganMs)
  }
  return times
}

type Talks = Awaited<ReturnType<typeof makeTalks>>

/** Reads pages and records at a constant rate. Returns the times in milliseconds. */
async function readFor(url: string, talks: Talks, seconds: number): Promise<number[]> {
  const times: number[] = []
  const pending: Promise<void>[] = []
  const endMs = performance.now() + seconds * 1000
  for (let number = 0; performance.now() < endMs; number++) {
    const talk = talks[number % talks.length] as Talks[number]
    const path = number % 2 ? `/api/v2/video/${talk.id}` : `/video/${talk.id}/${talk.slug}`
    const beganMs = performance.now()
    const read = call(url, 'GET', path, {}, agent).then(({ status }) => {
      if (status !== 200) throw new Error(`${status} for ${path}`)
      times.push(performance.now() - beganMs)
    })
    pending.push(read)
    await sleep(1000 / readRate)
  }
  await Promise.all(pending)
  return times
}

/** Sends hostile suggestions at a constant rate. Returns how many responses had each status. */
async function sendHostile(
  url: string,
  pool: Pool,
  talks: Talks,
  { total, seconds }: { total: number; seconds: number },
): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {}
  const pending: Promise<void>[] = []
  for (let number = 0; number < total; number++) {
    pending.push(
      sendOne(url, pool, talks, number).then((status) => {
        statuses[status] = (statuses[status] ?? 0) + 1
      }),
    )
    await sleep((seconds * 1000) / total)
  }
  await Promise.all(pending)
  return statuses
}

async function sendOne(url: string, pool: Pool, talks: Talks, number: number): Promise<number> {
  const talk = talks[number % talks.length] as Talks[number]
  const payload = String(hostilePayloads[number % hostilePayloads.length])
  // Every fourth comes from the same network, the others from different ones.
  const network = number % 4 === 0 ? '192.0.2' : `10.${(number >> 8) & 255}.${number & 255}`
  const headers = { 'x-forwarded-for': `${network}.${number % 250}` }
  if (number % 3 === 0) {
    const comment = `${payload} ${number} ${'https://spam.example/ '.repeat(number % 5)}`
    const body = { kind: 'correction', video: talk.id, comment: comment.slice(0, 2000) }
    const { status } = await call(url, 'POST', '/api/v2/suggestion', { body, headers }, agent)
    return status
  }
  const namesHash = hashNames({})
  const terms = { video: talk.id, revision: 1, asksProofOfWork: false, namesHash }
  const form = signForm(await readKeys(pool), terms, Date.now() - 5000)
  const fields = { kind: 'correction', form, title: `${payload} ${number}`, comment: payload }
  const { status } = await call(
    url,
    'POST',
    `/video/${talk.id}/${talk.slug}/suggest`,
    {
      raw: new URLSearchParams(fields).toString(),
      headers: {
        ...headers,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
    },
    agent,
  )
  return status
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * share)] ?? 0
}
