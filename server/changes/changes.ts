// The history of everything: one row for each accepted write. Other features put `insertChange` at
// the end of the one statement that writes their row, so that neither can be there without the
// other.
export {
  assertBeforeDeadline,
  checkPrecondition,
  type Deadline,
  isRepeatedRequest,
  retryOnConflict,
  type WriteContext,
} from './precondition.ts'
export {
  type ChangeSummary,
  countChanges,
  findVersion,
  insertChange,
  insertChanges,
  listChanges,
  type NewChange,
} from './queries.ts'
export { startTail, type Tail } from './tail.ts'
