import type { IncomingMessage } from 'node:http'

/**
 * Headers of every response. JSON bodies are declared text/html for old clients, so browsers must
 * not be able to run them as a page.
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Link, Location, RateLimit, Retry-After, X-Request-Id',
}

/**
 * Content-Security-Policy of an SVG or icon that is opened as a page of its own: it runs nothing and
 * loads nothing.
 */
export const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

/**
 * Tells whether a request has exactly one Host header (HTTP/1.0: at most one). Of several, Node
 * silently uses the first, and a proxy may have used another one.
 */
export function hasSingleHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count === 1 || (count === 0 && httpVersion === '1.0')
}
