import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, many, one } from '../platform/db/db.ts'

const Server = Type.Object({
  version: Type.String(),
  major: Type.Integer(),
  encoding: Type.String(),
  is_case_mapped: Type.Boolean(),
  seconds: Type.Number(),
  missing_extensions: Type.Array(Type.String()),
})

/** Reads what the archive needs to know of the database server. Needs no schema. */
export function readServer(db: Db, extensions: readonly string[]) {
  return one(
    db,
    Server,
    sql`select current_setting('server_version') as version,
               current_setting('server_version_num')::integer / 10000 as major,
               current_setting('server_encoding') as encoding,
               lower('Ж') = 'ж' as is_case_mapped,
               extract(epoch from clock_timestamp())::double precision as seconds,
               array(
                 select wanted from unnest(${extensions}::text[]) as wanted
                 where wanted not in (select name from pg_available_extensions)
               ) as missing_extensions`,
  )
}

const Durability = Type.Object({
  has_checksums: Type.Boolean(),
  /** Settings without which a crash loses writes or damages pages. */
  switched_off: Type.Array(Type.String()),
  waits_for_standbys: Type.Boolean(),
  sees_standbys: Type.Boolean(),
  archives: Type.Boolean(),
  archive_failing_seconds: Type.Union([Type.Number(), Type.Null()]),
})

/** Reads how the server keeps what was written. */
export function readDurability(db: Db) {
  return one(
    db,
    Durability,
    sql`select current_setting('data_checksums')::boolean as has_checksums,
               array(
                 select name
                 from unnest(array['fsync', 'full_page_writes', 'synchronous_commit']) as name
                 where current_setting(name) = 'off'
               ) as switched_off,
               current_setting('synchronous_standby_names') <> '' as waits_for_standbys,
               pg_has_role('pg_read_all_stats', 'usage') as sees_standbys,
               current_setting('archive_mode') <> 'off' as archives,
               case when last_failed_time > coalesce(last_archived_time, '-infinity')
                    then extract(epoch from now() - coalesce(last_archived_time, stats_reset))
                         ::double precision
               end as archive_failing_seconds
        from pg_stat_archiver`,
  )
}

const Standby = Type.Object({
  name: Type.String(),
  is_synchronous: Type.Boolean(),
  behind_bytes: Type.Number(),
})

/** Lists the standbys that follow the server. Needs the role pg_read_all_stats. */
export function listStandbys(db: Db) {
  return many(
    db,
    Standby,
    sql`select application_name as name,
               sync_state in ('sync', 'quorum') as is_synchronous,
               coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::double precision
                 as behind_bytes
        from pg_stat_replication
        where state = 'streaming'
        order by application_name`,
  )
}
