import { hash } from 'node:crypto'
import type { Endpoint } from '@talkshelf/contract'
import type { Origin } from '../actor.ts'
import { canonicalJson } from './json.ts'
import type { Call } from './mount.ts'

/**
 * Returns what a write needs of its request: the origin, the precondition, the deadline and a hash
 * that recognizes a repeated request.
 */
export function writeContext<E extends Endpoint>(
  endpoint: E,
  { origin, headers, params, body, untilMs }: Call<E>,
): { origin: Origin; ifMatch: string | undefined; hash: Buffer; untilMs: number } {
  const requestHash = hash(
    'sha256',
    `${endpoint.name}\n${canonicalJson(params)}\n${canonicalJson(body ?? null)}`,
    'buffer',
  )
  return { origin, ifMatch: headers['if-match'], hash: requestHash, untilMs }
}
