// Entry point of the history: one `change` row for each accepted write, the preconditions of writes
// (precondition.ts), and polling for changes (tail.ts). Other features append `insertChange` to the
// statement that writes their row, so that both are written or neither.
export {
  assertBeforeDeadline,
  checkPrecondition,
  checkRevision,
  type Deadline,
  isRepeatedRequest,
  retryOnConflict,
  type WriteContext,
} from './precondition.ts'
export {
  type ChangeKind,
  type ChangeSummary,
  countChanges,
  deleteChanges,
  findIdsThen,
  findVersion,
  insertChange,
  insertChanges,
  listChanges,
  listChangesWithValues,
  type NewChange,
} from './queries.ts'
export { startTail, type Tail } from './tail.ts'
