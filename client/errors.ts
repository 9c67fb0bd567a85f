import type { FieldError, ProblemDocument, ProblemName } from '@talkshelf/contract'

/**
 * An error response of the archive. A newer archive may send a `name` that this version of the
 * client does not know.
 */
export class ApiProblem extends Error {
  override readonly name: ProblemName
  readonly status: number
  readonly detail: string
  readonly errors: readonly FieldError[]
  /** How long the archive asks to wait before the request is repeated. */
  readonly retryAfterMs: number | undefined
  /** The whole problem document. Some problems have more fields, such as `current`, `outcome`. */
  readonly document: ProblemDocument & Record<string, unknown>

  constructor(
    document: ProblemDocument & Record<string, unknown>,
    retryAfter: string | null = null,
  ) {
    super(document.detail)
    this.name = document.type.slice(document.type.lastIndexOf('/') + 1) as ProblemName
    this.status = document.status
    this.detail = document.detail
    this.errors = document.errors ?? []
    // Browsers hide the header from pages of other origins.
    this.retryAfterMs = parseRetryAfter(retryAfter ?? String(document.retry_after))
    this.document = document
  }
}

/** A response that does not come from an archive, but from a proxy or another service. */
export class UnexpectedResponse extends Error {
  override readonly name = 'UnexpectedResponse'
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor({ status, url, headers }: Response) {
    const type = headers.get('content-type') ?? 'no content type'
    super(`${url} answered ${status} with ${type}, which is not a response of Talkshelf`)
    this.status = status
    this.retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? '')
  }
}

/** Parses a Retry-After header: seconds or a date. Returns undefined if it is neither. */
function parseRetryAfter(value: string): number | undefined {
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const ms = Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
