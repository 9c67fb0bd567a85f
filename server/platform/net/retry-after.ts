/**
 * Parses a Retry-After header (RFC 9110, section 10.2.3): seconds or a date. Returns milliseconds,
 * or undefined if the header is missing or invalid.
 */
export function parseRetryAfter(
  text: string | undefined,
  nowMs: number,
  maxMs: number,
): number | undefined {
  if (text === undefined || text.length > 100) return undefined
  const isSeconds = /^\d{1,9}$/.test(text)
  const delayMs = isSeconds ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isNaN(delayMs) ? undefined : Math.min(maxMs, Math.max(0, delayMs))
}
