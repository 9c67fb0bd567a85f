import { type Db, Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { onPrimary } from '../platform/db/read-context.ts'
import { withStatementsUntil } from '../platform/db/read-pool.ts'
import {
  findRecordWords,
  findSimilarRecords,
  findStoredSimilar,
  type RecordWord,
  saveSimilar,
} from './queries.ts'
import { withinMs } from './time-limit.ts'
import { joinWithOr, quoteLexeme } from './tsquery.ts'

// Talks on the same subject as another talk, by the words of title, tags and description. A word
// weighs the more, the fewer talks of the archive have it. Computing takes longer than a page may,
// so that the result is stored.

/** More than are shown, because some of them may be hidden or in another list. */
const maxSimilar = 24

/** Only the words with the greatest weights are compared. */
const maxWords = 30

/** A candidate has to share a word of title or tags, and one of this many words with the talk. */
const maxCandidateWords = 10

/** With this many records that share two words, those that share one are not looked for. */
const enough = 6

/** Candidates that share one word share one of this many. */
const maxSingleWords = 4

/** After a comparison that failed, or that could not be stored, none is tried for this time. */
const retryDelayMs = 5 * 60_000

/** More talks are not compared at once, and no more failures are remembered. */
const maxRunning = 100
const maxUnsaved = 1000

interface ComparedRecord {
  readonly id: number
  readonly recorded: string | null
}

/** What a process knows besides the stored results. */
interface Comparisons {
  /** By id and revision, until the result is stored: requests for the same talk share it. */
  readonly running: Map<string, Promise<number[] | undefined>>
  /** By id, the oldest first. */
  readonly unsaved: Map<number, Unsaved>
}

interface Unsaved {
  readonly revision: number
  /** Undefined if comparing failed. */
  readonly ids: readonly number[] | undefined
  readonly untilMs: number
}

const comparisonsByPool = new WeakMap<Pool, Comparisons>()

function comparisonsOf(pool: Pool): Comparisons {
  const known = comparisonsByPool.get(pool)
  if (known) return known
  const comparisons = { running: new Map(), unsaved: new Map() }
  comparisonsByPool.set(pool, comparisons)
  return comparisons
}

/**
 * Finds the records most similar to one, the best first, without those of its event and its
 * speakers. Returns none for a record that is not live: it has no words in the index. If comparing
 * takes too long, returns what is stored, and stores the new result when it is there.
 */
export async function findSimilar(pool: Pool, record: ComparedRecord): Promise<number[]> {
  const unsaved = readUnsaved(comparisonsOf(pool), record.id)
  const stored = await findStoredSimilar(pool.lookups, record.id, unsaved?.ids)
  if (!stored) return []
  if (stored.is_fresh || unsaved?.revision === stored.revision) return stored.ids
  const ids = await withinMs(compare(pool, record, stored.revision), pool.searches.patienceMs)
  // While the database is busy, the list before the last change is better than none.
  return ids ?? stored.ids
}

/**
 * Computes and stores the similar records of a revision, once for all requests. Returns undefined
 * if the database is busy. Stops with the next statement when the pool is closed, which waits for
 * the current one.
 */
function compare(
  pool: Pool,
  record: ComparedRecord,
  revision: number,
): Promise<number[] | undefined> {
  const { running } = comparisonsOf(pool)
  const key = `${record.id} ${revision}`
  const shared = running.get(key)
  if (shared) return shared
  if (running.size >= maxRunning) return Promise.resolve(undefined)
  const untilMs = performance.now() + pool.searches.longestMs
  // What is stored for a revision must not come from a replica that does not have it yet.
  const computed = onPrimary(() =>
    pool.searches.admit(() =>
      withStatementsUntil(untilMs, () => computeSimilar(pool.searches, record)),
    ),
  )
  const result = unlessUnavailable(computed)
  running.set(key, result)
  void store(pool, record.id, revision, result).then(() => running.delete(key))
  return result
}

/** Stores a result, or remembers that this was not possible. Never throws. */
async function store(
  pool: Pool,
  id: number,
  revision: number,
  result: Promise<number[] | undefined>,
): Promise<void> {
  const { unsaved } = comparisonsOf(pool)
  let ids: number[] | undefined
  try {
    ids = await result
    if (ids) {
      await saveSimilar(pool, id, revision, ids)
      unsaved.delete(id)
      return
    }
  } catch {
    // The page works without the list, and a database may be read-only. Requests that wait for the
    // result report its error.
  }
  unsaved.delete(id)
  unsaved.set(id, { revision, ids, untilMs: performance.now() + retryDelayMs })
  const [oldest] = unsaved.keys()
  if (unsaved.size > maxUnsaved && oldest !== undefined) unsaved.delete(oldest)
}

function readUnsaved({ unsaved }: Comparisons, id: number): Unsaved | undefined {
  const found = unsaved.get(id)
  if (!found || performance.now() < found.untilMs) return found
  unsaved.delete(id)
  return undefined
}

async function unlessUnavailable<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (error instanceof Unavailable) return undefined
    throw error
  }
}

async function computeSimilar(db: Db, record: ComparedRecord): Promise<number[]> {
  const words = weighWords(await findRecordWords(db, record.id, record.recorded))
  if (words.length === 0) return []
  const best = words.slice(0, maxCandidateWords)
  const quoted = (all: readonly WeighedWord[]) => all.map(({ lexeme }) => quoteLexeme(lexeme))
  const inHead = words.filter((word) => word.isInHead).slice(0, maxCandidateWords)
  const findMatches = (match: string) =>
    findSimilarRecords(db, record.id, record.recorded, match, words, 3 * maxSimilar)
  // A single word would match too many talks; two words are far more specific.
  const pairs = pairsOf(quoted(inHead), quoted(best))
  const sharingTwo = pairs === '' ? [] : await findMatches(pairs)
  const subjects = quoted(inHead.length > 0 ? inHead : best).slice(0, maxSingleWords)
  const sharingOne = sharingTwo.length < enough ? await findMatches(joinWithOr(subjects)) : []
  const titles = new Set<string>()
  const isFirst = (title: string) => !titles.has(title) && Boolean(titles.add(title))
  return [...new Map([...sharingTwo, ...sharingOne].map((row) => [row.id, row])).values()]
    .filter(({ title }) => isFirst(title))
    .slice(0, maxSimilar)
    .map(({ id }) => id)
}

interface WeighedWord {
  readonly lexeme: string
  readonly isInHead: boolean
  readonly weight: number
}

/** Returns the words with the greatest weights. */
function weighWords(words: readonly RecordWord[]): WeighedWord[] {
  return words
    .map(({ lexeme, in_head: isInHead, value, share }) => ({
      lexeme,
      isInHead,
      weight: value * -Math.log(share),
    }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, maxWords)
}

/**
 * Builds a tsquery for a word of title or tags with another word. Texts alone say too little: many
 * end with the same notes about event, speaker and slides.
 */
function pairsOf(inHead: readonly string[], best: readonly string[]): string {
  return joinWithOr(
    inHead.flatMap((word, index) => {
      const others = new Set([...inHead.slice(index + 1), ...best])
      for (const earlier of inHead.slice(0, index + 1)) others.delete(earlier)
      return others.size > 0 ? [`${word} & (${[...others].join(' | ')})`] : []
    }),
  )
}
