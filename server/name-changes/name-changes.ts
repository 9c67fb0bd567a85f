// Entry point of name changes: a former name of a speaker disappears permanently, also from the
// history (docs/decisions/0049-speakers.md). begin.ts starts, chooses, applies and discards them; batches.ts
// searches all tables (tables.ts) and changes them: directly (direct.ts, replace.ts), or through
// the feature that owns the row (owned.ts).

export { nextNameChangeBatch } from './batches.ts'
export {
  applyNameChange,
  beginNameChange,
  choosePlaces,
  discardNameChange,
  readNameChange,
} from './begin.ts'
export { countRunningChanges, discardOldPlans, listNameChanges } from './queries.ts'
