import {
  feedKinds,
  Problem,
  validationErrors,
  type WebhookFilter,
  WebhookReplay,
} from '@talkshelf/contract'
import { deskPages, deskPaths, type WebhookErrors, type WebhookValues } from '@talkshelf/web'
import type { Pool } from '../platform/db/pool.ts'
import { type FormRequest, type PageLimits, parseId } from '../platform/http/pages.ts'
import { listDeliveries, type Webhooks } from '../webhooks/webhooks.ts'
import { auditOrigin, type Desk, type DeskRequest, idOf } from './mount.ts'

// Pages that manage webhooks. Only administrators see them.

const pageSize = 50
/** A ping takes at most 15 seconds. */
const pingLimits: PageLimits = { limitMs: 20_000 }

interface RefusedForm {
  readonly typed?: WebhookValues
  readonly since?: string
  readonly errors: WebhookErrors
}

/** Mounts the list of webhooks and the page of each one. */
export function webhookPages(desk: Desk, pool: Pool, webhooks: Webhooks): void {
  const access = { role: 'admin', isDangerous: true } as const
  const { isSetUp } = webhooks

  desk.page(deskPaths.webhooks, access, async (request) =>
    desk.render(request, [deskPages.webhooks, { webhooks: await webhooks.list(), isSetUp }]),
  )
  desk.form(deskPaths.webhooks, { ...access, page: deskPaths.webhooks }, async (request) => {
    const typed = valuesIn(request.form)
    const refuse = async (errors: WebhookErrors) => {
      const data = { webhooks: await webhooks.list(), isSetUp, typed, errors }
      return desk.render(request, [deskPages.webhooks, data], 400)
    }
    const errors = filterErrors(typed)
    if (Object.keys(errors).length > 0) return refuse(errors)
    try {
      const input = { url: typed.url, filter: filterOf(typed), since: 'now' }
      const { webhook, secret } = await webhooks.create(input, auditOrigin(request))
      const created = { id: webhook.id, secret }
      const data = { webhooks: await webhooks.list(), isSetUp, created }
      return desk.render(request, [deskPages.webhooks, data])
    } catch (error) {
      return refuse(errorsOf(error))
    }
  })

  const webhookPath = deskPaths.webhook(':id')
  const show = async (request: DeskRequest, more: RefusedForm | { secret: string } | undefined) => {
    const webhook = await webhooks.read(idOf(request))
    const before = parseId(request.query.before) ?? null
    const found = await listDeliveries(pool, webhook.id, { before, size: pageSize + 1 })
    const deliveries = found.slice(0, pageSize)
    const next = found.length > pageSize ? deliveries.at(-1)?.id : undefined
    const data = { webhook, deliveries, next, isSetUp, ...more }
    const isRefused = more !== undefined && 'errors' in more
    return desk.render(request, [deskPages.webhook, data], isRefused ? 400 : 200)
  }
  desk.page(webhookPath, access, (request) => show(request, undefined))

  /** Mounts a form about one webhook. `act` returns what to confirm. */
  const action = (
    path: string,
    act: (id: number, request: DeskRequest<FormRequest>) => Promise<string>,
    limits?: PageLimits,
  ) =>
    desk.form(
      path,
      { ...access, page: webhookPath },
      async (request) => {
        const id = idOf(request)
        const done = await act(id, request)
        return desk.redirect(request, `${deskPaths.webhook(id)}?done=${done}`)
      },
      limits,
    )
  action(
    deskPaths.pingWebhook(':id'),
    async (id, request) => {
      const { outcome } = await webhooks.ping(id, auditOrigin(request))
      return outcome === 'delivered' ? 'ping-delivered' : 'ping-failed'
    },
    pingLimits,
  )
  action(deskPaths.enableWebhook(':id'), async (id, request) => {
    const from = request.form.get('from') === 'now' ? 'now' : 'cursor'
    await webhooks.enable(id, from, auditOrigin(request))
    return 'webhook-enabled'
  })
  action(deskPaths.disableWebhook(':id'), async (id, request) => {
    await webhooks.disable(id, auditOrigin(request))
    return 'webhook-disabled'
  })
  desk.form(webhookPath, { ...access, page: webhookPath }, async (request) => {
    const id = idOf(request)
    const typed = valuesIn(request.form)
    const errors = filterErrors(typed)
    if (Object.keys(errors).length > 0) return show(request, { typed, errors })
    try {
      const changes = { url: typed.url, filter: filterOf(typed) }
      await webhooks.change(id, changes, auditOrigin(request))
    } catch (error) {
      return show(request, { typed, errors: errorsOf(error) })
    }
    return desk.redirect(request, `${deskPaths.webhook(id)}?done=saved`)
  })
  desk.form(deskPaths.webhookSecret(':id'), { ...access, page: webhookPath }, async (request) => {
    const { secret } = await webhooks.rotateSecret(idOf(request), auditOrigin(request))
    return show(request, { secret })
  })
  desk.form(deskPaths.replayWebhook(':id'), { ...access, page: webhookPath }, async (request) => {
    const id = idOf(request)
    const since = (request.form.get('since') ?? '').trim()
    if (validationErrors(WebhookReplay, { since }).length > 0)
      return show(request, { since, errors: { since: 'since' } })
    try {
      await webhooks.replay(id, since, auditOrigin(request))
    } catch (error) {
      return show(request, { since, errors: errorsOf(error, { since: 'since' }) })
    }
    return desk.redirect(request, `${deskPaths.webhook(id)}?done=webhook-replayed`)
  })
  desk.form(deskPaths.deleteWebhook(':id'), { ...access, page: webhookPath }, async (request) => {
    await webhooks.remove(idOf(request), auditOrigin(request))
    return desk.redirect(request, `${deskPaths.webhooks}?done=webhook-deleted`)
  })
}

function valuesIn(form: URLSearchParams): WebhookValues {
  const text = (name: string) => (form.get(name) ?? '').trim()
  return {
    url: text('url'),
    kind: text('kind'),
    category: text('category'),
    speaker: text('speaker'),
    tag: text('tag'),
  }
}

const ownerFields = ['category', 'speaker', 'tag'] as const

function filterErrors(values: WebhookValues): WebhookErrors {
  const wrong = ownerFields.filter(
    (name) => values[name] !== '' && parseId(values[name]) === undefined,
  )
  return Object.fromEntries(wrong.map((name) => [name, 'id']))
}

function filterOf(values: WebhookValues): WebhookFilter {
  const kind = feedKinds.find((known) => known === values.kind)
  const owners = ownerFields.flatMap((name) => {
    const id = parseId(values[name])
    return id === undefined ? [] : [[name, id]]
  })
  return { ...(kind && { kind }), ...Object.fromEntries(owners) }
}

/**
 * Returns the error of a form for a problem; `invalid` if a field is. Throws other problems again.
 */
function errorsOf(error: unknown, invalid: WebhookErrors = { url: 'url' }): WebhookErrors {
  const name = error instanceof Problem ? error.problem : undefined
  if (name === 'invalid-fields') return invalid
  if (name === 'wrong-state') return { url: 'tooMany' }
  if (name === 'other-history') return { since: 'otherHistory' }
  throw error
}
