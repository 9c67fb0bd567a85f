import {
  type SuggestedFields,
  type SuggestionKind,
  type SuggestionState,
  suggestionKinds,
  suggestionStates,
} from '@talkshelf/contract'
import sql, { empty, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const oneOf = <T extends string>(values: readonly T[]) =>
  Type.Unsafe<T>(Type.Union(values.map((value) => Type.Literal(value))))

/** The values of fields: those of `SuggestedFields`, and the state for a removal. */
export type StoredFields = SuggestedFields & { readonly state?: 1 | 2 }

/** Ids of entities by the names that the record had when it was suggested to keep them. */
export interface KeptIds {
  readonly speakers?: Readonly<Record<string, number>>
  readonly tags?: Readonly<Record<string, number>>
}

const SuggestionRow = Type.Object({
  id: Type.Integer(),
  kind: oneOf<SuggestionKind>(suggestionKinds),
  state: oneOf<SuggestionState>(suggestionStates),
  video_id: nullable(Type.Integer()),
  /** The record, or the one into which it was merged. After a change, the one that was changed. */
  target_id: nullable(Type.Integer()),
  base_revision: nullable(Type.Integer()),
  fields: Type.Unsafe<StoredFields>(Type.Object({})),
  kept_ids: Type.Unsafe<KeptIds>(Type.Object({})),
  duplicate_of: nullable(Type.Integer()),
  /** The other record of the same talk, or the one into which it was merged. */
  duplicate_target_id: nullable(Type.Integer()),
  comment: Type.String(),
  name: nullable(Type.String()),
  show_name: Type.Boolean(),
  low_priority: Type.Boolean(),
  reason: nullable(Type.String()),
  reply: nullable(Type.String()),
  taken: nullable(Type.Array(Type.String())),
  /** The record that accepting changed, and its new revision. */
  decided_video_id: nullable(Type.Integer()),
  revision: nullable(Type.Integer()),
  closed: nullable(Type.String()),
  closed_by: nullable(Type.String()),
  created: Type.String(),
  decision_hash: nullable(Type.Unsafe<Buffer>({})),
})
export type SuggestionRow = Static<typeof SuggestionRow>

const utc = (column: Sql) =>
  sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`

/** The record that a suggestion is about now: changed by it, or kept by a merge. */
const target = sql`merge_target(coalesce(suggestion.decided_video_id, suggestion.video_id))`

const columns = sql`
  id, kind, state, video_id, ${target} as target_id, base_revision, fields, kept_ids, duplicate_of,
  merge_target(duplicate_of) as duplicate_target_id, comment, name, show_name, low_priority, reason,
  reply, taken, decided_video_id, revision, ${utc(sql`closed`)} as closed, closed_by,
  ${utc(sql`created`)} as created, decision_hash`

/** Finds a suggestion. */
export function findSuggestion(db: Db, id: number) {
  return maybe(db, SuggestionRow, sql`select ${columns} from suggestion where id = ${id}`)
}

/** Finds a suggestion by the secret of its author. */
export function findByHash(db: Db, id: number, secretHash: Buffer) {
  return maybe(
    db,
    SuggestionRow,
    sql`select ${columns} from suggestion where id = ${id} and secret_hash = ${secretHash}`,
  )
}

/** Locks a suggestion until the end of the transaction. Read it in a later statement. */
export function lockSuggestion(tx: Db, id: number) {
  return execute(tx, sql`select from suggestion where id = ${id} for no key update`)
}

/** Locks records against changes until the end of the transaction. */
export function lockRecords(tx: Db, ids: readonly number[]) {
  return execute(tx, sql`select from video where id = any (${ids}::bigint[]) order by id for share`)
}

/** Selects suggestions about talks of these events only. Undefined: there is no limit. */
function inEvents(events: readonly number[] | undefined): Sql {
  if (!events) return empty
  return sql`
    and exists (
      select
      from video
      where video.id = ${target}
        and category_id = any (${events}::bigint[]))`
}

export interface SuggestionFilter {
  readonly state: SuggestionState
  readonly events: readonly number[] | undefined
}

/** Lists suggestions after another one in the order of the queue. */
export function listRows(
  db: Db,
  { state, events, after, limit }: SuggestionFilter & { after: number | null; limit: number },
) {
  const isAfter =
    after === null
      ? empty
      : sql`and (low_priority, id) > (select low_priority, id from suggestion where id = ${after})`
  return many(
    db,
    SuggestionRow,
    sql`select ${columns}
        from suggestion
        where state = ${state} ${isAfter} ${inEvents(events)}
        order by low_priority, id
        limit ${limit}::integer`,
  )
}

const Queue = Type.Object({ count: Type.Integer(), oldest: nullable(Type.String()) })

/** Counts suggestions, and finds when the oldest was sent. */
export function countRows(db: Db, { state, events }: SuggestionFilter) {
  return one(
    db,
    Queue,
    sql`select count(*), ${utc(sql`min(created)`)} as oldest
        from suggestion
        where state = ${state} ${inEvents(events)}`,
  )
}

const QueueMetrics = Type.Object({ open: Type.Integer(), oldest_seconds: Type.Number() })

/** Returns the number of open suggestions and the age of the oldest, for metrics. */
export function readQueueMetrics(db: Db) {
  return one(
    db,
    QueueMetrics,
    sql`select count(*) as open,
               coalesce(extract(epoch from now() - min(created)), 0)::float8 as oldest_seconds
        from suggestion
        where state = 'open'`,
  )
}

const Target = Type.Object({ id: nullable(Type.Integer()) })

/** Returns the record into which a record was merged, or its own id. Null if there is none. */
export async function findTarget(db: Db, id: number): Promise<number | null> {
  return (await one(db, Target, sql`select merge_target(${id}::bigint) as id`)).id
}

const Usage = Type.Object({
  open: Type.Integer(),
  open_with_low_priority: Type.Integer(),
  open_of_video: Type.Integer(),
  /** Of this network in the last hour and day. */
  in_hour: Type.Integer(),
  in_day: Type.Integer(),
  /** Of all networks in the last hour. */
  all_in_hour: Type.Integer(),
  was_declined: Type.Boolean(),
})
export type Usage = Static<typeof Usage>

/** Counts what limits need: of a record, of a network by its hashes, and in all. */
export function readUsage(db: Db, video: number | null, networks: readonly Buffer[]) {
  return one(
    db,
    Usage,
    sql`select (select count(*) from suggestion where state = 'open') as open,
               (select count(*) from suggestion where state = 'open' and low_priority)
                 as open_with_low_priority,
               (select count(*) from suggestion where state = 'open' and video_id = ${video})
                 as open_of_video,
               (select count(*) from suggestion_sender where at > now() - interval '1 hour')
                 as all_in_hour,
               count(*) filter (where at > now() - interval '1 hour') as in_hour,
               count(*) filter (where at > now() - interval '1 day') as in_day,
               coalesce(bool_or(state = 'declined'), false) as was_declined
        from suggestion_sender join suggestion on suggestion.id = suggestion_id
        where network = any (${networks}::bytea[])`,
  )
}

export interface NewSuggestion {
  readonly kind: SuggestionKind
  readonly video: number | null
  readonly baseRevision: number | null
  readonly fields: StoredFields
  readonly keptIds: KeptIds
  readonly duplicateOf: number | null
  readonly comment: string
  readonly name: string | null
  readonly showName: boolean
}

interface StoredSuggestion extends NewSuggestion {
  readonly secretHash: Buffer
  readonly contentHash: Buffer
  readonly isLowPriority: boolean
}

const NewId = Type.Object({ id: Type.Integer() })

/** Inserts a suggestion and returns its id. Returns undefined if the same one is open. */
export async function insertSuggestion(
  tx: Db,
  suggestion: StoredSuggestion,
): Promise<number | undefined> {
  const { kind, video, baseRevision, fields, keptIds, duplicateOf, comment } = suggestion
  const rows = await writeReturning(
    tx,
    NewId,
    sql`insert into suggestion (
          kind, video_id, base_revision, fields, kept_ids, duplicate_of, comment, name, show_name,
          secret_hash, content_hash, low_priority)
        values (
          ${kind}, ${video}, ${baseRevision}, ${JSON.stringify(fields)}, ${JSON.stringify(keptIds)},
          ${duplicateOf}, ${comment}, ${suggestion.name}, ${suggestion.showName},
          ${suggestion.secretHash}, ${suggestion.contentHash}, ${suggestion.isLowPriority})
        on conflict (content_hash) where state = 'open' do nothing
        returning id`,
  )
  return rows[0]?.id
}

/** Finds the open suggestion with this content. */
export function findSame(db: Db, contentHash: Buffer) {
  return maybe(
    db,
    NewId,
    sql`select id from suggestion where content_hash = ${contentHash} and state = 'open'`,
  )
}

/** Stores from which network and form a suggestion came. */
export function insertSender(
  tx: Db,
  id: number,
  network: Buffer,
  form: { readonly hash: Buffer; readonly inputHash: Buffer } | undefined,
) {
  return execute(
    tx,
    sql`insert into suggestion_sender (suggestion_id, network, form_hash, input_hash)
        values (${id}, ${network}, ${form?.hash ?? null}, ${form?.inputHash ?? null})`,
  )
}

const UsedForm = Type.Object({
  id: Type.Integer(),
  input_hash: nullable(Type.Unsafe<Buffer>({})),
})

/** Finds the suggestion that was sent with a form, and the hash of what was typed. */
export function findByForm(db: Db, formHash: Buffer) {
  return maybe(
    db,
    UsedForm,
    sql`select suggestion_id as id, input_hash
        from suggestion_sender
        where form_hash = ${formHash}`,
  )
}

export interface Decision {
  readonly state: 'accepted' | 'declined' | 'done'
  readonly by: string | null
  readonly reason?: string
  readonly taken?: readonly string[]
  /** The record that was changed, and its new revision. */
  readonly changed?: { readonly video: number; readonly revision: number } | undefined
  readonly hash?: Buffer
}

/** Closes a suggestion. It must be locked. */
export function saveDecision(tx: Db, id: number, decision: Decision) {
  const { state, by, reason, taken, changed, hash } = decision
  return execute(
    tx,
    sql`update suggestion
        set state = ${state},
            closed = now(),
            closed_by = ${by},
            reason = ${reason ?? null},
            taken = ${taken ?? null}::text[],
            decided_video_id = ${changed?.video ?? null},
            revision = ${changed?.revision ?? null},
            decision_hash = ${hash ?? null}
        where id = ${id}`,
  )
}

/** Opens a suggestion again. It must be locked. */
export function saveReopened(tx: Db, id: number, hash: Buffer | null) {
  return execute(
    tx,
    sql`update suggestion
        set state = 'open', closed = null, closed_by = null, reason = null, taken = null,
            decided_video_id = null, revision = null, decision_hash = ${hash}
        where id = ${id}`,
  )
}

/** Withdraws a suggestion and deletes its texts. It must be locked. */
export function saveWithdrawn(tx: Db, id: number) {
  return execute(
    tx,
    sql`update suggestion
        set state = 'withdrawn', closed = now(), fields = '{}', kept_ids = '{}', comment = '',
            name = null, show_name = false, reply = null,
            content_hash = sha256(uuid_send(gen_random_uuid()))
        where id = ${id}`,
  )
}

/** Deletes the name of the author. */
export function deleteName(tx: Db, id: number) {
  return execute(tx, sql`update suggestion set name = null, show_name = false where id = ${id}`)
}

/** Saves the reply of the author. The suggestion must be locked. */
export function saveReply(tx: Db, id: number, reply: string) {
  return execute(tx, sql`update suggestion set reply = ${reply} where id = ${id}`)
}

const CreditedName = Type.Object({ name: Type.String() })

/**
 * Lists the names of readers whose suggestions changed a talk, or one that was merged into it, and
 * who want credit.
 */
export async function listCredits(db: Db, video: number, limit: number): Promise<string[]> {
  const rows = await many(
    db,
    CreditedName,
    sql`select name
        from suggestion
        where (decided_video_id = ${video} or decided_video_id in (select merged_videos(${video})))
          and kind in ('correction', 'dead-link')
          and show_name
          and name is not null
        group by name
        order by min(id)
        limit ${limit}::integer`,
  )
  return rows.map(({ name }) => name)
}

const DayKey = Type.Object({ day: Type.String(), key: Type.Unsafe<Buffer>({}) })

/** Adds the key of a day, unless there is one. */
export function insertKey(db: Db, day: string, key: Buffer) {
  return execute(
    db,
    sql`insert into suggestion_key (day, key) values (${day}::date, ${key}) on conflict do nothing`,
  )
}

/** Lists the keys of the last days, the newest first. */
export function listKeys(db: Db, days: number) {
  return many(
    db,
    DayKey,
    sql`select to_char(day, 'YYYY-MM-DD') as day, key
        from suggestion_key
        order by suggestion_key.day desc
        limit ${days}::integer`,
  )
}

/** Deletes networks and keys that are 7 days old. */
export async function deleteOldNetworks(db: Db): Promise<number> {
  const keys = await execute(
    db,
    sql`delete from suggestion_key where day < (now() at time zone 'UTC')::date - 7`,
  )
  const networks = await execute(
    db,
    sql`delete from suggestion_sender where at < now() - interval '7 days'`,
  )
  return keys + networks
}

/**
 * Deletes suggestions that were closed a year ago and changed no talk. Of requests for removal that
 * did, and of suggestions whose change was undone, deletes the texts: the history names them.
 */
export async function deleteOldSuggestions(db: Db): Promise<number> {
  const isOld = sql`closed < now() - interval '365 days'`
  const deleted = await execute(
    db,
    sql`delete from suggestion
        where ${isOld}
          and revision is null
          and not exists (
            select
            from change
            where subject = 'video'
              and subject_id in (video_id, merge_target(video_id))
              and suggestion_id = suggestion.id)`,
  )
  const emptied = await execute(
    db,
    sql`update suggestion
        set comment = '', name = null, reply = null
        where ${isOld}
          and (kind = 'removal' or revision is null)
          and (comment <> '' or name is not null or reply is not null)`,
  )
  return deleted + emptied
}
