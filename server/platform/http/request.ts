import { hash } from 'node:crypto'
import type { Endpoint } from '@talkshelf/contract'
import type { Origin } from '../actor.ts'
import { canonicalJson } from './json.ts'
import type { Call } from './mount.ts'

/**
 * What a writing feature needs to know of the request: who, on which condition, and a mark to know
 * it again by.
 */
export function writeContext<E extends Endpoint>(
  endpoint: E,
  { origin, headers, params, body, untilMs }: Call<E>,
): { origin: Origin; ifMatch: string | undefined; hash: Buffer; untilMs: number } {
  const mark = hash(
    'sha256',
    `${endpoint.name}\n${canonicalJson(params)}\n${canonicalJson(body ?? null)}`,
    'buffer',
  )
  return { origin, ifMatch: headers['if-match'], hash: mark, untilMs }
}
