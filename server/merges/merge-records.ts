import { isDeepStrictEqual } from 'node:util'
import { type Fact, mediaFormats, states, type Video, type VideoPatch } from '@talkshelf/contract'
import { applyPatch } from '../videos/videos.ts'

// Decides which values a record gets when another one of the same talk is merged into it.

const textFields = [
  'summary',
  'description',
  'quality_notes',
  'copyright_text',
  'embed',
  'thumbnail_url',
  'duration',
  'source_url',
  'whiteboard',
  'recorded',
] as const satisfies (keyof Video)[]

/**
 * Returns the record to keep with the values of `fields`. Of its other fields, the empty ones get
 * the values of the merged record, and speakers and tags of both are united. It is live if one of
 * both is.
 */
export function mergeRecords(merged: Video, kept: Video, fields: VideoPatch): Video {
  return applyPatch({ ...kept, ...missingValues(merged, kept) }, fields)
}

function missingValues(merged: Video, kept: Video): Partial<Video> {
  const missing = textFields.filter((field) => isEmpty(kept[field]) && !isEmpty(merged[field]))
  // Length and kind of a file belong to its URL.
  const files = mediaFormats
    .filter((format) => isEmpty(kept[`video_${format}_url`]) && merged[`video_${format}_url`])
    .flatMap((format) => [
      `video_${format}_url` as const,
      `video_${format}_length` as const,
      `video_${format}_download_only` as const,
    ])
  return {
    ...Object.fromEntries([...missing, ...files].map((field) => [field, merged[field]])),
    speakers: [...new Set([...kept.speakers, ...merged.speakers])],
    tags: [...new Set([...kept.tags, ...merged.tags])],
    state: [merged.state, kept.state].includes(states.live) ? states.live : states.draft,
  }
}

const isEmpty = (value: string | number | null) =>
  value === null || value === 0 || (typeof value === 'string' && value.trim() === '')

/** Adds facts to those of a record: each once, one slot, one part of a URL, and so on. */
export function uniteFacts(facts: readonly Fact[], added: readonly Fact[]): Fact[] {
  const united = [...facts]
  for (const fact of added) if (!united.some((other) => isRepeated(other, fact))) united.push(fact)
  return united
}

function isRepeated(fact: Fact, added: Fact): boolean {
  if (fact.kind === 'programme' || fact.kind === 'slot' || fact.kind === 'recording')
    return added.kind === fact.kind
  if (fact.kind === 'part' && added.kind === 'part') return fact.url === added.url
  if (fact.kind === 'media' && added.kind === 'media') return fact.url === added.url
  return isDeepStrictEqual(fact, added)
}

/** Returns the fact that another copy of the talk is at a URL. */
export function copyAt(url: string): Fact {
  return { kind: 'media', url, type: URL.parse(url)?.hostname.slice(0, 100) ?? '', size: null }
}
