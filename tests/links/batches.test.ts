import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { type Ask, identify, lookAtMany, maxIdsOfCall } from '../../server/links/probes/probes.ts'
import { probeOutbound } from '../../server/platform/net/probe.ts'
import { answerNamed, type HostAnswer } from './answers.ts'
import { startWorld } from './world.ts'

// Looks for many videos at YouTube with a key, over real HTTP.

const world = await startWorld(() => 0)
after(() => world.close())
afterEach(() => {
  world.requests.length = 0
  for (const host of ['www.googleapis.com', 'www.youtube.com']) world.hostDays(host, [])
})

const ask: Ask = (request) =>
  probeOutbound(request, { ...world.guard, timeoutMs: 30_000, userAgent: 'test' })

/** Returns a source whose video gives an answer. Its number identifies it in this file. */
function sourceOf(number: number, answer: string | HostAnswer, owner?: string) {
  const id = `v${`${number}`.padStart(10, '0')}`
  const video = { kind: 'youtube', id, ...(owner && { owner }) } as const
  const source = identify(world.script(video, [{ fromDay: 0, answer }]))
  assert.ok(source)
  return { ...source, owner }
}

const many = (count: number, make: (number: number) => ReturnType<typeof sourceOf>) =>
  Array.from({ length: count }, (_, index) => make(index))
const channel = (number: number) => `UC${`${number}`.padStart(22, '0')}`
const askedPaths = () => world.requests.map(({ path }) => path.replace(/\?.*/, ''))
const found = 'videos.list: found'
const gone = 'videos.list: missing, gone'
const closed = 'videos.list: missing, account closed'

test('asks for 50 videos in one call, each once, and keeps the order', async () => {
  const sources = many(120, (number) => sourceOf(number % 101, number % 101 === 60 ? gone : found))
  const { results } = await lookAtMany(ask, sources, 'the-key')
  assert.equal(results.length, 120)
  assert.deepEqual(
    results.flatMap(({ verdict }, index) => (verdict === 'ok' ? [] : [[index, verdict]])),
    [[60, 'gone']],
  )
  const asked = world.requests
    .filter(({ host }) => host === 'www.googleapis.com')
    .map(({ path }) => new URL(path, 'https://x').searchParams.get('id')?.split(',') ?? [])
  assert.deepEqual(
    asked.map(({ length }) => length),
    [maxIdsOfCall, maxIdsOfCall, 1],
  )
  assert.equal(new Set(asked.flat()).size, 101)
  // The key is in a header: paths are logged.
  assert.ok(!world.requests.some(({ path }) => path.includes('the-key')))
})

test('an answer that is too long takes nothing away', async () => {
  const answer = answerNamed(found)
  const long = (length: number) => ({ ...answer, item: { ...answer.item, x: 'x'.repeat(length) } })
  const sources = many(40, (number) => sourceOf(number, number === 7 ? gone : long(5000)))
  const { results } = await lookAtMany(ask, sources, 'key')
  assert.deepEqual(
    results.flatMap(({ verdict }, index) => (verdict === 'ok' ? [] : [[index, verdict]])),
    [[7, 'gone']],
  )
  assert.ok(world.requests.length < 12, `${world.requests.length} requests`)
  world.requests.length = 0
  const {
    results: [result],
  } = await lookAtMany(ask, [sourceOf(1, long(70_000))], 'key')
  assert.deepEqual([result?.verdict, world.requests.length], ['odd', 1])
})

test('asks once for all channels of missing videos, and oEmbed about the others', async () => {
  const sources = [
    sourceOf(1, gone, channel(1)),
    sourceOf(2, closed, channel(2)),
    sourceOf(3, closed, channel(2)),
    sourceOf(4, gone, '@handle'),
    sourceOf(5, gone),
  ]
  const { results } = await lookAtMany(ask, sources, 'key')
  assert.deepEqual(
    results.map(({ verdict, owner }) => [verdict, owner]),
    [
      ['gone', undefined],
      ['closed', channel(2)],
      ['closed', channel(2)],
      ['gone', undefined],
      ['gone', undefined],
    ],
  )
  assert.deepEqual(askedPaths(), [
    '/youtube/v3/videos',
    '/youtube/v3/channels',
    '/oembed',
    '/oembed',
    '/oembed',
  ])
})

test('a host that refuses is not asked again in the same batch', async () => {
  const sources = many(120, (number) => sourceOf(number, gone, channel(number)))
  const reply = { status: 429, headers: { 'retry-after': '60' } }
  for (const [host, paths] of [
    ['www.googleapis.com', ['/youtube/v3/videos']],
    [
      'www.youtube.com',
      [...Array(3).fill('/youtube/v3/videos'), ...Array(3).fill('/youtube/v3/channels'), '/oembed'],
    ],
  ] as const) {
    world.hostDays(host, [{ fromDay: 0, reply }])
    const { results } = await lookAtMany(ask, sources, 'key')
    world.hostDays(host, [])
    for (const { verdict, retryAfterSeconds } of results)
      assert.deepEqual([verdict, retryAfterSeconds], ['refused', 60])
    assert.deepEqual(askedPaths(), paths)
    world.requests.length = 0
  }
})

test('without an answer about channels, oEmbed decides', async () => {
  const sources = many(120, (number) => sourceOf(number, closed, channel(number)))
  const { results } = await lookAtMany(
    async (request) => {
      const isChannels = request.url.includes('/channels?')
      const answer = await ask(request)
      return isChannels ? { ...answer, status: 403 } : answer
    },
    sources,
    'key',
  )
  assert.ok(results.every(({ verdict }) => verdict === 'gone'))
  assert.equal(askedPaths().filter((path) => path.endsWith('/channels')).length, 1)
})

test('a call without a key is refused', async () => {
  const {
    results: [result],
  } = await lookAtMany(ask, [sourceOf(1, found)], '')
  assert.equal(result?.verdict, 'refused')
})

test('errors of the caller reach it', async () => {
  const budget = new Error('The budget of today is used up')
  const refuse = async () => {
    throw budget
  }
  await assert.rejects(lookAtMany(refuse, [sourceOf(1, found)], 'key'), budget)
})
