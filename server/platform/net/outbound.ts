import type { Agent, Dispatcher } from 'undici'
import { type GuardOptions, guardedAgent, parseOutboundUrl } from './guard.ts'
import {
  badStatusError,
  OutboundError,
  timeoutError,
  toOutboundError,
  tooLargeError,
} from './outbound-error.ts'

// The only way to fetch from other servers. Neither the URL nor the server that answers is trusted.

export { OutboundError } from './outbound-error.ts'

export interface OutboundOptions extends GuardOptions {
  readonly maxBytes: number
  /** Total timeout, including the time in which the caller reads the body. */
  readonly timeoutMs: number
  /** Talkshelf/<version> (+PUBLIC_URL) */
  readonly userAgent: string
  /** Aborts the download. The promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal
}

export interface OutboundFile {
  /** The URL after all redirects. */
  readonly address: string
  /** The Content-Type header. */
  readonly type: string | undefined
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

const maxRedirects = 5
const redirectStatuses = [301, 302, 303, 307, 308]

/** Downloads a file from a public server. Throws an OutboundError with a message for the user. */
export async function fetchOutbound(
  address: string,
  options: OutboundOptions,
): Promise<OutboundFile> {
  options.signal?.throwIfAborted()
  const url = parseOutboundUrl(address, options)
  const download = await startDownload(options)
  try {
    const { finalUrl, type, body } = await request(download.agent, url, options)
    return {
      address: finalUrl.href,
      type,
      body: readBody(body, download, options.maxBytes),
      close: () => download.end(),
    }
  } catch (error) {
    const reason = download.reasonFor(error)
    await download.end()
    throw reason
  }
}

interface Download {
  readonly agent: Agent
  /** The error of a connection that was reset, if any. */
  connectionError(): Error | undefined
  /** Returns why the download failed: the reason for which it was ended, or the error itself. */
  reasonFor(error: unknown): unknown
  end(reason?: unknown): Promise<void>
}

/** Creates the agent of one download and starts its timeout. */
async function startDownload(options: OutboundOptions): Promise<Download> {
  const { timeoutMs, quietMs = 10_000, signal } = options
  const ending = new AbortController()
  let broken: Error | undefined
  const agent = await guardedAgent({
    ...options,
    quietMs,
    signal: ending.signal,
    onBroken: (error) => (broken = error),
  })
  // The signal may have been aborted while undici was loaded.
  signal?.throwIfAborted()
  const onAbort = () => end(signal?.reason)
  const timer = setTimeout(() => end(timeoutError()), timeoutMs)
  signal?.addEventListener('abort', onAbort, { once: true })

  async function end(reason?: unknown): Promise<void> {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    ending.abort(reason)
    await agent.destroy()
  }
  return {
    agent,
    connectionError: () => broken,
    // After `end`, the error is only a consequence of it.
    reasonFor: (error) => (ending.signal.aborted ? ending.signal.reason : toOutboundError(error)),
    end,
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
      // A small compressed response could expand to a huge file.
      headers: { 'user-agent': options.userAgent, accept: '*/*', 'accept-encoding': 'identity' },
      reset: true,
    })
    // Without a listener, an error before the body is read would end the process.
    body.on('error', () => {})
    if (!redirectStatuses.includes(statusCode)) {
      checkHeaders(statusCode, headers, options.maxBytes)
      const type = headers['content-type']
      return { finalUrl: url, type: typeof type === 'string' ? type : undefined, body }
    }
    body.destroy()
    if (redirects === maxRedirects)
      throw new OutboundError(
        'bad-answer',
        'The address redirects too often. Give the one where it ends',
      )
    url = redirectTarget(headers.location, url, options)
  }
}

function redirectTarget(
  location: string | string[] | undefined,
  from: URL,
  options: GuardOptions,
): URL {
  const target = typeof location === 'string' ? URL.parse(location, from.href) : null
  if (!target)
    throw new OutboundError('bad-answer', 'The address redirects to nowhere. Check it in a browser')
  try {
    const url = parseOutboundUrl(target.href, options)
    if (from.protocol === 'https:' && url.protocol === 'http:')
      throw new OutboundError(
        'address-refused',
        'It leads from https:// to http://, where anybody could change the file',
      )
    return url
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    throw new OutboundError(
      error.code,
      `The address redirects to one that is not asked. ${error.message}`,
    )
  }
}

function checkHeaders(
  status: number,
  headers: Dispatcher.ResponseData['headers'],
  maxBytes: number,
): void {
  if (status !== 200) throw badStatusError(status)
  const encodings = [headers['content-encoding'], headers['transfer-encoding']]
    .flatMap((value) => value ?? [])
    .join()
  if (/[^\s,]/.test(encodings.replaceAll(/\b(identity|chunked)\b/gi, '')))
    throw new OutboundError(
      'bad-answer',
      'The server sends the file packed, though it was asked not to. Unpack it and upload it',
    )
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLargeError(maxBytes)
}
