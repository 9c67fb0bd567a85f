import {
  type BodyOf,
  type Endpoint,
  endpoints,
  type FieldError,
  jsonType,
  type ParamsOf,
  type ProblemDocument,
  type ProblemName,
  type QueryOf,
  type RequestHeader,
  type ResultOf,
} from '@talkshelf/contract'

// A typed client for browsers and Node. Its functions are derived from the endpoints of the
// contract.
//
//   const archive = createClient({ baseUrl: 'https://talks.example.org', token })
//   const { data, etag } = await archive.readVideo({ id: 3 })
//   await archive.patchVideo({ id: 3, body: { title: 'A better title' }, ifMatch: etag })

export interface ClientOptions {
  /** The PUBLIC_URL of the archive. It may have a path. */
  baseUrl: string
  token?: string | undefined
  /** Replaces the global fetch, for retries, logging and tests. */
  fetch?: typeof fetch | undefined
}

type Endpoints = typeof endpoints
export type Client = { readonly [Name in keyof Endpoints]: Call<Endpoints[Name]> }

/** Creates a client with one function for each endpoint. */
export function createClient({ baseUrl, token, fetch = globalThis.fetch }: ClientOptions): Client {
  const base = baseUrl.replace(/\/+$/, '')
  async function send(endpoint: Endpoint, input: AnyInput) {
    const headers: Record<string, string> = { accept: jsonType }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    if (endpoint.body) headers['content-type'] = endpoint.body.types[0] ?? jsonType
    for (const name of endpoint.requestHeaders ?? []) {
      const value = input[optionName(name)]
      if (value !== undefined) headers[name] = String(value)
    }
    const body = endpoint.body ? encodeBody(endpoint.body, input.body) : null
    const { method } = endpoint
    const signal = input.signal ?? null
    return readResponse(
      await fetch(base + requestUrl(endpoint, input), { method, headers, body, signal }),
    )
  }
  const calls = Object.entries(endpoints).map(([name, endpoint]) => [
    name,
    (input: AnyInput = {}) => send(endpoint, input),
  ])
  return Object.fromEntries(calls) as Client
}

/**
 * An error response of the archive. A newer archive may send a `name` that this version of the
 * client does not know.
 */
export class ApiProblem extends Error {
  override readonly name: ProblemName
  readonly status: number
  readonly detail: string
  readonly errors: readonly FieldError[]
  /** The whole problem document. Some problems have more fields, such as `current`, `outcome`. */
  readonly document: ProblemDocument & Record<string, unknown>

  constructor(document: ProblemDocument & Record<string, unknown>) {
    super(document.detail)
    this.name = document.type.slice(document.type.lastIndexOf('/') + 1) as ProblemName
    this.status = document.status
    this.detail = document.detail
    this.errors = document.errors ?? []
    this.document = document
  }
}

/** A response that does not come from an archive, but from a proxy or another service. */
export class UnexpectedResponse extends Error {
  override readonly name = 'UnexpectedResponse'
  readonly status: number

  constructor({ status, url, headers }: Response) {
    const type = headers.get('content-type') ?? 'no content type'
    super(`${url} answered ${status} with ${type}, which is not a response of Talkshelf`)
    this.status = status
  }
}

/** The input of a call, in one object: path and query parameters, headers, `body`, `signal`. */
export type CallInput<E extends Endpoint> = ParamsOf<E> &
  QueryOf<E> &
  BodyInput<E> &
  HeaderInput<E> & { signal?: AbortSignal | undefined }

/** A successful response with a body; `notModified` distinguishes it from a 304. */
export interface ClientResponse<E extends Endpoint> {
  data: ResultOf<E>
  status: E['response']['status']
  etag: E['response'] extends { etag: true } ? string : undefined
  location: E['response'] extends { location: true } ? string : undefined
  notModified: false
}

/** The version in `ifNoneMatch` is the current one. */
export interface NotModified {
  data: undefined
  status: 304
  etag: string | undefined
  location: undefined
  notModified: true
}

type BodyInput<E extends Endpoint> = E extends { body: object } ? { body: BodyOf<E> } : object
type HeaderOf<E extends Endpoint> = E extends {
  requestHeaders: readonly (infer Name extends RequestHeader)[]
}
  ? Name
  : never
type HeaderInput<E extends Endpoint> = {
  [Name in HeaderOf<E> as OptionName<Name>]?: string | undefined
}
type OptionName<Name extends string> = Uncapitalize<WithoutHyphens<Name>>
type WithoutHyphens<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}${WithoutHyphens<Rest>}`
  : Name

// NotModified is part of the result type only if a call has a condition, so that other calls need
// no check of `data`.
type Conditional<E extends Endpoint> = OptionName<
  Extract<HeaderOf<E>, 'If-None-Match' | 'If-Modified-Since'>
>
type Call<E extends Endpoint> = [Conditional<E>] extends [never]
  ? (...input: Arguments<CallInput<E>>) => Promise<ClientResponse<E>>
  : {
      (
        ...input: Arguments<
          Omit<CallInput<E>, Conditional<E>> & { [Name in Conditional<E>]?: undefined }
        >
      ): Promise<ClientResponse<E>>
      (input: CallInput<E>): Promise<ClientResponse<E> | NotModified>
    }
type Arguments<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

type AnyInput = Record<string, unknown> & { signal?: AbortSignal }

function optionName(header: string): string {
  return header.charAt(0).toLowerCase() + header.slice(1).replaceAll('-', '')
}

/** Returns a body as it is sent: a file unchanged, anything else as JSON. */
function encodeBody(
  { isBinary }: NonNullable<Endpoint['body']>,
  body: unknown,
): string | Uint8Array<ArrayBuffer> {
  return isBinary ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body)
}

function requestUrl(endpoint: Endpoint, input: AnyInput): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(input[name])),
  )
  const query = new URLSearchParams()
  for (const name of Object.keys(endpoint.query ?? {}))
    if (input[name] !== undefined) query.set(name, String(input[name]))
  return query.size > 0 ? `${path}?${query}` : path
}

async function readResponse(response: Response) {
  const { status, headers } = response
  const shared = {
    status,
    etag: headers.get('etag') ?? undefined,
    location: headers.get('location') ?? undefined,
  }
  if (status === 304) return { ...shared, data: undefined, notModified: true }
  const [type] = (headers.get('content-type') ?? '').split(';')
  if (!response.ok && type === 'application/problem+json')
    throw new ApiProblem((await response.json()) as ApiProblem['document'])
  if (!response.ok || type !== jsonType) throw new UnexpectedResponse(response)
  return { ...shared, data: await response.json(), notModified: false }
}
