import { Problem } from '@talkshelf/contract'
import { type Db, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { isMailAddress } from '../platform/net/mail.ts'
import { type AuditOrigin, recordEvent } from './audit.ts'
import {
  deleteLinks,
  deleteSessions,
  findPeople,
  insertPerson,
  lockPerson,
  type Person,
  type PersonRole,
  updateDisabled,
  updatePerson,
} from './queries.ts'
import { createLink, type SignInLink } from './sign-in.ts'

// People and their roles. Every change is in the audit log, in the same transaction.

export interface Invitation {
  readonly name: string
  readonly mail: string | null
  readonly role: PersonRole
}

/** Lists all people: those who can sign in first. */
export function listPeople(db: Db): Promise<Person[]> {
  return findPeople(db, null)
}

/** Returns a person. Throws `not-found`. */
export async function readPerson(db: Db, id: number): Promise<Person> {
  const [person] = await findPeople(db, id)
  if (!person) throw new Problem('not-found', `There is no person ${id}`)
  return person
}

/** Throws `invalid-fields` unless a text can be the name of a person: it is shown in terminals. */
function assertPersonName(name: string): void {
  if (name === '' || name.length > 100 || /[\p{C}\p{Zl}\p{Zp}]/u.test(name))
    throw new Problem('invalid-fields', 'The name must have 1 to 100 characters, on one line')
}

/** Adds a person and creates their first link. Throws 409 if the mail address is taken. */
export async function invitePerson(
  pool: Pool,
  { name, mail, role }: Invitation,
  origin: AuditOrigin,
): Promise<{ id: number; link: SignInLink }> {
  assertPersonName(name)
  if (mail !== null && !isMailAddress(mail))
    throw new Problem('invalid-fields', 'The mail address is not valid', { field: 'mail' })
  try {
    return await pool.transaction(async (tx) => {
      const id = await insertPerson(tx, name, mail, role)
      await recordEvent(tx, 'person-invited', origin, id, { name, role })
      return { id, link: await createLink(tx, id) }
    })
  } catch (error) {
    if (!(error instanceof UniqueViolation) || error.index !== 'person_mail') throw error
    throw new Problem('name-taken', `Another person has the mail address ${mail}`)
  }
}

/** Creates a new link for a person, for another device or after the loss of a passkey. */
export async function createLinkFor(
  pool: Pool,
  id: number,
  origin: AuditOrigin,
): Promise<SignInLink> {
  const { disabled } = await readPerson(pool, id)
  if (disabled !== null)
    throw new Problem('wrong-state', 'This person is disabled. Enable the person first.')
  return pool.transaction(async (tx) => {
    await recordEvent(tx, 'link-created', origin, id)
    return createLink(tx, id)
  })
}

/** Changes the name and role of a person. */
export async function changePerson(
  pool: Pool,
  id: number,
  changes: { readonly name?: string; readonly role?: PersonRole },
  origin: AuditOrigin,
): Promise<void> {
  if (changes.name !== undefined) assertPersonName(changes.name)
  if (origin.person === id && changes.role !== undefined)
    throw new Problem('forbidden', 'You cannot change your own role; ask another administrator')
  await pool.transaction(async (tx) => {
    const person = await lockPerson(tx, id)
    if (!person) throw new Problem('not-found', `There is no person ${id}`)
    const { name, role } = person
    const next = { name: changes.name ?? name, role: changes.role ?? role }
    if (next.name === name && next.role === role) return
    await updatePerson(tx, id, next.name, next.role)
    await recordEvent(tx, 'person-changed', origin, id, { before: { name, role }, after: next })
  })
}

/** Disables a person and ends their sessions, or enables them again. */
export async function setDisabled(
  pool: Pool,
  id: number,
  isDisabled: boolean,
  origin: AuditOrigin,
): Promise<void> {
  const { disabled } = await readPerson(pool, id)
  if (isDisabled === (disabled !== null)) return
  if (origin.person === id)
    throw new Problem('forbidden', 'You cannot disable yourself; ask another administrator')
  await pool.transaction(async (tx) => {
    await updateDisabled(tx, id, isDisabled)
    if (isDisabled) {
      await deleteSessions(tx, id, null)
      await deleteLinks(tx, id)
    }
    await recordEvent(tx, isDisabled ? 'person-disabled' : 'person-enabled', origin, id)
  })
}

/** Ends all sessions of a person, and links that were not used. */
export async function endSessions(pool: Pool, id: number, origin: AuditOrigin): Promise<void> {
  await readPerson(pool, id)
  await pool.transaction(async (tx) => {
    const ended = await deleteSessions(tx, id, null)
    await deleteLinks(tx, id)
    await recordEvent(tx, 'sessions-ended', origin, id, { ended })
  })
}
