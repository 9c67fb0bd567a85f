// Public interface of the matcher: pairs the talks of a schedule with the recordings of a playlist.
// Pure functions; docs/matching.md explains the rules and how well they work.

export type { Decision, MatchInput, Recording, ScheduledTalk } from './input.ts'
export { titleLikeness } from './likeness.ts'
export { measuredShares } from './limits.ts'
export { type MatchResult, matchTalks, type TalkRow } from './match.ts'
export { titleFingerprint } from './words.ts'
