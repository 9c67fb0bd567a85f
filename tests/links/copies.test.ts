import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startLinkChecks } from '../../server/links/links.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { freshDatabase } from '../support/database.ts'
import { withDatabase } from '../support/invariants.ts'
import { insertSources } from './play-through-world.ts'
import { startWorld } from './world.ts'

// Copies of sources that went away are searched at archive.org, once, and proposed.

const dayMs = 24 * 3_600_000

test('a copy at archive.org is proposed when a video goes away', async (t) => {
  const { url: databaseUrl } = await freshDatabase(t)
  let nowMs = Date.UTC(2026, 0, 1)
  const world = await startWorld(() => nowMs)
  t.after(() => world.close())
  const ids = ['AAAAAAAAAAA', 'BBBBBBBBBBB', 'CCCCCCCCCCC', 'DDDDDDDDDDD']
  const urls = ids.map((id, index) =>
    world.script({ kind: 'youtube', id }, [
      { fromDay: 0, answer: 'youtube: 200' },
      // The first two go away, and only the first has a copy.
      ...(index < 2 ? [{ fromDay: 40, answer: 'youtube: 404' }] : []),
    ]),
  )
  const item = { kind: 'archive.org', id: `youtube-${ids[0]}` } as const
  const copy = world.script(item, [{ fromDay: 0, answer: 'archive.org: item' }])
  const pool = openPool({ url: databaseUrl, connections: 4, applicationName: 'links' })
  const checks = startLinkChecks(pool, {
    everyMs: 0,
    userAgent: () => 'Talkshelf/0 (+https://talks.example)',
    youtubeKey: undefined,
    guard: world.guard,
    clock: {
      now: () => nowMs,
      async sleep(ms) {
        nowMs += ms
      },
    },
    onChecked() {},
    onError: (error) => t.diagnostic(String(error)),
  })
  t.after(async () => {
    await checks.stop()
    await pool.close()
  })
  await withDatabase(databaseUrl, async (query) => {
    await insertSources(
      query,
      urls.map((url) => ({ url })),
      nowMs,
    )
    for (let day = 0; day < 100; day++) {
      nowMs += dayMs
      await checks.drain()
    }
    const states = await query('select url, state from source order by url')
    assert.deepEqual(
      states.map(({ state }) => state),
      ['gone', 'gone', 'ok', 'ok'],
    )
    const proposed = await query('select video_id, url, finder, state from replacement')
    assert.deepEqual(proposed, [{ video_id: '1', url: copy, finder: 'archive.org', state: 'open' }])
    // Once when it went away, and once a year for those that are the only copy.
    for (const id of ids) {
      const path = `/metadata/youtube-${id}`
      const asked = world.requests.filter((request) => request.path === path).length
      assert.ok(asked >= 1 && asked <= 2, `${path} was asked ${asked} times`)
    }
  })
})
