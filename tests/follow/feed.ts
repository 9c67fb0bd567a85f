import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@talkshelf/client'
import { followChanges } from '@talkshelf/client/follow'
import type { FeedEntry, FeedPage } from '@talkshelf/contract'
import {
  type Database,
  type Fault,
  startDatabase,
  startFaultService,
} from '../faults/environment.ts'
import { hashOf } from '../support/feed-replay.ts'
import { call } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { percentile } from './percentile.ts'
import { type Commit, createRecords, startWriters } from './writers.ts'

// The change feed with 16 writers: transactions that stay open, rollbacks, savepoints. Processes
// that append entries are killed, and so is PostgreSQL. No entry is missing, none is there twice,
// the versions of a record are in order, and the digest of every page is right.

export const feedUnderFaults: Fault = {
  name: 'feed: 16 writers, kills of the service and of PostgreSQL',
  limitS: { quick: 240, full: 3600 },
  async run(environment) {
    const { quick, token } = environment
    const changes = quick ? 6000 : 1_000_000
    const databaseKills = quick ? 1 : 5
    const database = await startDatabase(environment, { settings: { max_connections: '100' } })
    const variables = { DATABASE_URL: database.serviceUrl, ANSWER_SECONDS: '30' }
    const reader = await startFaultService(environment, variables)
    const killed = [
      await startFaultService(environment, variables),
      await startFaultService(environment, variables),
    ]
    const ids = await createRecords(reader.url, token, 500)
    const follower = startFollower(reader.url)

    // Without faults, for the time until a change is seen.
    const calm = startWriters(database.serviceUrl, ids, { pauseMs: 100 })
    await until('the changes without faults', () => calm.count() >= (quick ? 1000 : 20_000), {
      limitMs: 300_000,
    })
    const commits = await calm.stop()
    const delays = await delaysOf(commits, follower)

    const writers = startWriters(database.serviceUrl, ids, { pauseMs: quick ? 20 : 0 })
    let [kills, crashes] = [0, 0]
    while (writers.count() < changes) {
      await sleep(1500)
      const service = killed[kills % killed.length]
      await service?.kill()
      await service?.start()
      kills++
      // Spread evenly over the changes.
      if (writers.count() < (changes * (crashes + 1)) / (databaseKills + 1)) continue
      await database.kill(crashes % 2 === 0 ? 'all' : 'postmaster')
      await database.start()
      crashes++
    }
    const written = await writers.stop()
    await feedEnds(reader.url, database)
    const { entries, pages } = await readAll(reader.url)
    assertComplete(entries, await revisionsOf(database))
    follower.stop()
    const [p50, p99] = [percentile(delays, 0.5), percentile(delays, 0.99)]
    return (
      `${commits.length + written.length} changes in ${entries.length} entries, ${kills} kills of ` +
      `the service, ${crashes} of PostgreSQL: 0 gaps, 0 inversions, ` +
      `0 duplicates, ${pages} digests right; seen after ${p50.toFixed()} ms, ` +
      `p99 ${p99.toFixed()} ms`
    )
  },
}

/** Compares how fast writers are with and without processes that append entries. */
export const feedWriterCost: Fault = {
  name: 'feed: cost to writers',
  limitS: { quick: 200, full: 900 },
  async run(environment) {
    const rounds = environment.quick ? 3 : 10
    const roundMs = environment.quick ? 6000 : 20_000
    const database = await startDatabase(environment, { settings: { max_connections: '100' } })
    const variables = { DATABASE_URL: database.serviceUrl, ANSWER_SECONDS: '30' }
    const idle = await startFaultService(environment, { ...variables, RESUME_SECONDS: '0' })
    const ids = await createRecords(idle.url, environment.token, 500)
    const appending = await startFaultService(environment, variables)
    await appending.stop()
    const speeds = { with: 0, without: 0 }
    for (let round = 0; round < rounds; round++)
      for (const kind of round % 2 === 0
        ? (['with', 'without'] as const)
        : (['without', 'with'] as const)) {
        if (kind === 'with') await appending.start()
        const writers = startWriters(database.serviceUrl, ids, { pauseMs: 40 })
        await sleep(roundMs)
        speeds[kind] += (await writers.stop()).length
        if (kind === 'with') await appending.stop()
      }
    const cost = 1 - speeds.with / speeds.without
    return (
      `${speeds.without} changes without the feed, ${speeds.with} with it: ` +
      `${(cost * 100).toFixed(1)} % fewer`
    )
  },
}

interface Follower {
  /** Returns when this revision of a record, or a later one, was first seen. */
  seenMs(id: number, revision: number): number | undefined
  stop(): void
}

/** Follows the feed as a client does. */
function startFollower(url: string): Follower {
  const seen = new Map<number, { readonly revision: number; readonly atMs: number }[]>()
  const stopping = new AbortController()
  const follow = async () => {
    const client = createClient({ baseUrl: url })
    const options = { since: 'now', limit: 1000, signal: stopping.signal }
    for await (const { results } of followChanges(client, options))
      for (const { kind, id, version = '' } of results) {
        if (kind !== 'video') continue
        const list = seen.get(id) ?? []
        list.push({ revision: revisionOf(version), atMs: performance.now() })
        seen.set(id, list)
      }
  }
  follow().catch(() => {})
  return {
    seenMs: (id, wanted) => seen.get(id)?.find(({ revision }) => revision >= wanted)?.atMs,
    stop: () => stopping.abort(),
  }
}

const revisionOf = (version: string) => Number(version.split('.')[1])

/** Returns the milliseconds from each commit until the follower saw it. */
async function delaysOf(commits: readonly Commit[], follower: Follower): Promise<number[]> {
  await until('the follower to see all changes', () =>
    commits.every(({ id, revision }) => follower.seenMs(id, revision) !== undefined),
  )
  return commits
    .map(({ id, revision, atMs }) => Math.max(0, (follower.seenMs(id, revision) ?? 0) - atMs))
    .sort((a, b) => a - b)
}

/** Waits until the feed has all changes. */
export async function feedEnds(
  url: string,
  { serviceUrl }: Pick<Database, 'serviceUrl'>,
): Promise<void> {
  await until(
    'the feed to be complete',
    async () => {
      const { json } = await call(url, 'GET', '/api/v2/changes?since=now')
      const seq = Number.parseInt(json.cursor, 10)
      const [row] = await withDatabase(serviceUrl, (query) =>
        query(`select count(*)::int as missing
               from video_body
               where not starts_with(
                       (select version from feed_entry
                        where kind = 'video' and id = video_body.id
                        order by seq desc limit 1),
                       id || '.' || revision || '.')`),
      )
      return seq > 0 && row?.missing === 0
    },
    { limitMs: 300_000, pauseMs: 500 },
  )
}

/** Reads the whole feed, and checks the digest of every page. */
export async function readAll(url: string): Promise<{ entries: FeedEntry[]; pages: number }> {
  const entries: FeedEntry[] = []
  const state = new Map<string, bigint>()
  let [pages, digest] = [0, 0n]
  for (let cursor = '0'; ; pages++) {
    const { json, status, text } = await call(
      url,
      'GET',
      `/api/v2/changes?since=${cursor}&limit=1000`,
    )
    assert.equal(status, 200, text)
    const page = json as FeedPage
    for (const entry of page.results) {
      const key = `${entry.kind}:${entry.id}`
      const hash = hashOf(entry)
      digest ^= (state.get(key) ?? 0n) ^ hash
      state.set(key, hash)
    }
    entries.push(...page.results)
    assert.equal(page.cursor.split('.')[1], digest.toString(16).padStart(16, '0'), 'the digest')
    cursor = page.cursor
    if (!page.more) return { entries, pages: pages + 1 }
  }
}

/** Checks numbers and the order of versions, and that each record ends with its current version. */
export function assertComplete(
  entries: readonly FeedEntry[],
  revisions: ReadonlyMap<number, number>,
): void {
  const last = new Map<number, FeedEntry>()
  for (const [index, entry] of entries.entries()) {
    assert.equal(entry.seq, index + 1, 'a gap or a duplicate')
    if (entry.kind !== 'video') continue
    const before = revisionOf(last.get(entry.id)?.version ?? '0.0')
    const revision = revisionOf(entry.version ?? '')
    assert.ok(revision > before, `record ${entry.id}: revision ${revision} after ${before}`)
    last.set(entry.id, entry)
  }
  for (const [id, revision] of revisions)
    assert.equal(revisionOf(last.get(id)?.version ?? ''), revision, `record ${id}`)
}

/** Reads the current revision of each record. */
export async function revisionsOf({
  serviceUrl,
}: Pick<Database, 'serviceUrl'>): Promise<Map<number, number>> {
  const rows = await withDatabase(serviceUrl, (query) =>
    query('select id, revision from video_body'),
  )
  return new Map(rows.map(({ id, revision }) => [Number(id), Number(revision)]))
}
