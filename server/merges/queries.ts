import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, many } from '../platform/db/db.ts'

const Url = Type.Object({ url: Type.String() })

/** Returns those of the URLs that are not the same video as the source of a record. */
export async function findOtherVideos(
  db: Db,
  urls: readonly string[],
  source: string,
): Promise<string[]> {
  const rows = await many(
    db,
    Url,
    sql`select url
        from unnest(${urls}::text[]) as other (url)
        where source_identity(url) <> source_identity(${source}::text)`,
  )
  return rows.map(({ url }) => url)
}
