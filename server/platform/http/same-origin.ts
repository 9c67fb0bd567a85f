import { Problem } from '@talkshelf/contract'
import type { FastifyRequest } from 'fastify'

type Headers = FastifyRequest['headers']

/**
 * Throws `forbidden` unless a page of this site sent the request. Every browser of today says so in
 * Sec-Fetch-Site; older ones send Origin. A request with neither is refused.
 */
export function assertSameOrigin(headers: Headers, publicOrigin: string | undefined): void {
  const site = headers['sec-fetch-site']
  const isSame =
    site === undefined
      ? headers.origin !== undefined && headers.origin === siteOrigin(headers, publicOrigin)
      : site === 'same-origin'
  if (!isSame)
    throw new Problem('forbidden', 'This form was not sent by a page of this site. Open it again.')
}

/**
 * Returns the origin under which a browser reached the site: that of PUBLIC_URL, or of the Host
 * header if it is not set.
 */
export function siteOrigin(headers: Headers, publicOrigin: string | undefined): string {
  return publicOrigin ?? `http://${headers.host ?? ''}`
}

/** Tells whether a Host header names this machine. */
export function isLocalHost(host: string | undefined): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(host ?? '')
}
