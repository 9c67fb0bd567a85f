// Entry point of the directory: categories, speakers, tags and languages as resources of the API.
// Lists them (list.ts), and renames, merges and splits them together with their records: the first
// batch of records is updated in the transaction of the entity (rename.ts), the others batch by
// batch in the background (rename-jobs.ts).

export { listEntities } from './list.ts'

export { type EntityWriteResult, mergeEntity, patchEntity, splitSpeaker } from './rename.ts'
export { nextRenameBatch } from './rename-jobs.ts'
