// Errors of outbound requests. The message is for the user who entered the URL and says what to do;
// `cause` has the technical details for the log.

/** `unreachable` and `too-slow` are transient; the others are permanent. */
export type OutboundErrorCode =
  | 'address-refused'
  | 'unreachable'
  | 'not-found'
  | 'bad-answer'
  | 'too-large'
  | 'too-slow'

export class OutboundError extends Error {
  readonly code: OutboundErrorCode

  constructor(code: OutboundErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutboundError'
    this.code = code
  }
}

/** Converts an error of undici, TLS or the socket. */
export function toOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error
  const { code, name } = error as { code?: unknown; name?: unknown }
  const identifier = `${typeof code === 'string' ? code : name}`
  const kind = kinds.find(({ pattern }) => pattern.test(identifier)) ?? connectionLost
  return new OutboundError(kind.code, kind.message, { cause: error })
}

/**
 * Returns the error for a host that is not public. The message is the same for an unknown name and
 * for a name in the internal network, so that it does not reveal which internal names exist.
 */
export function notPublicError(host: string): OutboundError {
  return new OutboundError(
    'address-refused',
    `No public server has the name or address “${truncate(host)}”. ` +
      'Check the spelling, or upload the file instead',
  )
}

/** Returns the error for a response with another status than 200. */
export function badStatusError(status: number): OutboundError {
  if (status === 404 || status === 410)
    return new OutboundError(
      'not-found',
      `There is nothing at this URL (status ${status}). Check it in a browser`,
    )
  if (status === 401 || status === 403 || status === 407)
    return new OutboundError(
      'bad-answer',
      `The server denied access (status ${status}). Make the file public, or upload it`,
    )
  if (status === 429 || status >= 500)
    return new OutboundError(
      'unreachable',
      `The server is not available (status ${status}). Try again later`,
    )
  return new OutboundError(
    'bad-answer',
    `The server returned status ${status} instead of a file. ` +
      'Check the URL in a browser, or upload the file',
  )
}

/** Returns the error for a URL that redirects more often than is followed. */
export function tooManyRedirectsError(): OutboundError {
  return new OutboundError(
    'bad-answer',
    'The address redirects too often. Give the one where it ends',
  )
}

/** Returns the error for a file that exceeds the size limit. */
export function tooLargeError(maxBytes: number): OutboundError {
  const limit = maxBytes >= 2 ** 20 ? `${Math.floor(maxBytes / 2 ** 20)} MiB` : `${maxBytes} bytes`
  return new OutboundError(
    'too-large',
    `The file is larger than ${limit}, the maximum for downloads. Split it`,
  )
}

/** Returns the error for a download that exceeds its timeout. */
export function timeoutError(options?: ErrorOptions): OutboundError {
  return new OutboundError('too-slow', slow.message, options)
}

function truncate(host: string): string {
  return host.length > 80 ? `${host.slice(0, 80)}…` : host
}

const slow = {
  code: 'too-slow',
  message: 'The server took too long. Try again later, or upload the file',
} as const
const connectionLost = {
  code: 'unreachable',
  message:
    'The server could not be reached, or the connection was lost. Check the URL, or try later',
} as const

/** Kinds of errors, recognized by the code or the name of the original error. */
const kinds: readonly { pattern: RegExp; code: OutboundErrorCode; message: string }[] = [
  { pattern: /TIMEOUT|TIMEDOUT|^TimeoutError$/, ...slow },
  {
    pattern: /OVERFLOW|^HPE_|^HTTPParserError$/,
    code: 'bad-answer',
    message:
      'The server sent no valid HTTP response. Check the URL in a browser, or upload the file',
  },
  {
    pattern: /CERT|SIGNATURE|^ERR_(TLS|SSL)|^EPROTO/,
    code: 'unreachable',
    message:
      'The certificate of the server is not valid. Contact its operators, or upload the file',
  },
]
