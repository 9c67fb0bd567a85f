import { hash } from 'node:crypto'
import type { Endpoint } from '@talkshelf/contract'
import type { Origin } from '../actor.ts'
import { canonical } from './json.ts'
import type { Asked } from './mount.ts'

/** What a writing feature needs to know of the request: who, on which condition, and a mark to know it again by. */
export function requestOf<E extends Endpoint>(
  endpoint: E,
  { origin, headers, params, body, untilMs }: Asked<E>,
): { origin: Origin; ifMatch: string | undefined; hash: Buffer; untilMs: number } {
  const mark = hash('sha256', `${endpoint.name}\n${canonical(params)}\n${canonical(body ?? null)}`, 'buffer')
  return { origin, ifMatch: headers['if-match'], hash: mark, untilMs }
}
