// The door of the package, and the table of all endpoints.
import { exportNdjson } from './exports.ts'
import * as facts from './facts.ts'
import * as imports from './imports.ts'
import { readOpenapi } from './openapi.ts'
import * as quality from './quality.ts'
import { readRelated } from './related.ts'
import * as search from './search.ts'
import * as videos from './videos.ts'
import * as vocabulary from './vocabulary.ts'

export * from './endpoint.ts'
export * from './exports.ts'
export * from './facts.ts'
export * from './imports.ts'
export * from './openapi.ts'
export * from './page.ts'
export * from './problems.ts'
export * from './quality.ts'
export * from './related.ts'
export * from './search.ts'
export * from './validate.ts'
export * from './videos.ts'
export * from './vocabulary.ts'

export const endpoints = {
  listVideos: videos.listVideos,
  readVideo: videos.readVideo,
  replaceVideo: videos.replaceVideo,
  patchVideo: videos.patchVideo,
  createVideo: videos.createVideo,
  takeDownVideo: videos.takeDownVideo,
  listRevisions: videos.listRevisions,
  readRevision: videos.readRevision,
  restoreRevision: videos.restoreRevision,
  readRelated,
  readFacts: facts.readFacts,
  replaceFacts: facts.replaceFacts,
  createCategory: vocabulary.createCategory,
  readCategory: vocabulary.readCategory,
  patchCategory: vocabulary.patchCategory,
  mergeCategory: vocabulary.mergeCategory,
  listCategories: vocabulary.listCategories,
  listSpeakers: vocabulary.listSpeakers,
  readSpeaker: vocabulary.readSpeaker,
  patchSpeaker: vocabulary.patchSpeaker,
  splitSpeaker: vocabulary.splitSpeaker,
  mergeSpeaker: vocabulary.mergeSpeaker,
  listTags: vocabulary.listTags,
  readTag: vocabulary.readTag,
  patchTag: vocabulary.patchTag,
  mergeTag: vocabulary.mergeTag,
  listLanguages: vocabulary.listLanguages,
  createImport: imports.createImport,
  listImports: imports.listImports,
  readImport: imports.readImport,
  listImportedTalks: imports.listImportedTalks,
  decideTalk: imports.decideTalk,
  applyImport: imports.applyImport,
  stopImport: imports.stopImport,
  undoImport: imports.undoImport,
  suggest: search.suggest,
  listRules: quality.listRules,
  listFindings: quality.listFindings,
  readOpenapi,
} as const

/** Answers that are no JSON document, and as long as the archive is: the client has no function for them. */
export const files = { exportNdjson } as const
