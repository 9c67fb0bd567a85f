import { AsyncLocalStorage } from 'node:async_hooks'

// Admits expensive work: few calls run at once, and the others wait for a short time. A client that
// makes many calls leaves room for others: it has a part of the running calls, the clients that
// wait take turns, and in a full queue its own calls are refused first.

/** The call was not admitted in time, or too many calls are waiting. */
export class NotAdmitted extends Error {}

export interface Admission {
  /** Runs the work when it is its turn. Throws NotAdmitted if that takes too long. */
  run<T>(work: () => Promise<T>): Promise<T>
  figures(): AdmissionFigures
}

/** The calls of now, and how many were refused since the start. */
export interface AdmissionFigures {
  readonly running: number
  readonly waiting: number
  readonly refused: number
}

export interface AdmissionOptions {
  readonly maxRunning: number
  readonly maxRunningPerClient: number
  readonly maxWaiting: number
  readonly maxWaitMs: number
}

const clients = new AsyncLocalStorage<string>()

/** Runs the work of a request for a client. */
export function withClient(client: string, work: () => void): void {
  clients.run(client, work)
}

/** Creates the admission of one kind of work. */
export function openAdmission(options: AdmissionOptions): Admission {
  const { maxRunning, maxRunningPerClient, maxWaiting, maxWaitMs } = options
  const running = new Map<string, number>()
  /** The waiting calls of each client. The client whose turn is next comes first. */
  const waiting = new Map<string, WaitingCall[]>()
  let [runningCount, waitingCount, refused] = [0, 0, 0]

  const hasRoom = (client: string) =>
    runningCount < maxRunning && (running.get(client) ?? 0) < maxRunningPerClient

  function begin(client: string): void {
    runningCount++
    running.set(client, (running.get(client) ?? 0) + 1)
  }

  function end(client: string): void {
    runningCount--
    const left = (running.get(client) ?? 0) - 1
    if (left > 0) running.set(client, left)
    else running.delete(client)
    const next = [...waiting.keys()].find(hasRoom)
    if (next !== undefined) admitNext(next)
  }

  /** Admits the oldest waiting call of a client, whose next one has to wait for the other clients. */
  function admitNext(client: string): void {
    const [call, ...others] = waiting.get(client) ?? []
    if (!call) return
    waitingCount--
    waiting.delete(client)
    if (others.length > 0) waiting.set(client, others)
    begin(client)
    call.admit()
  }

  function refuse(client: string, call: WaitingCall, reason: string): void {
    const others = (waiting.get(client) ?? []).filter((other) => other !== call)
    waitingCount--
    if (others.length > 0) waiting.set(client, others)
    else waiting.delete(client)
    call.refuse(refusal(reason))
  }

  function refusal(reason: string): NotAdmitted {
    refused++
    return new NotAdmitted(reason)
  }

  /** Makes room in a full queue: the client with the most waiting calls loses its newest one. */
  function makeRoom(client: string): void {
    const [largest, calls] = [...waiting].reduce((a, b) => (b[1].length > a[1].length ? b : a))
    const own = waiting.get(client)?.length ?? 0
    if (own + 1 >= calls.length) throw refusal('Too many calls are waiting')
    refuse(largest, calls.at(-1) as WaitingCall, 'Calls of other clients came first')
  }

  function waitForTurn(client: string): Promise<void> {
    if (waitingCount >= maxWaiting) makeRoom(client)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(
      () => refuse(client, call, 'The call has waited for too long'),
      maxWaitMs,
    )
    const call: WaitingCall = {
      admit() {
        clearTimeout(timer)
        resolve()
      },
      refuse(error) {
        clearTimeout(timer)
        reject(error)
      },
    }
    waiting.set(client, [...(waiting.get(client) ?? []), call])
    waitingCount++
    return promise
  }

  return {
    figures: () => ({ running: runningCount, waiting: waitingCount, refused }),
    async run(work) {
      const client = clients.getStore() ?? ''
      // A waiting call has its place from the moment in which it is admitted.
      if (hasRoom(client)) begin(client)
      else await waitForTurn(client)
      try {
        return await work()
      } finally {
        end(client)
      }
    },
  }
}

interface WaitingCall {
  admit(): void
  refuse(error: NotAdmitted): void
}
