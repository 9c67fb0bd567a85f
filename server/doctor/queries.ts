import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, one } from '../platform/db/db.ts'

const Server = Type.Object({
  version: Type.String(),
  major: Type.Integer(),
  encoding: Type.String(),
  is_case_mapped: Type.Boolean(),
  seconds: Type.Number(),
  missing_extensions: Type.Array(Type.String()),
})

/** Reads what the archive needs to know of the database server. Needs no schema. */
export function readServer(db: Db, extensions: readonly string[]) {
  return one(
    db,
    Server,
    sql`select current_setting('server_version') as version,
               current_setting('server_version_num')::integer / 10000 as major,
               current_setting('server_encoding') as encoding,
               lower('Ж') = 'ж' as is_case_mapped,
               extract(epoch from clock_timestamp())::double precision as seconds,
               array(
                 select wanted from unnest(${extensions}::text[]) as wanted
                 where wanted not in (select name from pg_available_extensions)
               ) as missing_extensions`,
  )
}
