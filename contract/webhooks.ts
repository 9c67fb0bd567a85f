import Type, { type Static } from 'typebox'
import { feedFilters, feedKinds, feedSince } from './changes.ts'
import { endpoint, Id, jsonType, mergePatchType } from './endpoint.ts'
import { oneOf } from './formats.ts'
import { PageSize } from './page.ts'

// Webhooks: the entries of the change feed, posted to a URL. docs/follow.md explains how to receive
// them. All endpoints are for administrators.

export const webhookStates = ['new', 'active', 'failing', 'disabled'] as const
export const deliveryOutcomes = [
  'delivered',
  'refused',
  'unreachable',
  'too-slow',
  'bad-answer',
  'address-refused',
] as const

/** The highest number of webhooks of an archive. */
export const maxWebhooks = 50
/** The number of attempts that are kept of each webhook. */
export const keptDeliveries = 200
/** A delivery takes at most 15 seconds. */
const deliveryTimeoutMs = 20_000

const exact = { additionalProperties: false }
const id = Type.Integer({ ...Id, description: 'Id of the webhook' })
const url = Type.String({
  minLength: 1,
  maxLength: 2048,
  format: 'web-url',
  description:
    'URL to which entries are posted: https and port 443. Other URLs only in networks that ' +
    'WEBHOOK_PRIVATE opens',
})
const maybeTime = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description: `${description}, or null` })

export const WebhookFilter = Type.Object(
  {
    kind: Type.Optional(oneOf(feedKinds, 'Only entries of this kind')),
    category: Type.Optional(feedFilters.category),
    speaker: Type.Optional(feedFilters.speaker),
    tag: Type.Optional(feedFilters.tag),
  },
  {
    ...exact,
    description:
      'Only entries that match all of these, as in `/api/v2/changes`. Records that leave a ' +
      'category, speaker or tag are sent too',
  },
)
export type WebhookFilter = Static<typeof WebhookFilter>

export const Webhook = Type.Object(
  {
    id,
    url,
    filter: WebhookFilter,
    state: oneOf(
      webhookStates,
      '`new`: nothing is sent before a ping succeeds. `active`: entries are sent. `failing`: the ' +
        'last attempt failed and is repeated. `disabled`: nothing is sent',
    ),
    error: Type.Union([Type.Literal('invalid-filter'), Type.Null()], {
      description:
        '`invalid-filter`: another version stored a filter that this one does not know. It is ' +
        'shown as `{}`, and nothing is sent until it is changed. Otherwise null',
    }),
    cursor: Type.String({ description: 'What was delivered: a cursor of `/api/v2/changes`' }),
    behind: Type.Integer({ minimum: 0, description: 'Entries of the feed after the cursor' }),
    attempt: Type.Integer({
      minimum: 0,
      description: 'How many attempts to send the current batch have failed',
    }),
    next_attempt: maybeTime('When the batch is sent again (UTC)'),
    failing_since: maybeTime('Since when all attempts failed (UTC)'),
    old_secret_until: maybeTime('Until when the previous secret signs too (UTC)'),
    created: Type.String({ description: 'When it was created (UTC)' }),
  },
  { ...exact, description: 'A webhook' },
)
export type Webhook = Static<typeof Webhook>

const WebhookWithSecret = Type.Object(
  {
    webhook: Webhook,
    secret: Type.String({
      description: 'Verifies signatures (Standard Webhooks): `whsec_…`. It is not shown again',
    }),
  },
  { ...exact, description: 'A webhook and its new secret' },
)

export const WebhookDelivery = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: 'Id of the attempt' }),
    at: Type.String({ description: 'When it ended (UTC)' }),
    message: Type.String({ description: 'The header `webhook-id`' }),
    entries: Type.Integer({ minimum: 0, description: 'Number of entries; 0 for a ping' }),
    outcome: oneOf(
      deliveryOutcomes,
      '`delivered`: status 2xx. `refused`: another status. `bad-answer`: no HTTP response. ' +
        '`address-refused`: unknown host, or address not allowed',
    ),
    status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Status of the answer, or null if there was none',
    }),
    duration_ms: Type.Integer({ minimum: 0, description: 'Duration in milliseconds' }),
    answer: Type.String({
      description:
        'The beginning of the answer, at most 1 kB. If there was none, the code of the error, ' +
        'such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`, if it is known',
    }),
  },
  { ...exact, description: 'An attempt to deliver a message' },
)
export type WebhookDelivery = Static<typeof WebhookDelivery>

export const WebhookInput = Type.Object(
  {
    url,
    filter: Type.Optional(WebhookFilter),
    since: Type.Optional(
      feedSince(
        'The first entry is the one after this: a cursor, `0`, a time, or `now`, the default',
      ),
    ),
  },
  { ...exact, description: 'A webhook to create' },
)

export const WebhookPatch = Type.Object(
  { url: Type.Optional(url), filter: Type.Optional(WebhookFilter) },
  {
    ...exact,
    description:
      'Fields of a webhook to change. A filter replaces the one before. With another URL the ' +
      'webhook is `new` again: nothing is sent before a ping succeeds there',
  },
)

export const WebhookReplay = Type.Object(
  { since: feedSince('Sends the entries after this again: a cursor, `0`, a time or `now`') },
  { ...exact, description: 'Where to continue' },
)

export const WebhookEnabling = Type.Object(
  {
    from: oneOf(
      ['cursor', 'now'],
      '`cursor`: sends all entries since the last delivery. `now`: skips them',
    ),
  },
  { ...exact, description: 'Where to continue' },
)

const path = '/api/v2/webhook'
const onePath = '/api/v2/webhook/{id}'

export const listWebhooksEndpoint = endpoint({
  name: 'listWebhooks',
  method: 'GET',
  path,
  role: 'admin',
  summary: 'List webhooks',
  response: {
    status: 200,
    schema: Type.Object(
      { results: Type.Array(Webhook) },
      { ...exact, description: `All webhooks, at most ${maxWebhooks}` },
    ),
  },
  problems: [],
})

export const createWebhookEndpoint = endpoint({
  name: 'createWebhook',
  method: 'POST',
  path,
  role: 'admin',
  summary: 'Create a webhook',
  description:
    'The response has the secret with which the receiver verifies signatures. Nothing is sent ' +
    'before a ping succeeds.',
  body: { schema: WebhookInput, types: [jsonType] },
  response: { status: 201, schema: WebhookWithSecret },
  problems: ['wrong-state', 'other-history'],
})

export const readWebhookEndpoint = endpoint({
  name: 'readWebhook',
  method: 'GET',
  path: onePath,
  role: 'admin',
  summary: 'Read a webhook',
  params: { id },
  response: { status: 200, schema: Webhook },
  problems: [],
})

export const patchWebhookEndpoint = endpoint({
  name: 'patchWebhook',
  method: 'PATCH',
  path: onePath,
  role: 'admin',
  summary: 'Change a webhook',
  params: { id },
  body: { schema: WebhookPatch, types: [mergePatchType, jsonType] },
  response: { status: 200, schema: Webhook },
  problems: [],
})

export const deleteWebhookEndpoint = endpoint({
  name: 'deleteWebhook',
  method: 'POST',
  path: `${onePath}/delete`,
  role: 'admin',
  summary: 'Delete a webhook',
  description: 'Also deletes its deliveries. A message that is being sent may still arrive.',
  params: { id },
  response: { status: 200, schema: Webhook },
  problems: [],
})

export const pingWebhookEndpoint = endpoint({
  name: 'pingWebhook',
  method: 'POST',
  path: `${onePath}/ping`,
  role: 'admin',
  summary: 'Send a ping',
  description:
    'Sends a message of the type `ping` and returns how that ended. A new webhook becomes active ' +
    'if the answer has status 2xx.',
  params: { id },
  timeoutMs: deliveryTimeoutMs,
  response: { status: 200, schema: WebhookDelivery },
  problems: ['wrong-state'],
})

export const rotateWebhookSecretEndpoint = endpoint({
  name: 'rotateWebhookSecret',
  method: 'POST',
  path: `${onePath}/secret`,
  role: 'admin',
  summary: 'Create a new secret',
  description:
    'For 24 hours messages are signed with the previous secret too. The one before stops at once.',
  params: { id },
  response: { status: 200, schema: WebhookWithSecret },
  problems: ['wrong-state'],
})

export const replayWebhookEndpoint = endpoint({
  name: 'replayWebhook',
  method: 'POST',
  path: `${onePath}/replay`,
  role: 'admin',
  summary: 'Send entries again',
  description:
    'Moves the webhook to another position of the feed. The messages get new ids, so that the ' +
    'receiver does not drop them as duplicates.',
  params: { id },
  body: { schema: WebhookReplay, types: [jsonType] },
  response: { status: 200, schema: Webhook },
  problems: ['other-history'],
})

export const enableWebhookEndpoint = endpoint({
  name: 'enableWebhook',
  method: 'POST',
  path: `${onePath}/enable`,
  role: 'admin',
  summary: 'Enable a webhook',
  description: 'Continues a disabled webhook. One that is failing is tried again at once.',
  params: { id },
  body: { schema: WebhookEnabling, types: [jsonType] },
  response: { status: 200, schema: Webhook },
  problems: ['wrong-state'],
})

export const disableWebhookEndpoint = endpoint({
  name: 'disableWebhook',
  method: 'POST',
  path: `${onePath}/disable`,
  role: 'admin',
  summary: 'Disable a webhook',
  description:
    'Nothing is sent until it is enabled. It keeps its position. A new webhook stays new.',
  params: { id },
  response: { status: 200, schema: Webhook },
  problems: [],
})

export const listWebhookDeliveriesEndpoint = endpoint({
  name: 'listWebhookDeliveries',
  method: 'GET',
  path: `${onePath}/deliveries`,
  role: 'admin',
  summary: 'List the last attempts, newest first',
  description: `The last ${keptDeliveries} attempts are kept.`,
  params: { id },
  query: { before: Id, page_size: PageSize },
  response: {
    status: 200,
    schema: Type.Object(
      {
        results: Type.Array(WebhookDelivery),
        next: Type.Union([Type.String({ description: 'URL of the next page' }), Type.Null()]),
      },
      { ...exact, description: 'A page of attempts' },
    ),
  },
  problems: [],
})

export const webhookEndpoints = {
  listWebhooks: listWebhooksEndpoint,
  createWebhook: createWebhookEndpoint,
  readWebhook: readWebhookEndpoint,
  patchWebhook: patchWebhookEndpoint,
  pingWebhook: pingWebhookEndpoint,
  rotateWebhookSecret: rotateWebhookSecretEndpoint,
  replayWebhook: replayWebhookEndpoint,
  disableWebhook: disableWebhookEndpoint,
  enableWebhook: enableWebhookEndpoint,
  listWebhookDeliveries: listWebhookDeliveriesEndpoint,
  deleteWebhook: deleteWebhookEndpoint,
} as const
