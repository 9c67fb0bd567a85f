// The front door. Names and what they lead to (resolve.ts; of many records at once book.ts), the
// entities themselves (entities.ts), and what readers are shown of them (shown.ts).

export {
  changeEntity,
  createCategory,
  type EntityPatch,
  mergeEntities,
  type RenderedEntity,
  readEntity,
  splitOffSpeaker,
} from './entity.ts'
export {
  lookUpAndLockNames,
  lookUpNames,
  type NameLookup,
  type NamesToLookUp,
} from './name-lookup.ts'
export { findPublicEntities, findPublicEntity } from './public-entities.ts'
export type { EntityKind } from './queries.ts'
export {
  createMissingEntities,
  currentNames,
  type NamedEntity,
  normalizeEntityInput,
  normalizeName,
  type RecordEntityIds,
  type ResolvedNames,
  resolveNames,
  uniqueById,
} from './resolve-names.ts'
export { restoreEntities } from './restore-entities.ts'
