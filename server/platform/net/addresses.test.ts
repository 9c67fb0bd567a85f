import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isExternal, isInternalName, isPublic, localAddresses } from './addresses.ts'

// The IANA registries of special-purpose addresses, and 168.63.129.16, at which virtual machines in
// Azure reach their host. Implemented independently of addresses.ts, with numbers.
const special4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16
  172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24
  192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4`
// The first three are everything outside of 2000::/3.
const special6 =
  '0::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20'

const ranges4 = special4.split(/\s+/).map((range) => rangeOf(range, 32, number4))
const ranges6 = special6.split(/\s+/).map((range) => rangeOf(range, 128, number6))

test('an IPv4 address is public if it is in no special-purpose range', () => {
  const anywhere = fc.bigInt({ min: 0n, max: 2n ** 32n - 1n })
  fc.assert(
    fc.property(fc.oneof(anywhere, nearEdges(ranges4, 32n)), (number) => {
      assert.equal(
        isPublic(text4(number)),
        !ranges4.some((range) => isIn(number, range)),
        text4(number),
      )
    }),
    { numRuns: 5000 },
  )
})

test('an IPv6 address is public if it is allocated and no tunnel', () => {
  const anywhere = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n })
  const allocated = fc.bigInt({ min: 2n ** 125n, max: 2n ** 126n - 1n })
  fc.assert(
    fc.property(fc.oneof(anywhere, allocated, nearEdges(ranges6, 128n)), (number) => {
      assert.equal(
        isPublic(text6(number)),
        !ranges6.some((range) => isIn(number, range)),
        text6(number),
      )
    }),
    { numRuns: 5000 },
  )
})

test('an IPv6 address that embeds an IPv4 address is never public', () => {
  const prefixes = fc.constantFrom(
    '::',
    '::ffff:',
    '::ffff:0:',
    '64:ff9b::',
    '64:ff9b:1::',
    '2002:%::',
    '2001:0:%::',
    '2001::',
  )
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }), prefixes, (number, prefix) => {
      const groups = `${(number >> 16n).toString(16)}:${(number & 0xffffn).toString(16)}`
      const ip = prefix.includes('%') ? prefix.replace('%', groups) : prefix + text4(number)
      assert.equal(isPublic(ip), false, ip)
    }),
  )
})

test('text that is not an IP address is not public', () => {
  for (const text of [
    '',
    'example.org',
    '8.8.8',
    '8.8.8.8.8',
    '010.8.8.8',
    '0x8.8.8.8',
    '134744072',
    '8.8.8.8 ',
    '[2a00::1]',
    '2a00::1%eth0',
    '2a00::1/64',
  ])
    assert.equal(isPublic(text), false, text)
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(isPublic(text), false)
    }),
  )
})

test('ordinary addresses are public', () => {
  for (const ip of [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '172.15.255.255',
    '172.32.0.0',
    '2606:4700::1111',
    '2a00:1450:4001:800::200e',
  ])
    assert.equal(isPublic(ip), true, ip)
})

test('a public address of this machine is not external, in any spelling', () => {
  const own = new Set(['8.8.8.8', '2a00:0:0:0:0:0:0:1'])
  for (const ip of ['8.8.8.8', '2a00::1', '2A00:0000::0001'])
    assert.equal(isExternal(ip, own), false, ip)
  for (const ip of ['8.8.4.4', '2a00::2']) assert.equal(isExternal(ip, own), true, ip)
  assert.ok(localAddresses().has('127.0.0.1'))
})

test('a name without a dot, or in an internal domain, is internal', () => {
  for (const name of [
    'localhost',
    'db',
    'a.localhost',
    'printer.local',
    'metadata.google.internal',
    'nas.home.arpa',
  ])
    assert.equal(isInternalName(name), true, name)
  for (const name of [
    'example.org',
    'local.example.org',
    'xlocal.org',
    'internal.com',
    'localhost.example.org',
  ])
    assert.equal(isInternalName(name), false, name)
})

interface AddressRange {
  readonly first: bigint
  readonly last: bigint
}

function rangeOf(range: string, bits: number, number: (text: string) => bigint): AddressRange {
  const [start = '', length] = range.split('/')
  const size = 2n ** BigInt(bits - Number(length))
  return { first: number(start), last: number(start) + size - 1n }
}

function isIn(number: bigint, { first, last }: AddressRange): boolean {
  return first <= number && number <= last
}

/** The edges of the ranges and their neighbours, where a wrong prefix length shows. */
function nearEdges(ranges: AddressRange[], bits: bigint): fc.Arbitrary<bigint> {
  const edges = ranges.flatMap(({ first, last }) => [
    first - 1n,
    first,
    (first + last) / 2n,
    last,
    last + 1n,
  ])
  return fc.constantFrom(...edges.filter((edge) => edge >= 0n && edge < 2n ** bits))
}

function number4(text: string): bigint {
  return text.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n)
}

/** Supports prefixes only: groups and nothing after the two colons. */
function number6(text: string): bigint {
  const groups = text.replace(/::$/, '').split(':')
  return groups.reduce(
    (sum, group, index) => sum + (BigInt(`0x${group}`) << BigInt(16 * (7 - index))),
    0n,
  )
}

function text4(number: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.')
}

function text6(number: bigint): string {
  return [7n, 6n, 5n, 4n, 3n, 2n, 1n, 0n]
    .map((index) => ((number >> (16n * index)) & 0xffffn).toString(16))
    .join(':')
}
