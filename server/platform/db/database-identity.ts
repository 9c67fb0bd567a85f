import sql from 'sql-template-tag'

/** Identifies the database itself: a restored or copied one differs. */
export const thisDatabase = sql`
  (select system_identifier || '.' || pg_database.oid
   from pg_control_system(), pg_database
   where datname = current_database())`
