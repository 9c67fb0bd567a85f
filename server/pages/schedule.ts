import { Problem } from '@talkshelf/contract'
import { paths, type ScheduleData } from '@talkshelf/web'
import { findPublicEntity } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'
import { readSchedule, recordingOf } from '../schedules/schedules.ts'

/** Loads the schedule of an event, or returns the path of the event if id or slug are outdated. */
export async function schedulePage(
  pool: Pool,
  params: Readonly<Record<string, string>>,
): Promise<ScheduleData | { moved: string }> {
  const id = parseId(params.id)
  const event = id === undefined ? undefined : await findPublicEntity(pool.lookups, 'category', id)
  if (!event) throw new Problem('not-found', 'This page does not exist')
  if (event.id !== id || event.slug !== params.slug)
    return { moved: paths.entity('category', event) }
  const talks = await readSchedule(pool.lists, event.id)
  return {
    event: { id: event.id, slug: event.slug, name: event.name },
    talks: talks.map((talk) => ({
      id: talk.id,
      title: talk.title,
      speakers: talk.speakers,
      start: talk.slot?.start ?? null,
      room: talk.slot?.room ?? '',
      recording: recordingOf(talk),
      link: talk.live ? { id: talk.id, slug: talk.slug } : null,
    })),
  }
}
