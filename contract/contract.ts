// Entry point of the package, with the table of all endpoints.

import { bulkEditEndpoints } from './bulk-edit.ts'
import { changesEndpoints, streamChangesEndpoint } from './changes.ts'
import { entityEndpoints } from './entities.ts'
import { exportNdjsonEndpoint } from './exports.ts'
import { factsEndpoints } from './facts.ts'
import { followedSourceEndpoints } from './followed-sources.ts'
import { importEndpoints } from './imports.ts'
import { matchEndpoints } from './matches.ts'
import { readOpenapiEndpoint } from './openapi.ts'
import { peopleEndpoints } from './people.ts'
import { pictureEndpoints } from './pictures.ts'
import { publicationEndpoints } from './publication.ts'
import { qualityEndpoints } from './quality.ts'
import { relatedEndpoints } from './related.ts'
import { replacementEndpoints } from './replacements.ts'
import { scheduleEndpoints } from './schedules.ts'
import { searchEndpoints } from './search.ts'
import { sourceEndpoints } from './sources.ts'
import { suggestionEndpoints } from './suggestions.ts'
import { synonymEndpoints } from './synonyms.ts'
import { videoEndpoints } from './videos.ts'
import { webhookEndpoints } from './webhooks.ts'

export * from './bulk-edit.ts'
export * from './changes.ts'
export { countryCodes } from './countries.ts'
export * from './durations.ts'
export * from './endpoint.ts'
export * from './entities.ts'
export * from './exports.ts'
export * from './facts.ts'
export * from './followed-sources.ts'
export * from './imports.ts'
export * from './matches.ts'
export * from './openapi.ts'
export * from './page.ts'
export * from './people.ts'
export * from './pictures.ts'
export * from './problems.ts'
export * from './profiles.ts'
export * from './publication.ts'
export * from './quality.ts'
export * from './related.ts'
export * from './replacements.ts'
export { resourceOf } from './resources.ts'
export * from './schedules.ts'
export * from './search.ts'
export * from './sources.ts'
export * from './suggestions.ts'
export * from './synonyms.ts'
export * from './validate.ts'
export * from './videos.ts'
export * from './webhooks.ts'

/** All endpoints by name, in the order of the reference. Each topic lists its own. */
export const endpoints = {
  ...videoEndpoints,
  ...publicationEndpoints,
  ...relatedEndpoints,
  ...factsEndpoints,
  ...entityEndpoints,
  ...scheduleEndpoints,
  ...pictureEndpoints,
  ...importEndpoints,
  ...followedSourceEndpoints,
  ...bulkEditEndpoints,
  ...matchEndpoints,
  ...searchEndpoints,
  ...synonymEndpoints,
  ...suggestionEndpoints,
  ...changesEndpoints,
  ...webhookEndpoints,
  ...sourceEndpoints,
  ...replacementEndpoints,
  ...qualityEndpoints,
  ...peopleEndpoints,
  readOpenapi: readOpenapiEndpoint,
} as const

/** Endpoints that stream more than one JSON document. The typed client has no method for them. */
export const streamEndpoints = {
  exportNdjson: exportNdjsonEndpoint,
  streamChanges: streamChangesEndpoint,
} as const
