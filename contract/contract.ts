// The door of the package, and the table of all endpoints.
import { readOpenapi } from './openapi.ts'
import * as quality from './quality.ts'
import * as search from './search.ts'
import * as videos from './videos.ts'
import * as vocabulary from './vocabulary.ts'

export * from './endpoint.ts'
export * from './openapi.ts'
export * from './page.ts'
export * from './problems.ts'
export * from './quality.ts'
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
  suggest: search.suggest,
  listRules: quality.listRules,
  listFindings: quality.listFindings,
  readOpenapi,
} as const
