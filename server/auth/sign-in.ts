import { randomInt } from 'node:crypto'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type AuditOrigin, recordEvent } from './audit.ts'
import { type RelyingParty, savePasskey, verifyNewPasskey, verifyPasskey } from './passkeys.ts'
import {
  countAttempt,
  deleteLinks,
  deletePasskey,
  findLink,
  findPersonByMail,
  insertLink,
  insertRequestedLink,
  lockPerson,
  type SignInMethod,
  takeOneTimeToken,
} from './queries.ts'
import { hashSecret, isWellFormedSecret, makeSecret } from './secret.ts'
import { endSession, type Session, startSession, strengthenSession } from './sessions.ts'
import { SignInRefused } from './sign-in-refused.ts'

// Signing in: with a one-time link, and then with a passkey. Opening a link uses nothing up,
// because mail and chat programs open links too.

/** The browser of a person who signs in. */
export interface SignInContext extends RelyingParty {
  readonly userAgent: string
  readonly request: string
}

export interface SignInLink {
  readonly secret: string
  /** Six digits. Needed only to use the link without a passkey. */
  readonly code: string
}

/** Creates a link that signs a person in, and deletes earlier ones. Needs a transaction. */
export async function createLink(tx: Db, person: number): Promise<SignInLink> {
  const secret = makeSecret()
  const code = String(randomInt(1_000_000)).padStart(6, '0')
  await deleteLinks(tx, person)
  await insertLink(tx, hashSecret(secret), codeHash(secret, code), person)
  return { secret, code }
}

const codeHash = (secret: string, code: string) => hashSecret(`${secret} ${code}`)

/** A link that was asked for by mail. */
export interface MailedLink {
  readonly secret: string
  readonly person: number
  readonly name: string
  readonly mail: string
}

/**
 * Creates a link of 15 minutes for the person with a mail address. It works in the browser that
 * asked for it, and elsewhere with the code that this browser shows. Returns undefined if there is
 * no such person, or if the person got five links within 15 minutes. Earlier links stay, so that
 * strangers cannot end them.
 */
export async function requestLink(
  pool: Pool,
  mail: string,
  browser: string,
): Promise<MailedLink | undefined> {
  const person = mail.length <= maxMailLength ? await findPersonByMail(pool, mail) : undefined
  if (!person) return undefined
  const secret = makeSecret()
  const link = {
    hash: hashSecret(secret),
    codeHash: codeHash(secret, browserCode(browser)),
    browserHash: hashSecret(browser),
  }
  const isCreated = await pool.transaction(async (tx) => {
    const locked = await lockPerson(tx, person.id)
    if (!locked || locked.is_disabled) return false
    return (await insertRequestedLink(tx, person.id, link)) > 0
  })
  if (!isCreated) return undefined
  // The stored address, not the typed one: different addresses can have the same lower case.
  return { secret, person: person.id, name: person.name, mail: person.mail }
}

const maxMailLength = 254

/** Returns the six digits that a browser shows after it asked for a link. */
export function browserCode(browser: string): string {
  const code = hashSecret(`code ${browser}`).readUIntBE(0, 6) % 1_000_000
  return String(code).padStart(6, '0')
}

export interface LinkOwner {
  readonly id: number
  readonly name: string
  /** Whether a browser asked for the link. Otherwise it is an invitation. */
  readonly isRequested: boolean
  /** Whether this browser asked for the link. */
  readonly isSameBrowser: boolean
}

/**
 * Returns the person of a link without using it up. `browser` is the cookie of a browser that asked
 * for a link. Throws SignInRefused.
 */
export async function readLink(db: Db, secret: string, browser: string): Promise<LinkOwner> {
  const link = isWellFormedSecret(secret) ? await findLink(db, hashSecret(secret)) : undefined
  if (!link) throw new SignInRefused('link')
  return {
    id: link.person_id,
    name: link.name,
    isRequested: link.browser_hash !== null,
    isSameBrowser: link.browser_hash?.equals(hashSecret(browser)) ?? false,
  }
}

/** Uses an invitation up and adds a passkey. Returns the secret of a new session. */
export async function signInWithNewPasskey(
  pool: Pool,
  context: SignInContext,
  secret: string,
  response: string,
  passkeyName: string,
): Promise<string> {
  const owner = await readLink(pool, secret, '')
  if (owner.isRequested) throw new SignInRefused('code')
  const passkey = await verifyNewPasskey(pool, context, owner.id, response)
  return pool.transaction(async (tx) => {
    await lockEnabledPerson(tx, owner.id)
    await takeLink(tx, secret)
    await savePasskey(tx, passkey, passkeyName)
    const origin = originOf(owner, context)
    await recordEvent(tx, 'passkey-added', origin, owner.id, { name: passkeyName })
    return signIn(tx, owner, 'link', context)
  })
}

/**
 * Uses a link up with its code, which the browser that asked for the link does not need. Returns
 * the secret of a new session. A wrong code counts as an attempt; after five the link no longer
 * works.
 */
export async function signInWithCode(
  pool: Pool,
  context: SignInContext,
  secret: string,
  { code, browser }: { readonly code: string; readonly browser: string },
): Promise<string> {
  const owner = await readLink(pool, secret, browser)
  const hash = hashSecret(secret)
  const digits = code.replaceAll(/\D/g, '')
  // Scanners submit the form as it is.
  if (digits.length !== 6 && !owner.isSameBrowser) throw new SignInRefused('code')
  const requiredCode = owner.isSameBrowser ? null : codeHash(secret, digits)
  const session = await pool.transaction(async (tx) => {
    await lockEnabledPerson(tx, owner.id)
    if (!(await takeOneTimeToken(tx, hash, 'link', requiredCode))) return undefined
    return signIn(tx, owner, 'link', context)
  })
  if (session !== undefined) return session
  await countAttempt(pool, hash)
  throw new SignInRefused('code')
}

/** Signs in with a passkey. Returns the secret of a new session. */
export async function signInWithPasskey(
  pool: Pool,
  context: SignInContext,
  response: string,
): Promise<string> {
  const person = await verifyPasskey(pool, context, null, response)
  return pool.transaction(async (tx) => {
    await lockEnabledPerson(tx, person.id)
    return signIn(tx, person, 'passkey', context)
  })
}

/** Confirms a session with a passkey. Returns the new secret of the session. */
export async function confirmWithPasskey(
  pool: Pool,
  context: SignInContext,
  session: Session,
  response: string,
): Promise<string> {
  await verifyPasskey(pool, context, session.person.id, response)
  return strengthenSession(pool, session)
}

/** Adds a passkey to the account of a person who is signed in. */
export async function addPasskey(
  pool: Pool,
  context: SignInContext,
  { person }: Session,
  response: string,
  name: string,
): Promise<void> {
  const passkey = await verifyNewPasskey(pool, context, person.id, response)
  await pool.transaction(async (tx) => {
    await savePasskey(tx, passkey, name)
    await recordEvent(tx, 'passkey-added', originOf(person, context), person.id, { name })
  })
}

/** Removes a passkey of a person who is signed in. */
export async function removePasskey(
  pool: Pool,
  { person }: Session,
  id: string,
  request: string,
): Promise<void> {
  await pool.transaction(async (tx) => {
    if ((await deletePasskey(tx, person.id, Buffer.from(id, 'base64url'))) === 0) return
    await recordEvent(tx, 'passkey-removed', originOf(person, { request }), person.id)
  })
}

/** Signs out. */
export async function signOut(pool: Pool, session: Session, request: string): Promise<void> {
  const { person } = session
  await pool.transaction(async (tx) => {
    await endSession(tx, session, 'this')
    await recordEvent(tx, 'signed-out', originOf(person, { request }), person.id)
  })
}

/** Uses a link up. Throws SignInRefused if it no longer works. */
export async function takeLink(tx: Db, secret: string): Promise<void> {
  if (!(await takeOneTimeToken(tx, hashSecret(secret), 'link', null)))
    throw new SignInRefused('link')
}

/** Locks a person until the end of the transaction. Refuses a person who was disabled. */
export async function lockEnabledPerson(tx: Db, id: number): Promise<void> {
  const person = await lockPerson(tx, id)
  if (!person || person.is_disabled) throw new SignInRefused('link')
}

/** Starts a session and records it in the audit log. Returns the secret of the session. */
export async function signIn(
  tx: Db,
  person: { readonly id: number; readonly name: string },
  method: SignInMethod,
  context: SignInContext,
): Promise<string> {
  const secret = await startSession(tx, person.id, method, context.userAgent)
  await recordEvent(tx, 'signed-in', originOf(person, context), person.id, { method })
  return secret
}

/** Returns the person who did something, for the audit log. */
export function originOf(
  { id, name }: { readonly id: number; readonly name: string },
  { request }: { readonly request: string },
): AuditOrigin {
  return { actor: name, person: id, request }
}
