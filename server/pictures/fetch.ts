import type { GuardOptions } from '../platform/net/guard.ts'
import { fetchOutbound } from '../platform/net/outbound.ts'

const maxBytes = 8 << 20
const timeoutMs = 5000

/** Downloads an image. The request contains no data of the reader. */
export async function fetchImage(
  address: string,
  options: GuardOptions & { readonly userAgent: string; readonly signal: AbortSignal },
): Promise<Buffer> {
  const { body } = await fetchOutbound(address, {
    quietMs: timeoutMs,
    ...options,
    maxBytes,
    timeoutMs,
  })
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}
