import { type SourceState, unavailableStates } from '@talkshelf/contract'
import type { Db } from '../../platform/db/db.ts'
import {
  type ExaminedFilter,
  type ExaminedSource,
  listExaminedSources,
  listUnhealthyHosts,
  type UnhealthyHost,
} from './queries.ts'

// What editors see of sources: unhealthy ones, by host and event, and why.

export const unhealthyStates = ['suspect', ...unavailableStates] as const

const maxHosts = 50
/** If there are more, hosts are counted among these. */
const maxCounted = 50_000

/** Lists the hosts with the most unhealthy sources. */
export function readUnhealthyHosts(db: Db): Promise<UnhealthyHost[]> {
  return listUnhealthyHosts(db, maxHosts, maxCounted)
}

export interface ExaminedPage {
  readonly sources: readonly ExaminedSource[]
  /** The source after which the next page begins, if there are more. */
  readonly next: number | undefined
}

/** Lists unhealthy sources, or all of a record, with what their checks found. */
export async function readExaminedSources(
  db: Db,
  {
    state,
    size,
    after = 0,
    ...filter
  }: Pick<ExaminedFilter, 'host' | 'event' | 'talk'> & {
    readonly state?: SourceState | undefined
    readonly after?: number | undefined
    readonly size: number
  },
): Promise<ExaminedPage> {
  const states = unhealthyStates.filter((each) => state === undefined || each === state)
  const found = await listExaminedSources(db, { ...filter, states, after, limit: size + 1 })
  const sources = found.slice(0, size)
  return { sources, next: found.length > size ? sources.at(-1)?.id : undefined }
}
