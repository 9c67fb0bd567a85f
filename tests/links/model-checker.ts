import { awayStates, type Verdict } from '@talkshelf/contract'
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
  offlineMs,
} from '../../server/links/host-pace.ts'
import {
  applyLook,
  concernsHost,
  type Look,
  questionsFor,
  type SourceHealth,
  type StateChange,
} from '../../server/links/source-health.ts'
import { DueQueue } from './due-queue.ts'

// A model of the checker: its schedule, paces, control sources and witnesses, with the real state
// machine, but without database, network and clock. A look takes no time.

export interface ModelSource {
  readonly host: string
  readonly owner: string
  health: SourceHealth
}

/** A question about a source. A witness is asked at another host if it has one. */
export type Question = 'look' | 'control' | 'witness' | 'repeat'

export interface CheckerOptions<Source extends ModelSource> {
  readonly sources: readonly Source[]
  readonly random: () => number
  readonly budgets?: Readonly<Record<string, number>>
  ask(source: Source, at: number, question: Question): Verdict
  /** Tells whether the process is killed between a look and the write of its result. */
  isKilled?(source: Source, at: number): boolean
  onRequest?(host: string, at: number): void
  onLook?(source: Source, look: Look, change: StateChange | undefined): void
}

interface ModelHost<Source> {
  readonly index: number
  readonly name: string
  readonly sources: Source[]
  readonly due: DueQueue
  pace: HostPace
  /** When the host is next looked at. */
  next: number
}

const minuteMs = 60_000
const dayMs = 86_400_000
/** When a look is repeated whose process was killed. */
const leaseMs = minuteMs
const controlTries = 10
const awayVerdicts = new Set<Verdict>(awayStates)

export class ModelChecker<Source extends ModelSource> {
  readonly #options: CheckerOptions<Source>
  readonly #hosts: ModelHost<Source>[] = []
  readonly #hostNames = new Map<string, ModelHost<Source>>()
  readonly #owners = new Map<string, Source[]>()
  /** The hosts by their next look; entries with another time than that of the host are stale. */
  readonly #turns = new DueQueue()
  #now = 0
  #stoppedUntil = 0

  constructor(options: CheckerOptions<Source>) {
    this.#options = options
    for (const [id, source] of options.sources.entries()) {
      const host = this.#host(source.host)
      host.sources.push(source)
      host.due.push(source.health.nextCheck, id)
      const siblings = this.#owners.get(source.owner)
      if (siblings) siblings.push(source)
      else this.#owners.set(source.owner, [source])
    }
    for (const host of this.#hosts) this.#schedule(host)
  }

  /** Plays until a time. */
  runUntil(end: number): void {
    while (this.#turns.time < end) {
      const at = this.#turns.time
      const host = this.#hosts[this.#turns.id] as ModelHost<Source>
      this.#turns.pop()
      if (at !== host.next) continue
      this.#now = at
      this.#takeTurn(host, at)
      this.#schedule(host)
    }
    this.#now = end
  }

  /** Makes a source due now, as an editor can. */
  requestCheck(id: number): void {
    const source = this.#options.sources[id] as Source
    source.health = { ...source.health, nextCheck: this.#now }
    const host = this.#host(source.host)
    host.due.push(this.#now, id)
    this.#schedule(host)
  }

  paceOf(host: string): HostPace {
    return this.#host(host).pace
  }

  #host(name: string): ModelHost<Source> {
    const known = this.#hostNames.get(name)
    if (known) return known
    const pace = newPace(name, this.#options.budgets?.[name])
    const index = this.#hosts.length
    const host = { index, name, sources: [], due: new DueQueue(), pace, next: 0 }
    this.#hosts.push(host)
    this.#hostNames.set(name, host)
    return host
  }

  #schedule(host: ModelHost<Source>): void {
    const { due, pace } = host
    while (due.size > 0 && due.time !== this.#sourceOf(due.id).health.nextCheck) due.pop()
    const from = Math.max(due.time, this.#now, this.#stoppedUntil)
    if (from === Number.POSITIVE_INFINITY) return
    const silentFrom = (pace.refusingSince ?? Number.POSITIVE_INFINITY) + dayMs
    host.next = Math.min(nextTurn(pace, from), Math.max(from, silentFrom))
    this.#turns.push(host.next, host.index)
  }

  #takeTurn(host: ModelHost<Source>, at: number): void {
    const id = host.due.id
    const source = this.#sourceOf(id)
    if (mayAsk(host.pace, at)) {
      const look = this.#look(host, source, at)
      if (look === 'offline') source.health = { ...source.health, nextCheck: at + offlineMs }
      else if (this.#options.isKilled?.(source, at))
        source.health = { ...source.health, nextCheck: at + leaseMs }
      else this.#apply(source, look)
    } else if (isSilent(host.pace, at))
      this.#apply(source, { at, verdict: 'refused', control: 'not-asked' })
    else throw new Error(`${host.name} may not be asked`)
    host.due.push(source.health.nextCheck, id)
  }

  #apply(source: Source, look: Look): void {
    const { health, change } = applyLook(source.health, look, this.#options.random)
    source.health = health
    this.#options.onLook?.(source, look, change)
  }

  #look(host: ModelHost<Source>, source: Source, at: number): Look | 'offline' {
    const { health, owner } = source
    const verdict = this.#ask(host, source, at, 'look')
    if (verdict === 'refused') {
      host.pace = afterRefusal(host.pace, at, undefined)
      return this.#stopIfOffline(at) ? 'offline' : { at, verdict, control: 'not-asked' }
    }
    const isBad = verdict !== 'ok'
    const counts = concernsHost(health, verdict, at)
    host.pace = afterAnswer(host.pace, at, counts ? { owner, isBad } : undefined)
    if (isBad && isUnwell(host.pace)) return { at, verdict, control: 'bad' }
    const questions = questionsFor(health, verdict, at)
    const control = questions.control ? this.#askControl(host, source, at) : 'not-asked'
    if (control !== 'good' && control !== 'none') return { at, verdict, control }
    return {
      at,
      verdict,
      control,
      witness: questions.witness ? this.#askAgain(witnessHost(host.name), source, at) : undefined,
      repeated: questions.repeat ? this.#askAgain(undefined, source, at) : undefined,
      ownerIsClosed: questions.witness && this.#isOwnerClosed(source),
    }
  }

  #stopIfOffline(at: number): boolean {
    const paces = this.#hosts.map(({ pace }) => pace)
    if (!isOffline(paces, at)) return false
    this.#stoppedUntil = at + offlineMs
    for (const host of this.#hosts) {
      host.pace = afterOffline(host.pace, at)
      if (host.due.size > 0) this.#schedule(host)
    }
    return true
  }

  #ask(host: ModelHost<Source>, source: Source, at: number, question: Question): Verdict {
    host.pace = afterRequest(host.pace, at, this.#options.random)
    this.#options.onRequest?.(host.name, at)
    return this.#options.ask(source, at, question)
  }

  /** Asks another source of the host within the same minute. */
  #askControl(host: ModelHost<Source>, source: Source, at: number): Look['control'] {
    const control = this.#findControl(host, source)
    if (!control) return 'none'
    const time = nextTurn(host.pace, at)
    if (time - at > minuteMs) return 'not-asked'
    const verdict = this.#ask(host, control, time, 'control')
    const isBad = verdict !== 'ok'
    host.pace =
      verdict === 'refused'
        ? afterRefusal(host.pace, time, undefined)
        : afterAnswer(host.pace, time, { owner: control.owner, isBad })
    return isBad ? 'bad' : 'good'
  }

  #findControl({ sources }: ModelHost<Source>, { owner }: Source): Source | undefined {
    for (let tries = 0; tries < controlTries; tries++) {
      const index = Math.floor(this.#options.random() * sources.length)
      const candidate = sources[index] as Source
      if (candidate.owner !== owner && candidate.health.state === 'ok') return candidate
    }
    return undefined
  }

  /** Asks the witness, or the same question once more. Returns undefined if it may not be asked. */
  #askAgain(witness: string | undefined, source: Source, at: number): Verdict | undefined {
    const host = this.#host(witness ?? source.host)
    const time = nextTurn(host.pace, at)
    if (time - at > minuteMs) return undefined
    return this.#ask(host, source, time, witness === undefined ? 'repeat' : 'witness')
  }

  #isOwnerClosed({ owner, health }: Source): boolean {
    const since = health.strikes?.first ?? Number.POSITIVE_INFINITY
    const last = (this.#owners.get(owner) ?? [])
      .map((sibling) => sibling.health.looks.at(-1))
      .filter((look) => look !== undefined && look.at >= since)
    const bad = last.filter((look) => look && awayVerdicts.has(look.verdict)).length
    return isOwnerClosed({ bad, known: last.length })
  }

  #sourceOf(id: number): Source {
    return this.#options.sources[id] as Source
  }
}

const witnessHost = (host: string) => (host === 'www.youtube.com' ? 'img.youtube.com' : host)
