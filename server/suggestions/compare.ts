import type { Suggestion, Video } from '@talkshelf/contract'
import { mergeEdit } from '../videos/videos.ts'
import type { StoredFields } from './queries.ts'

// Compares the fields of a suggestion with the record as it is now. No I/O.

export type FieldName = keyof StoredFields
export type ComparedField = Suggestion['fields'][number] & {
  readonly base: unknown
  readonly current: unknown
}

/** Compares each field: it can be accepted, the record has it already, or has a third value. */
export function compareFields(base: Video, fields: StoredFields, current: Video): ComparedField[] {
  return (Object.keys(fields) as FieldName[]).map((field) => {
    const { video, conflicts } = mergeEdit(base, { [field]: fields[field] }, current)
    const values = { field, base: base[field], current: current[field] }
    if (conflicts.length > 0) return { ...values, state: 'conflict', suggested: fields[field] }
    const isSame = JSON.stringify(video[field]) === JSON.stringify(current[field])
    return { ...values, state: isSame ? 'already-applied' : 'open', suggested: video[field] }
  })
}

interface AcceptedParts {
  readonly base: Video
  /** The suggested fields that are taken. */
  readonly fields: StoredFields
  /** What the editor typed, and the version that the editor saw. */
  readonly edits: Partial<Video>
  readonly seen: Video | undefined
}

/** Returns the record with what is accepted, and the fields that were changed since. */
export function acceptFields(
  { base, fields, edits, seen }: AcceptedParts,
  current: Video,
): { video: Video; changedSince: string[] } {
  const suggested = mergeEdit(base, fields, current)
  const edited = mergeEdit(seen ?? current, edits, suggested.video)
  return {
    video: edited.video,
    changedSince: [...suggested.conflicts, ...edited.conflicts].map(({ field }) => field),
  }
}

/** Counts the links in the suggested texts that the record does not have. */
export function countNewLinks(base: Partial<Video>, fields: StoredFields, comment: string): number {
  const known = new Set(linksIn(JSON.stringify(base)))
  const links = linksIn(`${JSON.stringify(fields)} ${comment}`)
  return links.filter((link) => !known.has(link)).length
}

function linksIn(text: string): string[] {
  return (text.match(/(https?:\/\/|www\.)[^\s"'<>)\]\\]+/gi) ?? []).map((it) => it.toLowerCase())
}
