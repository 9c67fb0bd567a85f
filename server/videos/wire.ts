import {
  type Video,
  type VideoInput,
  type VideoPatch,
  videoDefaults,
  videoFields,
} from '@talkshelf/contract'
import { normalizeName } from '../entities/entities.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import { toJson } from '../platform/http/json.ts'

// Pure functions that convert between the record on the wire and the record in the database.

/** Renders the JSON body of a record, its 32 fields in the order of the API, and its etag. */
export function renderVideo(video: Video, revision: number): { body: string; etag: string } {
  const body = toJson(Object.fromEntries(videoFields.map((field) => [field, video[field]])))
  return { body, etag: versionEtag(video.id, revision, body) }
}

/** Trims and normalises titles and names. Leaves values of wrong types for the validation. */
export function normalizeVideoInput(body: unknown): Record<string, unknown> {
  const input = { ...(body as Record<string, unknown>) }
  if (typeof input.title === 'string') input.title = input.title.trim()
  for (const field of ['category', 'language'])
    if (typeof input[field] === 'string') input[field] = normalizeName(input[field])
  for (const field of ['speakers', 'tags']) {
    const names = input[field]
    if (Array.isArray(names))
      input[field] = names.map((name) => (typeof name === 'string' ? normalizeName(name) : name))
  }
  return input
}

/** Returns the fields that the caller may set, without duplicate names. */
export function writableFields(input: VideoInput | VideoPatch): Partial<Video> {
  const { id: _id, slug: _slug, added: _added, updated: _updated, ...fields } = input
  if (fields.speakers) fields.speakers = [...new Set(fields.speakers)]
  if (fields.tags) fields.tags = [...new Set(fields.tags)]
  return fields
}

/** Applies a PUT: missing fields get their default, except the state, which stays. */
export function applyPut(before: Video, input: VideoInput): Video {
  return { ...before, ...videoDefaults, ...writableFields(input) } as Video
}

/**
 * Applies a PATCH: missing fields stay (RFC 7396). No field is an object, and null is a value where
 * the schema allows it.
 */
export function applyPatch(before: Video, patch: VideoPatch): Video {
  return { ...before, ...writableFields(patch) }
}

/** Returns the fields in which two versions differ, except `updated`. */
export function changedFields(before: Video, after: Video): (keyof Video)[] {
  return videoFields.filter(
    (field) =>
      field !== 'updated' && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
}

/** Returns some of the fields of a record. */
export function pick(video: Video, fields: readonly (keyof Video)[]): Partial<Video> {
  return Object.fromEntries(fields.map((field) => [field, video[field]]))
}

/** Returns the current time, but strictly later than `before`, even if the clock was set back. */
export function timestampAfter(before: string | undefined): string {
  const nowMs = Date.now()
  if (before === undefined) return formatTimestamp(nowMs)
  return formatTimestamp(Math.max(nowMs, Date.parse(`${before}Z`) + 1))
}

/** Formats a timestamp as the wire does: UTC without a zone designator. */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().slice(0, -1)
}
