import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, writeReturning } from '../platform/db/db.ts'

const Role = Type.Union([Type.Literal('editor'), Type.Literal('admin')])
const MaybeTimestamp = Type.Union([Type.String(), Type.Null()])
const NewToken = Type.Object({ id: Type.Integer(), expires: Type.String() })
const FoundToken = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  role: Role,
  needs_touch: Type.Boolean(),
})
const ListedToken = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  role: Role,
  created: MaybeTimestamp,
  expires: MaybeTimestamp,
  last_used: MaybeTimestamp,
  revoked: MaybeTimestamp,
})

/** Inserts a token. Returns its id and the day on which it expires. */
export async function insertToken(db: Db, name: string, role: string, hash: Buffer, days: number) {
  const [row] = await writeReturning(
    db,
    NewToken,
    sql`insert into token (name, role, hash, expires)
        values (${name}, ${role}, ${hash}, now() + make_interval(days => ${days}::integer))
        returning id, to_char(expires at time zone 'UTC', 'YYYY-MM-DD') as expires`,
  )
  return row as Static<typeof NewToken>
}

/** Finds a valid token. `needs_touch`: its last use was recorded over a minute ago, or never. */
export function findToken(db: Db, hash: Buffer) {
  return maybe(
    db,
    FoundToken,
    sql`select id, name, role,
               coalesce(last_used < now() - interval '1 minute', true) as needs_touch
        from token
        where hash = ${hash} and revoked is null and expires > now()`,
  )
}

/** Records the use of a token. Checks the minute again, so that one of many requests writes. */
export function touchToken(db: Db, id: number) {
  return execute(
    db,
    sql`update token set last_used = now()
        where id = ${id} and coalesce(last_used < now() - interval '1 minute', true)`,
  )
}

/** Lists all tokens, also expired and revoked ones. */
export function listTokens(db: Db) {
  return many(
    db,
    ListedToken,
    sql`select id, name, role,
               to_char(created   at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as created,
               to_char(expires   at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as expires,
               to_char(last_used at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as last_used,
               to_char(revoked   at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as revoked
        from token
        order by id`,
  )
}

/** Revokes a token. A second call keeps the time of the first one. Returns 0 if it is unknown. */
export function revokeToken(db: Db, id: number) {
  return execute(db, sql`update token set revoked = coalesce(revoked, now()) where id = ${id}`)
}

/**
 * Deletes tokens that expired or were revoked 90 days ago, unless an idempotency key still refers
 * to them. The history keeps their names.
 */
export function deleteOldTokens(db: Db) {
  return execute(
    db,
    sql`delete from token
        where least(expires, revoked) < now() - interval '90 days'
          and not exists (select from idempotency_key where token_id = token.id)`,
  )
}
