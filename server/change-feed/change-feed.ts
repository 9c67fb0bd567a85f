// Entry point of the change feed: appends entries (append.ts), follows the feed of all processes
// (follow.ts), reads pages of it (page.ts) and streams it (stream.ts).
export { announceTakedown } from './append.ts'
export { type FeedFollower, followFeed } from './follow.ts'
export { findSince, formatCursor, matches, toEntry } from './page.ts'
export {
  type EntryRow,
  findPosition,
  listEntries,
  listRemoved,
  type Position,
  readHead,
} from './queries.ts'
