// Entry point of categories, speakers, tags and languages: resolution of names (resolve-names.ts,
// in bulk name-lookup.ts), the entities themselves (entity.ts), the undo of their merges
// (unmerge.ts), their profiles (profile.ts), what is public of them (public-entities.ts), their
// import from exports (restore-entities.ts) and their copies in a mirror (copied-entities.ts).
// name-replacer.ts replaces a name in texts, former-names.ts those that speakers no longer use.

export {
  copyEntities,
  reserveCategories,
  withdrawEntities,
} from './copied-entities.ts'
export {
  changeEntity,
  createCategory,
  dateErrors,
  type EntityPatch,
  entityEtag,
  mergeEntities,
  type RenderedEntity,
  readEntity,
  resolveEntity,
  splitOffSpeaker,
} from './entity.ts'
export { findByFormerName, formerNameDigest, openFormerNames } from './former-names.ts'
export {
  lookUpAndLockNames,
  lookUpNames,
  type NameLookup,
  type NamesToLookUp,
} from './name-lookup.ts'
export {
  countLetters,
  createReplacer,
  type NameReplacer,
  nameKey,
  nameWords,
} from './name-replacer.ts'
export {
  fullProfile,
  pickProfile,
  profilePictureUrl,
  storedProfile,
} from './profile.ts'
export {
  findPublicEntities,
  findPublicEntity,
  findSeriesEvents,
  type PublicEntity,
} from './public-entities.ts'
export {
  addSlugsOfMerged,
  countFormerNames,
  deleteFormerName,
  deleteSlugs,
  type EntityKind,
  type EntityRow,
  findEntityById,
  findSpeakerNames,
  haveLiveTalks,
  insertFormerName,
  isPublicPicture,
} from './queries.ts'
export {
  createMissingEntities,
  currentNames,
  type NamedEntity,
  normalizeEntityInput,
  normalizeName,
  type RecordEntityIds,
  type ResolvedNames,
  resolveNames,
  suggestCategories,
  uniqueById,
  unknownLanguageError,
} from './resolve-names.ts'
export { restoreEntities } from './restore-entities.ts'
export { listMerges, readMerge, unmergeEntity } from './unmerge.ts'
