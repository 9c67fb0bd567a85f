import type { EventsData } from '../data.ts'
import { DateRange } from '../parts/date-range.tsx'
import { FeedIcon } from '../parts/icons.tsx'
import { PageLayout } from '../parts/page.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** All events, newest first. */
export function Events({ years, count }: EventsData) {
  const { words, href, number } = useView()
  const path = paths.list('category')
  return (
    <PageLayout
      name="events"
      title={words.events}
      description={`${words.allEvents}: ${number(count)}`}
      canonical={path}
      feed={path}
      preview={{ type: 'website' }}
    >
      <header class="collection-head">
        <h1>{words.events}</h1>
        <p class="facts">{words.eventsCount(count, number(count))}</p>
        <p class="row actions">
          <a class="button" href={href(paths.follow(path))}>
            <FeedIcon /> {words.follow}
          </a>
        </p>
        <nav aria-label={words.years}>
          <ul class="plain row jump">
            {years.map(({ year }) => (
              <li key={year}>
                <a href={`#year-${year ?? 'unknown'}`}>{year ?? words.yearUnknown}</a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      {years.map(({ year, events }) => (
        <section key={year} class="event-year" aria-labelledby={`year-${year ?? 'unknown'}`}>
          <h2 id={`year-${year ?? 'unknown'}`}>{year ?? words.yearUnknown}</h2>
          <ul class="plain event-list">
            {events.map((event) => (
              <li key={event.id}>
                <a href={href(paths.entity('category', event))} dir="auto">
                  {event.name}
                </a>
                <span class="facts">
                  {event.first && <DateRange first={event.first} last={event.last} />}
                  {event.first && ' · '}
                  <span class="count">{words.talks(event.talks, number(event.talks))}</span>
                </span>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {count === 0 && <p>{words.noTalks}</p>}
    </PageLayout>
  )
}
