// Entry point of the change feed: appends entries (append.ts), follows the feed of all processes
// (follow.ts), reads pages of it (page.ts) and streams it (stream.ts).
export { followFeed } from './follow.ts'
