// Entry point of the package, with the table of all endpoints.

import * as vocabulary from './entities.ts'
import { exportNdjsonEndpoint } from './exports.ts'
import * as facts from './facts.ts'
import * as imports from './imports.ts'
import { readOpenapiEndpoint } from './openapi.ts'
import * as quality from './quality.ts'
import { readRelatedEndpoint } from './related.ts'
import * as search from './search.ts'
import * as videos from './videos.ts'

export * from './endpoint.ts'
export * from './entities.ts'
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

export const endpoints = {
  listVideos: videos.listVideosEndpoint,
  readVideo: videos.readVideoEndpoint,
  replaceVideo: videos.replaceVideoEndpoint,
  patchVideo: videos.patchVideoEndpoint,
  createVideo: videos.createVideoEndpoint,
  takeDownVideo: videos.takeDownVideoEndpoint,
  listRevisions: videos.listRevisionsEndpoint,
  readRevision: videos.readRevisionEndpoint,
  restoreRevision: videos.restoreRevisionEndpoint,
  readRelated: readRelatedEndpoint,
  readFacts: facts.readFactsEndpoint,
  replaceFacts: facts.replaceFactsEndpoint,
  createCategory: vocabulary.createCategoryEndpoint,
  readCategory: vocabulary.readCategoryEndpoint,
  patchCategory: vocabulary.patchCategoryEndpoint,
  mergeCategory: vocabulary.mergeCategoryEndpoint,
  listCategories: vocabulary.listCategoriesEndpoint,
  listSpeakers: vocabulary.listSpeakersEndpoint,
  readSpeaker: vocabulary.readSpeakerEndpoint,
  patchSpeaker: vocabulary.patchSpeakerEndpoint,
  splitSpeaker: vocabulary.splitSpeakerEndpoint,
  mergeSpeaker: vocabulary.mergeSpeakerEndpoint,
  listTags: vocabulary.listTagsEndpoint,
  readTag: vocabulary.readTagEndpoint,
  patchTag: vocabulary.patchTagEndpoint,
  mergeTag: vocabulary.mergeTagEndpoint,
  listLanguages: vocabulary.listLanguagesEndpoint,
  createImport: imports.createImportEndpoint,
  listImports: imports.listImportsEndpoint,
  readImport: imports.readImportEndpoint,
  listImportedTalks: imports.listImportedTalksEndpoint,
  decideTalk: imports.decideTalkEndpoint,
  applyImport: imports.applyImportEndpoint,
  stopImport: imports.stopImportEndpoint,
  undoImport: imports.undoImportEndpoint,
  suggest: search.suggestEndpoint,
  listRules: quality.listRulesEndpoint,
  listFindings: quality.listFindingsEndpoint,
  readOpenapi: readOpenapiEndpoint,
} as const

/** Endpoints that stream more than one JSON document. The typed client has no method for them. */
export const streamEndpoints = { exportNdjson: exportNdjsonEndpoint } as const
