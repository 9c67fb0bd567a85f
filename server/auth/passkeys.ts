import type { Db } from '../platform/db/db.ts'
import {
  findHandle,
  findPasskey,
  insertChallenge,
  insertPasskey,
  listPasskeys,
  takeOneTimeToken,
  touchPasskey,
} from './queries.ts'
import { hashSecret, isWellFormedSecret, makeSecret } from './secret.ts'
import { SignInRefused } from './sign-in-refused.ts'
import { algorithms, type Expected, verifyCreation, verifyUse } from './webauthn.ts'

// Passkeys (WebAuthn). Attestation is not requested; the authenticator must verify the user.

/** The site that a passkey belongs to. */
export interface RelyingParty {
  /** Origin of the desk, for example https://talks.example.org. */
  readonly origin: string
  readonly name: string
}

/** How long a browser waits for the person. */
const timeout = 60_000

const hostOf = ({ origin }: RelyingParty) => new URL(origin).hostname

/** Creates a challenge and returns the options with which a browser creates a passkey. */
export async function passkeyCreationOptions(
  db: Db,
  site: RelyingParty,
  person: { readonly id: number; readonly name: string },
) {
  const existing = await listPasskeys(db, person.id)
  const handle = await findHandle(db, person.id)
  return {
    challenge: await createChallenge(db, person.id),
    rp: { name: site.name, id: hostOf(site) },
    user: {
      id: Buffer.from(handle).toString('base64url'),
      name: person.name,
      displayName: person.name,
    },
    pubKeyCredParams: algorithms.map((alg) => ({ alg, type: 'public-key' })),
    timeout,
    attestation: 'none',
    excludeCredentials: existing.map(({ id }) => ({ id, type: 'public-key' })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
  }
}

/** Creates a challenge and returns the options with which a browser uses a passkey. */
export async function passkeyRequestOptions(db: Db, site: RelyingParty, person: number | null) {
  const challenge = await createChallenge(db, person)
  return { rpId: hostOf(site), challenge, timeout, userVerification: 'required' }
}

async function createChallenge(db: Db, person: number | null): Promise<string> {
  const challenge = makeSecret()
  await insertChallenge(db, hashSecret(challenge), person)
  return challenge
}

const expectedOf = (db: Db, site: RelyingParty, person: number | null): Expected => ({
  origin: site.origin,
  host: hostOf(site),
  takeChallenge: (challenge) => takeChallenge(db, challenge, person),
})

/**
 * Verifies the response of a browser that created a passkey. Uses its challenge up, and stores
 * nothing else: `savePasskey` does. Throws SignInRefused.
 */
export async function verifyNewPasskey(
  db: Db,
  site: RelyingParty,
  person: number,
  response: string,
) {
  const parsed = parseCredential(response)
  const verified = await refuseErrors(() => verifyCreation(parsed, expectedOf(db, site, person)))
  return { ...verified, person, host: hostOf(site) }
}

/** Stores a verified passkey. Throws SignInRefused if it exists or the person has too many. */
export async function savePasskey(
  db: Db,
  passkey: Awaited<ReturnType<typeof verifyNewPasskey>>,
  name: string,
): Promise<void> {
  if ((await insertPasskey(db, { ...passkey, name })) === 0) throw new SignInRefused('passkey')
}

/**
 * Verifies the response of a browser that used a passkey, for the person of the challenge if it has
 * one. Returns the person. Throws SignInRefused.
 */
export async function verifyPasskey(
  db: Db,
  site: RelyingParty,
  person: number | null,
  response: string,
): Promise<{ id: number; name: string }> {
  const parsed = parseCredential(response)
  if (typeof parsed.id !== 'string') throw new SignInRefused('passkey')
  const credential = Buffer.from(parsed.id, 'base64url')
  const passkey = await findPasskey(db, credential, hostOf(site))
  if (!passkey) throw new SignInRefused('unknown-passkey')
  if (passkey.is_disabled || (person !== null && passkey.person_id !== person))
    throw new SignInRefused('passkey')
  const stored = { publicKey: passkey.public_key, counter: passkey.counter }
  const counter = await refuseErrors(() => verifyUse(parsed, stored, expectedOf(db, site, person)))
  if ((await touchPasskey(db, credential, counter)) === 0) throw new SignInRefused('passkey')
  return { id: passkey.person_id, name: passkey.name }
}

async function takeChallenge(db: Db, challenge: string, person: number | null): Promise<boolean> {
  if (!isWellFormedSecret(challenge)) return false
  const taken = await takeOneTimeToken(db, hashSecret(challenge), 'challenge', null)
  return taken !== undefined && taken.person_id === person
}

/** Parses the JSON of a credential. A browser sends about 1 kB. */
function parseCredential(text: string): Record<string, unknown> {
  try {
    const value: unknown = text.length <= 20_000 ? JSON.parse(text) : undefined
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Not JSON.
  }
  throw new SignInRefused('passkey')
}

/** Turns the errors for responses that are not valid into refusals. */
async function refuseErrors<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    throw error instanceof Error && error.name === 'Unavailable'
      ? error
      : new SignInRefused('passkey', error)
  }
}
