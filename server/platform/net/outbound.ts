import type { Dispatcher } from 'undici'
import { type GuardOptions, guardedAgent, parseOutboundUrl } from './guard.ts'
import {
  badStatusError,
  OutboundError,
  timeoutError,
  toOutboundError,
  tooLargeError,
} from './outbound-error.ts'

// The one way to fetch anything from outside. Whoever gave the address and whoever answers there
// may both mean harm.

export { OutboundError } from './outbound-error.ts'

export interface OutboundOptions extends GuardOptions {
  readonly maxBytes: number
  /** For the whole, with the time that the reader of the body takes. */
  readonly timeoutMs: number
  /** Talkshelf/<version> (+PUBLIC_URL) */
  readonly userAgent: string
  /** Whoever stops it gets the reason of the signal, and no OutsideError. */
  readonly signal?: AbortSignal
}

export interface OutboundFile {
  /** Where it was in the end, after all redirects. */
  readonly address: string
  /** The Content-Type, as it was sent. */
  readonly type: string | undefined
  /**
   * To be read once. Throws an OutsideError when it grows too large, takes too long or breaks off.
   */
  readonly body: AsyncIterable<Uint8Array>
  /**
   * For a body that is not wanted. Reading it to the end, or leaving the loop, closes as well, and
   * so does the time limit.
   */
  readonly close: () => Promise<void>
}

const maxRedirects = 5
const redirects = [301, 302, 303, 307, 308]

export async function fetchOutbound(
  address: string,
  options: OutboundOptions,
): Promise<OutboundFile> {
  const { maxBytes, timeoutMs, userAgent, quietMs = 10_000 } = options
  options.signal?.throwIfAborted()
  let url = parseOutboundUrl(address, options)

  const ending = new AbortController()
  let broken: Error | undefined
  const agent = await guardedAgent({
    ...options,
    quietMs,
    signal: ending.signal,
    onBroken: (error) => (broken = error),
  })
  // It may have been stopped while undici was loaded.
  options.signal?.throwIfAborted()
  const stop = () => end(options.signal?.reason)
  const timer = setTimeout(() => end(timeoutError()), timeoutMs)
  options.signal?.addEventListener('abort', stop, { once: true })

  async function end(reason?: unknown): Promise<void> {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', stop)
    ending.abort(reason)
    await agent.destroy()
  }
  // When we ended it, the error is only the sound of that.
  const blame = (error: unknown) =>
    ending.signal.aborted ? ending.signal.reason : toOutboundError(error)

  async function* read(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let bytes = 0
    try {
      for await (const chunk of body) {
        bytes += chunk.length
        if (bytes > maxBytes) throw tooLargeError(maxBytes)
        yield chunk
      }
      if (broken) throw broken
    } catch (error) {
      throw blame(error)
    } finally {
      await end()
    }
  }

  try {
    for (let redirected = 0; ; redirected++) {
      const { statusCode, headers, body } = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'GET',
        // Packed, a small answer could hold a huge file.
        headers: { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity' },
        reset: true,
      })
      // It may break off before anybody reads it, and an error that nobody listens to ends the
      // process.
      body.on('error', () => {})
      if (redirects.includes(statusCode)) {
        body.destroy()
        if (redirected === maxRedirects)
          throw new OutboundError(
            'bad-answer',
            'The address redirects too often. Give the one where it ends',
          )
        url = redirectedTo(headers.location, url, options)
        continue
      }
      check(statusCode, headers, maxBytes)
      const type = headers['content-type']
      return {
        address: url.href,
        type: typeof type === 'string' ? type : undefined,
        body: read(body),
        close: () => end(),
      }
    }
  } catch (error) {
    const blamed = blame(error)
    await end()
    throw blamed
  }
}

function redirectedTo(
  location: string | string[] | undefined,
  from: URL,
  options: GuardOptions,
): URL {
  const to = typeof location === 'string' ? URL.parse(location, from.href) : null
  if (!to)
    throw new OutboundError('bad-answer', 'The address redirects to nowhere. Check it in a browser')
  try {
    const url = parseOutboundUrl(to.href, options)
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

function check(
  status: number,
  headers: Dispatcher.ResponseData['headers'],
  maxBytes: number,
): void {
  if (status !== 200) throw badStatusError(status)
  const codings = [headers['content-encoding'], headers['transfer-encoding']]
    .flatMap((it) => it ?? [])
    .join()
  if (/[^\s,]/.test(codings.replaceAll(/\b(identity|chunked)\b/gi, '')))
    throw new OutboundError(
      'bad-answer',
      'The server sends the file packed, though it was asked not to. Unpack it and upload it',
    )
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLargeError(maxBytes)
}
