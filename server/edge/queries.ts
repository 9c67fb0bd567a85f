import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { thisDatabase } from '../platform/db/database-identity.ts'
import { type Db, execute, one, writeReturning } from '../platform/db/db.ts'

// SQL of the edge: how far it has been purged, and which process does it.

const Lease = Type.Object({
  target: Type.String(),
  seq: Type.Integer(),
  digest: Type.String(),
  soft_keys: Type.Array(Type.String()),
  hard_keys: Type.Array(Type.String()),
  isSameDatabase: Type.Boolean(),
  isSameTimeline: Type.Boolean(),
})
export type Lease = Static<typeof Lease>

const timeline = sql`(select timeline_id from pg_control_checkpoint())`

/** Takes or renews the lease. Returns undefined if another process has it. */
export async function takeLease(db: Db, holder: string, seconds: number) {
  const [lease] = await writeReturning(
    db,
    Lease,
    sql`update edge_purge
        set holder = ${holder}, leased_until = now() + make_interval(secs => ${seconds}::float8)
        where holder = ${holder} or leased_until < now()
        returning target, seq, digest, soft_keys, hard_keys,
                  database = ${thisDatabase} as "isSameDatabase",
                  timeline = ${timeline} as "isSameTimeline"`,
  )
  return lease
}

/** Gives the lease up, so that another process takes it at once. */
export function releaseLease(db: Db, holder: string) {
  return execute(
    db,
    sql`update edge_purge set holder = '', leased_until = 'epoch' where holder = ${holder}`,
  )
}

export interface Beginning {
  readonly target: string
  readonly release: string
  readonly seq: number
  readonly digest: string
  readonly softKeys: readonly string[]
  readonly hardKeys: readonly string[]
}

/** Stores where a new or another edge, or another database, begins, and what it must purge. */
export function saveBeginning(db: Db, holder: string, beginning: Beginning) {
  const { target, release, seq, digest, softKeys, hardKeys } = beginning
  return execute(
    db,
    sql`update edge_purge
        set target = ${target},
            release = case target when '' then ${release} else release end,
            seq = ${seq}::bigint, digest = ${digest},
            soft_keys = ${softKeys}::text[], hard_keys = ${hardKeys}::text[],
            database = ${thisDatabase}, timeline = ${timeline}
        where holder = ${holder}`,
  )
}

/** Stores up to which entry everything has been purged. */
export function savePosition(db: Db, holder: string, seq: number, digest: string) {
  return execute(
    db,
    sql`update edge_purge
        set seq = ${seq}::bigint, digest = ${digest}
        where holder = ${holder}`,
  )
}

/** Adds a key that is purged hard, if there is an edge. For what is not in the change feed. */
export function purgeKey(db: Db, key: string) {
  return execute(
    db,
    sql`update edge_purge
        set hard_keys = array(select distinct unnest(hard_keys || ${key}::text))
        where target <> '' and not ${key}::text = any (hard_keys)`,
  )
}

/** Removes keys that have been purged, unless others were added in the meantime. */
export function clearKeys(
  db: Db,
  holder: string,
  soft: readonly string[],
  hard: readonly string[],
) {
  return execute(
    db,
    sql`update edge_purge
        set soft_keys = '{}', hard_keys = '{}'
        where holder = ${holder}
          and soft_keys = ${soft}::text[]
          and hard_keys = ${hard}::text[]`,
  )
}

/**
 * Tells that a process of this release starts. A new release purges everything; each further
 * process what the processes of the release before have rendered in the meantime.
 */
export function announceRelease(db: Db, release: string) {
  return execute(
    db,
    sql`update edge_purge
        set soft_keys = array(
              select distinct key
              from unnest(soft_keys || case
                            when release <> ${release} then 'all'
                            when previous_release <> '' then 'r-' || previous_release
                          end) as key
              where key is not null
              order by key),
            previous_release =
              case release when ${release} then previous_release else release end,
            release = ${release}
        where target <> '' and (release <> ${release} or previous_release <> '')`,
  )
}

const Canary = Type.Object({ canary: Type.String() })

const canaryText = sql`
  to_char(canary at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as canary`

/** Reads the canary: the time of its last change. */
export function readCanary(db: Db) {
  return one(db, Canary, sql`select ${canaryText} from edge_purge`)
}

/** Changes the canary. Returns undefined if another process has the lease. */
export async function changeCanary(db: Db, holder: string) {
  const [changed] = await writeReturning(
    db,
    Canary,
    sql`update edge_purge
        set canary = clock_timestamp()
        where holder = ${holder}
        returning ${canaryText}`,
  )
  return changed
}
