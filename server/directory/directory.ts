// Entry point of the directory: categories, speakers, tags and languages as resources of the API.
// Lists them (list.ts), and renames, merges and splits them together with their records: the first
// batch of records is updated in the transaction of the entity (rename.ts), the others batch by
// batch in the background (rename-jobs.ts). preview.ts finds these records before the write.

export { listEntities } from './list.ts'
export { parseEntityPatch } from './patch.ts'
export { previewRecords, previewUnmerge } from './preview.ts'
export { countRenameJobs, findEntitiesLike } from './queries.ts'
export {
  type EntityWriteResult,
  mergeEntity,
  patchEntity,
  splitSpeaker,
  unmerge,
} from './rename.ts'
export { nextRenameBatch } from './rename-jobs.ts'
