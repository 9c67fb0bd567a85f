import { Problem } from '@talkshelf/contract'
import { resolveNames } from '../entities/entities.ts'
import { type Db, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { isMailAddress } from '../platform/net/mail.ts'
import { type AuditOrigin, recordEvent } from './audit.ts'
import {
  deleteCredentials,
  deleteEventEditor,
  deleteLinks,
  deleteSessions,
  findPeople,
  insertEventEditor,
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

/** Returns the problem of one field, with a message for people. */
function invalidField(field: 'name' | 'mail', detail: string): Problem {
  const errors = [{ pointer: `/${field}`, code: 'format', detail }]
  return new Problem('invalid-fields', detail, { errors })
}

/** Throws `invalid-fields` if a name or mail address is not valid. Names are shown in terminals. */
function assertValid({ name, mail }: Pick<PersonChanges, 'name' | 'mail'>): void {
  const isName = (text: string) =>
    text !== '' && text.length <= 100 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text)
  if (name !== undefined && !isName(name))
    throw invalidField('name', 'The name must have 1 to 100 characters, on one line')
  if (typeof mail === 'string' && !isMailAddress(mail))
    throw invalidField('mail', 'The mail address is not valid')
}

/** Runs a transaction that writes a mail address. Throws 409 if another person has it. */
async function withMail<T>(
  pool: Pool,
  mail: string | null | undefined,
  work: (tx: Db) => Promise<T>,
): Promise<T> {
  try {
    return await pool.transaction(work)
  } catch (error) {
    if (!(error instanceof UniqueViolation) || error.index !== 'person_mail') throw error
    throw new Problem('name-taken', `Another person has the mail address ${mail}`)
  }
}

/** Adds a person and creates their first link. Throws 409 if the mail address is taken. */
export async function invitePerson(
  pool: Pool,
  { name, mail, role }: Invitation,
  origin: AuditOrigin,
): Promise<{ id: number; link: SignInLink }> {
  assertValid({ name, mail })
  return withMail(pool, mail, async (tx) => {
    const id = await insertPerson(tx, name, mail, role)
    await recordEvent(tx, 'person-invited', origin, id, { name, role })
    return { id, link: await createLink(tx, id) }
  })
}

/**
 * Creates a new link for a person, for another device or after the loss of a passkey. `reset` also
 * removes the passkeys, connected accounts and sessions, after the theft of a device.
 */
export async function createLinkFor(
  pool: Pool,
  id: number,
  origin: AuditOrigin,
  { reset = false } = {},
): Promise<SignInLink> {
  const { disabled } = await readPerson(pool, id)
  if (disabled !== null)
    throw new Problem('wrong-state', 'This person is disabled. Enable the person first.')
  return pool.transaction(async (tx) => {
    if (reset) {
      // A sign-in that has started waits for the lock, and then finds no passkey.
      await lockPerson(tx, id)
      const removed = await deleteCredentials(tx, id)
      const ended = await deleteSessions(tx, id, null)
      await recordEvent(tx, 'person-reset', origin, id, { removed, ended })
    }
    await recordEvent(tx, 'link-created', origin, id)
    return createLink(tx, id)
  })
}

export interface PersonChanges {
  readonly name?: string
  readonly mail?: string | null
  readonly role?: PersonRole
  readonly isDisabled?: boolean
}

/**
 * Changes a person. A new mail address ends links that were not used: they were sent to the old
 * one. A person who is disabled is signed out.
 */
export async function changePerson(
  pool: Pool,
  id: number,
  changes: PersonChanges,
  origin: AuditOrigin,
): Promise<void> {
  assertValid(changes)
  if (origin.person === id && changes.role !== undefined)
    throw new Problem('forbidden', 'You cannot change your own role; ask another administrator')
  await withMail(pool, changes.mail, async (tx) => {
    const person = await lockPerson(tx, id)
    if (!person) throw new Problem('not-found', `There is no person ${id}`)
    const { is_disabled: wasDisabled, mail, ...before } = person
    const after = { name: changes.name ?? before.name, role: changes.role ?? before.role }
    const newMail = changes.mail === undefined ? mail : changes.mail
    const hasNewMail = newMail !== mail
    if (hasNewMail || after.name !== before.name || after.role !== before.role) {
      await updatePerson(tx, id, { ...after, mail: newMail })
      // The log keeps no address that a person no longer has.
      const detail = { before, after, ...(hasNewMail && { mail: 'changed' }) }
      await recordEvent(tx, 'person-changed', origin, id, detail)
    }
    if (hasNewMail) await deleteLinks(tx, id)
    const { isDisabled = wasDisabled } = changes
    if (isDisabled !== wasDisabled) await writeDisabled(tx, id, isDisabled, origin)
  })
}

async function writeDisabled(
  tx: Db,
  id: number,
  isDisabled: boolean,
  origin: AuditOrigin,
): Promise<void> {
  if (origin.person === id)
    throw new Problem('forbidden', 'You cannot disable yourself; ask another administrator')
  await updateDisabled(tx, id, isDisabled)
  if (isDisabled) {
    await deleteSessions(tx, id, null)
    await deleteLinks(tx, id)
  }
  await recordEvent(tx, isDisabled ? 'person-disabled' : 'person-enabled', origin, id)
}

/** Disables a person and ends their sessions, or enables them again. */
export function setDisabled(
  pool: Pool,
  id: number,
  isDisabled: boolean,
  origin: AuditOrigin,
): Promise<void> {
  return changePerson(pool, id, { isDisabled }, origin)
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

/**
 * Makes a person an editor of an event, or no longer one. Throws `not-found` if there is no event
 * with this title.
 */
export async function setEventEditor(
  pool: Pool,
  id: number,
  title: string,
  isEditor: boolean,
  origin: AuditOrigin,
): Promise<void> {
  await readPerson(pool, id)
  const event = await findEvent(pool, title)
  await pool.transaction(async (tx) => {
    const set = isEditor ? insertEventEditor : deleteEventEditor
    if ((await set(tx, id, event.id)) === 0) return
    const kind = isEditor ? 'event-editor-added' : 'event-editor-removed'
    await recordEvent(tx, kind, origin, id, { event: event.name })
  })
}

/** Finds an event by its title. Throws `not-found` with similar titles. */
export async function findEvent(db: Db, title: string): Promise<{ id: number; name: string }> {
  const names = await resolveNames(db, { category: title, speakers: [], tags: [] })
  if ('found' in names && names.found.category) return names.found.category
  const hint = 'errors' in names ? names.errors[0]?.detail : 'is missing'
  throw new Problem('not-found', `“${title.slice(0, 255)}” ${hint}`)
}
