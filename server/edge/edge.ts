// Entry point of the edge: the headers of responses (target.ts), requests to its API (adapters.ts)
// and purges after changes (purger.ts).
export { createAdapter } from './adapters.ts'
export { type Purger, repetitionsFor, startPurger } from './purger.ts'
export { purgeKey } from './queries.ts'
export { createEdgeHeaders, type EdgeTarget, parseEdgeTarget } from './target.ts'
