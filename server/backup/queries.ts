import sql, { raw } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, one } from '../platform/db/db.ts'

// Names of tables and columns come from the catalogue of PostgreSQL, which quotes them itself.

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
const Sum = Type.Object({ rows: Type.Integer(), sum: Type.String() })
const Extension = Type.Object({
  name: Type.String(),
  available: Type.Boolean(),
  allowed: Type.Boolean(),
})
const Rights = Type.Object({ role: Type.String(), database: Type.String(), create: Type.Boolean() })

export function describeServer(db: Db) {
  return one(
    db,
    Server,
    // Debian says '15.18 (Debian 15.18-0+deb12u1)'.
    sql`select split_part(current_setting('server_version'), ' ', 1) as version, current_setting('server_version_num')::integer / 10000 as major,
               to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now,
               array(select extname::text from pg_extension where extname <> 'plpgsql' order by extname) as extensions,
               to_regclass('schema_version') is not null as migrated`,
  )
}

export async function readSchema(db: Db): Promise<number> {
  const { version } = await one(
    db,
    Schema,
    sql`select coalesce(max(version), 0)::integer as version from schema_version`,
  )
  return version
}

/**
 * Every table of the database that is not PostgreSQL's own or an extension's. `columns` are those
 * that are compared. Others are worked out by the database, and another version may do it by other
 * rules; and `transactions` have numbers that mean nothing on another server.
 */
export function listTables(db: Db) {
  return many(
    db,
    Table,
    sql`select case nspname when 'public' then relname else nspname || '.' || relname end as name, format('%I.%I', nspname, relname) as relation,
               coalesce(string_agg(quote_ident(attname), ', ' order by attnum) filter (where atttypid <> 'xid8'::regtype and attgenerated = ''), '') as columns,
               coalesce(string_agg(format('alter %I type xid8 using ''0''::xid8', attname), ', ') filter (where atttypid = 'xid8'::regtype), '') as transactions
        from pg_class
        join pg_namespace on pg_namespace.oid = relnamespace
        left join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
        where relkind in ('r', 'p') and not relispartition and relpersistence <> 't' and nspname !~ '^(pg_|information_schema$)'
          and not exists (select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
        group by nspname, relname
        order by nspname, relname`,
  )
}

/**
 * How many rows, and the sum of 64 bits of the SHA-256 of each: the same in whatever order they
 * lie. A sum, because two equal rows would be nothing in an exclusive or. Rows as PostgreSQL sends
 * them: that takes half as long as the text, and no setting changes it.
 */
export function checksumTable(db: Db, { relation, columns }: Table) {
  return one(
    db,
    Sum,
    sql`select count(*) as rows,
               coalesce(sum(('x' || left(encode(sha256(record_send(row(${raw(columns)}))), 'hex'), 16))::bit(64)::bigint), 0)::text as sum
        from ${raw(relation)}`,
  )
}

/** The extensions that are not there, and whether they can be. */
export function missingExtensions(db: Db, names: readonly string[]) {
  return many(
    db,
    Extension,
    sql`select wanted as name, latest.name is not null as available,
               (select rolsuper from pg_roles where rolname = current_user)
                 or (coalesce(latest.trusted, false) and has_database_privilege(current_database(), 'create')) as allowed
        from unnest(${names}::text[]) as wanted
        left join pg_available_extensions on pg_available_extensions.name = wanted
        left join pg_available_extension_versions as latest on latest.name = wanted and latest.version = default_version
        where wanted not in (select extname from pg_extension)
        order by wanted`,
  )
}

export function readPrivileges(db: Db) {
  return one(
    db,
    Rights,
    sql`select current_user::text as role, current_database()::text as database, coalesce(has_schema_privilege(current_schema(), 'create'), false) as create`,
  )
}

/**
 * The numbers of transactions are those of the server that the backup came from. Here they may be
 * in the future, and what is in the future is new again and again (changes/queries.ts). As zero it
 * is older than everything, and in the order of its positions. Told as a change of type it writes
 * the table anew; an update would leave it twice as large.
 */
export function resetTransactionIds(db: Db, { relation, transactions }: Table) {
  return execute(db, sql`alter table ${raw(relation)} ${raw(transactions)}`)
}

/** What the planner has to know, and what lets it read from indexes alone. */
export function vacuumTable(db: Db, { relation }: Table) {
  return execute(db, sql`vacuum (analyze) ${raw(relation)}`)
}
