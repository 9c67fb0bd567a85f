import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { invitePerson } from '../../server/auth/auth.ts'
import {
  type Algorithm,
  type Authenticator,
  cborMap,
  coseKeyOf,
  createAuthenticator,
  type Lies,
} from '../support/authenticator.ts'
import {
  createDeskClient,
  type DeskClient,
  type DeskReply,
  operator,
  passkeyOptions,
} from '../support/desk-client.ts'
import { startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// Everything that a browser sends to create or use a passkey can be forged, byte by byte. Each
// forgery gets the same refusal, leaves nothing behind, and does not end the link or the passkey.

const archive = await startArchive()
const origin = 'http://localhost'
const signInPath = '/desk/sign-in'
const notAccepted = /The passkey was not accepted/
const notKnown = /This passkey is not known here/

/** Passkeys of each algorithm as they were in the database, with their private keys. */
const storedPasskeys = JSON.parse(
  readFileSync(new URL('../support/stored-passkeys.json', import.meta.url), 'utf8'),
) as {
  algorithm: number
  privateKey: JsonWebKey
  id: string
  publicKey: string
  counter: number
}[]

const query = <T>(text: string, values: unknown[] = []) =>
  withDatabase(archive.databaseUrl, (run) => run(text, values)) as Promise<T[]>

/** A person who has a link. */
async function invited(name: string) {
  const person = { name, mail: null, role: 'editor' } as const
  const { id, link } = await invitePerson(archive.pool, person, operator)
  const client = createDeskClient(archive)
  const path = `/desk/link/${link.secret}`
  return { id, client, path, page: await client.get(path) }
}

/** A person who has created a passkey and signed out. */
async function withPasskey(name: string, algorithm: Algorithm = -7) {
  const { id, client, path, page } = await invited(name)
  const passkey = createAuthenticator(origin, algorithm)
  const credential = passkey.create(passkeyOptions(page, path))
  assert.equal((await client.submit(page, path, { credential })).status, 303)
  client.cookie = ''
  await query('delete from session where person_id = $1', [id])
  return { id, client, passkey }
}

function assertRefused(reply: DeskReply, name: string, reason = notAccepted): void {
  assert.equal(reply.status, 403, name)
  assert.match(reply.html, reason, name)
  assert.equal(reply.headers['set-cookie'], undefined, name)
}

const assertNone = async (table: 'session' | 'passkey', person: number) =>
  assert.deepEqual(await query(`select from ${table} where person_id = $1`, [person]), [])

/** Sends each forgery of a new passkey, then an honest one. */
async function refuseNewPasskeys(forgeries: Readonly<Record<string, Lies>>) {
  const { id, client, path, page } = await invited('Newcomer')
  let current = page
  for (const [name, lies] of Object.entries(forgeries)) {
    const options = passkeyOptions(current, path)
    current = await client.submit(current, path, {
      credential: createAuthenticator(origin).create(options, lies),
    })
    assertRefused(current, name)
  }
  await assertNone('session', id)
  await assertNone('passkey', id)
  const credential = createAuthenticator(origin).create(passkeyOptions(current, path))
  assert.equal((await client.submit(current, path, { credential })).status, 303)
}

const signInWith = async (
  client: DeskClient,
  passkey: Pick<Authenticator, 'get'>,
  lies: Lies = {},
) => {
  const page = await client.get(signInPath)
  const credential = passkey.get(passkeyOptions(page, signInPath), lies)
  return client.submit(page, signInPath, { credential })
}

/** Sends each forgery of the use of a passkey, then an honest one. */
async function refuseUses(forgeries: Readonly<Record<string, Lies>>, algorithm?: Algorithm) {
  const { id, client, passkey } = await withPasskey('Owner', algorithm)
  for (const [name, lies] of Object.entries(forgeries))
    assertRefused(await signInWith(client, passkey, lies), name)
  await assertNone('session', id)
  const honest = await signInWith(client, passkey, { counter: 100 })
  assert.equal(honest.status, 303, honest.html)
}

const edit = (change: (bytes: Buffer) => void) => (bytes: Buffer) => {
  const copy = Buffer.from(bytes)
  change(copy)
  return copy
}
const append =
  (...more: number[]) =>
  (bytes: Buffer) =>
    Buffer.concat([bytes, Buffer.from(more)])
const replace = (value: Buffer) => () => value

/** Forgeries of what the browser says about itself. */
const clientForgeries = (otherType: string): Record<string, Lies> => ({
  'another origin': { origin: 'http://localhost.example.org' },
  'another scheme': { origin: 'https://localhost' },
  'another port': { origin: 'http://localhost:8080' },
  'an origin with a slash': { origin: 'http://localhost/' },
  'an origin in a list': { clientData: { origin: [origin] } },
  'no origin': { clientData: { origin: undefined } },
  'another challenge': { challenge: Buffer.alloc(32).toString('base64url') },
  'an empty challenge': { challenge: '' },
  'a challenge in a list': { clientData: { challenge: [''] } },
  'another type': { type: otherType },
  'no type': { clientData: { type: undefined } },
  'a frame of another site': {
    clientData: { crossOrigin: true, topOrigin: 'https://example.org' },
  },
  'a frame of a site that is not named': { clientData: { crossOrigin: true } },
  'another site around it': { clientData: { topOrigin: 'https://example.org' } },
  'another host': { rpId: 'example.org' },
  'an earlier host name': { rpId: '' },
})

const credentialForgeries: Record<string, Lies> = {
  'an id that is not rawId': { credential: { rawId: 'AAAA' } },
  'no rawId': { credential: { rawId: undefined } },
  'another kind of credential': { credential: { type: 'password' } },
  'a response of null': { credential: { response: null } },
  'a response of a number': { credential: { response: 1 } },
  'an empty response': { credential: { response: {} } },
  'a response with numbers': {
    credential: {
      response: { clientDataJSON: 1, attestationObject: 1, authenticatorData: 1, signature: 1 },
    },
  },
}

const nested = (levels: number, head: number) => Buffer.alloc(levels, head)

/** CBOR that is not what it should be, in place of anything. */
const hostileCbor: Record<string, Buffer> = {
  nothing: Buffer.alloc(0),
  'a number': Buffer.from([1]),
  'an empty map': cborMap([]),
  'a list of 2^32 values': Buffer.from([0x9a, 0xff, 0xff, 0xff, 0xff]),
  'a list of 2^64 values': Buffer.concat([Buffer.from([0x9b]), Buffer.alloc(8, 0xff)]),
  'a map of 2^32 values': Buffer.from([0xba, 0xff, 0xff, 0xff, 0xff]),
  'bytes of 2^32 bytes': Buffer.from([0x5a, 0xff, 0xff, 0xff, 0xff]),
  'a text of 2^53 bytes': Buffer.concat([Buffer.from([0x7b, 0, 0x20]), Buffer.alloc(6)]),
  '12,000 nested lists': nested(12_000, 0x81),
  '12,000 nested maps': nested(12_000, 0xa1),
  '12,000 nested tags': nested(12_000, 0xc1),
  'a list without end': Buffer.from([0x9f]),
  'a map without end': Buffer.from([0xbf]),
  'reserved lengths': Buffer.from([0x5c, 0x5d, 0x5e]),
  'a break': Buffer.from([0xff]),
}

const inPlaceOf = (change: (value: Buffer) => Lies) =>
  Object.fromEntries(Object.entries(hostileCbor).map(([name, value]) => [name, change(value)]))

const flags = (value: number): Lies => ({ flags: value })

test('refuses new passkeys that a browser would not create', async () => {
  await refuseNewPasskeys({
    ...clientForgeries('webauthn.get'),
    ...credentialForgeries,
    'no user verification': flags(0b0100_0001),
    'no user': flags(0b0100_0100),
    'no key': flags(0b0000_0101),
    'extensions that are not there': flags(0b1100_0101),
    'bytes after the key': { changeData: append(0) },
    'a map after the key': { changeData: append(0xa0) },
    'data cut off in the key': { changeData: (data) => data.subarray(0, -1) },
    'data cut off in the id': { changeData: (data) => data.subarray(0, 60) },
    'data cut off in the counter': { changeData: (data) => data.subarray(0, 36) },
    'an id longer than the data': { changeData: edit((data) => data.writeUInt16BE(0xffff, 53)) },
  })
})

test('refuses attestations with certificates or signatures that do not match', async () => {
  await refuseNewPasskeys({
    'packed with certificates': { attestation: 'packed' },
    'packed with a certificate': {
      attestation: 'packed',
      statement: (sig) => ({ alg: -7, sig, x5c: [] }),
    },
    'packed without signature': { attestation: 'packed', statement: () => ({ alg: -7 }) },
    'packed without algorithm': { attestation: 'packed', statement: (sig) => ({ sig }) },
    'packed with another algorithm': {
      attestation: 'packed',
      statement: (sig) => ({ alg: -257, sig: Buffer.concat([sig, sig]) }),
    },
    'packed with a wrong signature': {
      attestation: 'packed',
      statement: (sig) => ({ alg: -7, sig: edit((bytes) => bytes.writeUInt8(1, 10))(sig) }),
    },
    'none with a statement': { attestation: 'none', statement: (sig) => ({ sig }) },
    ...Object.fromEntries(
      ['apple', 'tpm', 'android-key', 'android-safetynet', 'fido-u2f', 'compound', '', 'NONE'].map(
        (format) => [format, { attestation: format }],
      ),
    ),
  })
})

test('accepts a packed attestation by the key itself', async () => {
  const { client, path, page } = await invited('Packed')
  const credential = createAuthenticator(origin).create(passkeyOptions(page, path), {
    attestation: 'packed',
    statement: (sig) => ({ alg: -7, sig }),
  })
  assert.equal((await client.submit(page, path, { credential })).status, 303)
})

test('refuses CBOR that is truncated, huge, deeply nested or followed by something', async () => {
  await refuseNewPasskeys({
    ...inPlaceOf((value) => ({ changeAttestation: replace(value) })),
    'bytes after the attestation': { changeAttestation: append(0) },
    'two attestations': { changeAttestation: (object) => Buffer.concat([object, object]) },
    'a map of fewer entries': { changeAttestation: edit((object) => object.writeUInt8(0xa2, 0)) },
    'a map of more entries': { changeAttestation: edit((object) => object.writeUInt8(0xa4, 0)) },
  })
  await refuseNewPasskeys(
    inPlaceOf((coseKey) => ({
      // The tests of nested values are for this key, and not for the length of the form.
      coseKey: coseKey.subarray(0, 9_000),
    })),
  )
})

test('refuses truncated attestations', async () => {
  const whole = 'the number of bytes of an honest one'
  let length = 0
  await refuseNewPasskeys({
    [whole]: {
      origin: 'http://example.org',
      changeAttestation: (object) => {
        length = object.length
        return object
      },
    },
  })
  assert.ok(length > 150, whole)
  // Each of the last 40 lengths, where the key is, and some of the others.
  const lengths = Array.from({ length }, (_, size) => size).filter(
    (size) => size > length - 40 || size % 9 === 0,
  )
  await refuseNewPasskeys(
    Object.fromEntries(
      lengths.map((size) => [
        `the first ${size} bytes`,
        { changeAttestation: (object) => object.subarray(0, size) },
      ]),
    ),
  )
})

test('refuses keys of other algorithms', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const numbers = [0, 7, -1, -6, -9, -19, -35, -36, -37, -39, -47, -48, -65535]
  await refuseNewPasskeys({
    ...Object.fromEntries(
      numbers.map((number) => [`algorithm ${number}`, { coseKey: coseKeyOf(publicKey, number) }]),
    ),
    'no algorithm': { coseKey: cborMap([[1, 2]]) },
    'an algorithm in words': {
      coseKey: cborMap([
        [1, 2],
        [3, 'ES256'],
      ]),
    },
  })
})

test('refuses uses of a passkey that a browser would not send', async () => {
  await refuseUses({
    ...clientForgeries('webauthn.create'),
    ...credentialForgeries,
    'no user verification': flags(0b0000_0001),
    'no user': flags(0b0000_0100),
    'neither of them': flags(0),
    'a key that is not there': flags(0b0100_0101),
    'extensions that are not there': flags(0b1000_0101),
    'signed bytes after the data': { changeData: append(0) },
    'a signed map after the data': { changeData: append(0xa0) },
    'data cut off': { changeData: (data) => data.subarray(0, 36) },
    'no data': { changeData: (data) => data.subarray(0, 0) },
    'a counter that does not grow': { counter: 1 },
    'a counter that goes back': { counter: 0 },
  })
})

for (const [name, algorithm] of [
  ['ES256', -7],
  ['EdDSA', -8],
  ['RS256', -257],
] as const)
  test(`signs in with ${name}, and refuses signatures that were changed`, async () => {
    const { id, client, passkey } = await withPasskey(name, algorithm)
    const changes: Record<string, (signature: Buffer) => Buffer> = {
      empty: () => Buffer.alloc(0),
      'a byte short': (signature) => signature.subarray(0, -1),
      'a byte more': append(0),
      'without its first byte': (signature) => signature.subarray(1),
      zeros: (signature) => Buffer.alloc(signature.length),
      'R and S of 0': () => Buffer.from([0x30, 6, 2, 1, 0, 2, 1, 0]),
      'R and S of 1': () => Buffer.from([0x30, 6, 2, 1, 1, 2, 1, 1]),
      'R and S below 0': () => Buffer.from([0x30, 6, 2, 1, 0xff, 2, 1, 0xff]),
      'a length without end': () => Buffer.from([0x30, 0x80, 2, 1, 1, 2, 1, 1, 0, 0]),
      'a length of 2^32': () => Buffer.from([0x30, 0x84, 0xff, 0xff, 0xff, 0xff]),
      '12,000 nested sequences': () => nested(12_000, 0x30),
      ...Object.fromEntries(
        Array.from({ length: 24 }, (_, index) => [
          `a bit of the ${index}th part`,
          edit((signature) => {
            const at = Math.floor((index * signature.length) / 24)
            signature.writeUInt8(signature.readUInt8(at) ^ 1, at)
          }),
        ]),
      ),
    }
    for (const [change, apply] of Object.entries(changes)) {
      const page = await client.get(signInPath)
      const sent = JSON.parse(passkey.get(passkeyOptions(page, signInPath)))
      const signature = apply(Buffer.from(sent.response.signature, 'base64url'))
      sent.response.signature = signature.toString('base64url')
      const reply = await client.submit(page, signInPath, { credential: JSON.stringify(sent) })
      assertRefused(reply, change)
    }
    await assertNone('session', id)
    const honest = await signInWith(client, passkey)
    assert.equal(honest.status, 303, honest.html)
  })

test('accepts every honest signature of ES256, also those with short numbers', async () => {
  const { client, passkey } = await withPasskey('Signatory')
  const lengths = new Set<number>()
  let page = await client.get(signInPath)
  // One of 128 signatures has a number that is a byte shorter.
  for (let attempt = 1; attempt < 20_000 && lengths.size < 4; attempt++) {
    const counter = 2 + lengths.size
    const credential = passkey.get(passkeyOptions(page, signInPath), { counter })
    const { length } = Buffer.from(JSON.parse(credential).response.signature, 'base64url')
    if (lengths.has(length)) continue
    lengths.add(length)
    const reply = await client.submit(page, signInPath, { credential })
    assert.equal(reply.status, 303, `${length} bytes`)
    client.cookie = ''
    page = await client.get(signInPath)
  }
  assert.equal(lengths.size, 4, [...lengths].join())
})

test('refuses the passkey of another person, a replay and an unknown passkey', async () => {
  const victim = await withPasskey('Victim')
  const attacker = await withPasskey('Attacker')
  const { client } = attacker
  const asVictim = { id: victim.passkey.id.toString('base64url') }
  const credential = { ...asVictim, rawId: asVictim.id }
  // Signed with the key of the attacker, in the name of the victim.
  const forged = await signInWith(client, attacker.passkey, { credential })
  assertRefused(forged, 'the id of the victim')
  for (const { id } of [victim, attacker]) await assertNone('session', id)

  // A new passkey with the id of the victim.
  const { client: newcomer, path, page } = await invited('Copycat')
  const options = passkeyOptions(page, path)
  const copied = createAuthenticator(origin).create(options, {
    changeData: edit((data) => victim.passkey.id.copy(data, 55)),
    credential,
  })
  assertRefused(await newcomer.submit(page, path, { credential: copied }), 'a copied id')

  const signInPage = await client.get(signInPath)
  const sent = victim.passkey.get(passkeyOptions(signInPage, signInPath), { counter: 9 })
  assert.equal((await client.submit(signInPage, signInPath, { credential: sent })).status, 303)
  client.cookie = ''
  await query('delete from session where person_id = $1', [victim.id])
  const replayed = await client.submit(signInPage, signInPath, { credential: sent })
  assertRefused(replayed, 'a replay')
  await assertNone('session', victim.id)

  const unknown = createAuthenticator(origin)
  assertRefused(await signInWith(client, unknown), 'unknown', notKnown)
})

test('refuses ids that are no text', async () => {
  const client = createDeskClient(archive)
  for (const value of [null, 1, true, [], {}, { toString: 1, valueOf: 1 }, [[{ toString: 1 }]]]) {
    const page = await client.get(signInPath)
    const credential = JSON.stringify({ id: value, rawId: value, type: 'public-key', response: {} })
    const reply = await client.submit(page, signInPath, { credential })
    assert.equal(reply.status, 403, credential)
  }
})

test('passkeys that version 0.1.0 stored sign in', async () => {
  for (const { algorithm, privateKey, id, publicKey, counter } of storedPasskeys) {
    const { id: person } = await invited('Early adopter')
    await query(
      `insert into passkey (credential_id, person_id, public_key, counter, rp_id, name)
       values ($1, $2, $3, $4, 'localhost', 'Passkey')`,
      [Buffer.from(id, 'hex'), person, Buffer.from(publicKey, 'hex'), counter],
    )
    const key = createPrivateKey({ key: privateKey, format: 'jwk' })
    const passkey = createAuthenticator(origin, algorithm as Algorithm, key)
    const credentialId = Buffer.from(id, 'hex').toString('base64url')
    const credential = { id: credentialId, rawId: credentialId }
    const client = createDeskClient(archive)
    const old = await signInWith(client, passkey, { counter, credential })
    assertRefused(old, `${algorithm}: the stored counter`)
    const reply = await signInWith(client, passkey, { counter: counter + 1, credential })
    assert.equal(reply.status, 303, `${algorithm}: ${reply.html}`)
  }
})
