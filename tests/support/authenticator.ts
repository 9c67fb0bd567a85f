import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'

// A passkey in software: what a browser and its authenticator send for the options of WebAuthn.

interface Options {
  readonly challenge: string
  /** Of the relying party; `rp.id` when a passkey is created. */
  readonly rpId?: string
  readonly rp?: { readonly id?: string }
}

/** What an attacker could send instead. */
export interface Lies {
  readonly origin?: string
  readonly type?: string
  readonly challenge?: string
  readonly rpId?: string
  readonly counter?: number
  /** User present is bit 0, user verified bit 2. */
  readonly flags?: number
  readonly signature?: Buffer
  /** Format of an attestation, by default with certificates. */
  readonly attestation?: string
  /** The attestation statement, given the signature of the new key. */
  readonly statement?: (signature: Buffer) => CborObject
  /** Members of the client data to add or replace. */
  readonly clientData?: Readonly<Record<string, unknown>>
  /** The public key in COSE format. */
  readonly coseKey?: Buffer
  /** Changes the authenticator data before they are signed. */
  readonly changeData?: (data: Buffer) => Buffer
  /** Changes the attestation object. */
  readonly changeAttestation?: (object: Buffer) => Buffer
  /** Members of the credential to add or replace. */
  readonly credential?: Readonly<Record<string, unknown>>
}

export type Authenticator = ReturnType<typeof createAuthenticator>

/** COSE numbers of the algorithms that we accept: ES256, EdDSA with Ed25519, RS256. */
export type Algorithm = -7 | -8 | -257

/** Creates a passkey for an origin, with the given or a new private key. */
export function createAuthenticator(
  origin: string,
  algorithm: Algorithm = -7,
  privateKey: KeyObject = generateKey(algorithm),
) {
  const coseKey = coseKeyOf(createPublicKey(privateKey), algorithm)
  const id = randomBytes(32)
  let counter = 0

  const clientData = (type: string, challenge: string, lies: Lies) =>
    Buffer.from(
      JSON.stringify({
        type: lies.type ?? type,
        challenge: lies.challenge ?? challenge,
        origin: lies.origin ?? origin,
        crossOrigin: false,
        ...lies.clientData,
      }),
    )
  const authenticatorData = (rpId: string, flags: number, lies: Lies) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(lies.counter ?? ++counter)
    const hash = createHash('sha256')
      .update(lies.rpId ?? rpId)
      .digest()
    return Buffer.concat([hash, Buffer.from([lies.flags ?? flags]), count])
  }
  const signatureOf = (data: Buffer, clientDataJSON: Buffer) =>
    sign(
      algorithm === -8 ? null : 'sha256',
      Buffer.concat([data, createHash('sha256').update(clientDataJSON).digest()]),
      privateKey,
    )
  const credential = (response: Record<string, Buffer>, lies: Lies) =>
    JSON.stringify({
      id: id.toString('base64url'),
      rawId: id.toString('base64url'),
      type: 'public-key',
      clientExtensionResults: {},
      response: Object.fromEntries(
        Object.entries(response).map(([name, value]) => [name, value.toString('base64url')]),
      ),
      ...lies.credential,
    })

  return {
    id,
    /** The public key in COSE format. */
    coseKey,
    /** Answers the options that create a passkey. */
    create({ challenge, rp }: Options, lies: Lies = {}): string {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const data = Buffer.concat([
        authenticatorData(rp?.id ?? '', 0b0100_0101, lies),
        Buffer.alloc(16),
        length,
        id,
        lies.coseKey ?? coseKey,
      ])
      const authData = lies.changeData?.(data) ?? data
      const clientDataJSON = clientData('webauthn.create', challenge, lies)
      const { statement = () => (lies.attestation ? { x5c: [] } : {}) } = lies
      const attestationObject = cborMap([
        ['fmt', lies.attestation ?? 'none'],
        ['attStmt', statement(signatureOf(authData, clientDataJSON))],
        ['authData', authData],
      ])
      return credential(
        {
          clientDataJSON,
          attestationObject: lies.changeAttestation?.(attestationObject) ?? attestationObject,
        },
        lies,
      )
    },
    /** Answers the options that use the passkey. */
    get({ challenge, rpId }: Options, lies: Lies = {}): string {
      const clientDataJSON = clientData('webauthn.get', challenge, lies)
      const honest = authenticatorData(rpId ?? '', 0b0000_0101, lies)
      const data = lies.changeData?.(honest) ?? honest
      return credential(
        {
          clientDataJSON,
          authenticatorData: data,
          signature: lies.signature ?? signatureOf(data, clientDataJSON),
        },
        lies,
      )
    },
  }
}

function generateKey(algorithm: Algorithm): KeyObject {
  if (algorithm === -8) return generateKeyPairSync('ed25519').privateKey
  if (algorithm === -257) return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

/** Encodes a public key in COSE format, with the given or the usual number of its algorithm. */
export function coseKeyOf(publicKey: KeyObject, algorithm: number): Buffer {
  const jwk: JsonWebKey = publicKey.export({ format: 'jwk' })
  const bytes = (name: 'x' | 'y' | 'n' | 'e') => Buffer.from(jwk[name] ?? '', 'base64url')
  const keys: Readonly<Record<string, readonly (readonly [number, CborValue])[]>> = {
    EC: [
      [1, 2],
      [3, algorithm],
      [-1, jwk.crv === 'P-384' ? 2 : 1],
      [-2, bytes('x')],
      [-3, bytes('y')],
    ],
    OKP: [
      [1, 1],
      [3, algorithm],
      [-1, 6],
      [-2, bytes('x')],
    ],
    RSA: [
      [1, 3],
      [3, algorithm],
      [-1, bytes('n')],
      [-2, bytes('e')],
    ],
  }
  return cborMap(keys[jwk.kty ?? ''] ?? [])
}

type CborValue = number | string | Buffer | CborObject | []
export interface CborObject {
  readonly [key: string]: CborValue
}

/** Encodes a map in CBOR. */
export function cborMap(entries: readonly (readonly [number | string, CborValue])[]): Buffer {
  return Buffer.concat([
    cborHead(5, entries.length),
    ...entries.flatMap(([key, value]) => [cbor(key), cbor(value)]),
  ])
}

function cbor(value: CborValue): Buffer {
  if (Array.isArray(value)) return cborHead(4, 0)
  if (typeof value === 'object' && !Buffer.isBuffer(value)) return cborMap(Object.entries(value))
  if (typeof value === 'number') return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
  const bytes = Buffer.from(value as Buffer)
  return Buffer.concat([cborHead(typeof value === 'string' ? 3 : 2, bytes.length), bytes])
}

function cborHead(major: number, count: number): Buffer {
  const type = major << 5
  if (count < 24) return Buffer.from([type | count])
  return count < 256
    ? Buffer.from([type | 24, count])
    : Buffer.from([type | 25, count >> 8, count & 255])
}
