import { Resolver } from 'node:dns/promises'

/**
 * What name servers say of a name that has no address, and what is said here of one that can have
 * none.
 */
const notThere = ['ENOTFOUND', 'ENODATA', 'EBADNAME']

/**
 * All addresses of a name; none when there is no such name. From the name servers alone: the
 * system's own way would also look in its file of hosts and add the domain that we stand in, and it
 * holds one of four threads for as long as a name server likes. IPv4 first: where IPv6 leads
 * nowhere, it does so slowly.
 */
export async function resolveHost(
  name: string,
  signal: AbortSignal,
  servers?: readonly string[],
): Promise<string[]> {
  const resolver = new Resolver()
  if (servers) resolver.setServers(servers)
  signal.addEventListener('abort', () => resolver.cancel(), { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const failures = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason] : [],
  )
  const failure = failures.find(({ code }) => !notThere.includes(code))
  if (found.length === 0 && failure) throw failure
  return found
}
