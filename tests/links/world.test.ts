import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Ask, identify, look } from '../../server/links/probes/probes.ts'
import { robotsOf } from '../../server/links/robots.ts'
import type { GuardOptions } from '../../server/platform/net/guard.ts'
import { probeOutbound } from '../../server/platform/net/probe.ts'
import { connectWorld, startRemoteWorld } from './remote-world.ts'
import { startWorld } from './world.ts'

// The fake world itself: days, hosts, records, and a process of its own.

const dayMs = 24 * 3_600_000
const startMs = Date.parse('2026-11-19T10:00:00Z')
const askIn =
  (guard: GuardOptions): Ask =>
  (request) =>
    probeOutbound(request, { ...guard, timeoutMs: 30_000, userAgent: 'Talkshelf/test' })

async function verdictOf(ask: Ask, url: string): Promise<string> {
  const source = identify(url)
  assert.ok(source)
  return (await look(ask, source)).verdict
}

test('follows the script of each video and the days of hosts', async (t) => {
  let nowMs = startMs
  const world = await startWorld(() => nowMs)
  t.after(() => world.close())
  const ask = askIn(world.guard)
  const days = (...answers: [number, string][]) =>
    answers.map(([fromDay, answer]) => ({ fromDay, answer }))
  const urls = [
    world.script({ kind: 'youtube', id: 'abcdefghijk' }, days([0, 'youtube: 200'])),
    world.script(
      { kind: 'youtube', id: 'abcdefghijl' },
      days([20, 'youtube: 200'], [0, 'youtube: 200'], [10, 'youtube: 404']),
    ),
    world.script(
      { kind: 'file', id: 'talk', host: 'videos.example.net' },
      days([0, 'file: 200'], [5, 'file: moved to another host']),
    ),
  ]
  world.hostDays('www.youtube.com', [{ fromDay: 12, toDay: 13, fault: 'refuses-connections' }])
  world.hostDays('*', [{ fromDay: 15, toDay: 16, fault: 'no-address' }])
  const seen: Record<number, string[]> = {}
  for (const day of [0, 4, 5, 9, 10, 12, 13, 15, 16, 20]) {
    nowMs = startMs + day * dayMs + dayMs / 2
    seen[day] = await Promise.all(urls.map((url) => verdictOf(ask, url)))
  }
  assert.deepEqual(seen, {
    0: ['ok', 'ok', 'ok'],
    4: ['ok', 'ok', 'ok'],
    5: ['ok', 'ok', 'moved'],
    9: ['ok', 'ok', 'moved'],
    10: ['ok', 'gone', 'moved'],
    12: ['refused', 'refused', 'moved'],
    13: ['ok', 'gone', 'moved'],
    15: ['refused', 'refused', 'refused'],
    16: ['ok', 'gone', 'moved'],
    20: ['ok', 'ok', 'moved'],
  })
})

test('records every request with real and virtual time', async (t) => {
  const world = await startWorld(() => startMs)
  t.after(() => world.close())
  const ask = askIn(world.guard)
  world.robots('example.org', 'User-agent: *\nDisallow: /a\n')
  world.hostDays('example.org', [{ fromDay: 1, reply: { status: 503 } }])
  const before = Date.now()
  const [first, second] = await Promise.all([
    ask({ url: 'http://example.org/robots.txt' }),
    ask({ url: 'https://example.org/a?b=c', method: 'HEAD', headers: { range: 'bytes=0-1' } }),
  ])
  assert.deepEqual([robotsOf(first)?.disallow, second.status], [['/a'], 404])
  for (const url of ['https://other.example.org/', 'http://127.0.0.1/', 'http://127.77.0.9/'])
    await assert.rejects(ask({ url }), { code: 'address-refused' })
  assert.deepEqual(
    world.requests
      .map(({ atMs, ...request }) => {
        assert.ok(atMs >= before && atMs <= Date.now())
        return { ...request, openAtHost: undefined }
      })
      .sort((a, b) => a.path.length - b.path.length),
    [
      {
        virtualMs: startMs,
        method: 'HEAD',
        protocol: 'https:',
        host: 'example.org',
        path: '/a?b=c',
        userAgent: 'Talkshelf/test',
        range: 'bytes=0-1',
        openAtHost: undefined,
      },
      {
        virtualMs: startMs,
        method: 'GET',
        protocol: 'http:',
        host: 'example.org',
        path: '/robots.txt',
        userAgent: 'Talkshelf/test',
        range: undefined,
        openAtHost: undefined,
      },
    ],
  )
})

test('counts the requests that are open at a host', async (t) => {
  const world = await startWorld(() => startMs)
  t.after(() => world.close())
  world.hostDays('slow.example.org', [{ fromDay: 0, fault: 'never-answers' }])
  world.hostDays('other.example.org', [])
  const ask: Ask = (request) =>
    probeOutbound(request, { ...world.guard, timeoutMs: 3000, userAgent: 'test' })
  const slow = () => assert.rejects(ask({ url: 'http://slow.example.org/' }))
  await Promise.all([slow(), slow(), slow(), ask({ url: 'http://other.example.org/' })])
  await ask({ url: 'http://other.example.org/' })
  const open = (host: string) =>
    world.requests.flatMap((request) => (request.host === host ? request.openAtHost : []))
  assert.deepEqual(
    [open('slow.example.org'), open('other.example.org')],
    [
      [0, 1, 2],
      [0, 0],
    ],
  )
})

test('runs in a process of its own, which several processes can ask', async (t) => {
  const world = await startRemoteWorld()
  t.after(() => world.close())
  const other = connectWorld(JSON.parse(JSON.stringify(world.address)))
  const ask = askIn(other.guard)
  const start = await world.now()
  const url = await world.script({ kind: 'vimeo', id: '12345' }, [
    { fromDay: 0, answer: 'vimeo: 200' },
    { fromDay: 3, answer: 'vimeo: 404, gone' },
  ])
  assert.equal(url, 'https://vimeo.com/12345')
  assert.equal(await verdictOf(ask, url), 'ok')
  await world.setNow(start + 3 * dayMs)
  assert.equal(await verdictOf(ask, url), 'gone')
  await other.hostDays('vimeo.com', [{ fromDay: 3, fault: 'expired-certificate' }])
  assert.equal(await verdictOf(ask, url), 'refused')
  await other.robots('vimeo.com', 'User-agent: *\nDisallow: /\n')
  const requests = await world.requestsFrom(1)
  assert.deepEqual(
    requests.map(({ host, virtualMs }) => [host, virtualMs]),
    [
      ['vimeo.com', start + 3 * dayMs],
      ['player.vimeo.com', start + 3 * dayMs],
    ],
  )
  await assert.rejects(
    world.script({ kind: 'file', id: 'a' }, [{ fromDay: 0, answer: 'unknown' }]),
    {
      message: /There is no answer unknown/,
    },
  )
})
