import { AsyncLocalStorage } from 'node:async_hooks'

// Which server the reads of a request use. Without a context it is the primary, so that work that
// did not choose a server never sees an old state.

/** The choice of one request: `undefined` until its first read, then a replica or the primary. */
export interface ReadContext {
  source: object | 'primary' | undefined
}

const contexts = new AsyncLocalStorage<ReadContext | undefined>()

/** Runs the work of a request that may read what a replica has. */
export function withReplicas(work: () => void): void {
  contexts.run({ source: undefined }, work)
}

/** Runs work that reads only from the primary. */
export function onPrimary<T>(work: () => T): T {
  return contexts.run(undefined, work)
}

/** Returns the context of this work; undefined if it reads only from the primary. */
export const currentReadContext = (): ReadContext | undefined => contexts.getStore()
