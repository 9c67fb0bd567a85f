import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
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

// Passkeys (WebAuthn). Attestation is not requested; the authenticator must verify the user. The
// library has 25 packages and is loaded on first use.

const loadLibrary = () => import('./webauthn.ts')

/** The site that a passkey belongs to. */
export interface RelyingParty {
  /** Origin of the desk, for example https://talks.example.org. */
  readonly origin: string
  readonly name: string
}

/** ES256, EdDSA and RS256. By default the library also tries algorithms that Node warns about. */
const supportedAlgorithmIDs = [-7, -8, -257]

const hostOf = ({ origin }: RelyingParty) => new URL(origin).hostname

/** Creates a challenge and returns the options with which a browser creates a passkey. */
export async function passkeyCreationOptions(
  db: Db,
  site: RelyingParty,
  person: { readonly id: number; readonly name: string },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { generateRegistrationOptions } = await loadLibrary()
  const existing = await listPasskeys(db, person.id)
  return generateRegistrationOptions({
    rpName: site.name,
    rpID: hostOf(site),
    userName: person.name,
    userDisplayName: person.name,
    userID: new Uint8Array(Buffer.from(await findHandle(db, person.id))),
    challenge: await createChallenge(db, person.id),
    attestationType: 'none',
    excludeCredentials: existing.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs,
  })
}

/** Creates a challenge and returns the options with which a browser uses a passkey. */
export async function passkeyRequestOptions(
  db: Db,
  site: RelyingParty,
  person: number | null,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await loadLibrary()
  return generateAuthenticationOptions({
    rpID: hostOf(site),
    challenge: await createChallenge(db, person),
    userVerification: 'required',
  })
}

async function createChallenge(db: Db, person: number | null): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = makeSecret()
  await insertChallenge(db, hashSecret(challenge), person)
  return new Uint8Array(Buffer.from(challenge, 'base64url'))
}

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
  const { verifyRegistrationResponse, decodeAttestationObject } = await loadLibrary()
  const parsed = parseCredential(response) as unknown as RegistrationResponseJSON
  const { registrationInfo } = await refuseErrors(async () => {
    // Certificates were not requested. To verify them, the library would fetch their URLs.
    const attestation = decodeAttestationObject(
      new Uint8Array(Buffer.from(parsed.response.attestationObject, 'base64url')),
    )
    const format = attestation.get('fmt')
    if (!['none', 'packed'].includes(format) || attestation.get('attStmt').get('x5c') !== undefined)
      throw new SignInRefused('passkey')
    return verifyRegistrationResponse({
      response: parsed,
      expectedChallenge: (challenge) => takeChallenge(db, challenge, person),
      expectedOrigin: site.origin,
      expectedRPID: hostOf(site),
      requireUserVerification: true,
      supportedAlgorithmIDs,
    })
  })
  if (!registrationInfo) throw new SignInRefused('passkey')
  const { id, publicKey, counter } = registrationInfo.credential
  return {
    credential: Buffer.from(id, 'base64url'),
    person,
    publicKey: Buffer.from(publicKey),
    counter,
    host: hostOf(site),
  }
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
  const { verifyAuthenticationResponse } = await loadLibrary()
  const parsed = parseCredential(response) as unknown as AuthenticationResponseJSON
  const credential = Buffer.from(String(parsed.id), 'base64url')
  const passkey = await findPasskey(db, credential, hostOf(site))
  if (!passkey) throw new SignInRefused('unknown-passkey')
  if (passkey.is_disabled || (person !== null && passkey.person_id !== person))
    throw new SignInRefused('passkey')
  const { verified, authenticationInfo } = await refuseErrors(() =>
    verifyAuthenticationResponse({
      response: parsed,
      expectedChallenge: (challenge) => takeChallenge(db, challenge, person),
      expectedOrigin: site.origin,
      expectedRPID: hostOf(site),
      credential: {
        id: String(parsed.id),
        publicKey: new Uint8Array(passkey.public_key),
        counter: passkey.counter,
      },
      requireUserVerification: true,
    }),
  )
  if (!verified) throw new SignInRefused('passkey')
  if ((await touchPasskey(db, credential, authenticationInfo.newCounter)) === 0)
    throw new SignInRefused('passkey')
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

/** The library throws plain errors for every response that is not valid. */
async function refuseErrors<T>(verify: () => Promise<T>): Promise<T> {
  try {
    return await verify()
  } catch (error) {
    throw error instanceof Error && error.name === 'Unavailable'
      ? error
      : new SignInRefused('passkey', error)
  }
}
