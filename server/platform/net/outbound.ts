import type { Agent } from 'undici'
import { isExternal, localAddresses } from './addresses.ts'
import {
  type Download,
  type DownloadOptions,
  isPacked,
  maxRedirects,
  type ResponseHeaders,
  readStart,
  redirectStatuses,
  redirectTarget,
  startDownload,
} from './download.ts'
import { type GuardOptions, parseOutboundUrl } from './guard.ts'
import {
  badStatusError,
  OutboundError,
  tooLargeError,
  tooManyRedirectsError,
} from './outbound-error.ts'

// The only way to fetch from and post to other servers. Neither the URL nor the server that answers
// is trusted.

export { OutboundError } from './outbound-error.ts'

export interface OutboundOptions extends DownloadOptions {
  readonly maxBytes: number
  /** Talkshelf/<version> (+PUBLIC_URL) */
  readonly userAgent: string
  /** Asks for the file only if it is another one than the one with these validators. */
  readonly unless?: FileValidators
}

/** Headers by which a server recognizes a version of a file (RFC 9110, section 8.8). */
export interface FileValidators {
  /** The ETag header. */
  readonly etag?: string | undefined
  /** The Last-Modified header. */
  readonly lastModified?: string | undefined
}

export interface OutboundFile {
  /** The URL after all redirects. */
  readonly address: string
  /** The Content-Type header. */
  readonly type: string | undefined
  /** Whether the file has not changed since `unless`. Then the body is empty. */
  readonly isUnchanged: boolean
  readonly validators: FileValidators
  /**
   * Can be read once. Throws an OutboundError if it exceeds a limit or the connection is lost.
   */
  readonly body: AsyncIterable<Uint8Array>
  /**
   * Closes the connection of a body that is not read. Reading it to the end, leaving the loop and
   * the timeout close it too.
   */
  readonly close: () => Promise<void>
}

/** Downloads a file from a public server. Throws an OutboundError with a message for the user. */
export async function fetchOutbound(
  address: string,
  options: OutboundOptions,
): Promise<OutboundFile> {
  options.signal?.throwIfAborted()
  const url = parseOutboundUrl(address, options)
  const download = await startDownload(options)
  try {
    const { finalUrl, body, ...headers } = await request(download.agent, url, options)
    return {
      address: finalUrl.href,
      ...headers,
      body: readBody(body, download, options.maxBytes),
      close: () => download.end(),
    }
  } catch (error) {
    const reason = download.reasonFor(error)
    await download.end()
    throw reason
  }
}

export interface PostOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Bytes of the answer that are read at most. */
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly userAgent: string
  readonly signal?: AbortSignal
  /** Tells whether an IP address is in a private network that may be reached. */
  readonly isOpened?: ((ip: string) => boolean) | undefined
  /** Resolves a host name; default: by DNS. */
  readonly lookup?: GuardOptions['lookup']
}

export interface OutboundAnswer {
  readonly status: number
  /** The Retry-After header. */
  readonly retryAfter: string | undefined
  /** The beginning of the body. */
  readonly body: Buffer
}

/** For the body of an answer, whose status is known by then. */
const answerMs = 1000

/**
 * Parses a URL for `postOutbound`: https and port 443. If private networks are opened, also http
 * and other ports; whether the server is in one of them is checked when connecting.
 */
export function parsePostUrl(address: string, isOpened: PostOptions['isOpened']): URL {
  const url = parseOutboundUrl(address, { ports: isOpened ? 'any' : [443] })
  if (url.protocol !== 'https:' && !isOpened)
    throw new OutboundError('address-refused', 'Enter a URL that starts with https://')
  return url
}

/**
 * Posts to a public server, or to one in an opened network. Follows no redirects. Returns the
 * answer, whatever its status; throws an OutboundError if there is none.
 */
export async function postOutbound(address: string, options: PostOptions): Promise<OutboundAnswer> {
  const { isOpened, lookup, headers, body, userAgent, maxBytes, timeoutMs, signal } = options
  signal?.throwIfAborted()
  const url = parsePostUrl(address, isOpened)
  const own = localAddresses()
  const isPublicTarget = (ip: string, port: number) =>
    url.protocol === 'https:' && port === 443 && isExternal(ip, own)
  const download = await startDownload({
    timeoutMs,
    quietMs: timeoutMs,
    ...(signal && { signal }),
    ...(lookup && { lookup }),
    isAllowed: (ip, port) => isOpened?.(ip) || isPublicTarget(ip, port),
    resolvesInternalNames: isOpened !== undefined,
  })
  try {
    const answer = await download.agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers: { ...headers, 'user-agent': userAgent, 'accept-encoding': 'identity' },
      body,
      reset: true,
    })
    answer.body.on('error', () => {})
    const retryAfter = answer.headers['retry-after']
    return {
      status: answer.statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      body: (await readStart(answer.body, maxBytes, answerMs)).bytes,
    }
  } catch (error) {
    throw download.reasonFor(error)
  } finally {
    await download.end()
  }
}

async function* readBody(
  body: AsyncIterable<Uint8Array>,
  download: Download,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLargeError(maxBytes)
      yield chunk
    }
    const connectionError = download.connectionError()
    if (connectionError) throw connectionError
  } catch (error) {
    throw download.reasonFor(error)
  } finally {
    await download.end()
  }
}

/** Sends the request, follows redirects and checks the headers of the response. */
async function request(agent: Agent, firstUrl: URL, options: OutboundOptions) {
  let url = firstUrl
  for (let redirects = 0; ; redirects++) {
    const { statusCode, headers, body } = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'GET',
      headers: {
        'user-agent': options.userAgent,
        accept: '*/*',
        // A small compressed response could expand to a huge file.
        'accept-encoding': 'identity',
        ...conditionalHeaders(options.unless),
      },
      reset: true,
    })
    // Without a listener, an error before the body is read would end the process.
    body.on('error', () => {})
    if (!redirectStatuses.includes(statusCode)) {
      const isUnchanged = statusCode === 304 && options.unless !== undefined
      if (!isUnchanged) checkHeaders(statusCode, headers, options.maxBytes)
      const type = headers['content-type']
      return {
        finalUrl: url,
        type: typeof type === 'string' ? type : undefined,
        isUnchanged,
        validators: {
          etag: repeatableHeader(headers.etag),
          lastModified: repeatableHeader(headers['last-modified']),
        },
        body,
      }
    }
    body.destroy()
    if (redirects === maxRedirects) throw tooManyRedirectsError()
    url = redirectTarget(headers.location, url, options)
  }
}

function conditionalHeaders({ etag, lastModified }: FileValidators = {}): Record<string, string> {
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(lastModified !== undefined && { 'if-modified-since': lastModified }),
  }
}

const maxValidatorLength = 500

/** Returns the value of a header that can be stored and sent back. */
function repeatableHeader(value: string | string[] | undefined): string | undefined {
  if (typeof value !== 'string' || value.length > maxValidatorLength) return undefined
  return /^[!-~]([ -~]*[!-~])?$/.test(value) ? value : undefined
}

function checkHeaders(status: number, headers: ResponseHeaders, maxBytes: number): void {
  if (status !== 200) throw badStatusError(status)
  if (isPacked(headers))
    throw new OutboundError(
      'bad-answer',
      'The server sends the file packed, though it was asked not to. Unpack it and upload it',
    )
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLargeError(maxBytes)
}
