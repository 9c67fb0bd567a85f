import type {
  BodyOf,
  Endpoint,
  endpoints,
  ParamsOf,
  QueryOf,
  RequestHeader,
  ResultOf,
  SparseVideo,
} from '@talkshelf/contract'
import { operations } from './operations.ts'
import { allEntries } from './pages.ts'
import {
  type AnyInput,
  encodeBody,
  type Operation,
  readResponse,
  requestHeaders,
  requestPath,
} from './request.ts'
import { withRetries, withTimeout } from './retry.ts'

export { ApiProblem, UnexpectedResponse } from './errors.ts'

// A typed client for Node and browsers; pages of other sites can only read. Its functions are
// derived from the endpoints of the contract, from which it imports types only.
//
//   const archive = createClient({ baseUrl: 'https://talks.example.org', token })
//   const { data, etag } = await archive.readVideo({ id: 3 })
//   await archive.patchVideo({ id: 3, body: { title: 'A better title' }, ifMatch: etag })
//   for await (const { title } of archive.all.listVideos({ language: 'German' })) show(title)

export interface ClientOptions {
  /** The PUBLIC_URL of the archive. It may have a path. */
  baseUrl: string
  token?: string | undefined
  /**
   * Timeout of each attempt, in milliseconds. Default: 30,000. Longer for requests that the server
   * holds open, and for those that wait for other servers. `Infinity` disables it.
   */
  timeoutMs?: number | undefined
  /** How often a request that failed temporarily is repeated at most. Default: 2. */
  retries?: number | undefined
  /** No attempt starts later than this after the first one, in milliseconds. Default: 30,000. */
  maxRetryMs?: number | undefined
  /** Replaces the global fetch, for logging and tests. */
  fetch?: typeof fetch | undefined
}

type Endpoints = typeof endpoints
/** One function for each endpoint, and one in `all` for each list. */
export type Client = { readonly [Name in keyof Endpoints]: Call<Endpoints[Name]> } & {
  readonly all: AllLists
}

const defaultTimeoutMs = 30_000
const defaultRetries = 2
const defaultMaxRetryMs = 30_000

/** Creates a client with one function for each endpoint. */
export function createClient({
  baseUrl,
  token,
  timeoutMs,
  retries = defaultRetries,
  maxRetryMs = defaultMaxRetryMs,
  fetch = globalThis.fetch,
}: ClientOptions): Client {
  const base = baseUrl.replace(/\/+$/, '')

  async function send(operation: Operation, input: AnyInput) {
    const { method } = operation
    const options = input as CallOptions
    const url = base + requestPath(operation, input)
    const headers = requestHeaders(operation, input, token)
    const body = encodeBody(operation, input.body)
    const attemptMs = options.timeoutMs ?? clientTimeoutMs(operation, input)
    const retryOptions = {
      retries: options.retries ?? retries,
      maxRetryMs,
      isIdempotent: method === 'GET' || hasOneEffect(headers),
      signal: options.signal,
    }
    return withRetries(retryOptions, () =>
      withTimeout(attemptMs, options.signal, async (signal) =>
        readResponse(await fetch(url, { method, headers, body, signal })),
      ),
    )
  }

  /** Returns the timeout of calls that have none of their own. */
  function clientTimeoutMs({ timeoutMs: serverMs = 0 }: Operation, { wait = 0 }: AnyInput): number {
    return (timeoutMs ?? defaultTimeoutMs + serverMs) + Number(wait) * 1000
  }

  const named = Object.entries(operations)
  const calls = named.map(([name, operation]) => [
    name,
    (input: AnyInput = {}) => send(operation, input),
  ])
  const lists = named
    .filter(([, operation]) => operation.paging)
    .map(([name, operation]) => [
      name,
      (input: AnyInput = {}) => allEntries(operation, input, (page) => send(operation, page)),
    ])
  return { ...Object.fromEntries(calls), all: Object.fromEntries(lists) } as Client
}

/**
 * Tells whether the archive recognizes a repeated write. `If-Match: *` matches any version, also
 * one that others wrote in between.
 */
function hasOneEffect(headers: Headers): boolean {
  const ifMatch = headers.get('if-match') || '*'
  return ifMatch.trim() !== '*' || headers.has('idempotency-key')
}

/** Options of a single call. */
export interface CallOptions {
  /** Ends the call, also while it waits to be repeated. */
  signal?: AbortSignal | undefined
  /** Replaces the `timeoutMs` of the client. */
  timeoutMs?: number | undefined
  /** Replaces the `retries` of the client. */
  retries?: number | undefined
}

/** The input of a call, in one object: path and query parameters, headers, `body` and options. */
export type CallInput<E extends Endpoint> = ParamsOf<E> &
  QueryOf<E> &
  BodyInput<E> &
  HeaderInput<E> &
  CallOptions

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
// With `fields`, records have some of their fields, and without it all.
type Fields<E extends Endpoint> = Extract<keyof QueryOf<E>, 'fields'>
type Without<Input, Names extends PropertyKey> = Omit<Input, Names> & {
  [Name in Names]?: undefined
}
type Sparse<E extends Endpoint> = Omit<ClientResponse<E>, 'data'> & {
  data: Omit<ResultOf<E>, 'results'> & { results: SparseVideo[] }
}

type Call<E extends Endpoint> = ([Fields<E>] extends [never]
  ? unknown
  : CallOf<E, CallInput<E> & { [Name in Fields<E>]: string }, Sparse<E>>) &
  CallOf<E, Without<CallInput<E>, Fields<E>>, ClientResponse<E>>
type CallOf<E extends Endpoint, Input, Response> = [Conditional<E>] extends [never]
  ? (...input: Arguments<Input>) => Promise<Response>
  : {
      (...input: Arguments<Without<Input, Conditional<E>>>): Promise<Response>
      (input: Input): Promise<Response | NotModified>
    }
type Arguments<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

/** Functions that yield the entries of all pages of a list. */
type AllLists = {
  readonly [Name in keyof Endpoints as [EntryOf<Endpoints[Name]>] extends [never]
    ? never
    : Name]: AllEntries<Endpoints[Name]>
}
type AllEntries<E extends Endpoint> = ([Fields<E>] extends [never]
  ? unknown
  : EntriesOf<Omit<CallInput<E>, Conditional<E>> & { [Name in Fields<E>]: string }, SparseVideo>) &
  EntriesOf<Without<Omit<CallInput<E>, Conditional<E>>, Fields<E>>, EntryOf<E>>
type EntriesOf<Input, Entry> = (
  ...input: Arguments<Input>
) => AsyncGenerator<Entry, void, undefined>
/** The type of an entry of a list with pages, else never. */
type EntryOf<E extends Endpoint> =
  ResultOf<E> extends { results: readonly (infer Entry)[] } & (
    | { next: string | null }
    | { cursor: string; more: boolean }
  )
    ? Entry
    : never
