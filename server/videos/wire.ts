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

// Between the record on the wire and the record in the database. No I/O.

/**
 * The record as it goes out: its 32 fields in the order of the interface, and the tag of this
 * version.
 */
export function renderVideo(video: Video, revision: number): { body: string; tag: string } {
  const body = toJson(Object.fromEntries(videoFields.map((field) => [field, video[field]])))
  return { body, tag: versionEtag(video.id, revision, body) }
}

/**
 * What was sent, with the white space removed that the interface does not keep. Wrong types stay,
 * for the check to find.
 */
export function normalizeVideoInput(body: unknown): Record<string, unknown> {
  const it = { ...(body as Record<string, unknown>) }
  if (typeof it.title === 'string') it.title = it.title.trim()
  for (const field of ['category', 'language'])
    if (typeof it[field] === 'string') it[field] = normalizeName(it[field])
  for (const field of ['speakers', 'tags'])
    if (Array.isArray(it[field]))
      it[field] = it[field].map((name) => (typeof name === 'string' ? normalizeName(name) : name))
  return it
}

/** The fields that the caller may set, out of what was sent. A name given twice is kept once. */
export function writableFields(input: VideoInput | VideoPatch): Partial<Video> {
  const { id: _id, slug: _slug, added: _added, updated: _updated, ...fields } = input
  if (fields.speakers) fields.speakers = [...new Set(fields.speakers)]
  if (fields.tags) fields.tags = [...new Set(fields.tags)]
  return fields
}

/** PUT: what is left out takes its default, but the state stays. */
export function applyPut(before: Video, input: VideoInput): Video {
  return { ...before, ...videoDefaults, ...writableFields(input) } as Video
}

/**
 * PATCH: what is left out stays (RFC 7396; no field is an object, and null is a value wherever the
 * schema lets it through).
 */
export function applyPatch(before: Video, patch: VideoPatch): Video {
  return { ...before, ...writableFields(patch) }
}

/**
 * The names of the fields in which two versions differ; the moment of the change itself is not one.
 */
export function changedFields(before: Video, after: Video): (keyof Video)[] {
  return videoFields.filter(
    (field) =>
      field !== 'updated' && JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  )
}

export function pick(video: Video, fields: readonly (keyof Video)[]): Partial<Video> {
  return Object.fromEntries(fields.map((field) => [field, video[field]]))
}

/** Strictly after the time before, even when the clock was set back. */
export function timestampAfter(before: string | undefined): string {
  const now = Date.now()
  return formatTimestamp(before === undefined ? now : Math.max(now, Date.parse(`${before}Z`) + 1))
}

export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().slice(0, -1)
}
