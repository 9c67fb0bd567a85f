import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  deleteOldTokens,
  findToken,
  insertToken,
  listTokens,
  revokeToken,
  type TokenRow,
  touchToken,
} from './queries.ts'
import { hashSecret } from './secret.ts'
import { isWellFormedToken, makeToken } from './token.ts'

// Entry point of authentication: API tokens (here), people (people.ts), how they sign in
// (sign-in.ts, passkeys.ts), their sessions (sessions.ts) and the audit log (audit.ts).

export { type AuditOrigin, recordEvent } from './audit.ts'
export { passkeyCreationOptions, passkeyRequestOptions } from './passkeys.ts'
export {
  changePerson,
  createLinkFor,
  endSessions,
  findEvent,
  invitePerson,
  listPeople,
  readPerson,
  setDisabled,
  setEventEditor,
} from './people.ts'
export {
  deleteExpired,
  listAuditEvents,
  listPasskeys,
  type PersonRole,
  personRoles,
} from './queries.ts'
export {
  actorOf,
  createFormToken,
  endSession,
  isFormToken,
  readSession,
  type Session,
  sessionsOf,
} from './sessions.ts'
export {
  addPasskey,
  confirmWithPasskey,
  readLink,
  removePasskey,
  type SignInContext,
  type SignInLink,
  signInWithCode,
  signInWithNewPasskey,
  signInWithPasskey,
  signOut,
} from './sign-in.ts'
export { type RefusalReason, SignInRefused } from './sign-in-refused.ts'
export { deleteOldTokens, listTokens, revokeToken }

/** Creates a token and returns it. Only its hash is stored, so it cannot be read again. */
export async function createToken(db: Db, row: TokenRow) {
  const token = makeToken()
  return { token, ...(await insertToken(db, hashSecret(token), row)) }
}

/**
 * Returns the actor of an Authorization header; undefined if the token is malformed, unknown,
 * expired or revoked.
 */
export async function authenticate(pool: Pool, authorization: string): Promise<Actor | undefined> {
  const [, token] = /^(?:Token|Bearer) +(\S+) *$/i.exec(authorization) ?? []
  if (token === undefined || !isWellFormedToken(token)) return undefined
  const row = await findToken(pool.lookups, hashSecret(token))
  if (!row) return undefined
  // The time of the last use is informational: the request neither waits for this write nor fails
  // with it.
  if (row.needs_touch) touchToken(pool, row.id).catch(() => {})
  const { id, role, name, event_id: event } = row
  return { role, name, token: id, events: event === null ? undefined : [event] }
}
