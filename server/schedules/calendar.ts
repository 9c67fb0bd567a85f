import { paths } from '@talkshelf/web'
import ical, { ICalCalendarMethod } from 'ical-generator'
import type { ScheduledRow } from './queries.ts'

export const calendarType = 'text/calendar; charset=utf-8'

interface CalendarEvent {
  readonly id: number
  readonly slug: string
  readonly name: string
}

/** Renders the talks of an event that have a time as an iCalendar file. Times are in UTC. */
export function calendar(
  event: CalendarEvent,
  talks: readonly ScheduledRow[],
  origin: string,
): string {
  const { host } = new URL(origin)
  const page = origin + paths.entity('category', event)
  const file = ical({
    name: escapedName(event.name),
    prodId: { company: 'Talkshelf', product: 'Talkshelf', language: 'EN' },
    method: ICalCalendarMethod.PUBLISH,
    url: page,
  })
  for (const { id, slug, title, speakers, updated, factsRevision, live, slot } of talks) {
    if (!slot) continue
    const start = new Date(slot.start)
    const url = live ? origin + paths.talk({ id, slug }) : page
    file.createEvent({
      // Depends on the id only, so that a changed title does not make another event.
      id: `video-${id}@${host}`,
      stamp: new Date(updated),
      // A moved slot is a new revision of the facts.
      sequence: factsRevision,
      start,
      ...(slot.minutes !== null && { end: new Date(start.getTime() + slot.minutes * 60_000) }),
      summary: title,
      ...(slot.room && { location: slot.room }),
      ...(speakers.length > 0 && { description: speakers.join(', ') }),
      url,
    })
  }
  return file.toString()
}

/** The library escapes the texts of events, but not the name of the calendar. */
const escapedName = (name: string) =>
  name.replaceAll(/[\s\p{Cc}]+/gu, ' ').replaceAll(/[\\;,]/g, '\\$&')
