import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  afterAnswer,
  afterOffline,
  afterRefusal,
  afterRequest,
  type HostPace,
  isOffline,
  isOwnerClosed,
  isSilent,
  isUnwell,
  mayAsk,
  newPace,
  nextTurn,
} from './host-pace.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** Noon, UTC. */
const start = Date.UTC(2026, 0, 1, 12)
const middle = () => 0.5
const lowest = () => 0
const highest = () => 1 - 2 ** -32

const pauseHours = ({ pausedUntil }: HostPace, now: number) => (pausedUntil - now) / hourMs
const answered = (pace: HostPace, bad: string[], good: number): HostPace =>
  [
    ...bad.map((owner) => ({ owner, isBad: true })),
    ...Array.from({ length: good }, () => ({ owner: 'anyone', isBad: false })),
  ].reduce((next, look) => afterAnswer(next, start, look), pace)

test('hosts with interfaces for programs are asked every second, others every five', () => {
  for (const host of ['www.youtube.com', 'archive.org', 'www.googleapis.com'])
    assert.equal(newPace(host).gapMs, 1000)
  for (const host of ['example.org', 'youtube.com', 'www.archive.org', 'vimeo.com'])
    assert.equal(newPace(host).gapMs, 5000)
})

test('the gap between two requests varies by 30 %', () => {
  const gap = (random: () => number) =>
    nextTurn(afterRequest(newPace('archive.org'), start, random), start) - start
  assert.deepEqual([lowest, middle, highest].map(gap), [700, 1000, 1300])
  const pace = afterRequest(newPace('archive.org'), start, lowest)
  assert.equal(mayAsk(newPace('archive.org'), start), true)
  assert.equal(mayAsk(pace, start + 699), false)
  assert.equal(mayAsk(pace, start + 700), true)
})

test('the budget of a day ends at midnight, UTC', () => {
  let pace = newPace('example.org', 3)
  for (let now = start; now < start + 3 * minuteMs; now += minuteMs) {
    assert.equal(mayAsk(pace, now), true)
    pace = afterRequest(pace, now, middle)
  }
  const later = start + hourMs
  assert.equal(mayAsk(pace, later), false)
  assert.equal(nextTurn(pace, later), start + dayMs / 2)
  assert.equal(mayAsk(pace, start + dayMs / 2), true)
  pace = afterRequest(pace, start + dayMs / 2, middle)
  assert.equal(pace.used, 1)
})

test('a request may cost several units', () => {
  const pace = afterRequest(newPace('www.googleapis.com', 100), start, middle, 60)
  assert.equal(mayAsk(pace, start + minuteMs, 40), true)
  assert.equal(mayAsk(pace, start + minuteMs, 41), false)
  assert.equal(newPace('www.googleapis.com').budget, 10_000)
})

test('a host that refuses is paused for an hour, doubling to a week', () => {
  const hours: number[] = []
  let pace = newPace('example.org')
  for (let now = start, step = 0; step < 11; step++) {
    pace = afterRefusal(pace, now, undefined)
    hours.push(pauseHours(pace, now))
    assert.equal(mayAsk(pace, pace.pausedUntil - 1), false)
    assert.equal(mayAsk(pace, pace.pausedUntil), true)
    now = pace.pausedUntil
  }
  assert.deepEqual(hours, [1, 2, 4, 8, 16, 32, 64, 128, 168, 168, 168])
  assert.equal(pace.pauseStep, 9)
})

test('an answer ends the pauses of a host', () => {
  const refusing = afterRefusal(afterRefusal(newPace('example.org'), start, 60), start, 60)
  const pace = afterAnswer(refusing, start + hourMs)
  assert.equal(mayAsk(pace, start + hourMs), true)
  assert.equal(pauseHours(afterRefusal(pace, start, undefined), start), 1)
})

test('a host is not asked before it wants to be, but after a week at the latest', () => {
  const pause = (retryAfter: number) =>
    pauseHours(afterRefusal(newPace('example.org'), start, retryAfter), start)
  assert.equal(pause(5 * 3600), 5)
  assert.equal(pause(20), 1)
  assert.equal(pause(0), 1)
  assert.equal(pause(-1), 1)
  assert.equal(pause(Number.NaN), 1)
  assert.equal(pause(30 * 24 * 3600), 168)
  assert.equal(pause(Number.POSITIVE_INFINITY), 168)
})

const owners = ['a', 'b', 'c', 'd', 'e']

test('a host is unwell if a fifth of the last 50 looks is bad, of five owners', () => {
  const pace = newPace('example.org')
  assert.equal(isUnwell(answered(pace, [...owners, ...owners], 40)), true)
  assert.equal(isUnwell(answered(pace, [...owners, ...owners], 41)), false)
  assert.equal(isUnwell(answered(pace, [...owners, 'a', 'b', 'c', 'd'], 0)), false)
  const four = [...'abcdabcdabcdabcdabcd']
  assert.equal(isUnwell(answered(pace, four, 0)), false)
  assert.equal(isUnwell(answered(pace, [...four, 'e'], 0)), true)
  assert.equal(isUnwell(pace), false)
})

test('a host that is unwell is paused after bad answers, and not after good ones', () => {
  const unwell = answered(newPace('example.org'), [...owners, ...owners], 0)
  assert.equal(pauseHours(unwell, start), 1)
  const again = afterAnswer(unwell, start, { owner: 'a', isBad: true })
  assert.equal(pauseHours(again, start), 2)
  assert.equal(again.refusingSince, null)
  const good = afterAnswer(again, start, { owner: 'a', isBad: false })
  assert.equal(mayAsk(good, start), true)
  assert.equal(isUnwell(good), true)
  assert.equal(mayAsk(answered(newPace('example.org'), ['a', 'b'], 0), start), true)
})

test('looks that do not count leave no trace but the answer', () => {
  const pace = afterAnswer(newPace('example.org'), start)
  assert.deepEqual(pace.looks, [])
  assert.equal(pace.lastAnswer, start)
})

test('a host is silent once it has refused everything for a day', () => {
  const refusing = afterRefusal(newPace('example.org'), start, undefined)
  const later = afterRefusal(refusing, start + dayMs / 2, undefined)
  assert.equal(isSilent(newPace('example.org'), start), false)
  assert.equal(isSilent(later, start + dayMs - 1), false)
  assert.equal(isSilent(later, start + dayMs), true)
  assert.equal(isSilent(afterAnswer(later, start + dayMs), start + dayMs), false)
})

/** Three hosts that refuse, a minute apart. */
const refusing = [0, 1, 2].map((minute) =>
  afterRefusal(newPace(`${minute}.example.org`), start + minute * minuteMs, undefined),
)
const [first, second] = refusing as [HostPace, HostPace, HostPace]
const now = start + 2 * minuteMs

test('we are offline if three hosts refuse within ten minutes, and none answers', () => {
  assert.equal(isOffline(refusing, now), true)
  assert.equal(isOffline([first, second], now), false)
  assert.equal(isOffline([first, second, newPace('example.org')], now), false)
  assert.equal(isOffline(refusing, start + 10 * minuteMs - 1), true)
  assert.equal(isOffline(refusing, start + 10 * minuteMs), false)
  const answeredAt = (time: number) => afterAnswer(newPace('example.org'), time)
  assert.equal(isOffline([...refusing, answeredAt(start - 1)], now), true)
  assert.equal(isOffline([...refusing, answeredAt(start)], now), false)
  assert.equal(isOffline([], now), false)
})

test('while we are offline, no host is paused, and one more refusal is enough', () => {
  const stopped = [...refusing, newPace('example.org')].map((pace) => afterOffline(pace, now))
  for (const pace of stopped) assert.equal(mayAsk(pace, now), true)
  assert.equal(stopped[0]?.pauseStep, 0)
  assert.equal(stopped[0]?.refusingSince, null)
  const later = now + 5 * minuteMs
  const [asked = assert.fail(), ...others] = stopped
  assert.equal(isOffline([afterAnswer(asked, later), ...others], later), false)
  let paces = stopped
  for (let time = later; time < now + hourMs; time += 5 * minuteMs) {
    const [host = assert.fail(), ...rest] = paces
    const refused = [afterRefusal(host, time, undefined), ...rest]
    assert.equal(isOffline(refused, time), true)
    paces = refused.map((pace) => afterOffline(pace, time))
  }
})

test('a host that was paused before we were offline stays paused', () => {
  assert.equal(afterOffline(first, start + 10 * minuteMs), first)
})

test('the account of an owner is closed if almost all of its sources turned bad', () => {
  assert.equal(isOwnerClosed({ bad: 5, known: 5 }), true)
  assert.equal(isOwnerClosed({ bad: 4, known: 4 }), false)
  assert.equal(isOwnerClosed({ bad: 9, known: 10 }), true)
  assert.equal(isOwnerClosed({ bad: 89, known: 100 }), false)
})

test('whatever comes, requests keep the gap and the budget, and no pause exceeds a week', () => {
  const event = fc.record({
    waitMs: fc.oneof(fc.nat(2000), fc.nat(hourMs), fc.nat(3 * dayMs)),
    kind: fc.constantFrom('good', 'good', 'good', 'bad', 'refused', 'offline' as const),
    owner: fc.constantFrom(...owners, 'f'),
    retryAfter: fc.option(fc.integer({ min: -10, max: 10_000_000 }), { nil: undefined }),
    random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  })
  const budgets = fc.integer({ min: 1, max: 20 })
  fc.assert(
    fc.property(budgets, fc.array(event, { maxLength: 120, size: 'max' }), (budget, events) => {
      let pace = newPace('example.org', budget)
      let time = start
      let last = Number.NEGATIVE_INFINITY
      const days = new Map<number, number>()
      for (const { waitMs, kind, owner, retryAfter, random } of events) {
        time += waitMs
        const turn = nextTurn(pace, time)
        assert.ok(turn >= time && turn <= time + 9 * dayMs)
        assert.equal(mayAsk(pace, turn), true)
        if (!mayAsk(pace, time)) continue
        assert.ok(time - last >= 3500)
        last = time
        const day = Math.floor(time / dayMs)
        days.set(day, (days.get(day) ?? 0) + 1)
        pace = afterRequest(pace, time, () => random)
        if (kind === 'refused') pace = afterRefusal(pace, time, retryAfter)
        else if (kind === 'offline') pace = afterOffline(afterRefusal(pace, time, retryAfter), time)
        else pace = afterAnswer(pace, time, { owner, isBad: kind === 'bad' })
        assert.ok(pace.pausedUntil <= time + 7 * dayMs)
        assert.ok(pace.looks.length <= 50)
        assert.ok(pace.pauseStep <= 9)
        assert.deepEqual(JSON.parse(JSON.stringify(pace)), pace)
      }
      for (const requests of days.values()) assert.ok(requests <= budget)
    }),
    { numRuns: 1000 },
  )
})
