import type { AboutData } from '../data.ts'
import { PageLayout } from '../parts/page.tsx'
import { AreaPlot, BarPlot, Shares } from '../parts/plots.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** What is in the archive, and how good it is. */
export function About({ totals, byYear, byLanguage, added, having, hosts }: AboutData) {
  const view = useView()
  const { words, href, number, site } = view
  const hours = Math.round(totals.seconds / 3600)
  const numbers = [
    words.talks(totals.talks, number(totals.talks)),
    words.eventsCount(totals.events, number(totals.events)),
    words.speakersCount(totals.speakers, number(totals.speakers)),
    words.languagesCount(totals.languages, number(totals.languages)),
    words.hoursCount(hours, number(hours)),
  ]
  const doors = [
    [paths.feed('/', 'atom'), words.feeds],
    ['/api', words.api],
    ['/api/v2/export.ndjson', 'NDJSON'],
    ['/sitemap.xml', 'Sitemap'],
  ] as const
  return (
    <PageLayout
      name="about"
      title={words.aboutArchive}
      description={`${site.name}: ${numbers.join(', ')}`}
      canonical={paths.about}
      preview={{ type: 'website' }}
    >
      <header class="collection-head">
        <h1>{words.aboutArchive}</h1>
        <ul class="plain numbers">
          {numbers.map((text) => {
            const [figure, ...rest] = text.split(' ')
            return (
              <li key={text}>
                <strong>{figure}</strong> {rest.join(' ')}
              </li>
            )
          })}
        </ul>
      </header>
      <div class="plots">
        {byYear.length > 0 && (
          <BarPlot
            id="by-year"
            title={words.talksByYear}
            of={words.year}
            points={everyYear(byYear).map(({ year, talks }) => ({
              name: String(year),
              value: talks,
              ...(talks > 0 && { href: paths.year(year) }),
            }))}
          />
        )}
        {added.length > 1 && (
          <AreaPlot
            id="growth"
            title={words.growth}
            hint={words.growthHint}
            of={words.month}
            points={runningTotal(added).map(({ month, talks }) => ({ name: month, value: talks }))}
          />
        )}
        <Shares
          title={words.talksByLanguage}
          whole={totals.talks}
          points={byLanguage.slice(0, 10).map((it) => ({
            name: view.language(it.code, it.name),
            value: it.talks,
            href: paths.language(it.slug),
          }))}
        />
        <Shares
          title={words.health}
          hint={words.healthHint}
          whole={totals.talks}
          points={(Object.keys(having) as (keyof typeof having)[]).map((it) => ({
            name: words.having[it],
            value: having[it],
          }))}
        />
        <Shares
          title={words.hosts}
          whole={totals.talks}
          points={hosts.slice(0, 8).map((it) => ({ name: it.host, value: it.talks }))}
        />
      </div>
      <section class="prose">
        <p>{words.softwareNote}</p>
        <p>
          {words.dataNote}{' '}
          {doors.map(([path, name], at) => (
            <span key={path}>
              {at > 0 && ' · '}
              <a href={href(path)}>{name}</a>
            </span>
          ))}
        </p>
      </section>
    </PageLayout>
  )
}

/** Years without talks are years too. */
function everyYear(years: AboutData['byYear']): AboutData['byYear'] {
  const known = new Map(years.map(({ year, talks }) => [year, talks]))
  const [first, last] = [Math.min(...known.keys()), Math.max(...known.keys())]
  // A talk of the year 1 is a mistake in one record, and no reason for a plot of two thousand bars.
  if (last - first > 80) return [...years].sort((a, b) => a.year - b.year)
  return Array.from({ length: last - first + 1 }, (_, at) => ({
    year: first + at,
    talks: known.get(first + at) ?? 0,
  }))
}

/** At the end of each month, also of those in which nothing came. */
function runningTotal(months: AboutData['added']): AboutData['added'] {
  const known = new Map(months.map(({ month, talks }) => [month, talks]))
  const number = (month = '') => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1
  const [first, last] = [number(months[0]?.month), number(months.at(-1)?.month)]
  let sum = 0
  return Array.from({ length: last - first + 1 }, (_, at) => {
    const month = `${Math.floor((first + at) / 12)}-${String(((first + at) % 12) + 1).padStart(2, '0')}`
    sum += known.get(month) ?? 0
    return { month, talks: sum }
  })
}
