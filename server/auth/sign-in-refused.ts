/**
 * Why a person is not signed in:
 *
 * - `link`: the link is unknown, expired or used, or its person is disabled.
 * - `code`: the code of the link is wrong.
 * - `passkey`: the response of the browser is not valid, or was sent before.
 * - `unknown-passkey`: the passkey was removed, or created for another host.
 * - `openid`: the response of the OpenID Connect provider is not valid, or was sent before.
 * - `openid-unavailable`: the provider does not respond.
 * - `unknown-identity`: no person has this account of the provider.
 * - `identity-taken`: another person has this account of the provider.
 */
export type RefusalReason =
  | 'link'
  | 'code'
  | 'passkey'
  | 'unknown-passkey'
  | 'openid'
  | 'openid-unavailable'
  | 'unknown-identity'
  | 'identity-taken'

/** A person is not signed in. */
export class SignInRefused extends Error {
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, cause?: unknown) {
    super(`Sign-in refused: ${reason}`, { cause })
    this.name = 'SignInRefused'
    this.reason = reason
  }
}

/** Returns the reason and cause of a refusal for the log, without anything that may be a secret. */
export function describeRefusal({ reason, cause }: SignInRefused): {
  reason: RefusalReason
  cause?: string
} {
  const messages: string[] = []
  for (let error = cause; error instanceof Error && messages.length < 5; error = error.cause)
    messages.push(error.message)
  if (messages.length === 0) return { reason }
  // Challenges, codes and tokens are long words.
  const text = messages
    .join(': ')
    .slice(0, 2000)
    .replaceAll(/[\w+/=-]{20,}/g, '(removed)')
  return { reason, cause: text.slice(0, 300) }
}
