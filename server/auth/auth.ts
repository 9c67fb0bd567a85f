import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  deleteOldTokens,
  findToken,
  insertToken,
  listTokens,
  revokeToken,
  touchToken,
} from './queries.ts'
import { hashToken, isWellFormedToken, makeToken } from './token.ts'

export { deleteOldTokens, listTokens, revokeToken }

/** Makes a token and returns it: the only time that it can be seen. */
export async function createToken(
  db: Db,
  { name, role, days }: { name: string; role: 'editor' | 'admin'; days: number },
) {
  const token = makeToken()
  return { token, ...(await insertToken(db, name, role, hashToken(token), days)) }
}

/**
 * Who sent this Authorization header; undefined where the token is malformed, unknown, expired or
 * revoked.
 */
export async function authenticate(pool: Pool, authorization: string): Promise<Actor | undefined> {
  const [, key] = /^(?:Token|Bearer) +(\S+) *$/i.exec(authorization) ?? []
  if (key === undefined || !isWellFormedToken(key)) return undefined
  const found = await findToken(pool.lookups, hashToken(key))
  if (!found) return undefined
  // Nobody waits for it, and nobody fails because of it: the time of the last use is a help, not a
  // fact.
  if (found.untouched) touchToken(pool, found.id).catch(() => {})
  return { role: found.role, name: found.name, token: found.id }
}
