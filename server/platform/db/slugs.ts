import { randomInt } from 'node:crypto'
import sql, { type Sql } from 'sql-template-tag'
import Type from 'typebox'
import { numberedSlug } from '../slug.ts'
import { type Db, many } from './db.ts'

const Slug = Type.Object({ slug: Type.String() })

/** Narrowing 2^29 numbers by a factor of 30 takes six statements; the rest is for races. */
const maxStatements = 10

/**
 * Returns a slug that no row of the table has at this moment: the base itself, or the base with the
 * next free number. A concurrent writer may insert it first; then the unique index rejects it and
 * the caller retries with a higher `attempt`. If the base is empty, `word` and a number are used.
 *
 * When many writers compete for the same slug, all but one fail and would compete for the next
 * number again. From the second attempt on a random distance is added, larger each time: a few
 * rounds instead of one per writer, at the price of gaps in the numbers.
 *
 * Numbers have few gaps, so the first free one is found by interval search: a title of ten thousand
 * talks costs four short lookups. If all probed numbers are taken, which needs titles constructed
 * for it, a large random number is returned.
 */
export async function freeSlug(
  db: Db,
  table: Sql,
  base: string,
  word: string,
  attempt: number,
): Promise<string> {
  const slugAt = (number: number) => (number === 0 ? base : numberedSlug(base || word, number))
  const min = base === '' ? 1 : 0
  const powers = [min, ...Array.from({ length: 30 }, (_, power) => 2 ** power)]
  let [maxTaken, probes] = [min - 1, powers]
  for (let statements = 0; statements < maxStatements; statements++) {
    const rows = await many(
      db,
      Slug,
      sql`select slug from ${table} where slug = any (${probes.map(slugAt)}::text[])`,
    )
    const existing = new Set(rows.map(({ slug }) => slug))
    const free = probes.find((number) => !existing.has(slugAt(number)))
    if (free === undefined) {
      if (probes === powers) break
      // A concurrent writer has inserted the number that was free: start again.
      probes = powers
      maxTaken = min - 1
      continue
    }
    maxTaken = probes[probes.indexOf(free) - 1] ?? maxTaken
    if (free === maxTaken + 1)
      return slugAt(free + (attempt > 1 ? randomInt(2 ** Math.min(attempt - 1, 12)) : 0))
    const step = Math.ceil((free - maxTaken) / 30)
    probes = Array.from({ length: 30 }, (_, index) => maxTaken + (index + 1) * step).filter(
      (number) => number < free,
    )
    probes.push(free)
  }
  return slugAt(randomInt(2 ** 30, 2 ** 47))
}
