import { createHmac } from 'node:crypto'
import { type EntryRow, formatCursor, toEntry } from '../change-feed/change-feed.ts'
import type { SendingWebhook } from './queries.ts'

// Messages as the Standard Webhooks specification describes them: a body in JSON, and headers with
// an id, a time and signatures.

export interface Message {
  readonly id: string
  readonly entries: number
  readonly body: Buffer
}

/** The entries of a batch, and the last one that was read for it. */
export interface Batch {
  readonly rows: readonly EntryRow[]
  readonly end: EntryRow
}

/**
 * Builds the message of a batch. It is the same for every attempt. The id contains the beginning of
 * the digest: after a restore the numbers are used again, for other entries.
 */
export function changesMessage(
  { id, seq, cursor: since, replays }: SendingWebhook,
  { rows, end }: Batch,
  archive: string | undefined,
): Message {
  const position = { since, cursor: formatCursor(end) }
  const data = { ...(archive && { archive }), ...position, changes: rows.map(toEntry) }
  const replay = replays > 0 ? `_r${replays}` : ''
  return {
    id: `msg_${id}_${seq + 1}_${end.seq}_${end.digest.slice(0, 8)}${replay}`,
    entries: rows.length,
    body: Buffer.from(JSON.stringify({ type: 'changes', timestamp: `${end.at}Z`, data })),
  }
}

/** Builds a message without entries, for a test of the receiver. */
export function pingMessage(
  { id }: SendingWebhook,
  archive: string | undefined,
  now: Date,
): Message {
  const timestamp = now.toISOString()
  const data = archive ? { archive } : {}
  return {
    id: `msg_${id}_ping_${now.getTime()}`,
    entries: 0,
    body: Buffer.from(JSON.stringify({ type: 'ping', timestamp, data })),
  }
}

/** Derives the secret of a webhook. It is stored nowhere. */
export function secretOf(key: string, id: number, salt: string): Buffer {
  return createHmac('sha256', key).update(`webhook:${id}:${salt}`).digest()
}

/** Formats a secret as receivers expect it. */
export const formatSecret = (secret: Buffer) => `whsec_${secret.toString('base64')}`

/** Returns the headers of a message, signed with the secret and, while it is valid, the old one. */
export function signedHeaders(
  key: string,
  { id, salt, oldSalt }: SendingWebhook,
  message: Message,
  now: Date,
): Record<string, string> {
  const seconds = String(Math.floor(now.getTime() / 1000))
  const salts = oldSalt === null ? [salt] : [salt, oldSalt]
  const signatures = salts.map((each) => {
    const hmac = createHmac('sha256', secretOf(key, id, each))
    hmac.update(`${message.id}.${seconds}.`).update(message.body)
    return `v1,${hmac.digest('base64')}`
  })
  return {
    'content-type': 'application/json',
    'webhook-id': message.id,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.join(' '),
  }
}
