import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

// Distinguishes public IP addresses from internal ones, which outbound requests must not reach.

/** The only IPv6 range that IANA allocates. ipaddr.js reports unassigned ranges as unicast. */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

/** A public address at which virtual machines in Azure reach services of their host. */
const azureHost = '168.63.129.16'

/** Tells whether an IP address is globally routed: no private network and no tunnel into one. */
export function isPublic(ip: string): boolean {
  // A zone (fe80::1%eth0) selects a local network interface. isIP accepts it.
  if (isIP(ip) === 0 || ip.includes('%')) return false
  const address = ipaddr.parse(ip)
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv6 ? address.match(globalUnicast) : ip !== azureHost
}

/** Returns the normalized IP addresses of this machine. */
export function localAddresses(): ReadonlySet<string> {
  const interfaces = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return new Set(interfaces.map(({ address }) => normalize(address)))
}

/**
 * Tells whether an IP address is public and not one of this machine, whose services may trust local
 * connections.
 */
export function isExternal(ip: string, own: ReadonlySet<string>): boolean {
  return isPublic(ip) && !own.has(normalize(ip))
}

function normalize(ip: string): string {
  return ipaddr.parse(ip).toNormalizedString()
}

/**
 * Parses networks such as 10.0.0.0/8, separated by commas. Returns a function that tells whether an
 * IP address is in one of them, or undefined if one is not valid.
 */
export function parseNetworks(text: string): ((ip: string) => boolean) | undefined {
  const parts = text.split(',').map((part) => part.trim())
  if (!parts.every((part) => ipaddr.isValidCIDR(part) && isIP(part.split('/')[0] ?? '') !== 0))
    return undefined
  const networks = parts.map((part) => ipaddr.parseCIDR(part))
  return (ip) => {
    if (isIP(ip) === 0 || ip.includes('%')) return false
    const address = ipaddr.parse(ip)
    return networks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match([network, bits]),
    )
  }
}

/** Tells whether a host name is internal by its form, so that it need not be resolved. */
export function isInternalName(name: string): boolean {
  return !name.includes('.') || /\.(localhost|local|internal|home\.arpa)$/i.test(name)
}
