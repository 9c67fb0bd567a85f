import type { Fact, Video } from '@talkshelf/contract'

// Certain fixes of findings. A fix derives the value from other facts of the talk; it never guesses.

/** What a fix knows about a talk. */
export interface FixableTalk {
  readonly video: Video
  readonly facts: readonly Fact[]
  /** The days of its event, YYYY-MM-DD. */
  readonly event: { readonly start: string | null; readonly end: string | null }
}

/** Returns the fields that fix a finding. Undefined if that is not certain. */
export type Fix = (talk: FixableTalk) => Partial<Video> | undefined

/** Sets the day of a talk at an event of one day. */
export const fixDate: Fix = ({ event: { start, end } }) =>
  start !== null && start === end ? { recorded: start } : undefined

const youtubeVideo =
  /^https?:\/\/(?:(?:www\.|m\.)?youtube(?:-nocookie)?\.com\/(?:watch\?(?:[^#]*&)?v=|embed\/|v\/|shorts\/|live\/)|youtu\.be\/)([\w-]{11})(?![\w-])/

/** Sets the thumbnail that YouTube has for each of its videos. */
export const fixThumbnail: Fix = ({ video: { source_url } }) => {
  const [, id] = youtubeVideo.exec(source_url ?? '') ?? []
  return id === undefined
    ? undefined
    : { thumbnail_url: `https://i.ytimg.com/vi/${id}/hqdefault.jpg` }
}

/** Converts minutes to seconds if the source of the talk said that duration. */
export const fixMinutes: Fix = (talk) => fixDuration(talk, (talk.video.duration ?? 0) * 60)

/** Converts milliseconds to seconds if the source of the talk said that duration. */
export const fixMilliseconds: Fix = (talk) =>
  fixDuration(talk, Math.round((talk.video.duration ?? 0) / 1000))

function fixDuration({ facts }: FixableTalk, seconds: number): Partial<Video> | undefined {
  const isSaid = facts.some(
    (fact) =>
      fact.kind === 'said' && fact.field === 'duration' && secondsIn(fact.value) === seconds,
  )
  return isSaid && seconds > 0 ? { duration: seconds } : undefined
}

/** Returns the seconds in 1:02:03, 62:03 or PT1H2M3S. A number alone has no unit. */
function secondsIn(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 20) return undefined
  const clock = /^(?:(\d{1,3}):)?(\d{1,3}):([0-5]\d)$/.exec(value)
  const iso = /^PT(?=\d)(?:(\d{1,3})H)?(?:(\d{1,4})M)?(?:(\d{1,6})S)?$/.exec(value)
  const parts = clock ?? iso
  if (!parts) return undefined
  const [hours = 0, minutes = 0, seconds = 0] = parts.slice(1).map((part) => Number(part ?? 0))
  return hours * 3600 + minutes * 60 + seconds
}
