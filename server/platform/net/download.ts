import type { Readable } from 'node:stream'
import type { Agent, Dispatcher } from 'undici'
import { type GuardOptions, guardedAgent, parseOutboundUrl } from './guard.ts'
import { OutboundError, timeoutError, toOutboundError } from './outbound-error.ts'

// What outbound requests share: an agent for one download, its timeout, and redirects.

export interface DownloadOptions extends GuardOptions {
  /** Total timeout, including the time in which the caller reads the body. */
  readonly timeoutMs: number
  /** Aborts the download. The promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /** Bytes that a connection receives at most, whatever they are; default: no limit. */
  readonly maxReceivedBytes?: number
}

export type ResponseHeaders = Dispatcher.ResponseData['headers']

export const maxRedirects = 5
export const redirectStatuses = [301, 302, 303, 307, 308]

export interface Download {
  readonly agent: Agent
  /** Runs something that is not part of the download, and whose time does not count. */
  untimed<T>(run: () => Promise<T>): Promise<T>
  /** The error of a connection that was reset, if any. */
  connectionError(): Error | undefined
  /** Returns why the download failed: the reason for which it was ended, or the error itself. */
  reasonFor(error: unknown): unknown
  end(reason?: unknown): Promise<void>
}

/** Creates the agent of one download and starts its timeout. */
export async function startDownload(options: DownloadOptions): Promise<Download> {
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
  let leftMs = timeoutMs
  let startedMs = performance.now()
  let timer = setTimeout(() => end(timeoutError()), leftMs)
  signal?.addEventListener('abort', onAbort, { once: true })

  async function end(reason?: unknown): Promise<void> {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    ending.abort(reason)
    await agent.destroy()
  }
  return {
    agent,
    async untimed(run) {
      clearTimeout(timer)
      leftMs -= performance.now() - startedMs
      try {
        return await run()
      } finally {
        startedMs = performance.now()
        if (!ending.signal.aborted) timer = setTimeout(() => end(timeoutError()), leftMs)
      }
    },
    connectionError: () => broken,
    // After `end`, the error is only a consequence of it.
    reasonFor: (error) => (ending.signal.aborted ? ending.signal.reason : toOutboundError(error)),
    end,
  }
}

/** Returns the URL to which a response redirects. Throws if it may not be requested. */
export function redirectTarget(
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

/** Tells whether a body is compressed, although requests ask for it as it is. */
export function isPacked(headers: ResponseHeaders): boolean {
  const encodings = [headers['content-encoding'], headers['transfer-encoding']]
    .flatMap((value) => value ?? [])
    .join()
  return /[^\s,]/.test(encodings.replaceAll(/\b(identity|chunked)\b/gi, ''))
}

/**
 * Reads the beginning of a body; less if it takes too long or the connection is lost. `isWhole`
 * tells whether the body ended before one of these limits.
 */
export async function readStart(
  body: Readable,
  maxBytes: number,
  timeoutMs?: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = []
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => body.destroy(), timeoutMs)
  let read = 0
  let isWhole = false
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      read += chunk.length
      if (read > maxBytes) break
    }
    isWhole = read <= maxBytes
  } catch {
    // The status is what counts.
  } finally {
    clearTimeout(timer)
  }
  return { bytes: Buffer.concat(chunks).subarray(0, maxBytes), isWhole }
}
