import { hash } from 'node:crypto'
import type { Representation } from './negotiate.ts'

// Conditional requests (RFC 9110, 13). An ETag is "<id>.<revision>.<hash>", with the suffix .json
// if the body is declared application/json: two representations of one version have two ETags. A ~
// separates the version from a hash of other content in the response.

/**
 * Builds the ETag of a version. The hash distinguishes contents with the same revision number,
 * which is assigned again after a restore from a backup or a failover to a standby.
 */
export function versionEtag(id: number, revision: number, body: string): string {
  return `${id}.${revision}.${hash('sha256', body, 'base64url').slice(0, 8)}`
}

/** Returns the revision in an ETag, or undefined if the ETag belongs to another id. */
export function revisionInEtag(etag: string, id: number): number | undefined {
  const [, etagId, revision] = /^(\d{1,16})\.(\d{1,10})\./.exec(etag) ?? []
  return Number(etagId) === id ? Number(revision) : undefined
}

/** Returns the quoted ETag of a version in a representation. */
export function representationEtag(etag: string, as: Representation): string {
  return as === 'json' ? `"${etag}.json"` : `"${etag}"`
}

/**
 * Tells whether If-None-Match contains the current ETag. The comparison is weak: an ETag that a
 * proxy has weakened still matches.
 */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, current: string): boolean {
  if (ifNoneMatch === undefined) return false
  // The first comparison handles nearly all requests without parsing.
  return (
    ifNoneMatch === current ||
    ifNoneMatch.trim() === '*' ||
    parseEtags(ifNoneMatch).some(({ etag }) => `"${etag}"` === current)
  )
}

/** Returns the status of a GET for this ETag: 304 if the client has the same version. */
export function conditionalStatus(
  ifNoneMatch: string | undefined,
  etag: string,
  as: Representation,
): 200 | 304 {
  return matchesIfNoneMatch(ifNoneMatch, representationEtag(etag, as)) ? 304 : 200
}

/**
 * Returns the versions in If-Match, without the suffix of the representation and what follows ~.
 * Weak ETags never match (13.1.1) and are left out. `*` matches any version.
 */
export function ifMatchEtags(ifMatch: string): '*' | string[] {
  if (ifMatch.trim() === '*') return '*'
  return parseEtags(ifMatch)
    .filter(({ isWeak }) => !isWeak)
    .map(({ etag }) => etag.replace(/\.json$/, '').replace(/~.*$/, ''))
}

/**
 * Returns the time of the last change in whole seconds, or undefined within that second: another
 * change in the same second would have the same date.
 */
export function lastModified(updatedMs: number, nowMs: number): number | undefined {
  const second = Math.floor(updatedMs / 1000) * 1000
  return nowMs >= second + 1000 ? second : undefined
}

function parseEtags(header: string): { isWeak: boolean; etag: string }[] {
  return [...header.matchAll(/(W\/)?"([^"]*)"/g)].map(([, weak, etag = '']) => ({
    isWeak: weak !== undefined,
    etag,
  }))
}
