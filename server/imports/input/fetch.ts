import { fetchOutbound, OutboundError } from '../../platform/net/outbound.ts'
import { InputRefused } from '../item.ts'

const maxBytes = 64 << 20
const timeoutMs = 60_000

/** Fetches a file from a public server, within limits. Throws `InputRefused` if that fails. */
export async function fetchFile(
  url: string,
  userAgent: string,
): Promise<AsyncIterable<Uint8Array>> {
  try {
    const { body } = await fetchOutbound(url, { maxBytes, timeoutMs, userAgent })
    return translateErrors(body)
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
