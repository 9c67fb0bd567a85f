import { isIP, type Socket } from 'node:net'
import type { Agent, buildConnector } from 'undici'
import { isExternal, isInternalName, localAddresses } from './addresses.ts'
import { resolveHost } from './dns.ts'
import { notPublicError, OutboundError } from './outbound-error.ts'

// The wall between what strangers ask us to fetch and the network that we stand in. It is in the
// connector: a check of the name alone is passed by literal addresses, which are never looked up,
// and by a name that is something else when it is looked up again.

export interface GuardOptions {
  /**
   * The longest silence that is waited for: in looking up a name, in connecting, before the first
   * byte and between two.
   */
  readonly quietMs?: number
  readonly ports?: readonly number[]
  /**
   * Which addresses may be connected to; default: all outside. Here and nowhere else the wall can
   * be opened.
   */
  readonly isAllowed?: (ip: string, port: number) => boolean
  /** All addresses of a name; default: what the name servers say. */
  readonly lookup?: (name: string, signal: AbortSignal) => Promise<readonly string[]>
}

const maxCharacters = 2048
const maxHeaderBytes = 16 * 1024
/** Whoever has more addresses than that and answers at none of them is not there. */
const maxTried = 4

/**
 * What somebody typed, or a redirect, as an address that may be asked. Where it leads is looked at
 * when connecting.
 */
export function parseOutboundUrl(typed: string, { ports = [80, 443] }: GuardOptions): URL {
  const refuse = (message: string) => new OutboundError('address-refused', message)
  const text = typed.trim()
  if (text.length > maxCharacters)
    throw refuse(`The address has more than ${maxCharacters} characters. Give a shorter one`)
  // Browsers drop line ends and turn backslashes, silently: what is asked would not be what was read.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  if (/[\u0000-\u0020\u007f\\]/.test(text))
    throw refuse('The address has a space, a line end or a backslash in it. Take it out')
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw refuse('Give a web address that starts with https:// or http://')
  if (url.username || url.password)
    throw refuse('The address has a user name or a password in it. Leave out all before the @')
  if (!ports.includes(portOf(url)))
    throw refuse(
      `Port ${portOf(url)} is not asked, only ${ports.join(' and ')}. Give another address`,
    )
  // The dot at the end is for name servers; certificates do not have it.
  url.hostname = url.hostname.replace(/\.$/, '')
  url.hash = ''
  return url
}

/**
 * For one job, and to be destroyed with it: no connection outlives the question whether it may be.
 * No environment variable is looked at. `onBroken` hears when a connection is cut: where the end of
 * the connection is the end of the body, undici takes a reset for it.
 */
export async function guardedAgent(
  options: GuardOptions & {
    quietMs: number
    signal: AbortSignal
    onBroken: (error: Error) => void
  },
): Promise<Agent> {
  // A quarter of all code: whoever never asks anybody outside starts without it.
  const { Agent, buildConnector } = await import('undici')
  const { quietMs, signal, onBroken, lookup = resolveHost } = options
  const own = localAddresses()
  const isAllowed = options.isAllowed ?? ((ip) => isExternal(ip, own))
  // rejectUnauthorized is the default, but for an environment variable of Node's that turns it off.
  const trust = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const
  const dial = buildConnector({
    ...trust,
    signal,
    timeout: quietMs,
    allowH2: false,
    maxCachedSessions: 0,
  })

  async function connect(to: buildConnector.Options): Promise<Socket> {
    const host = to.hostname.replace(/^\[|\]$/g, '')
    const isName = isIP(host) === 0
    if (isName && isInternalName(host)) throw notPublicError(host)
    const ips = isName
      ? await inTime(
          (limit) => lookup(host, limit),
          AbortSignal.any([signal, AbortSignal.timeout(quietMs)]),
        )
      : [host]
    const port = Number(to.port || (to.protocol === 'https:' ? 443 : 80))
    // One address inside among those outside is no accident: the next connection would be to that
    // one. What is no address would be looked up.
    if (ips.length === 0 || !ips.every((ip) => isIP(ip) !== 0 && isAllowed(ip, port)))
      throw notPublicError(host)
    let failure: unknown
    for (const ip of ips.slice(0, maxTried)) {
      signal.throwIfAborted()
      // The address that was tested and no name, so nothing is looked up again. The certificate has
      // to be for `host`, which stays the name.
      const target = { ...to, hostname: ip }
      try {
        const socket = await new Promise<Socket>((resolve, reject) =>
          dial(target, (error, it) => (error ? reject(error) : resolve(it))),
        )
        return socket.once('error', (error) => 'syscall' in error && onBroken(error))
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  return new Agent({
    connect: (to, callback) => {
      connect(to).then(
        (socket) => callback(null, socket),
        (error) => callback(error, null),
      )
    },
    allowH2: false,
    connections: 1,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: quietMs,
    bodyTimeout: quietMs,
  })
}

function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80))
}

/** The work, or the reason why nobody waits for it any longer. */
function inTime<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work(signal).then(resolve, reject)
  })
}
