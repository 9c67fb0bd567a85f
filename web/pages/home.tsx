import type { AdditionData, CountedValue, HomeData, Totals } from '../data.ts'
import { jsonLdText, siteJsonLd } from '../json-ld.ts'
import { Cards } from '../parts/card.tsx'
import { Chips } from '../parts/chips.tsx'
import { DateRange } from '../parts/date-range.tsx'
import { PageLayout } from '../parts/page.tsx'
import { SearchForm } from '../parts/search-form.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** The home page: search, the latest events and ways to browse. */
export function Home({ totals, additions, events, years, languages, tags }: HomeData) {
  const view = useView()
  const { words, href, number } = view
  const tagline = view.site.tagline ?? words.tagline
  return (
    <PageLayout
      name="home"
      title={view.site.name}
      description={tagline}
      canonical={paths.home}
      feed={paths.home}
      preview={{ type: 'website' }}
      jsonLd={[jsonLdText(siteJsonLd(view.site.name, view.origin))]}
    >
      <section class="hero">
        <h1>{tagline}</h1>
        <SearchForm state={{}} suggest="all" />
        {totals.talks > 0 && <TotalNumbers {...totals} />}
      </section>
      {totals.talks === 0 && (
        <section class="empty">
          <h2>{words.emptyArchive}</h2>
          <p>{words.emptyHelp}</p>
        </section>
      )}
      {events.map(({ cards, ...event }, index) => (
        <section key={event.id} class="shelf" aria-labelledby={`event-${event.id}`}>
          <div class="shelf-head">
            <h2 id={`event-${event.id}`} dir="auto">
              <a href={href(paths.entity('category', event))}>{event.name}</a>
            </h2>
            <p>
              <DateRange first={event.first} last={event.last} /> ·{' '}
              {words.talks(event.talks, number(event.talks))}
            </p>
          </div>
          <Cards cards={cards} without={['category']} shape="shelf" first={index === 0 ? 2 : 0} />
        </section>
      ))}
      {events.length > 0 && (
        <p class="more">
          <a class="button" href={href(paths.list('category'))}>
            {words.allEvents}
          </a>
        </p>
      )}
      {additions.length > 0 && (
        <section aria-labelledby="newest">
          <h2 id="newest">{words.orders['-added']}</h2>
          {additions.map((addition) => (
            <Addition key={addition.day} {...addition} />
          ))}
        </section>
      )}
      {years.length > 0 && <Browse years={years} languages={languages} tags={tags} />}
    </PageLayout>
  )
}

/** Talks that were added together. A large import has more than are shown. */
function Addition({ day, talks, events, cards }: AdditionData) {
  const view = useView()
  const { words, number } = view
  return (
    <div class="addition">
      <p class="facts">
        {talks > cards.length
          ? words.addedOn(
              words.talks(talks, number(talks)),
              words.eventsCount(events, number(events)),
              view.day(day),
            )
          : words.addedOnDay(view.day(day))}
      </p>
      <Cards cards={cards} />
    </div>
  )
}

function TotalNumbers({ talks, events, speakers, languages, seconds }: Totals) {
  const { words, number, href } = useView()
  const hours = Math.round(seconds / 3600)
  const links = [
    [paths.search(), words.talks(talks, number(talks))],
    [paths.list('category'), words.eventsCount(events, number(events))],
    [paths.list('speaker'), words.speakersCount(speakers, number(speakers))],
    [paths.browse, words.languagesCount(languages, number(languages))],
  ] as const
  return (
    <ul class="plain totals">
      {links.map(([path, text]) => (
        <li key={path}>
          <a href={href(path)}>{text}</a>
        </li>
      ))}
      {hours > 0 && <li>{words.hoursCount(hours, number(hours))}</li>}
    </ul>
  )
}

/** Links to years, tags and languages. */
function Browse({ years, languages, tags }: Pick<HomeData, 'years' | 'languages' | 'tags'>) {
  const view = useView()
  const { words, href } = view
  return (
    <section class="browse" aria-labelledby="browse">
      <h2 id="browse">{words.browse}</h2>
      <div class="columns">
        <div>
          <h3>{words.byYear}</h3>
          <Years years={years} />
        </div>
        <div>
          <h3>{words.byTag}</h3>
          <Chips
            items={tags.map((tag) => ({
              href: paths.entity('tag', tag),
              name: tag.name,
              talks: tag.talks,
            }))}
          />
          <p>
            <a href={href(paths.list('tag'))}>{words.allTags}</a>
          </p>
        </div>
        <div>
          <h3>{words.byLanguage}</h3>
          <Chips
            items={languages.map(({ slug, code, name, talks }) => ({
              href: paths.language(slug),
              name: view.language(code, name),
              talks,
            }))}
          />
        </div>
      </div>
    </section>
  )
}

/** A bar chart of the years, with links. */
function Years({ years }: { years: readonly CountedValue[] }) {
  const { words, href, number } = useView()
  const max = Math.max(...years.map(({ talks }) => talks))
  return (
    <ol class="plain year-bars">
      {years.map(({ value, talks }) => (
        <li key={value}>
          <a href={href(paths.year(value))}>
            <span>{value}</span>
            <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
              <rect width={Math.max(1, Math.round((100 * talks) / max))} height="8" rx="1.5" />
            </svg>
            <span class="count">
              {number(talks)} <span class="unseen">{words.talksLabel}</span>
            </span>
          </a>
        </li>
      ))}
    </ol>
  )
}
