import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awayStates, limitedStates, type SourceState, verdicts } from '@talkshelf/contract'
import fc from 'fast-check'
import {
  applyLook,
  concernsHost,
  type Look,
  newHealth,
  pin,
  publicState,
  questionsFor,
  type SourceHealth,
  unpin,
} from './source-health.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const start = Date.UTC(2026, 0, 1)
const middle = () => 0.5
const lowest = () => 0
const highest = () => 1 - 2 ** -32

/** A look when it is due, or some days after the last one, with the answers that make it count. */
type Step = Omit<Partial<Look>, 'at'> & { verdict: Look['verdict']; afterDays?: number }

const isAway = (state: string) => (awayStates as readonly string[]).includes(state)
const isLimited = (state: string) => (limitedStates as readonly string[]).includes(state)
const isMarked = (state: string) => isAway(state) || isLimited(state)

function look(health: SourceHealth, { verdict, afterDays, ...others }: Step): Look {
  const last = health.looks.at(-1)?.at ?? health.since
  const at = afterDays === undefined ? health.nextCheck : last + afterDays * dayMs
  const witness = isAway(verdict) ? verdict : undefined
  return { at, verdict, control: 'good', witness, repeated: verdict, ...others }
}

/** Plays looks one after the other. */
function play(health: SourceHealth, ...steps: Step[]): SourceHealth {
  return steps.reduce((next, step) => applyLook(next, look(next, step), middle).health, health)
}

const times = (count: number, step: Step): Step[] => Array.from({ length: count }, () => step)
const waitDays = ({ nextCheck, looks }: SourceHealth) =>
  (nextCheck - (looks.at(-1)?.at ?? 0)) / dayMs
/** The shortest and the longest wait after a look, in days. */
const waitsAfter = (health: SourceHealth, step: Step) =>
  [lowest, highest].map((random) =>
    Number(waitDays(applyLook(health, look(health, step), random).health).toFixed(3)),
  )

const fresh = newHealth(start, middle)
const good = { verdict: 'ok' } as const
const gone = { verdict: 'gone' } as const
const region = { verdict: 'region' } as const
const refused = { verdict: 'refused', control: 'not-asked' } as const
const odd = { verdict: 'odd', control: 'not-asked' } as const
const well = play(fresh, good)
const away = play(well, gone, gone, gone)
const limited = play(well, region, region)
const unreachable = play(well, ...times(5, refused))

test('a new source is looked at within an hour, not all at once', () => {
  assert.equal(fresh.state, 'new')
  assert.deepEqual(
    [lowest, highest].map((random) => newHealth(start, random).nextCheck - start),
    [1, hourMs],
  )
})

test('a source that is there is ok, and looked at every 24 days or so', () => {
  assert.deepEqual(applyLook(fresh, look(fresh, good), middle).change, { from: 'new', to: 'ok' })
  assert.equal(well.state, 'ok')
  assert.equal(well.lastGood, fresh.nextCheck)
  assert.deepEqual(waitsAfter(fresh, good), [19.2, 28.8])
  assert.deepEqual(waitsAfter(well, good), [19.2, 28.8])
  assert.equal(play(well, good).since, well.since)
})

test('the first bad look is shown to editors only, and asked again after 2 and 5 days', () => {
  const first = applyLook(well, look(well, gone), middle)
  assert.equal(first.health.state, 'suspect')
  assert.equal(first.health.since, well.nextCheck)
  assert.equal(first.change, undefined)
  assert.equal(publicState(first.health), 'ok')
  assert.deepEqual(waitsAfter(well, gone), [2, 2.4])
  const second = applyLook(first.health, look(first.health, gone), middle)
  assert.equal(second.health.state, 'suspect')
  assert.equal(second.change, undefined)
  assert.deepEqual(waitsAfter(first.health, gone), [4, 6])
})

test('a new source that is bad stays new for readers', () => {
  const first = applyLook(fresh, look(fresh, gone), middle)
  assert.equal(first.health.state, 'suspect')
  assert.equal(first.change, undefined)
  assert.equal(publicState(first.health), 'new')
  const back = applyLook(first.health, look(first.health, good), middle)
  assert.deepEqual(back.change, { from: 'new', to: 'ok' })
})

test('the third strike marks a source as away, with its last verdict', () => {
  const suspect = play(well, gone, gone)
  const { health, change } = applyLook(suspect, look(suspect, { verdict: 'private' }), middle)
  assert.equal(health.state, 'private')
  assert.equal(health.since, suspect.nextCheck)
  assert.equal(health.strikes, null)
  assert.deepEqual(change, { from: 'ok', to: 'private' })
})

test('two strikes of the same verdict mark a source as limited', () => {
  assert.equal(play(well, region).state, 'suspect')
  assert.equal(limited.state, 'region')
  const mixed = play(well, region, { verdict: 'age' })
  assert.equal(mixed.state, 'suspect')
  assert.equal(play(mixed, { verdict: 'age' }).state, 'age')
})

test('away and limited strikes do not count together', () => {
  const suspect = play(well, gone, gone, region)
  assert.equal(suspect.state, 'suspect')
  assert.equal(suspect.strikes?.count, 1)
  assert.equal(play(well, region, gone, gone).state, 'suspect')
  assert.equal(play(well, region, gone, gone, gone).state, 'gone')
  // The 6 days count from the first of the away ones.
  const [four, two] = [4, 2].map((afterDays) => ({ ...gone, afterDays })) as [Step, Step]
  assert.equal(play(well, region, four, two, two).state, 'suspect')
})

test('a bad look is a strike if it is at least 48 hours after the last', () => {
  const first = play(well, gone)
  assert.equal(play(first, { ...gone, afterDays: 1.99 }).strikes?.count, 1)
  assert.equal(play(first, { ...gone, afterDays: 2 }).strikes?.count, 2)
  assert.equal(play(well, region, { ...region, afterDays: 1.99 }).state, 'suspect')
})

test('however often editors ask, nothing is marked away within 6 days of the first strike', () => {
  const impatient = play(well, gone, ...times(2, { ...gone, afterDays: 2 }))
  assert.equal(impatient.state, 'suspect')
  assert.equal(impatient.strikes?.count, 2)
  assert.equal(play(impatient, { ...gone, afterDays: 1.99 }).state, 'suspect')
  assert.equal(play(impatient, { ...gone, afterDays: 2 }).state, 'gone')
})

test('a bad look without a good answer of the control source is void', () => {
  for (const control of ['bad', 'not-asked'] as const) {
    const after = play(well, { ...gone, control })
    assert.equal(after.state, 'suspect')
    assert.equal(after.strikes, null)
    assert.equal(publicState(after), 'ok')
    assert.deepEqual(waitsAfter(well, { ...gone, control }), [2, 2.4])
    const suspect = play(well, gone, gone)
    assert.equal(play(suspect, { ...gone, control }).strikes?.count, 2)
    assert.deepEqual(waitsAfter(suspect, { ...gone, control }), [4, 6])
  }
  assert.equal(play(well, { ...odd, control: 'bad' }).state, 'ok')
})

test('a look concerns the host if the source is ok, or suspect for less than a week', () => {
  const at = well.nextCheck
  assert.equal(concernsHost(well, 'gone', at), true)
  const doubted = play(well, { ...gone, control: 'bad' })
  assert.equal(concernsHost(doubted, 'gone', doubted.since + 6.9 * dayMs), true)
  assert.equal(concernsHost(doubted, 'gone', doubted.since + 7 * dayMs), false)
  assert.equal(concernsHost(doubted, 'ok', doubted.since + 7 * dayMs), true)
  const struck = play(well, gone)
  assert.equal(concernsHost(struck, 'gone', struck.since + dayMs), false)
})

test('without a control source, two more strikes are needed', () => {
  const alone = { ...gone, control: 'none' } as const
  assert.equal(play(well, ...times(4, alone)).state, 'suspect')
  assert.equal(play(well, ...times(5, alone)).state, 'gone')
  const limitedAlone = { ...region, control: 'none' } as const
  assert.equal(play(well, ...times(3, limitedAlone)).state, 'suspect')
  assert.equal(play(well, ...times(4, limitedAlone)).state, 'region')
  assert.equal(play(well, ...times(4, { ...limitedAlone, afterDays: 2 })).state, 'region')
})

test('where the witness differs, a source stays suspect', () => {
  const suspect = play(well, gone, gone)
  for (const witness of ['ok', 'embed-off'] as const) {
    const after = play(suspect, ...times(5, { ...gone, witness }))
    assert.equal(after.state, 'suspect')
    assert.equal(after.strikes?.count, 2)
    assert.equal(play(well, { ...gone, witness }).strikes, null)
  }
  assert.equal(play(suspect, { ...gone, witness: 'removed' }).state, 'gone')
  assert.equal(play(suspect, { ...gone, witness: 'ok' }, gone).state, 'gone')
})

test('without an answer of a witness, one more strike is needed', () => {
  for (const witness of [undefined, 'odd', 'refused'] as const) {
    const alone = { ...gone, witness }
    assert.equal(play(well, ...times(3, alone)).state, 'suspect')
    assert.equal(play(well, ...times(4, alone)).state, 'gone')
    const both = { ...alone, control: 'none' } as const
    assert.equal(play(well, ...times(5, both)).state, 'suspect')
    assert.equal(play(well, ...times(6, both)).state, 'gone')
  }
})

test('where the same question is answered well the second time, a source is not limited', () => {
  const suspect = play(well, region)
  const after = play(suspect, { ...region, repeated: 'ok' })
  assert.equal(after.state, 'suspect')
  assert.equal(after.strikes?.count, 1)
  for (const repeated of [undefined, 'refused', 'region'] as const)
    assert.equal(play(suspect, { ...region, repeated }).state, 'region')
})

test('a good look brings a source back from every state at once', () => {
  for (const health of [away, limited, unreachable, play(well, gone), play(well, odd)]) {
    const back = applyLook(health, look(health, good), middle)
    assert.equal(back.health.state, 'ok')
    assert.equal(back.health.strikes, null)
    assert.deepEqual(back.health.refusals, [])
    const shown = publicState(health)
    assert.deepEqual(back.change, shown === 'ok' ? undefined : { from: shown, to: 'ok' })
  }
})

test('a good look forgets the strikes before', () => {
  assert.equal(play(well, gone, gone, good, gone, gone).state, 'suspect')
  assert.equal(play(well, region, good, region).state, 'suspect')
})

/** Plays three bad looks and a good one, 4 days later. */
const trouble: Step[] = [gone, gone, gone, { ...good, afterDays: 4 }]

test('after two returns within 90 days, three good looks are needed', () => {
  const flapping = play(well, ...trouble, ...trouble)
  assert.equal(flapping.state, 'ok')
  assert.equal(flapping.returns.length, 2)
  const first = play(flapping, ...trouble)
  assert.equal(first.state, 'gone')
  assert.equal(first.goodLooks, 1)
  assert.ok(waitDays(first) <= 2.4)
  const second = play(first, good)
  assert.equal(second.state, 'gone')
  assert.ok(waitDays(second) <= 6)
  assert.equal(play(second, good).state, 'ok')
  assert.equal(play(second, good).goodLooks, 0)
  assert.equal(play(first, gone, good, good).state, 'gone')
})

test('the last two returns are kept, however many there are', () => {
  const quick = [...times(3, { ...gone, afterDays: 3 }), ...times(3, { ...good, afterDays: 1 })]
  const often = play(well, ...Array.from({ length: 5 }, () => quick).flat())
  assert.equal(often.state, 'ok')
  assert.equal(often.returns.length, 2)
})

test('returns that are further apart do not count together', () => {
  const once = play(well, ...trouble)
  const later = play(once, ...times(4, good), ...trouble)
  assert.equal(later.state, 'ok')
  assert.equal(later.returns.length, 1)
  assert.equal(play(later, gone, good).returns.length, 1)
})

test('what is away is asked again after 30, 90 and 180 days', () => {
  assert.deepEqual(waitsAfter(play(well, gone, gone), gone), [27, 33])
  assert.deepEqual(waitsAfter(away, gone), [81, 99])
  assert.deepEqual(waitsAfter(play(away, gone), gone), [162, 198])
  assert.deepEqual(waitsAfter(play(away, gone, gone), gone), [162, 198])
  assert.equal(play(away, gone, gone).since, away.since)
})

test('what is limited is asked every 28 days or so', () => {
  assert.deepEqual(waitsAfter(play(well, region), region), [22.4, 33.6])
  assert.deepEqual(waitsAfter(limited, region), [22.4, 33.6])
  assert.equal(play(limited, region).since, limited.since)
})

test('a marked source keeps its state until another one is proven', () => {
  const changing = play(limited, gone, gone)
  assert.equal(changing.state, 'region')
  assert.equal(waitDays(changing), 5)
  assert.equal(play(changing, gone).state, 'gone')
  assert.equal(play(changing, region).strikes, null)
  assert.equal(play(away, { verdict: 'private' }, { verdict: 'private' }).state, 'gone')
  assert.equal(play(away, ...times(3, { verdict: 'private' })).state, 'private')
})

test('a refusal is the problem of the host, and no strike', () => {
  const suspect = play(well, gone, gone)
  const after = play(suspect, refused)
  assert.deepEqual(after.strikes, suspect.strikes)
  assert.equal(after.state, 'suspect')
  assert.equal(play(well, refused).state, 'ok')
  assert.deepEqual(waitsAfter(well, refused), [3.2, 4.8])
  assert.equal(play(fresh, refused).state, 'new')
})

test('five refusals over weeks make a source unreachable', () => {
  assert.equal(play(well, ...times(4, refused)).state, 'ok')
  assert.equal(unreachable.state, 'unreachable')
  assert.deepEqual(waitsAfter(play(well, ...times(4, refused)), refused), [5.6, 8.4])
  assert.deepEqual(waitsAfter(unreachable, refused), [5.6, 8.4])
  for (let count = 1; count < 8; count++)
    assert.deepEqual(waitsAfter(play(unreachable, ...times(count, refused)), refused), [5.6, 8.4])
  assert.equal(play(fresh, ...times(5, refused)).state, 'unreachable')
  assert.equal(play(limited, ...times(5, refused)).state, 'unreachable')
  assert.equal(play(well, gone, gone, ...times(5, refused)).strikes, null)
})

test('refusals on the same days count once', () => {
  const often = play(well, ...times(32, { ...refused, afterDays: 0.4 }))
  assert.equal(often.state, 'ok')
  assert.equal(often.refusals.length, 4)
  assert.equal(play(often, { ...refused, afterDays: 0.4 }).state, 'unreachable')
})

test('refusals are forgotten after 21 days, and when the host answers', () => {
  assert.equal(play(well, ...times(4, refused), { ...refused, afterDays: 10 }).state, 'ok')
  for (const answer of [odd, good, gone])
    assert.deepEqual(play(well, ...times(4, refused), answer).refusals, [])
})

test('what is away stays away while its host refuses', () => {
  assert.equal(play(away, ...times(9, refused)).state, 'gone')
  assert.deepEqual(waitsAfter(away, refused), [81, 99])
})

test('an unreachable source can be marked, and stays unreachable until then', () => {
  const changing = play(unreachable, gone, gone)
  assert.equal(changing.state, 'unreachable')
  assert.equal(play(changing, gone).state, 'gone')
})

test('an odd answer makes a source suspect, and never more', () => {
  assert.equal(play(fresh, odd).state, 'suspect')
  const suspect = play(well, odd)
  assert.equal(suspect.state, 'suspect')
  assert.deepEqual(waitsAfter(well, odd), [2, 2.4])
  assert.deepEqual(waitsAfter(play(well, odd), odd), [4, 6])
  assert.equal(play(well, ...times(30, odd)).state, 'suspect')
  assert.equal(play(well, ...times(30, odd)).strikes, null)
  assert.equal(play(well, gone, gone, odd).strikes?.count, 2)
  for (const health of [away, limited, unreachable])
    assert.equal(play(health, ...times(9, odd)).state, health.state)
  assert.deepEqual(waitsAfter(limited, odd), [22.4, 33.6])
  assert.deepEqual(waitsAfter(play(limited, gone), odd), [4, 6])
})

test('what has been in doubt for three weeks is asked as rarely as what is well', () => {
  const differing = { ...gone, witness: 'ok' } as const
  for (const step of [odd, differing]) {
    const suspect = play(well, gone, gone, ...times(4, step))
    assert.ok(suspect.nextCheck - suspect.since > 21 * dayMs)
    assert.deepEqual(waitsAfter(suspect, step), [19.2, 28.8])
  }
})

test('the state is closed if the account of the owner is closed at the last strike', () => {
  const closing = { ...gone, ownerIsClosed: true }
  const closed = play(well, gone, gone, closing)
  assert.equal(closed.state, 'closed')
  assert.equal(play(well, closing, closing, gone).state, 'gone')
  assert.equal(play(well, region, { ...region, ownerIsClosed: true }).state, 'region')
  // Its host still says that the video is gone.
  assert.equal(play(closed, ...times(4, gone)).state, 'closed')
  assert.equal(play(closed, ...times(4, gone)).strikes, null)
})

test('a pin keeps the state until its day, whatever looks find', () => {
  const now = well.nextCheck
  const pinned = pin(well, 'gone', now + 100 * dayMs, now)
  assert.equal(pinned.state, 'gone')
  assert.equal(pinned.since, now)
  for (const step of [good, gone, region, odd, refused]) {
    const { health, change } = applyLook(pinned, look(pinned, step), middle)
    assert.equal(change, undefined)
    assert.equal(health.state, 'gone')
    assert.equal(health.looks.at(-1)?.verdict, step.verdict)
    assert.equal(health.strikes, null)
    assert.equal(waitDays(health), 30)
  }
  const kept = pin(well, 'ok', now + 400 * dayMs, now)
  assert.equal(play(kept, ...times(12, gone)).state, 'ok')
  assert.equal(kept.since, well.since)
  assert.equal(kept.lastGood, now)
})

test('a source is looked at when its pin ends, and the rules hold again', () => {
  const now = well.nextCheck
  const pinned = pin(well, 'gone', now + 100 * dayMs, now)
  const last = play(pinned, good, good)
  assert.equal(last.state, 'gone')
  assert.equal(last.nextCheck, now + 100 * dayMs)
  const back = play(last, good)
  assert.equal(back.state, 'ok')
  assert.equal(back.pinnedUntil, null)
  const short = pin(well, 'ok', now + dayMs, now - dayMs)
  assert.equal(short.nextCheck, now)
  assert.equal(pin(well, 'ok', now - 5 * dayMs, now - 9 * dayMs).nextCheck, now - 5 * dayMs)
  assert.equal(pin(well, 'ok', now - 9 * dayMs, now - 5 * dayMs).nextCheck, now)
  assert.equal(play(short, { ...gone, afterDays: 30 }).state, 'suspect')
})

test('an unpinned source is looked at within an hour', () => {
  const pinned = pin(well, 'gone', start + 400 * dayMs, start + dayMs)
  const now = start + 2 * dayMs
  const free = unpin(pinned, now)
  assert.equal(free.nextCheck, now + hourMs)
  assert.equal(free.state, 'gone')
  assert.equal(play(free, good).state, 'ok')
  assert.equal(unpin({ ...pinned, nextCheck: now + 5 }, now).nextCheck, now + 5)
})

test('strikes, good looks and refusals from before a pin are forgotten', () => {
  const suspect = play(well, gone, gone)
  const now = suspect.nextCheck - dayMs
  const free = unpin(pin(suspect, 'ok', now + dayMs, now), now)
  assert.equal(play(free, gone).strikes?.count, 1)
  const returning = play(well, ...trouble, ...trouble, ...trouble)
  assert.equal(returning.goodLooks, 1)
  const later = returning.nextCheck
  assert.equal(unpin(pin(returning, 'gone', later, later - dayMs), later - dayMs).goodLooks, 0)
  const refusing = play(well, ...times(4, refused))
  const until = refusing.nextCheck
  assert.deepEqual(pin(refusing, 'ok', until, until - dayMs).refusals, [])
})

test('only looks that could count are followed by other questions', () => {
  const none = { control: false, witness: false, repeat: false }
  const ask = (health: SourceHealth, verdict: Look['verdict'], afterDays = 9) =>
    questionsFor(health, verdict, (health.looks.at(-1)?.at ?? 0) + afterDays * dayMs)
  for (const verdict of ['ok', 'odd', 'refused'] as const)
    assert.deepEqual(ask(play(well, gone, gone), verdict), none)
  assert.deepEqual(ask(well, 'gone'), { ...none, control: true })
  assert.deepEqual(ask(well, 'region'), { ...none, control: true })
  assert.deepEqual(ask(play(well, gone), 'private'), { ...none, control: true })
  assert.deepEqual(ask(play(well, gone), 'private', 1), none)
  const third = play(well, gone, gone)
  assert.deepEqual(ask(third, 'private'), { ...none, control: true, witness: true })
  assert.deepEqual(ask(third, 'private', 3), none)
  assert.deepEqual(ask(third, 'region'), { ...none, control: true })
  assert.deepEqual(ask(play(well, region), 'region'), { ...none, control: true, repeat: true })
  assert.deepEqual(ask(play(well, region), 'age'), { ...none, control: true })
  assert.deepEqual(ask(away, 'gone'), none)
  assert.deepEqual(ask(limited, 'region'), none)
  assert.deepEqual(ask(away, 'private'), { ...none, control: true })
  const now = well.nextCheck
  assert.deepEqual(questionsFor(pin(well, 'ok', now + dayMs, now), 'gone', now), none)
})

test('a look without the answers that it needed is void', () => {
  for (const health of [well, play(well, gone), play(well, gone, gone), play(well, region)])
    for (const verdict of ['gone', 'region'] as const) {
      const { at } = look(health, { verdict })
      const after = applyLook(health, { at, verdict, control: 'not-asked' }, middle).health
      assert.deepEqual(after.strikes, health.strikes)
      assert.equal(publicState(after), publicState(health))
    }
})

test('the last five looks are kept', () => {
  const after = play(well, odd, ...times(4, good), refused)
  assert.deepEqual(
    after.looks.map(({ verdict }) => verdict),
    ['ok', 'ok', 'ok', 'ok', 'refused'],
  )
  assert.equal(after.looks.length, 5)
})

// --- Whatever comes

const anyLook = fc.record({
  verdict: fc.oneof(
    fc.constantFrom(...verdicts),
    fc.constantFrom('ok', 'gone', 'gone', 'gone', 'refused', 'region' as const),
  ),
  control: fc.constantFrom('good', 'good', 'good', 'bad', 'none', 'not-asked' as const),
  witness: fc.option(fc.constantFrom('gone', 'gone', ...verdicts), { nil: undefined }),
  repeated: fc.option(fc.constantFrom(...verdicts), { nil: undefined }),
  ownerIsClosed: fc.boolean(),
  /** When it is due; otherwise after some hours, as editors ask. */
  hours: fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined, freq: 3 }),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
})
const anyPin = fc.record({
  pin: fc.constantFrom('ok', 'gone', 'region', 'unreachable' as const),
  days: fc.integer({ min: -1, max: 300 }),
})
const anyEvent = fc.oneof(
  { weight: 30, arbitrary: anyLook },
  { weight: 1, arbitrary: anyPin },
  { weight: 1, arbitrary: fc.constant('unpin' as const) },
)
const anyLife = fc.array(anyEvent, { maxLength: 80, size: 'max' })
type Event = typeof anyEvent extends fc.Arbitrary<infer T> ? T : never

interface Played {
  before: SourceHealth
  after: SourceHealth
  at: number
  event: Event
}

/** Plays a random life, and returns all its steps. */
function live(events: readonly Event[]): Played[] {
  let health = newHealth(start, middle)
  let now = start
  return events.map((event) => {
    const before = health
    if (event === 'unpin') health = unpin(health, now)
    else if ('pin' in event) health = pin(health, event.pin, now + event.days * dayMs, now)
    else {
      const { hours, random, ...answers } = event
      now = hours === undefined ? Math.max(health.nextCheck, now) : now + hours * hourMs
      health = applyLook(health, { at: now, ...answers }, () => random).health
    }
    return { before, after: health, at: now, event }
  })
}

const isLook = (event: Event) => event !== 'unpin' && !('pin' in event)
const check = (holds: (steps: Played[]) => void) =>
  fc.assert(
    fc.property(anyLife, (events) => holds(live(events))),
    { numRuns: 1000 },
  )

test('whatever comes, nothing is marked away within 6 days of a good look', () => {
  let count = 0
  check((steps) => {
    let lastGood = Number.NEGATIVE_INFINITY
    for (const { before, after, at, event } of steps) {
      if (!isLook(event)) continue
      if (after.looks.at(-1)?.verdict === 'ok') lastGood = at
      if (after.state === before.state || !isAway(after.state)) continue
      count++
      assert.ok(at - lastGood >= 6 * dayMs)
    }
  })
  assert.ok(count > 50, `only ${count} were marked`)
})

test('whatever comes, a source is marked only by looks, with good controls or many strikes', () => {
  check((steps) => {
    for (const { before, after, event } of steps) {
      const isNew = isMarked(after.state) && after.state !== before.state
      if (!isNew || event === 'unpin' || 'pin' in event) continue
      assert.ok(event.control === 'good' || event.control === 'none')
      assert.ok(after.state === event.verdict || after.state === 'closed')
      if (isAway(after.state)) assert.ok(!['ok', ...limitedStates].includes(event.witness ?? ''))
      else assert.notEqual(event.repeated, 'ok')
    }
  })
})

test('whatever comes, the next look is in the future, and in at most 200 days', () => {
  check((steps) => {
    for (const { after, at, event } of steps) {
      if (!isLook(event)) continue
      assert.ok(Number.isInteger(after.nextCheck))
      assert.ok(after.nextCheck > at)
      assert.ok(after.nextCheck <= at + 200 * dayMs)
    }
  })
})

test('whatever comes, numbers and lists stay bounded', () => {
  check((steps) => {
    for (const { after } of steps) {
      assert.ok(after.looks.length <= 5)
      assert.ok(after.refusals.length <= 5)
      assert.ok(after.returns.length <= 2)
      assert.ok(after.goodLooks <= 2)
      assert.ok((after.strikes?.count ?? 1) <= 5)
      assert.ok(JSON.stringify(after).length < 900)
      assert.deepEqual(JSON.parse(JSON.stringify(after)), after)
    }
  })
})

test('whatever comes, a reported change is that of the public state', () => {
  fc.assert(
    fc.property(anyLife, anyLook, (events, { hours: _, random, ...answers }) => {
      const health = live(events).at(-1)?.after ?? newHealth(start, middle)
      const at = Math.max(health.nextCheck, health.looks.at(-1)?.at ?? 0)
      const result = applyLook(health, { at, ...answers }, () => random)
      const [from, to] = [publicState(health), publicState(result.health)]
      assert.deepEqual(result.change, from === to ? undefined : { from, to })
      assert.ok(from !== 'suspect' && to !== 'suspect')
    }),
    { numRuns: 1000 },
  )
})

/** What leads from every state to others, with so many looks. */
const ways: [step: Step, to: SourceState, looks: number][] = [
  [good, 'ok', 3],
  [gone, 'gone', 4],
  [{ verdict: 'private' }, 'private', 4],
  [region, 'region', 3],
  [refused, 'unreachable', 6],
]

function assertLeaves(health: SourceHealth, [step, to, looks]: (typeof ways)[number]): void {
  // What is away does not become unreachable, and the videos of closed accounts are gone too.
  if (to === 'unreachable' && isAway(health.state)) return
  if (health.state === 'closed' && isAway(to)) return
  assert.equal(play(health, ...times(looks, step)).state, to, `${health.state} by ${step.verdict}`)
}

test('every state can be left: by good looks, and by bad ones', () => {
  const marked = [...limitedStates, ...awayStates].map((verdict) =>
    play(well, ...times(isAway(verdict) ? 3 : 2, { verdict })),
  )
  const all = [fresh, well, play(well, gone), play(well, odd), unreachable, ...marked]
  assert.equal(new Set(all.map(({ state }) => state)).size, 12)
  for (const health of all) for (const way of ways) assertLeaves(health, way)
})

test('whatever came, every state can be left', () => {
  fc.assert(
    fc.property(anyLife, fc.constantFrom(...ways), (events, way) => {
      const last = live(events).at(-1)?.after ?? fresh
      assertLeaves(unpin(last, (last.looks.at(-1)?.at ?? start) + 1), way)
    }),
    { numRuns: 1000 },
  )
})
