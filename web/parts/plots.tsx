import { useView } from '../view.ts'

// Plots as SVG, rendered on the server. Each has a table with the same numbers, for screen readers
// and for copying.

interface Point {
  readonly name: string
  readonly value: number
  /** Path relative to the base path. */
  readonly href?: string
}

interface TableData {
  /** The headings of the columns, the first one of the names. */
  readonly columns: readonly string[]
  readonly rows: readonly {
    readonly name: string
    readonly values: readonly number[]
    /** Path relative to the base path. */
    readonly href?: string
  }[]
}

interface PlotProps {
  readonly id: string
  readonly title: string
  readonly hint?: string
  /** Heading of the column with the names. */
  readonly of: string
  readonly points: readonly Point[]
  /** If the table has more numbers than the points. */
  readonly table?: TableData
}

const width = 720
const height = 260
const left = 54
const bottom = 28
const top = 14

/** Returns a scale that ends with a round number at or above the limit. */
function scaleOf(limit: number): { end: number; steps: number[] } {
  if (limit <= 0) return { end: 1, steps: [0, 1] }
  const rough = limit / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(
    1,
    [1, 2, 2.5, 5, 10]
      .map((factor) => factor * power)
      .find((candidate) => candidate >= rough && Number.isInteger(candidate)) ?? 10 * power,
  )
  const steps = Array.from({ length: Math.ceil(limit / step) + 1 }, (_, index) => index * step)
  return { end: steps.at(-1) ?? limit, steps }
}

/** A bar chart. */
export function BarPlot(props: PlotProps) {
  const { number } = useView()
  const { points } = props
  const { end, steps } = scaleOf(Math.max(...points.map(({ value }) => value)))
  const slot = (width - left) / Math.max(1, points.length)
  const y = (value: number) => top + (height - top - bottom) * (1 - value / end)
  const longest = Math.max(...points.map(({ name }) => name.length))
  const labelEvery = Math.ceil((points.length * longest) / 48)
  const fromLast = (index: number) => points.length - 1 - index
  // In the middle of a narrow bar, the name of the last one would leave the plot.
  const isAtEnd = (index: number) => fromLast(index) === 0 && slot < longest * 16
  return (
    <Figure {...props}>
      <Grid steps={steps} y={y} />
      {points.map(({ name, value }, index) => (
        <g key={name}>
          <rect
            class="bar"
            x={round(left + index * slot + slot * 0.12)}
            y={round(y(value))}
            width={round(slot * 0.76)}
            height={round(y(0) - y(value))}
            rx="2"
          >
            <title>{`${name}: ${number(value)}`}</title>
          </rect>
          {fromLast(index) % labelEvery === 0 && (
            <text
              // Phones have room for every third label.
              class={fromLast(index) % (labelEvery * 3) === 0 ? 'label below' : 'label below minor'}
              x={isAtEnd(index) ? width : round(left + (index + 0.5) * slot)}
              y={height - 8}
              text-anchor={isAtEnd(index) ? 'end' : 'middle'}
            >
              {name}
            </text>
          )}
        </g>
      ))}
    </Figure>
  )
}

/** An area chart. */
export function AreaPlot(props: PlotProps) {
  const { points } = props
  const { end, steps } = scaleOf(Math.max(...points.map(({ value }) => value)))
  const x = (index: number) => left + ((width - left - 8) * index) / Math.max(1, points.length - 1)
  const y = (value: number) => top + (height - top - bottom) * (1 - value / end)
  const line = points.map(({ value }, index) => `${round(x(index))} ${round(y(value))}`).join('L')
  const labelled = [0, Math.floor((points.length - 1) / 2), points.length - 1]
  const anchors = ['start', 'middle', 'end'] as const
  return (
    <Figure {...props}>
      <Grid steps={steps} y={y} />
      <path class="area" d={`M${line}L${width - 8} ${y(0)}L${left} ${y(0)}Z`} />
      <path class="line" d={`M${line}`} />
      {[...new Set(labelled)].map((point, index) => (
        <text
          key={point}
          class="label below"
          x={round(x(point))}
          y={height - 8}
          text-anchor={anchors[index]}
        >
          {points[point]?.name}
        </text>
      ))}
    </Figure>
  )
}

const round = (value: number) => Math.round(value * 10) / 10

function Grid({ steps, y }: { steps: readonly number[]; y: (value: number) => number }) {
  const { number } = useView()
  return (
    <>
      {steps.map((step) => (
        <g key={step}>
          <line class="grid" x1={left} x2={width} y1={round(y(step))} y2={round(y(step))} />
          <text class="label" x={left - 8} y={round(y(step) + 4)} text-anchor="end">
            {number(step)}
          </text>
        </g>
      ))}
    </>
  )
}

function Figure({
  id,
  title,
  hint,
  of,
  points,
  table,
  children,
}: PlotProps & { children: preact.ComponentChildren }) {
  const { words } = useView()
  const plain = {
    columns: [of, words.talksLabel],
    rows: points.map(({ value, ...point }) => ({ ...point, values: [value] })),
  }
  return (
    <figure class="plot" aria-labelledby={`${id}-title`}>
      <figcaption>
        <h2 id={`${id}-title`}>{title}</h2>
        {hint && <p class="facts">{hint}</p>}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        {children}
      </svg>
      <PlotTable title={title} {...(table ?? plain)} />
    </figure>
  )
}

/** The numbers of a plot, for screen readers and for copying. */
function PlotTable({ title, columns, rows }: TableData & { title: string }) {
  const { words, number } = useView()
  return (
    <details>
      <summary>
        {words.asTable} <span class="unseen">({title})</span>
      </summary>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" key={column}>
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">
                <Name {...row} />
              </th>
              {row.values.map((value, index) => (
                <td key={columns[index]}>{number(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

interface SharePoint extends Point {
  readonly of?: number
}

interface SharesProps {
  readonly title: string
  readonly hint?: preact.ComponentChildren
  readonly points: readonly SharePoint[]
  /** The value of 100 %, for points that do not have their own. */
  readonly whole: number
  /** More numbers than the points have. */
  readonly table?: TableData
}

/** Shares of a whole as lines of text, each with a bar. */
export function Shares({ title, hint, points, whole, table }: SharesProps) {
  const { number, locale } = useView()
  const shareOf = ({ value, of = whole }: SharePoint) => (of > 0 ? value / of : 0)
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  return (
    <section class="plot">
      <h2>{title}</h2>
      {hint && <p class="facts">{hint}</p>}
      <ul class="plain shares">
        {points.map((point) => (
          <li key={point.name}>
            <span>
              <Name {...point} />
            </span>
            <span class="count">
              {percent.format(shareOf(point))} <span class="facts">({number(point.value)})</span>
            </span>
            <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect class="grid-bar" width="100" height="4" rx="1" />
              <rect class="bar" width={round(100 * shareOf(point))} height="4" rx="1" />
            </svg>
          </li>
        ))}
      </ul>
      {table && <PlotTable title={title} {...table} />}
    </section>
  )
}

function Name({ name, href: path }: { readonly name: string; readonly href?: string }) {
  const { href } = useView()
  const text = <bdi>{name}</bdi>
  return path ? <a href={href(path)}>{text}</a> : text
}
