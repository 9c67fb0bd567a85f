import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { type DecodeOptions, decode, decodeFirst } from 'cborg'

// Verifies what a browser sends when it creates or uses a passkey, as sections 7.1 and 7.2 of
// WebAuthn demand. cborg parses CBOR; Node parses and checks keys and signatures. Everything here
// throws for input that is not valid.

/** COSE numbers of the algorithms: ES256, EdDSA with Ed25519, RS256. */
export const algorithms = [-7, -8, -257] as const
type Algorithm = (typeof algorithms)[number]

/** What a response must be for. */
export interface Expected {
  readonly origin: string
  /** Host name that passkeys belong to. */
  readonly host: string
  /** Uses a challenge up. Returns false if it is unknown. */
  readonly takeChallenge: (challenge: string) => Promise<boolean>
}

export interface VerifiedCredential {
  readonly credential: Buffer
  /** In COSE format, as the authenticator sent it. */
  readonly publicKey: Buffer
  readonly counter: number
}

/** Verifies the response of a browser that created a passkey. */
export async function verifyCreation(
  response: Readonly<Record<string, unknown>>,
  expected: Expected,
): Promise<VerifiedCredential> {
  const fields = responseFields(response)
  const clientData = bytesOf(fields.clientDataJSON)
  await checkClientData(clientData, 'webauthn.create', expected)
  const attestation = asMap(decode(bytesOf(fields.attestationObject), cborOptions))
  const data = asBytes(attestation.get('authData'))
  const { created, counter } = parseAuthenticatorData(data, expected.host)
  if (!created) throw new Error('no new passkey in the authenticator data')
  const key = importKey(created.publicKey)
  const statement = asMap(attestation.get('attStmt'))
  const format = attestation.get('fmt')
  if (format === 'packed') checkSelfAttestation(statement, key, signedData(data, clientData))
  else if (format !== 'none' || statement.size > 0) throw new Error('unexpected attestation')
  return { ...created, counter }
}

/** Verifies the response of a browser that used a passkey. Returns the new value of its counter. */
export async function verifyUse(
  response: Readonly<Record<string, unknown>>,
  passkey: { readonly publicKey: Buffer; readonly counter: number },
  expected: Expected,
): Promise<number> {
  const fields = responseFields(response)
  const clientData = bytesOf(fields.clientDataJSON)
  await checkClientData(clientData, 'webauthn.get', expected)
  const data = bytesOf(fields.authenticatorData)
  const { counter } = parseAuthenticatorData(data, expected.host)
  // Synchronized passkeys do not count.
  if ((counter > 0 || passkey.counter > 0) && counter <= passkey.counter)
    throw new Error('the counter does not grow')
  const key = importKey(passkey.publicKey)
  checkSignature(key, signedData(data, clientData), bytesOf(fields.signature))
  return counter
}

function responseFields({ id, rawId, type, response }: Readonly<Record<string, unknown>>) {
  if (typeof id !== 'string' || id !== rawId) throw new Error('id is not rawId')
  if (type !== 'public-key') throw new Error('not a public key')
  if (typeof response !== 'object' || response === null) throw new Error('no response')
  return response as Readonly<Record<string, unknown>>
}

function bytesOf(text: unknown): Buffer {
  if (typeof text !== 'string' || !/^[\w-]*$/.test(text)) throw new Error('not base64url')
  return Buffer.from(text, 'base64url')
}

async function checkClientData(bytes: Buffer, expectedType: string, expected: Expected) {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  const { type, origin, challenge, crossOrigin, topOrigin } = JSON.parse(text)
  if (type !== expectedType) throw new Error('unexpected type')
  if (origin !== expected.origin) throw new Error('unexpected origin')
  if (crossOrigin || topOrigin) throw new Error('in a frame of another site')
  if (typeof challenge !== 'string' || !(await expected.takeChallenge(challenge)))
    throw new Error('unexpected challenge')
}

/** What is in the authenticator data: section 6.1 of WebAuthn. */
const layout = { hash: 0, flags: 32, counter: 33, end: 37 } as const
const flag = {
  userPresent: 1,
  userVerified: 4,
  backupEligible: 8,
  backedUp: 16,
  credential: 64,
  extensions: 128,
} as const

function parseAuthenticatorData(data: Buffer, host: string) {
  if (data.length < layout.end) throw new Error('the authenticator data is too short')
  if (!data.subarray(layout.hash, layout.flags).equals(hash('sha256', host, 'buffer')))
    throw new Error('for another host')
  const flags = data.readUInt8(layout.flags)
  const has = (bit: number) => (flags & bit) !== 0
  if (!has(flag.userPresent)) throw new Error('no user present')
  if (!has(flag.userVerified)) throw new Error('user not verified')
  if (has(flag.backedUp) && !has(flag.backupEligible)) throw new Error('unexpected backup')
  let rest: Buffer = data.subarray(layout.end)
  let created: Pick<VerifiedCredential, 'credential' | 'publicKey'> | undefined
  if (has(flag.credential)) {
    // After the model of the authenticator (16 bytes) and the length of the id.
    const end = 18 + rest.readUInt16BE(16)
    if (end > rest.length || end === 18 || end > 18 + maxCredentialBytes)
      throw new Error('unexpected length of the id')
    const after = skipMap(rest.subarray(end))
    created = {
      credential: rest.subarray(18, end),
      publicKey: rest.subarray(end, rest.length - after.length),
    }
    rest = after
  }
  if (has(flag.extensions)) rest = skipMap(rest)
  if (rest.length > 0) throw new Error('bytes after the authenticator data')
  return { created, counter: data.readUInt32BE(layout.counter) }
}

/** By WebAuthn. */
const maxCredentialBytes = 1023

/** The subset of CBOR that authenticators use: no tags, no lengths that are open. */
const cborOptions: DecodeOptions = {
  useMaps: true,
  rejectDuplicateMapKeys: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowBigInt: false,
}

/** Returns the bytes after a map. */
function skipMap(bytes: Buffer): Buffer {
  const [value, rest] = decodeFirst(bytes, cborOptions)
  asMap(value)
  return bytes.subarray(bytes.length - rest.length)
}

function asMap(value: unknown): ReadonlyMap<unknown, unknown> {
  if (!(value instanceof Map)) throw new Error('not a map')
  return value
}

function asBytes(value: unknown, length?: number): Buffer {
  if (!(value instanceof Uint8Array)) throw new Error('not bytes')
  if (length !== undefined && value.length !== length) throw new Error('unexpected length')
  return Buffer.from(value)
}

interface PublicKey {
  readonly algorithm: Algorithm
  readonly key: KeyObject
}

/** Labels of a COSE key. Curve and modulus have the same one, and so have X and exponent. */
const label = { type: 1, algorithm: 3, curve: -1, modulus: -1, x: -2, exponent: -2, y: -3 } as const

/** Imports a COSE key. Node checks that a point is on its curve. */
function importKey(bytes: Buffer): PublicKey {
  const cose = asMap(decode(bytes, cborOptions))
  const [type, algorithm, curve] = [label.type, label.algorithm, label.curve].map((name) =>
    cose.get(name),
  )
  const encoded = (name: number, length?: number) =>
    asBytes(cose.get(name), length).toString('base64url')
  if (type === 2 && algorithm === -7 && curve === 1) {
    const point = { x: encoded(label.x, 32), y: encoded(label.y, 32) }
    return importJwk(algorithm, { kty: 'EC', crv: 'P-256', ...point })
  }
  if (type === 1 && algorithm === -8 && curve === 6)
    return importJwk(algorithm, { kty: 'OKP', crv: 'Ed25519', x: encoded(label.x, 32) })
  if (type === 3 && algorithm === -257) {
    const numbers = { n: encoded(label.modulus), e: encoded(label.exponent) }
    const imported = importJwk(algorithm, { kty: 'RSA', ...numbers })
    const { modulusLength = 0 } = imported.key.asymmetricKeyDetails ?? {}
    if (modulusLength < 2048) throw new Error('the key is too short')
    return imported
  }
  throw new Error('unexpected kind of key')
}

function importJwk(algorithm: Algorithm, key: Record<string, string>): PublicKey {
  return { algorithm, key: createPublicKey({ key, format: 'jwk' }) }
}

/** Checks an attestation that is signed with the new key itself. */
function checkSelfAttestation(
  statement: ReadonlyMap<unknown, unknown>,
  key: PublicKey,
  signed: Buffer,
): void {
  // With certificates, there is a third member.
  if (statement.size !== 2 || statement.get('alg') !== key.algorithm)
    throw new Error('unexpected attestation')
  checkSignature(key, signed, asBytes(statement.get('sig')))
}

const signedData = (data: Buffer, clientData: Buffer) =>
  Buffer.concat([data, hash('sha256', clientData, 'buffer')])

function checkSignature({ algorithm, key }: PublicKey, signed: Buffer, signature: Buffer): void {
  // Ed25519 has a hash of its own.
  if (!verify(algorithm === -8 ? null : 'sha256', signed, key, signature))
    throw new Error('the signature does not match')
}
