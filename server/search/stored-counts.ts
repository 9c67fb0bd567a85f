import type { Db } from '../platform/db/db.ts'
import { type SearchFilter, storedCounts } from './queries.ts'

// The numbers of talks that triggers maintain (talk_count, talk_cube). They cost the same for any
// number of talks.

/** The parts of a filter that have a stored number together: whole years, language, duration. */
const groupKeys = ['years', 'recordedAfter', 'recordedBefore', 'language', 'duration'] as const

const entityKeys = ['category', 'speaker', 'tag'] as const

/** Tells whether a filter selects whole years, a language or a duration, and nothing else. */
export function isGroupFilter(filter: SearchFilter): boolean {
  return (
    presentKeys(filter).every((key) => groupKeys.includes(key as never)) && hasWholeYears(filter)
  )
}

/**
 * Reads the number of talks that match a filter. It is exact for whole years, a language and a
 * duration, and for a single entity. For other filters it is the lowest number that is known to be
 * high enough.
 */
export async function readStoredCount(
  db: Db,
  filter: SearchFilter,
): Promise<{ count: number; isExact: boolean }> {
  const present = presentKeys(filter)
  const isSingleEntity = present.length === 1 && entityKeys.includes(present[0] as never)
  return {
    count: Math.min(...(await storedCounts(db, filter))),
    isExact: isSingleEntity || isGroupFilter(filter),
  }
}

function presentKeys(filter: SearchFilter): string[] {
  return Object.entries(filter).flatMap(([key, value]) => (value === undefined ? [] : [key]))
}

const hasWholeYears = ({ recordedAfter = '-01-01', recordedBefore = '-12-31' }: SearchFilter) =>
  recordedAfter.endsWith('-01-01') && recordedBefore.endsWith('-12-31')
