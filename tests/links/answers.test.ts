import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { awayStates, type SourceKind, sourceKinds, verdicts } from '@talkshelf/contract'
import {
  type Ask,
  identify,
  look,
  lookAtMany,
  type ProbedSource,
  type ProbeResult,
  witness,
} from '../../server/links/probes/probes.ts'
import { isAllowedBy, parseRobots } from '../../server/links/robots.ts'
import { probeOutbound } from '../../server/platform/net/probe.ts'
import { type HostAnswer, hostAnswers, questionsOf } from './answers.ts'
import { hostileBehaviours } from './hostile.ts'
import { fill, type ScriptedVideo, startWorld } from './world.ts'

// Plays every answer of answers.ts, and what hostile hosts do, over real HTTP to the real probes.

const nowMs = Date.parse('2026-11-19T10:00:00Z')
const world = await startWorld(() => nowMs)
after(() => world.close())

const userAgent = 'Talkshelf/test (+https://talks.example.org)'
const askWithin =
  (timeoutMs: number): Ask =>
  (request) =>
    probeOutbound(request, { ...world.guard, timeoutMs, quietMs: timeoutMs, userAgent })
const ask = askWithin(30_000)
const key = 'key of the operator'

/** Returns the id of a video that no other test uses. */
function newId(kind: SourceKind): string {
  const number = nextNumber++
  if (kind === 'youtube') return `video${`${number}`.padStart(6, '0')}`
  if (kind === 'vimeo') return `${100_000_000 + number}`
  if (kind === 'peertube') return `8ac2f8c8-0b0b-4f1e-9d0e-${`${number}`.padStart(12, '0')}`
  return `example-talk-${number}`
}
let nextNumber = 1

/** Makes a video give an answer. */
function play(answer: HostAnswer): { video: ScriptedVideo; source: ProbedSource } {
  const video = { kind: answer.kind, id: newId(answer.kind) }
  const url = world.script(video, [{ fromDay: 0, answer }])
  const source = identify(url)
  assert.ok(source, url)
  assert.deepEqual([source.kind, source.host], [answer.kind, identify(url)?.host])
  return { video, source }
}

for (const answer of hostAnswers)
  test(`${answer.name} is ${answer.verdict}`, async () => {
    const { video, source } = play(answer)
    const first = world.requests.length
    const result = answer.isByKey
      ? (await lookAtMany(ask, [{ ...source, owner: fill('{owner}', video) }], key)).results[0]
      : await look(ask, source)
    assert.ok(result)
    const expected = (text: string | undefined) => text && fill(text, video)
    assert.equal(result.verdict, answer.verdict, result.evidence)
    assert.equal(
      result.owner ?? undefined,
      result.owner && (expected(answer.owner) ?? result.owner),
    )
    if (answer.owner !== undefined) assert.equal(result.owner, expected(answer.owner))
    assert.equal(result.movedTo, expected(answer.movedTo))
    assert.equal(result.retryAfterSeconds, answer.retryAfterSeconds)
    assertClean(result)

    const asked = world.requests.slice(first)
    assert.equal(asked[0]?.host, answer.isByKey ? 'www.googleapis.com' : source.host)
    assert.ok(asked.every((request) => request.userAgent === userAgent))
    for (const { method, range } of asked)
      assert.equal(range, answer.kind === 'file' && method === 'GET' ? 'bytes=0-1' : undefined)
    // Redirects are part of one request. A loop has five of them.
    const direct = asked.filter(({ host, path }) => isAskedFor(video, host, path))
    assert.ok(direct.length <= 2 || answer.name.endsWith('redirect loop'), `${direct.length}`)
    assert.ok(asked.length <= 12, `${asked.length} requests`)

    const second = await witness(ask, source)
    assert.equal(second.verdict, answer.witness, second.evidence)
    assertClean(second)
  })

/** Tells whether a request is one of the probe itself, and no redirect. */
function isAskedFor(video: ScriptedVideo, host: string, path: string): boolean {
  return questionsOf(video.kind).some((url) => fill(url, video) === `https://${host}${path}`)
}

test('has every verdict of every kind, and 45 answers at least', () => {
  const names = hostAnswers.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  assert.ok(names.length >= 45, `${names.length}`)
  assert.deepEqual(new Set(hostAnswers.map(({ kind }) => kind)), new Set(sourceKinds))
  assert.deepEqual(new Set(hostAnswers.map(({ verdict }) => verdict)), new Set(verdicts))
})

test('asks YouTube for nothing that its robots.txt forbids', async () => {
  const { body } = await ask({ url: 'https://www.youtube.com/robots.txt' })
  const robots = parseRobots(body)
  const paths = world.requests.flatMap(({ host, path }) => (host === 'www.youtube.com' ? path : []))
  assert.ok(paths.length > 10)
  for (const path of paths) assert.ok(isAllowedBy(robots, path), path)
  assert.equal(isAllowedBy(robots, '/youtubei/v1/player'), false)
  assert.ok(!paths.some((path) => path.startsWith('/watch')))
})

const faults = [
  'no-address',
  'refuses-connections',
  'resets-connections',
  'never-answers',
  'expired-certificate',
  'unknown-authority',
  'certificate-of-another-host',
] as const

for (const fault of faults)
  test(`a host that has the fault ${fault} refuses`, async () => {
    for (const kind of sourceKinds) {
      const answer = hostAnswers.find((one) => one.kind === kind && one.verdict === 'ok')
      assert.ok(answer)
      const { source } = play(answer)
      world.hostDays(source.host, [{ fromDay: 0, fault }])
      const result = await look(askWithin(fault === 'never-answers' ? 300 : 30_000), source)
      world.hostDays(source.host, [])
      assert.equal(result.verdict, 'refused', `${kind}: ${result.evidence}`)
      assertClean(result)
    }
  })

test('a redirect to a host that fails is the fault of the host only if it is the same', async () => {
  const failing = 'failing.example.org'
  world.hostDays(failing, [{ fromDay: 0, fault: 'expired-certificate' }])
  for (const kind of ['file', 'page'] as const)
    for (const [host, verdict] of [
      [failing, 'refused'],
      [`www.${failing}`, 'refused'],
      ['other.example.org', 'odd'],
    ] as const) {
      const url = `http://${host}/{id}${kind === 'file' ? '.mp4' : ''}`
      const { source } = play({
        name: 'redirect to a failing host',
        kind,
        source: url,
        replies: { [url]: { status: 301, headers: { location: `https://${failing}/{id}` } } },
        verdict,
        witness: verdict,
        documentedIn: 'RFC 9110',
      })
      const result = await look(ask, source)
      assert.equal(result.verdict, verdict, `${host}: ${result.evidence}`)
      assertClean(result)
    }
})

const slow = [
  'never answers',
  'sends its headers a byte at a time',
  'sends its body a byte at a time',
  'stops within the body',
  'announces a length above the limit',
]
/** Hostile servers that answer 404, 410 or 401, as hosts do. */
const meaningful = ['answers 404', 'answers 410', 'answers 401']

for (const behaviour of Object.keys(hostileBehaviours))
  test(`a host that ${behaviour} never makes a video go away`, async () => {
    for (const kind of sourceKinds) {
      const reply = { status: 200, behaviour }
      const { source } = play({
        name: behaviour,
        kind,
        replies: Object.fromEntries(questionsOf(kind).map((question) => [question, reply])),
        verdict: 'odd',
        witness: 'odd',
        documentedIn: 'hostile.ts',
      })
      const patient = askWithin(slow.includes(behaviour) ? 300 : 30_000)
      for (const probe of [look, witness]) {
        const result = await probe(patient, source)
        assertClean(result)
        const isAway = (awayStates as readonly string[]).includes(result.verdict)
        assert.ok(!isAway || meaningful.includes(behaviour), `${kind}: ${JSON.stringify(result)}`)
      }
    }
  })

test('a hostile API makes no video of a batch go away', async () => {
  for (const behaviour of Object.keys(hostileBehaviours)) {
    const sources = hostAnswers
      .filter(({ name }) => name === 'videos.list: found' || name === 'videos.list: unlisted')
      .map((answer) => play(answer).source)
    world.hostDays('www.googleapis.com', [{ fromDay: 0, reply: { status: 200, behaviour } }])
    const patient = askWithin(slow.includes(behaviour) ? 300 : 30_000)
    const { results } = await lookAtMany(patient, sources, key)
    world.hostDays('www.googleapis.com', [])
    assert.equal(results.length, sources.length)
    for (const result of results) {
      assertClean(result)
      assert.ok(['odd', 'refused'].includes(result.verdict), `${behaviour}: ${result.evidence}`)
    }
  }
})

/** Asserts that a result can be stored and shown, whatever a host sent. */
function assertClean(result: ProbeResult): void {
  assert.ok(verdicts.includes(result.verdict), result.verdict)
  assert.match(result.evidence, /^[\x20-\x7e]{5,200}$/)
  const { owner, title, movedTo, seconds, retryAfterSeconds } = result
  for (const [text, maxLength] of [
    [owner, 200],
    [title, 500],
    [movedTo, 2048],
  ] as const) {
    if (text === undefined) continue
    assert.ok(text !== '' && text.isWellFormed() && [...text].length <= maxLength, text)
    assert.doesNotMatch(text, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  }
  if (movedTo !== undefined) assert.match(movedTo, /^https?:\/\/[^/@]+\//)
  if (seconds !== undefined) assert.ok(Number.isSafeInteger(seconds) && seconds > 0)
  if (retryAfterSeconds !== undefined)
    assert.ok(Number.isSafeInteger(retryAfterSeconds) && retryAfterSeconds <= 7 * 24 * 3600)
}
