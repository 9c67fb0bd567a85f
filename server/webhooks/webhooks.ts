import {
  invalidFields,
  maxWebhooks,
  Problem,
  type Webhook,
  type WebhookDelivery,
  type WebhookFilter,
} from '@talkshelf/contract'
import { type AuditOrigin, recordEvent } from '../auth/auth.ts'
import { findSince } from '../change-feed/change-feed.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { OutboundError, parsePostUrl } from '../platform/net/outbound.ts'
import type { JobRunner } from '../platform/ops/job-runner.ts'
import { type SendOptions, sendMessage } from './attempt.ts'
import { formatSecret, pingMessage, secretOf } from './message.ts'
import * as queries from './queries.ts'

// Entry point of webhooks: what administrators do with them. deliver.ts sends the entries.

export { startDeliveries } from './deliver.ts'
export { listDeliveries, listLags } from './queries.ts'

const oldSecretHours = 24

export interface WebhookWithSecret {
  readonly webhook: Webhook
  readonly secret: string
}

export interface Webhooks {
  /** Whether WEBHOOK_KEY is set. */
  readonly isSetUp: boolean
  list(): Promise<Webhook[]>
  read(id: number): Promise<Webhook>
  create(input: NewWebhook, origin: AuditOrigin): Promise<WebhookWithSecret>
  change(id: number, changes: WebhookChanges, origin: AuditOrigin): Promise<Webhook>
  /** Deletes a webhook and returns it. */
  remove(id: number, origin: AuditOrigin): Promise<Webhook>
  ping(id: number, origin: AuditOrigin): Promise<WebhookDelivery>
  rotateSecret(id: number, origin: AuditOrigin): Promise<WebhookWithSecret>
  replay(id: number, since: string, origin: AuditOrigin): Promise<Webhook>
  enable(id: number, from: 'cursor' | 'now', origin: AuditOrigin): Promise<Webhook>
  disable(id: number, origin: AuditOrigin): Promise<Webhook>
}

export interface NewWebhook {
  readonly url: string
  readonly filter: WebhookFilter
  readonly since: string
}

export interface WebhookChanges {
  readonly url?: string | undefined
  readonly filter?: WebhookFilter | undefined
}

/** Opens the webhooks of an archive. `runner` sends their entries. */
export function openWebhooks(
  pool: Pool,
  options: SendOptions,
  runner: Pick<JobRunner, 'wake'> | undefined,
): Webhooks {
  const { key, isOpened, archive } = options

  /** Changes a webhook in a transaction with its event in the audit log, and returns it. */
  async function change(
    id: number,
    kind: Parameters<typeof recordEvent>[1],
    origin: AuditOrigin,
    apply: (tx: Db) => Promise<object | undefined>,
  ): Promise<Webhook> {
    const webhook = await pool.transaction(async (tx) => {
      await readWebhook(tx, id)
      const detail = await apply(tx)
      if (detail) await recordEvent(tx, kind, origin, null, { webhook: id, ...detail })
      return readWebhook(tx, id)
    })
    runner?.wake()
    return webhook
  }

  function checkUrl(url: string): void {
    try {
      parsePostUrl(url, isOpened)
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      const detail = isOpened
        ? 'must be an http or https URL without a user name'
        : 'must be an https URL on port 443, without a user name'
      throw invalidFields([{ pointer: '/url', code: 'format', detail }])
    }
  }

  /** Finds the entry after which a webhook begins. `since` is a field of the body. */
  async function findStart(since: string): Promise<number> {
    try {
      return (await findSince(pool, since)).seq
    } catch (error) {
      if (!(error instanceof Problem && error.problem === 'invalid-query')) throw error
      const detail = 'must be a time such as 2026-11-15T10:00:00Z'
      throw invalidFields([{ pointer: '/since', code: 'format', detail }])
    }
  }

  function assertSetUp(): void {
    if (key === '')
      throw new Problem(
        'wrong-state',
        'Webhooks are not set up. Set WEBHOOK_KEY to at least 32 random characters and restart',
      )
  }

  return {
    isSetUp: key !== '',
    list: () => queries.listWebhooks(pool),
    read: (id) => readWebhook(pool, id),

    async create({ url, filter, since }, origin) {
      assertSetUp()
      checkUrl(url)
      const seq = await findStart(since)
      return pool.transaction(async (tx) => {
        if ((await queries.lockWebhookCount(tx)) >= maxWebhooks)
          throw new Problem(
            'wrong-state',
            `There are ${maxWebhooks} webhooks already. Delete one that is not used`,
          )
        const { id, salt } = await queries.insertWebhook(tx, url, filter, seq)
        const detail = { webhook: id, to: originOf(url) }
        await recordEvent(tx, 'webhook-created', origin, null, detail)
        const secret = formatSecret(secretOf(key, id, salt))
        return { webhook: await readWebhook(tx, id), secret }
      })
    },

    change(id, { url, filter }, origin) {
      if (url !== undefined) checkUrl(url)
      return change(id, 'webhook-changed', origin, async (tx) => {
        const hasNewUrl = url !== undefined && (await queries.updateUrl(tx, id, url))
        const hasNewFilter = filter !== undefined && (await queries.updateFilter(tx, id, filter))
        if (!hasNewUrl && !hasNewFilter) return undefined
        return {
          ...(hasNewUrl && { to: originOf(url) }),
          ...(hasNewFilter && { filter: JSON.stringify(filter) }),
        }
      })
    },

    remove: (id, origin) =>
      pool.transaction(async (tx) => {
        const webhook = await readWebhook(tx, id)
        await queries.deleteWebhook(tx, id)
        const detail = { webhook: id, to: originOf(webhook.url) }
        await recordEvent(tx, 'webhook-deleted', origin, null, detail)
        return webhook
      }),

    async ping(id, origin) {
      assertSetUp()
      const webhook = await queries.findSendingWebhook(pool, id)
      if (!webhook) throw notFound()
      const message = pingMessage(webhook, archive, new Date())
      const { delivery, isDelivered } = await sendMessage(webhook, message, options)
      const saved = await pool.transaction(async (tx) => {
        const row = await queries.insertDelivery(tx, id, delivery)
        if (!row) throw notFound()
        if (isDelivered) await queries.enableNewWebhook(tx, id, webhook.url)
        const detail = { webhook: id, outcome: delivery.outcome }
        await recordEvent(tx, 'webhook-pinged', origin, null, detail)
        return row
      })
      runner?.wake()
      return saved
    },

    async rotateSecret(id, origin) {
      assertSetUp()
      let secret = ''
      const webhook = await change(id, 'webhook-secret-rotated', origin, async (tx) => {
        const rotated = await queries.rotateSecret(tx, id, oldSecretHours)
        if (!rotated) throw notFound()
        secret = formatSecret(secretOf(key, id, rotated.salt))
        return {}
      })
      return { webhook, secret }
    },

    async replay(id, since, origin) {
      const seq = await findStart(since)
      return change(id, 'webhook-replayed', origin, async (tx) => {
        await queries.moveWebhook(tx, id, seq)
        return { after: seq }
      })
    },

    async enable(id, from, origin) {
      const head = from === 'now' ? await findSince(pool, 'now') : undefined
      return change(id, 'webhook-enabled', origin, async (tx) => {
        if (!(await queries.enableWebhook(tx, id)))
          throw new Problem('wrong-state', 'This webhook is new. Send a ping to enable it')
        if (head) await queries.moveWebhook(tx, id, head.seq)
        return { from }
      })
    },

    disable: (id, origin) =>
      change(id, 'webhook-disabled', origin, async (tx) =>
        (await queries.disableWebhook(tx, id)) ? {} : undefined,
      ),
  }
}

async function readWebhook(db: Db, id: number): Promise<Webhook> {
  const webhook = await queries.findWebhook(db, id)
  if (!webhook) throw notFound()
  return webhook
}

const notFound = () => new Problem('not-found', 'There is no such webhook')

/** Returns where a URL leads, without its path: that may contain a secret. */
const originOf = (url: string) => URL.parse(url)?.origin ?? ''
