import {
  type FollowedSource,
  FollowedSourceOptions,
  fetchOutcomes,
  maxFetchFailures,
  validatorFor,
} from '@talkshelf/contract'
import sql, { type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'

// SQL of followed sources: their settings, the lease of a fetch, and how the last one ended.

export type FetchOutcome = (typeof fetchOutcomes)[number]

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])
const Outcome = Type.Unsafe<FetchOutcome | null>(
  Type.Union([...fetchOutcomes.map((outcome) => Type.Literal(outcome)), Type.Null()]),
)

const utc = (time: Sql) => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`

const Row = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  // Another release may have stored options that this one does not know.
  options: Type.Unknown(),
  interval_hours: Type.Integer(),
  state: Type.Unsafe<FollowedSource['state']>(Type.String()),
  by: Type.String(),
  created: Type.String(),
  last_fetch: MaybeText,
  outcome: Outcome,
  message: MaybeText,
  waiting_import: MaybeInteger,
  failures: Type.Integer(),
  next_fetch: MaybeText,
})

const shownState = sql`case when state = 'active' and failures > 0 then 'failing' else state end`

const columns = sql`
  id, url, options, interval_hours, ${shownState} as state, actor as by,
  ${utc(sql`created`)} as created,
  ${utc(sql`last_fetch`)} as last_fetch, outcome, message,
  (select max(import.id)
   from import
   where followed_source_id = followed_source.id
     and import.state = 'planned'
     and import.counts is null) as waiting_import,
  failures,
  case when state = 'active' then ${utc(sql`next_fetch`)} end as next_fetch`

/** Returns stored options, or undefined if this release does not know them. */
export function knownOptions(options: unknown): FollowedSourceOptions | undefined {
  const isKnown = validatorFor(FollowedSourceOptions).Check(options)
  return isKnown ? (options as FollowedSourceOptions) : undefined
}

const toFollowedSource = ({ options, ...row }: Static<typeof Row>): FollowedSource => ({
  ...row,
  options: knownOptions(options) ?? {},
})

/** Lists all followed sources. */
export async function listFollowedSources(db: Db): Promise<FollowedSource[]> {
  const rows = await many(db, Row, sql`select ${columns} from followed_source order by id`)
  return rows.map(toFollowedSource)
}

/** Finds a followed source by its id. */
export async function findFollowedSource(db: Db, id: number): Promise<FollowedSource | undefined> {
  const row = await maybe(db, Row, sql`select ${columns} from followed_source where id = ${id}`)
  return row && toFollowedSource(row)
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts followed sources. No other transaction adds one until the end of this one. */
export async function lockFollowedSourceCount(tx: Db): Promise<number> {
  await execute(tx, sql`lock table followed_source in share row exclusive mode`)
  return (await one(tx, Count, sql`select count(*) as count from followed_source`)).count
}

/** Where a followed source is fetched, and what its imports are given. */
interface FollowedFile {
  readonly url: string
  readonly host: string
  readonly options: FollowedSourceOptions
}

const NewId = Type.Object({ id: Type.Integer() })

/** Adds a followed source that is fetched at once. Returns its id. */
export async function insertFollowedSource(
  tx: Db,
  { url, host, options }: FollowedFile,
  intervalHours: number,
  { actor, via, request }: Origin,
): Promise<number> {
  const [row] = await writeReturning(
    tx,
    NewId,
    sql`insert into followed_source (
          url, host, options, interval_hours, actor, token_id, person_id, via, request_id)
        values (
          ${url}, ${host}, ${JSON.stringify(options)}::jsonb, ${intervalHours}::integer,
          ${actor.name}, ${actor.token}::bigint, ${actor.person ?? null}::bigint, ${via},
          ${request})
        returning id`,
  )
  return (row as Static<typeof NewId>).id
}

const FileRow = Type.Object({ url: Type.String(), options: Type.Unknown() })

/** Locks a followed source until the end of the transaction. Returns its file. */
export function lockFile(tx: Db, id: number) {
  return maybe(
    tx,
    FileRow,
    sql`select url, options from followed_source where id = ${id} for no key update`,
  )
}

// Editors may ask for a fetch at any time, but the host is not asked more often than this.
const soon = sql`greatest(now(), last_fetch + interval '1 minute')`

const originColumns = ({ actor, via, request }: Origin) => sql`
  actor = ${actor.name}, token_id = ${actor.token}::bigint,
  person_id = ${actor.person ?? null}::bigint, via = ${via}, request_id = ${request}`

/**
 * Changes what is fetched, and who set it up. It is fetched soon. A fetch that is running keeps its
 * lease, so that its host is not asked twice at the same time, but no longer counts. Returns
 * whether it is something else than before.
 */
export async function updateFile(
  tx: Db,
  id: number,
  { url, host, options }: Omit<FollowedFile, 'options'> & { readonly options: unknown },
  origin: Origin,
): Promise<boolean> {
  const json = JSON.stringify(options)
  const count = await execute(
    tx,
    sql`update followed_source
        set url = ${url}, host = ${host}, options = ${json}::jsonb, revision = revision + 1,
            ${originColumns(origin)},
            etag = null, last_modified = null, items_hash = null,
            failures = 0, attempts = 0, next_fetch = ${soon}
        where id = ${id} and (url <> ${url} or options <> ${json}::jsonb)`,
  )
  return count > 0
}

/** Changes the hours between two fetches, from the last one on. Returns whether they are others. */
export async function updateInterval(tx: Db, id: number, hours: number): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update followed_source
        set interval_hours = ${hours}::integer,
            next_fetch = case
              when failures > 0 or attempts > 0 or requested is not null then next_fetch
              else coalesce(last_fetch + make_interval(hours => ${hours}::integer), next_fetch)
            end
        where id = ${id} and interval_hours <> ${hours}::integer`,
  )
  return count > 0
}

/** Pauses a followed source. Returns whether it was active before. */
export async function pause(tx: Db, id: number): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update followed_source set state = 'paused' where id = ${id} and state = 'active'`,
  )
  return count > 0
}

/**
 * Continues a followed source that was paused or disabled: soon if its last fetch failed or it is
 * due. The editor who continues it is the new origin of its imports.
 */
export async function resume(tx: Db, id: number, origin: Origin): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update followed_source
        set state = 'active', failures = 0, attempts = 0,
            ${originColumns(origin)},
            next_fetch = case
              when failures > 0 or attempts > 0 or outcome = 'failed' then ${soon}
              else next_fetch
            end
        where id = ${id} and state <> 'active'`,
  )
  return count > 0
}

/**
 * Makes an active followed source due, at the earliest a minute after its last fetch. The file is
 * planned even if it has not changed. If it is being fetched, it is fetched again afterwards.
 * Returns whether it is active.
 */
export async function requestFetch(tx: Db, id: number): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update followed_source
        set requested = now(), next_fetch = ${soon}
        where id = ${id} and state = 'active'`,
  )
  return count > 0
}

/** Deletes a followed source. Its imports stay. */
export function deleteFollowedSource(tx: Db, id: number) {
  return execute(tx, sql`delete from followed_source where id = ${id}`)
}

// --- fetching

const isDue = sql`
  state = 'active'
  and next_fetch <= now()
  and (leased_until is null or leased_until <= now())`

const Due = Type.Object({ isDue: Type.Boolean() })

/** Tells whether a followed source is due. */
export async function hasDueSource(db: Db): Promise<boolean> {
  const row = await one(
    db,
    Due,
    sql`select exists (select from followed_source where ${isDue}) as "isDue"`,
  )
  return row.isDue
}

const ClaimedSource = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  options: Type.Unknown(),
  revision: Type.Integer(),
  failures: Type.Integer(),
  attempts: Type.Integer(),
  actor: Type.String(),
  tokenId: MaybeInteger,
  personId: MaybeInteger,
  via: Type.Unsafe<Origin['via']>(Type.String()),
  requestId: Type.String(),
  etag: MaybeText,
  lastModified: MaybeText,
  itemsHash: MaybeText,
  requested: MaybeText,
})
export type ClaimedSource = Static<typeof ClaimedSource>

/**
 * Leases the source that is due longest and whose host is not asked by another fetch. Counts the
 * attempt and puts the next one off by an hour, then two, four ...: if this one ends the process,
 * the file is not fetched again at once.
 */
export async function claimSource(
  tx: Db,
  lease: string,
  seconds: number,
): Promise<ClaimedSource | undefined> {
  const [row] = await writeReturning(
    tx,
    ClaimedSource,
    sql`update followed_source
        set lease = ${lease}::uuid,
            leased_until = now() + make_interval(secs => ${seconds}::double precision),
            attempts = attempts + 1,
            next_fetch = now() + interval '1 hour' * power(2, least(attempts, 7))
        where id = (
          select id
          from followed_source
          where ${isDue}
            and not exists (select
                            from followed_source as other
                            where other.host = followed_source.host and other.leased_until > now())
          order by next_fetch, id
          limit 1
          for no key update skip locked
        )
        returning id, url, options, revision, failures, attempts, actor, token_id as "tokenId",
                  person_id as "personId", via, request_id as "requestId", etag,
                  last_modified as "lastModified", encode(items_hash, 'hex') as "itemsHash",
                  requested::text as requested`,
  )
  return row
}

/**
 * Moves sources that have been due for more than an hour, because no process has fetched or the
 * database was restored, to random times, at most six hours or their interval from now.
 */
export function spreadOverdue(db: Db) {
  return execute(
    db,
    sql`update followed_source
        set next_fetch = now() + make_interval(hours => least(interval_hours, 6)) * random()
        where state = 'active'
          and requested is null
          and next_fetch < now() - interval '1 hour'
          and (leased_until is null or leased_until <= now())`,
  )
}

/** The right to settle a fetch: nothing else was claimed or asked for meanwhile. */
export interface HeldLease {
  readonly id: number
  readonly lease: string
  readonly revision: number
}

const isHeld = ({ id, lease, revision }: HeldLease) => sql`
  id = ${id} and lease = ${lease}::uuid and revision = ${revision}::integer`

/** Extends a lease. Returns whether the fetch still counts. */
export async function renewLease(db: Db, held: HeldLease, seconds: number): Promise<boolean> {
  const count = await execute(
    db,
    sql`update followed_source
        set leased_until = now() + make_interval(secs => ${seconds}::double precision)
        where ${isHeld(held)}`,
  )
  return count > 0
}

const Locked = Type.Object({ id: Type.Integer() })

/** Locks a source until the end of the transaction. Returns whether the fetch still counts. */
export async function lockLease(tx: Db, held: HeldLease): Promise<boolean> {
  const row = await maybe(
    tx,
    Locked,
    sql`select id from followed_source where ${isHeld(held)} for no key update`,
  )
  return row !== undefined
}

/**
 * Gives a lease back without saying how the fetch ended, also if URL or options were changed since.
 * The source is fetched after a delay, and the attempt does not count.
 */
export function releaseLease(db: Db, { id, lease }: HeldLease, delaySeconds: number) {
  return execute(
    db,
    sql`update followed_source
        set lease = null, leased_until = null, attempts = greatest(attempts - 1, 0),
            next_fetch = now() + make_interval(secs => ${delaySeconds}::double precision)
        where id = ${id} and lease = ${lease}::uuid`,
  )
}

/** Which version of a file was planned. */
export interface PlannedVersion {
  readonly etag: string | undefined
  readonly lastModified: string | undefined
  readonly itemsHash: string
}

export interface Settlement {
  readonly outcome: FetchOutcome
  readonly message: string | null
  /** Undefined if the version is the same as before, or was not planned. */
  readonly version?: PlannedVersion | undefined
  /** Stops following: it was fetched too often in vain, or may no longer be fetched. */
  readonly stop?: 'paused' | 'disabled' | undefined
  /** Why it is disabled, for the audit log. Default: the number of failures. */
  readonly reason?: string | undefined
}

const maxRetryHours = 7 * 24

// Doubled by each failure up to a week. A source that waits for a person is looked at again soon:
// nothing is fetched meanwhile.
const delayHours = (outcome: FetchOutcome): Sql => {
  if (outcome === 'waiting') return sql`1`
  if (outcome !== 'failed') return sql`interval_hours`
  return sql`greatest(interval_hours,
                      least(${maxRetryHours}::integer, interval_hours * power(2, failures)))`
}

const Settled = Type.Object({ state: Type.String(), failures: Type.Integer() })

/**
 * Records how a fetch ended, gives the lease back and computes from the current interval when the
 * next fetch is, up to a tenth later at random. If a fetch was requested since this one was
 * claimed, it follows after a minute. Returns undefined if the fetch no longer counts.
 */
export async function settleFetch(
  tx: Db,
  held: HeldLease,
  requested: string | null,
  { outcome, message, version, stop }: Settlement,
) {
  const versionColumns = version
    ? sql`
        etag = ${version.etag ?? null}::text,
        last_modified = ${version.lastModified ?? null}::text,
        items_hash = decode(${version.itemsHash}, 'hex'),`
    : sql``
  const failures = {
    planned: sql`0`,
    unchanged: sql`0`,
    waiting: sql`failures`,
    failed: sql`failures + 1`,
  }[outcome]
  const isAnswered = outcome === 'planned' || outcome === 'unchanged'
  const isRequestedSince = sql`requested is distinct from ${requested}::timestamptz`
  const isHopeless = sql`
    ${outcome === 'failed'} and failures + 1 >= ${maxFetchFailures}::integer`
  const [row] = await writeReturning(
    tx,
    Settled,
    sql`update followed_source
        set ${versionColumns}
            last_fetch = now(), outcome = ${outcome}, message = ${message}::text,
            failures = ${failures}, attempts = 0,
            state = case
              when state <> 'active' then state
              when ${stop ?? null}::text is not null then ${stop ?? null}::text
              when ${isHopeless} then 'disabled'
              else state
            end,
            requested = case when ${isRequestedSince} or not ${isAnswered} then requested end,
            next_fetch = case
              when ${isRequestedSince} then now() + interval '1 minute'
              else now() + interval '1 hour' * ${delayHours(outcome)} * (1 + 0.1 * random())
            end,
            lease = null, leased_until = null
        where ${isHeld(held)}
        returning state, failures`,
  )
  return row
}

const Figures = Type.Object({ state: Type.String(), count: Type.Integer() })

/** Counts followed sources by state. */
export function countByState(db: Db) {
  return many(
    db,
    Figures,
    sql`select ${shownState} as state, count(*)::integer as count
        from followed_source
        group by 1`,
  )
}

const OldestDue = Type.Object({ id: Type.Integer(), seconds: Type.Number() })

/** Finds the source that is due longest, and for how long. */
export function findOldestDue(db: Db) {
  return maybe(
    db,
    OldestDue,
    sql`select id, extract(epoch from now() - next_fetch)::double precision as seconds
        from followed_source
        where state = 'active' and next_fetch <= now()
        order by next_fetch, id
        limit 1`,
  )
}
