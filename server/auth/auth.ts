import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  deleteOldTokens,
  findToken,
  insertToken,
  listTokens,
  type NewToken,
  revokeToken,
  touchToken,
} from './queries.ts'
import { hashSecret } from './secret.ts'
import { isWellFormedToken, makeToken } from './token.ts'

// Entry point of authentication: API tokens (here), people (people.ts), how they sign in
// (sign-in.ts, passkeys.ts), their sessions (sessions.ts) and the audit log (audit.ts).

export { type AuditOrigin, auditOriginOf, recordEvent } from './audit.ts'
export { finishOpenid, type OpenidKind, removeIdentity, startOpenid } from './openid.ts'
export { type OpenidProvider, openProvider } from './openid-provider.ts'
export { passkeyCreationOptions, passkeyRequestOptions } from './passkeys.ts'
export {
  changePerson,
  createLinkFor,
  endSessions,
  findEvent,
  invitePerson,
  listPeople,
  type PersonChanges,
  readPerson,
  setDisabled,
  setEventEditor,
} from './people.ts'
export {
  deleteExpired,
  GrantedAccess,
  isEditorRevoked,
  listAuditEvents,
  listIdentities,
  listPasskeys,
  type Person,
  type PersonRole,
  personRoles,
  readGrantedAccess,
  restrictGrantedAccess,
} from './queries.ts'
export { isWellFormedSecret, makeSecret } from './secret.ts'
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
  browserCode,
  confirmWithPasskey,
  readLink,
  removePasskey,
  requestLink,
  type SignInContext,
  type SignInLink,
  signInWithCode,
  signInWithNewPasskey,
  signInWithPasskey,
  signOut,
} from './sign-in.ts'
export { describeRefusal, type RefusalReason, SignInRefused } from './sign-in-refused.ts'
export { deleteOldTokens, hashSecret, listTokens, revokeToken }

/**
 * Creates a token and returns it. Only its hash is stored, so it cannot be read again. It works as
 * long as `person`, who creates it, is enabled.
 */
export async function createToken(
  db: Db,
  { person = null, ...token }: Omit<NewToken, 'person'> & { readonly person?: number | null },
) {
  const secret = makeToken()
  return { token: secret, ...(await insertToken(db, hashSecret(secret), { person, ...token })) }
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
