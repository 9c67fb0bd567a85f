// The front door. Reading is one lookup of a ready body (read.ts, bodies.ts). Everything that changes a record goes one way: createVideo
// for the first version (create.ts), changeVideo for every later one (update.ts), takeDownVideo for the last (takedown.ts); where a name changed, the
// records that show it follow (names.ts). Hundreds at a time go through bulk.ts.
export { type Bodies, type Body, openBodies } from './bodies.ts'
export { createVideos, findBodies, lockBodies, type NewRecord, writeLocked } from './bulk.ts'
export { createVideo } from './create.ts'
export { exchangeSpeaker, followNames } from './names.ts'
export { type BodyRow, countRecordsOf, moveVideoIds, recordsOf } from './queries.ts'
export { lockCurrent, readVideo } from './read.ts'
export { listRevisions, readRevision, restoreRevision, revisionsPerPage } from './revisions.ts'
export { takeDownVideo } from './takedown.ts'
export { changeVideo, fieldErrors } from './update.ts'
export { tidied } from './wire.ts'
