import { Resolver } from 'node:dns/promises'

/** Error codes for a name without addresses and for an invalid name. */
const noAddressCodes = ['ENOTFOUND', 'ENODATA', 'EBADNAME']

/**
 * Resolves a host name to all of its IP addresses; to none if the name does not exist. Queries name
 * servers directly: getaddrinfo would also use /etc/hosts and search domains, and would block one
 * of libuv's four threads while a name server does not respond. IPv4 comes first, because broken
 * IPv6 connections fail slowly.
 */
export async function resolveHost(
  name: string,
  signal: AbortSignal,
  servers?: readonly string[],
): Promise<string[]> {
  const resolver = new Resolver()
  if (servers) resolver.setServers(servers)
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  const failure = errors.find(({ code }) => !noAddressCodes.includes(code))
  if (addresses.length === 0 && failure) throw failure
  return addresses
}
