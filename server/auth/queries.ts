import sql, { raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'

const Role = Type.Union([Type.Literal('editor'), Type.Literal('admin')])
export const personRoles = ['suggester', 'editor', 'admin'] as const
export type PersonRole = (typeof personRoles)[number]
const PersonRole = Type.Union(personRoles.map((role) => Type.Literal(role)))
const MaybeTimestamp = Type.Union([Type.String(), Type.Null()])
const InsertedToken = Type.Object({ id: Type.Integer(), expires: Type.String() })
const FoundToken = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  role: PersonRole,
  event_id: Type.Union([Type.Integer(), Type.Null()]),
  needs_touch: Type.Boolean(),
})
const ListedToken = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  role: Role,
  event: Type.Union([Type.String(), Type.Null()]),
  created_by: Type.Union([Type.String(), Type.Null()]),
  created: MaybeTimestamp,
  expires: MaybeTimestamp,
  last_used: MaybeTimestamp,
  revoked: MaybeTimestamp,
})

export interface NewToken {
  readonly name: string
  readonly role: 'editor' | 'admin'
  readonly days: number
  /** The person who creates it; null for an operator in a terminal. */
  readonly person: number | null
  /** The only event whose talks its holder may change. */
  readonly eventId?: number | undefined
}

/** Inserts a token. Returns its id and when it expires. */
export async function insertToken(db: Db, hash: Buffer, token: NewToken) {
  const { name, role, days, person, eventId = null } = token
  const [row] = await writeReturning(
    db,
    InsertedToken,
    sql`insert into token (name, role, hash, created_by, category_id, expires)
        values (${name}, ${role}, ${hash}, ${person}, ${eventId},
                now() + make_interval(days => ${days}::integer))
        returning id,
                  to_char(expires at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as expires`,
  )
  return row as Static<typeof InsertedToken>
}

/**
 * Finds a valid token, unless the person who created it is disabled. Its role is at most the current
 * one of that person. `needs_touch`: its last use was recorded over a minute ago, or never.
 */
export function findToken(db: Db, hash: Buffer) {
  return maybe(
    db,
    FoundToken,
    sql`select token.id, token.name,
               case when token.role = 'admin' or person.role = 'suggester'
                    then coalesce(person.role, token.role)
                    else token.role
               end as role,
               (select coalesce(merged_into, id) from category where id = category_id) as event_id,
               coalesce(last_used < now() - interval '1 minute', true) as needs_touch
        from token
        left join person on person.id = created_by
        where hash = ${hash} and revoked is null and expires > now() and disabled is null`,
  )
}

const Revocation = Type.Object({ isRevoked: Type.Boolean() })

/**
 * Tells whether the right of an editor of the whole archive was taken away from the origin of a
 * background job: its token was revoked, or its person, or the one who created the token, was
 * disabled or is no editor any more. A token that has only expired does not count. One without a
 * row counts as revoked, because it may have been: no job refers to those that are deleted.
 */
export async function isEditorRevoked(
  db: Db,
  { token, person }: { readonly token: number | null; readonly person: number | null },
): Promise<boolean> {
  const { isRevoked } = await one(
    db,
    Revocation,
    sql`select (
                 ${token}::bigint is not null
                 and not exists (
                   select
                   from token
                   where id = ${token}::bigint and revoked is null and category_id is null
                 )
               )
               or exists (
                 select
                 from person
                 where (id = ${person}::bigint
                        or id = (select created_by from token where id = ${token}::bigint))
                   and (disabled is not null or role = 'suggester')
               ) as "isRevoked"`,
  )
  return isRevoked
}

/** Records the use of a token. Checks the minute again, so that one of many requests writes. */
export function touchToken(db: Db, id: number) {
  return execute(
    db,
    sql`update token set last_used = now()
        where id = ${id} and coalesce(last_used < now() - interval '1 minute', true)`,
  )
}

/** Lists all tokens with the name of their creator, also expired and revoked ones. */
export function listTokens(db: Db) {
  return many(
    db,
    ListedToken,
    sql`select id, name, role,
               (select current.title
                from category
                join category as current on current.id = coalesce(category.merged_into, category.id)
                where category.id = category_id) as event,
               (select person.name from person where person.id = token.created_by) as created_by,
               to_char(created   at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created,
               to_char(expires   at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as expires,
               to_char(last_used at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as last_used,
               to_char(revoked   at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as revoked
        from token
        order by id`,
  )
}

/** Revokes a token. A second call keeps the time of the first one. Returns 0 if it is unknown. */
export function revokeToken(db: Db, id: number) {
  return execute(db, sql`update token set revoked = coalesce(revoked, now()) where id = ${id}`)
}

/**
 * Deletes tokens that expired or were revoked 90 days ago, unless an idempotency key or a followed
 * source still refers to them. The history keeps their names.
 */
export function deleteOldTokens(db: Db) {
  return execute(
    db,
    sql`delete from token
        where least(expires, revoked) < now() - interval '90 days'
          and not exists (select from idempotency_key where token_id = token.id)
          and not exists (select from followed_source where token_id = token.id)`,
  )
}

const PersonId = Type.Object({ id: Type.Integer() })
const PersonHandle = Type.Object({ handle: Type.String() })
const Person = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  mail: Type.Union([Type.String(), Type.Null()]),
  role: PersonRole,
  created: Type.String(),
  disabled: MaybeTimestamp,
  last_seen: MaybeTimestamp,
  passkeys: Type.Integer(),
  events: Type.Array(Type.Object({ id: Type.Integer(), title: Type.String() })),
})
export type Person = Static<typeof Person>

/** Inserts a person. Throws UniqueViolation (`person_mail`) if another one has the mail address. */
export async function insertPerson(db: Db, name: string, mail: string | null, role: PersonRole) {
  const [row] = await writeReturning(
    db,
    PersonId,
    sql`insert into person (name, mail, role) values (${name}, ${mail}, ${role}) returning id`,
  )
  return (row as Static<typeof PersonId>).id
}

/** Selects people with the number of their passkeys and their last visit. */
const selectPeople = sql`
  select person.id, person.name, person.mail, person.role,
         to_char(person.created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created,
         to_char(person.disabled at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as disabled,
         (select to_char(max(last_seen) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
          from session where person_id = person.id) as last_seen,
         (select count(*)::integer from passkey where person_id = person.id) as passkeys,
         (select coalesce(jsonb_agg(distinct jsonb_build_object(
                   'id', current.id, 'title', current.title)), '[]')
          from event_editor
          join category on category.id = category_id
          join category as current on current.id = coalesce(category.merged_into, category.id)
          where person_id = person.id) as events
  from person`

/** Finds people by id, after the given one. */
export function findPeopleAfter(db: Db, after: number, size: number) {
  return many(
    db,
    Person,
    sql`${selectPeople}
        where person.id > ${after}
        order by person.id
        limit ${size}`,
  )
}

/** Finds one person, or all by name. */
export function findPeople(db: Db, id: number | null) {
  return many(
    db,
    Person,
    sql`${selectPeople}
        where ${id}::bigint is null or person.id = ${id}
        order by person.disabled is not null, lower(person.name), person.id
        limit 1000`,
  )
}

/** Returns the random id under which authenticators know a person. */
export async function findHandle(db: Db, id: number): Promise<string> {
  return (await one(db, PersonHandle, sql`select handle from person where id = ${id}`)).handle
}

/** Makes a person an editor of an event. Returns 0 if the person was one already. */
export function insertEventEditor(db: Db, person: number, event: number) {
  return execute(
    db,
    sql`insert into event_editor (person_id, category_id) values (${person}, ${event})
        on conflict do nothing`,
  )
}

/** Makes a person no longer an editor of an event, also of those that were merged into it. */
export function deleteEventEditor(db: Db, person: number, event: number) {
  return execute(
    db,
    sql`delete from event_editor
        using category
        where category.id = category_id and person_id = ${person}
          and coalesce(merged_into, category.id) = ${event}`,
  )
}

const LockedPerson = Type.Object({
  name: Type.String(),
  mail: Type.Union([Type.String(), Type.Null()]),
  role: PersonRole,
  is_disabled: Type.Boolean(),
})

/** Locks a person until the end of the transaction, so that role and state cannot change. */
export function lockPerson(tx: Db, id: number) {
  return maybe(
    tx,
    LockedPerson,
    sql`select name, mail, role, disabled is not null as is_disabled
        from person where id = ${id} for update`,
  )
}

/** Deletes the links of a person that were not used. */
export function deleteLinks(db: Db, person: number) {
  return execute(
    db,
    sql`delete from one_time_token
        where purpose = 'link' and person_id = ${person} and used is null`,
  )
}

/**
 * Changes the name, mail address and role of a person. Throws UniqueViolation (`person_mail`) if
 * another person has the mail address.
 */
export function updatePerson(
  db: Db,
  id: number,
  { name, mail, role }: Pick<Person, 'name' | 'mail'> & { readonly role: PersonRole },
) {
  return execute(
    db,
    sql`update person set name = ${name}, mail = ${mail}, role = ${role} where id = ${id}`,
  )
}

/** Disables or enables a person. A disabled person keeps the time of the first call. */
export function updateDisabled(db: Db, id: number, isDisabled: boolean) {
  return execute(
    db,
    sql`update person
        set disabled = case when ${isDisabled} then coalesce(disabled, now()) end
        where id = ${id}`,
  )
}

const FoundSession = Type.Object({
  person_id: Type.Integer(),
  name: Type.String(),
  role: PersonRole,
  is_strong: Type.Boolean(),
  events: Type.Array(Type.Integer()),
  needs_touch: Type.Boolean(),
})

export type SignInMethod = 'link' | 'passkey' | 'openid'

/** Starts a session of 90 days. It is strong for 10 minutes. */
export function insertSession(
  db: Db,
  hash: Buffer,
  person: number,
  method: SignInMethod,
  userAgent: string,
) {
  return execute(
    db,
    sql`insert into session (hash, person_id, method, expires, strong_until, user_agent)
        values (${hash}, ${person}, ${method}, now() + interval '90 days',
                now() + interval '10 minutes', ${userAgent})`,
  )
}

/** Finds a session that is neither expired nor idle for 30 days, of a person who is enabled. */
export function findSession(db: Db, hash: Buffer) {
  return maybe(
    db,
    FoundSession,
    sql`select person_id, name, role, strong_until > now() as is_strong,
               array(select coalesce(merged_into, category.id)
                     from event_editor join category on category.id = category_id
                     where event_editor.person_id = person.id) as events,
               last_seen < now() - interval '1 minute' as needs_touch
        from session join person on person.id = person_id
        where hash = ${hash} and disabled is null
          and expires > now() and last_seen > now() - interval '30 days'`,
  )
}

/** Records the use of a session. Checks the minute again, so that one of many requests writes. */
export function touchSession(db: Db, hash: Buffer) {
  return execute(
    db,
    sql`update session set last_seen = now()
        where hash = ${hash} and last_seen < now() - interval '1 minute'`,
  )
}

/** Gives a session a new secret and makes it strong for 10 minutes. */
export function renewSession(db: Db, hash: Buffer, newHash: Buffer) {
  return execute(
    db,
    sql`update session
        set hash = ${newHash}, strong_until = now() + interval '10 minutes', last_seen = now()
        where hash = ${hash}`,
  )
}

const ListedSession = Type.Object({
  id: Type.String(),
  method: Type.String(),
  created: Type.String(),
  last_seen: Type.String(),
  user_agent: Type.String(),
  is_current: Type.Boolean(),
})

/** Lists the sessions of a person, the latest first. Their id is a part of the stored hash. */
export function listSessions(db: Db, person: number, current: Buffer) {
  return many(
    db,
    ListedSession,
    sql`select left(encode(hash, 'hex'), 16) as id, method, user_agent,
               hash = ${current} as is_current,
               to_char(created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created,
               to_char(last_seen at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as last_seen
        from session
        where person_id = ${person}
          and expires > now() and last_seen > now() - interval '30 days'
        order by session.last_seen desc
        limit 100`,
  )
}

/** Ends one session of a person, by the id that `listSessions` returns. */
export function deleteSession(db: Db, person: number, id: string) {
  return execute(
    db,
    sql`delete from session
        where person_id = ${person} and left(encode(hash, 'hex'), 16) = ${id}`,
  )
}

/** Ends all sessions of a person, except for one if given. */
export function deleteSessions(db: Db, person: number, except: Buffer | null) {
  return execute(
    db,
    sql`delete from session
        where person_id = ${person} and hash is distinct from ${except}::bytea`,
  )
}

/** The number of wrong codes after which a link no longer works. */
const maxAttempts = 5

/**
 * The number of challenges that are kept for passkeys of any person, because strangers can create
 * them, and for each person.
 */
const maxChallenges = { anyone: 10_000, person: 20 }

/** Inserts an invitation: a link of 7 days for a person. */
export function insertLink(db: Db, hash: Buffer, codeHash: Buffer, person: number) {
  return execute(
    db,
    sql`insert into one_time_token (hash, purpose, person_id, code_hash, expires)
        values (${hash}, 'link', ${person}, ${codeHash}, now() + interval '7 days')`,
  )
}

/** The number of links that a person can get by mail within 15 minutes. */
const maxRequestedLinks = 5

export interface RequestedLink {
  readonly hash: Buffer
  readonly codeHash: Buffer
  readonly browserHash: Buffer
}

/**
 * Inserts a link of 15 minutes that a browser asked for. Returns 0 if the person already got five
 * within 15 minutes. The person must be locked.
 */
export async function insertRequestedLink(tx: Db, person: number, link: RequestedLink) {
  await execute(
    tx,
    sql`delete from one_time_token
        where person_id = ${person} and browser_hash is not null and expires < now()`,
  )
  return execute(
    tx,
    sql`insert into one_time_token (hash, purpose, person_id, code_hash, browser_hash, expires)
        select ${link.hash}, 'link', ${person}::bigint, ${link.codeHash}, ${link.browserHash},
               now() + interval '15 minutes'
        where (select count(*) from one_time_token
               where person_id = ${person} and browser_hash is not null) < ${maxRequestedLinks}`,
  )
}

const PersonWithMail = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  mail: Type.String(),
})

/** Finds the enabled person with a mail address. */
export function findPersonByMail(db: Db, mail: string) {
  return maybe(
    db,
    PersonWithMail,
    sql`select id, name, mail from person where lower(mail) = lower(${mail}) and disabled is null`,
  )
}

const FoundLink = Type.Object({
  person_id: Type.Integer(),
  name: Type.String(),
  browser_hash: Type.Union([Type.Unsafe<Buffer>(Type.Any()), Type.Null()]),
})

/** Finds a link that can still be used. */
export function findLink(db: Db, hash: Buffer) {
  return maybe(
    db,
    FoundLink,
    sql`select person_id, name, browser_hash
        from one_time_token join person on person.id = person_id
        where hash = ${hash} and purpose = 'link' and used is null and expires > now()
          and attempts < ${maxAttempts} and disabled is null`,
  )
}

/** Counts a wrong code. */
export function countAttempt(db: Db, hash: Buffer) {
  return execute(db, sql`update one_time_token set attempts = attempts + 1 where hash = ${hash}`)
}

const UsedToken = Type.Object({ person_id: Type.Union([Type.Integer(), Type.Null()]) })

/**
 * Uses a link or challenge up. Returns undefined if it is unknown, expired or used. With a code
 * hash, the link must have that code.
 */
export async function takeOneTimeToken(
  db: Db,
  hash: Buffer,
  purpose: 'link' | 'challenge',
  codeHash: Buffer | null,
): Promise<{ person_id: number | null } | undefined> {
  const rows = await writeReturning(
    db,
    UsedToken,
    sql`update one_time_token set used = now()
        where hash = ${hash} and purpose = ${purpose} and used is null and expires > now()
          and attempts < ${maxAttempts}
          and (${codeHash}::bytea is null or code_hash = ${codeHash})
        returning person_id`,
  )
  return rows[0]
}

/** Inserts a challenge for a passkey of this person, or of any person. */
export function insertChallenge(db: Db, hash: Buffer, person: number | null) {
  const owner = person === null ? sql`person_id is null` : sql`person_id = ${person}`
  return execute(
    db,
    sql`with surplus as (
          delete from one_time_token
          where hash in (select hash from one_time_token
                         where purpose = 'challenge'
                           and ${owner}
                         order by created desc
                         offset ${person === null ? maxChallenges.anyone : maxChallenges.person}
                         limit 10)
        )
        insert into one_time_token (hash, purpose, person_id, expires)
        values (${hash}, 'challenge', ${person}, now() + interval '10 minutes')`,
  )
}

const FoundPasskey = Type.Object({
  person_id: Type.Integer(),
  name: Type.String(),
  public_key: Type.Unsafe<Buffer>(Type.Any()),
  counter: Type.Integer(),
  is_disabled: Type.Boolean(),
})

/** Finds a passkey of this host. */
export function findPasskey(db: Db, credential: Buffer, host: string) {
  return maybe(
    db,
    FoundPasskey,
    sql`select person_id, person.name, public_key, counter, disabled is not null as is_disabled
        from passkey join person on person.id = person_id
        where credential_id = ${credential} and rp_id = ${host}`,
  )
}

const ListedPasskey = Type.Object({
  id: Type.String(),
  name: Type.String(),
  host: Type.String(),
  created: Type.String(),
  last_used: MaybeTimestamp,
})

/** Lists the passkeys of a person, the oldest first. The id is the credential id in base64url. */
export function listPasskeys(db: Db, person: number) {
  return many(
    db,
    ListedPasskey,
    sql`select rtrim(translate(encode(credential_id, 'base64'), E'+/\n', '-_'), '=') as id,
               name, rp_id as host,
               to_char(created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created,
               to_char(last_used at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as last_used
        from passkey
        where person_id = ${person}
        order by passkey.created, credential_id
        limit 100`,
  )
}

export interface NewPasskey {
  readonly credential: Buffer
  readonly person: number
  readonly publicKey: Buffer
  readonly counter: number
  readonly host: string
  readonly name: string
}

/** Inserts a passkey. Returns 0 if it exists, or if the person has 20 passkeys. */
export function insertPasskey(db: Db, passkey: NewPasskey) {
  return execute(
    db,
    sql`insert into passkey (credential_id, person_id, public_key, counter, rp_id, name)
        select ${passkey.credential}, ${passkey.person}::bigint, ${passkey.publicKey},
               ${passkey.counter}::bigint, ${passkey.host}, ${passkey.name}
        where (select count(*) from passkey where person_id = ${passkey.person}) < 20
        on conflict (credential_id) do nothing`,
  )
}

/** Records the use of a passkey. Returns 0 if its counter is higher: it may have been copied. */
export function touchPasskey(db: Db, credential: Buffer, counter: number) {
  return execute(
    db,
    sql`update passkey set counter = ${counter}, last_used = now()
        where credential_id = ${credential}
          and (counter < ${counter} or counter = 0 and ${counter} = 0)`,
  )
}

/** Deletes all passkeys and connected accounts of a person. Returns their number. */
export async function deleteCredentials(db: Db, person: number): Promise<number> {
  const passkeys = await execute(db, sql`delete from passkey where person_id = ${person}`)
  const accounts = await execute(db, sql`delete from openid_identity where person_id = ${person}`)
  return passkeys + accounts
}

/** Deletes a passkey of a person. */
export function deletePasskey(db: Db, person: number, credential: Buffer) {
  return execute(
    db,
    sql`delete from passkey where person_id = ${person} and credential_id = ${credential}`,
  )
}

interface Identity {
  readonly issuer: string
  readonly subject: string
}

const IdentityOwner = Type.Object({ id: Type.Integer(), name: Type.String() })

/** Finds the person of an identity. */
export function findIdentity(db: Db, { issuer, subject }: Identity) {
  return maybe(
    db,
    IdentityOwner,
    sql`select person.id, person.name
        from openid_identity join person on person.id = person_id
        where issuer = ${issuer} and subject = ${subject}`,
  )
}

/** Records the use of an identity. Returns 0 if the person no longer has it. */
export function touchIdentity(db: Db, { issuer, subject }: Identity, person: number) {
  return execute(
    db,
    sql`update openid_identity set last_used = now()
        where issuer = ${issuer} and subject = ${subject} and person_id = ${person}`,
  )
}

/** Inserts an identity. Returns 0 if a person has it, or if this person has 20 identities. */
export function insertIdentity(db: Db, { issuer, subject }: Identity, person: number) {
  return execute(
    db,
    sql`insert into openid_identity (issuer, subject, person_id)
        select ${issuer}, ${subject}, ${person}::bigint
        where (select count(*) from openid_identity where person_id = ${person}) < 20
        on conflict (issuer, subject) do nothing`,
  )
}

/** Deletes an identity of a person. */
export function deleteIdentity(db: Db, { issuer, subject }: Identity, person: number) {
  return execute(
    db,
    sql`delete from openid_identity
        where issuer = ${issuer} and subject = ${subject} and person_id = ${person}`,
  )
}

const ListedIdentity = Type.Object({
  issuer: Type.String(),
  subject: Type.String(),
  created: Type.String(),
  last_used: MaybeTimestamp,
})

/** Lists the identities of a person, the oldest first. */
export function listIdentities(db: Db, person: number) {
  return many(
    db,
    ListedIdentity,
    sql`select issuer, subject,
               to_char(created at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created,
               to_char(last_used at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as last_used
        from openid_identity
        where person_id = ${person}
        order by openid_identity.created, issuer, subject
        limit 100`,
  )
}

const Keys = Type.Array(Type.String({ maxLength: 4000 }))

/** Who has access to the archive. All keys are hashes, or ids that are of no use to others. */
export const GrantedAccess = Type.Object({
  tokens: Keys,
  /** By random id. `mail` is the hash of the address. */
  people: Type.Record(
    Type.String(),
    Type.Object({ role: PersonRole, mail: Type.Union([Type.String(), Type.Null()]) }),
  ),
  passkeys: Keys,
  accounts: Keys,
  event_editors: Keys,
})
export type GrantedAccess = Static<typeof GrantedAccess>

// The same on both sides: when access is read, and when it is restricted.
const mailHash = raw(`encode(sha256(convert_to(lower(person.mail), 'UTF8')), 'hex')`)
const accountKey = raw(`jsonb_build_array(issuer, subject)::text`)
const eventEditorKey = raw(`(select handle from person where id = person_id) || ' ' || category_id`)

/** Reads who has access: tokens that work, people who can sign in, and how they do. */
export function readGrantedAccess(db: Db) {
  const keys = (key: Sql, from: Sql) =>
    sql`(select coalesce(jsonb_agg(key order by key), '[]') from (select ${key} as key ${from}) as _)`
  return one(
    db,
    GrantedAccess,
    sql`select ${keys(sql`encode(hash, 'hex')`, sql`from token where revoked is null`)} as tokens,
               (select coalesce(jsonb_object_agg(handle, jsonb_build_object(
                         'role', role, 'mail', ${mailHash})), '{}')
                from person
                where disabled is null) as people,
               ${keys(sql`encode(credential_id, 'hex')`, sql`from passkey`)} as passkeys,
               ${keys(sql`${accountKey}`, sql`from openid_identity`)} as accounts,
               ${keys(sql`${eventEditorKey}`, sql`from event_editor`)} as event_editors`,
  )
}

/**
 * Takes away all access that is not granted, and never gives any. Ends all sessions and links, too:
 * they cannot be told from those that had ended. Returns how much was taken away, by kind.
 */
export async function restrictGrantedAccess(
  tx: Db,
  { tokens, people, passkeys, accounts, event_editors }: GrantedAccess,
) {
  const granted = sql`
    (select key as handle, value ->> 'role' as role, value ->> 'mail' as mail
     from jsonb_each(${JSON.stringify(people)}::jsonb)) as granted`
  const rank = (role: string) => raw(`array_position(array['suggester','editor','admin'], ${role})`)
  const statements = {
    tokens: sql`
      update token set revoked = now()
      where revoked is null and encode(hash, 'hex') <> all (${tokens}::text[])`,
    people: sql`
      update person set disabled = now()
      where disabled is null and handle::text <> all (${Object.keys(people)}::text[])`,
    roles: sql`
      update person set role = granted.role
      from ${granted}
      where granted.handle = person.handle::text and ${rank('person.role')} > ${rank('granted.role')}`,
    mail_addresses: sql`
      update person set mail = null
      where mail is not null and disabled is null
        and not exists (
          select from ${granted} where granted.handle = person.handle::text and granted.mail = ${mailHash})`,
    passkeys: sql`
      delete from passkey where encode(credential_id, 'hex') <> all (${passkeys}::text[])`,
    accounts: sql`
      delete from openid_identity where ${accountKey} <> all (${accounts}::text[])`,
    event_editors: sql`
      delete from event_editor where ${eventEditorKey} <> all (${event_editors}::text[])`,
    sessions: sql`delete from session`,
    links: sql`delete from one_time_token`,
  }
  const counts: Partial<Record<keyof typeof statements, number>> = {}
  for (const [kind, statement] of Object.entries(statements))
    counts[kind as keyof typeof statements] = await execute(tx, statement)
  return counts as Record<keyof typeof statements, number>
}

export interface NewAuditEvent {
  readonly kind: string
  readonly actor: string
  readonly person: number | null
  /** The person that it is about. */
  readonly subject: number | null
  readonly detail?: object
  readonly request: string
}

/** Inserts an event of the audit log. */
export function insertAuditEvent(db: Db, event: NewAuditEvent) {
  return execute(
    db,
    sql`insert into audit_event (actor, person_id, kind, subject_id, detail, request_id)
        values (${event.actor}, ${event.person}, ${event.kind}, ${event.subject},
                ${JSON.stringify(event.detail ?? {})}, ${event.request})`,
  )
}

const AuditEvent = Type.Object({
  id: Type.Integer(),
  at: Type.String(),
  actor: Type.String(),
  kind: Type.String(),
  subject_id: Type.Union([Type.Integer(), Type.Null()]),
  subject: Type.Union([Type.String(), Type.Null()]),
  detail: Type.Record(Type.String(), Type.Unknown()),
})
export type AuditEvent = Static<typeof AuditEvent>

/** Lists events of the audit log, the latest first: those before an id. */
export function listAuditEvents(
  db: Db,
  { before, size }: { readonly before: number | null; readonly size: number },
) {
  return many(
    db,
    AuditEvent,
    sql`select audit_event.id, actor, kind, subject_id, person.name as subject, detail,
               to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
        from audit_event left join person on person.id = subject_id
        where ${before}::bigint is null or audit_event.id < ${before}
        order by audit_event.id desc
        limit ${size}`,
  )
}

/**
 * Deletes expired sessions, links and challenges, and events of the audit log after two years.
 */
export async function deleteExpired(db: Db): Promise<number> {
  const statements = [
    sql`delete from session
        where expires < now() or last_seen < now() - interval '30 days'`,
    sql`delete from one_time_token where expires < now()`,
    sql`delete from audit_event where at < now() - interval '2 years'`,
  ]
  let removed = 0
  for (const statement of statements) removed += await execute(db, statement)
  return removed
}
