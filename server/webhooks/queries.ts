import {
  deliveryOutcomes,
  keptDeliveries,
  validatorFor,
  type Webhook,
  WebhookFilter,
  webhookStates,
} from '@talkshelf/contract'
import sql, { type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'

// SQL of webhooks: their settings, the lease of the batch in flight, and the last deliveries.

const State = Type.Unsafe<(typeof webhookStates)[number]>(
  Type.Union(webhookStates.map((state) => Type.Literal(state))),
)
const Outcome = Type.Unsafe<(typeof deliveryOutcomes)[number]>(
  Type.Union(deliveryOutcomes.map((outcome) => Type.Literal(outcome))),
)
const MaybeText = Type.Union([Type.String(), Type.Null()])

const utc = (time: Sql) => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`

const Row = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  // Another release may have stored a filter that this one does not know.
  filter: Type.Unknown(),
  state: State,
  cursor: Type.String(),
  behind: Type.Integer(),
  attempt: Type.Integer(),
  next_attempt: MaybeText,
  failing_since: MaybeText,
  old_secret_until: MaybeText,
  created: Type.String(),
})

const cursor = (digest: Sql) => sql`
  webhook.seq || '.' || lpad(to_hex(coalesce(${digest}, 0)), 16, '0')`

const rowColumns = sql`
  webhook.id, url, filter, webhook.state,
  ${cursor(sql`entry.digest`)} as cursor,
  greatest(0, feed_head.seq - webhook.seq) as behind, attempt,
  ${utc(sql`next_attempt`)} as next_attempt,
  ${utc(sql`failing_since`)} as failing_since,
  case when old_secret_until > now() then ${utc(sql`old_secret_until`)} end as old_secret_until,
  ${utc(sql`created`)} as created`
const rowTables = sql`
  webhook
  cross join feed_head
  left join feed_entry as entry on entry.seq = webhook.seq`

/** Returns a stored filter, or undefined if this release does not know it. */
export function knownFilter(filter: unknown): WebhookFilter | undefined {
  return validatorFor(WebhookFilter).Check(filter) ? (filter as WebhookFilter) : undefined
}

function toWebhook({ filter: stored, ...row }: Static<typeof Row>): Webhook {
  const filter = knownFilter(stored)
  return { ...row, filter: filter ?? {}, error: filter ? null : 'invalid-filter' }
}

/** Lists all webhooks. */
export async function listWebhooks(db: Db): Promise<Webhook[]> {
  const rows = await many(db, Row, sql`select ${rowColumns} from ${rowTables} order by webhook.id`)
  return rows.map(toWebhook)
}

/** Finds a webhook by its id. */
export async function findWebhook(db: Db, id: number): Promise<Webhook | undefined> {
  const row = await maybe(
    db,
    Row,
    sql`select ${rowColumns} from ${rowTables} where webhook.id = ${id}`,
  )
  return row && toWebhook(row)
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts webhooks. No other transaction adds one until the end of this one. */
export async function lockWebhookCount(tx: Db): Promise<number> {
  await execute(tx, sql`lock table webhook in share row exclusive mode`)
  return (await one(tx, Count, sql`select count(*) as count from webhook`)).count
}

const Salt = Type.Object({ id: Type.Integer(), salt: Type.String() })

/** Adds a webhook that begins after an entry of the feed. */
export async function insertWebhook(tx: Db, url: string, filter: WebhookFilter, seq: number) {
  const [row] = await writeReturning(
    tx,
    Salt,
    sql`insert into webhook (url, filter, seq)
        values (${url}, ${JSON.stringify(filter)}, ${seq}::bigint)
        returning id, salt`,
  )
  return row as Static<typeof Salt>
}

/**
 * Changes where entries are posted. The webhook is new again, until a ping succeeds there. An
 * attempt that is running no longer counts. Returns whether the URL is another one.
 */
export async function updateUrl(tx: Db, id: number, url: string): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update webhook
        set url = ${url}, state = 'new', attempt = 0, next_attempt = null, failing_since = null,
            lease = null, leased_until = null
        where id = ${id} and url <> ${url}`,
  )
  return count > 0
}

/**
 * Changes which entries are sent. A message that is being sent is not interrupted; if it is not
 * delivered, its batch is composed anew. Returns whether the filter is another one.
 */
export async function updateFilter(tx: Db, id: number, filter: WebhookFilter): Promise<boolean> {
  const json = JSON.stringify(filter)
  const count = await execute(
    tx,
    sql`update webhook
        set filter = ${json}::jsonb, next_attempt = null
        where id = ${id} and filter <> ${json}::jsonb`,
  )
  return count > 0
}

/** Deletes a webhook and its deliveries. */
export function deleteWebhook(tx: Db, id: number) {
  return execute(tx, sql`delete from webhook where id = ${id}`)
}

/** Replaces the secret; the previous one signs for some more hours. */
export async function rotateSecret(tx: Db, id: number, hours: number) {
  const [row] = await writeReturning(
    tx,
    Salt,
    sql`update webhook
        set salt = gen_random_uuid(), old_salt = salt,
            old_secret_until = now() + make_interval(hours => ${hours}::integer)
        where id = ${id}
        returning id, salt`,
  )
  return row
}

/** Moves a webhook to another position. An attempt that is running no longer counts. */
export function moveWebhook(tx: Db, id: number, seq: number) {
  return execute(
    tx,
    sql`update webhook
        set seq = ${seq}::bigint, batch_end = null, batch_filter = null, attempt = 0,
            next_attempt = null, lease = null, leased_until = null, replays = replays + 1
        where id = ${id}`,
  )
}

/**
 * Enables a webhook that is not new. What it sent last is tried again at once. Returns whether it
 * was not new.
 */
export async function enableWebhook(tx: Db, id: number): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update webhook
        set state = 'active', attempt = 0, next_attempt = null, failing_since = null
        where id = ${id} and state <> 'new'`,
  )
  return count > 0
}

/** Enables a new webhook after a ping to this URL. Does nothing if it has another URL by now. */
export function enableNewWebhook(tx: Db, id: number, url: string) {
  return execute(
    tx,
    sql`update webhook set state = 'active' where id = ${id} and state = 'new' and url = ${url}`,
  )
}

/** Disables a webhook, unless it is new. Returns whether it was enabled before. */
export async function disableWebhook(tx: Db, id: number): Promise<boolean> {
  const count = await execute(
    tx,
    sql`update webhook
        set state = 'disabled'
        where id = ${id} and state in ('active', 'failing')`,
  )
  return count > 0
}

// --- sending

const isDue = (withFailing: boolean) => sql`
  (state = 'active' or state = 'failing' and ${withFailing})
  and (next_attempt is null or next_attempt <= now())
  and (leased_until is null or leased_until <= now())
  and webhook.seq < (select seq from feed_head)`

const Due = Type.Object({ isDue: Type.Boolean() })

/** Tells whether there is a webhook with something to send. */
export async function hasDueWebhook(db: Db, withFailing: boolean): Promise<boolean> {
  const row = await one(
    db,
    Due,
    sql`select exists (select from webhook where ${isDue(withFailing)}) as "isDue"`,
  )
  return row.isDue
}

const Sending = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  filter: Type.Unknown(),
  seq: Type.Integer(),
  cursor: Type.String(),
  batchEnd: Type.Union([Type.Integer(), Type.Null()]),
  attempt: Type.Integer(),
  salt: Type.String(),
  oldSalt: MaybeText,
  replays: Type.Integer(),
  isFailing: Type.Boolean(),
})
export type SendingWebhook = Static<typeof Sending>

// A batch of another filter is composed anew, and its message gets another id.
const hasOtherFilter = sql`(batch_end is not null and batch_filter <> filter)`
const sendingColumns = sql`
  id, url, filter, seq,
  ${cursor(sql`(select digest from feed_entry as entry where entry.seq = webhook.seq)`)} as cursor,
  case when not ${hasOtherFilter} then batch_end end as "batchEnd", attempt, salt,
  case when old_secret_until > now() then old_salt end as "oldSalt",
  replays + ${hasOtherFilter}::integer as replays,
  state = 'failing' as "isFailing"`

/** Locks the webhook with something to send that waited longest, unless another process has it. */
export function lockDueWebhook(tx: Db, withFailing: boolean) {
  return maybe(
    tx,
    Sending,
    sql`select ${sendingColumns}
        from webhook
        where ${isDue(withFailing)}
        order by attempted nulls first, id
        limit 1
        for update skip locked`,
  )
}

/** Finds what a message to a webhook needs. */
export function findSendingWebhook(db: Db, id: number) {
  return maybe(db, Sending, sql`select ${sendingColumns} from webhook where id = ${id}`)
}

/** Sets the batch and the process that sends it. The lease begins now, not with the transaction. */
export function leaseWebhook(
  tx: Db,
  { id, replays }: SendingWebhook,
  { lease, batchEnd, seconds }: { lease: string; batchEnd: number; seconds: number },
) {
  return execute(
    tx,
    sql`update webhook
        set lease = ${lease},
            leased_until = clock_timestamp() + make_interval(secs => ${seconds}::integer),
            batch_end = ${batchEnd}::bigint, batch_filter = filter,
            replays = ${replays}::integer, attempted = now()
        where id = ${id}`,
  )
}

/** Advances a webhook whose filter matches none of the next entries. */
export function skipEntries(tx: Db, { id, replays }: SendingWebhook, seq: number) {
  return execute(
    tx,
    sql`update webhook
        set seq = ${seq}::bigint, batch_end = null, batch_filter = null,
            replays = ${replays}::integer, attempted = now()
        where id = ${id}`,
  )
}

/**
 * Puts off a webhook whose next batch cannot be sent for a minute, so that others are served. It
 * counts as failing if there was an error.
 */
export function putOff(db: Db, id: number, isError: boolean) {
  return execute(
    db,
    sql`update webhook
        set next_attempt = now() + interval '1 minute', attempted = now(),
            state = case when ${isError} then 'failing' else state end,
            failing_since = case when ${isError} then coalesce(failing_since, now())
                                 else failing_since end
        where id = ${id} and state in ('active', 'failing')
          and (leased_until is null or leased_until <= now())`,
  )
}

export interface NewDelivery {
  readonly message: string
  readonly entries: number
  readonly outcome: (typeof deliveryOutcomes)[number]
  readonly status: number | null
  readonly durationMs: number
  readonly answer: string
}

/** Adds a delivery and deletes the oldest one, in the `with` clause of a statement. */
const addDelivery = (id: number, delivery: NewDelivery) => sql`
  added as (
    insert into webhook_delivery (webhook_id, message, entries, outcome, status, duration_ms,
                                  answer)
    select id, ${delivery.message}, ${delivery.entries}::integer, ${delivery.outcome},
           ${delivery.status}::integer, ${delivery.durationMs}::integer, ${delivery.answer}
    from webhook
    where id = ${id}
    returning id, at, message, entries, outcome, status, duration_ms, answer
  ), removed as (
    delete from webhook_delivery
    where webhook_id = ${id}
      and id <= (select id
                 from webhook_delivery
                 where webhook_id = ${id}
                 order by id desc
                 offset ${keptDeliveries - 1}
                 limit 1)
  )`

const Settled = Type.Object({ id: Type.Integer() })

/** Records that a batch was delivered, in one statement. Does nothing if the lease was lost. */
export async function settleDelivered(db: Db, id: number, lease: string, delivery: NewDelivery) {
  const rows = await writeReturning(
    db,
    Settled,
    sql`with ${addDelivery(id, delivery)}
        update webhook
        set seq = batch_end, batch_end = null, batch_filter = null, attempt = 0,
            next_attempt = null, lease = null, leased_until = null, failing_since = null,
            state = case state when 'disabled' then state else 'active' end
        where id = ${id} and lease = ${lease}
        returning id`,
  )
  return rows.length > 0
}

const Failed = Type.Object({ isDisabled: Type.Boolean() })

/**
 * Records that an attempt failed: it is repeated after a delay. Disables the webhook if it is gone,
 * or has been failing for too many days. Returns undefined if the lease was lost.
 */
export async function settleFailed(
  tx: Db,
  id: number,
  lease: string,
  failure: {
    readonly delivery: NewDelivery
    readonly delayMs: number
    readonly isGone: boolean
    readonly maxFailingDays: number
  },
) {
  const { delivery, delayMs, isGone, maxFailingDays } = failure
  const isHopeless = sql`
    (${isGone} or failing_since < now() - make_interval(days => ${maxFailingDays}::integer))`
  const [row] = await writeReturning(
    tx,
    Failed,
    sql`with ${addDelivery(id, delivery)}
        update webhook
        set attempt = attempt + 1, lease = null, leased_until = null,
            next_attempt = now() + make_interval(secs => ${delayMs / 1000}::double precision),
            failing_since = coalesce(failing_since, now()),
            state = case when state = 'disabled' or ${isHopeless} then 'disabled' else 'failing' end
        where id = ${id} and lease = ${lease}
        returning ${isHopeless} as "isDisabled"`,
  )
  return row
}

/** Gives a lease back, so that another process sends the batch. */
export function releaseLease(db: Db, id: number, lease: string) {
  return execute(
    db,
    sql`update webhook
        set lease = null, leased_until = null
        where id = ${id} and lease = ${lease}`,
  )
}

const Delivery = Type.Object({
  id: Type.Integer(),
  at: Type.String(),
  message: Type.String(),
  entries: Type.Integer(),
  outcome: Outcome,
  status: Type.Union([Type.Integer(), Type.Null()]),
  duration_ms: Type.Integer(),
  answer: Type.String(),
})

const deliveryColumns = sql`
  id, ${utc(sql`at`)} as at, message, entries, outcome, status, duration_ms, answer`

/** Records the delivery of a ping, and returns it; undefined if the webhook was deleted. */
export async function insertDelivery(tx: Db, id: number, delivery: NewDelivery) {
  const [row] = await writeReturning(
    tx,
    Delivery,
    sql`with ${addDelivery(id, delivery)} select ${deliveryColumns} from added`,
  )
  return row
}

/** Lists the deliveries of a webhook, newest first: those before an id. */
export function listDeliveries(
  db: Db,
  id: number,
  { before, size }: { readonly before: number | null; readonly size: number },
) {
  return many(
    db,
    Delivery,
    sql`select ${deliveryColumns}
        from webhook_delivery
        where webhook_id = ${id} and (${before}::bigint is null or id < ${before})
        order by id desc
        limit ${size}::integer`,
  )
}

const Lag = Type.Object({ id: Type.Integer(), seconds: Type.Number() })

/** Lists for how long the oldest entry that was not delivered has been in the feed. */
export function listLags(db: Db) {
  return many(
    db,
    Lag,
    sql`select webhook.id,
               coalesce(greatest(0, extract(epoch from now() - entry.at)), 0)::double precision
                 as seconds
        from webhook
        left join feed_entry as entry on entry.seq = webhook.seq + 1
        where webhook.state in ('active', 'failing')`,
  )
}
