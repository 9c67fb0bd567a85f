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

// A client of an archive, in browsers and in Node. Its functions are the endpoints of the contract:
// none is written by hand.
//
//   const archive = createClient({ baseUrl: 'https://talks.example.org', token })
//   const { data, etag } = await archive.readVideo({ id: 3 })
//   await archive.patchVideo({ id: 3, body: { title: 'A better title' }, ifMatch: etag })

export interface ClientOptions {
  /** Where the archive is, as its PUBLIC_URL says; it may have a path. */
  baseUrl: string
  token?: string | undefined
  /** Instead of the global one: for retries, logs and tests. */
  fetch?: typeof fetch | undefined
}

type Endpoints = typeof endpoints
export type Client = { readonly [Name in keyof Endpoints]: Call<Endpoints[Name]> }

export function createClient({ baseUrl, token, fetch = globalThis.fetch }: ClientOptions): Client {
  const base = baseUrl.replace(/\/+$/, '')
  async function send(it: Endpoint, input: Given) {
    const headers: Record<string, string> = { accept: jsonType }
    if (token !== undefined) headers.authorization = `Bearer ${token}`
    if (it.body) headers['content-type'] = it.body.types[0] ?? jsonType
    for (const name of it.requestHeaders ?? []) {
      const value = input[optionName(name)]
      if (value !== undefined) headers[name] = String(value)
    }
    const body = it.body ? JSON.stringify(input.body) : null
    return answerOf(
      await fetch(base + addressOf(it, input), {
        method: it.method,
        headers,
        body,
        signal: input.signal ?? null,
      }),
    )
  }
  const calls = Object.entries(endpoints).map(([name, it]) => [
    name,
    (input: Given = {}) => send(it, input),
  ])
  return Object.fromEntries(calls) as Client
}

/**
 * The archive refused, and says why. A newer archive may have names that this client does not know
 * yet.
 */
export class ApiProblem extends Error {
  override readonly name: ProblemName
  readonly status: number
  readonly detail: string
  readonly errors: readonly FieldError[]
  /** All that was sent: some problems have more, such as `current` or `outcome`. */
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

/**
 * Something answered, but not as an archive does: a proxy on the way, or another service at this
 * address.
 */
export class UnexpectedResponse extends Error {
  override readonly name = 'UnexpectedAnswer'
  readonly status: number

  constructor({ status, url, headers }: Response) {
    super(
      `${url} answered ${status} with ${headers.get('content-type') ?? 'no content type'}, which is no answer of an archive`,
    )
    this.status = status
  }
}

/**
 * What a call takes, in one flat object: path and query parameters by their names, `body`, request
 * headers, `signal`.
 */
export type CallInput<E extends Endpoint> = ParamsOf<E> &
  QueryOf<E> &
  BodyInput<E> &
  HeaderInput<E> & { signal?: AbortSignal | undefined }

export interface ClientResponse<E extends Endpoint> {
  data: ResultOf<E>
  status: E['response']['status']
  etag: E['response'] extends { etag: true } ? string : undefined
  location: E['response'] extends { location: true } ? string : undefined
  notModified: false
}

/** The version that `ifNoneMatch` names is still the current one. */
export interface NotModified {
  data: undefined
  status: 304
  etag: string | undefined
  location: undefined
  notModified: true
}

type BodyInput<E extends Endpoint> = E extends { body: object } ? { body: BodyOf<E> } : object
type Heard<E extends Endpoint> = E extends {
  requestHeaders: readonly (infer Name extends RequestHeader)[]
}
  ? Name
  : never
type HeaderInput<E extends Endpoint> = {
  [Name in Heard<E> as OptionName<Name>]?: string | undefined
}
type OptionName<Name extends string> = Uncapitalize<Joined<Name>>
type Joined<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}${Joined<Rest>}`
  : Name

// Only who asks for it is told that nothing changed: for everyone else `data` is there, and need
// not be looked for.
type Conditional<E extends Endpoint> = OptionName<
  Extract<Heard<E>, 'If-None-Match' | 'If-Modified-Since'>
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
type Arguments<Given> = Record<never, never> extends Given ? [input?: Given] : [input: Given]

type Given = Record<string, unknown> & { signal?: AbortSignal }

function optionName(header: string): string {
  return header.charAt(0).toLowerCase() + header.slice(1).replaceAll('-', '')
}

function addressOf(it: Endpoint, input: Given): string {
  const path = it.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(input[name])),
  )
  const query = new URLSearchParams()
  for (const name of Object.keys(it.query ?? {}))
    if (input[name] !== undefined) query.set(name, String(input[name]))
  return query.size > 0 ? `${path}?${query}` : path
}

async function answerOf(response: Response) {
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
