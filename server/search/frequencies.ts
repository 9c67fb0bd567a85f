import type { Db } from '../platform/db/db.ts'
import {
  countLexemes,
  deleteLexemeCounts,
  findLexemeCounts,
  type LexemeCount,
  listLexemeCounts,
  listLiveIds,
  readTalkCount,
  saveLexemeCounts,
} from './queries.ts'

// How many talks have each word, over the whole archive. A day old at most: the weight of a word is
// the logarithm of its share.

const recordsPerBatch = 500
const rowsPerBatch = 5000

/** More records than this are not read: parts of the archive, evenly spread, stand for the rest. */
const maxRecords = 50_000

/** Words of one talk are dropped when there are more than this: they weigh as unknown ones do. */
const maxCounted = 600_000

/** The number of talks of each word that is in more than one, and of the archive. */
export interface WordFrequencies {
  readonly total: number
  /** By language. */
  readonly languages: ReadonlyMap<number, number>
  talks(lexeme: string): number
  talksInLanguage(lexeme: string, language: number): number
}

/**
 * Finds how many live talks have each of these lexemes, in title, names, tags, category or text.
 * A lexeme that is not known, as all in a new archive, counts as one of a single talk.
 */
export async function talksOfLexemes(db: Db, lexemes: readonly string[]): Promise<WordFrequencies> {
  const rows = await findLexemeCounts(db, lexemes)
  const languages = new Map<number, number>()
  const counts = new Map<string, number>()
  for (const { lexeme, language_id: language, talks } of rows) {
    if (lexeme === null) languages.set(language, talks)
    else {
      counts.set(lexeme, (counts.get(lexeme) ?? 0) + talks)
      counts.set(keyOf(lexeme, language), talks)
    }
  }
  const total = [...languages.values()].reduce((sum, talks) => sum + talks, 0)
  return {
    total,
    languages,
    talks: (lexeme) => counts.get(lexeme) ?? 1,
    talksInLanguage: (lexeme, language) => counts.get(keyOf(lexeme, language)) ?? 0,
  }
}

/** No lexeme contains a space. */
const keyOf = (lexeme: string, language: number) => `${language} ${lexeme}`

/**
 * Counts the talks of each word again, in small statements. Returns the number of words that were
 * deleted because no more than one talk has them.
 */
export async function refreshFrequencies(
  db: Db,
  isStopped: () => boolean,
  limit = maxRecords,
): Promise<number> {
  const counts = await countAll(db, isStopped, limit)
  if (counts === undefined) return 0
  let removed = 0
  for (let after: LexemeCount | undefined; ; ) {
    const known = await listLexemeCounts(db, after, rowsPerBatch)
    const unused = known.filter((row) => !counts.has(keyOf(row.lexeme, row.language_id)))
    if (unused.length > 0) removed += await deleteLexemeCounts(db, unused)
    if (isStopped()) return removed
    after = known.at(-1)
    if (after === undefined || known.length < rowsPerBatch) break
  }
  const rows = [...counts].map(([key, talks]) => {
    const space = key.indexOf(' ')
    return { lexeme: key.slice(space + 1), language_id: Number(key.slice(0, space)), talks }
  })
  for (let index = 0; index < rows.length && !isStopped(); index += rowsPerBatch)
    await saveLexemeCounts(db, rows.slice(index, index + rowsPerBatch))
  return removed
}

/** Counts the talks of the words that more than one talk has. Undefined if it was stopped. */
async function countAll(
  db: Db,
  isStopped: () => boolean,
  limit: number,
): Promise<Map<string, number> | undefined> {
  const total = await readTalkCount(db)
  // Of a million records, one of twenty batches is read.
  const batchesPerRead = Math.max(1, Math.ceil(total / limit))
  const counts = new Map<string, number>()
  let read = 0
  for (let after = 0; ; ) {
    const ids = (await listLiveIds(db, after, recordsPerBatch)).map(({ id }) => id)
    for (const { lexeme, language_id: language, talks } of await countLexemes(db, ids)) {
      const key = keyOf(lexeme, language)
      counts.set(key, (counts.get(key) ?? 0) + talks)
    }
    if (isStopped()) return undefined
    if (counts.size > maxCounted) dropSingle(counts)
    read += ids.length
    const [first, last] = [ids[0], ids.at(-1)]
    if (first === undefined || last === undefined || ids.length < recordsPerBatch) break
    after = last + (batchesPerRead - 1) * (last - first + 1)
  }
  dropSingle(counts)
  if (batchesPerRead > 1)
    for (const [key, talks] of counts) counts.set(key, Math.round((talks * total) / read))
  return counts
}

function dropSingle(counts: Map<string, number>): void {
  for (const [key, talks] of counts) if (talks === 1) counts.delete(key)
}
