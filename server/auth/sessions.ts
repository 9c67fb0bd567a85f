import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  deleteSession,
  deleteSessions,
  findSession,
  insertSession,
  listSessions,
  type PersonRole,
  renewSession,
  type SignInMethod,
  touchSession,
} from './queries.ts'
import { hashSecret, isWellFormedSecret, makeSecret } from './secret.ts'

// Sessions of people who are signed in. A session is a row that is looked up at each request, so
// ending it takes effect at once. The secret is only in the cookie.

export interface Session {
  readonly secret: string
  readonly person: {
    readonly id: number
    readonly name: string
    readonly role: PersonRole
    /** Ids of the events that the person edits, whatever the role. */
    readonly events: readonly number[]
  }
  /** Whether the person proved their identity in the last 10 minutes. */
  readonly isStrong: boolean
}

/** Starts a session and returns its secret. */
export async function startSession(
  db: Db,
  person: number,
  method: SignInMethod,
  userAgent: string,
): Promise<string> {
  const secret = makeSecret()
  await insertSession(db, hashSecret(secret), person, method, userAgent.slice(0, 300))
  return secret
}

/** Returns the session of a cookie; undefined if it is malformed, unknown, expired or idle. */
export async function readSession(pool: Pool, secret: string): Promise<Session | undefined> {
  if (!isWellFormedSecret(secret)) return undefined
  const hash = hashSecret(secret)
  const row = await findSession(pool.lookups, hash)
  if (!row) return undefined
  // Informational, like the last use of a token.
  if (row.needs_touch) touchSession(pool, hash).catch(() => {})
  const { person_id: id, name, role, events } = row
  return { secret, person: { id, name, role, events }, isStrong: row.is_strong }
}

/** Returns the actor of what a person does. An editor of single events is limited to them. */
export function actorOf({ person: { id, name, role, events } }: Session): Actor {
  const isEventEditor = role === 'suggester' && events.length > 0
  return {
    role: isEventEditor ? 'editor' : role,
    name,
    token: null,
    person: id,
    events: isEventEditor ? events : undefined,
  }
}

/** Makes a session strong again, with a new secret. Returns the secret. */
export async function strengthenSession(db: Db, { secret }: Session): Promise<string> {
  const renewed = makeSecret()
  await renewSession(db, hashSecret(secret), hashSecret(renewed))
  return renewed
}

/** Lists the sessions of a person. */
export function sessionsOf(db: Db, { person, secret }: Session) {
  return listSessions(db, person.id, hashSecret(secret))
}

/** Ends the session itself, another session of the person by its id, or all others. */
export async function endSession(
  db: Db,
  { person, secret }: Session,
  which: 'this' | 'others' | { readonly id: string },
): Promise<number> {
  const hash = hashSecret(secret)
  if (which === 'others') return deleteSessions(db, person.id, hash)
  const id = which === 'this' ? hash.toString('hex').slice(0, 16) : which.id
  if (!/^[0-9a-f]{16}$/.test(id)) return 0
  return deleteSession(db, person.id, id)
}

/**
 * Returns a token that a form must send. It is derived from the secret of the session, so other
 * sites cannot know it, and from the path of the form, so it is of no use for another form. It
 * differs each time, so that the size of a compressed page says nothing about it.
 */
export function createFormToken(session: Pick<Session, 'secret'>, path: string): string {
  return signForm(session, path, randomBytes(12).toString('base64url'))
}

/** Tells whether a form has a token of its session and path. */
export function isFormToken(session: Pick<Session, 'secret'>, path: string, token: string) {
  const expected = Buffer.from(signForm(session, path, token.split('.', 1)[0] as string))
  const sent = Buffer.from(token)
  return sent.length === expected.length && timingSafeEqual(sent, expected)
}

function signForm({ secret }: Pick<Session, 'secret'>, path: string, salt: string): string {
  const signature = createHmac('sha256', secret).update(`${salt} ${path}`).digest('base64url')
  return `${salt}.${signature}`
}
