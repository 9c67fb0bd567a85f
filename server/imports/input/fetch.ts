import { fetchOutbound, OutboundError } from '../../platform/net/outbound.ts'
import { InputRefused } from '../item.ts'

const maxBytes = 64 << 20
const timeoutMs = 60_000

/** A file behind an address: of a public server, within limits. */
export async function fetchFile(
  address: string,
  userAgent: string,
): Promise<AsyncIterable<Uint8Array>> {
  try {
    const { body } = await fetchOutbound(address, { maxBytes, timeoutMs, userAgent })
    return refusing(body)
  } catch (error) {
    throw explained(error)
  }
}

async function* refusing(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    throw explained(error)
  }
}

function explained(error: unknown): unknown {
  return error instanceof OutboundError ? new InputRefused(error.message) : error
}
