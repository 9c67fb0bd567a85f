import {
  type DownloadOptions,
  isPacked,
  maxRedirects,
  type ResponseHeaders,
  readStart,
  redirectStatuses,
  redirectTarget,
  startDownload,
} from './download.ts'
import { parseOutboundUrl } from './guard.ts'
import { OutboundError, tooManyRedirectsError } from './outbound-error.ts'

// Asks a foreign server about a URL. Unlike `fetchOutbound`, it wants to know how the server
// answers, whatever the status, and not the file.

export const maxProbeBytes = 64 * 1024

/** What a probe asks. */
export interface ProbeRequest {
  readonly url: string
  /** Default: GET. */
  readonly method?: 'GET' | 'HEAD'
  /** Further headers, in lower case. After a redirect to another host, most are left out. */
  readonly headers?: Readonly<Record<string, string>>
  /** Redirects that are followed at most; default: 5. */
  readonly maxRedirects?: number
}

export interface ProbeOptions extends Omit<DownloadOptions, 'maxReceivedBytes'> {
  /** Talkshelf/<version> (+PUBLIC_URL) */
  readonly userAgent: string
  /** Bytes of the body that are read; then the connection is closed. Default: 64 KiB. */
  readonly maxBytes?: number
  /**
   * Tells whether a redirect may be followed; default: all that the guard allows. It may take its
   * time. Its errors reach the caller as they are.
   */
  readonly mayFollow?: (url: URL) => boolean | Promise<boolean>
}

export interface ProbeRedirect {
  readonly status: number
  /** The URL that it leads to. */
  readonly url: string
}

export interface ProbeAnswer {
  readonly status: number
  readonly headers: Readonly<Partial<Record<ProbeHeader, string>>>
  /** The URL after all redirects. */
  readonly finalUrl: string
  readonly redirects: readonly ProbeRedirect[]
  /** The beginning of the body as text. Empty if the server compressed it. */
  readonly body: string
  /** Whether the body is longer than what was read, or the connection was lost. */
  readonly isCut: boolean
  /** Why the redirect in this answer was not followed to another answer. */
  readonly stopped?: OutboundError
}

const probeHeaders = [
  'content-type',
  'content-length',
  'content-range',
  'retry-after',
  'location',
  'date',
] as const
export type ProbeHeader = (typeof probeHeaders)[number]

/** How much longer a body can be on its way: chunks of one byte take six. */
const maxOverhead = 6
/** The head of an answer, and what TLS and the buffers of a connection add to it. */
const maxHeadBytes = 256 * 1024

/** Headers that are safe to send to whatever host a server redirects to. */
const harmlessHeaders = ['accept', 'range']

/**
 * Sends one request to a public server and returns its answer, whatever the status. A redirect that
 * cannot be followed is an answer too. Throws an OutboundError if there is no HTTP answer.
 */
export async function probeOutbound(
  request: ProbeRequest,
  options: ProbeOptions,
): Promise<ProbeAnswer> {
  const { signal } = options
  signal?.throwIfAborted()
  const firstUrl = parseOutboundUrl(request.url, options)
  const { maxBytes = maxProbeBytes } = options
  const maxReceivedBytes = maxOverhead * maxBytes + maxHeadBytes
  const download = await startDownload({ ...options, maxReceivedBytes })
  const redirects: ProbeRedirect[] = []
  const limit = Math.min(request.maxRedirects ?? maxRedirects, maxRedirects)
  /** The last redirect, which is the answer if it leads nowhere. */
  let last: ProbeAnswer | undefined
  let failure: { readonly error: unknown } | undefined
  try {
    for (let url = firstUrl; ; ) {
      const { answer, target } = await ask(url)
      if (!target) return answer
      last = answer
      if (redirects.length === limit) {
        if (request.maxRedirects !== undefined) return answer
        throw tooManyRedirectsError()
      }
      url = redirectTarget(target.location, url, options)
      if (!(await mayFollow(url))) return answer
      redirects.push({ status: answer.status, url: url.href })
    }
  } catch (error) {
    if (failure) throw failure.error
    const reason = download.reasonFor(error)
    if (!last || !(reason instanceof OutboundError)) throw reason
    return { ...last, stopped: reason }
  } finally {
    await download.end()
  }

  async function mayFollow(url: URL): Promise<boolean> {
    try {
      return await download.untimed(async () => options.mayFollow?.(url) ?? true)
    } catch (error) {
      failure = { error }
      throw error
    }
  }

  async function ask(url: URL) {
    const method = request.method ?? 'GET'
    const response = await download.agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: {
        'user-agent': options.userAgent,
        accept: '*/*',
        'accept-encoding': 'identity',
        ...headersFor(request, url.origin === firstUrl.origin),
      },
      reset: true,
    })
    const { statusCode: status, headers, body } = response
    // Without a listener, an error before the body is read would end the process.
    body.on('error', () => {})
    const isRedirect = redirectStatuses.includes(status)
    const isRead = method === 'GET' && !isRedirect && !isPacked(headers)
    const { text, isCut } = isRead ? await read(body) : { text: '', isCut: false }
    if (!isRead) body.destroy()
    signal?.throwIfAborted()
    const answer: ProbeAnswer = {
      status,
      headers: pickHeaders(headers),
      finalUrl: url.href,
      redirects: [...redirects],
      body: text,
      isCut,
    }
    return isRedirect ? { answer, target: { location: headers.location } } : { answer }
  }

  async function read(body: Parameters<typeof readStart>[0]) {
    const { bytes, isWhole } = await readStart(body, maxBytes)
    return { text: bytes.toString('utf8'), isCut: !isWhole || !!download.connectionError() }
  }
}

function headersFor({ headers = {} }: ProbeRequest, isFirstHost: boolean) {
  const sent = Object.entries(headers).filter(
    ([name]) => isFirstHost || harmlessHeaders.includes(name),
  )
  return Object.fromEntries(sent)
}

function pickHeaders(headers: ResponseHeaders): ProbeAnswer['headers'] {
  return Object.fromEntries(
    probeHeaders.flatMap((name) => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}
