// Entry point of records. A read is one lookup of a rendered body (read.ts, record-cache.ts).
// createVideo writes the first version (create.ts), changeVideo every later one (update.ts),
// takeDownVideo the last (takedown.ts). revisions.ts reads and restores earlier versions, revert.ts
// takes back single changes, history.ts lists changes with their values.
// record-names.ts validates requests (videoFieldErrors) and resolves the names in a record. wire.ts
// normalizes requests (normalizeVideoInput) and converts records from and to JSON. refresh-names.ts
// updates records after a rename or split (replaceSpeaker), bulk.ts writes hundreds at a time.
// merge-edit.ts merges an edit with what others changed meanwhile, merge.ts two records of a talk.
// ids-before-merge.ts remembers the entities of records before merges. copied-videos.ts writes
// records of another archive, rewrite-texts.ts those that have a former name of a speaker, which
// open-forms.ts removes from edits.

export {
  createVideos,
  findBodiesById,
  lockAndReadBodies,
  type NewRecord,
  setState,
  writeLockedVersion,
} from './bulk.ts'
export { copyVideos, type WithdrawnVideo, withdrawVideos } from './copied-videos.ts'
export { createVideo } from './create.ts'
export { assertMayChange } from './event-access.ts'
export { readHistory } from './history.ts'
export { type MergeTarget, mergeVideos } from './merge.ts'
export { mergeEdit } from './merge-edit.ts'
export { removeFormerNames } from './open-forms.ts'
export {
  advanceVideoIds,
  type BodyRow,
  countVideosOfEntity,
  countVideosShownAs,
  fieldColumnNames,
  findMergedIds,
  findMergedRecords,
  findVideoIdsOfEntity,
  findVideoIdsShownAs,
  refreshSearchRows,
} from './queries.ts'
export { listDrafts, lockCurrent, readCurrentVideo, readVideo } from './read.ts'
export { type CachedBody, openRecordCache, type RecordCache } from './record-cache.ts'
export { videoFieldErrors } from './record-names.ts'
export { refreshNames, replaceSpeaker } from './refresh-names.ts'
export { revertInTransaction, revertRevision } from './revert.ts'
export {
  findRevision,
  listRevisions,
  readRevision,
  restoreRevision,
  revisionsPerPage,
} from './revisions.ts'
export { rewriteTexts } from './rewrite-texts.ts'
export { rewriteTakedownReason, takeDownVideo } from './takedown.ts'
export { changeInTransaction, changeVideo } from './update.ts'
export { applyPatch, normalizeVideoInput } from './wire.ts'
