import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'

// SQL of a mirror: how far the copy is, and what it has of the feed.

const Mirror = Type.Object({
  source: Type.String(),
  cursor: Type.Union([Type.String(), Type.Null()]),
  earlier_cursors: Type.Array(Type.String()),
  digest: Type.String(),
  size: Type.Integer(),
  writer: Type.String(),
})

/** Finds the mirror of the database; undefined if it is an archive of its own. */
export function findMirror(db: Db) {
  return maybe(
    db,
    Mirror,
    sql`select source, cursor, earlier_cursors, lpad(to_hex(digest), 16, '0') as digest,
               size, writer
        from mirror`,
  )
}

const Source = Type.Object({ source: Type.String() })

/** Finds the URL of the archive that the database is a copy of. */
export async function findSource(db: Db): Promise<string | undefined> {
  return (await maybe(db, Source, sql`select source from mirror`))?.source
}

const IsEmpty = Type.Object({ isEmpty: Type.Boolean() })

/** Tells whether the database has no records and no entities. */
export async function isEmpty(db: Db): Promise<boolean> {
  const row = await one(
    db,
    IsEmpty,
    sql`select not exists (select from video)
               and not exists (select from category)
               and not exists (select from speaker)
               and not exists (select from tag) as "isEmpty"`,
  )
  return row.isEmpty
}

/** Makes the database a mirror. */
export function insertMirror(tx: Db, source: string) {
  return execute(tx, sql`insert into mirror (source, writer) values (${source}, '')`)
}

/** Makes this process the only one that copies. */
export function replaceWriter(db: Db, writer: string) {
  return execute(db, sql`update mirror set writer = ${writer}`)
}

const Writer = Type.Object({ writer: Type.String() })

/** Locks the mirror until the end of the transaction, and returns the process that may write. */
export async function lockMirror(tx: Db): Promise<string | undefined> {
  return (await maybe(tx, Writer, sql`select writer from mirror for update`))?.writer
}

const Done = Type.Object({ done: Type.String() })

/** Allows changes until the end of the transaction. */
export function allowChanges(tx: Db) {
  return one(tx, Done, sql`select set_config('talkshelf.copies', 'on', true) as done`)
}

/** The part of the digest that an entry has, as 16 hexadecimal digits; zeros if it is hidden. */
export interface MirroredRow {
  readonly kind: string
  readonly id: number
  readonly seq: number
  readonly hash: string
}

/** Remembers entries that were copied. Updates the digest and the size. */
export async function saveMirrored(tx: Db, rows: readonly MirroredRow[]): Promise<void> {
  await execute(
    tx,
    sql`with input as materialized (
          select kind, id, seq, ('x' || hash)::bit(64)::bigint as hash
          from json_to_recordset(${JSON.stringify(rows)}::json)
            as input (kind text, id bigint, seq bigint, hash text)
        ), difference as materialized (
          select coalesce(bit_xor(input.hash # coalesce(mirrored.hash, 0)), 0) as digest,
                 coalesce(sum((input.hash <> 0)::integer
                              - (coalesce(mirrored.hash, 0) <> 0)::integer), 0) as size
          from input
          left join mirrored using (kind, id)
        ), saved as (
          insert into mirrored (kind, id, seq, hash)
          select kind, id, seq, hash from input
          on conflict (kind, id) do update set seq = excluded.seq, hash = excluded.hash
        )
        update mirror
        set digest = mirror.digest # difference.digest, size = mirror.size + difference.size,
            changed = now()
        from difference`,
  )
}

/** Saves the position in the feed. */
export function saveCursor(tx: Db, cursor: string | null, earlier: readonly string[]) {
  return execute(
    tx,
    sql`update mirror set cursor = ${cursor}::text, earlier_cursors = ${earlier}::text[]`,
  )
}

const Subject = Type.Object({
  kind: Type.Union([
    Type.Literal('category'),
    Type.Literal('speaker'),
    Type.Literal('tag'),
    Type.Literal('video'),
  ]),
  id: Type.Integer(),
})
export type Subject = Static<typeof Subject>

/** Lists what the copy has from entries after a number, also what is hidden. */
export function listMirroredAfter(db: Db, seq: number) {
  return many(db, Subject, sql`select kind, id from mirrored where seq > ${seq}::bigint`)
}

/** Lists all that is not hidden. */
export function listMirrored(db: Db) {
  return many(db, Subject, sql`select kind, id from mirrored where hash <> 0`)
}
