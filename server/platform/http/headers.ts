import type { IncomingMessage } from 'node:http'

/**
 * On every answer. A JSON body is declared text/html for old clients: even so it must never act as
 * a page.
 */
export const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Link, Location, RateLimit, Retry-After, X-Request-Id',
}

/**
 * Node keeps the first of several and tells nobody; what stands before us may have looked at
 * another one.
 */
export function hasSingleHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count === 1 || (count === 0 && httpVersion === '1.0')
}
