import { OutboundError, type PostOptions, postOutbound } from '../platform/net/outbound.ts'
import { parseRetryAfter } from '../platform/net/retry-after.ts'
import { type Message, signedHeaders } from './message.ts'
import type { NewDelivery, SendingWebhook } from './queries.ts'

// One attempt to send a message.

/** What messages and connections need, from the settings. */
export interface SendOptions {
  /** WEBHOOK_KEY */
  readonly key: string
  /** Tells whether an IP address is in a network that WEBHOOK_PRIVATE opens. */
  readonly isOpened: PostOptions['isOpened']
  userAgent(): string
  /** PUBLIC_URL, if it is set. A port that may change is not part of messages. */
  readonly archive: string | undefined
}

export interface Attempt {
  readonly delivery: NewDelivery
  readonly isDelivered: boolean
  /** The receiver wants no more messages. */
  readonly isGone: boolean
  /** How long the receiver wants to be left alone. */
  readonly retryAfterMs: number | undefined
}

const timeoutMs = 15_000
const maxAnswerBytes = 1000
const maxRetryAfterMs = 24 * 3_600_000

/** Sends a message once. Throws only if the signal is aborted. */
export async function sendMessage(
  webhook: SendingWebhook,
  message: Message,
  { key, isOpened, userAgent }: SendOptions,
  signal?: AbortSignal,
): Promise<Attempt> {
  const startedMs = performance.now()
  const describe = (outcome: NewDelivery['outcome'], status: number | null, answer: string) => ({
    message: message.id,
    entries: message.entries,
    outcome,
    status,
    durationMs: Math.round(performance.now() - startedMs),
    answer,
  })
  try {
    const { status, retryAfter, body } = await postOutbound(webhook.url, {
      headers: signedHeaders(key, webhook, message, new Date()),
      body: message.body,
      maxBytes: maxAnswerBytes,
      timeoutMs,
      userAgent: userAgent(),
      isOpened,
      ...(signal && { signal }),
    })
    const isDelivered = status >= 200 && status < 300
    return {
      delivery: describe(isDelivered ? 'delivered' : 'refused', status, readableText(body)),
      isDelivered,
      isGone: status === 410,
      retryAfterMs: parseRetryAfter(retryAfter, Date.now(), maxRetryAfterMs),
    }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const { code } = error
    const outcome = code === 'not-found' || code === 'too-large' ? 'bad-answer' : code
    const delivery = describe(outcome, null, causeOf(error))
    return { delivery, isDelivered: false, isGone: false, retryAfterMs: undefined }
  }
}

/** Returns the code of the error behind another one, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
function causeOf({ cause }: OutboundError): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : ''
}

/** Returns the beginning of an answer as text that can be shown and stored. */
function readableText(body: Buffer): string {
  return body
    .toString('utf8')
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
}

const retryDelaysMs = [5, 30, 120, 600, 1800, 3600].map((seconds) => seconds * 1000)

/**
 * Returns when a batch is sent again after this number of failed attempts, ± a fifth, and not
 * before the receiver wants it.
 */
export function retryDelayMs(
  failures: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number {
  const delayMs = retryDelaysMs[Math.min(failures, retryDelaysMs.length) - 1] ?? 0
  return Math.max(delayMs * (0.8 + 0.4 * random()), retryAfterMs ?? 0)
}
