import type { AboutData } from '../data.ts'
import { datasetJsonLd, jsonLdText } from '../json-ld.ts'
import { PageLayout } from '../parts/page.tsx'
import { AreaPlot, BarPlot, Shares } from '../parts/plots.tsx'
import { paths } from '../paths.ts'
import type { SiteText } from '../site.ts'
import { useView } from '../view.ts'
import { OperatorText } from './site-page.tsx'

/** Statistics of the archive: its size, its growth and the completeness of its data. */
export function About({ text, ...data }: AboutData & { text?: SiteText | undefined }) {
  const { words, href, number, site, origin, locale } = useView()
  const { totals } = data
  const hours = Math.round(totals.seconds / 3600)
  const numbers = [
    [words.talks(totals.talks, number(totals.talks)), paths.search()],
    [words.eventsCount(totals.events, number(totals.events)), paths.list('category')],
    [words.speakersCount(totals.speakers, number(totals.speakers)), paths.list('speaker')],
    [words.languagesCount(totals.languages, number(totals.languages)), paths.browse],
    [words.hoursCount(hours, number(hours)), ''],
  ] as const
  const dataLinks = [
    [paths.follow(paths.home), words.feeds],
    ['/api', words.api],
    ['/api/v2/export.ndjson', 'NDJSON'],
    ['/sitemap.xml', 'Sitemap'],
  ] as const
  const summary = `${site.name}: ${numbers.map(([text]) => text).join(', ')}`
  return (
    <PageLayout
      name="about"
      title={words.aboutArchive}
      description={summary}
      canonical={paths.about}
      preview={{ type: 'website' }}
      jsonLd={site.licence && [jsonLdText(datasetJsonLd(site.name, summary, origin, site.licence))]}
    >
      <header class="collection-head">
        <h1 lang={text?.title && text.lang !== locale ? text.lang : undefined} dir="auto">
          {text?.title ?? words.aboutArchive}
        </h1>
        <ul class="plain numbers">
          {numbers.map(([text, path]) => {
            const [figure, ...rest] = text.split(' ')
            const content = (
              <>
                <strong>{figure}</strong> {rest.join(' ')}
              </>
            )
            return <li key={text}>{path ? <a href={href(path)}>{content}</a> : content}</li>
          })}
        </ul>
      </header>
      {text && (
        <section class="prose">
          <OperatorText {...text} />
        </section>
      )}
      <Plots {...data} />
      <section class="prose">
        <p>{words.softwareNote}</p>
        <p>
          {words.dataNote}{' '}
          {dataLinks.map(([path, name], index) => (
            <span key={path}>
              {index > 0 && ' · '}
              <a href={href(path)}>{name}</a>
            </span>
          ))}
        </p>
      </section>
    </PageLayout>
  )
}

function Plots({ totals, byYear, byLanguage, added, having, hosts }: AboutData) {
  const view = useView()
  const { words } = view
  return (
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
        points={byLanguage.slice(0, 10).map(({ code, name, talks, slug }) => ({
          name: view.language(code, name),
          value: talks,
          href: paths.language(slug),
        }))}
      />
      <Shares
        title={words.health}
        hint={words.healthHint}
        whole={totals.talks}
        points={(Object.keys(having) as (keyof typeof having)[]).map((detail) => ({
          name: words.having[detail],
          value: having[detail],
        }))}
      />
      <Shares
        title={words.hosts}
        hint={<a href={view.href(paths.atRisk)}>{words.atRisk.title}</a>}
        whole={totals.talks}
        points={hosts.slice(0, 8).map(({ host, talks }) => ({ name: host, value: talks }))}
      />
    </div>
  )
}

/** Adds the years without talks. */
function everyYear(years: AboutData['byYear']): AboutData['byYear'] {
  const talksByYear = new Map(years.map(({ year, talks }) => [year, talks]))
  const [first, last] = [Math.min(...talksByYear.keys()), Math.max(...talksByYear.keys())]
  // A wrong year in one record must not make a plot of two thousand bars.
  if (last - first > 80) return [...years].sort((a, b) => a.year - b.year)
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    year: first + index,
    talks: talksByYear.get(first + index) ?? 0,
  }))
}

/** Returns the number of talks at the end of each month, including months without new talks. */
function runningTotal(months: AboutData['added']): AboutData['added'] {
  const talksByMonth = new Map(months.map(({ month, talks }) => [month, talks]))
  const monthNumber = (month = '') => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1
  const [first, last] = [monthNumber(months[0]?.month), monthNumber(months.at(-1)?.month)]
  let total = 0
  return Array.from({ length: last - first + 1 }, (_, index) => {
    const year = Math.floor((first + index) / 12)
    const month = `${year}-${String(((first + index) % 12) + 1).padStart(2, '0')}`
    total += talksByMonth.get(month) ?? 0
    return { month, talks: total }
  })
}
