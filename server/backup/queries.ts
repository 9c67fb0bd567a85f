import sql, { raw } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, one } from '../platform/db/db.ts'

// Names of tables and columns that become part of a statement are quoted by PostgreSQL itself.

const Server = Type.Object({
  version: Type.String(),
  major: Type.Integer(),
  now: Type.String(),
  extensions: Type.Array(Type.String()),
  migrated: Type.Boolean(),
})
const Schema = Type.Object({ version: Type.Integer() })
const Table = Type.Object({
  name: Type.String(),
  relation: Type.String(),
  columns: Type.String(),
  transactions: Type.String(),
})
export type Table = Static<typeof Table>
const Checksum = Type.Object({ rows: Type.Integer(), sum: Type.String() })
const Extension = Type.Object({
  name: Type.String(),
  available: Type.Boolean(),
  allowed: Type.Boolean(),
})
const Privileges = Type.Object({
  role: Type.String(),
  database: Type.String(),
  create: Type.Boolean(),
})

/** Returns version, time and extensions of the server, and whether the database was migrated. */
export function describeServer(db: Db) {
  return one(
    db,
    Server,
    // The version may have a suffix: '15.18 (Debian 15.18-0+deb12u1)'.
    sql`select split_part(current_setting('server_version'), ' ', 1) as version,
               current_setting('server_version_num')::integer / 10000 as major,
               to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now,
               array(select extname::text
                     from pg_extension
                     where extname <> 'plpgsql'
                     order by extname) as extensions,
               to_regclass('schema_version') is not null as migrated`,
  )
}

/** Returns the version of the schema of a migrated database. */
export async function readSchemaVersion(db: Db): Promise<number> {
  const { version } = await one(
    db,
    Schema,
    sql`select coalesce(max(version), 0)::integer as version from schema_version`,
  )
  return version
}

/**
 * Lists all tables of the database, without those of PostgreSQL and of extensions. `columns` are
 * those that are compared: not generated columns, which another version may compute differently,
 * and not transaction ids, which mean nothing on another server. `transactions` resets the latter.
 */
export function listTables(db: Db) {
  return many(
    db,
    Table,
    sql`select case nspname when 'public' then relname else nspname || '.' || relname end as name,
               format('%I.%I', nspname, relname) as relation,
               coalesce(string_agg(quote_ident(attname), ', ' order by attnum)
                          filter (where atttypid <> 'xid8'::regtype and attgenerated = ''),
                        '') as columns,
               coalesce(string_agg(format('alter %I type xid8 using ''0''::xid8', attname), ', ')
                          filter (where atttypid = 'xid8'::regtype),
                        '') as transactions
        from pg_class
        join pg_namespace on pg_namespace.oid = relnamespace
        left join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
        where relkind in ('r', 'p')
          and not relispartition
          and relpersistence <> 't'
          and nspname !~ '^(pg_|information_schema$)'
          and not exists (select
                          from pg_depend
                          where classid = 'pg_class'::regclass
                            and objid = pg_class.oid
                            and deptype = 'e')
        group by nspname, relname
        order by nspname, relname`,
  )
}

/**
 * Counts the rows of a table, and adds up 64 bits of the SHA-256 of each: a checksum that does not
 * depend on their order. A sum, because in an exclusive or two equal rows would cancel out. The
 * binary format of rows takes half the time of the text format, and depends on no setting.
 */
export function checksumTable(db: Db, { relation, columns }: Table) {
  return one(
    db,
    Checksum,
    sql`select count(*) as rows,
               coalesce(sum(('x' || left(encode(sha256(record_send(row(${raw(columns)}))), 'hex'),
                                         16))::bit(64)::bigint),
                        0)::text as sum
        from ${raw(relation)}`,
  )
}

/** Lists missing extensions: whether the server has them, and the current role can create them. */
export function missingExtensions(db: Db, names: readonly string[]) {
  return many(
    db,
    Extension,
    sql`select required as name,
               latest.name is not null as available,
               (select rolsuper from pg_roles where rolname = current_user)
                 or (coalesce(latest.trusted, false)
                     and has_database_privilege(current_database(), 'create')) as allowed
        from unnest(${names}::text[]) as required
        left join pg_available_extensions on pg_available_extensions.name = required
        left join pg_available_extension_versions as latest
          on latest.name = required and latest.version = default_version
        where required not in (select extname from pg_extension)
        order by required`,
  )
}

/** Returns the current role and database, and whether the role can create tables. */
export function readPrivileges(db: Db) {
  return one(
    db,
    Privileges,
    sql`select current_user::text as role,
               current_database()::text as database,
               coalesce(has_schema_privilege(current_schema(), 'create'), false) as create`,
  )
}

/**
 * Sets the transaction ids of a table to zero. They come from the server of the backup and may be
 * in the future here, where the change feed would return their rows again and again
 * (changes/queries.ts). With zero they are older than all others and sorted by position. A change
 * of type rewrites the table; an update would leave it twice as large.
 */
export function resetTransactionIds(db: Db, { relation, transactions }: Table) {
  return execute(db, sql`alter table ${raw(relation)} ${raw(transactions)}`)
}

/** Updates planner statistics and the visibility map, which index-only scans need. */
export function vacuumTable(db: Db, { relation }: Table) {
  return execute(db, sql`vacuum (analyze) ${raw(relation)}`)
}
