// The front door. Reads only: the rows that are searched are written by the database with every write of a record (0007.do.search.sql).
export { type Facets, facetsOf } from './facets.ts'
export { type Found, mostFound, newest, search } from './find.ts'
export { answered } from './patience.ts'
export type { Hit, SearchFilter } from './queries.ts'
export { similar } from './similar.ts'
export { type Snippet, snippetsOf } from './snippets.ts'
export { suggest } from './suggest.ts'
