// The front door. What there is, and in which order: reads what other features write, and writes nothing.
export {
  commonTags,
  events,
  type KeptAlmanac,
  openAlmanac,
  statistics,
} from './almanac/almanac.ts'
export { listRecords } from './list.ts'
export { mostCounted, type Page, pageOf, placeOf } from './page.ts'
export type { Kind } from './queries.ts'
export { relatedTo } from './related.ts'
export { readSearch } from './search-parameters.ts'
export { sent } from './sent.ts'
export { listThingsOf } from './things.ts'
