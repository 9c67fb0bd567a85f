// Entry point of suggestions: readers correct talks without an account (create.ts), authors follow
// the outcome by a secret link (author.ts), and editors decide (decide.ts). compare.ts compares a
// suggestion with the record as it is now, limits.ts has the limits against abuse.

export { followSuggestion, removeName, replyToSuggestion, withdraw } from './author.ts'
export {
  createSuggestion,
  type FormInput,
  openForm,
  readShownVersion,
  sendForm,
  suggestibleVideo,
} from './create.ts'
export { acceptSuggestion, type Decided, declineSuggestion, reopenSuggestion } from './decide.ts'
export { minFormMs, proofOfWorkBits } from './limits.ts'
export {
  deleteOldNetworks,
  deleteOldSuggestions,
  listCredits,
  readQueueMetrics,
} from './queries.ts'
export { listSuggestions, readSuggestion } from './read.ts'
