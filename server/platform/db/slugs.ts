import { randomInt } from 'node:crypto'
import sql, { type Sql } from 'sql-template-tag'
import Type from 'typebox'
import { numberedSlug } from '../slug.ts'
import { type Db, many } from './db.ts'

const Slug = Type.Object({ slug: Type.String() })

/**
 * Narrowing 2^29 numbers down by thirties takes six statements; the others are for concurrent
 * writers.
 */
const maxStatements = 10

/**
 * Returns a slug that no row of the table has at this moment: the base itself, or the base with the
 * next number. Another writer may take it first; then the unique index refuses it, and the caller
 * asks again. If the text leaves nothing for a slug, the word and a number make one.
 *
 * Of many writers that want the same slug at once all but one are refused, and would all want the
 * next one. From the second attempt on they step aside by chance, further each time: a few rounds
 * instead of as many as there are writers, for a gap in the numbers.
 *
 * Numbers are given out nearly without gaps, so the first free one is found by halving: a title
 * that ten thousand talks have costs four short lookups. If all numbers that are probed are taken,
 * which takes titles made for it, a large random one is returned.
 */
export async function freeSlug(
  db: Db,
  table: Sql,
  base: string,
  word: string,
  attempt: number,
): Promise<string> {
  const at = (number: number) => (number === 0 ? base : numberedSlug(base || word, number))
  const least = base === '' ? 1 : 0
  const powers = [least, ...Array.from({ length: 30 }, (_, power) => 2 ** power)]
  let [taken, probes] = [least - 1, powers]
  for (let statements = 0; statements < maxStatements; statements++) {
    const rows = await many(
      db,
      Slug,
      sql`select slug from ${table} where slug = any (${probes.map(at)}::text[])`,
    )
    const known = new Set(rows.map(({ slug }) => slug))
    const free = probes.find((number) => !known.has(at(number)))
    if (free === undefined) {
      if (probes === powers) break
      // The number that was free a moment ago is taken: from the start.
      probes = powers
      taken = least - 1
      continue
    }
    taken = probes[probes.indexOf(free) - 1] ?? taken
    if (free === taken + 1)
      return at(free + (attempt > 1 ? randomInt(2 ** Math.min(attempt - 1, 12)) : 0))
    const step = Math.ceil((free - taken) / 30)
    probes = Array.from({ length: 30 }, (_, index) => taken + (index + 1) * step).filter(
      (number) => number < free,
    )
    probes.push(free)
  }
  return at(randomInt(2 ** 30, 2 ** 47))
}
