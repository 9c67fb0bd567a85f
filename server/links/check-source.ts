import { createHash } from 'node:crypto'
import type { Verdict } from '@talkshelf/contract'
import type { Origin } from '../platform/actor.ts'
import { type Checker, Disallowed, openAsk } from './ask.ts'
import { findCopies } from './find-copies.ts'
import {
  afterAnswer,
  afterOffline,
  afterRefusal,
  type HostPace,
  isOffline,
  isOwnerClosed,
  isSilent,
  isUnwell,
  offlineMs,
} from './host-pace.ts'
import { changePace, NotNow, Offline, readPace } from './paced-host.ts'
import {
  identify,
  look,
  lookAtMany,
  type ProbedSource,
  type ProbeResult,
  witness,
} from './probes/probes.ts'
import {
  type CheckedSource,
  countOfOwner,
  listAskedHosts,
  listControlSources,
  lockSource,
  putOff,
  saveSource,
} from './queries.ts'
import {
  applyLook,
  concernsHost,
  type Look,
  questionsFor,
  type SourceHealth,
} from './source-health.ts'

// Checks one source: asks its host, and what else the answer needs to be believed, and saves what
// is known then. No transaction spans a request.

/** Of how many of the sources that are known longest one is chosen to compare an answer with. */
const controlChoices = 20
const offlineWithinMs = 10 * 60_000
const disallowedMs = 28 * 24 * 3_600_000
/** The API that answers about many videos of YouTube at once. */
export const apiHost = 'www.googleapis.com'

const origin: Origin = {
  actor: { role: 'editor', name: 'Link checker', token: null },
  via: 'check',
  request: 'link-check',
}
const requestHash = createHash('sha256').update('link-check').digest()

/**
 * Checks a source that is due and returns the verdict; undefined if its URL cannot or may not be
 * requested. `known` is what the API of YouTube answered. Throws `NotNow` if a host that is needed
 * may not be asked now, and `Offline`.
 */
export async function checkSource(
  checker: Checker,
  source: CheckedSource,
  known?: ProbeResult,
): Promise<Verdict | undefined> {
  const { pool } = checker
  const asked = known ? apiHost : source.host
  const { pace, now } = await readPace(checker, asked)
  if (checker.isStopped(now)) throw new Offline()
  const probed = identify(source.url)
  if (!probed) {
    await putOff(pool, [source.id], now + disallowedMs, 'This URL cannot be checked')
    return undefined
  }
  if (!known && pace.pausedUntil > now) {
    // Otherwise only the sources that are asked between two pauses would become unreachable.
    if (!isSilent(pace, now)) throw new NotNow(source.host, pace.pausedUntil)
    const silence = { verdict: 'refused', evidence: 'The host has not answered for a day' } as const
    await save(checker, source, silence, { at: now, control: 'not-asked' })
    return 'refused'
  }
  try {
    const ask = openAsk(checker, probed.kind, source.host)
    const lookAt: Questions['look'] = known
      ? (other) => askApiAgain(checker, other)
      : (other) => look(ask, other)
    const result = known ?? (await lookAt(probed))
    const circumstances = await understand(checker, { asked, source, probed }, result, {
      look: lookAt,
      witness: () => witness(ask, probed),
    })
    const health = await save(checker, source, result, circumstances)
    if (health) await findCopies(checker, { ...source, health }, circumstances.at)
    return result.verdict
  } catch (error) {
    if (!(error instanceof Disallowed)) throw error
    await putOff(pool, [source.id], now + disallowedMs, error.message)
    return undefined
  }
}

type Circumstances = Omit<Look, 'verdict'>

interface Questions {
  look(source: ProbedSource): Promise<ProbeResult>
  witness(): Promise<ProbeResult>
}

interface Subject {
  /** The host that was asked about the source. */
  readonly asked: string
  readonly source: CheckedSource
  readonly probed: ProbedSource
}

/** Asks what else a verdict needs to be believed. */
async function understand(
  checker: Checker,
  { asked, source, probed }: Subject,
  result: ProbeResult,
  questions: Questions,
): Promise<Circumstances> {
  const { verdict } = result
  const { now, pace } = await noteAnswer(checker, asked, source, result)
  if (verdict === 'refused') {
    await stopIfOffline(checker, source, now)
    return { at: now, control: 'not-asked' }
  }
  if (verdict !== 'ok' && isUnwell(pace)) return { at: now, control: 'bad' }
  const needed = questionsFor(source.health, verdict, now)
  const control = needed.control ? await askControl(checker, asked, source, questions) : 'not-asked'
  if (control !== 'good' && control !== 'none') return { at: now, control }
  return {
    at: now,
    control,
    witness: needed.witness ? await verdictOf(questions.witness()) : undefined,
    repeated: needed.repeat ? await verdictOf(questions.look(probed)) : undefined,
    ownerIsClosed: needed.witness && (await isClosed(checker, source)),
  }
}

/** Records in the pace of a host how it answered about a source. Returns it, and the time. */
function noteAnswer(
  checker: Checker,
  asked: string,
  { id, owner, health }: CheckedSource,
  result: ProbeResult,
): Promise<{ readonly pace: HostPace; readonly now: number }> {
  const isBad = result.verdict !== 'ok'
  const account = result.owner ?? owner ?? `source ${id}`
  return changePace(checker, asked, (before, now) => {
    const counts = concernsHost(health, result.verdict, now)
    const pace =
      result.verdict === 'refused'
        ? afterRefusal(before, now, result.retryAfterSeconds)
        : afterAnswer(before, now, counts ? { owner: account, isBad } : undefined)
    return { pace, result: { pace, now } }
  })
}

/** Returns the verdict of a further question; undefined if its host may not be asked soon. */
async function verdictOf(result: Promise<ProbeResult>): Promise<Verdict | undefined> {
  try {
    return (await result).verdict
  } catch (error) {
    if (error instanceof NotNow || error instanceof Disallowed) return undefined
    throw error
  }
}

/** Asks the API of YouTube about one video. */
async function askApiAgain(checker: Checker, probed: ProbedSource): Promise<ProbeResult> {
  const ask = openAsk(checker, 'youtube', apiHost)
  const { results } = await lookAtMany(ask, [probed], checker.youtubeKey ?? '')
  return results[0] as ProbeResult
}

/** Asks the host about another source, which has been there for long. */
async function askControl(
  checker: Checker,
  asked: string,
  source: CheckedSource,
  questions: Questions,
): Promise<Look['control']> {
  const choices = await listControlSources(checker.pool, source, controlChoices)
  const control = choices[Math.floor(Math.random() * choices.length)]
  const probed = control && identify(control.url)
  if (!probed) return 'none'
  try {
    const result = await questions.look(probed)
    await noteAnswer(checker, asked, control, result)
    return result.verdict === 'ok' ? 'good' : 'bad'
  } catch (error) {
    if (error instanceof Disallowed) return 'none'
    if (error instanceof NotNow) return 'not-asked'
    throw error
  }
}

/** Tells whether nearly all sources of the owner have turned bad. */
async function isClosed(checker: Checker, { host, owner, health }: CheckedSource) {
  if (owner === null || health.strikes === null) return false
  return isOwnerClosed(await countOfOwner(checker.pool, host, owner, health.strikes.first))
}

/**
 * Ends the pauses of all hosts and stops all checks if this server is offline. The source that was
 * asked comes after all others that are due: hosts that died must not hold up the checks.
 */
async function stopIfOffline(checker: Checker, { id }: CheckedSource, now: number): Promise<void> {
  const hosts = await listAskedHosts(checker.pool, now - offlineWithinMs)
  if (!isOffline(hosts, now)) return
  for (const { host: silent, lastRefusal } of hosts)
    if (lastRefusal !== null)
      await changePace(checker, silent, (pace, at) => ({
        pace: afterOffline(pace, at),
        result: undefined,
      }))
  await putOff(checker.pool, [id], now + offlineMs, null)
  if (!checker.isStopped(now)) checker.stop(now + offlineMs)
  throw new Offline()
}

/** Saves the result of a look, unless the source was checked meanwhile. Returns the new health. */
function save(
  { pool }: Checker,
  { id, lastCheck }: CheckedSource,
  result: ProbeResult,
  look: Circumstances,
): Promise<SourceHealth | undefined> {
  return pool.transaction(async (tx) => {
    const current = await lockSource(tx, id)
    if (!current || current.lastCheck !== lastCheck) return undefined
    const { health, change } = applyLook(
      current.health,
      { ...look, verdict: result.verdict },
      Math.random,
    )
    await saveSource(
      tx,
      {
        id,
        health,
        change,
        owner: result.owner ?? current.owner,
        evidence: result.evidence,
        checked: look.at,
        at: look.at,
      },
      origin,
      requestHash,
    )
    return health
  })
}
