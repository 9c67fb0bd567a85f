import type { Fact } from '@talkshelf/contract'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChanges } from '../changes/changes.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, writeReturning } from '../platform/db/db.ts'

const FactsRow = Type.Object({
  id: Type.Integer(),
  revision: Type.Integer(),
  facts: Type.Array(Type.Unsafe<Fact>({})),
})
export type FactsRow = Static<typeof FactsRow>

/** Finds the facts of records. Records without facts have no row. */
export function findFacts(db: Db, ids: readonly number[]) {
  return many(
    db,
    FactsRow,
    sql`select id, revision, facts from video_facts where id = any (${ids}::bigint[])`,
  )
}

const SavedFacts = Type.Object({ id: Type.Integer(), revision: Type.Integer() })

/**
 * Writes the facts of records and returns those that changed. The records must be locked, because
 * the previous facts are read in the same statement.
 */
export function saveFacts(
  tx: Db,
  rows: readonly { id: number; facts: readonly Fact[] }[],
  at: string,
  origin: Origin,
  hash: Buffer,
) {
  return writeReturning(
    tx,
    SavedFacts,
    sql`with input as materialized (
          select input.id, input.facts, coalesce(previous.facts, '[]') as before
          from json_to_recordset(${JSON.stringify(rows)}::json) as input (id bigint, facts jsonb)
          left join video_facts as previous using (id)
          where input.facts <> coalesce(previous.facts, '[]')
        ), saved as (
          insert into video_facts (id, revision, facts)
          select id, 1, facts
          from input
          on conflict (id) do update set revision = video_facts.revision + 1, facts = excluded.facts
          returning id, revision
        ), history as (
          ${insertChanges(
            'facts',
            'updated',
            origin,
            hash,
            sql`select id, revision,
                       jsonb_build_object('facts', before), jsonb_build_object('facts', facts),
                       '{}'::jsonb, ${at}::timestamptz
                from input
                join saved using (id)`,
          )}
        )
        select id, revision from saved`,
  )
}

/** Deletes the facts of records. Their history is left to the caller. */
export function deleteFacts(tx: Db, ids: readonly number[]) {
  return execute(tx, sql`delete from video_facts where id = any (${ids}::bigint[])`)
}
