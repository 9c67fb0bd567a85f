import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

// Which IP addresses are outside, where anybody may be asked, and which are inside, where only we
// can ask.

/**
 * Of IPv6, all that is given to anybody. What lies outside is not routed, but ranges that nobody
 * has named yet would pass as unicast.
 */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/** Looks public, but every machine in Azure reaches the services of its own host there. */
const azureHost = '168.63.129.16'

/**
 * Whether the whole internet means the same machine by it: no network of one's own, and no tunnel
 * that ends in one.
 */
export function isPublic(ip: string): boolean {
  // A zone (fe80::1%eth0) is one of our network cards. isIP would let it pass.
  if (isIP(ip) === 0 || ip.includes('%')) return false
  const address = ipaddr.parse(ip)
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv6 ? address.match(globalUnicast) : ip !== azureHost
}

/** The addresses of this machine, in the spelling that isOutside compares. */
export function localAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((card) => card ?? [])
  return new Set(all.map(({ address }) => spelling(address)))
}

/** Public, and not this machine: what listens here may let us in where it keeps the world out. */
export function isExternal(ip: string, own: ReadonlySet<string>): boolean {
  return isPublic(ip) && !own.has(spelling(ip))
}

/** IPv6 has many spellings of one address. */
function spelling(ip: string): string {
  return ipaddr.parse(ip).toNormalizedString()
}

/**
 * Names that never stand for a machine outside: not even the name server is asked. A name without a
 * dot means a neighbour.
 */
export function isInternalName(name: string): boolean {
  return !name.includes('.') || /\.(localhost|local|internal|home\.arpa)$/i.test(name)
}
