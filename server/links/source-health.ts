import { awayStates, limitedStates, type SourceState, type Verdict } from '@talkshelf/contract'

// What is known of a source, and what a look changes. Pure functions; times are milliseconds since
// 1970. Waiting times vary at random, so that sources do not stay in step.
//
// A look at a source that is not pinned, by verdict:
//
// | Verdict       | What it is                                      | Public state                |
// |---------------|-------------------------------------------------|-----------------------------|
// | ok            | good: strikes and refusals are forgotten        | ok, from every state        |
// | ok            | the same, but the source is limited or away,    | ok after three good looks   |
// |               | and its last two returns were within 90 days    | without a bad one           |
// | limited, away | the state that it is in (if `closed`: any away  | stays                       |
// |               | verdict): confirmed, strikes are forgotten      |                             |
// | limited, away | another one: a strike, unless the next table    | stays until the last strike |
// |               | says no                                         |                             |
// | odd           | no strike                                       | stays                       |
// | refused       | no strike, but a refusal of the host: counted   | unreachable after five;     |
// |               | if at least 3 days after the last, forgotten    | what is away stays away     |
// |               | after 21 days or when the host answers          |                             |
//
// The first bad or odd look makes a source that was `new` or `ok` `suspect`; an odd one only if the
// control source was not bad. Only editors see that; `publicState` is what readers see. Sources in
// other states keep theirs meanwhile.
//
// | A bad look is no strike if           | Details                                                |
// |--------------------------------------|--------------------------------------------------------|
// | the control source was not good      | bad, not asked, or the host is unwell: the look is     |
// |                                      | void                                                   |
// | it is early                          | less than 48 h after the last strike; or less than 6   |
// |                                      | days after the first, if it is the third for an away   |
// |                                      | state, or a later one                                  |
// | the witness differs                  | ok or limited (it is asked from the third away strike  |
// |                                      | on)                                                    |
// | the same question, repeated, is ok   | asked from the second limited strike on                |
//
// | Strikes needed          | Away: 3, the last one decides    | Limited: 2, of the same verdict  |
// |-------------------------|----------------------------------|----------------------------------|
// | no control source       | 2 more                           | 2 more                           |
// | no answer of a witness  | 1 more                           |                                  |
//
// Away and limited strikes do not count together: one of the other kind starts again at one. If the
// account of the owner is closed at the last away strike, the state is `closed`.
//
// Nothing is marked away within 6 days of a good look: a good look forgets all strikes, and the
// last strike is at least 6 days after the first.
//
// | After                                    | the next look is                                   |
// |------------------------------------------|----------------------------------------------------|
// | the source was added                     | within an hour                                     |
// | ok                                       | in 24 days ± 20 %                                  |
// | limited                                  | in 28 days ± 20 %                                  |
// | away                                     | in 30 days; 90 if away for 25; 180 if away for     |
// |                                          | 100; ± 10 %                                        |
// | unreachable                              | in 7 days ± 20 %                                   |
// | refused, if not away                     | in 4 days ± 20 %                                   |
// | the first strike, or good look of three  | in 2 to 2.4 days                                   |
// | a later one                              | in 5 days ± 20 %                                   |
// | a bad or odd look that decided nothing   | in 2 to 2.4 days; in 5 days ± 20 % if in doubt for |
// |                                          | two; as for its state if in doubt for 21           |
// |                                          | (`suspect`: as `ok`)                               |
//
// While a source is pinned, looks are recorded and change nothing. When the pin ends, it is looked
// at, and the rules hold again.

type Limited = (typeof limitedStates)[number]
type Away = (typeof awayStates)[number]
type Bad = Limited | Away

export interface Strikes {
  readonly count: number
  /** That of the last one. */
  readonly verdict: Bad
  readonly first: number
  readonly last: number
}

export interface SourceHealth {
  readonly state: SourceState
  readonly since: number
  readonly strikes: Strikes | null
  readonly lastGood: number | null
  /** The last five, the newest at the end. */
  readonly looks: readonly { readonly at: number; readonly verdict: Verdict }[]
  /** At most five. */
  readonly refusals: readonly number[]
  /** Good looks in a row at a source that is away or limited, and needs several. */
  readonly goodLooks: number
  /** The last time that it came back, and the one before if that was within 90 days. */
  readonly returns: readonly number[]
  readonly pinnedUntil: number | null
  readonly nextCheck: number
}

export interface Look {
  readonly at: number
  readonly verdict: Verdict
  /** `none`: there is no control source. `bad` also if the host is unwell. */
  readonly control: 'good' | 'bad' | 'none' | 'not-asked'
  /** Left out if there is no witness, or if it was not asked. */
  readonly witness?: Verdict | undefined
  /** The answer to the same question, asked again. Left out if it was not asked. */
  readonly repeated?: Verdict | undefined
  readonly ownerIsClosed?: boolean | undefined
}

/** What else to ask before a look is applied. */
export interface Questions {
  readonly control: boolean
  readonly witness: boolean
  /** The same question once more: a witness often cannot tell a limited source from a good one. */
  readonly repeat: boolean
}

export interface StateChange {
  readonly from: SourceState
  readonly to: SourceState
}

type Random = () => number

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** With 28 days, it would take 23 days until half of the losses are marked, and not three weeks. */
const okDays = 24
const maxLooks = 5
const maxRefusals = 5
const refusalsWithinMs = 21 * dayMs
const betweenRefusalsMs = 3 * dayMs
const betweenStrikesMs = 48 * hourMs
const awayAfterMs = 6 * dayMs
const returnsWithinMs = 90 * dayMs
const strikesNeeded = { away: 3, limited: 2 }
const goodLooksNeeded = 3
const hostDoubtMs = 7 * dayMs

/** Creates the health of a source that was never looked at. */
export function newHealth(now: number, random: Random): SourceHealth {
  return {
    state: 'new',
    since: now,
    strikes: null,
    lastGood: null,
    looks: [],
    refusals: [],
    goodLooks: 0,
    returns: [],
    pinnedUntil: null,
    nextCheck: now + between(random, 1, hourMs),
  }
}

/** Returns the state that readers see. */
export function publicState({ state, lastGood }: SourceHealth): SourceState {
  if (state !== 'suspect') return state
  return lastGood === null ? 'new' : 'ok'
}

/**
 * Tells whether a look says something about the host: a bad one only if the source was `ok`, or has
 * been `suspect` for less than a week, during which the host may have been at fault.
 */
export function concernsHost(
  { state, since, strikes }: SourceHealth,
  verdict: Verdict,
  at: number,
): boolean {
  const isRecentDoubt = state === 'suspect' && strikes === null && at - since < hostDoubtMs
  return verdict === 'ok' || state === 'ok' || isRecentDoubt
}

/** Tells what else must be asked if a look ends with a verdict. */
export function questionsFor(health: SourceHealth, verdict: Verdict, now: number): Questions {
  const isStrike =
    isBad(verdict) &&
    !isPinned(health, now) &&
    !isConfirmed(health, verdict) &&
    !isEarly(health, verdict, now)
  if (!isStrike) return { control: false, witness: false, repeat: false }
  const isLast = strikesSoFar(health, verdict) + 1 >= strikesNeeded[groupOf(verdict)]
  return { control: true, witness: isLast && isAway(verdict), repeat: isLast && !isAway(verdict) }
}

/** Applies a look. The change is that of the public state, if it changed. */
export function applyLook(
  health: SourceHealth,
  look: Look,
  random: Random,
): { health: SourceHealth; change?: StateChange } {
  const { at, verdict } = look
  const isHeld = isPinned(health, at)
  const recorded: SourceHealth = {
    ...health,
    looks: [...health.looks, { at, verdict }].slice(-maxLooks),
    lastGood: verdict === 'ok' ? at : health.lastGood,
    pinnedUntil: isHeld ? health.pinnedUntil : null,
  }
  const next = isHeld
    ? { ...recorded, nextCheck: beforeEndOfPin(recorded, at, regularCheck(health, at, random)) }
    : advance(recorded, look, random)
  const from = publicState(health)
  const to = publicState(next)
  return from === to ? { health: next } : { health: next, change: { from, to } }
}

/** Keeps a source in a state until a day, whatever looks find. */
export function pin(
  health: SourceHealth,
  state: Exclude<SourceState, 'new' | 'suspect'>,
  until: number,
  now: number,
): SourceHealth {
  const pinned: SourceHealth = {
    ...health,
    state,
    since: state === health.state ? health.since : now,
    strikes: null,
    refusals: [],
    goodLooks: 0,
    // The editor has seen it.
    lastGood: state === 'ok' ? now : health.lastGood,
    pinnedUntil: until,
  }
  return { ...pinned, nextCheck: beforeEndOfPin(pinned, now, health.nextCheck) }
}

/** Ends a pin. The source keeps its state until the next look, which is within an hour. */
export function unpin(health: SourceHealth, now: number): SourceHealth {
  return { ...health, pinnedUntil: null, nextCheck: Math.min(health.nextCheck, now + hourMs) }
}

function advance(health: SourceHealth, look: Look, random: Random): SourceHealth {
  const { at, verdict } = look
  if (verdict === 'refused') return afterRefused(health, at, random)
  const answered = { ...health, refusals: [] }
  if (verdict === 'ok') return afterGood(answered, at, random)
  if (verdict === 'odd') return afterOdd(answered, look, random)
  return afterBad({ ...answered, goodLooks: 0 }, { ...look, verdict }, random)
}

function afterGood(health: SourceHealth, at: number, random: Random): SourceHealth {
  const { state, returns } = health
  const good: SourceHealth = { ...health, strikes: null, goodLooks: 0 }
  if (state === 'ok') return withRegularCheck(good, at, random)
  if (!isBad(state)) return enter(good, 'ok', at, random)
  const goodLooks = health.goodLooks + 1
  if (returns.length > 1 && goodLooks < goodLooksNeeded)
    return { ...good, goodLooks, nextCheck: at + soon(random, goodLooks) }
  const recent = returns.filter((time) => at - time <= returnsWithinMs)
  return enter({ ...good, returns: [...recent, at].slice(-2) }, 'ok', at, random)
}

function afterRefused(health: SourceHealth, at: number, random: Random): SourceHealth {
  const { state } = health
  const recent = health.refusals.filter((time) => at - time <= refusalsWithinMs)
  const isCounted = at - (recent.at(-1) ?? Number.NEGATIVE_INFINITY) >= betweenRefusalsMs
  const refusals = (isCounted ? [...recent, at] : recent).slice(-maxRefusals)
  const refused: SourceHealth = { ...health, refusals }
  if (isAway(state) || state === 'unreachable') return withRegularCheck(refused, at, random)
  if (refusals.length === maxRefusals)
    return enter({ ...refused, strikes: null, goodLooks: 0 }, 'unreachable', at, random)
  return { ...refused, nextCheck: at + between(random, 3.2 * dayMs, 4.8 * dayMs) }
}

function afterOdd(health: SourceHealth, { at, control }: Look, random: Random): SourceHealth {
  const isSuspect = control !== 'bad' && (health.state === 'ok' || health.state === 'new')
  const next = isSuspect ? suspected(health, at) : health
  if (isBad(next.state) && next.strikes === null) return withRegularCheck(next, at, random)
  return withRecheck(next, at, random)
}

function afterBad(
  health: SourceHealth,
  look: Look & { readonly verdict: Bad },
  random: Random,
): SourceHealth {
  const { at, verdict, control } = look
  if (isConfirmed(health, verdict))
    return withRegularCheck({ ...health, strikes: null }, at, random)
  const isNew = health.state === 'ok' || health.state === 'new'
  const doubted = isNew ? suspected(health, at) : health
  const isVoid = control === 'bad' || control === 'not-asked'
  if (isVoid || isEarly(health, verdict, at)) return withRecheck(doubted, at, random)
  const confirmation = confirmationOf(look)
  if (confirmation === 'differs') return withRecheck(doubted, at, random)
  const count = strikesSoFar(health, verdict) + 1
  const needed =
    strikesNeeded[groupOf(verdict)] +
    (control === 'none' ? 2 : 0) +
    (confirmation === 'missing' ? 1 : 0)
  if (count >= needed) {
    const state = isAway(verdict) && look.ownerIsClosed ? 'closed' : verdict
    return enter({ ...health, strikes: null }, state, at, random)
  }
  const first = count > 1 ? (health.strikes?.first ?? at) : at
  return {
    ...doubted,
    strikes: { count, verdict, first, last: at },
    nextCheck: at + soon(random, count),
  }
}

/** Tells what the second question says of a bad look. */
function confirmationOf({ verdict, witness, repeated }: Look): 'agrees' | 'differs' | 'missing' {
  if (!isAway(verdict)) return repeated === 'ok' ? 'differs' : 'agrees'
  if (witness === undefined || witness === 'odd' || witness === 'refused') return 'missing'
  return isAway(witness) ? 'agrees' : 'differs'
}

/** Tells whether a verdict is what is known already. */
function isConfirmed({ state }: SourceHealth, verdict: Bad): boolean {
  return verdict === state || (state === 'closed' && isAway(verdict))
}

/** Tells whether a bad look is too early to be a strike. */
function isEarly(health: SourceHealth, verdict: Bad, at: number): boolean {
  const { strikes } = health
  if (strikes === null) return false
  if (at - strikes.last < betweenStrikesMs) return true
  const couldMarkAway = isAway(verdict) && strikesSoFar(health, verdict) + 1 >= strikesNeeded.away
  return couldMarkAway && at - strikes.first < awayAfterMs
}

/** Returns the number of strikes that a further one with this verdict continues. */
function strikesSoFar({ strikes }: SourceHealth, verdict: Bad): number {
  if (strikes === null) return 0
  const isSame = strikes.verdict === verdict || (isAway(verdict) && isAway(strikes.verdict))
  return isSame ? strikes.count : 0
}

function suspected(health: SourceHealth, at: number): SourceHealth {
  return { ...health, state: 'suspect', since: at }
}

function enter(health: SourceHealth, state: SourceState, at: number, random: Random): SourceHealth {
  const since = state === health.state ? health.since : at
  return withRegularCheck({ ...health, state, since }, at, random)
}

/** Sets the next look of a source of which nothing is in doubt. */
function withRegularCheck(health: SourceHealth, at: number, random: Random): SourceHealth {
  return { ...health, nextCheck: regularCheck(health, at, random) }
}

/** Sets the next look after one that decided nothing: soon at first, and rarely after weeks. */
function withRecheck(health: SourceHealth, at: number, random: Random): SourceHealth {
  const { state, since, strikes } = health
  const isInDoubt = state === 'suspect' || state === 'unreachable'
  const doubtMs = at - (isInDoubt ? since : (strikes?.first ?? at))
  if (doubtMs > 21 * dayMs) return withRegularCheck(health, at, random)
  return { ...health, nextCheck: at + soon(random, doubtMs < betweenStrikesMs ? 1 : 2) }
}

function regularCheck({ state, since }: SourceHealth, at: number, random: Random): number {
  if (state === 'unreachable') return at + spread(random, 7, 0.2)
  if (!isAway(state)) return at + spread(random, isLimited(state) ? 28 : okDays, 0.2)
  const awayMs = at - since
  if (awayMs < 25 * dayMs) return at + spread(random, 30, 0.1)
  return at + spread(random, awayMs < 100 * dayMs ? 90 : 180, 0.1)
}

/** Returns how long to wait for the second look of several (step 1), or for a later one. */
function soon(random: Random, step: number): number {
  return step === 1 ? between(random, 2 * dayMs, 2.4 * dayMs) : spread(random, 5, 0.2)
}

function spread(random: Random, days: number, share: number): number {
  return between(random, days * (1 - share) * dayMs, days * (1 + share) * dayMs)
}

function between(random: Random, min: number, max: number): number {
  return Math.round(min + random() * (max - min))
}

/** Moves a look to the end of the pin if it would be later: that look can change the state. */
function beforeEndOfPin({ pinnedUntil }: SourceHealth, now: number, nextCheck: number): number {
  return pinnedUntil !== null && pinnedUntil > now ? Math.min(nextCheck, pinnedUntil) : nextCheck
}

function isPinned({ pinnedUntil }: SourceHealth, now: number): boolean {
  return pinnedUntil !== null && now < pinnedUntil
}

const groupOf = (verdict: Bad) => (isAway(verdict) ? 'away' : 'limited')
const isAway = (state: SourceState | Verdict): state is Away => isOneOf(awayStates, state)
const isLimited = (state: SourceState | Verdict): state is Limited => isOneOf(limitedStates, state)
const isBad = (state: SourceState | Verdict): state is Bad => isAway(state) || isLimited(state)

function isOneOf<T extends string>(values: readonly T[], value: string): value is T {
  return (values as readonly string[]).includes(value)
}
