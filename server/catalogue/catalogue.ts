// The front door. What there is, and in which order: reads what other features write, and writes
// nothing.

export { collectionResponse } from './collection-response.ts'
export { listEntities } from './entity-list.ts'
export { listRecords } from './list.ts'
export { buildPage, type ListPage, maxExactCount, pagePosition } from './page.ts'
export type { ListedKind } from './queries.ts'
export { findRelated } from './related.ts'
export { parseSearchParams } from './search-parameters.ts'
export {
  openStatisticsCache,
  readCommonTags,
  readEvents,
  readStatistics,
  type StatisticsCache,
} from './statistics/statistics.ts'
