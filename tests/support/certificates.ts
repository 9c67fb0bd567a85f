import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

// X.509 certificates for the servers of tests, built with node:crypto: keys in the repository would
// look like a leak, and openssl need not be installed.

export interface Certificate {
  /** PEM. */
  readonly key: string
  /** PEM. */
  readonly cert: string
}

interface Authority {
  /** The certificate (PEM) of the authority, for those who trust it. */
  readonly ca: string
  /** Issues a certificate for a host name. An expired one was valid until the end of 2020. */
  issue(name: string, options?: { isExpired?: boolean }): Certificate
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const oids = {
  ecdsaWithSha256: '2a8648ce3d040302',
  commonName: '550403',
  basicConstraints: '551d13',
  otherNames: '551d11',
}

/** Creates an authority with a key of its own. */
export function createAuthority(): Authority {
  const keys = newKeys()
  const leafKeys = newKeys()
  const name = 'Authority of tests'
  return {
    ca: certify({ subject: name, issuer: name, subjectKey: keys, issuerKey: keys, isCa: true }),
    issue: (host, { isExpired = false } = {}) => ({
      key: pemOf(leafKeys),
      cert: certify({
        subject: host,
        issuer: name,
        subjectKey: leafKeys,
        issuerKey: keys,
        isCa: false,
        isExpired,
      }),
    }),
  }
}

/** Creates a certificate that nobody trusts unless they know it. */
export function selfSigned(host: string): Certificate {
  const keys = newKeys()
  const cert = certify({
    subject: host,
    issuer: host,
    subjectKey: keys,
    issuerKey: keys,
    isCa: true,
  })
  return { key: pemOf(keys), cert }
}

const newKeys = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const pemOf = ({ privateKey }: KeyPair) =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

interface Certified {
  readonly subject: string
  readonly issuer: string
  readonly subjectKey: KeyPair
  readonly issuerKey: KeyPair
  readonly isCa: boolean
  readonly isExpired?: boolean
}

function certify(certified: Certified): string {
  const { subject, issuer, subjectKey, issuerKey, isCa, isExpired = false } = certified
  const algorithm = der(0x30, oid(oids.ecdsaWithSha256))
  const nameOf = (text: string) =>
    der(0x30, der(0x31, der(0x30, oid(oids.commonName), der(0x0c, text))))
  const end = isExpired ? '201231235959Z' : '491231235959Z'
  const constraints = isCa ? der(0x30, der(0x01, '\xff')) : der(0x30)
  const content = der(
    0x30,
    der(0xa0, der(0x02, '\x02')),
    der(0x02, '\x01'),
    algorithm,
    nameOf(issuer),
    der(0x30, der(0x17, '200101000000Z'), der(0x17, end)),
    nameOf(subject),
    subjectKey.publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      der(
        0x30,
        der(0x30, oid(oids.basicConstraints), der(0x04, constraints)),
        der(0x30, oid(oids.otherNames), der(0x04, der(0x30, der(0x82, subject)))),
      ),
    ),
  )
  const signature = der(0x03, '\0', sign('sha256', content, issuerKey.privateKey))
  const base64 = der(0x30, content, algorithm, signature).toString('base64')
  // An empty line, which a full last one would leave, is an error.
  const lines = base64.match(/.{1,64}/g)?.join('\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

/** Encodes a value with its tag and length (X.690). */
function der(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
  )
  const { length } = content
  const lengthBytes = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : lengthBytes)]), content])
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}
