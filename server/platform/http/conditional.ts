import { hash } from 'node:crypto'
import type { Representation } from './negotiate.ts'

// Entity tags and dates (RFC 9110, 13). A tag of ours is "<id>.<revision>.<hash>", and ends in
// .json where the same body is declared application/json: two representations, two tags, one
// version. Behind a ~ stands what else an answer tells beside the version.

/**
 * The hash is there for the day on which a database comes back from a backup or a standby and gives
 * a revision number out again: another content has another tag, and a cache that kept the old one
 * notices.
 */
export function versionEtag(id: number, revision: number, body: string): string {
  return `${id}.${revision}.${hash('sha256', body, 'base64url').slice(0, 8)}`
}

/** The revision of this id that a tag speaks of. */
export function revisionInEtag(tag: string, id: number): number | undefined {
  const [, ofId, revision] = /^(\d{1,16})\.(\d{1,10})\./.exec(tag) ?? []
  return Number(ofId) === id ? Number(revision) : undefined
}

export function representationEtag(tag: string, as: Representation): string {
  return as === 'json' ? `"${tag}.json"` : `"${tag}"`
}

/** If-None-Match compares weakly: a tag that a proxy weakened still means the same bytes. */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, current: string): boolean {
  if (ifNoneMatch === undefined) return false
  // Nearly always it is the one tag that we gave.
  return (
    ifNoneMatch === current ||
    ifNoneMatch.trim() === '*' ||
    tags(ifNoneMatch).some(({ tag }) => `"${tag}"` === current)
  )
}

/**
 * The versions that If-Match names, whatever their representation and whatever is told beside; weak
 * tags never match (13.1.1). `*` means any.
 */
export function ifMatchEtags(ifMatch: string): '*' | string[] {
  if (ifMatch.trim() === '*') return '*'
  return tags(ifMatch)
    .filter(({ weak }) => !weak)
    .map(({ tag }) => tag.replace(/\.json$/, '').replace(/~.*$/, ''))
}

/**
 * The moment of the last change in whole seconds, once its second is over: a second change in the
 * same second would leave the date as it is, and the date would lie.
 */
export function lastModified(updatedMs: number, nowMs: number): number | undefined {
  const second = Math.floor(updatedMs / 1000) * 1000
  return nowMs >= second + 1000 ? second : undefined
}

function tags(header: string): { weak: boolean; tag: string }[] {
  return [...header.matchAll(/(W\/)?"([^"]*)"/g)].map(([, weak, tag = '']) => ({
    weak: weak !== undefined,
    tag,
  }))
}
