// Limits what a foreign server can send, in bytes and in time.

const maxBytes = 64 << 20
const maxMs = 120_000

/** Fetches like the global function, but rejects responses that are too large or take too long. */
export const boundedFetch: typeof fetch = async (input, init) => {
  const timeout = AbortSignal.timeout(maxMs)
  const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout
  const response = await fetch(input, { ...init, signal, redirect: 'error' })
  if (!response.body) return response
  let bytes = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length
      if (bytes > maxBytes) controller.error(new Error(`The response exceeds ${maxBytes} bytes`))
      else controller.enqueue(chunk)
    },
  })
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers })
}
