import { isIP, type Socket } from 'node:net'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
import type { Agent, buildConnector } from 'undici'
import { isExternal, isInternalName, localAddresses } from './addresses.ts'
import { resolveHost } from './dns.ts'
import { notPublicError, OutboundError, tooLargeError } from './outbound-error.ts'

// Protects the internal network from server-side request forgery. The check is in the connector,
// where the IP address is known: a check of the host name could be bypassed by IP literals and by
// DNS rebinding.

export interface GuardOptions {
  /** Timeout of each step: DNS lookup, connecting, the first byte, and between two chunks. */
  readonly quietMs?: number
  readonly ports?: readonly number[] | 'any'
  /** Also resolves names such as `search.internal`, whose addresses may be allowed. */
  readonly resolvesInternalNames?: boolean
  /** Tells whether an IP address may be connected to; default: all external ones. */
  readonly isAllowed?: (ip: string, port: number) => boolean
  /** Resolves a host name; default: by DNS. */
  readonly lookup?: (name: string, signal: AbortSignal) => Promise<readonly string[]>
  /** The certificate (PEM) of an authority that is trusted in addition to the usual ones. */
  readonly ca?: string
  /**
   * Returns the port that is connected to for the port of a URL, so that the servers of tests need
   * no privileged ports. `isAllowed` gets the port of the URL.
   */
  readonly connectPort?: (port: number) => number
}

const maxCharacters = 2048
const maxHeaderBytes = 16 * 1024
const maxConnectAttempts = 4
const minVersion = 'TLSv1.2'

/**
 * Parses a URL entered by a user, or a redirect, and checks its syntax, protocol and port. The host
 * is checked when connecting.
 */
export function parseOutboundUrl(input: string, { ports = [80, 443] }: GuardOptions): URL {
  const refuse = (message: string) => new OutboundError('address-refused', message)
  const text = input.trim()
  if (text.length > maxCharacters)
    throw refuse(`The URL is longer than ${maxCharacters} characters. Use a shorter one`)
  // The URL parser silently drops line breaks and converts backslashes, so that the host would not
  // be the one that a person reads.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are rejected.
  if (/[\u0000-\u0020\u007f\\]/.test(text))
    throw refuse('The URL contains a space, a line break or a backslash. Remove it')
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw refuse('Enter a URL that starts with https:// or http://')
  if (url.username || url.password)
    throw refuse('The URL contains a user name or password. Remove everything before the @')
  if (ports !== 'any' && !ports.includes(portOf(url)))
    throw refuse(`Port ${portOf(url)} is not allowed, only ${ports.join(' and ')}. Use another URL`)
  // Certificates contain names without the trailing dot of absolute DNS names.
  url.hostname = url.hostname.replace(/\.$/, '')
  url.hash = ''
  return url
}

/**
 * Creates an agent that connects to allowed IP addresses only. Use it for one download and destroy
 * it, so that no connection is reused without a check. Proxy variables of the environment are
 * ignored. `onBroken` receives connection resets, which undici treats as the regular end of a body
 * without Content-Length.
 */
export async function guardedAgent(
  options: GuardOptions & {
    quietMs: number
    signal: AbortSignal
    onBroken: (error: Error) => void
    /** Bytes that a connection receives at most: undici limits no status line or chunk header. */
    maxReceivedBytes?: number | undefined
  },
): Promise<Agent> {
  // Loaded on demand: undici is a quarter of all code.
  const { Agent, buildConnector } = await import('undici')
  const { quietMs, signal, onBroken, lookup = resolveHost, resolvesInternalNames } = options
  const { ca, connectPort, maxReceivedBytes } = options
  const own = localAddresses()
  const isAllowed = options.isAllowed ?? ((ip) => isExternal(ip, own))
  const dial = buildConnector({
    // Set explicitly, because NODE_TLS_REJECT_UNAUTHORIZED can change the default.
    rejectUnauthorized: true,
    minVersion,
    ...(ca !== undefined && { secureContext: contextWith(ca) }),
    signal,
    timeout: quietMs,
    allowH2: false,
    maxCachedSessions: 0,
  })

  async function resolveIps(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host]
    if (isInternalName(host) && !resolvesInternalNames) throw notPublicError(host)
    const abort = AbortSignal.any([signal, AbortSignal.timeout(quietMs)])
    return untilAborted(() => lookup(host, abort), abort)
  }

  async function connect(destination: buildConnector.Options): Promise<Socket> {
    const host = destination.hostname.replace(/^\[|\]$/g, '')
    const ips = await resolveIps(host)
    const port = portOf(destination)
    // All addresses must be allowed: a mixture of public and internal ones is an attack. Anything
    // that is not an IP address would be resolved again.
    if (ips.length === 0 || !ips.every((ip) => isIP(ip) !== 0 && isAllowed(ip, port)))
      throw notPublicError(host)
    let failure: unknown
    for (const ip of ips.slice(0, maxConnectAttempts)) {
      signal.throwIfAborted()
      // Connects to the checked IP address, so nothing is resolved again. The certificate is still
      // verified for the name in `host`.
      const target = {
        ...destination,
        hostname: ip,
        ...(connectPort && { port: `${connectPort(port)}` }),
      }
      try {
        const socket = await new Promise<Socket>((resolve, reject) =>
          dial(target, (error, connected) => (error ? reject(error) : resolve(connected))),
        )
        if (maxReceivedBytes !== undefined) limitReceived(socket, maxReceivedBytes)
        return socket.once('error', (error) => 'syscall' in error && onBroken(error))
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  return new Agent({
    connect: (destination, callback) => {
      connect(destination).then(
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

/** Closes a connection that receives more bytes than any valid answer has. */
function limitReceived(socket: Socket, maxBytes: number): void {
  socket.on('readable', () => {
    if (socket.bytesRead > maxBytes) socket.destroy(tooLargeError(maxBytes))
  })
}

const contexts = new Map<string, SecureContext>()

/** Returns a TLS context that also trusts an authority. Creating one takes milliseconds. */
function contextWith(ca: string): SecureContext {
  const known = contexts.get(ca)
  if (known) return known
  const context = createSecureContext({ ca: [...getCACertificates('default'), ca], minVersion })
  contexts.clear()
  contexts.set(ca, context)
  return context
}

function portOf({ port, protocol }: { port?: string | null; protocol: string }): number {
  return Number(port || (protocol === 'https:' ? 443 : 80))
}

/** Runs the work, but rejects as soon as the signal is aborted. */
function untilAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work().then(resolve, reject)
  })
}
