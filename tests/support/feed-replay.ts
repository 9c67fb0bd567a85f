import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { FeedEntry, FeedPage } from '@talkshelf/contract'
import { readHead } from '../../server/change-feed/queries.ts'
import type { TestArchive } from './harness.ts'
import { withDatabase } from './invariants.ts'
import { until } from './until.ts'

// Follows the change feed as a client does, and compares the result with what anyone can read.

/** The newest entry of each record and entity, by `kind:id`. */
export type FeedState = ReadonlyMap<string, FeedEntry>

/** Reads all entries after a cursor, page by page. */
export async function readFeed(
  { call }: Pick<TestArchive, 'call'>,
  since = '0',
  query = '',
): Promise<{ entries: FeedEntry[]; cursor: string }> {
  const entries: FeedEntry[] = []
  for (let cursor = since; ; ) {
    const { status, text, json } = await call('GET', `/api/v2/changes?since=${cursor}${query}`)
    assert.equal(status, 200, text)
    const page = json as FeedPage
    entries.push(...page.results)
    cursor = page.cursor
    if (!page.more) return { entries, cursor }
  }
}

/** Waits until the feed has all changes. */
export function feedIsComplete({ pool }: Pick<TestArchive, 'pool'>) {
  return until('the feed is complete', async () => !(await readHead(pool.lookups)).isBehind)
}

/** Checks that the entries are numbered without gaps from `first`, and returns the final state. */
export function replay(entries: readonly FeedEntry[], first = 1): Map<string, FeedEntry> {
  const state = new Map<string, FeedEntry>()
  for (const [index, entry] of entries.entries()) {
    assert.equal(entry.seq, first + index, 'a gap in the feed')
    const key = `${entry.kind}:${entry.id}`
    const { seq: _, at: __, ...before } = state.get(key) ?? { seq: 0, at: '' }
    const { seq: ___, at: ____, ...now } = entry
    assert.notDeepEqual(now, before, `${key} has the same entry twice`)
    state.set(key, entry)
  }
  return state
}

/** Computes the digest of what is public, independently of the server. */
export function digestOf(state: FeedState): string {
  let digest = 0n
  for (const entry of state.values()) digest ^= hashOf(entry)
  return digest.toString(16).padStart(16, '0')
}

/** Computes the part of the digest that an entry has, as docs/follow.md describes. */
export function hashOf({ kind, id, state, version, merged_into }: FeedEntry): bigint {
  if (state === 'hidden') return 0n
  const detail = version ?? merged_into
  const text = [kind, id, state, ...(detail === undefined ? [] : [detail])].join(':')
  return BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 16)}`)
}

/** Checks that the state of the feed is what anonymous requests get. */
export async function assertPublicState(
  archive: Pick<TestArchive, 'call' | 'databaseUrl'>,
  state: FeedState,
): Promise<void> {
  const { call, databaseUrl } = archive
  const ids = await withDatabase(databaseUrl, (query) => query('select id from video order by id'))
  for (const { id } of ids) {
    const { status, headers } = await call('GET', `/api/v2/video/${id}`, {
      headers: { accept: 'application/json' },
    })
    const entry = state.get(`video:${id}`)
    const expected = { 200: 'live', 404: 'hidden', 410: 'taken-down', 301: 'merged' }[status]
    assert.equal(entry?.state ?? 'hidden', expected, `record ${id}`)
    if (status === 200) {
      const [, revision] = entry?.version?.split('.') ?? []
      assert.ok(headers.etag?.startsWith(`"${id}.${revision}.`), `${headers.etag}: ${revision}`)
    }
    if (status === 301)
      assert.match(String(headers.location), new RegExp(`/video/${entry?.merged_into}(/|$)`))
  }
  for (const kind of ['category', 'speaker', 'tag']) {
    const name = kind === 'category' ? 'title' : 'name'
    const rows = await withDatabase(databaseUrl, (query) =>
      query(`select id, slug, ${name} as name, merged_into from ${kind}`),
    )
    for (const { id, slug, merged_into } of rows) {
      const { status, json } = await call('GET', `/api/v2/${kind}/${slug}`)
      const entry = state.get(`${kind}:${id}`)
      if (merged_into !== null) {
        assert.ok(entry === undefined || entry.state !== 'live', `${kind} ${id} was merged`)
        if (entry?.state === 'merged') assert.equal(entry.merged_into, Number(merged_into))
        continue
      }
      const isLive =
        status === 200 && json.id === Number(id) && (kind === 'category' || json.talks > 0)
      assert.equal(entry?.state ?? 'hidden', isLive ? 'live' : 'hidden', `${kind} ${id}`)
    }
  }
}
