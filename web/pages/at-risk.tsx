import { type AtRiskReport, maxAtRiskRows } from '@talkshelf/contract'
import { PageLayout } from '../parts/page.tsx'
import { BarPlot, Shares } from '../parts/plots.tsx'
import { paths } from '../paths.ts'
import { useView } from '../view.ts'

/** Talks whose recordings could be lost, and those that were. */
export function AtRisk(report: AtRiskReport) {
  const { words, href, number } = useView()
  const text = words.atRisk
  const { talks, sources, checked, unavailable } = report
  const single = report.by_operators.find(({ operators }) => operators === 1)?.talks ?? 0
  const numbers = [
    words.talks(talks, number(talks)),
    text.oneOperator(single, number(single)),
    text.unavailable(unavailable, number(unavailable)),
    text.checked(number(checked), number(sources)),
  ]
  const links = [
    [paths.atRiskCsv, text.csv],
    ['/api/v2/source/report?format=json', 'JSON'],
    [paths.about, words.aboutArchive],
  ] as const
  return (
    <PageLayout
      name="at-risk"
      title={text.title}
      description={numbers.slice(0, 3).join(', ')}
      canonical={paths.atRisk}
      preview={{ type: 'website' }}
    >
      <header class="collection-head">
        <h1>{text.title}</h1>
        <p>{text.intro}</p>
        <ul class="plain numbers">
          {numbers.map((line) => {
            const [figure, ...rest] = line.split(' ')
            return (
              <li key={line}>
                <strong>{figure}</strong> {rest.join(' ')}
              </li>
            )
          })}
        </ul>
        {checked === 0 && sources > 0 && <p class="facts">{text.unchecked}</p>}
      </header>
      {talks > 0 && <Plots {...report} />}
      <section class="prose">
        <p>
          {words.dataNote}{' '}
          {links.map(([path, name], index) => (
            <span key={path}>
              {index > 0 && ' · '}
              <a href={href(path)} rel={path === paths.about ? undefined : 'nofollow'}>
                {name}
              </a>
            </span>
          ))}
        </p>
      </section>
    </PageLayout>
  )
}

/** Points of a plot. Its table has all rows of the report. */
const maxPoints = 10

function Plots({ talks, checked, by_operators, hosts, events, losses }: AtRiskReport) {
  const { words, number } = useView()
  const text = words.atRisk
  const { none, one, two, three, more } = text.operators
  const numerals = [none, one, two, three, more]
  const mostAlone = hosts.filter(({ only }) => only > 0)
  const withLimit = (hint: string, rows: readonly unknown[]) =>
    rows.length < maxAtRiskRows ? hint : `${hint} ${text.firstRows(number(rows.length))}`
  return (
    <div class="plots">
      <Shares
        title={text.operatorsTitle}
        hint={text.operatorsHint}
        whole={talks}
        points={by_operators.map(({ operators, talks: value }) => ({
          name: numerals[operators] ?? String(operators),
          value,
        }))}
      />
      <Shares
        title={text.hostsTitle}
        hint={withLimit(text.hostsHint, hosts)}
        whole={talks}
        points={mostAlone.slice(0, maxPoints).map(({ operator: name, only: value }) => ({
          name,
          value,
        }))}
        table={{
          columns: [text.operator, words.talksLabel, text.only, text.notAvailable],
          rows: hosts.map(({ operator: name, ...host }) => ({
            name,
            values: [host.talks, host.only, host.unavailable],
          })),
        }}
      />
      <Shares
        title={text.eventsTitle}
        hint={withLimit(text.eventsHint, events)}
        whole={talks}
        points={events.slice(0, maxPoints).map(({ category, talks: of, single: value }) => ({
          name: category.title,
          href: paths.entity('category', category),
          value,
          of,
        }))}
        table={{
          columns: [words.event, words.talksLabel, text.atMostOne, text.notAvailable],
          rows: events.map(({ category, ...event }) => ({
            name: category.title,
            href: paths.entity('category', category),
            values: [event.talks, event.single, event.unavailable],
          })),
        }}
      />
      {losses.length > 0 && <Losses losses={losses} />}
      {losses.length === 0 && checked > 0 && (
        <section class="plot">
          <h2>{text.lossesTitle}</h2>
          <p>{text.noLosses}</p>
        </section>
      )}
    </div>
  )
}

function Losses({ losses }: Pick<AtRiskReport, 'losses'>) {
  const { words } = useView()
  const text = words.atRisk
  const months = everyMonth(losses)
  return (
    <BarPlot
      id="losses"
      title={text.lossesTitle}
      hint={text.lossesHint}
      of={words.month}
      points={months.map(({ month: name, lost: value }) => ({ name, value }))}
      table={{
        columns: [words.month, text.lost, text.returned],
        rows: losses.map(({ month: name, lost, returned }) => ({ name, values: [lost, returned] })),
      }}
    />
  )
}

/** Old losses must not make a plot of a hundred bars. */
const maxMonths = 60

/** Adds the months without changes. */
function everyMonth(losses: AtRiskReport['losses']): AtRiskReport['losses'] {
  const byMonth = new Map(losses.map((month) => [month.month, month]))
  const [first, last] = [monthNumber(losses[0]?.month), monthNumber(losses.at(-1)?.month)]
  const count = Math.min(last - first + 1, maxMonths)
  return Array.from({ length: count }, (_, index) => {
    const number = last - count + 1 + index
    const month = `${Math.floor(number / 12)}-${String((number % 12) + 1).padStart(2, '0')}`
    return byMonth.get(month) ?? { month, lost: 0, returned: 0 }
  })
}

const monthNumber = (month = '') => Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1
