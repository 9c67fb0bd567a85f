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
  const rows = measured.map(cellsOf)
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
  const machine = {
    processor:
      /^model name\s*: (.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? 'unknown',
    processors: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.versions.node,
    postgres: environment.postgresVersion,
    wrk: /\[epoll\]|wrk (\S+)/.exec(outputOf('wrk', '-v'))?.[1] ?? 'unknown',
    commit:
      outputOf('git', 'rev-parse', '--short', 'HEAD').trim() +
      (outputOf('git', 'status', '--porcelain', '--untracked-files=no') === ''
        ? ''
        : ' and changes'),
    date: new Date().toISOString().slice(0, 16),
  }
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, run.quick ? 'quick' : 'full')
  const about = {
    ...machine,
    records: environment.records,
    seedSeconds: Math.round(environment.seedSeconds),
    ...run,
  }
  writeFileSync(`${file}.json`, `${JSON.stringify({ about, measured }, null, 2)}\n`)
  const descriptions = Object.entries(about).map(([name, value]) => `- ${name}: ${value}`)
  writeFileSync(
    `${file}.md`,
    `# Results of npm run bench\n\n${descriptions.join('\n')}\n\n${resultsTable(measured)}\n`,
  )
  return `${relative(root, file)}.md`
}

function outputOf(program: string, ...args: string[]): string {
  const { stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
  return `${stdout ?? ''}${stderr ?? ''}`
}
