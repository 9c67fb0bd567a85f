import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  disableWebhookEndpoint,
  enableWebhookEndpoint,
  listWebhookDeliveriesEndpoint,
  listWebhooksEndpoint,
  patchWebhookEndpoint,
  pingWebhookEndpoint,
  readWebhookEndpoint,
  replayWebhookEndpoint,
  rotateWebhookSecretEndpoint,
  validate,
  WebhookEnabling,
  WebhookInput,
  WebhookPatch,
  WebhookReplay,
} from '@talkshelf/contract'
import { auditOriginOf } from '../auth/auth.ts'
import type { Pool } from '../platform/db/pool.ts'
import { toJson } from '../platform/http/json.ts'
import type { Mount } from '../platform/http/mount.ts'
import { nextUrl } from '../platform/http/pagination.ts'
import type { SiteUrls } from '../platform/http/server.ts'
import { listDeliveries } from './queries.ts'
import type { Webhooks } from './webhooks.ts'

/** Mounts the endpoints of webhooks. */
export function webhookRoutes(mount: Mount, pool: Pool, webhooks: Webhooks, urls: SiteUrls): void {
  const headers = { 'cache-control': 'private, no-store' }
  const respond = (value: object, status: 200 | 201 = 200) => ({
    status,
    body: toJson(value),
    headers,
  })

  mount(listWebhooksEndpoint, async () => respond({ results: await webhooks.list() }))

  mount(createWebhookEndpoint, async ({ body, origin }) => {
    const { url, filter = {}, since = 'now' } = validate(WebhookInput, body)
    return respond(await webhooks.create({ url, filter, since }, auditOriginOf(origin)), 201)
  })

  mount(readWebhookEndpoint, async ({ params }) => respond(await webhooks.read(params.id)))

  mount(patchWebhookEndpoint, async ({ params, body, origin }) => {
    const { url, filter } = validate(WebhookPatch, body)
    return respond(await webhooks.change(params.id, { url, filter }, auditOriginOf(origin)))
  })

  mount(deleteWebhookEndpoint, async ({ params, origin }) =>
    respond(await webhooks.remove(params.id, auditOriginOf(origin))),
  )

  mount(pingWebhookEndpoint, async ({ params, origin }) =>
    respond(await webhooks.ping(params.id, auditOriginOf(origin))),
  )

  mount(rotateWebhookSecretEndpoint, async ({ params, origin }) =>
    respond(await webhooks.rotateSecret(params.id, auditOriginOf(origin))),
  )

  mount(replayWebhookEndpoint, async ({ params, body, origin }) => {
    const { since } = validate(WebhookReplay, body)
    return respond(await webhooks.replay(params.id, since, auditOriginOf(origin)))
  })

  mount(enableWebhookEndpoint, async ({ params, body, origin }) => {
    const { from } = validate(WebhookEnabling, body)
    return respond(await webhooks.enable(params.id, from, auditOriginOf(origin)))
  })

  mount(disableWebhookEndpoint, async ({ params, origin }) =>
    respond(await webhooks.disable(params.id, auditOriginOf(origin))),
  )

  mount(listWebhookDeliveriesEndpoint, async ({ params, query }) => {
    await webhooks.read(params.id)
    const { before = null, page_size: size = 20 } = query
    const deliveries = await listDeliveries(pool.lists, params.id, { before, size: size + 1 })
    const results = deliveries.slice(0, size)
    const position = deliveries.length > size ? { before: results.at(-1)?.id } : undefined
    const next = nextUrl(urls.to(listWebhookDeliveriesEndpoint, params), query, position)
    return respond({ results, next })
  })
}
