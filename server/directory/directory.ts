// The front door. A entity is renamed, merged or split together with the records that show it: the
// first batch in the transaction of the entity itself (rename.ts), what is left one batch after the
// other (batches.ts).

export { type EntityWriteResult, mergeEntity, patchEntity, splitSpeaker } from './rename.ts'
export { nextRenameBatch } from './rename-jobs.ts'
