// The front door. Reading is one lookup of a ready body (read.ts, bodies.ts). Everything that
// changes a record goes one way: createVideo for the first version (create.ts), changeVideo for
// every later one (update.ts), takeDownVideo for the last (takedown.ts); where a name changed, the
// records that show it follow (names.ts). Hundreds at a time go through bulk.ts.

export {
  createVideos,
  findBodiesById,
  lockAndReadBodies,
  type NewRecord,
  writeLockedVersion,
} from './bulk.ts'
export { createVideo } from './create.ts'
export {
  advanceVideoIds,
  type BodyRow,
  countVideosOfEntity,
  findVideoIdsOfEntity,
} from './queries.ts'
export { lockCurrent, readVideo } from './read.ts'
export { type CachedBody, openRecordCache, type RecordCache } from './record-cache.ts'
export { refreshNames, replaceSpeaker } from './refresh-names.ts'
export {
  findRevision,
  listRevisions,
  readRevision,
  restoreRevision,
  revisionsPerPage,
} from './revisions.ts'
export { takeDownVideo } from './takedown.ts'
export { changeVideo, videoFieldErrors } from './update.ts'
export { normalizeVideoInput } from './wire.ts'
