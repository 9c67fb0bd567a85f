import type { Origin } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import { insertAuditEvent } from './queries.ts'

/** Who does something, for the audit log. */
export interface AuditOrigin {
  readonly actor: string
  /** Null for an operator in a terminal and for an API token. */
  readonly person: number | null
  readonly request: string
}

export type AuditKind =
  | 'person-invited'
  | 'person-changed'
  | 'person-disabled'
  | 'person-enabled'
  | 'event-editor-added'
  | 'event-editor-removed'
  | 'person-reset'
  | 'link-created'
  | 'signed-in'
  | 'signed-out'
  | 'sessions-ended'
  | 'passkey-added'
  | 'passkey-removed'
  | 'identity-added'
  | 'identity-removed'
  | 'token-created'
  | 'token-revoked'
  | 'access-restricted'
  | 'webhook-created'
  | 'webhook-changed'
  | 'webhook-deleted'
  | 'webhook-pinged'
  | 'webhook-secret-rotated'
  | 'webhook-replayed'
  | 'webhook-enabled'
  | 'webhook-disabled'
  | 'followed-source-created'
  | 'followed-source-changed'
  | 'followed-source-deleted'
  | 'followed-source-disabled'
  | 'synonyms-changed'
  | 'suggestion-accepted'
  | 'suggestion-declined'
  | 'suggestion-reopened'
  | 'name-change-planned'
  | 'name-changed'
  | 'name-change-discarded'
  | 'speaker-link-created'
  | 'speaker-link-revoked'
  | 'speaker-request-closed'

/** Adds an event to the audit log, in the transaction of what it reports. */
export async function recordEvent(
  db: Db,
  kind: AuditKind,
  origin: AuditOrigin,
  subject: number | null,
  detail?: object,
): Promise<void> {
  await insertAuditEvent(db, { kind, subject, ...origin, ...(detail && { detail }) })
}

/** Returns the owner of a token, for the audit log. */
export function auditOriginOf({ actor, request }: Origin): AuditOrigin {
  return { actor: actor.name, person: null, request }
}
