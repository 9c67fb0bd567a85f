import { hash } from 'node:crypto'
import type { Db } from '../platform/db/db.ts'
import { createReplacer, keysOfName, type NameReplacer, nameKey } from './name-replacer.ts'
import { findFormerNames, listFormerNames } from './queries.ts'

// Names that speakers no longer want to be called. They are stored as hashes only, so that they can
// be recognized but not shown.

/** Returns the hash under which a former name is stored. */
export function formerNameDigest(key: string): Buffer {
  return hash('sha256', `former name\n${key}`, 'buffer')
}

/**
 * Opens the replacement of all former names. A single word is replaced only as a whole speaker or
 * tag: in texts and keys it may be the name of others. Undefined if there are no former names.
 */
export async function openFormerNames(db: Db): Promise<NameReplacer | undefined> {
  const rows = await listFormerNames(db)
  if (rows.length === 0) return undefined
  const byDigest = new Map(rows.map((row) => [row.digest.toString('hex'), row]))
  const newKeys = new Set(rows.map(({ replacement }) => nameKey(replacement)))
  const formerCounts = new Set(rows.map(({ words }) => words))
  const findRow = memoize((key) =>
    formerCounts.has(countWords(key)) ? byDigest.get(digestText(key)) : undefined,
  )
  const findWhole = (key: string) => (newKeys.has(key) ? null : findRow(key)?.replacement)
  return createReplacer({
    find: (key) => (key.includes(' ') ? findWhole(key) : undefined),
    findWhole,
    wordCounts: [...formerCounts, ...[...newKeys].map(countWords)].filter((count) => count > 1),
    inLinks: (key) => findRow(key)?.in_links === true,
  })
}

const countWords = (key: string) => key.split(' ').length

const maxMemoized = 20_000

/** Remembers the results of a function: a hash takes longer than a lookup, and words repeat. */
function memoize<T>(compute: (key: string) => T): (key: string) => T {
  const results = new Map<string, T>()
  return (key) => {
    const known = results.get(key)
    if (known !== undefined || results.has(key)) return known as T
    if (results.size >= maxMemoized) results.clear()
    const result = compute(key)
    results.set(key, result)
    return result
  }
}

const digestText = (key: string) => formerNameDigest(key).toString('hex')

/** Finds the speakers whose former names these are, by the name. */
export async function findByFormerName(
  db: Db,
  names: readonly string[],
): Promise<Map<string, { id: number; name: string }>> {
  const digests = names.map((name) => keysOfName(name).map(formerNameDigest))
  const rows = await findFormerNames(db, digests.flat())
  const found = new Map(rows.map(({ digest, ...speaker }) => [digest.toString('hex'), speaker]))
  return new Map(
    names.flatMap((name, index) => {
      const own = digests[index] ?? []
      const speaker = own.map((digest) => found.get(digest.toString('hex'))).find(Boolean)
      return speaker ? [[name, speaker] as const] : []
    }),
  )
}
