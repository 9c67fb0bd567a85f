// What can go wrong outside, in words for whoever gave the address: what is wrong, and what to do.
// The story below is in `cause`, for the log.

/** `unreachable` and `too-slow` may pass; the others stay until somebody changes something. */
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
    this.name = 'OutsideError'
    this.code = code
  }
}

/** What undici, TLS or the socket says. */
export function toOutboundError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error
  const { code, name } = error as { code?: unknown; name?: unknown }
  const known =
    kinds.find(({ means }) => means.test(`${typeof code === 'string' ? code : name}`)) ?? lost
  return new OutboundError(known.code, known.message, { cause: error })
}

/**
 * The same words, whether there is no such name or it stands for something inside: nobody learns
 * here which names we have.
 */
export function notPublicError(host: string): OutboundError {
  return new OutboundError(
    'address-refused',
    `No server on the public internet has the name or address “${shortened(host)}”. Check the spelling; what is not public has to be uploaded as a file`,
  )
}

/** For an answer that is no file. */
export function badStatusError(status: number): OutboundError {
  if (status === 404 || status === 410)
    return new OutboundError(
      'not-found',
      `There is nothing at this address (status ${status}). Check it in a browser`,
    )
  if (status === 401 || status === 403 || status === 407)
    return new OutboundError(
      'bad-answer',
      `The server does not let us in (status ${status}). Make the file public, or upload it`,
    )
  if (status === 429 || status >= 500)
    return new OutboundError(
      'unreachable',
      `The server cannot answer at the moment (status ${status}). Try again later`,
    )
  return new OutboundError(
    'bad-answer',
    `The server sends no file but status ${status}. Check the address in a browser, or upload the file`,
  )
}

export function tooLargeError(maxBytes: number): OutboundError {
  const limit = maxBytes >= 2 ** 20 ? `${Math.floor(maxBytes / 2 ** 20)} MiB` : `${maxBytes} bytes`
  return new OutboundError(
    'too-large',
    `The file has more than ${limit}, which is the most that is fetched. Split it`,
  )
}

export function timeoutError(options?: ErrorOptions): OutboundError {
  return new OutboundError('too-slow', slow.message, options)
}

function shortened(host: string): string {
  return host.length > 80 ? `${host.slice(0, 80)}…` : host
}

const slow = {
  code: 'too-slow',
  message: 'The server took too long. Try again later, or upload the file',
} as const
const lost = {
  code: 'unreachable',
  message:
    'The server could not be reached, or the connection broke off. Check the address, or try again later',
} as const

const kinds: readonly { means: RegExp; code: OutboundErrorCode; message: string }[] = [
  { means: /TIMEOUT|TIMEDOUT|^TimeoutError$/, ...slow },
  {
    means: /OVERFLOW|^HPE_|^HTTPParserError$/,
    code: 'bad-answer',
    message:
      'The server does not answer as a web server should. Check the address in a browser, or upload the file',
  },
  {
    means: /CERT|SIGNATURE|^ERR_(TLS|SSL)|^EPROTO/,
    code: 'unreachable',
    message:
      'No secure connection was possible: the certificate of the server is not valid. Tell those who run it, or upload the file',
  },
]
