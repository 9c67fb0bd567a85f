// Public interface of the catalogue: lists of records, related records, statistics, and the search
// parameters of page URLs. It only reads, and compacts its counts once a day; other features and
// triggers.sql write these tables.

export { listRecords, type RecordPage } from './list.ts'
export { programmeOrdering } from './ordering.ts'
export { compactCube, findListedBodies, listEventSpeakers } from './queries.ts'
export { findRecordIds } from './record-ids.ts'
export { findRelated } from './related.ts'
export { parseSearchParams } from './search-parameters.ts'
export {
  openStatisticsCache,
  readCommonTags,
  readEvents,
  readStatistics,
  type StatisticsCache,
} from './statistics/statistics.ts'
