import { createHash } from 'node:crypto'
import type { FeedEntry, FeedPage } from '@talkshelf/contract'

// What the copies in a folder and in a database have in common.

/** A record or an entity. */
export type CopiedSubject = Pick<FeedEntry, 'kind' | 'id'>

/** A copy of the public data of an archive. */
export interface ArchiveCopy {
  /** The position in the feed that the copy has; undefined if it is not complete. */
  readonly cursor: string | undefined
  /** Some of the positions before that, oldest first. */
  readonly earlierCursors: readonly string[]
  /** Stores a page with its cursor: both or neither. */
  apply(page: FeedPage): Promise<void>
  /** Stores entries without a cursor. */
  write(entries: readonly FeedEntry[]): Promise<void>
  /** Sets the position when all up to it has been written, and forgets those after it. */
  setPosition(cursor: string): Promise<void>
  /** Withdraws all but these, given as `kind:id`. */
  removeOthers(kept: ReadonlySet<string>): Promise<void>
  /** Lists what was copied from entries after a number. */
  listAfter(seq: number): Promise<readonly CopiedSubject[]>
  /** Tells whether the digest of the copy is that of the cursor. */
  isExact(): boolean
  /** How many records and entities it has. */
  size(): number
  close(): Promise<void>
}

/** The copy belongs to another archive, or cannot be used. The message says what to do. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
}

export const keyOf = ({ kind, id }: CopiedSubject) => `${kind}:${id}`

/** Returns the number of the entry in a cursor. */
export const seqOf = (cursor: string) => Number.parseInt(cursor, 10)

/** Returns the newest entry of each record and entity. */
export function newestOf(entries: readonly FeedEntry[]): FeedEntry[] {
  return [...new Map(entries.map((entry) => [keyOf(entry), entry])).values()]
}

/** Returns the part of the digest that an entry has, as docs/follow.md describes. */
export function hashOf({
  kind,
  id,
  state,
  version,
  merged_into,
}: Pick<FeedEntry, 'kind' | 'id' | 'state' | 'version' | 'merged_into'>): bigint {
  if (state === 'hidden') return 0n
  const detail = version ?? merged_into
  const text = [kind, id, state, ...(detail === undefined ? [] : [detail])].join(':')
  return BigInt(`0x${createHash('sha256').update(text).digest('hex').slice(0, 16)}`)
}

export const digestText = (digest: bigint) => digest.toString(16).padStart(16, '0')

/** Cursors that are kept for each doubling of the distance from the newest one. */
const cursorsPerDoubling = 8

/**
 * Returns the cursors to keep, of which the last one is the newest: many recent ones and few old
 * ones. After a restore of the archive, the newest one that it accepts is the point up to which
 * both histories are the same.
 */
export function thinCursors(cursors: readonly string[]): string[] {
  const newest = seqOf(cursors.at(-1) ?? '0')
  const kept = new Map<number, number>()
  return cursors
    .toReversed()
    .filter((cursor) => {
      const distance = Math.floor(Math.log2(1 + Math.max(0, newest - seqOf(cursor))))
      const count = (kept.get(distance) ?? 0) + 1
      kept.set(distance, count)
      return count <= cursorsPerDoubling
    })
    .reverse()
}
