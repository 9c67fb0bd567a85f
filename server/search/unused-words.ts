import type { Db } from '../platform/db/db.ts'
import { deleteSearchWords, listLiveIds, listSearchWords, refreshSearchWords } from './queries.ts'

const recordsPerBatch = 500
const wordsPerBatch = 2000

/**
 * Removes words that no live talk has any more, and adds those that are missing. Walks over all
 * live talks in small statements. If a talk is written with a word that is being removed, the next
 * maintenance adds the word again.
 */
export async function removeUnusedWords(db: Db, isStopped: () => boolean): Promise<number> {
  const used = new Set<string>()
  for await (const words of wordsOfLiveTalks(db)) {
    if (isStopped()) return 0
    for (const word of words) used.add(word)
  }
  let removed = 0
  for (let after = ''; ; ) {
    const known = await listSearchWords(db, after, wordsPerBatch)
    const unused = known.filter((word) => !used.has(word))
    if (unused.length > 0) removed += await deleteSearchWords(db, unused)
    const last = known.at(-1)
    if (last === undefined || known.length < wordsPerBatch || isStopped()) return removed
    after = last
  }
}

async function* wordsOfLiveTalks(db: Db): AsyncGenerator<string[]> {
  for (let after = 0; ; ) {
    const ids = (await listLiveIds(db, after, recordsPerBatch)).map(({ id }) => id)
    yield await refreshSearchWords(db, ids)
    const last = ids.at(-1)
    if (last === undefined || ids.length < recordsPerBatch) return
    after = last
  }
}
