// Builds requests and reads responses.

import { ApiProblem, UnexpectedResponse } from './errors.ts'

/** How to send the request of an endpoint; operations.ts has those of all. */
export interface Operation {
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST'
  /** In OpenAPI syntax: /api/v2/video/{id} */
  readonly path: string
  /** Names of the query parameters. */
  readonly query?: readonly string[]
  /** Names of the request headers that a call can set. */
  readonly headers?: readonly string[]
  /** Media type of the body, if there is one. */
  readonly body?: string
  /** The body is a file instead of JSON. */
  readonly isBinary?: true
  /** Timeout on the server, if the request may take longer than others. */
  readonly timeoutMs?: number
  /** How a page refers to the next one: by its URL, or by a cursor. */
  readonly paging?: 'next' | 'cursor'
}

/** The input of any call: path and query parameters, headers, `body` and options. */
export type AnyInput = Readonly<Record<string, unknown>>

/** Returns the name of the input for a header: ifMatch for If-Match. */
const inputName = (header: string) =>
  header.charAt(0).toLowerCase() + header.slice(1).replaceAll('-', '')

/** Returns the path and query of a request. */
export function requestPath({ path, query = [] }: Operation, input: AnyInput): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(input[name])),
  )
  const params = new URLSearchParams()
  for (const name of query) if (input[name] !== undefined) params.set(name, String(input[name]))
  const text = String(params)
  return text ? `${filled}?${text}` : filled
}

/** Builds the headers of a request. Throws if one has an invalid value. */
export function requestHeaders(
  operation: Operation,
  input: AnyInput,
  token: string | undefined,
): Headers {
  const headers = new Headers({ accept: 'application/json' })
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  if (operation.body) headers.set('content-type', operation.body)
  for (const name of operation.headers ?? []) {
    const value = input[inputName(name)]
    if (value !== undefined) headers.set(name, String(value))
  }
  return headers
}

/** Returns a body as it is sent: a file unchanged, anything else as JSON. */
export function encodeBody(
  { body: type, isBinary }: Operation,
  body: unknown,
): string | Uint8Array<ArrayBuffer> | null {
  if (!type) return null
  return isBinary ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body)
}

/** Reads a response. Throws an `ApiProblem` or an `UnexpectedResponse`. */
export async function readResponse(response: Response) {
  const { status, headers } = response
  const shared = {
    status,
    etag: headers.get('etag') ?? undefined,
    location: headers.get('location') ?? undefined,
  }
  if (status === 304) return { ...shared, data: undefined, notModified: true }
  const [type] = (headers.get('content-type') ?? '').split(';')
  if (!response.ok && type === 'application/problem+json') {
    const document = await readProblem(response)
    if (typeof document?.type !== 'string') throw new UnexpectedResponse(response)
    throw new ApiProblem(document, headers.get('retry-after'))
  }
  if (!response.ok || type !== 'application/json') {
    // Frees the connection.
    await response.body?.cancel()
    throw new UnexpectedResponse(response)
  }
  return { ...shared, data: await response.json(), notModified: false }
}

/** Reads a problem. A proxy may send one that is no JSON. */
async function readProblem(response: Response): Promise<ApiProblem['document'] | undefined> {
  try {
    return (await response.json()) as ApiProblem['document']
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
