import type { Fact } from '@talkshelf/contract'
import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChanges } from '../changes/changes.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, many, writeReturning } from '../platform/db/db.ts'

const FactsRow = Type.Object({
  id: Type.Integer(),
  revision: Type.Integer(),
  facts: Type.Array(Type.Unsafe<Fact>({})),
})
export type FactsRow = Static<typeof FactsRow>

export function findFacts(db: Db, ids: readonly number[]) {
  return many(
    db,
    FactsRow,
    sql`select id, revision, facts from video_facts where id = any (${ids}::bigint[])`,
  )
}

const Saved = Type.Object({ id: Type.Integer(), revision: Type.Integer() })

/**
 * Writes the facts of these records, and tells which of them changed. Nobody else may write them
 * meanwhile: their records are locked.
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
    Saved,
    sql`with given as materialized (
          select given.id, given.facts, coalesce(was.facts, '[]') as before
          from json_to_recordset(${JSON.stringify(rows)}::json) as given (id bigint, facts jsonb) left join video_facts as was using (id)
          where given.facts <> coalesce(was.facts, '[]')
        ), saved as (
          insert into video_facts (id, revision, facts) select id, 1, facts from given
          on conflict (id) do update set revision = video_facts.revision + 1, facts = excluded.facts
          returning id, revision
        ), recorded as (
          ${insertChanges(
            'facts',
            'updated',
            origin,
            hash,
            sql`select id, revision, jsonb_build_object('facts', before), jsonb_build_object('facts', facts), '{}'::jsonb, ${at}::timestamptz
                from given join saved using (id)`,
          )}
        )
        select id, revision from saved`,
  )
}
