import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

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
  /** Format of an attestation with certificates. */
  readonly attestation?: string
}

/** Creates a passkey for an origin. */
export function createAuthenticator(origin: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(32)
  let counter = 0

  const clientData = (type: string, challenge: string, lies: Lies) =>
    Buffer.from(
      JSON.stringify({
        type: lies.type ?? type,
        challenge: lies.challenge ?? challenge,
        origin: lies.origin ?? origin,
        crossOrigin: false,
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
  const credential = (response: Record<string, Buffer>) =>
    JSON.stringify({
      id: id.toString('base64url'),
      rawId: id.toString('base64url'),
      type: 'public-key',
      clientExtensionResults: {},
      response: Object.fromEntries(
        Object.entries(response).map(([name, value]) => [name, value.toString('base64url')]),
      ),
    })

  return {
    /** Answers the options that create a passkey. */
    create({ challenge, rp }: Options, lies: Lies = {}): string {
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const coseKey = cborMap([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ])
      const authData = Buffer.concat([
        authenticatorData(rp?.id ?? '', 0b0100_0101, lies),
        Buffer.alloc(16),
        length,
        id,
        coseKey,
      ])
      return credential({
        clientDataJSON: clientData('webauthn.create', challenge, lies),
        attestationObject: cborMap([
          ['fmt', lies.attestation ?? 'none'],
          ['attStmt', lies.attestation ? { x5c: [] } : {}],
          ['authData', authData],
        ]),
      })
    },
    /** Answers the options that use the passkey. */
    get({ challenge, rpId }: Options, lies: Lies = {}): string {
      const clientDataJSON = clientData('webauthn.get', challenge, lies)
      const data = authenticatorData(rpId ?? '', 0b0000_0101, lies)
      const signed = Buffer.concat([data, createHash('sha256').update(clientDataJSON).digest()])
      return credential({
        clientDataJSON,
        authenticatorData: data,
        signature: lies.signature ?? sign('sha256', signed, privateKey),
      })
    },
  }
}

type CborValue = number | string | Buffer | CborObject | []
interface CborObject {
  readonly [key: string]: CborValue
}

/** Encodes a map in CBOR. */
function cborMap(entries: readonly (readonly [number | string, CborValue])[]): Buffer {
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
