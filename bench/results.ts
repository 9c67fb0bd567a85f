import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, release, totalmem } from 'node:os'
import { join, relative } from 'node:path'
import { root } from '../tests/support/harness.ts'
import type { BenchEnvironment } from './environment.ts'
import { type Measured, median } from './measures.ts'

/** Formats the results as a Markdown table with aligned columns. */
export function resultsTable(measured: readonly Measured[]): string {
  const head = [
    'Measure',
    'Against',
    'Ours',
    'Reference',
    'Ratio',
    'Rounds',
    'Floor',
    'Goal',
    'p99',
    'CPU each',
    'CPU ratio',
    'Others',
    'Verdict',
  ]
  return alignedTable(head, measured.map(cellsOf))
}

function alignedTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] as string).length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] as number)).join(' | ')} |`
  return [
    line(head),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n')
}

/** Formats one measure as the cells of a row. */
function cellsOf(measure: Measured): string[] {
  const isRatio = measure.unit === 'a second'
  const medianOf = (value: (round: Measured['rounds'][number]) => number | undefined) =>
    median(measure.rounds.map((round) => value(round) ?? Number.NaN))
  const ratio = (value: number | undefined) => {
    if (value === undefined) return ''
    return isRatio ? value.toFixed(2) : figure(value)
  }
  const ratios = measure.rounds.map(({ ours, reference = 1 }) => ours / reference)
  const cpuRatio = medianOf(
    ({ cpuUs = Number.NaN, referenceCpuUs = Number.NaN }) => referenceCpuUs / cpuUs,
  )
  const othersPercent = medianOf(({ othersShare }) =>
    othersShare === undefined ? undefined : othersShare * 100,
  )
  return [
    measure.name,
    measure.against,
    `${figure(medianOf(({ ours }) => ours))} ${isRatio ? '/s' : measure.unit}`,
    withUnit(figure(medianOf(({ reference }) => reference)), '/s'),
    isRatio ? measure.median.toFixed(2) : '',
    `${ratio(Math.min(...ratios))} to ${ratio(Math.max(...ratios))}`,
    ratio(measure.floor),
    ratio(measure.goal),
    withUnit(figure(medianOf(({ p99Ms }) => p99Ms)), 'ms'),
    withUnit(figure(medianOf(({ cpuUs }) => cpuUs)), 'us'),
    isRatio ? cpuRatio.toFixed(2) : '',
    withUnit(figure(othersPercent), '%'),
    measure.verdict,
  ]
}

function figure(value: number): string {
  if (Number.isNaN(value)) return ''
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en')
}

const withUnit = (text: string, unit: string) => (text === '' ? '' : `${text} ${unit}`)

/** Saves the figures with a description of the machine. Returns the path of the report. */
export function saveResults(
  environment: BenchEnvironment,
  measured: readonly Measured[],
  run: { quick: boolean; rounds: number; seconds: number },
): string {
  const about = {
    ...describeMachine(environment),
    records: environment.records,
    seedSeconds: Math.round(environment.seedSeconds),
    ...run,
  }
  const report = { name: run.quick ? 'quick' : 'full', command: 'npm run bench', about, measured }
  return writeReport(report, resultsTable(measured))
}

interface Report {
  /** The name of the files, without their endings. */
  readonly name: string
  readonly command: string
  /** Describes the machine and the run. */
  readonly about: Record<string, unknown>
  readonly measured: unknown
}

/** Writes the results as JSON, and as a table. Returns the path of the table. */
function writeReport({ name, command, about, measured }: Report, table: string): string {
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, name)
  writeFileSync(`${file}.json`, `${JSON.stringify({ about, measured }, null, 2)}\n`)
  const descriptions = Object.entries(about).map(([key, value]) => `- ${key}: ${value}`)
  writeFileSync(`${file}.md`, `# Results of ${command}\n\n${descriptions.join('\n')}\n\n${table}\n`)
  return `${relative(root, file)}.md`
}

/** The cost of one operation at one size of the archive. */
export interface Cost {
  readonly name: string
  readonly unit: 'us' | 's' | 'MB'
  readonly value: number
  /** The 99th percentile of the latency. */
  readonly p99Ms?: number
}

/** Saves the costs at each size, and what they would be in larger archives. */
export function saveScale(
  environment: BenchEnvironment,
  measured: readonly { records: number; costs: readonly Cost[] }[],
): { file: string; table: string } {
  const about = describeMachine(environment)
  const table = scaleTable(measured)
  const report = { name: 'scale', command: 'npm run scale', about, measured }
  return { file: writeReport(report, table), table }
}

/** Sizes for which the costs are extrapolated. */
const largerSizes = [10_000_000, 100_000_000]

function scaleTable(measured: readonly { records: number; costs: readonly Cost[] }[]): string {
  const [first] = measured
  if (!first) return ''
  const sizes = measured.map(({ records }) => records)
  const rows = first.costs.map(({ name, unit }, index) => {
    const costs = measured.map((size) => size.costs[index] as Cost)
    const all = costs.map(({ value }) => value)
    const [least = Number.NaN] = all
    const p99s = costs.map(({ p99Ms }) => figure(p99Ms ?? Number.NaN))
    const exponent = exponentOf(sizes, all)
    const larger = largerSizes.map((size) => {
      const [last, value] = [sizes.at(-1) as number, all.at(-1) as number]
      return figure(value * (size / last) ** exponent)
    })
    return [
      `${name}, ${unit}`,
      ...all.map(figure),
      all.map((value) => (value / least).toFixed(2)).join(', '),
      Number.isNaN(exponent) ? '' : exponent.toFixed(2),
      ...larger,
      p99s.some(Boolean) ? `${p99s.join(', ')} ms` : '',
    ]
  })
  const millions = (size: number) => `${size / 1_000_000} M`
  return alignedTable(
    ['Cost', ...sizes.map(millions), 'Ratios', 'Exponent', ...largerSizes.map(millions), 'p99'],
    rows,
  )
}

/**
 * Returns b of the power law cost = a * records ** b that fits best (least squares of the
 * logarithms); NaN for one size.
 */
function exponentOf(sizes: readonly number[], values: readonly number[]): number {
  const [xs, ys] = [sizes.map(Math.log), values.map(Math.log)]
  const mean = (list: readonly number[]) => list.reduce((sum, x) => sum + x, 0) / list.length
  const [meanX, meanY] = [mean(xs), mean(ys)]
  const products = xs.map((x, index) => (x - meanX) * ((ys[index] as number) - meanY))
  return mean(products) / mean(xs.map((x) => (x - meanX) ** 2))
}

function describeMachine({ postgresVersion }: BenchEnvironment) {
  return {
    processor:
      /^model name\s*: (.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? 'unknown',
    processors: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.versions.node,
    postgres: postgresVersion,
    wrk: /\[epoll\]|wrk (\S+)/.exec(outputOf('wrk', '-v'))?.[1] ?? 'unknown',
    commit:
      outputOf('git', 'rev-parse', '--short', 'HEAD').trim() +
      (outputOf('git', 'status', '--porcelain', '--untracked-files=no') === ''
        ? ''
        : ' and changes'),
    date: new Date().toISOString().slice(0, 16),
  }
}

function outputOf(program: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
  return `${stdout ?? ''}${stderr ?? ''}`
}
