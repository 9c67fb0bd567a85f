import {
  type FileValidators,
  fetchOutbound,
  OutboundError,
  type OutboundOptions,
} from '../../platform/net/outbound.ts'
import { InputRefused } from '../item.ts'

const maxBytes = 64 << 20
const timeoutMs = 60_000

/** Fetches a file from a public server, within limits. Throws `InputRefused` if that fails. */
export async function fetchFile(
  url: string,
  userAgent: string,
): Promise<AsyncIterable<Uint8Array>> {
  return (await fetchVersion(url, { userAgent })).body
}

/** A file that was fetched. */
export interface FetchedFile {
  /** Whether it has not changed since `unless`. Then the body is empty. */
  readonly isUnchanged: boolean
  readonly validators: FileValidators
  readonly body: AsyncIterable<Uint8Array>
  /** Closes the connection of a body that is not read. */
  readonly close: () => Promise<void>
}

/** Fetches a file as `fetchFile` does, and tells which version it is. */
export async function fetchVersion(
  url: string,
  options: Omit<OutboundOptions, 'maxBytes' | 'timeoutMs'>,
): Promise<FetchedFile> {
  try {
    const file = await fetchOutbound(url, { maxBytes, timeoutMs, ...options })
    const { isUnchanged, validators, close } = file
    return { isUnchanged, validators, body: translateErrors(file.body), close }
  } catch (error) {
    throw translateError(error)
  }
}

async function* translateErrors(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw translateError(error)
  }
}

function translateError(error: unknown): unknown {
  return error instanceof OutboundError ? new InputRefused(error.message, error.code) : error
}
