import { secondsOf } from '../../server/matching/chapters.ts'
import { matchTalks } from '../../server/matching/matching.ts'
import type { GoldParts } from './gold.ts'

// Recordings of several talks: writes their times into a description, as people do, and counts how
// many come back to the second. Some talks of the data have the word TODO instead of a time.

type TimedTalk = GoldParts['talks'][number] & { readonly start: string; readonly end: string }

const isTime = (text: string | null) => /^\d+(?::\d\d){1,2}$/.test(text ?? '')

/** Ways to write a chapter with its end. */
const layouts: readonly ((talk: TimedTalk) => string)[] = [
  ({ start, end, title, speakers }) => `${start} - ${end} ${title} - ${speakers.join(', ')}`,
  ({ start, end, title }) => `[${start}–${end}] ${title}`,
  ({ start, end, title, speakers }) => `${title} by ${speakers.join(' & ')} (${start}-${end})`,
  ({ start, end, title }) => `• ${start} to ${end}: ${title}`,
]

/** Counts the talks with times, and those that are proposed with the same times. */
export function countParts(recordings: readonly GoldParts[]): { total: number; found: number } {
  let total = 0
  let found = 0
  for (const [index, { event, recording, talks }] of recordings.entries()) {
    const timed = talks.filter((talk): talk is TimedTalk => isTime(talk.start) && isTime(talk.end))
    const layout = layouts[index % layouts.length] as (talk: TimedTalk) => string
    const description = ['Recorded live. https://example.org/12:30', ...timed.map(layout)].join(
      '\n',
    )
    const { recordings: rows } = matchTalks({
      event: event.replaceAll('-', ' '),
      talks: talks.map(({ id, title, speakers }) => ({ key: id, title, speakers })),
      recordings: [{ key: recording.id, title: recording.title, description }],
    })
    const parts = rows.flatMap((row) => row.parts)
    total += timed.length
    found += timed.filter(({ id, start, end }) =>
      parts.some(
        (part) =>
          part.talk === id &&
          part.startSeconds === secondsOf(start) &&
          part.endSeconds === secondsOf(end),
      ),
    ).length
  }
  return { total, found }
}
