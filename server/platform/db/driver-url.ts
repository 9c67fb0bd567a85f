/**
 * Returns the URL for the driver: it verifies the certificate in the modes prefer, require and
 * verify-ca as well, and prints a long warning that this will change. With verify-full it does the
 * same without the warning, and will not change.
 */
export function driverUrl(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}
