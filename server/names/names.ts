// The front door. A thing is renamed, merged or split together with the records that show it: the first batch in the transaction of the thing
// itself (rename.ts), what is left one batch after the other (batches.ts).
export { nextBatch } from './batches.ts'
export { mergeThing, patchThing, splitSpeaker, type Written } from './rename.ts'
