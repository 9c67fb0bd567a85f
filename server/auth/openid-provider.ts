import type { Configuration } from 'openid-client'
import { openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { SignInRefused } from './sign-in-refused.ts'

// The OpenID Connect provider of the settings. It is discovered on first use; after a failure the
// next attempt is made ten seconds later. Responses are limited in size and time.

const loadLibrary = () => import('./openid-client.ts')

export interface OpenidSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
}

/** Values that bind the response of the provider to the browser that asked. */
export interface OpenidChecks {
  readonly redirectUrl: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Maximum age in seconds of the sign-in at the provider. */
  readonly maxAge?: number
}

export interface OpenidIdentity {
  readonly issuer: string
  readonly subject: string
}

export interface OpenidProvider {
  /** The host of the issuer, as a name for people. */
  readonly name: string
  readonly issuer: string
  /** Returns the URL at which a person signs in. Throws SignInRefused. */
  authorizationUrl(checks: OpenidChecks): Promise<string>
  /**
   * Exchanges the code in the URL to which the provider redirected for an ID token and verifies it.
   * Throws SignInRefused.
   */
  exchangeCode(url: URL, checks: OpenidChecks): Promise<OpenidIdentity>
}

const requestSeconds = 5
const maxResponseBytes = 262_144
/** Limits of OpenID Connect Core: 255 characters. */
const maxSubjectLength = 255

/** Opens the provider. Nothing is fetched yet. */
export function openProvider(settings: OpenidSettings, retryMs = 10_000): OpenidProvider {
  const issuer = new URL(settings.issuer)
  const limit = openConcurrencyLimit(8, 32)
  let discovered: { readonly configuration: Promise<Configuration>; failedAt?: number } | undefined

  const configuration = () => {
    const failedAt = discovered?.failedAt
    if (!discovered || (failedAt !== undefined && performance.now() - failedAt >= retryMs)) {
      const attempt: NonNullable<typeof discovered> = { configuration: discover(settings) }
      attempt.configuration.catch(() => {
        attempt.failedAt = performance.now()
      })
      discovered = attempt
    }
    return discovered.configuration
  }
  /** Runs work with the provider, and refuses the sign-in if it fails. */
  const run = async <T>(work: (configuration: Configuration) => Promise<T>): Promise<T> => {
    const found = await configuration().catch((error) => {
      throw new SignInRefused('openid-unavailable', error)
    })
    try {
      return await limit.run(() => work(found))
    } catch (error) {
      throw new SignInRefused(isOutage(error) ? 'openid-unavailable' : 'openid', error)
    }
  }

  return {
    name: issuer.host,
    issuer: settings.issuer,
    authorizationUrl: ({ redirectUrl, state, nonce, verifier, maxAge }) =>
      run(async (configuration) => {
        const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await loadLibrary()
        const url = buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUrl,
          scope: 'openid',
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(maxAge !== undefined && { max_age: String(maxAge) }),
        })
        return url.href
      }),
    exchangeCode: (url, { state, nonce, verifier, maxAge }) =>
      run(async (configuration) => {
        const { authorizationCodeGrant } = await loadLibrary()
        const tokens = await authorizationCodeGrant(configuration, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
          ...(maxAge !== undefined && { maxAge }),
        })
        const { iss, sub } = tokens.claims() ?? {}
        if (iss !== configuration.serverMetadata().issuer || !sub || sub.length > maxSubjectLength)
          throw new Error('The ID token has no valid issuer or subject')
        return { issuer: iss, subject: sub }
      }),
  }
}

async function discover({ issuer, clientId, clientSecret }: OpenidSettings) {
  const { allowInsecureRequests, customFetch, discovery, enableNonRepudiationChecks } =
    await loadLibrary()
  const url = new URL(issuer)
  // The settings allow HTTP on this machine only.
  const isInsecure = url.protocol === 'http:'
  return discovery(url, clientId, clientSecret, undefined, {
    timeout: requestSeconds,
    [customFetch]: boundedFetch,
    // Also verifies the signature of ID tokens that come directly from the provider.
    execute: [enableNonRepudiationChecks, ...(isInsecure ? [allowInsecureRequests] : [])],
  })
}

/** Fetches a response of limited size. */
async function boundedFetch(url: string, options: object): Promise<Response> {
  const { body, status, headers } = await fetch(url, options)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxResponseBytes) throw new Error('The response of the provider is too large')
    chunks.push(chunk)
  }
  return new Response(chunks.length > 0 ? Buffer.concat(chunks) : null, { status, headers })
}

/** Tells whether the provider did not respond, as opposed to a response that is not valid. */
function isOutage(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (/fetch failed|too many calls/i.test(cause.message) || cause.name === 'TimeoutError')
      return true
  return false
}
