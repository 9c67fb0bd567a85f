import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import { fuzzRandom, type Random } from '../../tests/fuzz/mutate.ts'
import {
  type Algorithm,
  cborMap,
  coseKeyOf,
  createAuthenticator,
  type Lies,
} from '../../tests/support/authenticator.ts'
import { algorithms, verifyCreation, verifyUse } from './webauthn.ts'

// Compared with a library that shares no code with ours: what we accept, it accepts, with the same
// result. It accepts some malformed responses that we refuse.

const site = { origin: 'https://talks.example.org', host: 'talks.example.org' }
const challenge = Buffer.alloc(32, 7).toString('base64url')
const expected = { ...site, takeChallenge: async (sent: string) => sent === challenge }
const inLibrary = {
  expectedChallenge: challenge,
  expectedOrigin: site.origin,
  expectedRPID: site.host,
  requireUserVerification: true,
}
const creation = { challenge, rp: { id: site.host } }
const use = { challenge, rpId: site.host }

async function libraryCreation(response: string) {
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    ...inLibrary,
    response: JSON.parse(response) as RegistrationResponseJSON,
    supportedAlgorithmIDs: [...algorithms],
  })
  assert.ok(verified)
  const { id, publicKey, counter } = registrationInfo.credential
  return {
    credential: Buffer.from(id, 'base64url'),
    publicKey: Buffer.from(publicKey),
    counter,
  }
}

async function libraryUse(response: string, publicKey: Buffer, counter: number) {
  const parsed = JSON.parse(response) as AuthenticationResponseJSON
  const credential = { id: parsed.id, publicKey: new Uint8Array(publicKey), counter }
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    ...inLibrary,
    response: parsed,
    credential,
  })
  assert.ok(verified)
  return authenticationInfo.newCounter
}

/** Changes one to three places: a bit, a byte, a range. */
function mutate(bytes: Buffer, random: Random): Buffer {
  let mutated = Buffer.from(bytes)
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = random.below(mutated.length)
    const rest = mutated.subarray(at)
    const [byte] = Buffer.from([random.pick([0, 1, 0x40, 0x80, 0xa0, 0xff, random.below(256)])])
    const replacement = random.pick([
      Buffer.from([(rest[0] ?? 0) ^ (1 << random.below(8)), ...rest.subarray(1)]),
      Buffer.from([byte ?? 0, ...rest.subarray(1)]),
      Buffer.from([byte ?? 0, ...rest]),
      rest.subarray(1 + random.below(8)),
      Buffer.concat([rest, rest.subarray(0, 8)]),
    ])
    mutated = Buffer.concat([mutated.subarray(0, at), replacement])
  }
  return mutated
}

/** Mutates one of the texts in base64url in a response. */
function mutateField(response: string, random: Random): string {
  const parsed = JSON.parse(response) as { response: Record<string, string> }
  const name = random.pick(Object.keys(parsed.response))
  const bytes = Buffer.from(parsed.response[name] ?? '', 'base64url')
  parsed.response[name] = mutate(bytes, random).toString('base64url')
  return JSON.stringify(parsed)
}

const cases = Number(process.env.PASSKEY_CASES ?? 300)
const seed = Number(process.env.PASSKEY_SEED ?? 1)

for (const algorithm of algorithms)
  test(`accepts at most what another verifier accepts: algorithm ${algorithm}`, async (t) => {
    const random = fuzzRandom(seed)
    const passkey = createAuthenticator(site.origin, algorithm)
    const counts = { accepted: 0, refused: 0, onlyByLibrary: 0 }
    const compare = async <T>(ours: () => Promise<T>, library: () => Promise<T>, sent: string) => {
      const [mine, theirs] = await Promise.allSettled([ours(), library()])
      if (mine.status === 'rejected') {
        counts.refused++
        if (theirs.status === 'fulfilled') counts.onlyByLibrary++
        return
      }
      counts.accepted++
      assert.equal(theirs.status, 'fulfilled', `seed ${seed}: ${sent}`)
      assert.deepEqual(mine.value, (theirs as PromiseFulfilledResult<T>).value, sent)
    }
    const self: Lies = { attestation: 'packed', statement: (sig) => ({ alg: algorithm, sig }) }
    for (let index = 0; index < cases; index++) {
      const changed: Lies = random.pick([
        {},
        { changeData: (data) => mutate(data, random) },
        { changeAttestation: (object) => mutate(object, random) },
        { coseKey: mutate(passkey.coseKey, random) },
      ])
      const created = passkey.create(creation, { ...random.pick([self, {}]), ...changed })
      const sent = random.below(2) === 0 ? created : mutateField(created, random)
      await compare(
        () => verifyCreation(JSON.parse(sent), expected),
        () => libraryCreation(sent),
        sent,
      )
      const { changeData } = random.pick([changed, {}])
      const signed = passkey.get(use, changeData ? { changeData } : {})
      const used = random.below(2) === 0 ? signed : mutateField(signed, random)
      const counter = random.below(3) * 10_000
      await compare(
        () => verifyUse(JSON.parse(used), { publicKey: passkey.coseKey, counter }, expected),
        () => libraryUse(used, passkey.coseKey, counter),
        used,
      )
    }
    t.diagnostic(JSON.stringify(counts))
    assert.ok(counts.accepted > cases / 10 && counts.refused > cases / 10, 'both kinds occur')
  })

test('refuses keys that do not fit their algorithm', async () => {
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey
  const { publicKey: curve384 } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const { publicKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { publicKey: ed25519 } = generateKeyPairSync('ed25519')
  const { publicKey: p256 } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const point = (x: Buffer, y: Buffer, ...more: [number, number][]) =>
    cborMap([[1, 2], [3, -7], [-1, 1], [-2, x], [-3, y], ...more])
  const keys: Record<string, Buffer> = {
    'RSA with 1024 bits': coseKeyOf(short, -257),
    'P-384 as ES256': coseKeyOf(curve384, -7),
    'RSA as ES256': coseKeyOf(rsa, -7),
    'RSA as EdDSA': coseKeyOf(rsa, -8),
    'P-256 as EdDSA': coseKeyOf(p256, -8),
    'P-256 as RS256': coseKeyOf(p256, -257),
    'Ed25519 as ES256': coseKeyOf(ed25519, -7),
    'Ed25519 as RS256': coseKeyOf(ed25519, -257),
    'a point beside the curve': point(Buffer.alloc(32, 1), Buffer.alloc(32, 1)),
    'the point at infinity': point(Buffer.alloc(32), Buffer.alloc(32)),
    'a long point': point(Buffer.alloc(33), Buffer.alloc(33)),
    'a label twice': Buffer.concat([
      Buffer.from([0xa6]),
      coseKeyOf(p256, -7).subarray(1),
      Buffer.from([3, 0x26]),
    ]),
  }
  for (const [name, coseKey] of Object.entries(keys)) {
    const created = createAuthenticator(site.origin).create(creation, { coseKey })
    await assert.rejects(verifyCreation(JSON.parse(created), expected), name)
    const used = createAuthenticator(site.origin).get(use)
    const stored = { publicKey: coseKey, counter: 0 }
    await assert.rejects(verifyUse(JSON.parse(used), stored, expected), name)
  }
  for (const algorithm of algorithms) {
    const passkey = createAuthenticator(site.origin, algorithm as Algorithm)
    const { publicKey } = await verifyCreation(JSON.parse(passkey.create(creation)), expected)
    assert.deepEqual(publicKey, passkey.coseKey)
  }
})
