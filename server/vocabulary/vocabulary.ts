// The front door. Names and what they lead to (resolve.ts; of many records at once book.ts), the things themselves (things.ts), and what readers
// are shown of them (shown.ts).
export { type Book, lookUp, lookUpAndHold, type Wanted } from './book.ts'
export { keepThings } from './kept.ts'
export type { Kind } from './queries.ts'
export { createMissing, type FoundNames, type Named, namesNow, once, resolveNames, type ThingIds, tidied, tidyName } from './resolve.ts'
export { findThingById, findThings } from './shown.ts'
export { changeThing, createCategory, mergeThings, readThing, type SentThing, splitOff, type ThingPatch } from './things.ts'
