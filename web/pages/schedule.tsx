import type { ScheduleData, ScheduleEntry } from '../data.ts'
import { PageLayout } from '../parts/page.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** The schedule of an event, by day: also talks that have no recording. */
export function SchedulePage({ event, talks }: ScheduleData) {
  const view = useView()
  const { words, href } = view
  const page = paths.entity('category', event)
  const days = [...Map.groupBy(talks, ({ start }) => start?.slice(0, 10))]
  return (
    <PageLayout
      name="schedule"
      title={words.scheduleOf(event.name)}
      canonical={paths.schedule(page)}
    >
      <header class="collection-head">
        <p class="kind">{words.schedule}</p>
        <h1>
          <a href={href(page)}>
            <bdi>{event.name}</bdi>
          </a>
        </h1>
        <p class="row actions">
          <a class="button" href={href(paths.calendar(page))}>
            {words.calendar}
          </a>
        </p>
      </header>
      {talks.length === 0 && <p>{words.noSchedule}</p>}
      {days.map(([day, entries]) => (
        <section key={day} class="programme-day">
          <h2>{day ? view.day(day) : words.timeUnknown}</h2>
          <div class="table-scroll">
            <table class="schedule">
              <thead>
                <tr>
                  <th scope="col">{words.time}</th>
                  <th scope="col">{words.room}</th>
                  <th scope="col">{words.talk}</th>
                  <th scope="col">{words.recording}</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((entry) => (
                  <ScheduleRow key={entry.id} entry={entry} />
                ))}
              </tbody>
            </table>
          </div>
        </section>
      ))}
    </PageLayout>
  )
}

/** Times are those of the place: a reader compares them with the programme. */
function ScheduleRow({ entry }: { entry: ScheduleEntry }) {
  const { words, href } = useView()
  const { start, room, title, speakers, recording, link } = entry
  return (
    <tr>
      <td>{start && <time datetime={start}>{timeOf(start)}</time>}</td>
      <td dir="auto">{room}</td>
      <td dir="auto">
        {link ? <a href={href(paths.talk(link))}>{title}</a> : title}
        {speakers.length > 0 && <p class="schedule-speakers">{speakers.join(', ')}</p>}
      </td>
      <td>{recording && words.recordingStatus[recording]}</td>
    </tr>
  )
}

/** Returns the time of day. In UTC the zone of the place is unknown. */
const timeOf = (start: string) => `${start.slice(11, 16)}${start.endsWith('Z') ? ' UTC' : ''}`
