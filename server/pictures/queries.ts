import sql from 'sql-template-tag'
import Type from 'typebox'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, maybe } from '../platform/db/db.ts'

// SQL of uploaded pictures.

interface StorageLimits {
  readonly maxPictures: number
  readonly maxBytes: number
}

/**
 * Stores a picture. One that is stored already counts as new again. Returns 0 if the storage is
 * full: concurrent uploads may exceed the limits by a few pictures.
 */
export function savePicture(
  db: Db,
  hash: string,
  data: Buffer,
  { actor, via, request }: Origin,
  { maxPictures, maxBytes }: StorageLimits,
): Promise<number> {
  return execute(
    db,
    sql`insert into uploaded_picture (hash, data, actor, token_id, via, request_id)
        select ${hash}, ${data}::bytea, ${actor.name}, ${actor.token}::bigint, ${via}, ${request}
        where exists (select from uploaded_picture where hash = ${hash})
           or (
             select count(*) < ${maxPictures}::integer
                and coalesce(sum(octet_length(data)), 0) + ${data.length}::integer
                    <= ${maxBytes}::bigint
             from uploaded_picture)
        on conflict (hash) do update
        set unused_since = case when uploaded_picture.unused_since is not null then now() end`,
  )
}

const PictureData = Type.Object({ data: Type.Unsafe<Buffer>({}) })

/** Finds the content of an uploaded picture. */
export async function findPicture(db: Db, hash: string): Promise<Buffer | undefined> {
  const row = await maybe(
    db,
    PictureData,
    sql`select data from uploaded_picture where hash = ${hash}`,
  )
  return row?.data
}

// Also of merged entities, because a merge can be undone.
const usedHashes = sql`
  select uploaded_hash(profile ->> 'logo_url') as hash
  from category
  where uploaded_hash(profile ->> 'logo_url') is not null
  union
  select uploaded_hash(profile ->> 'picture_url')
  from speaker
  where uploaded_hash(profile ->> 'picture_url') is not null`

/** Marks pictures that a profile uses again. */
export function markUsedPictures(db: Db) {
  return execute(
    db,
    sql`update uploaded_picture set unused_since = null
        where unused_since is not null and hash in (${usedHashes})`,
  )
}

/** Marks pictures that no profile uses any more. */
export function markUnusedPictures(db: Db) {
  return execute(
    db,
    sql`update uploaded_picture set unused_since = now()
        where unused_since is null and hash not in (${usedHashes})`,
  )
}

/** Deletes some of the pictures that no profile has used for 90 days. Returns how many. */
export function deleteUnusedPictures(db: Db, limit: number): Promise<number> {
  return execute(
    db,
    sql`delete from uploaded_picture
        where hash in (
          select hash
          from uploaded_picture
          where unused_since < now() - interval '90 days' and hash not in (${usedHashes})
          limit ${limit}::integer
          for update skip locked)`,
  )
}
