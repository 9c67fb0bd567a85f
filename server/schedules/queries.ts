import { RecordingStatus } from '@talkshelf/contract'
import sql, { type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, many, one } from '../platform/db/db.ts'

const Slot = Type.Object({
  start: Type.String(),
  minutes: Type.Union([Type.Integer(), Type.Null()]),
  room: Type.String(),
})

const ScheduledRow = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  title: Type.String(),
  speakers: Type.Array(Type.String()),
  updated: Type.String(),
  factsRevision: Type.Integer(),
  live: Type.Boolean(),
  recorded: Type.Boolean(),
  slot: Type.Union([Slot, Type.Null()]),
  status: Type.Union([RecordingStatus, Type.Null()]),
})
export type ScheduledRow = Static<typeof ScheduledRow>

// Live records and others have separate indexes, so each has its own branch.
const isListed = sql`state = 1 and taken_down is null`
const isDraft = sql`(state <> 1 or taken_down is not null)
  and taken_down is null
  and merged_into is null`
const hasSlot = sql`facts @> '[{"kind": "slot"}]'`
const hasStatus = sql`facts @> '[{"kind": "recording"}]'`

/** Selects the talks of a schedule: live ones with a slot, and those whose status is known. */
const selectScheduled = (categoryId: number, columns: Sql) => sql`
  select ${columns}
  from video
  join (select id, revision as facts_revision, facts from video_facts) as attached using (id)
  where category_id = ${categoryId}::bigint and ${isListed} and (${hasSlot} or ${hasStatus})
  union all
  select ${columns}
  from video
  join (select id, revision as facts_revision, facts from video_facts) as attached using (id)
  where category_id = ${categoryId}::bigint and ${isDraft} and ${hasStatus}`

/**
 * Lists the talks of the schedule of a category. Speakers have their current names: a rename may
 * not have reached the record yet.
 */
export function listScheduled(db: Db, categoryId: number, limit: number) {
  const columns = sql`id, slug, title, speaker_ids, updated, facts_revision, facts, state,
    (coalesce(source_url, '') <> ''
     or num_nonnulls(
          nullif(video_ogv_url, ''), nullif(video_mp4_url, ''), nullif(video_webm_url, ''),
          nullif(video_flv_url, '')) > 0
     or facts @> '[{"kind": "media"}]'
     or facts @> '[{"kind": "part"}]') as recorded`
  return many(
    db,
    ScheduledRow,
    sql`select scheduled.id, scheduled.slug, title,
               array(
                 select speaker.name
                 from unnest(speaker_ids) with ordinality as given (speaker_id, position)
                 join speaker on speaker.id = speaker_id
                 order by position
               ) as speakers,
               to_char(updated at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as updated,
               facts_revision as "factsRevision",
               state = 1 as live,
               recorded,
               (select fact
                from jsonb_array_elements(facts) with ordinality as listed (fact, position)
                where fact->>'kind' = 'slot'
                order by position
                limit 1) as slot,
               (select fact->>'status'
                from jsonb_array_elements(facts) with ordinality as listed (fact, position)
                where fact->>'kind' = 'recording'
                order by position
                limit 1) as status
        from (${selectScheduled(categoryId, columns)}) as scheduled
        order by scheduled.id
        limit ${limit}::integer`,
  )
}

const HasSchedule = Type.Object({ has_schedule: Type.Boolean() })

/** Tells whether a category has a schedule. */
export async function hasSchedule(db: Db, categoryId: number): Promise<boolean> {
  const { has_schedule } = await one(
    db,
    HasSchedule,
    sql`select exists (${selectScheduled(categoryId, sql`id`)}) as has_schedule`,
  )
  return has_schedule
}
