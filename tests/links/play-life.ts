import assert from 'node:assert/strict'
import type { SourceState } from '@talkshelf/contract'
import { newHealth, publicState } from '../../server/links/source-health.ts'
import { seededRandom } from '../../server/pictures/seeded-random.ts'
import { answerOn, type Life, type Role, verdictOf } from './lives.ts'
import { ModelChecker, type ModelSource } from './model-checker.ts'

// Plays lives through the model of the checker.

interface LifeSource extends ModelSource {
  readonly role: Role
  /** All states after `new`. */
  readonly states: SourceState[]
  /** The public ones, from the changes that were reported. */
  readonly publicStates: SourceState[]
  isKilledNext: boolean
}

const start = Date.UTC(2026, 0, 1)
const dayMs = 86_400_000

/** Plays a life. Throws if a source ends in another way than it tells. */
export function playLife(life: Life, seed: number): void {
  const random = seededRandom(life.name, String(seed)).next
  const host = life.kind === 'youtube' ? 'www.youtube.com' : 'files.example.org'
  const make = (role: Role, at: string, owner: string): LifeSource => {
    const health = newHealth(start, random)
    const states = { states: [], publicStates: [] }
    return { role, host: at, owner, health, ...states, isKilledNext: life.isKilled === true }
  }
  const repeat = (count: number, each: (index: number) => LifeSource) =>
    Array.from({ length: count }, (_, index) => each(index))
  const sources = [
    ...repeat(life.subjects, () => make('subject', host, 'the owner')),
    ...repeat(life.others, (index) =>
      make(index % 2 === 0 ? 'other' : 'other in the half', host, `other ${index}`),
    ),
    ...repeat(life.otherHosts, (index) =>
      make('other host', `${index}.example.org`, `elsewhere ${index}`),
    ),
  ]
  const requests: number[] = []
  const dayOf = (at: number) => (at - start) / dayMs
  const checker = new ModelChecker<LifeSource>({
    sources,
    random,
    ...(life.budget !== undefined && { budgets: { [host]: life.budget } }),
    ask: ({ role }, at, question) => {
      const answer = answerOn(life, dayOf(at), role, question === 'witness')
      return verdictOf(life.kind, answer)
    },
    isKilled: (source) => {
      if (!life.isKilled) return false
      source.isKilledNext = !source.isKilledNext
      return !source.isKilledNext
    },
    onRequest: (name, at) => {
      if (name === host) requests.push(dayOf(at))
    },
    onLook: ({ health, states, publicStates }, _, change) => {
      if (states.at(-1) !== health.state) states.push(health.state)
      assert.equal(change?.to ?? publicStates.at(-1) ?? 'new', publicState(health))
      if (change) publicStates.push(change.to)
    },
  })

  const subjects = sources.filter(({ role }) => role === 'subject')
  const checked = life.checksAll ? sources : subjects
  const events = [
    ...life.checks.map((day) => ({
      day,
      act: () => {
        for (const source of checked) checker.requestCheck(sources.indexOf(source))
      },
    })),
    ...(life.on ?? []).map(({ day, state, goodSince = 0 }) => ({
      day,
      act: () => {
        for (const { health } of subjects) {
          assert.equal(health.state, state, `on day ${day}`)
          assert.ok(dayOf(health.lastGood ?? start) >= goodSince, `no good look since ${goodSince}`)
        }
      },
    })),
  ].sort((a, b) => a.day - b.day)
  for (const { day, act } of events) {
    checker.runUntil(start + day * dayMs)
    act()
  }
  checker.runUntil(start + life.days * dayMs)

  for (const { states, publicStates } of subjects) {
    // A source that is added while the host may not be asked stays new.
    const known = states.filter((state) => state !== 'new')
    const expected = life.mayBeSuspect ? withoutSuspect(life.states) : life.states
    assert.deepEqual(life.mayBeSuspect ? withoutSuspect(known) : known, expected)
    assert.deepEqual(publicStates, withoutSuspect(life.states))
  }
  for (const { role, publicStates } of sources) {
    const isSpared = life.periods.every(({ who }) => who === 'subjects' || who === 'half')
    if (role !== 'subject' && isSpared) assert.deepEqual(publicStates, ['ok'])
  }
  const perDay = Map.groupBy(requests, Math.floor)
  for (const { length } of perDay.values()) assert.ok(length <= (life.budget ?? 10_000))
  const { quiet } = life
  if (!quiet) return
  const { length } = requests.filter((day) => quiet.from <= day && day < quiet.to)
  assert.ok(length <= quiet.requests, `${length} requests while the host refused`)
}

/** Leaves out `suspect`, and states that are repeated without it. */
function withoutSuspect(states: readonly SourceState[]): SourceState[] {
  return states
    .filter((state) => state !== 'suspect')
    .filter((state, index, others) => state !== others[index - 1])
}
