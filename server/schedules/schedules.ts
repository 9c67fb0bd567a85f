import type { Schedule } from '@talkshelf/contract'
import { paths } from '@talkshelf/web'
import type { Db } from '../platform/db/db.ts'
import { listScheduled, type ScheduledRow } from './queries.ts'

// Entry point of schedules: the talks of an event by time and room, also those without a recording.

export { calendar, calendarType } from './calendar.ts'
export { hasSchedule } from './queries.ts'

/** More than any event has. */
const maxTalks = 5000

export type ScheduledTalk = ScheduledRow

/** Lists the talks of an event by start and room; those without a time by title, at the end. */
export async function readSchedule(db: Db, categoryId: number): Promise<ScheduledTalk[]> {
  const talks = await listScheduled(db, categoryId, maxTalks)
  const { compare } = new Intl.Collator('en')
  return talks
    .map((talk) => ({ talk, time: talk.slot ? Date.parse(talk.slot.start) : Number.MAX_VALUE }))
    .sort(
      (a, b) =>
        a.time - b.time ||
        compare(a.talk.slot?.room ?? '', b.talk.slot?.room ?? '') ||
        compare(a.talk.title, b.talk.title) ||
        a.talk.id - b.talk.id,
    )
    .map(({ talk }) => talk)
}

/** Tells whether a talk has a public recording, or why not; null if that is unknown. */
export function recordingOf({ live, recorded, status }: ScheduledTalk) {
  return live && recorded ? 'published' : status
}

/** Renders a schedule for the API. `origin` is the base URL of the archive. */
export function scheduleBody(talks: readonly ScheduledTalk[], origin: string): Schedule {
  return {
    talks: talks.map((talk) => ({
      id: talk.id,
      title: talk.title,
      speakers: talk.speakers,
      start: talk.slot?.start ?? null,
      minutes: talk.slot?.minutes ?? null,
      room: talk.slot?.room ?? '',
      recording: recordingOf(talk),
      url: talk.live ? origin + paths.talk(talk) : null,
    })),
  }
}
