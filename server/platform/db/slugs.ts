import sql, { type Sql } from 'sql-template-tag'
import Type from 'typebox'
import { numbered } from '../slug.ts'
import { type Db, one } from './db.ts'

// A number is added within the 50 characters of a slug, so a long slug loses its end to it: up to this many stay.
const kept = 43

const Family = Type.Object({ taken: Type.Boolean(), highest: Type.Integer() })

/**
 * A slug that no row of the table has at this moment: the base itself, or the base with the next number behind it. Another
 * writer may take it first; then the unique index says so, and the caller asks again.
 * Where the text left nothing for a slug, the word and a number make one.
 */
export async function freeSlug(db: Db, table: Sql, base: string, word: string): Promise<string> {
  const family = (base || word).slice(0, kept)
  const members = base.length > kept ? `^${family}[a-z0-9-]*-[0-9]{1,6}$` : `^${family}-[0-9]{1,6}$`
  const found = await one(
    db,
    Family,
    sql`select exists (select from ${table} where slug = ${base}) as taken,
               coalesce((select max(substring(slug from '[0-9]+$')::bigint) from ${table}
                         where slug >= ${family} and slug < ${`${family}~`} and slug ~ ${members}), 0) as highest`,
  )
  return base !== '' && !found.taken ? base : numbered(base || word, found.highest + 1)
}
