import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import type { Ask } from '../../server/links/probes/probes.ts'
import {
  findItem,
  findWaybackFile,
  findWaybackVideo,
} from '../../server/links/probes/replacements.ts'
import { OutboundError } from '../../server/platform/net/outbound.ts'
import { probeOutbound } from '../../server/platform/net/probe.ts'
import type { Reply } from './answers.ts'
import { hostileBehaviours } from './hostile.ts'
import { startWorld } from './world.ts'

// Finds copies at archive.org over real HTTP.

const world = await startWorld(() => 0)
after(() => world.close())
beforeEach(() => {
  world.requests.length = 0
})

const ask: Ask = (request) =>
  probeOutbound(request, { ...world.guard, timeoutMs: 30_000, userAgent: 'test' })
const id = 'abcdefghijk'
const fileUrl = 'https://files.example.org/a talk.mp4?x=1&y=2'

/** Makes a host give one answer to everything. */
function answer(host: string, reply: Partial<Reply>): void {
  world.hostDays(host, [{ fromDay: 0, reply: { status: 200, ...reply } }])
}
const json = (value: unknown) => ({ body: JSON.stringify(value) })

test('finds the item of a video', async () => {
  answer('archive.org', json({ files: [{ name: 'a.json' }, { name: 'a.webm' }] }))
  assert.deepEqual(await findItem(ask, id), {
    url: `https://archive.org/details/youtube-${id}`,
    evidence: `archive.org has the item youtube-${id}`,
  })
  assert.deepEqual(
    world.requests.map(({ host, path }) => host + path),
    [`archive.org/metadata/youtube-${id}`],
  )
  for (const value of [
    {},
    [],
    { files: [] },
    { files: [{ name: 'a.json' }] },
    { is_dark: true, files: [{ name: 'a.mp4' }] },
    { error: 'x' },
  ]) {
    answer('archive.org', json(value))
    assert.equal(await findItem(ask, id), undefined, JSON.stringify(value))
  }
})

test('finds the video itself in the Wayback Machine, without following the redirect', async () => {
  const copy = `https://web.archive.org/web/2oe_/http://wayback-fakeurl.archive.org/yt/${id}`
  answer('web.archive.org', {
    status: 302,
    headers: { location: '/web/20130212113444oe_/http://wayback-fakeurl.archive.org/yt/x' },
  })
  assert.deepEqual(await findWaybackVideo(ask, id), {
    url: copy,
    evidence: 'The Wayback Machine has a copy of 2013-02-12',
  })
  assert.deepEqual(
    world.requests.map(({ method, host, path }) => [method, `https://${host}${path}`]),
    [['HEAD', copy]],
  )
  answer('web.archive.org', { headers: { 'content-type': 'video/mp4' } })
  assert.equal((await findWaybackVideo(ask, id))?.url, copy)
  for (const reply of [
    { status: 404 },
    { status: 302, headers: { location: '/sry' } },
    { status: 302, headers: { location: 'https://web.archive.org/' } },
    { status: 302, headers: { location: 'https://evil.example.org/web/20130212113444oe_/x' } },
    { status: 302 },
    { status: 200, headers: { 'content-type': 'text/html' } },
  ]) {
    answer('web.archive.org', reply)
    assert.equal(await findWaybackVideo(ask, id), undefined, JSON.stringify(reply))
  }
})

test('finds a good capture of a file', async () => {
  const closest = {
    available: true,
    status: '200',
    timestamp: '20190304050607',
    url: 'http://web.archive.org/web/20190304050607/https://files.example.org/a.mp4',
  }
  // The Wayback Machine calls its JSON HTML at times.
  answer('archive.org', {
    ...json({ archived_snapshots: { closest } }),
    headers: { 'content-type': 'text/html' },
  })
  assert.deepEqual(await findWaybackFile(ask, fileUrl), {
    url: 'https://web.archive.org/web/20190304050607/https://files.example.org/a.mp4',
    evidence: 'The Wayback Machine has a copy of 2019-03-04',
  })
  assert.equal(
    world.requests[0]?.path,
    '/wayback/available?url=https%3A%2F%2Ffiles.example.org%2Fa%20talk.mp4%3Fx%3D1%26y%3D2',
  )
  for (const change of [
    { available: false },
    { status: '404' },
    { url: 'https://evil.example.org/web/20190304050607/x' },
    { url: 'javascript:alert(1)' },
    { url: 'https://web.archive.org/save/x' },
    { url: null },
  ]) {
    answer('archive.org', json({ archived_snapshots: { closest: { ...closest, ...change } } }))
    assert.equal(await findWaybackFile(ask, fileUrl), undefined, JSON.stringify(change))
  }
  answer('archive.org', json({ archived_snapshots: {} }))
  assert.equal(await findWaybackFile(ask, fileUrl), undefined)
})

test('a host that refuses is not one without copies', async () => {
  const page = { headers: { 'content-type': 'text/html' }, body: '<html>Sorry</html>' }
  for (const reply of [{ status: 429 }, { status: 503 }, { ...page, status: 503 }]) {
    answer('archive.org', reply)
    answer('web.archive.org', reply)
    for (const find of [findItem, findWaybackVideo, findWaybackFile])
      await assert.rejects(find(ask, id), OutboundError)
  }
  answer('archive.org', page)
  for (const find of [findItem, findWaybackFile]) await assert.rejects(find(ask, id), OutboundError)
})

test('hostile answers are no copies', async () => {
  const hurried: Ask = (request) =>
    probeOutbound(request, { ...world.guard, timeoutMs: 300, userAgent: 'test' })
  for (const behaviour of Object.keys(hostileBehaviours)) {
    answer('archive.org', { behaviour })
    answer('web.archive.org', { behaviour })
    for (const find of [findItem, findWaybackVideo, findWaybackFile]) {
      const found = await find(hurried, id).catch((error) => {
        assert.ok(error instanceof OutboundError, behaviour)
        return undefined
      })
      assert.equal(found, undefined, behaviour)
    }
  }
})
